//! Is what happens in a loop seen while it happens, by whoever looks and from the first event on?

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::mpsc;

use serde_json::Value as Json;

use super::{Repository, STUCK, goes_on_until, is_over, sessions, simple_ones};
use crate::served::{Server, TOKEN};
use crate::waiting::wait_until;

/// What says something in the middle of its work, and waits until it may end.
const SPEAKS: &str = "maestro update 'half of it is done, ünd now I wait'; \
                      while [ ! -e HOME/go ]; do sleep 0.02; done; echo x > f1.txt\n";
const SAID: &str = "half of it is done, ünd now I wait";

fn speaking() -> Repository {
    let repository = Repository::with(&[]);
    let task = repository.script("speaks", SPEAKS);
    repository.write_plan("PLAN.md", &[task]);
    repository.commit_all();
    repository
}

#[test]
fn what_an_agent_says_is_printed_while_its_step_runs() {
    // 7: whoever follows a loop sees nothing until the step has ended.
    let repository = speaking();
    let mut command = repository.sandbox.command();
    command.args(["loop", "PLAN.md", "--agent", "demo", "--permission", "all", "--no-review"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let (tell, heard) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in out.lines() {
            let _ = tell.send(line.unwrap());
        }
    });
    while heard.recv_timeout(STUCK).expect("it is never said").trim() != SAID {}
    // It cannot go on before this, so the step still ran.
    repository.set("go");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    reader.join().unwrap();
    assert!(heard.iter().any(|line| line.starts_with("ready: ")));
}

#[test]
fn what_an_agent_does_is_in_its_transcript_while_its_step_runs() {
    // 7: the output of a step is empty as long as it runs.
    let repository = speaking();
    let server = repository.sandbox.serve();
    let run = repository.begin("--no-review");
    wait_until("it works", || !sessions(&server, &run).is_empty());
    let session = sessions(&server, &run)[0]["id"].as_str().unwrap().to_owned();
    let transcript = format!("/api/sessions/{session}/transcript?limit=500");
    wait_until("its work is seen", || server.get(&transcript).to_string().contains("speaks"));
    let timeline = format!("/api/events?sessionId={session}");
    wait_until("its word is seen", || server.get(&timeline).to_string().contains(SAID));
    let log = repository.sandbox.maestro_with(&["loop", "log", &run]);
    assert!(log.stdout().contains(SAID), "{log}");
    assert!(!repository.mark("go").exists(), "all this was while it waits");
    repository.set("go");
    let ended = goes_on_until(&server, &run, is_over);
    assert_eq!(ended["status"], "completed", "{ended:#}");
}

/// The events of a stream until the run is over, opened before anything happened.
fn streamed(server: &Server, until: &str) -> impl FnOnce() -> Vec<Json> + use<> {
    let address = server.url().strip_prefix("http://").unwrap().to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.set_read_timeout(Some(STUCK)).unwrap();
    let head = format!(
        "GET /api/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\
         Accept: text/event-stream\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines();
    // The greeting says that it is open.
    while !lines.next().unwrap().unwrap().starts_with("retry:") {}
    let until = until.to_owned();
    move || {
        let mut events = Vec::new();
        for line in lines {
            let Some(event) = line.expect("nothing comes").strip_prefix("data:").map(str::to_owned) else { continue };
            let event: Json = serde_json::from_str(event.trim()).unwrap();
            let is_last = event["type"] == until.as_str();
            events.push(event);
            if is_last {
                break;
            }
        }
        events
    }
}

#[test]
fn a_stream_that_was_opened_before_the_first_event_gets_every_one() {
    // 8: who listens before anything happened never hears anything.
    let repository = Repository::with(&simple_ones(1));
    let server = repository.sandbox.serve();
    assert_eq!(server.get("/api/events?since=0"), serde_json::json!([]), "nothing happened yet");
    let listen = streamed(&server, "run:ended");
    let run = repository.begin("--no-review");
    let heard: Vec<i64> = listen().iter().map(|event| event["seq"].as_i64().unwrap()).collect();
    goes_on_until(&server, &run, is_over);
    let all = server.get("/api/events?since=0");
    let all: Vec<i64> = all.as_array().unwrap().iter().map(|event| event["seq"].as_i64().unwrap()).collect();
    assert_eq!(heard, all[..heard.len()], "from the first one on, each once and in order");
    assert!(heard.len() > 10, "{heard:?}");
}
