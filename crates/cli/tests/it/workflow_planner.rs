//! The planner's promises: three reviews that are really passed, no code review without code, no success with red checks.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::agent::{Agent, Says, Walked};
use crate::sandbox::Sandbox;

/// Somebody who does everything that is asked for, and finds one thing wanting in the first round of each review.
struct Planner {
    code_changes: bool,
    /// How many rounds each review has been judged in.
    rounds: BTreeMap<String, usize>,
    /// In how many rounds something is found wanting.
    wanting: usize,
    waves: usize,
    /// Whether red checks are the end of it.
    gives_up: bool,
}

impl Planner {
    fn new(code_changes: bool, wanting: usize) -> Self {
        Self { code_changes, rounds: BTreeMap::new(), wanting, waves: 0, gives_up: false }
    }

    fn says(&mut self, directive: &Json) -> Says {
        let workflow = directive["workflow"].as_str().unwrap();
        match (workflow, directive["step"]["id"].as_str().unwrap()) {
            ("planner", "testing-strategy") => Says::Answer("unit".to_owned()),
            ("planner", "approach-generation") => Says::Fields(json!({"assumptions": [{"id": "U1"}]})),
            ("planner", "assumption-surfacing") => Says::Answer("U1 holds.".to_owned()),
            ("planner", "selection") => {
                Says::Fields(json!({"code_changes": self.code_changes, "milestones": ["M1: Count the bytes"]}))
            }
            ("planner/qr-items", "items") => {
                let item = |id: &str| json!({"id": id, "scope": ["**"], "check": "It holds.", "severity": "MUST"});
                Says::Fields(json!({"items": [item("R1"), item("R2")]}))
            }
            (_, "judge") => Says::Fields(json!({ "items": self.judged(workflow, directive) })),
            ("planner/scrub", "check") => Says::Fields(json!({"code_lines_changed": 0})),
            ("planner/execute", "plan-wave") if self.gives_up && directive["data"]["checks"] == "red" => {
                Says::Fields(json!({"state": "stuck", "wave": []}))
            }
            ("planner/execute", "plan-wave") => {
                self.waves += 1;
                // Each wave is given out, and then there is nothing left to be done.
                match self.waves % 2 {
                    1 => Says::Fields(json!({"state": "repair", "wave": [{"id": "M1", "files": ["a.rs"]}]})),
                    _ => Says::Fields(json!({"state": "complete", "wave": []})),
                }
            }
            ("planner/execute", "code-gate" | "docs-gate") => at_exhaustion(directive),
            _ => Says::Anything,
        }
    }

    /// The verdicts on the items that are to be judged.
    fn judged(&mut self, workflow: &str, directive: &Json) -> Vec<Json> {
        let items = directive["data"]["items"].as_array().expect("the items are told as they are").clone();
        let round = self.rounds.entry(workflow.to_owned()).or_insert(0);
        *round += 1;
        let verdict = |(index, item): (usize, &Json)| {
            let status = if index == 0 && *round <= self.wanting { "fail" } else { "pass" };
            json!({"id": item["id"], "status": status, "evidence": "plan.md:1", "finding": "It does not say how."})
        };
        items.iter().enumerate().map(verdict).collect()
    }
}

/// The rounds are used up, and nothing is offered that would let the work through.
fn at_exhaustion(directive: &Json) -> Says {
    let options = directive["question"]["options"].as_array().unwrap();
    assert!(!options.contains(&json!("accept")), "nobody accepts the risk of a red check: {options:?}");
    Says::Answer("abort".to_owned())
}

fn walk(sandbox: &Sandbox, start: &[&str], planner: &mut Planner) -> Walked {
    Agent::of(sandbox).walk(start, &mut |directive: &Json| planner.says(directive))
}

/// How each gate of the walk judged, in order.
fn judgements(sandbox: &Sandbox, walked: &Walked) -> Vec<(String, String)> {
    let run = walked.finished["run"].as_str().unwrap();
    let log = sandbox.maestro_with(&["workflow", "log", run, "--json"]).json();
    let judged = log.as_array().unwrap().iter().filter(|event| event["type"] == "run:judged");
    let word = |event: &Json, key: &str| event["payload"][key].as_str().unwrap().to_owned();
    judged.map(|event| (word(event, "gate"), word(event, "outcome"))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(gate, outcome)| ((*gate).to_owned(), (*outcome).to_owned())).collect()
}

#[test]
fn a_plan_passes_three_reviews_with_one_failed_round_each() {
    let sandbox = Sandbox::new();
    let walked = walk(&sandbox, &["planner", "--param", "task=Count the bytes"], &mut Planner::new(true, 1));
    assert_eq!(walked.finished["outcome"], "success", "{}", walked.last);
    let gates = ["completeness-gate", "code-gate", "docs-gate"];
    let expected: Vec<(&str, &str)> = gates.iter().flat_map(|gate| [(*gate, "fail"), (*gate, "pass")]).collect();
    assert_eq!(judgements(&sandbox, &walked), pairs(&expected));
    for (step, times) in [("selection", 2), ("diffs", 2), ("scrub", 2), ("completeness-items", 1), ("code-items", 1)] {
        assert_eq!(walked.times("planner", step), times, "{step}");
    }
    let mended = walked.told.iter().filter(|told| told["step"]["id"] == "selection").nth(1).unwrap();
    assert_eq!(mended["data"]["items"][0]["finding"], "It does not say how.", "{mended:#}");
    let again = walked.told.iter().filter(|told| told["step"]["id"] == "completeness-review").nth(1).unwrap();
    assert_eq!(again["round"]["number"], 2);
    assert!(!again["dispatches"].to_string().contains("It does not say how."), "a fresh look sees no old verdicts");
    assert_eq!(walked.finished["outputs"]["plan"], "plan.md");
    let page = sandbox.maestro_with(&["workflow", "next", walked.finished["run"].as_str().unwrap()]).stdout();
    assert!(page.contains("PLAN APPROVED: plan.md."), "{page}");
}

#[test]
fn a_plan_of_documents_only_skips_the_review_of_code() {
    let sandbox = Sandbox::new();
    let walked = walk(&sandbox, &["planner", "--param", "task=Explain the bytes"], &mut Planner::new(false, 0));
    assert_eq!(walked.finished["outcome"], "success", "{}", walked.last);
    assert_eq!(judgements(&sandbox, &walked), pairs(&[("completeness-gate", "pass"), ("docs-gate", "pass")]));
    for step in ["diffs", "code-items", "code-review"] {
        assert_eq!(walked.times("planner", step), 0, "{step}");
    }
    assert_eq!(walked.steps("planner/qr-code"), [""; 0]);
}

/// A project whose one check is this program.
fn checked_by(program: &str) -> Sandbox {
    let sandbox = Sandbox::new().with_variable("PATH", "/usr/bin:/bin");
    sandbox.write(".maestro/config.toml", format!("verify = [\"{program}\"]\n"));
    sandbox.write("plan.md", "# Plan\n");
    let trusted = sandbox.maestro("trust --config --yes");
    assert_eq!(trusted.code, 0, "{trusted}");
    sandbox
}

const EXECUTE: [&str; 3] = ["planner/execute", "--param", "plan=plan.md"];

#[test]
fn a_plan_is_not_carried_out_well_while_the_checks_are_red() {
    let sandbox = checked_by("false");
    let walked = walk(&sandbox, &EXECUTE, &mut Planner::new(true, 0));
    assert_eq!((&walked.finished["status"], &walked.finished["outcome"]), (&json!("failed"), &json!("failure")));
    let judged = judgements(&sandbox, &walked);
    assert!(judged.iter().all(|(gate, outcome)| gate == "code-gate" && outcome != "pass"), "{judged:?}");
    assert_eq!(judged.len(), 5, "every round was used: {judged:?}");
    assert_eq!(walked.times("planner/execute", "document"), 0);
    let repair = walked.told.iter().filter(|told| told["step"]["id"] == "plan-wave").nth(2).unwrap();
    assert_eq!(repair["data"]["checks"], "red");
    assert!(walked.last.contains("The checks were last red."), "{}", walked.last);
}

#[test]
fn a_plan_is_carried_out_when_reviews_pass_and_the_checks_are_green() {
    let sandbox = checked_by("true");
    let walked = walk(&sandbox, &EXECUTE, &mut Planner::new(true, 1));
    assert_eq!(walked.finished["outcome"], "success", "{}", walked.last);
    let expected = [("code-gate", "fail"), ("code-gate", "pass"), ("docs-gate", "fail"), ("docs-gate", "pass")];
    assert_eq!(judgements(&sandbox, &walked), pairs(&expected));
}

#[test]
fn checks_that_nobody_allowed_stop_the_work_before_it_begins() {
    let sandbox = Sandbox::new().with_variable("PATH", "/usr/bin:/bin");
    sandbox.write(".maestro/config.toml", "verify = [\"touch ran\"]\n");
    sandbox.write("plan.md", "# Plan\n");
    let refused = sandbox.maestro_with(&[&["workflow", "start"][..], &EXECUTE].concat());
    assert_ne!(refused.code, 0, "{refused}");
    assert!(refused.stderr().contains("are not trusted yet"), "{refused}");
    assert!(refused.stderr().contains("hint: run `maestro trust --config`"), "{refused}");
    assert!(!sandbox.path("ran").exists());
    assert_eq!(sandbox.maestro_with(&["workflow", "runs", "--json"]).json(), serde_json::json!([]));
}

#[test]
fn checks_whose_consent_is_gone_are_not_allowed_and_not_red() {
    let sandbox = Sandbox::new().with_variable("PATH", "/usr/bin:/bin");
    sandbox.write(".maestro/config.toml", "verify = [\"touch ran\"]\n");
    let text = "name: w\ndescription: Checks.\nsteps:\n- {id: a, type: agent, next: {ok: check, fail: stop}}\n- {id: check, type: command, command: {builtin: verify}, next: {ok: end, fail: stop}}\n- {id: stop, type: end, status: failure}\n";
    sandbox.write(".claude/skills/w/workflow.yaml", text);
    assert_eq!(sandbox.maestro_with(&["trust", "w", "--yes"]).code, 0);
    assert_eq!(sandbox.maestro_with(&["trust", "--config", "--yes"]).code, 0);
    let page = |args: &[&str]| -> serde_json::Value {
        serde_json::from_str(&sandbox.maestro_with(&[args, &["--format", "json"]].concat()).stdout()).unwrap()
    };
    let started = page(&["workflow", "start", "w"]);
    let (run, ticket) = (started["run"].as_str().unwrap(), started["ticket"].as_str().unwrap());
    std::fs::remove_file(sandbox.path("~/.maestro/trust.json")).unwrap();
    assert_eq!(sandbox.maestro_with(&["trust", "w", "--yes"]).code, 0);
    let reported = sandbox.maestro_with(&["workflow", "report", run, "--ticket", ticket, "--outcome", "ok"]);
    assert!(reported.stderr().contains("are not trusted yet"), "{reported}");
    assert!(!sandbox.path("ran").exists());
    let waiting = sandbox.maestro_with(&["workflow", "runs", "--json"]).json();
    assert_eq!(waiting[0]["step"], "check", "{waiting}");
    assert_eq!(sandbox.maestro_with(&["trust", "--config", "--yes"]).code, 0);
    let done = page(&["workflow", "next", run]);
    assert_eq!(done["outcome"], "success", "{done}");
}
