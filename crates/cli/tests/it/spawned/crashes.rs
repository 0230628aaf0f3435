//! Does work go on when the server, the worker or the agent itself is killed in the middle of it?

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use super::{END_TURN, Follows, GATE, Stage, all_gone, prompts, report, run, sandbox};
use crate::sandbox::Sandbox;
use crate::served::Server;
use crate::waiting::{number_in, wait_until};

/// An agent that waits in its first turn and is done in its second.
fn in_two_turns() -> String {
    let first = format!("echo $PPID >> agents; {GATE}; touch not-cut-off");
    [run(&first), END_TURN.to_owned(), run("touch went-on"), report(&["complete", "after all"])].concat()
}

/// Waits until it works and can be gone on with: before that, whoever comes next begins from the beginning.
fn works(stage: &Stage, session: &str) {
    wait_until("it works", || stage.lines("begun").len() == 1);
    wait_until("its own session is known", || stage.start_of(session)["agentSession"].is_string());
}

/// Waits for the end of a session that was cut off once, and was started so often by its own fault.
fn completed(stage: &Stage, session: &str, starts: i64) {
    stage.wait_for(session, "completed");
    let start = stage.settled(session);
    assert_eq!(start["outcome"]["kind"], "done", "{start:#}");
    assert_eq!(start["attempt"], starts, "{start:#}");
    assert!(stage.sandbox.path("went-on").exists());
    assert!(!stage.sandbox.path("not-cut-off").exists());
    all_gone(&stage.sandbox, "begun");
    all_gone(&stage.sandbox, "agents");
    assert_eq!(stage.sandbox.maestro("db check").code, 0);
}

#[test]
fn a_killed_server_takes_its_agents_with_it_and_the_next_one_goes_on() {
    for way in ["", "--driver acp --permission all"] {
        let mut stage = Stage::scripted(&in_two_turns());
        let session = stage.spawn(&stage.task("Do it"), way);
        works(&stage, &session);
        stage.server.kill();
        all_gone(&stage.sandbox, "begun");
        all_gone(&stage.sandbox, "agents");
        stage.server = stage.sandbox.serve();
        completed(&stage, &session, 1);
    }
}

/// A worker of its own, which is ended with this value.
pub(super) struct Worker(Child);

impl Worker {
    pub(super) fn start(sandbox: &Sandbox) -> Self {
        let mut child = sandbox.command().args(["worker", "run"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("agents at once"), "{line}");
        Self(child)
    }

    fn signal(&self, name: &str) {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn another_worker_goes_on_with_what_a_killed_one_had() {
    let stage = Stage::of(sandbox(Follows::Script), &["--agents", "0"]);
    stage.script(&in_two_turns());
    let first = Worker::start(&stage.sandbox);
    let session = stage.spawn(&stage.task("Do it"), "");
    works(&stage, &session);
    drop(first);
    all_gone(&stage.sandbox, "begun");
    let _second = Worker::start(&stage.sandbox);
    completed(&stage, &session, 1);
}

/// Whether a process is stopped, or gone.
fn stands_still(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with(['T', 't', 'Z', 'X']))
}

#[test]
fn the_agent_of_a_frozen_worker_stands_still_before_another_one_goes_on() {
    let stage = Stage::of(sandbox(Follows::Script), &["--agents", "0"]);
    stage.script(&in_two_turns());
    let first = Worker::start(&stage.sandbox);
    let session = stage.spawn(&stage.task("Do it"), "");
    works(&stage, &session);
    let agents = ["begun", "agents"].map(|file| number_in(&stage.sandbox.path(file)));
    assert!(agents.iter().all(|agent| *agent != 0 && !stands_still(*agent)), "it works");
    first.signal("STOP");
    let _second = Worker::start(&stage.sandbox);
    wait_until("another agent goes on", || stage.sandbox.path("went-on").exists());
    assert!(agents.into_iter().all(stands_still), "the one before does nothing more");
    first.signal("CONT");
    completed(&stage, &session, 1);
}

#[test]
fn an_agent_finds_its_server_where_it_came_back() {
    let mut stage = Stage::of(sandbox(Follows::Script), &["--agents", "0"]);
    stage.script(&[run(GATE), report(&["complete", "the server was away"])].concat());
    let _worker = Worker::start(&stage.sandbox);
    let session = stage.spawn(&stage.task("Do it"), "");
    wait_until("it works", || stage.lines("begun").len() == 1);
    let before = stage.server.file["url"].clone();
    stage.server.kill();
    stage.server = Server::start(&stage.sandbox, &["--agents", "0"]);
    assert_ne!(stage.server.file["url"], before);
    stage.sandbox.write("go", "");
    stage.wait_for(&session, "completed");
    assert_eq!(stage.settled(&session)["outcome"]["kind"], "done");
}

#[test]
fn a_killed_agent_is_started_again() {
    for way in ["", "--driver acp --permission all"] {
        let stage = Stage::scripted(&in_two_turns());
        let session = stage.spawn(&stage.task("Do it"), way);
        works(&stage, &session);
        let agent = number_in(&stage.sandbox.path("agents")).to_string();
        assert!(Command::new("kill").args(["-9", &agent]).status().unwrap().success());
        completed(&stage, &session, 2);
    }
}

#[test]
fn who_dies_again_and_again_is_given_up() {
    let dies = "{\"do\":\"crash\",\"signal\":11}\n";
    let stage = Stage::scripted(&[dies, END_TURN, dies, END_TURN, dies, END_TURN].concat());
    let (session, followed) = stage.follow("--driver acp");
    assert_eq!(followed.code, 1, "{followed}");
    let start = stage.settled(&session);
    assert_eq!((start["attempt"].as_i64(), start["outcome"]["kind"].as_str()), (Some(3), Some("failed")), "{start:#}");
    assert!(followed.stdout().contains("the agent's process was killed by signal 11"), "{followed}");
}

#[test]
fn an_agent_that_lost_its_memory_is_told_everything_anew() {
    for way in ["", "--driver acp --permission all"] {
        let mut stage = Stage::scripted(&[report(&["update", "half of it is done"]), run(GATE)].concat());
        let session = stage.spawn(&stage.task("Do it"), way);
        works(&stage, &session);
        stage.server.kill();
        all_gone(&stage.sandbox, "begun");
        std::fs::remove_dir_all(stage.sandbox.path("~/.local/state/maestro-demo")).unwrap();
        stage.script(&[run("touch went-on"), report(&["complete", "anew"])].concat());
        stage.server = stage.sandbox.serve();
        stage.wait_for(&session, "completed");
        assert!(stage.sandbox.path("went-on").exists());
        let prompt = &prompts(&stage, &session)[0];
        assert!(prompt.contains("## Progress so far"), "{prompt}");
        assert!(prompt.contains("half of it is done"), "{prompt}");
    }
}

#[test]
fn a_server_that_is_told_to_end_leaves_nothing_and_the_next_one_goes_on() {
    let mut stage = Stage::scripted(&in_two_turns());
    let session = stage.spawn(&stage.task("Do it"), "");
    works(&stage, &session);
    stage.server.end();
    all_gone(&stage.sandbox, "begun");
    all_gone(&stage.sandbox, "agents");
    stage.server = stage.sandbox.serve();
    completed(&stage, &session, 1);
}
