//! `maestro loop`, `do` and `demo` as a user meets them, with the agent that needs no model.

mod ends;
mod kept;
mod others;
mod refused;
mod told;

use std::fs;
use std::process::Command;

use insta::assert_snapshot;

use crate::sandbox::{Output, Sandbox};

/// A repository with a commit, in which the programs of this machine are found.
fn repository(files: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new().with_variable("PATH", &std::env::var("PATH").unwrap());
    for (file, text) in files {
        sandbox.write(file, text);
    }
    git(&sandbox, &["init", "--quiet", "--initial-branch=main"]);
    git(&sandbox, &["config", "user.name", "Ada"]);
    git(&sandbox, &["config", "user.email", "ada@example.com"]);
    git(&sandbox, &["add", "--all"]);
    git(&sandbox, &["commit", "--quiet", "--allow-empty", "--message", "begin"]);
    sandbox
}

fn git(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let output = Command::new("git").args(arguments).current_dir(sandbox.project()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What was printed, without the port and the time, which depend on what else runs.
fn printed(output: &Output) -> String {
    let lines: Vec<String> = output.to_string().lines().map(without_port).map(|line| without_time(&line)).collect();
    lines.join("\n")
}

/// A line without the time that a loop took: `1.2 s in 2 sessions, …`.
fn without_time(line: &str) -> String {
    match line.split_once(" in ") {
        Some((time, after)) if time.ends_with(" s") && after.contains(" session") => format!("[TIME] in {after}"),
        _ => line.to_owned(),
    }
}

fn without_port(line: &str) -> String {
    match line.split_once("http://127.0.0.1:") {
        Some((before, after)) => {
            format!("{before}http://127.0.0.1:[PORT]{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        None => line.to_owned(),
    }
}

/// The messages of the commits that were made beside `main`, the oldest first.
fn commits(sandbox: &Sandbox) -> String {
    git(sandbox, &["log", "--reverse", "--format=%s", "--branches=maestro/*", "--not", "main"])
}

const PLAN: &str = "# Plan\n\n- [ ] Add a file a.txt that says one\n- [ ] Add a file b.txt that says two\n";
const ON: &str = "skills_enabled = true\n";

#[test]
fn one_task_is_done_without_a_plan() {
    let sandbox = repository(&[]);
    let done = sandbox.maestro_with(&["do", "Add a file hello.txt that says hi", "--agent", "demo"]);
    assert_snapshot!(printed(&done), @"
    $ maestro do Add a file hello.txt that says hi --agent demo
    Run [RUN-1] does: Add a file hello.txt that says hi
    Page: http://127.0.0.1:[PORT] (sign in with `maestro open`)
    Wrote .maestro/config.toml (skills are on for agents that Maestro starts here).
    note: no checks configured, so only the review decides; set `verify` in .maestro/config.toml

    Add a file hello.txt that says hi
      implement
        Write hello.txt
        Wrote hello.txt
      review
        Read the changes
        Judged the changes
      review: pass
      commit

    ready: Done: Add a file hello.txt that says hi
    Commits:
      Add a file hello.txt that says hi
    [TIME] in 2 sessions, no tokens reported.
    Branch maestro/loop-[RUN-1]: review with `maestro diff [RUN-1]`, merge with `maestro merge [RUN-1]`.
    ");
    assert_eq!(commits(&sandbox), "Add a file hello.txt that says hi\n");
    assert!(!sandbox.path("hello.txt").exists(), "the files of the user are left alone");
    // A second one shows nothing of the first, and finds the config that the first one wrote.
    let again = sandbox.maestro_with(&["do", "Add a file b.txt that says b", "--agent", "demo", "--no-review"]);
    assert_snapshot!(printed(&again), @"
    $ maestro do Add a file b.txt that says b --agent demo --no-review
    Run [RUN-2] does: Add a file b.txt that says b
    Page: http://127.0.0.1:[PORT] (sign in with `maestro open`)
    note: no checks configured, so only the review decides; set `verify` in .maestro/config.toml

    Add a file b.txt that says b
      implement
        Write b.txt
        Wrote b.txt
      commit

    ready: Done: Add a file b.txt that says b
    Commits:
      Add a file b.txt that says b
    [TIME] in 1 session, no tokens reported.
    Branch maestro/loop-[RUN-2]: review with `maestro diff [RUN-2]`, merge with `maestro merge [RUN-2]`.
    ");
}

#[test]
fn a_task_must_say_something() {
    let sandbox = repository(&[]);
    assert_snapshot!(sandbox.maestro_with(&["do", " ", "--agent", "demo"]), @"
    $ maestro do   --agent demo
    --- stderr
    error: the task is empty
    hint: pass a task in quotes
    --- exit 1
    ");
}

#[test]
fn a_loop_ends_after_as_many_tasks_as_were_asked_for() {
    let plan = format!("{PLAN}- [ ] Add a file c.txt that says three\n");
    let sandbox = repository(&[("PLAN.md", &plan), (".maestro/config.toml", ON)]);
    let done = sandbox.maestro("loop PLAN.md --agent demo --no-review --max-tasks 2");
    assert_snapshot!(printed(&done), @"
    $ maestro loop PLAN.md --agent demo --no-review --max-tasks 2
    Run [RUN-1] works through PLAN.md
    Page: http://127.0.0.1:[PORT] (sign in with `maestro open`)
    note: no checks configured, so only the review decides; set `verify` in .maestro/config.toml

    Add a file a.txt that says one
      implement
        Write a.txt
        Wrote a.txt
      commit

    Add a file b.txt that says two
      implement
        Write b.txt
        Wrote b.txt
      commit

    ready: The requested number of tasks is done.
    Commits:
      Add a file a.txt that says one
      Add a file b.txt that says two
    [TIME] in 2 sessions, no tokens reported.
    Branch maestro/loop-[RUN-1]: review with `maestro diff [RUN-1]`, merge with `maestro merge [RUN-1]`.
    ");
    assert_eq!(commits(&sandbox).lines().count(), 2);
    assert_eq!(sandbox.maestro("loop PLAN.md --max-tasks 0").code, 1);
}

#[test]
fn skills_that_are_off_are_said_to_be_and_named_ones_arrive() {
    let sandbox = repository(&[("PLAN.md", PLAN), (".maestro/config.toml", "skills_enabled = false\n")]);
    sandbox.skill(".claude/skills", "letters", "Writes letters. Use when a letter is to be written.");
    let off = sandbox.maestro("loop PLAN.md --agent demo --no-review --once");
    assert!(off.stdout().contains("note: skills are off here; set `skills_enabled = true`"), "{off}");
    assert!(!off.stdout().contains("skills:"), "{off}");
    let named = sandbox.maestro("loop PLAN.md --agent demo --no-review --once --skills letters");
    assert!(named.stdout().contains("  skills: letters (hint: @letters)"), "{named}");
}

#[test]
fn the_demo_shows_a_review_that_fails_and_one_that_passes() {
    let sandbox = repository(&[]);
    let demo = sandbox.maestro("demo --clean");
    assert_eq!(demo.code, 0, "{demo}");
    let text = demo.stdout();
    for said in ["  review: fail", "  review: pass", "skills: price-lists", "ready: Every task of PLAN.md is done."] {
        assert!(text.contains(said), "{said}:\n{text}");
    }
    assert!(text.contains("Removed the demo repository."), "{text}");
    assert!(!sandbox.path("~/.maestro").exists(), "nothing of the user's is touched");
}

#[test]
fn the_likely_check_is_proposed_and_not_written() {
    let sandbox = repository(&[("go.mod", "module shop\n")]);
    let programs = sandbox.path("~/bin").display().to_string();
    let missing = sandbox.maestro_as(&[("PATH", &programs)], &["init", "--yes"]);
    assert!(missing.stdout().contains("`go test ./...` fits this project, but `go` is not installed"), "{missing}");
    let sandbox = sandbox.with_variable("PATH", &format!("{programs}:{}", std::env::var("PATH").unwrap()));
    sandbox.install("go");
    let proposed = "add `verify = [\"go test ./...\"]` to .maestro/config.toml to run `go test ./...` after each task";
    // Without a terminal nobody is asked; a `--yes` would add it.
    for command in [&["init"][..], &["do", "Add a file a that says b", "--agent", "demo", "--no-review"]] {
        let output = sandbox.maestro_with(command);
        assert!(output.code == 0 && output.stdout().contains(proposed), "{output}");
    }
    assert!(!fs::read_to_string(sandbox.path(".maestro/config.toml")).unwrap().contains("verify"));
}
