//! Is there one run of a plan, whatever ended the command that worked through it?

use std::io::Read as _;
use std::process::{Child, Command, Stdio};

use serde_json::Value as Json;

use super::{Repository, goes_on_until, is_over, sessions, simple};
use crate::sandbox::is_short_for;
use crate::waiting::wait_until;

/// An agent's work that waits until it may end.
const GATE: &str = "touch HOME/begun; while [ ! -e HOME/go ]; do sleep 0.02; done; echo x > f1.txt\n";

const LOOP: [&str; 7] = ["loop", "PLAN.md", "--agent", "demo", "--permission", "all", "--no-review"];

/// A repository whose first task waits, and a second one follows.
fn waiting() -> (Repository, Vec<String>) {
    let repository = Repository::with(&[]);
    let tasks = vec![repository.script("gate", GATE), simple(2)];
    repository.write_plan("PLAN.md", &tasks);
    repository.commit_all();
    (repository, tasks)
}

/// A command at work, with a server of its own where none runs.
fn at_work(repository: &Repository) -> Child {
    let mut command = repository.sandbox.command();
    let child = command.args(LOOP).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("it works", || repository.mark("begun").exists());
    child
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// What a command printed until it ended.
fn rest(mut child: Child) -> String {
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    child.wait().unwrap();
    text
}

fn runs(repository: &Repository) -> Vec<Json> {
    repository.sandbox.maestro("loop status --json").json().as_array().cloned().unwrap_or_default()
}

fn id(run: &Json) -> String {
    run["id"].as_str().unwrap().to_owned()
}

/// Asserts that one run did all tasks, each once.
fn done_once(repository: &Repository, tasks: &[String]) {
    let all = runs(repository);
    assert_eq!(all.len(), 1, "{all:#?}");
    assert_eq!(all[0]["state"], "ready", "{:#}", all[0]);
    let commits = repository.commits(&Repository::branch(&id(&all[0])));
    let said: Vec<&str> = commits.iter().skip(1).map(|commit| commit.subject.as_str()).collect();
    assert_eq!(said, tasks);
}

#[test]
fn ctrl_c_pauses_and_the_same_command_continues_the_run() {
    let (repository, tasks) = waiting();
    let child = at_work(&repository);
    signal(&child, "-INT");
    let text = rest(child);
    assert!(text.contains("\npausing (Ctrl-C again to end at once)\n"), "{text}");
    assert!(text.contains("paused: run `maestro loop PLAN.md` or `maestro loop resume "), "{text}");
    repository.nothing_left(None);
    assert_eq!(runs(&repository)[0]["state"], "paused");

    let again = repository.sandbox.maestro_with(&LOOP);
    assert_eq!(again.code, 1, "{again}");
    let said = again.stderr();
    assert!(said.contains(" of PLAN.md is paused, 0 of 2 tasks done") && said.contains("pass `--yes`"), "{said}");
    assert_eq!(runs(&repository).len(), 1, "nothing was started");

    repository.set("go");
    let continued = repository.sandbox.maestro_with(&[&LOOP[..], &["--yes"]].concat());
    assert_eq!(continued.code, 0, "{continued}");
    done_once(&repository, &tasks);
}

#[test]
fn a_killed_command_leaves_a_stopped_run_that_nothing_resumes_but_a_person() {
    let (repository, tasks) = waiting();
    let mut child = at_work(&repository);
    child.kill().unwrap();
    child.wait().unwrap();
    repository.nothing_left(None);
    let stopped = runs(&repository).remove(0);
    assert_eq!(stopped["state"], "stopped", "{stopped:#}");
    assert_eq!(stopped["stateReason"], "the command that ran it ended");
    let shown = repository.sandbox.maestro("loop status").stdout();
    let short = shown.split_whitespace().next().unwrap();
    assert!(is_short_for(short, &id(&stopped)), "{shown}");
    assert!(shown.contains(&format!("Continue it with `maestro loop resume {short}`.")), "{shown}");

    // A server is no reason to go on, and neither is a loop of another plan.
    repository.set("go");
    repository.write_plan("OTHER.md", &[simple(3)]);
    repository.commit_all();
    let server = repository.sandbox.serve();
    let other = repository.sandbox.maestro("loop OTHER.md --agent demo --permission all");
    assert_eq!(other.code, 0, "{other}");
    let run = id(&stopped);
    assert_eq!(sessions(&server, &run).len(), 1, "its agent was not started again");
    assert_eq!(server.get(&format!("/api/runs/{run}"))["state"], "stopped");

    let resumed = repository.sandbox.maestro(&format!("loop resume {short}"));
    assert_eq!(resumed.code, 0, "{resumed}");
    assert!(resumed.stdout().contains("  working\n"), "{resumed}");
    let ended = goes_on_until(&server, &run, is_over);
    assert_eq!(ended["state"], "ready", "{ended:#}");
    let commits = repository.commits(&Repository::branch(&run));
    assert_eq!(commits.iter().filter(|commit| tasks.contains(&commit.subject)).count(), 2);
}

#[test]
fn a_server_of_a_person_resumes_what_ran_under_one_and_lists_what_did_not() {
    let (repository, _) = waiting();
    let mut child = at_work(&repository);
    child.kill().unwrap();
    child.wait().unwrap();
    repository.nothing_left(None);
    let left = id(&runs(&repository)[0]);
    std::fs::remove_file(repository.mark("begun")).unwrap();
    repository.write_plan("OTHER.md", &[repository.script("gate", GATE)]);
    repository.commit_all();
    let mut server = repository.sandbox.serve();
    let run = repository.sandbox.maestro("loop OTHER.md --agent demo --permission all --no-review --detach").id();
    wait_until("it works", || repository.mark("begun").exists());
    server.kill();

    let mut command = repository.sandbox.command();
    let mut next = command.args(["up", "--port", "0"]).stdout(Stdio::piped()).spawn().unwrap();
    let resumes = || runs(&repository).iter().any(|one| id(one) == run && one["state"] == "working");
    wait_until("it goes on", resumes);
    signal(&next, "-TERM");
    let mut text = String::new();
    next.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    next.wait().unwrap();
    let line =
        |begin: &str| text.lines().find(|line| line.starts_with(begin)).unwrap_or_else(|| panic!("{text}")).to_owned();
    assert!(line("Resumes run ").contains(" of OTHER.md in "), "{text}");
    assert!(line("Not resumed: run ").contains(" of PLAN.md in "), "{text}");
    assert_eq!(runs(&repository).iter().find(|one| id(one) == left).unwrap()["state"], "stopped");
}

#[test]
fn a_closed_terminal_leaves_the_run_to_its_server_which_ends_with_it() {
    let (repository, tasks) = waiting();
    let child = at_work(&repository);
    signal(&child, "-HUP");
    rest(child);
    assert_eq!(runs(&repository)[0]["state"], "working");
    repository.set("go");
    // A server that is about to end may refuse to answer.
    wait_until("it is done", || runs(&repository).first().is_some_and(|run| run["state"] == "ready"));
    repository.nothing_left(None);
    done_once(&repository, &tasks);
}

#[test]
fn a_run_that_goes_on_is_followed_and_not_started_again() {
    let (repository, tasks) = waiting();
    let _server = repository.sandbox.serve();
    let run = repository.begin("--no-review");
    wait_until("it works", || repository.mark("begun").exists());
    let mut command = repository.sandbox.command();
    let child = command.args(LOOP).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    repository.set("go");
    let text = rest(child);
    assert!(text.contains(" is at it already; following it.\n"), "{text}");
    assert_eq!(id(&runs(&repository)[0]), run);
    done_once(&repository, &tasks);
}

#[test]
fn a_stopped_run_continues_from_the_task_where_it_stopped() {
    let repository = Repository::with(&[]);
    let check = repository.script("check", "[ ! -e f2.txt ] || [ -e HOME/go ]\n");
    let check = check.strip_prefix("Run ").unwrap();
    repository.sandbox.write("~/.config/maestro/config.toml", format!("verify = [\"{check}\"]\n"));
    let tasks = vec![simple(1), simple(2), simple(3)];
    repository.write_plan("PLAN.md", &tasks);
    repository.commit_all();
    let stopped = repository.sandbox.maestro_with(&LOOP);
    assert_eq!(stopped.code, 1, "{stopped}");
    assert_eq!(runs(&repository)[0]["state"], "stopped");
    repository.set("go");
    let resumed = repository.sandbox.maestro("loop resume");
    assert_eq!(resumed.code, 0, "{resumed}");
    let text = resumed.stdout();
    let (shown, _) = text.split_once("Commits:").unwrap();
    assert!(!shown.contains(&tasks[0]) && shown.contains(&tasks[1]) && shown.contains(&tasks[2]), "{shown}");
    done_once(&repository, &tasks);

    // What is ready is not done again in silence, and what is merged says so.
    let again = repository.sandbox.maestro_with(&LOOP);
    assert!(again.stderr().contains(" has worked through PLAN.md and is not merged"), "{again}");
    let run = id(&runs(&repository)[0]);
    assert_eq!(repository.sandbox.maestro(&format!("merge {run}")).code, 0);
    let merged = runs(&repository).remove(0);
    assert_eq!((&merged["state"], &merged["landedInto"]), (&"merged".into(), &"main".into()), "{merged:#}");
    let status = repository.sandbox.maestro("loop status").stdout();
    assert!(status.contains("  merged into main on 20"), "{status}");
    let refused = repository.sandbox.maestro(&format!("loop resume {run}"));
    assert!(refused.code == 1 && refused.stderr().contains("already merged into main on 20"), "{refused}");
}

#[test]
fn a_discarded_run_says_so_and_the_same_command_starts_anew() {
    let repository = Repository::with(&[simple(1)]);
    let first = repository.work("--no-review");
    assert_eq!(first.code, 0, "{first}");
    let run = id(&runs(&repository)[0]);
    assert_eq!(repository.sandbox.maestro(&format!("discard {run} --yes")).code, 0);
    let status = repository.sandbox.maestro("loop status").stdout();
    assert!(status.contains("  discarded on 20"), "{status}");
    assert_eq!(repository.work("--no-review").code, 0);
    assert_eq!(runs(&repository).len(), 2);
}

#[test]
fn a_loop_without_a_plan_takes_the_only_open_one_or_lists_them() {
    let repository = Repository::with(&[simple(1)]);
    repository.write_plan("docs/PLAN.md", &["Nothing".to_owned()]);
    repository.sandbox.write("docs/PLAN.md", "- [x] Done\n");
    repository.commit_all();
    let taken = repository.sandbox.maestro("loop --agent demo --permission all --no-review");
    assert_eq!(taken.code, 0, "{taken}");
    assert!(taken.stdout().contains(" works through PLAN.md\n"), "{taken}");
    repository.sandbox.write("TODO.md", "- [ ] More\n");
    let several = repository.sandbox.maestro("loop --agent demo");
    assert!(several.stderr().contains("there are several plans: PLAN.md, TODO.md"), "{several}");
}
