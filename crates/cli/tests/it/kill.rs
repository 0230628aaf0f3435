//! Does anything that was acknowledged get lost when the server is killed? `MAESTRO_KILLS` says how often to try.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::sandbox::Sandbox;

/// How many write at once.
const WRITERS: usize = 8;

/// A server that is about to die.
struct Victim {
    process: Child,
    address: String,
}

impl Victim {
    fn start(sandbox: &Sandbox) -> Self {
        let mut process =
            sandbox.command().args(["up", "--port", "0", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let file: Json = serde_json::from_str(&line).unwrap();
        let address = file["url"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        Self { process, address }
    }

    /// Ends it without a chance to tidy up.
    fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// Sends one request; nothing when the server is gone before it has answered whole.
fn ask(address: &str, method: &str, path: &str, body: Option<&Json>) -> Option<(u16, Json)> {
    let mut stream = TcpStream::connect(address).ok()?;
    let body = body.map(Json::to_string).unwrap_or_default();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let text = String::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_str(body).ok()?))
}

fn ok(address: &str, method: &str, path: &str, body: Option<&Json>) -> Json {
    let (status, answer) = ask(address, method, path, body).expect("the server answers");
    assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
    answer
}

fn id(thing: &Json) -> String {
    thing["id"].as_str().unwrap().to_owned()
}

/// What one writer heard to be stored.
#[derive(Default)]
struct Acknowledged {
    messages: Vec<String>,
    tasks: Vec<String>,
    sessions: Vec<String>,
}

/// Writes until the server is gone: reports, and every now and then things that take many rows at once.
fn write(address: &str, round: usize, writer: usize, project: &str, session: &str, over: &AtomicBool) -> Acknowledged {
    let mut stored = Acknowledged::default();
    for number in 0.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let message = format!("round {round} writer {writer} number {number}");
        let report = json!({ "message": message });
        match ask(address, "POST", &format!("/api/sessions/{session}/reports"), Some(&report)) {
            Some((200, _)) => stored.messages.push(message),
            Some((status, answer)) => panic!("{status} {answer}"),
            None => break,
        }
        if number % 8 == 0 {
            let task = json!({ "projectId": project, "title": format!("task {round}/{writer}/{number}") });
            let Some((201, task)) = ask(address, "POST", "/api/tasks", Some(&task)) else { break };
            stored.tasks.push(id(&task));
            let body = json!({ "projectId": project, "taskIds": [id(&task)], "name": "many rows at once" });
            let Some((201, session)) = ask(address, "POST", "/api/sessions", Some(&body)) else { break };
            stored.sessions.push(id(&session));
        }
    }
    stored
}

/// Every message of a session's timeline, and how often it is there.
fn timeline(address: &str, session: &str) -> BTreeMap<String, usize> {
    let lines = ok(address, "GET", &format!("/api/sessions/{session}/timeline"), None);
    let mut messages = BTreeMap::new();
    for line in lines.as_array().unwrap() {
        *messages.entry(line["message"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    messages
}

#[test]
fn a_killed_server_loses_nothing_it_acknowledged_and_leaves_nothing_half_done() {
    let kills: usize = std::env::var("MAESTRO_KILLS").map_or(10, |text| text.parse().unwrap());
    let sandbox = Sandbox::new();
    let mut server = Victim::start(&sandbox);
    let project = id(&ok(&server.address, "POST", "/api/projects", Some(&json!({ "name": "shop" }))));
    let mut random: u64 = 42;
    let mut total = 0;
    for round in 0..kills {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let moment = Duration::from_millis(5 + (random >> 33) % 250);
        let sessions: Vec<String> = (0..WRITERS)
            .map(|_| {
                let task = json!({ "projectId": project, "title": "a task" });
                let task = id(&ok(&server.address, "POST", "/api/tasks", Some(&task)));
                let body = json!({ "projectId": project, "taskIds": [task] });
                id(&ok(&server.address, "POST", "/api/sessions", Some(&body)))
            })
            .collect();
        let over = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = sessions
            .iter()
            .enumerate()
            .map(|(writer, session)| {
                let (address, project, session) = (server.address.clone(), project.clone(), session.clone());
                let over = Arc::clone(&over);
                thread::spawn(move || write(&address, round, writer, &project, &session, &over))
            })
            .collect();
        thread::sleep(moment);
        server.kill();
        over.store(true, Ordering::Relaxed);
        let stored: Vec<Acknowledged> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();

        server = Victim::start(&sandbox);
        for (session, stored) in sessions.iter().zip(&stored) {
            let found = timeline(&server.address, session);
            for message in &stored.messages {
                assert_eq!(found.get(message), Some(&1), "acknowledged, and then not there once: {message}");
            }
            total += stored.messages.len();
        }
        for task in stored.iter().flat_map(|stored| &stored.tasks) {
            ok(&server.address, "GET", &format!("/api/tasks/{task}"), None);
        }
        for session in stored.iter().flat_map(|stored| &stored.sessions) {
            let session = ok(&server.address, "GET", &format!("/api/sessions/{session}"), None);
            assert_eq!(session["timeline"].as_array().unwrap().len(), 2, "{session}");
            assert_eq!(session["taskIds"].as_array().unwrap().len(), 1, "{session}");
        }
        let check = sandbox.maestro("db check");
        assert_eq!(check.code, 0, "{check}");
    }
    server.kill();
    println!("{kills} kills, {total} reports acknowledged, none lost");
    assert!(total > 0, "nothing was ever acknowledged");
}
