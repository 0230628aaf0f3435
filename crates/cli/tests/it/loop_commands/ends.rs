//! Does whoever waited learn why a loop ended, and what the way on is?

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use insta::assert_snapshot;
use serde_json::{Value as Json, json};

use super::{ON, PLAN, git, printed, repository};
use crate::sandbox::{Output, Sandbox};

/// A repository whose check is red whatever happens; nobody must allow what the user's own file names.
fn red() -> Sandbox {
    let sandbox = repository(&[("PLAN.md", PLAN), (".maestro/config.toml", ON)]);
    sandbox.write("~/.config/maestro/config.toml", "verify = [\"ls missing.txt\"]\n");
    sandbox
}

/// The last part of what was printed: how it ended.
fn end(output: &Output) -> String {
    let text = printed(output);
    text.rsplit("\n\n").next().unwrap().to_owned()
}

#[test]
fn a_loop_that_stops_says_why_and_where_its_work_is() {
    let sandbox = red();
    let stopped = sandbox.maestro("loop PLAN.md --agent demo --no-review --yes");
    assert_snapshot!(end(&stopped), @"
    stopped at: Add a file a.txt that says one
      No progress: the agent made no changes in response to the findings. The work is not committed. Findings: `ls missing.txt` (your config.toml) exited with 2: ls: cannot access 'missing.txt': No such file or directory
    [TIME] in 2 sessions, no tokens reported.
    No commits.
    Uncommitted changes are in .maestro/worktrees/loop-[RUN-1].
    `maestro merge [RUN-1] --all` merges it.
    `maestro loop resume [RUN-1]` continues it; `maestro discard [RUN-1]` deletes its branch and worktree.
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro("loop status"), @"
    $ maestro loop status
    [RUN-1]  stopped    PLAN.md  0 of 2 tasks
      Stopped at: Add a file a.txt that says one
      No progress: the agent made no changes in response to the findings. The work is not committed. Findings: `ls missing.txt` (your config.toml) exited with 2: ls: cannot access 'missing.txt': No such file or directory
      Continue it with `maestro loop resume [RUN-1]`.
      Its work is in .maestro/worktrees/loop-[RUN-1]; run `maestro merge [RUN-1] --all` to commit and merge it.
    ");
    let status = sandbox.maestro("loop status --json").json();
    let message = status[0]["message"].as_str().unwrap();
    assert!(message.starts_with("Stopped at: Add a file a.txt that says one\nNo progress: "), "{message}");
    let id = status[0]["id"].as_str().unwrap();
    let summary = fs::read_to_string(sandbox.path(&format!("~/.maestro/runs/{id}/summary.json"))).unwrap();
    let summary: Json = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["status"]["ended"]["message"], message, "{summary:#}");

    // What is said is true: the work is there, and the same command goes on with the rest.
    let tree = sandbox.path(&format!(".maestro/worktrees/loop-{id}"));
    assert_eq!(fs::read_to_string(tree.join("a.txt")).unwrap().trim(), "one");
    assert_eq!(sandbox.maestro(&format!("merge {id}")).code, 1, "it is not committed");
    let red = sandbox.maestro(&format!("merge {id} --all"));
    assert!(red.code == 1 && !sandbox.path("a.txt").exists(), "what fails its checks is not merged: {red}");
    assert_eq!(sandbox.maestro(&format!("merge {id} --all --no-check")).code, 0);
    assert!(sandbox.path("a.txt").exists());
}

#[test]
fn a_program_is_told_the_reason_and_the_way_on_too() {
    let sandbox = red();
    let task = ["do", "Add a file a.txt that says one", "--agent", "demo", "--no-review", "--json", "--yes"];
    let stopped = sandbox.maestro_with(&task);
    assert_eq!(stopped.code, 1, "{stopped}");
    let last: Json = serde_json::from_str(stopped.stdout().lines().last().unwrap()).unwrap();
    let id = last["id"].as_str().unwrap();
    let message = last["message"].as_str().unwrap();
    assert!(message.starts_with("Stopped at: Add a file a.txt that says one\nNo progress: "), "{message}");
    assert_eq!(last["left"]["branch"], format!("maestro/loop-{id}"));
    assert_eq!(last["left"]["uncommitted"], json!(["a.txt"]));
    let next = ["diff", "merge", "discard"].map(|word| format!("maestro {word} {id}"));
    assert_eq!(last["next"], json!(next));
}

#[test]
fn what_could_not_be_committed_in_place_is_said_to_be_there_still() {
    let sandbox = repository(&[("PLAN.md", PLAN), (".maestro/config.toml", ON)]);
    sandbox.write(".git/index.lock", "");
    let stopped = sandbox.maestro("loop PLAN.md --agent demo --no-review --in-place --yes");
    assert_eq!(stopped.code, 1, "{stopped}");
    let end = end(&stopped);
    assert!(end.contains("\n  Could not commit: `git update-index`: "), "{stopped}");
    assert!(
        end.contains("\nUncommitted changes are still in your files; run `git status` to see them.\n"),
        "{stopped}"
    );
    assert!(sandbox.path("a.txt").exists());
}

/// A loop whose agent has begun something that takes long, and what it prints from then on.
fn at_work(sandbox: &Sandbox) -> (Child, BufReader<ChildStdout>) {
    let mut command = sandbox.command();
    command.args(["loop", "PLAN.md", "--agent", "demo", "--permission", "all"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("  implement") {
        line.clear();
        assert_ne!(out.read_line(&mut line).unwrap(), 0, "it ended by itself");
    }
    (child, out)
}

/// What is printed until the end, which is no good one.
fn rest(mut child: Child, mut out: BufReader<ChildStdout>) -> String {
    let mut text = String::new();
    out.read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{text}");
    text
}

fn only_run(sandbox: &Sandbox) -> String {
    sandbox.maestro("loop status --json").json()[0]["id"].as_str().unwrap().to_owned()
}

const LONG: [(&str, &str); 2] = [("PLAN.md", "- [ ] Run sleep 600\n"), (".maestro/config.toml", ON)];

#[test]
fn who_interrupts_learns_what_becomes_of_the_run() {
    let sandbox = repository(&LONG);
    let (child, out) = at_work(&sandbox);
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let text = rest(child, out);
    let id = only_run(&sandbox);
    let said = text.rsplit("\npaused: run `maestro loop PLAN.md` or `maestro loop resume ").next().unwrap();
    assert!(crate::sandbox::is_short_for(said.split('`').next().unwrap(), &id), "{text}");
    // It tells the truth: no server makes the run go on, and it can be ended.
    let server = sandbox.serve();
    assert_eq!(server.get(&format!("/api/runs/{id}"))["state"], "paused");
    assert_eq!(sandbox.maestro(&format!("loop cancel {id}")).code, 0);
}

#[test]
fn who_waits_learns_that_somebody_cancelled_the_run() {
    let sandbox = repository(&LONG);
    let _server = sandbox.serve();
    let (child, out) = at_work(&sandbox);
    let id = only_run(&sandbox);
    assert_eq!(sandbox.maestro("loop cancel").code, 0);
    let text = rest(child, out);
    assert!(text.contains("\nstopped: canceled\n") && text.contains("\nNo commits.\n`maestro loop resume "), "{text}");
    assert_eq!(sandbox.maestro(&format!("discard {id} --yes")).code, 0);
}

#[test]
fn what_nobody_allowed_is_told_before_anything_begins() {
    let config = "worktree_setup = [\"cp PLAN.md copy\"]\n";
    let sandbox = repository(&[("PLAN.md", PLAN), (".maestro/config.toml", config)]);
    assert_snapshot!(sandbox.maestro("loop PLAN.md --agent demo"), @"
    $ maestro loop PLAN.md --agent demo
    --- stderr
    error: this project's setup commands (`worktree_setup`) are not trusted yet
    hint: run `maestro trust --config` to review and allow them
    --- exit 1
    ");
    assert_eq!(sandbox.maestro_with(&["do", "Add a file a that says b", "--agent", "demo"]).code, 1);
    assert_eq!(git(&sandbox, &["branch", "--format=%(refname:short)"]), "main\n");
    assert_eq!(sandbox.maestro("loop status --json").json(), json!([]));
    // In place no worktree is made ready, so nobody needs to allow it.
    assert_eq!(sandbox.maestro("loop PLAN.md --agent demo --no-review --in-place --once").code, 0);
    assert_eq!(sandbox.maestro("trust --config --yes").code, 0);
    let allowed = sandbox.maestro("loop PLAN.md --agent demo --no-review --once");
    assert_eq!(allowed.code, 0, "{allowed}");
}
