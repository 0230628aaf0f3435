//! Walks through every workflow that comes along: by an honest agent, a sloppy one, and one that cheats.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use maestro_skills::render::tokens;
use serde_json::{Value as Json, json};

use crate::agent::{Agent, Manners, PageReading, Says, Walked, content};
use crate::planned_project::PlannedProject;
use crate::sandbox::Sandbox;
use crate::workflow_planner::Planner;
use crate::workflow_runs::{directive, last_run};

/// What is walked, and how it is started. The two that work through a checklist are walked by the tests of the loop.
const WALKS: &[(&str, &[&str])] = &[
    ("codebase-analysis", &["--param", "scope=."]),
    ("decision-critic", &["--param", "decision=Count lines, since words are rare"]),
    ("deepthink", &["--param", "question=Why count?"]),
    ("doc-sync", &[]),
    ("handoff-workflow", &["--param", "from=worker", "--param", "to=orchestrator", "--param", "about=Counting"]),
    ("incoherence", &[]),
    ("planner", &["--param", "task=Count the lines"]),
    ("planner/execute", &["--param", "plan=plan.md"]),
    ("problem-analysis", &["--param", "problem=It counts one too many"]),
    ("prompt-engineer", &["--param", "request=Shorter answers"]),
    ("refactor", &["--param", "size=small"]),
    ("session-end", &[]),
    ("session-start", &["--param", "role=worker", "--param", "name=ada"]),
    ("solution-design", &["--param", "problem=Counting is slow"]),
    ("task-management", &["--param", "action=create", "--param", "title=Count the lines"]),
    ("tasks-report", &[]),
    ("writing-style", &["--param", "task=A note on counting"]),
];

const BOTH: &[&[&str]] = &[&["count.py", "test_count.py"]];

fn project(name: &str) -> PlannedProject {
    let project = PlannedProject::checked_by("true");
    if name == "planner/execute" {
        project.sandbox.write("plan.md", project.plan(BOTH));
    }
    // Those about tasks and sessions need a project that has some.
    if ["handoff", "session", "task"].iter().any(|begin| name.starts_with(begin)) {
        let made = project.sandbox.maestro("init --yes --no-tools");
        assert_eq!(made.code, 0, "{made}");
    }
    project
}

/// Walks through one of them.
fn walk(name: &str, params: &[&str], manners: Manners) -> (Walked, PlannedProject) {
    let reading = if manners == Manners::Careful { PageReading::All } else { PageReading::Own };
    walk_after(name, params, (manners, reading), &mut |_, _| {})
}

/// The same, with something that is done before each directive is obeyed.
fn walk_after(
    name: &str,
    params: &[&str],
    (manners, reading): (Manners, PageReading),
    before: &mut dyn FnMut(&Sandbox, &Json),
) -> (Walked, PlannedProject) {
    let project = project(name);
    let start: Vec<&str> = std::iter::once(name).chain(params.iter().copied()).collect();
    let mut planner = Planner::new(&project, BOTH, 0);
    let mut visits: BTreeMap<String, usize> = BTreeMap::new();
    let mut script = |directive: &Json| {
        before(&project.sandbox, directive);
        if let Some(said) = particular(directive) {
            return said;
        }
        if directive["workflow"].as_str().unwrap().starts_with("planner") {
            let said = planner.says(directive);
            if !matches!(said, Says::Anything) {
                return said;
            }
        }
        let visit = visits.entry(format!("{}/{}", directive["workflow"], directive["step"]["id"])).or_default();
        *visit += 1;
        anything(directive, *visit)
    };
    let agent = Agent::of(&project.sandbox).with_manners(manners);
    let agent = if reading == PageReading::All { agent.reading_all() } else { agent };
    let walked = agent.walk(&start, &mut script);
    (walked, project)
}

/// What some steps want, beyond its form.
fn particular(directive: &Json) -> Option<Says> {
    let workflow = directive["workflow"].as_str().unwrap();
    Some(Says::Fields(match (workflow, directive["step"]["id"].as_str().unwrap()) {
        ("refactor", "choose") => json!({"categories": ["K01", "K07", "K38"], "reasons": "They bear on counting."}),
        ("solution-design", "compare") => json!({"choices": ["S1 Lines: choose it if words are rare"]}),
        ("decision-critic/verify-item", "judge") => json!({"status": "VERIFIED"}),
        ("decision-critic", "verdict") => json!({"verdict": "STAND"}),
        ("problem-analysis", "investigate") => json!({
            "evidence": "yes", "explains": "yes", "alternatives": "yes", "predicts": "yes",
            "findings": [{"id": "F1", "place": "count.py:2"}], "hypotheses": [{"id": "H1", "state": "SUPPORTED"}],
        }),
        _ => return None,
    }))
}

/// Whatever the directive would be content with. Each time another word of an enum, and from the second time on nothing in
/// a list, so that every loop is left.
fn anything(directive: &Json, visit: usize) -> Says {
    if let Some(question) = directive["question"].as_object() {
        let first = question["options"].as_array().and_then(|options| options.first()).and_then(Json::as_str);
        return Says::Answer(first.unwrap_or("something").to_owned());
    }
    let result = directive["result"].as_object().unwrap().iter().map(|(name, declared)| {
        let value = match declared["values"].as_array() {
            Some(values) => values[values.len() - 1 - (visit - 1) % values.len()].clone(),
            None if name == "items" => review_items(directive).unwrap_or_else(|| content(declared)),
            None if visit > 1 && declared["type"] == "list" && declared["min"].is_null() => json!([]),
            None => content(declared),
        };
        (name.clone(), value)
    });
    let result: serde_json::Map<String, Json> = result.collect();
    let outcomes = directive["outcomes"].as_array().map_or(&[][..], Vec::as_slice);
    match outcomes.last().and_then(Json::as_str) {
        Some(last) if outcomes[0] != "ok" => Says::Ended(last.to_owned(), json!(result)),
        _ => Says::Fields(json!(result)),
    }
}

/// What a part of a review reports: something to check, or that all that is open is well.
fn review_items(directive: &Json) -> Option<Json> {
    let asked = directive["result"]["items"]["description"].as_str()?;
    if asked.contains("severity:") {
        return Some(json!([{"id": "C1", "scope": ["**"], "check": "Is it there?", "severity": "MUST"}]));
    }
    let given = [&directive["data"]["items"], &directive["dispatches"][0]["items"]];
    let items = given.into_iter().find_map(Json::as_array).filter(|_| asked.contains("status:"))?;
    let judged = |item: &Json| json!({"id": item["id"], "status": "pass", "evidence": "count.py:1"});
    Some(items.iter().map(judged).collect())
}

/// How much an agent and its sub-agents read on the way to the end of each: kept in a file, so that growth is seen.
#[test]
fn an_honest_agent_comes_to_an_end_by_as_many_pages_as_the_table_says() {
    let mut table = format!("{:<20} {:>5} {:>7} {:>7}  end\n", "workflow", "pages", "bytes", "tokens");
    for (name, params) in WALKS {
        let (walked, project) = walk(name, params, Manners::Careful);
        let pages: Vec<String> = walked.pages.iter().map(|page| project.sandbox.normal(page)).collect();
        let bytes: usize = pages.iter().map(String::len).sum();
        let read: usize = pages.iter().map(|page| tokens(page)).sum();
        // In hundreds, since a name of the machine may be in them.
        let (bytes, read) = (bytes.next_multiple_of(100), read.next_multiple_of(100));
        let end = walked.finished["outcome"].as_str().unwrap_or("none");
        writeln!(table, "{name:<20} {:>5} {bytes:>7} {read:>7}  {end}", pages.len()).unwrap();
        if name.starts_with("planner") {
            assert_eq!(end, "success", "{name}: {}", walked.last);
            assert!(pages.len() <= 12 && bytes <= 30_000, "{name}: {} pages, {bytes} bytes", pages.len());
        }
    }
    insta::assert_snapshot!("read_pages", table);
}

/// The workflows that are walked in the ways that take longest: every fourth, or all with `MAESTRO_WALKS=all`.
fn long_walks() -> impl Iterator<Item = &'static (&'static str, &'static [&'static str])> {
    let all = std::env::var_os("MAESTRO_WALKS").is_some_and(|which| which == "all");
    WALKS.iter().step_by(if all { 1 } else { 4 })
}

#[test]
fn a_sloppy_agent_comes_to_an_end_by_the_refusals_alone() {
    for (name, params) in long_walks() {
        let (walked, _) = walk(name, params, Manners::Sloppy);
        assert!(walked.finished["outcome"].is_string(), "{name}: {}", walked.finished);
    }
}

/// What works at no step of any of them: quoting a ticket that never was or that is used up, an outcome that the step cannot
/// have, setting what a report does not declare, what the user answered or what a command printed, saying `ok` without a
/// result, reporting for the user or for a sub-agent that has a workflow of its own, and answering where nobody was asked.
#[test]
fn a_cheating_agent_gets_no_further_at_any_step_of_any_of_them() {
    let (mut tried, mut walks) = (0, 0);
    for (name, params) in long_walks() {
        walks += 1;
        let (mut seen, mut used) = (BTreeSet::new(), None);
        let stored = stored_names(name);
        let (walked, _) = walk_after(name, params, (Manners::Careful, PageReading::Own), &mut |sandbox, directive| {
            if seen.insert(format!("{} {}", directive["workflow"], directive["step"]["id"])) {
                tried += cheat(sandbox, directive, &stored, used.as_ref());
            }
            let ticket = directive["ticket"].as_str().unwrap().to_owned();
            used = Some((directive["run"].as_str().unwrap().to_owned(), ticket));
        });
        // The honest reports that follow quote the same tickets: no cheat moved anything.
        assert!(walked.finished["outcome"].is_string(), "{name}: {}", walked.finished);
    }
    assert!(tried > 10 * walks, "{tried} cheats are few for the steps of {walks} workflows");
}

/// The variables of a workflow that keep what the user answered or a command printed.
fn stored_names(workflow: &str) -> Vec<String> {
    let (skill, called) = workflow.split_once('/').unwrap_or((workflow, ""));
    let file = if called.is_empty() { "workflow.yaml".to_owned() } else { format!("workflows/{called}.yaml") };
    let path = format!("{}/../../skills/{skill}/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().filter_map(|line| line.strip_prefix("    store: ")).map(str::to_owned).collect()
}

/// Tries every cheat at a step; how many were refused.
fn cheat(sandbox: &Sandbox, directive: &Json, stored: &[String], used: Option<&(String, String)>) -> usize {
    let run = directive["run"].as_str().unwrap();
    let ticket = directive["dispatches"][0]["ticket"].as_str().or(directive["ticket"].as_str()).unwrap();
    let mut tried = 0;
    let mut refuse = |words: &[&str]| {
        let refused = sandbox.maestro_as(&[("CLAUDECODE", "1")], words);
        assert_ne!(refused.code, 0, "{directive:#}\n{refused}");
        tried += 1;
    };
    let mut report = |ticket: &str, more: &[&str]| {
        let words = ["workflow", "report", run, "--ticket", ticket];
        refuse(&words.into_iter().chain(more.iter().copied()).collect::<Vec<_>>());
    };
    report("gate#1.aaaaaa", &["--outcome", "ok"]);
    report(ticket, &["--outcome", "no-such-outcome"]);
    report(ticket, &["--outcome", "ok", "--set", "no_such_variable=yes"]);
    if let Some(name) = stored.first() {
        report(ticket, &["--outcome", "ok", "--set", &format!("{name}=yes")]);
    }
    if directive["dispatches"][0]["workflow"].is_string() {
        report(ticket, &["--outcome", "ok"]);
    }
    let fields = directive["result"].as_object().unwrap();
    let is_needed = |field: &Json| field["required"] != json!(false) && field["default"].is_null();
    if fields.values().any(is_needed) || directive["question"].is_object() {
        report(ticket, &["--outcome", "ok"]);
    }
    if directive["question"].is_null() {
        refuse(&["workflow", "answer", run, "--ticket", ticket, "yes"]);
    }
    if let Some((run, ticket)) = used {
        refuse(&["workflow", "report", run, "--ticket", ticket, "--outcome", "ok", "--set", "later=yes"]);
    }
    tried
}

#[test]
fn an_agent_that_answers_for_the_user_is_named() {
    let project = project("task-management");
    let sandbox = &project.sandbox;
    assert_eq!(sandbox.maestro("workflow start task-management").code, 0);
    let run = last_run(sandbox);
    let told = directive(sandbox, &run);
    assert!(told["question"].is_object(), "{told:#}");
    let ticket = told["ticket"].as_str().unwrap();
    let answered = sandbox.maestro_as(&[("CLAUDECODE", "1")], &["workflow", "answer", &run, "--ticket", ticket, "1"]);
    assert_eq!(answered.code, 0, "{answered}");
    let log = sandbox.maestro_with(&["workflow", "log", &run, "--json"]).json();
    let answers = log.as_array().unwrap().iter().filter(|event| event["type"] == "run:answered");
    assert_eq!(answers.map(|event| event["payload"]["by"].clone()).collect::<Vec<_>>(), ["agent"]);
}

#[test]
fn only_categories_that_the_list_has_are_taken() {
    let project = project("refactor");
    let sandbox = &project.sandbox;
    sandbox.maestro("workflow start refactor --param size=small");
    let run = last_run(sandbox);
    let ticket = directive(sandbox, &run)["ticket"].as_str().unwrap().to_owned();
    let words = ["workflow", "report", &run, "--ticket", &ticket, "--outcome", "ok", "--result-file", "-"];
    let refused = sandbox.maestro_told(&[], &words, r#"{"categories": ["K01", "K39", "naming"], "reasons": "x"}"#);
    assert!(refused.code != 0 && refused.stderr().contains(r#""K39", "naming" do not look like"#), "{refused}");
    let smells = include_str!("../../../../skills/refactor/resources/smells.md");
    let ids = smells.lines().filter_map(|line| line.strip_prefix("### ")?.split_whitespace().next());
    assert_eq!(ids.collect::<Vec<_>>(), (1..=38).map(|number| format!("K{number:02}")).collect::<Vec<_>>());
}
