//! Does anything that was acknowledged get lost when the server is killed? `MAESTRO_KILLS` says how often to try.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::sandbox::Sandbox;
use crate::served::{Server, request};

/// How many write at once.
const WRITERS: usize = 8;

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
fn write(url: &str, round: usize, writer: usize, project: &str, session: &str, over: &AtomicBool) -> Acknowledged {
    let mut stored = Acknowledged::default();
    for number in 0.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let message = format!("round {round} writer {writer} number {number}");
        let report = json!({ "message": message });
        match request(url, "POST", &format!("/api/sessions/{session}/reports"), None, Some(&report)) {
            Some((200, _)) => stored.messages.push(message),
            Some((status, answer)) => panic!("{status} {answer}"),
            None => break,
        }
        if number % 8 == 0 {
            let task = json!({ "projectId": project, "title": format!("task {round}/{writer}/{number}") });
            let Some((201, task)) = request(url, "POST", "/api/tasks", None, Some(&task)) else { break };
            stored.tasks.push(id(&task));
            let body = json!({ "projectId": project, "taskIds": [id(&task)], "name": "many rows at once" });
            let Some((201, session)) = request(url, "POST", "/api/sessions", None, Some(&body)) else { break };
            stored.sessions.push(id(&session));
        }
    }
    stored
}

/// Every message of a session's timeline, and how often it is there.
fn timeline(server: &Server, session: &str) -> BTreeMap<String, usize> {
    let lines = server.get(&format!("/api/sessions/{session}/timeline"));
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
    let mut server = sandbox.serve();
    let project = id(&server.make("/api/projects", &json!({ "name": "shop" })));
    let mut random: u64 = 42;
    let mut total = 0;
    for round in 0..kills {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let moment = Duration::from_millis(5 + (random >> 33) % 250);
        let sessions: Vec<String> = (0..WRITERS)
            .map(|_| {
                let task = json!({ "projectId": project, "title": "a task" });
                let task = id(&server.make("/api/tasks", &task));
                let body = json!({ "projectId": project, "taskIds": [task] });
                id(&server.make("/api/sessions", &body))
            })
            .collect();
        let over = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = sessions
            .iter()
            .enumerate()
            .map(|(writer, session)| {
                let (url, project, session) = (server.url().to_owned(), project.clone(), session.clone());
                let over = Arc::clone(&over);
                thread::spawn(move || write(&url, round, writer, &project, &session, &over))
            })
            .collect();
        thread::sleep(moment);
        server.kill();
        over.store(true, Ordering::Relaxed);
        let stored: Vec<Acknowledged> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();

        server = sandbox.serve();
        for (session, stored) in sessions.iter().zip(&stored) {
            let found = timeline(&server, session);
            for message in &stored.messages {
                assert_eq!(found.get(message), Some(&1), "acknowledged, and then not there once: {message}");
            }
            total += stored.messages.len();
        }
        for task in stored.iter().flat_map(|stored| &stored.tasks) {
            server.get(&format!("/api/tasks/{task}"));
        }
        for session in stored.iter().flat_map(|stored| &stored.sessions) {
            let session = server.get(&format!("/api/sessions/{session}"));
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
