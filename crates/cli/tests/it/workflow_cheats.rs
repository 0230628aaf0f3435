//! Agents that cheat: none of them comes to success, whatever it says.

use serde_json::{Value as Json, json};

use crate::agent::{Agent, Says};
use crate::planned_project::PlannedProject;
use crate::workflow_planner::Planner;

const BOTH: &[&[&str]] = &[&["count.py", "test_count.py"]];
const EACH: &[&[&str]] = &[&["count.py"], &["test_count.py"]];

/// Walks with somebody who is honest except for these steps, and returns how it ended.
fn outcome(
    project: &PlannedProject,
    start: &[&str],
    plan: &'static [&'static [&'static str]],
    cheat: &mut dyn FnMut(&Json) -> Option<Says>,
) -> String {
    let mut planner = Planner::new(project, plan, 0);
    let mut script = |directive: &Json| match cheat(directive) {
        Some(says) => says,
        None if directive["question"].is_object()
            && directive["step"]["id"].as_str().is_some_and(|id| id.ends_with("gate")) =>
        {
            Says::Answer("abort".to_owned())
        }
        None => planner.says(directive),
    };
    let walked = Agent::of(&project.sandbox).walk(start, &mut script);
    walked.finished["outcome"].as_str().unwrap().to_owned()
}

fn step(directive: &Json) -> (&str, &str) {
    (directive["workflow"].as_str().unwrap(), directive["step"]["id"].as_str().unwrap())
}

const PLAN: &[&str] = &["planner", "--param", "task=Count the lines"];

#[test]
fn a_plan_that_was_never_written_is_not_approved() {
    let project = PlannedProject::checked_by("true");
    let mut cheat = |directive: &Json| match step(directive) {
        ("planner/small", "write-plan") | ("planner", "selection") => Some(Says::Anything),
        _ => None,
    };
    assert_ne!(outcome(&project, PLAN, BOTH, &mut cheat), "success");
    assert!(!project.sandbox.path("plan.md").exists());
}

#[test]
fn diffs_that_do_not_apply_are_not_approved() {
    let project = PlannedProject::checked_by("true");
    let mut cheat = |directive: &Json| match step(directive) {
        ("planner/small", "write-plan") | ("planner/diffs", "write") => {
            project.sandbox.write("plan.md", project.plan(BOTH).replace("split(' ')", "split(',')"));
            Some(Says::Anything)
        }
        _ => None,
    };
    assert_ne!(outcome(&project, PLAN, BOTH, &mut cheat), "success");
}

#[test]
fn a_review_of_one_vague_item_is_no_review() {
    let project = PlannedProject::checked_by("true");
    let item = json!({"id": "C1", "scope": ["**"], "check": "All is fine.", "severity": "COULD"});
    let mut cheat = |directive: &Json| match step(directive) {
        (_, "items") if directive["dispatches"].as_array().is_none_or(Vec::is_empty) => {
            Some(Says::Fields(json!({ "items": [item] })))
        }
        _ => None,
    };
    assert_ne!(outcome(&project, PLAN, BOTH, &mut cheat), "success");
}

const EXECUTE: &[&str] = &["planner/execute", "--param", "plan=plan.md"];

/// A project with a plan for it.
fn planned(program: &str, milestones: &[&[&str]]) -> PlannedProject {
    let project = PlannedProject::checked_by(program);
    project.sandbox.write("plan.md", project.plan(milestones));
    project
}

#[test]
fn whoever_changes_nothing_has_carried_nothing_out() {
    for plan in [BOTH, EACH] {
        let project = planned("true", plan);
        let mut cheat = |directive: &Json| match step(directive) {
            ("planner/execute-small", "implement") | ("planner/implement", "change") => Some(Says::Anything),
            _ => None,
        };
        assert_ne!(outcome(&project, EXECUTE, plan, &mut cheat), "success");
    }
}

#[test]
fn files_outside_the_plan_are_explained_or_it_fails() {
    for plan in [BOTH, EACH] {
        let project = planned("true", plan);
        let mut cheat = |directive: &Json| match step(directive) {
            ("planner/execute-small", "implement") | ("planner/implement", "change") => {
                project.sandbox.write("backdoor.py", "import os\n");
                plan.concat().into_iter().for_each(|file| project.change(file));
                Some(Says::Anything)
            }
            ("planner/execute", "explain") => Some(Says::Fields(json!({"reasons": []}))),
            _ => None,
        };
        assert_ne!(outcome(&project, EXECUTE, plan, &mut cheat), "success");
    }
}

#[test]
fn red_checks_are_not_talked_away() {
    let project = planned("false", BOTH);
    let mut cheat = |_: &Json| None;
    assert_ne!(outcome(&project, EXECUTE, BOTH, &mut cheat), "success");
}

#[test]
fn a_plan_that_is_rewritten_while_it_is_carried_out_stops_the_run() {
    let project = planned("true", EACH);
    let mut cheat = |directive: &Json| match step(directive) {
        ("planner/implement", "change") => {
            project.change("count.py");
            project.sandbox.write("plan.md", project.plan(&[&["count.py"]]));
            Some(Says::Anything)
        }
        _ => None,
    };
    assert_ne!(outcome(&project, EXECUTE, EACH, &mut cheat), "success");
}
