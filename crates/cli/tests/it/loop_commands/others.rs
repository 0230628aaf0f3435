//! Do `maestro loop status` and its like mean the loops of this project, and no other's?

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{ON, git, repository};
use crate::sandbox::{Sandbox, is_short_for};
use crate::waiting::wait_until;

/// A task that nobody waits for.
const LONG: &str = "- [ ] Run sleep 600\n";

/// Two projects of one user; the other one's directory.
fn two() -> (Sandbox, PathBuf) {
    let sandbox = repository(&[("PLAN.md", LONG), (".maestro/config.toml", ON)]);
    sandbox.write("~/.gitconfig", "[user]\nname = Ada\nemail = ada@example.com\n");
    sandbox.write("~/other/PLAN.md", LONG);
    sandbox.write("~/other/.maestro/config.toml", ON);
    let other = sandbox.path("~/other");
    for words in [&["init", "--quiet"][..], &["add", "--all"], &["commit", "--quiet", "--message", "begin"]] {
        let mut command = std::process::Command::new("git");
        command.args(words).current_dir(&other).env("HOME", sandbox.home());
        assert!(command.status().unwrap().success());
    }
    (sandbox, other)
}

/// What `maestro` says in a directory, and how it ends.
fn said_in(sandbox: &Sandbox, directory: &Path, words: &str) -> (Option<i32>, String) {
    let output = sandbox.command().args(words.split(' ')).current_dir(directory).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

/// Whether a line is about this run, by its short id, and says this.
fn is_shown(line: &str, run: &str, words: &str) -> bool {
    line.trim_end().split_once("  ").is_some_and(|(id, said)| is_short_for(id, run) && said == words)
}

const BEGIN: &str = "loop PLAN.md --agent demo --permission all --detach";

#[test]
fn the_loops_of_another_project_are_neither_shown_nor_steered() {
    let (sandbox, other) = two();
    let server = sandbox.serve();
    let run = sandbox.maestro(BEGIN).id();
    assert_eq!(said_in(&sandbox, &other, "loop status").1, "No loops here; run `maestro loop PLAN.md` to start one.\n");
    for words in ["loop pause", "loop resume", "loop cancel", "loop log"] {
        let (code, said) = said_in(&sandbox, &other, words);
        assert!(code == Some(2) && said.starts_with("error: no "), "{words}: {said}");
    }
    assert_eq!(server.get(&format!("/api/runs/{run}"))["status"], "running");
    // With one in each there is one in each, and not several.
    let theirs = said_in(&sandbox, &other, BEGIN).1.trim().to_owned();
    let (code, said) = said_in(&sandbox, &other, "loop cancel");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(said, format!("{theirs}  stopped: canceled\n"));
    assert_eq!(server.get(&format!("/api/runs/{run}"))["status"], "running");
    let canceled = sandbox.maestro(&format!("loop cancel {}", &run[..30])).stdout();
    assert!(is_shown(&canceled, &run, "stopped: canceled"), "{canceled}");
    assert_eq!(sandbox.maestro("loop cancel 0000").code, 2);
}

#[test]
fn a_loop_of_ones_own_workflow_is_shown_and_steered() {
    let (sandbox, _) = two();
    let text = include_str!("../../../../../skills/plan-loop/workflow.yaml");
    sandbox.write(".claude/skills/mine/workflow.yaml", text.replace("name: plan-loop", "name: mine"));
    assert_eq!(sandbox.maestro("trust mine --yes").code, 0);
    let server = sandbox.serve();
    let run = sandbox.maestro(&format!("{BEGIN} --workflow mine")).id();
    wait_until("it works", || server.get("/api/sessions").as_array().unwrap().len() == 1);
    let status = sandbox.maestro("loop status").stdout();
    let (first, now) = status.split_once('\n').unwrap();
    assert!(is_shown(first, &run, "working    PLAN.md  0 of 1 task  implement"), "{status}");
    assert_eq!(now, "  now: Run sleep 600\n");
    let canceled = sandbox.maestro("loop cancel").stdout();
    assert!(is_shown(&canceled, &run, "stopped: canceled"), "{canceled}");
}

#[test]
fn a_loop_of_several_runs_is_shown_as_one() {
    let (sandbox, _) = two();
    sandbox.write("PLAN.md", format!("{LONG}- [ ] Run sleep 601\n- [x] Done\n"));
    git(&sandbox, &["commit", "--quiet", "--all", "--message", "more"]);
    let server = sandbox.serve();
    let lead = sandbox.maestro(&format!("{BEGIN} -j 2")).id();
    wait_until("both work", || server.get("/api/sessions").as_array().unwrap().len() == 2);
    let told = sandbox.maestro("loop status --json").json();
    let lane = told[1]["id"].as_str().unwrap();
    assert_eq!((&told[0]["lead"], &told[1]["lead"]), (&json!(null), &json!(lead)));
    assert_eq!(told[0]["progress"], json!({ "done": 0, "all": 2 }));
    let status = sandbox.maestro("loop status").stdout();
    let lines: Vec<&str> = status.lines().collect();
    assert!(is_shown(lines[0], &lead, "working    PLAN.md  2 at once  0 of 2 tasks  implement"), "{status}");
    assert!(is_shown(lines[2].trim(), lane, "working    implement"), "{status}");
    let mut now = [lines[1].trim(), lines[3].trim()];
    now.sort_unstable();
    assert_eq!(now, ["now: Run sleep 600", "now: Run sleep 601"]);
    let canceled = sandbox.maestro("loop cancel").stdout();
    let (first, second) = canceled.trim().split_once('\n').unwrap();
    for (line, run) in [(first, lead.as_str()), (second, lane)] {
        assert!(is_shown(line, run, "stopped: canceled"), "{canceled}");
    }
}
