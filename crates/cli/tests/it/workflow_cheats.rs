//! Agents that cheat: none of them comes to success, whatever it says.

use std::cell::Cell;
use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::agent::{Agent, Says};
use crate::planned_project::{PlannedProject, git};
use crate::workflow_planner::Planner;
use crate::workflow_runs::last_run;

const BOTH: &[&[&str]] = &[&["count.py", "test_count.py"]];
const EACH: &[&[&str]] = &[&["count.py"], &["test_count.py"]];

/// Walks with somebody who is honest except for these steps, and returns how it ended.
fn outcome(
    project: &PlannedProject,
    start: &[&str],
    plan: &'static [&'static [&'static str]],
    cheat: &mut dyn FnMut(&Json) -> Option<Says>,
) -> String {
    outcome_after(project, start, plan, cheat, &|_| {})
}

/// The same, with something that is done each time that sub-agents have come back.
fn outcome_after(
    project: &PlannedProject,
    start: &[&str],
    plan: &'static [&'static [&'static str]],
    cheat: &mut dyn FnMut(&Json) -> Option<Says>,
    afterwards: &dyn Fn(&Json),
) -> String {
    let mut planner = Planner::new(project, plan, 0);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut script = |directive: &Json| match cheat(directive) {
        Some(says) => {
            let count = counts.entry(format!("{:?}", step(directive))).or_default();
            *count += 1;
            // What is refused again and again is refused the next time as well.
            if *count > 3 { Says::Ended("fail".to_owned(), json!({})) } else { says }
        }
        None if directive["question"].is_object()
            && directive["step"]["id"].as_str().is_some_and(|id| id.ends_with("gate")) =>
        {
            Says::Answer("abort".to_owned())
        }
        None => planner.says(directive),
    };
    let walked = Agent::of(&project.sandbox).with_afterwards(afterwards).walk(start, &mut script);
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

#[test]
fn a_plan_that_calls_code_documentation_is_not_approved_or_carried_out() {
    let project = PlannedProject::checked_by("true");
    let disguised = project.intent(BOTH).replace("Kind: code", "Kind: documentation");
    let mut cheat = |directive: &Json| match step(directive) {
        ("planner/small", "write-plan") => {
            project.sandbox.write("plan.md", &disguised);
            Some(Says::Anything)
        }
        _ => None,
    };
    assert_ne!(outcome(&project, PLAN, BOTH, &mut cheat), "success");
    project.sandbox.write("plan.md", &disguised);
    assert_ne!(outcome(&project, EXECUTE, BOTH, &mut |_| None), "success");
}

#[test]
fn documents_that_nobody_wrote_are_not_carried_out() {
    let project = PlannedProject::checked_by("true");
    let documents = project.intent(&[&["README.md", "USE.md"]]).replace("Kind: code", "Kind: documentation");
    project.sandbox.write("plan.md", documents);
    assert_ne!(outcome(&project, EXECUTE, BOTH, &mut |_| None), "success", "nothing changed");
    // Half of it is no more.
    let mut cheat = |directive: &Json| match step(directive) {
        ("planner/document", "write") => {
            project.sandbox.write("README.md", "# Counting\n");
            Some(Says::Anything)
        }
        ("planner/execute", "docs-explain") => Some(Says::Fields(json!({"reasons": []}))),
        _ => None,
    };
    assert_ne!(outcome(&project, EXECUTE, BOTH, &mut cheat), "success");
    assert!(!project.sandbox.path("USE.md").exists());
}

#[test]
fn a_planned_file_that_nobody_changed_is_explained_or_it_fails() {
    for plan in [BOTH, EACH] {
        let project = planned("true", plan);
        let mut told = String::new();
        let mut cheat = |directive: &Json| match step(directive) {
            ("planner/execute-small", "implement") | ("planner/implement", "change") => {
                told += &directive["data"]["wanting"].to_string();
                project.change("test_count.py");
                Some(Says::Anything)
            }
            ("planner/execute", "explain") => {
                told += &directive["data"]["undone"].to_string();
                Some(Says::Fields(json!({"reasons": []})))
            }
            _ => None,
        };
        assert_ne!(outcome(&project, EXECUTE, plan, &mut cheat), "success");
        assert!(told.contains("count.py") && !told.contains("test_count.py"), "{told}");
    }
}

#[test]
fn a_reason_is_for_one_file_and_says_something() {
    for reasons in
        [json!([{"file": "my_backdoor.py", "why": "Another file."}]), json!([{"file": "backdoor.py", "why": " "}])]
    {
        let project = planned("true", EACH);
        let mut cheat = |directive: &Json| match step(directive) {
            ("planner/implement", "change") => {
                project.sandbox.write("backdoor.py", "import os\n");
                EACH.concat().into_iter().for_each(|file| project.change(file));
                Some(Says::Anything)
            }
            ("planner/execute", "explain") => Some(Says::Fields(json!({ "reasons": reasons }))),
            _ => None,
        };
        assert_ne!(outcome(&project, EXECUTE, EACH, &mut cheat), "success");
    }
}

#[test]
fn a_plan_for_another_commit_is_not_approved() {
    let project = PlannedProject::checked_by("true");
    let commit = |text: &str| {
        project.sandbox.write("count.py", text);
        git(&project.sandbox, &["add", "count.py"]);
        git(&project.sandbox, &["-c", "user.name=n", "-c", "user.email=n@example.com", "commit", "-qm", "More"]);
    };
    // The diffs of the plan apply to the commit before this one, and to nothing that is there now.
    commit("print('something else')\n");
    let mut cheat = |directive: &Json| match step(directive) {
        ("planner/small", "write-plan") => {
            project.sandbox.write("plan.md", project.plan(BOTH));
            Some(Says::Anything)
        }
        _ => None,
    };
    assert_ne!(outcome(&project, PLAN, BOTH, &mut cheat), "success");
}

#[test]
fn a_large_plan_does_not_take_the_short_way() {
    let project = PlannedProject::checked_by("true");
    let mut cheat = |directive: &Json| match step(directive) {
        ("planner/small", "write-plan") => {
            project.sandbox.write("plan.md", project.plan(EACH));
            Some(Says::Anything)
        }
        _ => None,
    };
    assert_ne!(outcome(&project, PLAN, BOTH, &mut cheat), "success");
}

#[test]
fn items_that_no_fix_would_reopen_are_no_review() {
    let project = PlannedProject::checked_by("true");
    let mut cheat = |directive: &Json| match step(directive) {
        (_, "items") if directive["dispatches"].as_array().is_none_or(Vec::is_empty) => {
            let texts = ["A1 holds", "count.py is right", "test_count.py is right", "R1 is met"];
            let item = |(index, check): (usize, &&str)| json!({"id": format!("C{index}"), "scope": ["nowhere"], "check": check, "severity": "MUST"});
            Some(Says::Fields(json!({"items": texts.iter().enumerate().map(item).collect::<Vec<_>>()})))
        }
        _ => None,
    };
    assert_ne!(outcome(&project, PLAN, BOTH, &mut cheat), "success");
}

#[test]
fn a_plan_that_is_rewritten_in_one_go_is_not_what_is_carried_out() {
    let project = planned("true", BOTH);
    let mut cheat = |directive: &Json| match step(directive) {
        ("planner/execute-small", "implement") => {
            project.sandbox.write("backdoor.py", "import os\n");
            let plan = project
                .plan(BOTH)
                .replace("| `count.py` | counts |", "| `count.py` | counts |\n| `backdoor.py` | more |");
            project.sandbox.write("plan.md", plan);
            BOTH.concat().into_iter().for_each(|file| project.change(file));
            Some(Says::Anything)
        }
        _ => None,
    };
    assert_ne!(outcome(&project, EXECUTE, BOTH, &mut cheat), "success");
}

const LARGE: &[&str] = &["planner", "--param", "task=Count the lines", "--param", "size=large"];

#[test]
fn a_plan_that_is_rewritten_after_its_review_is_not_approved() {
    for (start, plan, last) in [(PLAN, BOTH, "judge"), (LARGE, EACH, "docs-review")] {
        let project = PlannedProject::checked_by("true");
        let rewritten = project.plan(plan).replace("text.split()", "eval(text)");
        let afterwards = |directive: &Json| {
            if step(directive).1 == last {
                project.sandbox.write("plan.md", &rewritten);
            }
        };
        let ended = outcome_after(&project, start, plan, &mut |_| None, &afterwards);
        assert_eq!(ended, "failure", "its diffs apply, and nobody has reviewed them");
    }
}

#[test]
fn code_that_is_changed_after_its_review_is_reviewed_again() {
    for (plan, review) in [(BOTH, "judge"), (EACH, "code-review")] {
        let project = planned("true", plan);
        let judged = Cell::new(0);
        let afterwards = |directive: &Json| {
            if step(directive).1 == review {
                judged.set(judged.get() + 1);
                project.sandbox.write("count.py", format!("import os  # {}\n", judged.get()));
            }
        };
        let ended = outcome_after(&project, EXECUTE, plan, &mut |_| None, &afterwards);
        assert_ne!(ended, "success", "each verdict is about what is not there any more");
        assert!(judged.get() > 1, "the gate sends what changed back to the reviewer");
    }
}

#[test]
fn criteria_that_are_softened_before_the_review_are_not_what_is_reviewed() {
    for (plan, step_before) in [(BOTH, "items"), (EACH, "code-items")] {
        let project = planned("true", plan);
        let softened = project.plan(plan).replace("it prints", "it may print");
        let afterwards = |directive: &Json| {
            if step(directive).1 == step_before {
                project.sandbox.write("plan.md", &softened);
            }
        };
        assert_ne!(outcome_after(&project, EXECUTE, plan, &mut |_| None, &afterwards), "success");
    }
}

/// What an agent does after the run asked the user, or is over, that only a person may do.
#[test]
fn a_run_that_was_stopped_is_not_opened_again_by_the_agent() {
    let project = planned("true", BOTH);
    let mut cheat = |directive: &Json| match step(directive) {
        ("planner/execute-small", "implement") => Some(Says::Ended("fail".to_owned(), json!({}))),
        _ => None,
    };
    assert_ne!(outcome(&project, EXECUTE, BOTH, &mut cheat), "success");
    let run = last_run(&project.sandbox);
    for at in [&["--at", "implement"][..], &[]] {
        let words: Vec<&str> = ["workflow", "reopen", &run].into_iter().chain(at.iter().copied()).collect();
        let refused = project.sandbox.maestro_as(&[("CLAUDECODE", "1")], &words);
        assert_eq!(refused.code, 4, "{refused}");
        assert!(refused.stderr().contains("only a person reopens a run"), "{refused}");
    }
}
