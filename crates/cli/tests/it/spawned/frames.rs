//! What does a client of the original hear over its WebSocket when an agent is asked for?

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::{Follows, Stage, sandbox};
use crate::served::TOKEN;

/// A WebSocket that only listens.
struct Socket(TcpStream);

impl Socket {
    fn open(url: &str) -> Self {
        let address = url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let head = format!(
            "GET / HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
        }
        assert!(answer.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer));
        Self(stream)
    }

    fn bytes(&mut self, many: usize) -> Vec<u8> {
        let mut bytes = vec![0; many];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// The next frame of these names; others are passed over.
    fn next(&mut self, names: &[&str]) -> Json {
        loop {
            let head = self.bytes(2);
            let length = match head[1] {
                126 => self.bytes(2),
                127 => self.bytes(8),
                short => vec![short],
            };
            let length = length.into_iter().fold(0, |sum, byte| sum << 8 | usize::from(byte));
            let text = self.bytes(length);
            let frame: Json = serde_json::from_slice(&text).unwrap_or_default();
            if head[0] & 0x0f == 1 && names.iter().any(|name| frame["event"] == *name) {
                return frame;
            }
        }
    }
}

#[test]
fn everything_that_a_client_needs_to_start_it_is_in_one_frame() {
    let stage = Stage::of(sandbox(Follows::Prompt), &["--agents", "0"]);
    let mut socket = Socket::open(stage.server.url());
    let task = stage.task("Do it");
    let body = json!({ "projectId": stage.project, "taskIds": [task], "spawnMode": "ui" });
    let spawned = stage.server.make("/api/sessions/spawn", &body);
    assert_eq!(spawned["message"], "Spawn request sent to Agents UI");
    let mut frames =
        [socket.next(&["task:session_added", "session:spawn"]), socket.next(&["task:session_added", "session:spawn"])];
    frames.sort_by_key(|frame| frame["event"].to_string());
    let [frame, added] = frames;
    assert_eq!(added["data"], json!({ "taskId": task, "sessionId": spawned["sessionId"] }));
    let data = &frame["data"];
    assert_eq!(data["session"]["id"], spawned["sessionId"]);
    assert_eq!(data["command"], "maestro worker init");
    assert_eq!(data["cwd"], json!(stage.sandbox.project()));
    assert_eq!(data["envVars"], spawned["session"]["env"]);
    assert_eq!(data["manifest"]["role"], "worker");
    assert_eq!(data["manifest"]["tasks"][0]["id"], json!(task));
    assert_eq!((&data["projectId"], &data["taskIds"]), (&json!(stage.project), &json!([task])));
    assert_eq!((&data["spawnSource"], &data["parentSessionId"]), (&json!("ui"), &Json::Null));
    assert_eq!(data["_isSpawnCreated"], true);
    assert!(!frame.to_string().contains("mst_"), "a token is nobody's business: {frame:#}");
}
