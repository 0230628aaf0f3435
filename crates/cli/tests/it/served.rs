//! A server in a sandbox, and requests to it without any help.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value as Json;

use crate::sandbox::Sandbox;

/// The arguments of a server on a port that is free.
const UP: [&str; 4] = ["up", "--port", "0", "--json"];

/// The token of every server in a test, for callers over the network.
pub(crate) const TOKEN: &str = "a-token-for-tests-0123456789abcdef";

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
        command.env("MAESTRO_AUTH_TOKEN", TOKEN).args(UP).args(args);
        Self::spawn(command)
    }

    /// Starts a server that finds no room in a file beyond so many blocks, as on a full disk.
    pub(crate) fn start_cramped(sandbox: &Sandbox, blocks: u64) -> Self {
        let plain = sandbox.command();
        let mut command = Command::new("/bin/sh");
        let variables = plain.get_envs().filter_map(|(name, value)| Some((name, value?)));
        command
            .env_clear()
            .envs(variables)
            .env("MAESTRO_AUTH_TOKEN", TOKEN)
            .current_dir(sandbox.project())
            .stdin(Stdio::null());
        // A write beyond the limit fails, instead of ending the program.
        let script = "trap '' XFSZ; ulimit -f \"$0\" && exec \"$@\"";
        command.args(["-c", script, &blocks.to_string()]).arg(plain.get_program()).args(UP);
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, file: serde_json::from_str(&line).unwrap() }
    }

    pub(crate) fn url(&self) -> &str {
        self.file["url"].as_str().unwrap()
    }

    /// Ends the server as a crash would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks the server to end, and waits until it has.
    pub(crate) fn end(&mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        self.child.wait().unwrap();
    }

    /// Sends a request, with the server's token unless another is given, and returns the status and what came back.
    pub(crate) fn ask(&self, method: &str, path: &str, token: Option<&str>, body: Option<&Json>) -> (u16, Json) {
        request(self.url(), method, path, token, body).expect("the server answers")
    }

    /// Asks for something, which must be there.
    pub(crate) fn get(&self, path: &str) -> Json {
        let (status, found) = self.ask("GET", path, None, None);
        assert_eq!(status, 200, "{path}: {found}");
        found
    }

    /// Makes something, which must work.
    pub(crate) fn make(&self, path: &str, body: &Json) -> Json {
        let (status, made) = self.ask("POST", path, None, Some(body));
        assert!((200..300).contains(&status), "{path}: {status} {made}");
        made
    }
}

/// Sends one request to a server, with its own token unless another is given; nothing when it is gone before it has answered whole.
pub(crate) fn request(
    url: &str,
    method: &str,
    path: &str,
    token: Option<&str>,
    body: Option<&Json>,
) -> Option<(u16, Json)> {
    let token = format!("Authorization: Bearer {}\r\n", token.unwrap_or(TOKEN));
    request_with(url, method, path, &token, body)
}

/// The same with headers of one's own, each with the end of its line.
pub(crate) fn request_with(
    url: &str,
    method: &str,
    path: &str,
    headers: &str,
    body: Option<&Json>,
) -> Option<(u16, Json)> {
    let address = url.strip_prefix("http://")?;
    let mut stream = TcpStream::connect(address).ok()?;
    let body = body.map(ToString::to_string).unwrap_or_default();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let length =
        head.to_ascii_lowercase().split("content-length: ").nth(1)?.split("\r\n").next()?.parse::<usize>().ok()?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    (body.len() == length).then(|| (status, serde_json::from_str(body).unwrap_or(Json::Null)))
}

/// What a server answers at a path, whatever it is.
pub(crate) fn text(url: &str, path: &str) -> String {
    text_with(url, path, &format!("Authorization: Bearer {TOKEN}\r\n"))
}

/// The same with headers of one's own, each with the end of its line.
pub(crate) fn text_with(url: &str, path: &str, headers: &str) -> String {
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    std::io::read_to_string(stream).unwrap()
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
