//! What becomes of the agent that works when its run is told to wait, to go on or to end?

use super::{Repository, goes_on_until, is_over, sessions, simple, state, steer};
use crate::served::Server;
use crate::waiting::{process_in, wait_until};

/// An agent's work that waits until it may end, and says who does it.
const GATE: &str = "echo $$ >> HOME/begun; echo $PPID >> HOME/begun; while [ ! -e HOME/go ]; do sleep 0.02; done; \
                    echo x > f1.txt\n";

/// A repository whose first task waits, and a second one follows.
fn waiting() -> (Repository, Vec<String>) {
    let repository = Repository::with(&[]);
    let tasks = vec![repository.script("gate", GATE), simple(2)];
    repository.write_plan("PLAN.md", &tasks);
    repository.write_plan("OTHER.md", &[simple(3)]);
    repository.commit_all();
    (repository, tasks)
}

fn numbers(repository: &Repository) -> Vec<u32> {
    let text = std::fs::read_to_string(repository.mark("begun")).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

fn works(repository: &Repository) {
    wait_until("it works", || numbers(repository).len() == 2);
}

fn gone(repository: &Repository) {
    for number in numbers(repository) {
        let file = repository.mark("begun");
        wait_until(&format!("process {number} is gone"), || process_in(&file, number).is_none());
    }
}

/// Works through another plan: by then the server has looked at everything many times.
fn another(repository: &Repository) {
    let other = repository.sandbox.maestro("loop OTHER.md --agent demo --permission all");
    assert_eq!(other.code, 0, "{other}");
}

/// What is kept of a run for people to read.
fn kept(repository: &Repository, run: &str) -> serde_json::Value {
    let text = std::fs::read_to_string(repository.sandbox.path(&format!("~/.maestro/runs/{run}/summary.json")));
    text.map(|text| serde_json::from_str(&text).unwrap()).unwrap_or_default()
}

fn agent_ended(server: &Server, run: &str) {
    let session = sessions(server, run)[0]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/sessions/{session}/spawn");
    wait_until("the agent has ended", || server.get(&path)["state"] == "done");
}

#[test]
fn a_cancelled_run_leaves_no_agent_and_no_commit() {
    let (repository, _) = waiting();
    let server = repository.sandbox.serve();
    let run = repository.begin("");
    works(&repository);
    assert_eq!(steer(&server, &run, "cancel")["status"], "cancelled");
    gone(&repository);
    agent_ended(&server, &run);
    assert_eq!(sessions(&server, &run)[0]["status"], "stopped");
    another(&repository);
    assert_eq!(sessions(&server, &run).len(), 1, "nobody else was started");
    assert_eq!(repository.commits(&Repository::branch(&run)).len(), 1, "only the plan");
    wait_until("what is kept says so", || kept(&repository, &run)["status"] == "cancelled");
    assert_eq!(kept(&repository, &run)["sessions"][0]["outcome"]["kind"], "cancelled");
    repository.nothing_left(Some(&server));
}

#[test]
fn a_run_that_was_cancelled_while_no_server_ran_is_tidied_up_by_the_next_one() {
    let (repository, _) = waiting();
    let mut server = repository.sandbox.serve();
    let run = repository.begin("");
    works(&repository);
    server.kill();
    gone(&repository);
    // A server that starts no agents takes the word.
    let mut deaf = Server::start(&repository.sandbox, &["--agents", "0"]);
    steer(&deaf, &run, "cancel");
    deaf.end();
    let server = repository.sandbox.serve();
    wait_until("its session is over", || sessions(&server, &run)[0]["status"] == "stopped");
    another(&repository);
    assert_eq!(numbers(&repository).len(), 2, "its agent was not started again");
}

#[test]
fn a_paused_run_lets_its_agent_finish_and_goes_on_when_it_may() {
    // 4: pause, then resume, and it goes on.
    for how in ["as it was", "with another server"] {
        let (repository, tasks) = waiting();
        let mut server = repository.sandbox.serve();
        let run = repository.begin("");
        works(&repository);
        assert_eq!(steer(&server, &run, "pause")["status"], "paused");
        repository.set("go");
        agent_ended(&server, &run);
        assert_eq!(sessions(&server, &run)[0]["status"], "completed");
        if how == "with another server" {
            server.kill();
            server = repository.sandbox.serve();
        }
        another(&repository);
        assert_eq!(sessions(&server, &run).len(), 1, "nothing new begins");
        assert_eq!(state(&server, &run)["status"], "paused");
        steer(&server, &run, "resume");
        let ended = goes_on_until(&server, &run, is_over);
        assert_eq!(ended["status"], "completed", "{ended:#}");
        let commits = repository.commits(&Repository::branch(&run));
        let said: Vec<&str> = commits.iter().skip(1).map(|commit| commit.subject.as_str()).collect();
        assert_eq!(said, tasks);
        assert_eq!(sessions(&server, &run).len(), 4, "nobody did anything twice");
    }
}

#[test]
fn a_run_that_is_paused_and_resumed_while_its_agent_works_does_not_start_another() {
    let (repository, _) = waiting();
    let server = repository.sandbox.serve();
    let run = repository.begin("");
    works(&repository);
    steer(&server, &run, "pause");
    steer(&server, &run, "resume");
    another(&repository);
    assert_eq!(sessions(&server, &run).len(), 1);
    repository.set("go");
    let ended = goes_on_until(&server, &run, is_over);
    assert_eq!(ended["status"], "completed", "{ended:#}");
    assert_eq!(numbers(&repository).len(), 2, "the task was done once");
}

#[test]
fn a_server_that_is_told_to_end_takes_the_loops_agent_with_it_and_the_next_one_goes_on() {
    // 9: nothing survives SIGTERM.
    let (repository, _) = waiting();
    let mut server = repository.sandbox.serve();
    let run = repository.begin("");
    works(&repository);
    server.end();
    gone(&repository);
    repository.nothing_left(None);
    repository.set("go");
    let server = repository.sandbox.serve();
    let ended = goes_on_until(&server, &run, is_over);
    assert_eq!(ended["status"], "completed", "{ended:#}");
    assert_eq!(repository.commits(&Repository::branch(&run)).len(), 3);
}
