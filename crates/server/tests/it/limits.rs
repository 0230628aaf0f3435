//! What connections may take: heads and bodies that come slowly, silence, and logs that are long.

use std::time::Duration;

use maestro_server::ConnectionLimits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::listener::Listening;
use crate::world::Api;

/// Only a failing test takes as long.
const STUCK: Duration = Duration::from_mins(1);

fn short() -> ConnectionLimits {
    let moment = Duration::from_millis(200);
    ConnectionLimits { head: moment, body: moment, idle: moment, ..ConnectionLimits::default() }
}

/// What a server answers to the beginning of a request, until it closes the connection.
async fn until_closed(server: &Listening, beginning: &str) -> String {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(beginning.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // A connection may also end by a reset.
    let _ =
        timeout(STUCK, stream.read_to_end(&mut answer)).await.unwrap_or_else(|_| panic!("the connection does not end"));
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn silent_and_slow_connections_end() {
    let api = Api::sqlite();
    let server = Listening::with(&api, short()).await;
    assert_eq!(until_closed(&server, "").await, "", "nothing was ever sent");
    until_closed(&server, "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ").await;
    let idle = until_closed(&server, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert!(idle.starts_with("HTTP/1.1 200"), "then it is silent: {idle}");
    let head = "POST /api/projects HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Content-Length: 100\r\n\r\n{";
    let slow = until_closed(&server, head).await;
    assert!(slow.starts_with("HTTP/1.1 4"), "{slow}");
}

#[tokio::test]
async fn a_crowd_that_connects_at_once_is_let_in() {
    let api = Api::sqlite();
    let limits = ConnectionLimits { strangers: 4, grace: STUCK, ..ConnectionLimits::default() };
    let server = Listening::with(&api, limits).await;
    let mut crowd = Vec::new();
    for _ in 0..32 {
        crowd.push(TcpStream::connect(server.address).await.unwrap());
    }
    for stream in &mut crowd {
        stream.write_all(b"GET /api/projects HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    }
    for stream in &mut crowd {
        let mut answer = [0; 12];
        timeout(STUCK, stream.read_exact(&mut answer)).await.unwrap().unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200");
    }
}

#[tokio::test]
async fn a_request_may_take_longer_than_silence_may_last() {
    let api = Api::sqlite();
    let server = Listening::with(&api, ConnectionLimits { idle: Duration::from_millis(200), ..short() }).await;
    let mut watcher = server.watch("", "").await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    api.project().await;
    assert_eq!(watcher.soon().await["type"], "project:created");
}
