//! Attacks by crowds: slow bodies, silent connections, streams without end. People and health checks are served all along.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::sandbox::Sandbox;
use crate::served::{Server, TOKEN, request_with};

/// Only a failing test takes as long.
const STUCK: Duration = Duration::from_secs(30);

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.url().strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(STUCK)).unwrap();
    stream
}

/// That people, programs with a token and health checks are served.
fn serves(sandbox: &Sandbox, server: &Server) {
    assert_eq!(request_with(server.url(), "GET", "/health", "", None).unwrap().0, 200);
    assert_eq!(server.ask("GET", "/api/projects", None, None).0, 200);
    let listed = sandbox.maestro("project list --json");
    assert_eq!(listed.code, 0, "{listed}");
}

#[test]
fn slow_bodies_of_strangers_stop_no_one_else() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let slow: Vec<TcpStream> = (0..520)
        .map(|_| {
            let mut stream = connect(&server);
            let head = "POST /page/sign-in HTTP/1.1\r\nHost: localhost\r\n\
                        Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 4000\r\n\r\ntoken=";
            // One that had to make room is closed already.
            let _ = stream.write_all(head.as_bytes());
            stream
        })
        .collect();
    serves(&sandbox, &server);
    drop(slow);
}

#[test]
fn silent_connections_make_room_for_others() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let mut silent: Vec<TcpStream> = (0..600).map(|_| connect(&server)).collect();
    serves(&sandbox, &server);
    // The oldest had to go: its end is read at once.
    assert_eq!(silent[0].read(&mut [0; 16]).unwrap_or(0), 0);
    let head = format!("GET /api/projects HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n");
    let last = silent.last_mut().unwrap();
    last.write_all(head.as_bytes()).unwrap();
    let mut answer = [0; 12];
    last.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
}

#[test]
fn a_sessions_streams_fill_no_ones_room_but_its_own() {
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &[]);
    let project = server.make("/api/projects", &json!({ "name": "shop", "workingDir": "/srv/shop" }));
    let session = server.make("/api/sessions", &json!({ "projectId": project["id"], "taskIds": [] }));
    let path = format!("/api/sessions/{}/token", session["id"].as_str().unwrap());
    let token = server.make(&path, &json!({}))["token"].as_str().unwrap().to_owned();
    let mut streams: Vec<TcpStream> = (0..300)
        .map(|_| {
            let mut stream = connect(&server);
            let head = format!(
                "GET /api/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
                 Accept: text/event-stream\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    serves(&sandbox, &server);
    // The last one waits in vain.
    let refused = streams.iter_mut().any(|stream| {
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).is_ok() && &answer == b"HTTP/1.1 503"
    });
    assert!(refused, "there is a limit");
}
