//! The workflows that come with the program: sound, walked through to every end, and each can be started as it says.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value as Json, json};

use crate::agent::{Agent, Says, Walked};
use crate::sandbox::Sandbox;

const SKILLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../skills");

/// Every workflow of the pack, listed or not, by the name it is started by.
fn names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for folder in fs::read_dir(SKILLS).unwrap() {
        let folder = folder.unwrap().path();
        let skill = folder.file_name().unwrap().to_str().unwrap().to_owned();
        if folder.join("workflow.yaml").is_file() {
            names.insert(skill.clone());
        }
        for file in fs::read_dir(folder.join("workflows")).into_iter().flatten() {
            let file = file.unwrap().path();
            names.insert(format!("{skill}/{}", file.file_stem().unwrap().to_str().unwrap()));
        }
    }
    names
}

#[test]
fn nothing_at_all_is_wrong_with_any_of_them() {
    let checked = Sandbox::new().maestro("workflow check --json").json();
    let checked = checked.as_array().unwrap();
    let found: BTreeSet<String> = checked.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(found, names());
    for one in checked {
        assert_eq!((&one["sound"], &one["findings"]), (&json!(true), &json!([])), "{}", one["name"]);
    }
}

/// Those with hundreds of thousands of states; how many walks at random reach all of their steps; and the way that these do
/// not take: one is taken only by a run that was resumed, one needs a thousand walks more.
const WIDE: [(&str, usize, (&str, &str)); 2] =
    [("plan-loop", 200, ("base-red", "skip")), ("plan-task", 600, ("gate-together", "exhausted"))];

#[test]
fn every_step_and_way_of_each_is_taken_and_none_ends_well_with_a_red_check() {
    let sandbox = Sandbox::new();
    for name in names().into_iter().filter(|name| WIDE.iter().all(|(wide, ..)| wide != name)) {
        let walked = sandbox.maestro(&format!("workflow simulate {name} --json")).json();
        assert_eq!(walked["complete"], json!(true), "{name}: {walked}");
        for nothing in ["never_reached", "never_taken", "red_successes"] {
            assert_eq!(walked[nothing], json!([]), "{name}: {nothing}");
        }
        let ends = walked["ends"].as_array().unwrap();
        assert!(ends.iter().any(|end| end["status"] == "success"), "{name} can end well: {walked}");
    }
}

#[test]
fn every_step_of_the_wide_ones_is_reached_and_none_ends_well_with_a_red_check() {
    let sandbox = Sandbox::new();
    for (name, walks, (step, outcome)) in WIDE {
        let walked = sandbox.maestro(&format!("workflow simulate {name} --walks {walks} --json")).json();
        for nothing in ["never_reached", "red_successes"] {
            assert_eq!(walked[nothing], json!([]), "{name}: {nothing}");
        }
        let rare = json!({ "step": step, "outcome": outcome });
        let never = walked["never_taken"].as_array().unwrap();
        assert!(never.iter().all(|way| *way == rare), "{name}: {never:?}");
        let ends = walked["ends"].as_array().unwrap();
        assert!(ends.iter().any(|end| end["status"] == "success"), "{name} can end well: {walked}");
    }
}

#[test]
fn each_that_is_listed_says_how_it_is_started() {
    let listed = Sandbox::new().maestro("workflow list --json").json();
    let listed: Vec<&str> = listed.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(listed.contains(&"planner/execute") && !listed.contains(&"planner/qr-code"), "{listed:?}");
    for name in listed {
        let skill = name.split('/').next().unwrap();
        let text = fs::read_to_string(Path::new(SKILLS).join(skill).join("SKILL.md")).unwrap();
        let start = format!("maestro workflow start {name}");
        let says = text.lines().any(|line| {
            line.split(&start).nth(1).is_some_and(|rest| !rest.starts_with(|c: char| c == '/' || c.is_alphanumeric()))
        });
        assert!(says, "{skill}/SKILL.md does not say `{start}`");
    }
}

fn id(directive: &Json) -> &str {
    directive["step"]["id"].as_str().unwrap()
}

#[test]
fn decision_critic_reaches_its_verdict_and_prints_it() {
    let sandbox = Sandbox::new();
    let verdict = json!({
        "verdict": "REVISE", "broken": ["C1"], "unsettled": [], "unanswered": ["O1"],
        "reasons": "C1 failed: the table takes 900 writes a second.", "next": "Measure before choosing.",
    });
    let mut contradicted = false;
    let mut script = |directive: &Json| match id(directive) {
        "extract" => Says::Fields(json!({"decided": "We move to SQLite.", "items": [{"id": "C1"}, {"id": "A1"}]})),
        "questions" => Says::Fields(json!({"checks": [
            {"id": "C1", "statement": "Writes are rare.", "questions": "1. How many writes a second are there?"},
            {"id": "A1", "statement": "One machine is enough.", "questions": "1. How many machines write?"},
        ]})),
        "judge" => Says::Fields(json!({"status": "FAILED", "evidence": "metrics.csv:12"})),
        // A verdict that its own lists contradict is not taken.
        "verdict" if !std::mem::replace(&mut contradicted, true) => {
            Says::Fields(json!({"verdict": "STAND", "broken": ["C1"], "unsettled": [], "unanswered": []}))
        }
        "verdict" => Says::Fields(verdict.clone()),
        _ => Says::Anything,
    };
    let walked = Agent::of(&sandbox).walk(&["decision-critic", "--param", "decision=Use SQLite"], &mut script);
    assert_eq!(walked.finished["outcome"], "success");
    for (name, value) in verdict.as_object().unwrap() {
        assert_eq!(&walked.finished["outputs"][name], value);
    }
    let steps = walked.steps("decision-critic");
    let order = ["extract", "classify", "questions", "verify", "contrarian", "reframe", "verdict", "verdict"];
    assert_eq!(steps, order);
    assert_eq!(walked.steps("decision-critic/verify-item"), ["answer", "judge", "answer", "judge"]);
    let contrarian = walked.told.iter().find(|told| id(told) == "contrarian").unwrap();
    assert_eq!(contrarian["data"]["verified"][0]["status"], "FAILED", "{contrarian:#}");
    insta::assert_snapshot!(walked.last, @"
    SHOW THE USER:
      # REVISE

      We move to SQLite.

      C1 failed: the table takes 900 writes a second.

      Next: Measure before choosing.

    WORKFLOW COMPLETE: success
      REVISE: We move to SQLite.

    OUTPUTS:
      verdict: REVISE
      reasons: C1 failed: the table takes 900 writes a second.
      next: Measure before choosing.
      broken: C1
      unsettled: (none)
      unanswered: O1
    ");
}

/// The walk of somebody who finds the cause at the given investigation, if there are so many.
fn analysis(found_at: usize) -> Walked {
    let sandbox = Sandbox::new();
    let mut investigations = 0;
    let mut script = |directive: &Json| match id(directive) {
        "gate" => Says::Fields(json!({"problems": 1, "missing": [], "statement": "When A, B does C instead of D."})),
        "investigate" => {
            investigations += 1;
            assert_eq!(directive["round"]["number"], investigations);
            let word = if investigations == found_at { "yes" } else { "partial" };
            let finding = json!({"id": format!("F{investigations}"), "place": "cache.rs:7"});
            Says::Fields(json!({
                "evidence": word, "explains": word, "alternatives": word, "predicts": word, "findings": [finding],
            }))
        }
        "formulate" => Says::Fields(json!({"statement": "The cache key leaves out the tenant (cache.rs:7)."})),
        "report" => Says::Fields(json!({"text": "The report."})),
        "report-inconclusive" => Says::Fields(json!({"text": "The cause was not established.", "needed": "a trace"})),
        _ => Says::Anything,
    };
    Agent::of(&sandbox).walk(&["problem-analysis", "--param", "problem=It is slow"], &mut script)
}

#[test]
fn problem_analysis_investigates_five_times_and_then_claims_nothing() {
    let walked = analysis(usize::MAX);
    assert_eq!(walked.times("problem-analysis", "investigate"), 5);
    assert_eq!(walked.times("problem-analysis", "formulate"), 0);
    assert_eq!((&walked.finished["status"], &walked.finished["outcome"]), (&json!("failed"), &json!("blocked")));
    assert_eq!(walked.finished["outputs"]["confidence"], "medium");
    assert!(walked.finished["outputs"]["root_cause"].as_str().unwrap_or_default().is_empty());
    assert_eq!(walked.finished["outputs"]["findings"].as_array().unwrap().len(), 5);
    insta::assert_snapshot!(walked.last, @"
    SHOW THE USER:
      The cause was not established.

      Not established. Confidence: medium, computed from the four readiness questions:
      - evidence: partial
      - explains: partial
      - alternatives: partial
      - predicts: partial

    WORKFLOW COMPLETE: blocked
      Five investigations did not establish the cause (confidence: medium). Needed: a trace

    OUTPUTS:
      root_cause:
      chain:
      candidates:
        - hypothesis: something
          condition: something
          for: something
          against: something
      findings:
        - id: F1
          hypothesis: something
          finding: something
          place: cache.rs:7
        - id: F2
          hypothesis: something
          finding: something
          place: cache.rs:7
        - id: F3
          hypothesis: something
          finding: something
          place: cache.rs:7
        - id: F4
          hypothesis: something
          finding: something
          place: cache.rs:7
        - id: F5
          hypothesis: something
          finding: something
          place: cache.rs:7
      confidence: medium
    ");
}

#[test]
fn problem_analysis_ends_early_when_the_cause_is_found() {
    let walked = analysis(2);
    let steps = ["gate", "hypothesize", "investigate", "investigate", "formulate", "report"];
    assert_eq!(walked.steps("problem-analysis"), steps);
    assert_eq!(walked.finished["outcome"], "success");
    assert_eq!(walked.finished["outputs"]["confidence"], "certain");
    assert!(walked.last.contains("The cache key leaves out the tenant (cache.rs:7)."), "{}", walked.last);
}
