//! Commands that are at work when whoever started them is killed for good.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Command, Output, Stdio};

use serde_json::json;

use crate::sandbox::Sandbox;
use crate::waiting::{is_alive, number_in, wait_until};

/// Opens a pipe only if somebody reads from it.
const NONBLOCK: i32 = 0o4000;

/// A project with a workflow whose second command waits for a word through a pipe.
fn sandbox(fields: &str, script: &str) -> Sandbox {
    let sandbox = Sandbox::new().with_variable("PATH", "/usr/bin:/bin");
    let workflow = format!(
        "name: block\ndescription: Waits in the middle.\nsteps:\n\
         - {{id: before, type: command, shell: {{script: 'echo before >> effects'}}}}\n\
         - {{id: work, type: command, {fields} shell: {{script: '{script}'}}}}\n\
         - {{id: after, type: command, shell: {{script: 'echo after >> effects'}}}}\n"
    );
    sandbox.write(".claude/skills/block/workflow.yaml", workflow);
    assert!(Command::new("mkfifo").arg(sandbox.path("gate")).status().unwrap().success());
    let trusted = sandbox.maestro("trust block --yes");
    assert_eq!(trusted.code, 0, "{trusted}");
    sandbox
}

fn spawn(sandbox: &Sandbox, args: &[&str]) -> Child {
    let mut command = sandbox.command();
    command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Starts the workflow, and kills the program while its command waits. Returns the run.
fn killed_at_work(sandbox: &Sandbox) -> String {
    let mut driver = spawn(sandbox, &["workflow", "start", "block"]);
    let program = number_in(&sandbox.path("pid"));
    assert!(is_alive(program));
    driver.kill().unwrap();
    driver.wait().unwrap();
    wait_until("the command has ended with its driver", || !is_alive(program));
    fs::remove_file(sandbox.path("pid")).unwrap();
    run(sandbox)
}

fn run(sandbox: &Sandbox) -> String {
    let runs = sandbox.maestro("workflow runs --all --json").json();
    assert_eq!(runs.as_array().unwrap().len(), 1);
    runs[0]["id"].as_str().unwrap().to_owned()
}

/// Lets the command that waits go on.
fn release(sandbox: &Sandbox) {
    number_in(&sandbox.path("pid"));
    let open = || OpenOptions::new().write(true).custom_flags(NONBLOCK).open(sandbox.path("gate"));
    wait_until("somebody reads from the pipe", || open().is_ok_and(|mut gate| gate.write_all(b"go\n").is_ok()));
}

fn ended(child: Child) -> Output {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn effects(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.path("effects")).unwrap()
}

#[test]
fn what_only_reads_is_read_again() {
    let sandbox = sandbox("effect: read,", "echo $$ > pid; head -n 1 gate; echo work >> effects");
    let run = killed_at_work(&sandbox);
    assert_eq!(effects(&sandbox), "before\n");
    let next = spawn(&sandbox, &["workflow", "next", &run]);
    release(&sandbox);
    let page = String::from_utf8(ended(next).stdout).unwrap();
    assert!(page.contains("WORKFLOW COMPLETE"), "{page}");
    assert_eq!(effects(&sandbox), "before\nwork\nafter\n");
}

#[test]
fn what_writes_and_did_not_happen_is_done_when_the_user_says_so() {
    let sandbox = sandbox("", "echo $$ > pid; head -n 1 gate; echo work >> effects");
    let run = killed_at_work(&sandbox);
    let asked = sandbox.maestro_with(&["workflow", "next", &run, "--format", "json"]);
    let directive: serde_json::Value = serde_json::from_str(&asked.stdout()).unwrap();
    assert_eq!(directive["question"]["options"], json!(["again", "done", "abort"]), "{asked}");
    assert_eq!(effects(&sandbox), "before\n", "nothing is done unasked");
    let ticket = directive["ticket"].as_str().unwrap();
    let nonsense = sandbox.maestro_with(&["workflow", "answer", &run, "--ticket", ticket, "perhaps"]);
    assert_eq!(nonsense.code, 1, "{nonsense}");
    assert!(nonsense.stderr().contains("again, done, abort"), "{nonsense}");
    let again = spawn(&sandbox, &["workflow", "answer", &run, "--ticket", ticket, "again"]);
    release(&sandbox);
    ended(again);
    assert_eq!(effects(&sandbox), "before\nwork\nafter\n");
}

#[test]
fn what_writes_and_happened_is_not_done_again() {
    let sandbox = sandbox("", "echo work >> effects; echo $$ > pid; head -n 1 gate");
    let run = killed_at_work(&sandbox);
    for _ in 0..2 {
        let asked = sandbox.maestro_with(&["workflow", "next", &run]);
        assert!(asked.code == 0 && asked.stdout().contains("it is unknown whether it was done"), "{asked}");
    }
    let ticket = sandbox.maestro_with(&["workflow", "next", &run, "--format", "json"]).stdout();
    let ticket: serde_json::Value = serde_json::from_str(&ticket).unwrap();
    let done =
        sandbox.maestro_with(&["workflow", "answer", &run, "--ticket", ticket["ticket"].as_str().unwrap(), "done"]);
    assert!(done.stdout().contains("WORKFLOW COMPLETE"), "{done}");
    assert_eq!(effects(&sandbox), "before\nwork\nafter\n");
}

#[test]
fn what_a_killed_run_in_the_terminal_leaves_open_is_asked_afterwards() {
    let sandbox = sandbox("", "echo work >> effects; echo $$ > pid; head -n 1 gate");
    let mut driver = spawn(&sandbox, &["workflow", "run", "block", "--yes"]);
    let program = number_in(&sandbox.path("pid"));
    driver.kill().unwrap();
    driver.wait().unwrap();
    wait_until("the command has ended with its driver", || !is_alive(program));
    let asked = sandbox.maestro_with(&["workflow", "next", &run(&sandbox)]);
    assert!(asked.stdout().contains("again") && effects(&sandbox) == "before\nwork\n", "{asked}");
}

#[test]
fn of_two_who_go_on_with_a_run_only_one_executes() {
    let sandbox = sandbox("", "echo $$ > pid; head -n 1 gate; echo work >> effects");
    let first = spawn(&sandbox, &["workflow", "start", "block"]);
    number_in(&sandbox.path("pid"));
    let run = run(&sandbox);
    let others: Vec<Child> = (0..3).map(|_| spawn(&sandbox, &["workflow", "next", &run])).collect();
    release(&sandbox);
    ended(first);
    for other in others {
        let page = String::from_utf8(ended(other).stdout).unwrap();
        assert!(page.contains("WORKFLOW COMPLETE"), "{page}");
    }
    assert_eq!(effects(&sandbox), "before\nwork\nafter\n");
}
