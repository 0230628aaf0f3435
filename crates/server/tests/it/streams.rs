//! The log as a list, and live over HTTP.

use std::sync::Arc;

use futures_util::FutureExt as _;
use insta::assert_snapshot;
use maestro_api::events::EventQuery;
use maestro_api::{ApiClient, ChangeWatch, RouterTransport};
use serde_json::json;

use crate::listener::Listening;
use crate::world::{Api, both, plain};

both! {
    the_log_is_a_list_in_parts,
    a_watcher_hears_what_happens_from_where_it_was,
    a_watcher_hears_only_what_it_asked_for,
    every_watcher_hears_everything_once_and_in_order,
    large_events_come_once_and_in_order,
    a_stream_ends_with_the_server,
    a_watch_waits_for_what_it_is_about,
}

async fn the_log_is_a_list_in_parts(api: &Api) {
    let project = api.project().await;
    let task = api.task(&project, "T").await;
    api.session(&project, &[&task]).await;
    let all = api.get("/api/events").await;
    let kinds: Vec<&str> = all.body.as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_snapshot!(kinds.join(" "), @"project:created task:created session:created timeline:added task:session_added session:task_added timeline:added");
    assert_snapshot!(plain(&all.body[1].to_string()), @r#"{"seq":2,"at":1738713600000,"type":"task:created","version":1,"project":"proj","task":"task","session":null,"run":null,"payload":{"id":"task","title":"T","status":"todo"}}"#);
    let first = api.get("/api/events?limit=2").await;
    let next = first.header("maestro-next-cursor");
    let rest = api.get(&format!("/api/events?since={next}")).await;
    assert_eq!(rest.body.as_array().unwrap().len() + 2, kinds.len());
    let of_task = api.get(&format!("/api/events?taskId={task}")).await;
    assert!(of_task.body.as_array().unwrap().iter().all(|event| event["task"] == json!(task)));
    assert_snapshot!(api.get("/api/events?limit=5000").await.line(), @"400 VALIDATION_ERROR limit: must be 1 to 1000");
    assert_snapshot!(api.get("/api/events?projectId=a%20b").await.line(), @"400 VALIDATION_ERROR projectId: an id is 1 to 64 letters, digits, `_` or `-`");
}

async fn a_watcher_hears_what_happens_from_where_it_was(api: &Api) {
    let server = Listening::start(api).await;
    api.project().await;
    let mut now = server.watch("", "").await;
    let mut from_start = server.watch("?since=0", "").await;
    let project = api.project().await;
    assert_eq!(now.event().await.unwrap()["payload"]["id"], json!(project), "a stream begins now");
    let first = from_start.event().await.unwrap();
    assert_eq!(from_start.event().await.unwrap()["payload"]["id"], json!(project));
    let seq = first["seq"].as_i64().unwrap();
    let mut back = server.watch("?since=0", &format!("Last-Event-ID: {seq}\r\n")).await;
    assert_eq!(back.event().await.unwrap()["payload"]["id"], json!(project), "the header counts");
    let mut ahead = server.watch("", "Last-Event-ID: 999999999\r\n").await;
    let project = api.project().await;
    assert_eq!(ahead.event().await.unwrap()["payload"]["id"], json!(project), "the log is not that far yet");
}

async fn a_watcher_hears_only_what_it_asked_for(api: &Api) {
    let server = Listening::start(api).await;
    let (here, there) = (api.project().await, api.project().await);
    let mut watcher = server.watch(&format!("?projectId={here}"), "").await;
    for number in 0..3 {
        api.task(&there, "noise").await;
        let task = api.task(&here, &format!("T{number}")).await;
        assert_eq!(watcher.event().await.unwrap()["task"], json!(task));
    }
    let session = api.session(&here, &[]).await;
    let mut of_session = server.watch(&format!("?sessionId={session}&since=0"), "").await;
    assert_eq!(of_session.kinds(2).await, ["session:created", "timeline:added"]);
    api.session(&here, &[]).await;
    api.post(&format!("/api/sessions/{session}/timeline"), json!({ "message": "m" })).await;
    assert_eq!(of_session.event().await.unwrap()["payload"]["message"], json!("m"));
}

async fn a_watch_waits_for_what_it_is_about(api: &Api) {
    let project = api.project().await;
    let (session, other) = (api.session(&project, &[]).await, api.session(&project, &[]).await);
    let client = ApiClient::new(Arc::new(RouterTransport(maestro_server::router(api.app.clone()))));
    let mut watch = ChangeWatch::new(client, EventQuery { session_id: Some(session.clone()), ..EventQuery::default() });
    watch.changed().await;
    let noted = |session: &str| {
        let path = format!("/api/sessions/{session}/timeline");
        async move { api.post(&path, json!({ "message": "m" })).await }
    };
    noted(&other).await;
    assert!(watch.changed().now_or_never().is_none(), "nothing happened to the session");
    for _ in 0..2 {
        noted(&session).await;
        watch.changed().await;
    }
    assert!(watch.changed().now_or_never().is_none());
}

async fn every_watcher_hears_everything_once_and_in_order(api: &Api) {
    const WRITERS: usize = 8;
    const LINES: usize = 25;
    let server = Listening::start(api).await;
    let project = api.project().await;
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (api, project) = (api.clone(), project.clone());
            tokio::spawn(async move {
                for line in 0..LINES {
                    api.task(&project, &format!("{writer}-{line}")).await;
                }
            })
        })
        .collect();
    // They join while it happens, from before it began.
    let mut watchers = Vec::new();
    for _ in 0..8 {
        watchers.push(server.watch("?since=1", "").await);
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let log = api.get("/api/events?since=1").await;
    let expected: Vec<i64> = log.body.as_array().unwrap().iter().map(|event| event["seq"].as_i64().unwrap()).collect();
    assert_eq!(expected.len(), WRITERS * LINES);
    for watcher in &mut watchers {
        let mut heard = Vec::new();
        while heard.len() < expected.len() {
            heard.push(watcher.event().await.unwrap()["seq"].as_i64().unwrap());
        }
        assert_eq!(heard, expected);
    }
}

async fn large_events_come_once_and_in_order(api: &Api) {
    let server = Listening::start(api).await;
    let session = api.session(&api.project().await, &[]).await;
    let mut early = server.watch("", "").await;
    let large = "x".repeat(400_000);
    for number in 0..6 {
        let line = json!({ "message": format!("{number} {large}") });
        api.post(&format!("/api/sessions/{session}/timeline"), line).await;
    }
    let mut late = server.watch("?since=0", "").await;
    for watcher in [&mut early, &mut late] {
        let mut numbers = String::new();
        while numbers.len() < 6 {
            let event = watcher.event().await.unwrap();
            let message = event["payload"]["message"].as_str().unwrap_or_default();
            numbers.extend(message.strip_suffix(large.as_str()).map(str::trim));
        }
        assert_eq!(numbers, "012345");
    }
    let page = api.get("/api/events").await;
    assert!(page.body.as_array().unwrap().len() < 9, "a list ends where it gets large");
    assert!(!page.header("maestro-next-cursor").is_empty());
}

async fn a_stream_ends_with_the_server(api: &Api) {
    let mut server = Listening::start(api).await;
    let mut watcher = server.watch("", "").await;
    api.project().await;
    assert!(watcher.event().await.is_some());
    server.stop().await;
    assert!(watcher.event().await.is_none());
}
