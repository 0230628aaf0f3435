//! The keys of everything that `--json` prints.
//!
//! Scripts depend on each of them. Rust names may change beneath them; these may not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use insta::assert_snapshot;
use serde_json::Value as Json;

use crate::sandbox::Sandbox;

/// The keys of each object inside a value, by the path that leads to it.
type Keys = BTreeMap<String, BTreeSet<String>>;

fn collect(value: &Json, path: &str, found: &mut Keys) {
    match value {
        Json::Object(map) => {
            found.entry(path.to_owned()).or_default().extend(map.keys().cloned());
            for (key, value) in map {
                // A map from settings to their values has a line for all of them.
                let key = if path == ".settings" { "*" } else { key };
                collect(value, &format!("{path}.{key}"), found);
            }
        }
        Json::Array(list) => list.iter().for_each(|value| collect(value, &format!("{path}[]"), found)),
        _ => {}
    }
}

/// A sandbox, and what its commands printed so far.
struct Transcript {
    sandbox: Sandbox,
    text: String,
}

impl Transcript {
    fn of(sandbox: Sandbox) -> Self {
        Self { sandbox, text: String::new() }
    }

    /// Runs a command with `--json` and writes down the keys of what it prints.
    fn run(&mut self, args: &[&str]) -> Json {
        self.run_as(&[], &[args, &["--json"]].concat())
    }

    /// The same for a command line whose arguments hold no blanks.
    fn run_line(&mut self, args: &str) -> Json {
        self.run(&args.split_whitespace().collect::<Vec<_>>())
    }

    fn run_as(&mut self, variables: &[(&str, &str)], args: &[&str]) -> Json {
        let output = self.sandbox.maestro_as(variables, args);
        let code = if output.code == 0 { String::new() } else { format!(" (exit {})", output.code) };
        let command = self.sandbox.normal(&args.join(" "));
        writeln!(self.text, "maestro {command}{code}").unwrap();
        let value: Json = serde_json::from_slice(output.bytes()).unwrap_or_else(|error| panic!("{error}: {output}"));
        // Keys that are ids or paths have the same name each time.
        let named = serde_json::from_str(&self.sandbox.normal(&value.to_string())).unwrap();
        let mut keys = Keys::new();
        collect(&named, "", &mut keys);
        for (path, keys) in keys {
            let keys = keys.into_iter().collect::<Vec<_>>().join(", ");
            writeln!(self.text, "  {}{{ {keys} }}", path.trim_start_matches('.')).unwrap();
        }
        value
    }

    fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }
}

fn id(value: &Json) -> String {
    value["id"].as_str().unwrap_or_else(|| panic!("no id in {value}")).to_owned()
}

#[test]
fn skills_plans_and_settings_keep_their_keys() {
    let mut seen = Transcript::of(Sandbox::new());
    seen.sandbox.skill(".claude/skills", "pdf", "Merge and split PDF files.");
    seen.sandbox.write(".claude/skills/bad/SKILL.md", "no header");
    seen.sandbox.write("PLAN.md", "# Plan\n\n## Work\n\n- [x] One\n- [ ] Merge the PDF files @pdf\n");
    for args in [
        "version",
        "init --yes",
        "skills list",
        "skills show pdf",
        "skills read pdf",
        "skills validate",
        "skills prompt",
        "skills prompt pdf",
        "skills sync",
        "skills sync --check",
        "skills roles",
        "skills roles worker",
        "roles list",
        "roles check",
        "plan next PLAN.md",
        "plan list PLAN.md",
        "prompt PLAN.md",
        "agents",
        "connect gemini --dry-run",
        "config show",
        "config get skills_validation",
        "config set skills_validation strict",
        "doctor",
        "trust",
        "session suggest-name reviewer",
        "commands",
        "commands --check task",
        "whoami",
        "help nonsense",
    ] {
        seen.run_line(args);
    }
    for command in [&["select"][..], &["try"], &["why", "pdf"]] {
        seen.run(&[&["skills"], command, &["Merge the PDF files"]].concat());
    }
    assert_snapshot!(seen.take());
}

#[test]
fn tasks_sessions_and_queues_keep_their_keys() {
    let mut seen = Transcript::of(Sandbox::new());
    let project = id(&seen.run_line("project create shop"));
    let task = id(&seen.run_line("task create Login"));
    let part = id(&seen.run_line(&format!("task create Logout --parent {task}")));
    let session = [("MAESTRO_SESSION_ID", "sess_a"), ("MAESTRO_TASK_IDS", task.as_str())];
    seen.run_as(&session, &["session", "register", "--json"]);
    for args in ["info", "update Half", "subtask list", "report needs-input Which?", "whoami", "session info"] {
        seen.run_as(&session, &format!("{args} --json").split(' ').collect::<Vec<_>>());
    }
    let queue = [("MAESTRO_SESSION_ID", "sess_q"), ("MAESTRO_STRATEGY", "queue"), ("MAESTRO_TASK_IDS", task.as_str())];
    for args in ["session register", "queue list", "queue status", "queue top", "queue start", "queue complete"] {
        seen.run_as(&queue, &format!("{args} --json").split(' ').collect::<Vec<_>>());
    }
    for args in [
        "project list",
        "project get PROJECT",
        "task list",
        "task get TASK",
        "task children TASK",
        "task tree",
        "task update TASK --status in_progress",
        "session list",
        "session get sess_a",
        "show sess_a",
        "say sess_a hello",
        "status",
        "session rename sess_a Ada",
        "session pause sess_a",
        "session answer",
        "handoff create --from architect --to implementer Build",
        "handoff list",
        "loop status",
        "events",
        "task complete TASK",
        "task delete PART",
        "task get nothing",
        "db check",
        "db backup",
    ] {
        seen.run_line(&args.replace("PROJECT", &project).replace("TASK", &task).replace("PART", &part));
    }
    seen.run_as(&session, &["complete", "Done", "--json"]);
    assert_snapshot!(seen.take());
}

const WORKFLOW: &str = "\
name: ask
description: Work, then ask.
params: {task: {type: string, required: true}}
steps:
  - {id: work, type: agent, phase: implement, actions: ['Do {task}.'], result: {found: list}, next: {ok: which, fail: end}}
  - {id: which, type: question, prompt: 'Which?', options: [a, b], store: chosen}
  - {id: done, type: end, message: 'Took {chosen}.'}
outputs: {chosen: '{chosen}'}
";

#[test]
fn workflows_and_runs_keep_their_keys() {
    let mut seen = Transcript::of(Sandbox::new());
    seen.sandbox.write(".claude/skills/ask/workflow.yaml", WORKFLOW);
    seen.sandbox.write("result.json", "{\"found\":[]}");
    for args in ["list", "show ask", "check", "simulate ask", "graph ask"] {
        seen.run_line(&format!("workflow {args}"));
    }
    let started = seen.run_as(&[], &["workflow", "start", "ask", "--param", "task=it", "--format", "json"]);
    let run = started["run"].as_str().unwrap();
    let ticket = started["ticket"].as_str().unwrap();
    seen.run_line("workflow runs");
    seen.run_as(&[], &["workflow", "next", run, "--format", "json"]);
    let report = ["workflow", "report", run, "--ticket", ticket, "--outcome", "ok", "--result-file", "result.json"];
    let asked = seen.run_as(&[], &[&report[..], &["--format", "json"]].concat());
    let ticket = asked["ticket"].as_str().unwrap();
    seen.run_as(&[], &["workflow", "answer", run, "--ticket", ticket, "--format", "json", "a"]);
    seen.run_line(&format!("workflow log {run}"));
    assert_snapshot!(seen.take());
}

#[test]
fn a_spawned_session_keeps_its_keys() {
    let mut seen = Transcript::of(Sandbox::new().with_variable("PATH", &std::env::var("PATH").unwrap()));
    let _server = seen.sandbox.serve();
    seen.run_line("project create shop");
    let task = id(&seen.run(&["task", "create", "Add a file a.txt that says b"]));
    let spawned = seen.run_line(&format!("session spawn --task {task} --agent demo --skill maestro-cli"));
    let session = spawned["sessionId"].as_str().unwrap();
    assert_eq!(seen.sandbox.maestro(&format!("show {session} --follow")).code, 0);
    seen.run_line(&format!("show {session} --transcript --skills"));
    seen.run_line("events");
    assert_snapshot!(seen.take());
}
