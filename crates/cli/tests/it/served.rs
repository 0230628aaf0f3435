//! A server in a sandbox, and requests to it without any help.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::Value as Json;

use crate::sandbox::Sandbox;

/// A server that is ended with this value.
pub(crate) struct Server {
    child: Child,
    /// What it said about itself.
    pub(crate) file: Json,
}

impl Server {
    /// Starts a server in the sandbox, on a port that is free.
    pub(crate) fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        let mut command = sandbox.command();
        command.args(["up", "--port", "0", "--json"]).args(args);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, file: serde_json::from_str(&line).unwrap() }
    }

    pub(crate) fn url(&self) -> &str {
        self.file["url"].as_str().unwrap()
    }

    /// Sends a request and returns the status and what came back.
    pub(crate) fn ask(&self, method: &str, path: &str, token: Option<&str>, body: Option<&Json>) -> (u16, Json) {
        let address = self.url().strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let body = body.map(ToString::to_string).unwrap_or_default();
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{token}\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(Json::Null))
    }

    /// Makes something, which must work.
    pub(crate) fn make(&self, path: &str, body: &Json) -> Json {
        let (status, made) = self.ask("POST", path, None, Some(body));
        assert!((200..300).contains(&status), "{path}: {status} {made}");
        made
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A project with a task, a subtask, a worker's session and an orchestrator's, and a hand-off.
pub(crate) struct Prepared {
    pub(crate) project: String,
    pub(crate) task: String,
    pub(crate) subtask: String,
    pub(crate) worker: String,
    pub(crate) orchestrator: String,
    pub(crate) handoff: String,
}

impl Prepared {
    /// Sets all this up in a sandbox; no server runs afterwards.
    pub(crate) fn new(sandbox: &Sandbox) -> Self {
        use serde_json::json;
        assert_eq!(sandbox.maestro("init --yes").code, 0);
        let server = Server::start(sandbox, &[]);
        let id = |made: &Json| made["id"].as_str().unwrap().to_owned();
        let project = id(&server.ask("GET", "/api/projects", None, None).1[0]);
        let task = |title: &str, parent: Option<&str>| {
            let body = json!({ "projectId": project, "title": title, "parentId": parent, "model": "opus" });
            id(&server.make("/api/tasks", &body))
        };
        let goal = task("Dates work everywhere", None);
        let bound = task("Compare dates as dates", Some(&goal));
        let subtask = task("Cover October in the tests", Some(&bound));
        let session = |role: &str, task: &str| {
            let body = json!({ "projectId": project, "taskIds": [task], "role": role, "strategy": "queue" });
            id(&server.make("/api/sessions", &body))
        };
        let (worker, orchestrator) = (session("worker", &bound), session("orchestrator", &goal));
        let body = json!({ "projectId": project, "from": "architect", "to": "worker", "title": "Mind the leap years" });
        let handoff = id(&server.make("/api/handoffs", &body));
        Self { task: bound, project, subtask, worker, orchestrator, handoff }
    }
}
