//! What clients of the original hear over a WebSocket.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use insta::assert_snapshot;
use serde_json::{Value as Json, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{WebSocketStream, client_async, connect_async};

use crate::listener::Listening;
use crate::world::{Api, both, plain};

both! {
    the_original_frames_come,
    many_changes_of_one_thing_are_few_frames_and_the_last_state_comes,
    a_client_says_what_it_wants,
    a_client_that_was_away_gets_what_it_missed,
    a_long_log_comes_in_pages_and_each_state_once,
    a_client_that_does_not_listen_catches_up,
    clients_that_do_not_read_keep_no_one_from_catching_up,
    what_makes_no_sense_is_answered,
    who_listens_is_counted,
}

struct Socket(WebSocketStream<TcpStream>);

impl Socket {
    async fn open(server: &Listening, path: &str) -> Self {
        Self::over(TcpStream::connect(server.address).await.unwrap(), server, path).await
    }

    async fn over(stream: TcpStream, server: &Listening, path: &str) -> Self {
        Self(client_async(format!("ws://{}{path}", server.address), stream).await.unwrap().0)
    }

    async fn say(&mut self, message: Json) {
        self.0.send(Message::text(message.to_string())).await.unwrap();
    }

    /// The next frame; nothing when nothing comes for a while.
    async fn frame(&mut self, wait: Duration) -> Option<Json> {
        loop {
            match timeout(wait, self.0.next()).await.ok()?? {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }

    async fn next(&mut self) -> Json {
        self.frame(Duration::from_secs(20)).await.unwrap()
    }

    /// All frames until it is quiet.
    async fn rest(&mut self) -> Vec<Json> {
        let mut frames = Vec::new();
        while let Some(frame) = self.frame(Duration::from_secs(1)).await {
            frames.push(frame);
        }
        frames
    }
}

fn names(frames: &[Json]) -> Vec<&str> {
    frames.iter().map(|frame| frame["event"].as_str().unwrap()).collect()
}

async fn the_original_frames_come(api: &Api) {
    let server = Listening::start(api).await;
    let mut socket = Socket::open(&server, "/").await;
    let project = api.project().await;
    let made = socket.next().await;
    assert_snapshot!(plain(&serde_json::to_string_pretty(&made).unwrap()), @r#"
    {
      "type": "project:created",
      "event": "project:created",
      "data": {
        "id": "proj",
        "name": "shop",
        "workingDir": "/work/shop",
        "description": "",
        "createdAt": 1738713600000,
        "updatedAt": 1738713600000,
        "revision": 1
      },
      "timestamp": 1738713600000,
      "seq": 1
    }
    "#);
    let task = api.task(&project, "T").await;
    let session = api.session(&project, &[]).await;
    let mut other = Socket::open(&server, "/ws").await;
    let mut frames = socket.rest().await;
    api.post(&format!("/api/sessions/{session}/tasks/{task}"), json!({})).await;
    frames.extend(socket.rest().await);
    api.delete(&format!("/api/sessions/{session}/tasks/{task}")).await;
    frames.extend(socket.rest().await);
    for path in [format!("/api/sessions/{session}"), format!("/api/tasks/{task}"), format!("/api/projects/{project}")] {
        api.delete(&path).await;
    }
    frames.extend(socket.rest().await);
    assert_snapshot!(names(&frames).join("\n"), @"
    task:created
    session:created
    task:session_added
    session:task_added
    session:updated
    task:session_removed
    session:task_removed
    session:updated
    session:deleted
    task:deleted
    project:deleted
    ");
    let data = |name: &str| frames.iter().find(|frame| frame["event"] == json!(name)).unwrap()["data"].clone();
    assert_eq!(data("task:created")["title"], json!("T"));
    assert_eq!(data("session:created")["timeline"][0]["message"], json!("Session created"));
    assert_eq!(data("task:session_added"), json!({ "taskId": task, "sessionId": session }));
    assert_eq!(data("session:task_removed"), json!({ "sessionId": session, "taskId": task }));
    assert_eq!(data("task:deleted"), json!({ "id": task }));
    assert!(frames.iter().all(|frame| frame["type"] == frame["event"] && frame["timestamp"].is_i64()));
    let seqs: Vec<i64> = frames.iter().map(|frame| frame["seq"].as_i64().unwrap()).collect();
    assert!(seqs.is_sorted(), "{seqs:?}");
    assert_eq!(other.rest().await.last(), frames.last(), "everybody gets the same");
}

async fn many_changes_of_one_thing_are_few_frames_and_the_last_state_comes(api: &Api) {
    let server = Listening::start(api).await;
    let project = api.project().await;
    let session = api.session(&project, &[]).await;
    let mut socket = Socket::open(&server, "/").await;
    let begin = Instant::now();
    for number in 0..100 {
        let line = json!({ "message": format!("line {number}") });
        api.post(&format!("/api/sessions/{session}/timeline"), line).await;
    }
    let frames = socket.rest().await;
    let most = begin.elapsed().as_millis() / 200 + 2;
    assert!(frames.len() as u128 <= most, "{} frames, at most {most}", frames.len());
    assert!(names(&frames).iter().all(|name| *name == "session:updated"));
    let last = frames.last().unwrap();
    assert_eq!(last["data"]["timeline"][99]["message"], json!("line 99"), "the last state arrives");
    let head = api.get("/api/events").await.body.as_array().unwrap().last().unwrap()["seq"].clone();
    assert_eq!(last["seq"], head);
}

async fn a_client_says_what_it_wants(api: &Api) {
    let server = Listening::start(api).await;
    let (here, there) = (api.project().await, api.project().await);
    let task = api.task(&here, "T").await;
    let mut socket = Socket::open(&server, "/").await;
    socket.say(json!({ "type": "subscribe", "projectId": here, "taskIds": [task] })).await;
    let mut answer = socket.next().await;
    assert!(answer["since"].take().is_i64());
    assert_eq!(
        answer,
        json!({ "type": "subscribed", "projectId": here, "taskIds": [task], "since": null, "timestamp": 1_738_713_600_000_i64 })
    );
    api.task(&here, "other").await;
    api.task(&there, "elsewhere").await;
    let session = api.session(&here, &[&task]).await;
    let frames = socket.rest().await;
    assert_eq!(names(&frames), ["session:created", "task:session_added", "session:task_added"]);
    socket.say(json!({ "type": "subscribe", "sessionIds": [session] })).await;
    socket.next().await;
    api.patch(&format!("/api/tasks/{task}"), json!({ "title": "New" })).await;
    assert_eq!(socket.next().await["data"]["title"], json!("New"), "a session's task is its business");
    socket.say(json!({ "type": "unsubscribe" })).await;
    assert_eq!(socket.next().await["type"], json!("unsubscribed"));
    api.task(&there, "elsewhere").await;
    assert_eq!(socket.next().await["event"], json!("task:created"), "everything again");
}

async fn a_client_that_was_away_gets_what_it_missed(api: &Api) {
    let server = Listening::start(api).await;
    let project = api.project().await;
    let (task, doomed) = (api.task(&project, "T").await, api.task(&project, "doomed").await);
    let seen = api.get("/api/events").await.body.as_array().unwrap().last().unwrap()["seq"].clone();
    for number in 0..10 {
        api.patch(&format!("/api/tasks/{task}"), json!({ "title": format!("T{number}") })).await;
    }
    let session = api.session(&project, &[&task]).await;
    api.post(&format!("/api/sessions/{session}/timeline"), json!({ "message": "m" })).await;
    api.delete(&format!("/api/tasks/{doomed}")).await;
    let mut socket = Socket::open(&server, "/").await;
    socket.say(json!({ "type": "subscribe", "since": seen })).await;
    let frames = socket.rest().await;
    assert_eq!(
        names(&frames[1..]),
        ["task:updated", "session:created", "task:session_added", "session:task_added", "task:deleted"]
    );
    assert_eq!(frames[1]["data"]["title"], json!("T9"), "once, as it is now");
    assert_eq!(frames[1]["data"]["sessionIds"], json!([session]));
    assert_eq!(frames[2]["data"]["timeline"].as_array().unwrap().len(), 3);
    let head = api.get("/api/events").await.body.as_array().unwrap().last().unwrap()["seq"].clone();
    assert_eq!(frames.last().unwrap()["seq"], head);
    let middle = frames[2]["seq"].clone();
    socket.say(json!({ "type": "subscribe", "since": middle })).await;
    assert_eq!(
        names(&socket.rest().await[1..]).last(),
        Some(&"task:deleted"),
        "whoever was cut off goes on from there"
    );
    api.patch(&format!("/api/tasks/{task}"), json!({ "title": "live" })).await;
    assert_eq!(socket.next().await["data"]["title"], json!("live"), "and live after");
}

async fn a_long_log_comes_in_pages_and_each_state_once(api: &Api) {
    let server = Listening::start(api).await;
    let project = api.project().await;
    let task = api.task(&project, "first").await;
    // More than a page of the log.
    for number in 0..1100 {
        api.patch(&format!("/api/tasks/{task}"), json!({ "title": format!("title {number}") })).await;
    }
    let last = api.task(&project, "last").await;
    let mut socket = Socket::open(&server, "/ws").await;
    socket.say(json!({ "type": "subscribe", "since": 0 })).await;
    let mut titles = Vec::new();
    loop {
        let frame = socket.next().await;
        if frame["data"]["id"] == task.as_str() {
            titles.push(frame["data"]["title"].as_str().unwrap().to_owned());
        }
        if frame["data"]["id"] == last.as_str() {
            break;
        }
    }
    assert_eq!(titles, ["title 1099"], "its current state, once");
}

async fn a_client_that_does_not_listen_catches_up(api: &Api) {
    const TASKS: usize = 400;
    let server = Listening::start(api).await;
    let project = api.project().await;
    let slow = TcpSocket::new_v4().unwrap();
    slow.set_recv_buffer_size(4096).unwrap();
    let mut socket = Socket::over(slow.connect(server.address).await.unwrap(), &server, "/").await;
    // More than the queue and all buffers between hold.
    let long = "x".repeat(20_000);
    let mut tasks = HashSet::new();
    for number in 0..TASKS {
        let body = json!({ "projectId": project, "title": format!("T{number}"), "description": long });
        tasks.insert(api.post("/api/tasks", body).await.id());
    }
    for task in &tasks {
        api.patch(&format!("/api/tasks/{task}"), json!({ "title": "last" })).await;
    }
    let mut frames = 0;
    while !tasks.is_empty() {
        let frame = socket.next().await;
        frames += 1;
        if frame["data"]["title"] == json!("last") {
            tasks.remove(frame["data"]["id"].as_str().unwrap());
        }
    }
    assert!(frames < 2 * TASKS, "{frames} frames came: nothing was left out, so nothing was tried");
}

async fn clients_that_do_not_read_keep_no_one_from_catching_up(api: &Api) {
    const TASKS: usize = 60;
    let server = Listening::start(api).await;
    let project = api.project().await;
    let long = "x".repeat(200_000);
    for number in 0..TASKS {
        let body = json!({ "projectId": project, "title": format!("T{number}"), "description": long });
        api.post("/api/tasks", body).await;
    }
    // More than may have frames in memory at once.
    let mut silent = Vec::new();
    for _ in 0..24 {
        let slow = TcpSocket::new_v4().unwrap();
        slow.set_recv_buffer_size(4096).unwrap();
        let mut socket = Socket::over(slow.connect(server.address).await.unwrap(), &server, "/").await;
        socket.say(json!({ "type": "subscribe", "since": 0 })).await;
        assert_eq!(socket.next().await["type"], json!("subscribed"));
        silent.push(socket);
    }
    let mut socket = Socket::open(&server, "/").await;
    socket.say(json!({ "type": "subscribe", "since": 0 })).await;
    let mut received = 0;
    while received < TASKS {
        received += usize::from(socket.next().await["type"] == json!("task:created"));
    }
    drop(silent);
}

async fn what_makes_no_sense_is_answered(api: &Api) {
    let server = Listening::start(api).await;
    let mut socket = Socket::open(&server, "/").await;
    socket.say(json!({ "type": "ping" })).await;
    assert_eq!(socket.next().await, json!({ "type": "pong", "timestamp": 1_738_713_600_000_i64 }));
    socket.say(json!({ "type": "heartbeat" })).await;
    socket.say(json!({ "type": "keepalive" })).await;
    for wrong in
        ["", "{", "[]", "null", "{\"type\":5}", "{\"type\":\"dance\"}", "{\"type\":\"subscribe\",\"since\":\"x\"}"]
    {
        socket.0.send(Message::text(wrong)).await.unwrap();
        assert_eq!(socket.next().await["type"], json!("error"), "{wrong}");
    }
    socket.0.send(Message::binary(vec![1, 2])).await.unwrap();
    assert_snapshot!(socket.next().await, @r#"{"type":"error","message":"messages are text, not bytes","timestamp":1738713600000}"#);
    api.project().await;
    assert_eq!(socket.next().await["event"], json!("project:created"), "the connection stays");
    let _ = socket.0.send(Message::text("x".repeat(65 * 1024))).await;
    assert!(socket.rest().await.is_empty(), "too large a message ends it");
    let mut fresh = Socket::open(&server, "/").await;
    fresh.say(json!({ "type": "ping" })).await;
    assert_eq!(fresh.next().await["type"], json!("pong"));
}

async fn who_listens_is_counted(api: &Api) {
    let mut server = Listening::start(api).await;
    let mut one = Socket::open(&server, "/").await;
    let two = Socket::open(&server, "/ws").await;
    assert_eq!(
        api.get("/ws-status").await.body,
        json!({ "connectedClients": 2, "clients": vec![json!({ "readyState": 1, "readyStateText": "OPEN" }); 2] })
    );
    drop(two);
    while api.get("/ws-status").await.body["connectedClients"] != json!(1) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.stop().await;
    let goodbye = timeout(Duration::from_secs(5), one.0.next()).await.unwrap();
    assert!(matches!(goodbye, Some(Ok(Message::Close(_)))), "{goodbye:?}");
}

#[tokio::test]
async fn a_page_of_another_origin_is_refused() {
    let api = Api::sqlite();
    let server = Listening::start(&api).await;
    for (name, value) in [("origin", "http://evil.test"), ("host", "evil.test"), ("authorization", "Bearer guess")] {
        let mut request = format!("ws://{}/ws", server.address).into_client_request().unwrap();
        request.headers_mut().insert(name, value.parse().unwrap());
        let refused = connect_async(request).await.unwrap_err().to_string();
        assert!(refused.contains("403") || refused.contains("401"), "{name}: {refused}");
    }
    let mut request = format!("ws://{}/ws", server.address).into_client_request().unwrap();
    request.headers_mut().insert("origin", format!("http://{}", server.address).parse().unwrap());
    assert!(connect_async(request).await.is_ok(), "our own page comes in");
    let head =
        format!("GET /ws HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: close\r\n\r\n", server.address);
    assert!(server.raw(&head).await.starts_with("HTTP/1.1 400"), "half an upgrade is none");
}
