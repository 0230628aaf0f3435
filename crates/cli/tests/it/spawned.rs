//! What becomes of sessions that are really started: a server, a worker, and an agent without a model?

mod begun;
mod bounds;
mod crashes;
mod failures;
mod floods;
mod frames;
mod own_worktrees;
mod permissions;
mod requests;
mod skills;
mod steering;
mod teams;
mod told;
mod ui;

use std::fs;

use serde_json::{Value as Json, json};

use crate::sandbox::{Output, Sandbox};
use crate::served::Server;
use crate::waiting::{process_in, wait_until};

/// A sandbox with the programs of this machine, in which the demo agent follows a script once there is one.
struct Stage {
    sandbox: Sandbox,
    server: Server,
    project: String,
}

/// Whether the demo agent does what its prompt says, or what a script does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follows {
    Prompt,
    Script,
}

/// A sandbox for sessions; nothing runs in it yet.
fn sandbox(follows: Follows) -> Sandbox {
    let sandbox = Sandbox::new().with_variable("PATH", &std::env::var("PATH").unwrap());
    if follows == Follows::Prompt {
        return sandbox;
    }
    let script = sandbox.path("~/script").display().to_string();
    sandbox.with_variable("MAESTRO_DEMO_SCRIPT", &script)
}

impl Stage {
    /// A server whose agents do what their prompt says.
    fn prompted() -> Self {
        Self::of(sandbox(Follows::Prompt), &[])
    }

    /// A server whose agents follow a script.
    fn scripted(script: &str) -> Self {
        let stage = Self::of(sandbox(Follows::Script), &[]);
        stage.script(script);
        stage
    }

    /// A server in a sandbox, and a project in it.
    fn of(sandbox: Sandbox, args: &[&str]) -> Self {
        let server = Server::start(&sandbox, args);
        let body = json!({ "name": "shop", "workingDir": sandbox.project() });
        let project = id(&server.make("/api/projects", &body));
        Self { sandbox, server, project }
    }

    /// What agents do from their next turn on.
    fn script(&self, script: &str) {
        self.sandbox.write("~/script", script);
    }

    fn task(&self, title: &str) -> String {
        id(&self.server.make("/api/tasks", &json!({ "projectId": self.project, "title": title })))
    }

    /// Asks for the demo agent on a task, in words as one types them, and returns the session.
    fn spawn(&self, task: &str, words: &str) -> String {
        let words = format!("session spawn --task {task} --agent demo {words}");
        self.sandbox.maestro(&words).id()
    }

    /// The same for a task of its own, followed to its end.
    fn follow(&self, words: &str) -> (String, Output) {
        let words = format!("session spawn --task {} --agent demo {words} --follow", self.task("Do it"));
        let output = self.sandbox.maestro(&words);
        (output.stdout().split_whitespace().next().unwrap_or_default().to_owned(), output)
    }

    fn session(&self, session: &str) -> Json {
        self.server.get(&format!("/api/sessions/{session}"))
    }

    fn wait_for(&self, session: &str, status: &str) {
        wait_until(&format!("{session} is {status}"), || self.session(session)["status"] == status);
    }

    /// How far its start is.
    fn start_of(&self, session: &str) -> Json {
        self.server.get(&format!("/api/sessions/{session}/spawn"))
    }

    /// Waits until a session's agent has ended and nobody sees to it any more.
    fn settled(&self, session: &str) -> Json {
        wait_until("the agent has ended", || self.start_of(session)["state"] == "done");
        self.start_of(session)
    }

    /// The kinds and words of a session's timeline.
    fn timeline(&self, session: &str) -> Vec<(String, String)> {
        let lines = self.server.get(&format!("/api/sessions/{session}/timeline"));
        let word = |line: &Json, key: &str| line[key].as_str().unwrap_or_default().to_owned();
        lines.as_array().unwrap().iter().map(|line| (word(line, "type"), word(line, "message"))).collect()
    }

    /// What a session's agent did, as far as it fits into a page.
    fn transcript(&self, session: &str) -> Vec<Json> {
        let entries = self.server.get(&format!("/api/sessions/{session}/transcript?limit=500"));
        entries.as_array().unwrap().iter().map(|entry| entry["event"].clone()).collect()
    }

    /// The lines of a file of the project; none where there is no file.
    fn lines(&self, file: &str) -> Vec<String> {
        lines(&self.sandbox, file)
    }
}

fn lines(sandbox: &Sandbox, file: &str) -> Vec<String> {
    let text = fs::read_to_string(sandbox.path(file)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn id(made: &Json) -> String {
    made["id"].as_str().unwrap_or_else(|| panic!("it has no id: {made}")).to_owned()
}

/// What the demo agent of a session was told, turn by turn.
fn prompts(stage: &Stage, session: &str) -> Vec<String> {
    let own = stage.start_of(session)["agentSession"].as_str().unwrap().to_owned();
    let kept = fs::read_to_string(stage.sandbox.path(&format!("~/.local/state/maestro-demo/{own}.jsonl"))).unwrap();
    kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// An act of a script that runs a command in a shell.
fn run(command: &str) -> String {
    format!("{}\n", json!({ "do": "run", "command": command }))
}

/// An act of a script that calls `maestro`.
fn report(words: &[&str]) -> String {
    format!("{}\n", json!({ "do": "report", "words": words }))
}

/// What ends a turn of a script.
const END_TURN: &str = "{\"do\":\"end_turn\"}\n";

/// A command that tells its number and waits for a file.
const GATE: &str = "echo $$ >> begun; while [ ! -e go ]; do sleep 0.02; done";

/// Waits until none of the processes is left whose numbers stand in a file.
fn all_gone(sandbox: &Sandbox, file: &str) {
    for number in lines(sandbox, file) {
        let number = number.parse().unwrap();
        let file = sandbox.path(file);
        wait_until(&format!("process {number} is gone"), || process_in(&file, number).is_none());
    }
}
