//! A client of the Model Context Protocol without any help: JSON lines to `maestro mcp`, or HTTP to a server; of the protocol
//! with a handshake, or of today's; one that can ask its user, or one that cannot.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::sandbox::Sandbox;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// Which protocol a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// With a handshake and sessions.
    Earlier,
    /// Every request by itself.
    Today,
}

/// Whether a client can ask its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forms {
    Shown,
    Unknown,
}

/// What a client speaks to.
enum Link {
    Pipe { child: Child, input: Option<ChildStdin>, lines: Receiver<Json> },
    Http { url: String, headers: String },
}

pub(crate) struct Client {
    link: Link,
    era: Era,
    forms: Forms,
    /// The folders that are open in it, if it says so.
    folders: Option<Vec<String>>,
    count: u64,
    /// What the user says to each question, in turn.
    answers: Vec<Json>,
    /// What was asked.
    pub(crate) asked: Vec<String>,
    /// What the server said by itself.
    pub(crate) notes: Vec<Json>,
    /// What it said first, in the protocol with a handshake.
    pub(crate) greeting: Json,
}

impl Client {
    /// Starts `maestro mcp` in a sandbox with further variables, and shakes hands if that is needed.
    pub(crate) fn start(sandbox: &Sandbox, variables: &[(&str, &str)], era: Era, forms: Forms) -> Self {
        let mut command = sandbox.command();
        command.arg("mcp").envs(variables.iter().copied());
        Self::over(Self::spawn(command), era, forms, None)
    }

    /// Starts a program, as an editor with these open folders does.
    pub(crate) fn in_editor(mut command: Command, folders: &[&Path]) -> Self {
        command.arg("mcp");
        Self::in_editor_by(command, folders)
    }

    /// The same by a whole command line.
    pub(crate) fn in_editor_by(command: Command, folders: &[&Path]) -> Self {
        let folders = folders.iter().map(|folder| format!("file://{}", folder.display())).collect();
        Self::over(Self::spawn(command), Era::Earlier, Forms::Unknown, Some(folders))
    }

    /// Starts a program by a whole command line.
    pub(crate) fn alone(command: Command, era: Era, forms: Forms) -> Self {
        Self::over(Self::spawn(command), era, forms, None)
    }

    /// Opens other folders, and says so.
    pub(crate) fn open_folders(&mut self, folders: &[&Path]) {
        self.folders = Some(folders.iter().map(|folder| format!("file://{}", folder.display())).collect());
        self.say(&json!({ "jsonrpc": "2.0", "method": "notifications/roots/list_changed" }));
    }

    fn spawn(mut command: Command) -> Link {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no protocol: {line}"));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        Link::Pipe { child, input, lines }
    }

    /// A client of the server at an address.
    pub(crate) fn connect(url: &str, era: Era, forms: Forms) -> Self {
        let headers = format!("Authorization: Bearer {}\r\n", crate::served::TOKEN);
        Self::over(Link::Http { url: url.to_owned(), headers }, era, forms, None)
    }

    fn over(link: Link, era: Era, forms: Forms, folders: Option<Vec<String>>) -> Self {
        let (count, answers, asked, notes, greeting) = (0, Vec::new(), Vec::new(), Vec::new(), Json::Null);
        let mut client = Self { link, era, forms, folders, count, answers, asked, notes, greeting };
        if era == Era::Earlier {
            let hello = json!({
                "protocolVersion": "2025-11-25", "capabilities": client.abilities(),
                "clientInfo": { "name": "test", "version": "1" },
            });
            client.greeting = client.call("initialize", hello).unwrap();
            assert_eq!(client.greeting["protocolVersion"], json!("2025-11-25"), "{:#}", client.greeting);
            client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        }
        client
    }

    fn abilities(&self) -> Json {
        let mut abilities =
            if self.forms == Forms::Shown { json!({ "elicitation": { "form": {} } }) } else { json!({}) };
        if self.folders.is_some() {
            abilities["roots"] = json!({ "listChanged": true });
        }
        abilities
    }

    /// The same client, whose user says this to the next questions.
    pub(crate) fn answering(mut self, answers: &[Json]) -> Self {
        self.answers = answers.to_vec();
        self
    }

    /// Asks for something; what came back, or the protocol's error.
    pub(crate) fn call(&mut self, method: &str, params: Json) -> Result<Json, Json> {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Calls a tool, and answers what it asks.
    pub(crate) fn tool(&mut self, name: &str, arguments: &Json) -> Json {
        self.try_tool(name, arguments).unwrap_or_else(|error| panic!("{name}: {error:#}"))
    }

    pub(crate) fn try_tool(&mut self, name: &str, arguments: &Json) -> Result<Json, Json> {
        let mut params = json!({ "name": name, "arguments": arguments });
        loop {
            let result = self.call("tools/call", params.clone())?;
            if result["resultType"] != json!("input_required") {
                return Ok(result);
            }
            let (key, asked) = result["inputRequests"].as_object().unwrap().iter().next().unwrap();
            let answer = user(&mut self.answers, &mut self.asked, &asked["params"]);
            params["requestState"] = result["requestState"].clone();
            params["inputResponses"] = json!({ key: answer });
        }
    }

    /// Sends a request, and does not wait.
    pub(crate) fn send(&mut self, method: &str, mut params: Json) -> u64 {
        self.count += 1;
        if self.era == Era::Today {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": self.abilities(),
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            });
            let all = params["_meta"].as_object().cloned().unwrap_or_default();
            params["_meta"] = meta;
            for (name, value) in all {
                params["_meta"][name] = value;
            }
        }
        let message = json!({ "jsonrpc": "2.0", "id": self.count, "method": method, "params": params });
        self.say(&message);
        self.count
    }

    /// Sends a message.
    pub(crate) fn say(&mut self, message: &Json) {
        match &mut self.link {
            Link::Pipe { input, .. } => {
                let input = input.as_mut().expect("it was not closed");
                writeln!(input, "{message}").unwrap();
            }
            Link::Http { url, headers } => {
                let (answers, asked) = (&mut self.answers, &mut self.asked);
                self.notes.extend(post(url, headers, message, &mut |form| user(answers, asked, form)));
            }
        }
    }

    /// The answer to a request.
    pub(crate) fn answer(&mut self, id: u64) -> Result<Json, Json> {
        loop {
            let position = self.notes.iter().position(|note| note["id"] == json!(id) && note.get("method").is_none());
            if let Some(position) = position {
                let answer = self.notes.remove(position);
                return answer.get("result").cloned().ok_or_else(|| answer["error"].clone());
            }
            let note = self.heard().unwrap_or_else(|| panic!("no answer to {id}: {:#?}", self.notes));
            self.keep(note);
        }
    }

    /// Waits until the server has said something by itself.
    pub(crate) fn wait_for(&mut self, method: &str) -> Json {
        loop {
            if let Some(position) = self.notes.iter().position(|note| note["method"] == json!(method)) {
                return self.notes.remove(position);
            }
            let note = self.heard().unwrap_or_else(|| panic!("{method} never came"));
            self.keep(note);
        }
    }

    fn heard(&mut self) -> Option<Json> {
        match &mut self.link {
            Link::Pipe { lines, .. } => lines.recv_timeout(PATIENCE).ok(),
            Link::Http { .. } => None,
        }
    }

    fn keep(&mut self, note: Json) {
        if note["method"] == json!("elicitation/create") {
            let answer = user(&mut self.answers, &mut self.asked, &note["params"]);
            self.say(&json!({ "jsonrpc": "2.0", "id": note["id"], "result": answer }));
        } else if note["method"] == json!("roots/list") {
            let roots: Vec<Json> = self.folders.iter().flatten().map(|uri| json!({ "uri": uri })).collect();
            self.say(&json!({ "jsonrpc": "2.0", "id": note["id"], "result": { "roots": roots } }));
        } else {
            self.notes.push(note);
        }
    }

    /// Goes away, and waits until the program has ended; its exit code.
    pub(crate) fn leave(mut self) -> i32 {
        match &mut self.link {
            Link::Pipe { child, input, .. } => {
                drop(input.take());
                child.wait().unwrap().code().unwrap()
            }
            Link::Http { .. } => 0,
        }
    }

    /// Is gone as after a crash.
    pub(crate) fn kill(&mut self) {
        if let Link::Pipe { child, .. } = &mut self.link {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Link::Pipe { child, .. } = &mut self.link {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What the user says to a form, field by field.
fn user(answers: &mut Vec<Json>, asked: &mut Vec<String>, form: &Json) -> Json {
    asked.push(form["message"].as_str().unwrap_or_default().to_owned());
    let mut content = json!({});
    for field in form["requestedSchema"]["properties"].as_object().unwrap().keys() {
        assert!(!answers.is_empty(), "nobody expected this question: {form:#}");
        match answers.remove(0) {
            Json::Null => return json!({ "action": "decline" }),
            answer => content[field] = answer,
        }
    }
    json!({ "action": "accept", "content": content })
}

/// Posts a message to `/mcp` and reads what comes back until the stream ends. What is asked on the way is answered at once;
/// a session is joined when one is named.
fn post(url: &str, headers: &mut String, message: &Json, user: &mut dyn FnMut(&Json) -> Json) -> Vec<Json> {
    let mut answer = BufReader::new(sent(url, headers, message));
    let (status, fields) = head(&mut answer);
    assert!(status < 300, "{status} to {message}");
    if let Some(session) = fields.get("mcp-session-id").filter(|_| !headers.contains("Mcp-Session-Id")) {
        let joined = format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
        headers.push_str(&joined);
    }
    let mut messages = Vec::new();
    for line in answer.lines().map_while(Result::ok) {
        let json = || serde_json::from_str::<Json>(line.strip_prefix("data:")?.trim()).ok();
        match json() {
            Some(asked) if asked["method"] == json!("elicitation/create") => {
                let reply = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": user(&asked["params"]) });
                assert!(raw(url, headers, &reply).0 < 300);
            }
            Some(message) => messages.push(message),
            None => {}
        }
    }
    messages
}

/// One request to `/mcp`: the status and the body as it comes.
pub(crate) fn raw(url: &str, headers: &str, message: &Json) -> (u16, String) {
    let mut answer = BufReader::new(sent(url, headers, message));
    let (status, _) = head(&mut answer);
    let mut body = String::new();
    answer.read_to_string(&mut body).unwrap();
    (status, body)
}

fn sent(url: &str, headers: &str, message: &Json) -> TcpStream {
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let body = message.to_string();
    let method = message["method"].as_str().unwrap_or_default();
    let today = if message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string() {
        let named = message["params"]["name"].as_str().or_else(|| message["params"]["uri"].as_str());
        let name = named.map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
        format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}")
    } else {
        String::new()
    };
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}{today}\
         Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    stream
}

/// The status and the headers of an answer.
fn head(answer: &mut impl BufRead) -> (u16, BTreeMap<String, String>) {
    let mut lines = answer.lines().map_while(Result::ok);
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let pair = |line: String| line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
    (status, lines.take_while(|line| !line.is_empty()).filter_map(pair).collect())
}
