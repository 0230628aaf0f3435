//! Walks through every workflow that comes along: by an agent that does as it is told, and by a sloppy one.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use crate::agent::{Agent, Manners, Says, Walked, content};
use crate::planned_project::PlannedProject;
use crate::workflow_planner::Planner;

/// What is walked, and how it is started.
const WALKS: &[(&str, &[&str])] = &[
    ("codebase-analysis", &["--param", "scope=."]),
    ("deepthink", &["--param", "question=Why count?"]),
    ("planner", &["--param", "task=Count the lines"]),
    ("planner/execute", &["--param", "plan=plan.md"]),
    ("problem-analysis", &["--param", "problem=It counts one too many"]),
    ("refactor", &["--param", "size=small"]),
    ("writing-style", &["--param", "task=A note on counting"]),
];

const BOTH: &[&[&str]] = &[&["count.py", "test_count.py"]];

/// Walks through one of them.
fn walk(name: &str, params: &[&str], manners: Manners) -> (Walked, PlannedProject) {
    let project = PlannedProject::checked_by("true");
    if name == "planner/execute" {
        project.sandbox.write("plan.md", project.plan(BOTH));
    }
    let start: Vec<&str> = std::iter::once(name).chain(params.iter().copied()).collect();
    let mut planner = Planner::new(&project, BOTH, 0);
    let mut visits: BTreeMap<String, usize> = BTreeMap::new();
    let mut script = |directive: &Json| {
        let said = planner.says(directive);
        if !matches!(said, Says::Anything) {
            return said;
        }
        let visit = visits.entry(format!("{}/{}", directive["workflow"], directive["step"]["id"])).or_default();
        *visit += 1;
        anything(directive, *visit)
    };
    let walked = Agent::of(&project.sandbox).with_manners(manners).reading_all().walk(&start, &mut script);
    (walked, project)
}

/// Whatever the directive would be content with; another word of an enum each time, so that every loop is left.
fn anything(directive: &Json, visit: usize) -> Says {
    if let Some(question) = directive["question"].as_object() {
        let first = question["options"].as_array().and_then(|options| options.first()).and_then(Json::as_str);
        return Says::Answer(first.unwrap_or("something").to_owned());
    }
    let result = directive["result"].as_object().unwrap().iter().map(|(name, declared)| {
        let value = match declared["values"].as_array() {
            Some(values) => values[values.len() - 1 - (visit - 1) % values.len()].clone(),
            None => content(declared),
        };
        (name.clone(), value)
    });
    let result: serde_json::Map<String, Json> = result.collect();
    let outcome = directive["outcomes"].as_array().and_then(|outcomes| outcomes.first()).and_then(Json::as_str);
    match outcome {
        Some("ok") | None => Says::Fields(json!(result)),
        Some(_) => Says::Anything,
    }
}

#[test]
fn a_change_of_two_files_is_planned_and_carried_out_in_twelve_pages_each() {
    for (name, params) in WALKS.iter().filter(|(name, _)| name.starts_with("planner")) {
        let (walked, project) = walk(name, params, Manners::Careful);
        assert_eq!(walked.finished["outcome"], "success", "{name}: {}", walked.last);
        let bytes: usize = walked.pages.iter().map(|page| project.sandbox.normal(page).len()).sum();
        let pages = walked.pages.len();
        assert!(pages <= 12 && bytes <= 30_000, "{name}: {pages} pages, {bytes} bytes");
    }
}

#[test]
fn a_sloppy_agent_comes_to_an_end_by_the_refusals_alone() {
    for (name, params) in WALKS {
        let (walked, _) = walk(name, params, Manners::Sloppy);
        assert!(walked.finished["outcome"].is_string(), "{name}: {}", walked.finished);
    }
}
