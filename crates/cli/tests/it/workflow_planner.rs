//! The planner's promises: a plan that git has tried, reviews that are really passed, no success with red checks.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::agent::{Agent, Says, Walked};
use crate::planned_project::PlannedProject;
use crate::sandbox::Sandbox;

const BOTH: &[&[&str]] = &[&["count.py", "test_count.py"]];
const EACH: &[&[&str]] = &[&["count.py"], &["test_count.py"]];

/// Somebody who does everything that is asked for, and finds one thing wanting in the first rounds of each review.
pub(crate) struct Planner<'p> {
    pub(crate) project: &'p PlannedProject,
    pub(crate) milestones: &'static [&'static [&'static str]],
    /// In how many rounds something is found wanting.
    pub(crate) wanting: usize,
    /// How many rounds each review has been judged in.
    rounds: BTreeMap<String, usize>,
    /// Whether red checks are the end of it.
    gives_up: bool,
}

impl<'p> Planner<'p> {
    pub(crate) fn new(
        project: &'p PlannedProject,
        milestones: &'static [&'static [&'static str]],
        wanting: usize,
    ) -> Self {
        Self { project, milestones, wanting, rounds: BTreeMap::new(), gives_up: false }
    }

    pub(crate) fn says(&mut self, directive: &Json) -> Says {
        let workflow = directive["workflow"].as_str().unwrap();
        let write = |text: String| self.project.sandbox.write("plan.md", text);
        match (workflow, directive["step"]["id"].as_str().unwrap()) {
            ("planner", "size-up") => {
                let files: Vec<&str> = self.milestones.concat();
                let fact = json!({"id": "F1", "fact": "It splits at one blank.", "evidence": "count.py:2"});
                Says::Fields(json!({"files": files, "facts": [fact], "undecided": []}))
            }
            ("planner", "testing-strategy") => Says::Answer("unit".to_owned()),
            ("planner", "approach-generation") => Says::Fields(json!({"assumptions": [{"id": "U1"}]})),
            ("planner", "assumption-surfacing") => Says::Answer("U1 holds.".to_owned()),
            ("planner", "selection") => {
                write(self.project.intent(self.milestones));
                Says::Anything
            }
            ("planner/small", "write-plan") | ("planner/diffs", "write") => {
                write(self.project.plan(self.milestones));
                Says::Anything
            }
            (_, "items") => Says::Fields(json!({"items": items()})),
            (_, "judge") => Says::Fields(json!({ "items": self.judged(workflow, directive) })),
            ("planner/scrub", "check") => Says::Fields(json!({"code_lines_changed": 0})),
            ("planner/implement", "change") | ("planner/execute-small", "implement") => {
                self.milestones.concat().into_iter().for_each(|file| self.project.change(file));
                Says::Anything
            }
            ("planner/execute", "repair") if self.gives_up => Says::Fields(json!({"state": "stuck", "jobs": []})),
            ("planner/execute", "repair") => {
                let job = json!({"id": "K1", "title": "Fix it", "files": ["count.py"], "findings": "It is red."});
                Says::Fields(json!({"state": "repair", "jobs": [job]}))
            }
            ("planner/execute" | "planner/execute-small", "code-gate" | "docs-gate" | "gate") => {
                at_exhaustion(directive)
            }
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

/// Items that name all that the plans have.
fn items() -> Vec<Json> {
    let checks = ["M1 and A1 hold", "M2 and A2 hold", "R1 is met", "count.py is right", "test_count.py is right"];
    let item = |(index, check): (usize, &&str)| json!({"id": format!("C{index}"), "scope": ["**"], "check": check, "severity": "MUST"});
    checks.iter().enumerate().map(item).collect()
}

/// The rounds are used up, and nothing is offered that would let the work through.
fn at_exhaustion(directive: &Json) -> Says {
    let options = directive["question"]["options"].as_array().unwrap();
    assert!(!options.contains(&json!("accept")), "nobody accepts the risk of a red check: {options:?}");
    Says::Answer("abort".to_owned())
}

pub(crate) fn walk(start: &[&str], planner: &mut Planner<'_>) -> Walked {
    Agent::of(&planner.project.sandbox).walk(start, &mut |directive: &Json| planner.says(directive))
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

const PLAN: [&str; 3] = ["planner", "--param", "task=Count the lines"];
const LARGE: [&str; 5] = ["planner", "--param", "task=Count the lines", "--param", "size=large"];
const EXECUTE: [&str; 3] = ["planner/execute", "--param", "plan=plan.md"];

#[test]
fn a_plan_passes_three_reviews_with_one_failed_round_each() {
    let project = PlannedProject::checked_by("true");
    let walked = walk(&LARGE, &mut Planner::new(&project, EACH, 1));
    assert_eq!(walked.finished["outcome"], "success", "{}", walked.last);
    let gates = ["completeness-gate", "code-gate", "docs-gate"];
    let expected: Vec<(&str, &str)> = gates.iter().flat_map(|gate| [(*gate, "fail"), (*gate, "pass")]).collect();
    assert_eq!(judgements(&project.sandbox, &walked), pairs(&expected));
    for (step, times) in [("selection", 2), ("diffs", 2), ("scrub", 2), ("completeness-items", 1), ("code-items", 1)] {
        assert_eq!(walked.times("planner", step), times, "{step}");
    }
    let mended = walked.told.iter().filter(|told| told["step"]["id"] == "selection").nth(1).unwrap();
    assert_eq!(mended["data"]["items"][0]["finding"], "It does not say how.", "{mended:#}");
    let again = walked.told.iter().filter(|told| told["step"]["id"] == "completeness-review").nth(1).unwrap();
    assert_eq!(again["round"]["number"], 2);
    assert!(!again["dispatches"].to_string().contains("It does not say how."), "a fresh look sees no old verdicts");
    assert_eq!(walked.finished["outputs"]["plan"], "plan.md");
    let page = project.sandbox.maestro_with(&["workflow", "next", walked.finished["run"].as_str().unwrap()]).stdout();
    assert!(page.contains("PLAN APPROVED: plan.md."), "{page}");
}

#[test]
fn a_small_change_is_planned_and_carried_out_in_a_few_steps() {
    let project = PlannedProject::checked_by("true");
    let walked = walk(&PLAN, &mut Planner::new(&project, BOTH, 0));
    assert_eq!(walked.finished["outcome"], "success", "{}", walked.last);
    assert_eq!(judgements(&project.sandbox, &walked), pairs(&[("gate", "pass")]));
    assert_eq!(walked.steps("planner"), ["size-up"]);
    assert_eq!(walked.steps("planner/small"), ["write-plan", "items", "judge"]);
    assert_eq!(walked.finished["outputs"]["milestones"][0]["id"], "M1");
    let walked = walk(&EXECUTE, &mut Planner::new(&project, BOTH, 1));
    assert_eq!(walked.finished["outcome"], "success", "{}", walked.last);
    assert_eq!(judgements(&project.sandbox, &walked), pairs(&[("gate", "fail"), ("gate", "pass")]));
    assert_eq!(walked.steps("planner/execute-small"), ["implement", "items", "judge", "implement", "judge"]);
}

#[test]
fn a_plan_of_documents_only_skips_the_review_of_code() {
    let project = PlannedProject::checked_by("true");
    let mut planner = Planner::new(&project, BOTH, 0);
    let documents = project.intent(&[&["README.md"]]).replace("Kind: code", "Kind: documentation");
    let mut script = |directive: &Json| match directive["step"]["id"].as_str().unwrap() {
        "selection" => {
            project.sandbox.write("plan.md", &documents);
            Says::Anything
        }
        _ => planner.says(directive),
    };
    let walked = Agent::of(&project.sandbox).walk(&LARGE, &mut script);
    assert_eq!(walked.finished["outcome"], "success", "{}", walked.last);
    let expected = [("completeness-gate", "pass"), ("docs-gate", "pass")];
    assert_eq!(judgements(&project.sandbox, &walked), pairs(&expected));
    for step in ["diffs", "code-items", "code-review"] {
        assert_eq!(walked.times("planner", step), 0, "{step}");
    }
    assert_eq!(walked.steps("planner/qr-code"), [""; 0]);
}

/// A project with a plan for it.
fn planned(program: &str, milestones: &[&[&str]]) -> PlannedProject {
    let project = PlannedProject::checked_by(program);
    project.sandbox.write("plan.md", project.plan(milestones));
    project
}

#[test]
fn a_plan_is_not_carried_out_well_while_the_checks_are_red() {
    let project = planned("false", EACH);
    let walked = walk(&EXECUTE, &mut Planner::new(&project, EACH, 0));
    assert_eq!((&walked.finished["status"], &walked.finished["outcome"]), (&json!("failed"), &json!("failure")));
    let judged = judgements(&project.sandbox, &walked);
    assert!(judged.iter().all(|(gate, outcome)| gate == "code-gate" && outcome != "pass"), "{judged:?}");
    assert_eq!(judged.len(), 5, "every round was used: {judged:?}");
    assert_eq!(walked.times("planner/execute", "document"), 0);
    assert!(walked.last.contains("The checks were last red."), "{}", walked.last);
}

#[test]
fn a_plan_is_carried_out_when_reviews_pass_and_the_checks_are_green() {
    let project = planned("true", EACH);
    let walked = walk(&EXECUTE, &mut Planner::new(&project, EACH, 1));
    assert_eq!(walked.finished["outcome"], "success", "{}", walked.last);
    let expected = [("code-gate", "fail"), ("code-gate", "pass"), ("docs-gate", "fail"), ("docs-gate", "pass")];
    assert_eq!(judgements(&project.sandbox, &walked), pairs(&expected));
    let is_wave = |told: &&Json| told["workflow"] == "planner/execute" && told["step"]["id"] == "implement";
    let waves: Vec<usize> =
        walked.told.iter().filter(is_wave).map(|told| told["dispatches"].as_array().unwrap().len()).collect();
    assert_eq!(waves, [1, 1], "each milestone is given out once");
    let mut jobs: Vec<&Json> = walked.told.iter().filter(|told| told["workflow"] == "planner/implement").collect();
    jobs.dedup_by_key(|told| told["run"].clone());
    let names: Vec<bool> = jobs.iter().zip(["M1", "M2"]).map(|(told, id)| told.to_string().contains(id)).collect();
    assert_eq!(names, [true, true], "in the order of the plan: {jobs:#?}");
}

#[test]
fn the_output_of_a_red_check_is_printed_once() {
    let project = planned("ls no-such-file", BOTH);
    let mut planner = Planner::new(&project, BOTH, 0);
    let mut red = None;
    let mut script = |directive: &Json| {
        if directive["round"]["number"] == 2 && red.is_none() {
            red = directive["run"].as_str().map(str::to_owned);
        }
        planner.says(directive)
    };
    let walked = Agent::of(&project.sandbox).walk(&EXECUTE, &mut script);
    assert_eq!(walked.finished["outcome"], "failure");
    let pages = walked.pages.iter().filter(|page| page.contains("no-such-file'"));
    let most = pages.map(|page| page.matches("no-such-file'").count()).max();
    assert_eq!(most, Some(1), "{}", walked.pages.join("\n---\n"));
}

#[test]
fn a_plan_file_that_is_not_there_is_refused_before_anything_begins() {
    let project = PlannedProject::checked_by("true");
    let refused = project.sandbox.maestro_with(&["workflow", "start", "planner/execute", "--param", "plan=nope.md"]);
    assert_eq!(refused.code, 1, "{refused}");
    assert!(refused.stderr().contains("`plan`: there is no file `nope.md`"), "{refused}");
    assert_eq!(project.sandbox.maestro("workflow runs --all --json").json(), json!([]));
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
