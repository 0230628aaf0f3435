//! Sessions: what the original's clients send and get, and what was added.

use insta::assert_snapshot;
use maestro_store::{EventFilter, EventsAfter, LastEventSeq};
use serde_json::json;

use crate::world::{Api, both};

both! {
    a_session_lives_and_dies,
    what_is_wrong_with_a_session_is_said,
    sessions_are_found_by_what_they_are,
    old_words_for_a_session_are_understood,
    a_session_grows_line_by_line,
    tasks_come_and_go,
    a_session_is_paused_resumed_and_cancelled,
    a_change_may_insist_on_a_revision,
    what_could_be_secret_is_shown_nowhere,
    a_lease_keeps_a_session_alive,
    events_name_the_hook_that_acted,
}

async fn a_session_lives_and_dies(api: &Api) {
    let project = api.project().await;
    let task = api.task(&project, "T").await;
    let body = json!({ "projectId": project, "taskId": task, "metadata": { "spawnSource": "ui" }, "docs": [1] });
    let made = api.post("/api/sessions", body).await;
    assert_snapshot!(made, @r#"
    201
    {
      "id": "sess",
      "projectId": "proj",
      "taskIds": [
        "task"
      ],
      "name": "Worker for task",
      "agentId": null,
      "env": {},
      "strategy": "simple",
      "status": "idle",
      "state": "queued",
      "startedAt": 1738713600000,
      "lastActivity": 1738713600000,
      "completedAt": null,
      "hostname": "host",
      "platform": "linux",
      "events": [],
      "timeline": [
        {
          "id": "evt",
          "type": "session_started",
          "timestamp": 1738713600000,
          "message": "Session created"
        },
        {
          "id": "evt",
          "type": "task_started",
          "timestamp": 1738713600000,
          "message": "Started working on task",
          "taskId": "task"
        }
      ],
      "metadata": {
        "spawnSource": "ui"
      },
      "role": "worker",
      "revision": 1
    }
    "#);
    let id = made.id();
    let path = format!("/api/sessions/{id}");
    assert_eq!(api.get(&path).await.body, made.body, "nothing else was kept");
    assert_eq!(api.get(&format!("/api/tasks/{task}")).await.body["sessionIds"], json!([id]));
    api.wait(1000);
    let change = json!({ "status": "running", "name": "Ada", "agentId": "claude", "teamId": "t" });
    let changed = api.patch(&path, change).await;
    let field = |name: &str| changed.body[name].clone();
    assert_eq!((field("status"), field("name"), field("agentId")), (json!("working"), json!("Ada"), json!("claude")));
    assert_eq!((field("lastActivity"), field("teamId")), (json!(1_738_713_601_000_i64), json!(null)));
    let done = api.patch(&path, json!({ "status": "completed" })).await;
    assert_eq!(done.body["completedAt"], json!(1_738_713_601_000_i64));
    assert_eq!(api.delete(&path).await.body, json!({ "success": true, "id": id }));
    assert_eq!(api.get(&format!("/api/tasks/{task}")).await.body["sessionIds"], json!([]));
    assert_snapshot!(api.get(&path).await.line(), @"404 NOT_FOUND Session with id 'sess' not found");
}

async fn what_is_wrong_with_a_session_is_said(api: &Api) {
    let project = api.project().await;
    let create = async |body| api.post("/api/sessions", body).await.line();
    assert_snapshot!(create(json!({ "projectId": project })).await, @"400 VALIDATION_ERROR taskIds is required");
    assert_snapshot!(create(json!({ "taskIds": [] })).await, @"400 VALIDATION_ERROR Project ID is required");
    assert_snapshot!(create(json!({ "projectId": "nobody", "taskIds": [] })).await, @"404 NOT_FOUND Project with id 'nobody' not found");
    assert_snapshot!(create(json!({ "projectId": project, "taskIds": ["nobody"] })).await, @"404 NOT_FOUND Task with id 'nobody' not found");
    assert_snapshot!(create(json!({ "projectId": project, "taskIds": [], "status": "banana" })).await, @"400 VALIDATION_ERROR status: must be one of spawning, idle, working, paused, completed, failed, stopped");
    assert_snapshot!(create(json!({ "projectId": project, "taskIds": [], "mode": "banana" })).await, @r#"400 VALIDATION_ERROR role: must be "worker" or "orchestrator""#);
    assert_snapshot!(create(json!({ "projectId": project, "taskIds": [], "id": "../../x" })).await, @"400 VALIDATION_ERROR id: an id is 1 to 64 letters, digits, `_` or `-`");
    assert_snapshot!(create(json!({ "projectId": project, "taskIds": [], "env": [] })).await, @"400 VALIDATION_ERROR env: invalid type: sequence, expected a map at line 1 column 63");
    api.post("/api/sessions", json!({ "projectId": project, "taskIds": [], "id": "mine" })).await;
    assert_snapshot!(create(json!({ "projectId": project, "taskIds": [], "id": "mine" })).await, @"409 ALREADY_EXISTS Session with id 'mine' exists already");
    for answer in [
        api.get("/api/sessions/nobody").await,
        api.patch("/api/sessions/nobody", json!({})).await,
        api.delete("/api/sessions/nobody").await,
        api.post("/api/sessions/nobody/events", json!({ "type": "x" })).await,
        api.post("/api/sessions/nobody/timeline", json!({ "message": "x" })).await,
        api.get("/api/sessions/nobody/timeline").await,
        api.post("/api/sessions/nobody/tasks/x", json!({})).await,
        api.delete("/api/sessions/nobody/tasks/x").await,
        api.post("/api/sessions/nobody/pause", json!({})).await,
        api.post("/api/sessions/nobody/token", json!({})).await,
        api.post("/api/sessions/nobody/lease", json!({ "duration": 5 })).await,
    ] {
        assert_eq!(answer.line(), "404 NOT_FOUND Session with id 'nobody' not found");
    }
}

async fn sessions_are_found_by_what_they_are(api: &Api) {
    let (here, there) = (api.project().await, api.project().await);
    let task = api.task(&here, "T").await;
    let (one, two, other) =
        (api.session(&here, &[&task]).await, api.session(&here, &[]).await, api.session(&there, &[]).await);
    api.patch(&format!("/api/sessions/{two}"), json!({ "status": "completed" })).await;
    api.patch(&format!("/api/sessions/{other}"), json!({ "status": "failed" })).await;
    let found = async |query: &str| {
        let answer = api.get(&format!("/api/sessions?{query}")).await;
        answer.ids().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found("").await, [&one, &two, &other].map(String::as_str));
    assert_eq!(found(&format!("projectId={here}")).await, [&one, &two].map(String::as_str));
    assert_eq!(found(&format!("taskId={task}")).await, [one.as_str()]);
    assert_eq!(found("status=completed").await, [two.as_str()]);
    assert_eq!(found("active=true").await, [&one, &other].map(String::as_str), "as the original meant it");
    assert_eq!(found("active=alive").await, [one.as_str()]);
    assert_snapshot!(api.get("/api/sessions?fields=summary&limit=1").await, @r#"
    200
    [
      {
        "id": "sess",
        "projectId": "proj",
        "taskIds": [
          "task"
        ],
        "name": "Worker for task",
        "agentId": null,
        "role": "worker",
        "status": "idle",
        "state": "queued",
        "startedAt": 1738713600000,
        "lastActivity": 1738713600000,
        "completedAt": null
      }
    ]
    "#);
}

async fn old_words_for_a_session_are_understood(api: &Api) {
    let project = api.project().await;
    let role = async |body: serde_json::Value| {
        let mut whole = json!({ "projectId": project, "taskIds": [] });
        whole.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
        api.post("/api/sessions", whole).await.body["role"].clone()
    };
    assert_eq!(role(json!({})).await, json!("worker"));
    assert_eq!(role(json!({ "mode": "execute" })).await, json!("worker"));
    assert_eq!(role(json!({ "mode": "coordinated-worker" })).await, json!("worker"));
    assert_eq!(role(json!({ "mode": "coordinator" })).await, json!("orchestrator"));
    assert_eq!(role(json!({ "mode": "coordinate" })).await, json!("orchestrator"));
    assert_eq!(role(json!({ "metadata": { "role": "orchestrator" } })).await, json!("orchestrator"));
}

async fn a_session_grows_line_by_line(api: &Api) {
    let project = api.project().await;
    let path = format!("/api/sessions/{}", api.session(&project, &[]).await);
    let line = async |body| api.post(&format!("{path}/timeline"), body).await;
    let whole = line(json!({ "message": "reading", "metadata": { "file": "a" } })).await;
    assert_snapshot!(crate::world::plain(&whole.body["timeline"].to_string()), @r#"[{"id":"evt","type":"session_started","timestamp":1738713600000,"message":"Session created"},{"id":"evt","type":"progress","timestamp":1738713600000,"message":"reading","metadata":{"file":"a"}}]"#);
    let unknown = line(json!({ "type": "task_status_changed", "message": "m" })).await;
    assert_eq!(unknown.body["timeline"][2]["type"], json!("task_status_changed"), "an unknown kind is kept");
    assert_snapshot!(line(json!({ "type": "Not a kind!", "message": "m" })).await, @r#"
    400
    {
      "error": true,
      "statusCode": 400,
      "code": "VALIDATION_ERROR",
      "message": "type: must be 1 to 64 lower-case letters or `_`",
      "details": {
        "field": "type"
      }
    }
    "#);
    assert_snapshot!(line(json!({ "type": "x".repeat(65), "message": "m" })).await.line(), @"400 VALIDATION_ERROR type: must be 1 to 64 lower-case letters or `_`");
    assert_snapshot!(line(json!({ "type": "progress" })).await.line(), @"400 VALIDATION_ERROR message is required");
    let event = api.post(&format!("{path}/events"), json!({ "type": "file_modified", "data": { "file": "a" } })).await;
    assert_snapshot!(crate::world::plain(&event.body["events"].to_string()), @r#"[{"id":"evt","timestamp":1738713600000,"type":"file_modified","data":{"file":"a"}}]"#);
    assert_snapshot!(api.post(&format!("{path}/events"), json!({ "data": {} })).await.line(), @"400 VALIDATION_ERROR type is required");
    let many = json!({ "timeline": [{ "message": "a" }, { "message": "b" }], "events": [{ "type": "c" }] });
    let grown = api.patch(&path, many).await;
    assert_eq!(grown.body["timeline"].as_array().unwrap().len(), 5);
    assert_snapshot!(api.patch(&path, json!({ "timeline": [["progress", "m"]] })).await, @r#"
    400
    {
      "error": true,
      "statusCode": 400,
      "code": "VALIDATION_ERROR",
      "message": "timeline[0]: invalid type: sequence, expected an object at line 1 column 13",
      "details": {
        "field": "timeline[0]"
      }
    }
    "#);
    for number in 0..100 {
        line(json!({ "message": format!("line {number}") })).await;
    }
    let long = api.get(&path).await;
    assert_eq!(long.body["timeline"].as_array().unwrap().len(), 100, "the end of it");
    assert_eq!(long.body["timeline"][99]["message"], json!("line 99"));
    assert_eq!(api.get(&format!("{path}/timeline")).await.ids().len(), 105, "all of it");
}

async fn tasks_come_and_go(api: &Api) {
    let project = api.project().await;
    let task = api.task(&project, "T").await;
    let session = api.session(&project, &[]).await;
    let path = format!("/api/sessions/{session}/tasks/{task}");
    let bound = api.post(&path, json!({})).await;
    assert_eq!((bound.status, &bound.body["taskIds"]), (200, &json!([task])));
    let messages = |answer: &crate::world::Answer| {
        let lines = answer.body["timeline"].as_array().unwrap().clone();
        lines.iter().map(|line| line["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(messages(&bound), ["Session created", "Added task to session"]);
    let unbound = api.delete(&path).await;
    assert_eq!(messages(&unbound).last().unwrap(), "Removed task from session");
    assert_eq!(unbound.body["taskIds"], json!([]));
    assert_snapshot!(api.post(&format!("/api/sessions/{session}/tasks/nobody"), json!({})).await.line(), @"404 NOT_FOUND Task with id 'nobody' not found");
}

async fn a_session_is_paused_resumed_and_cancelled(api: &Api) {
    let project = api.project().await;
    let path = format!("/api/sessions/{}", api.session(&project, &[]).await);
    let order = async |word: &str| api.post(&format!("{path}/{word}"), json!({})).await;
    assert_snapshot!(order("resume").await.line(), @"409 INVALID_TRANSITION cannot resume a session that is idle; possible: pause, cancel");
    assert_eq!(order("pause").await.body["status"], json!("paused"));
    assert_eq!(order("resume").await.body["status"], json!("idle"));
    let starting = json!({ "projectId": project, "taskIds": [], "status": "spawning" });
    let starting = api.post("/api/sessions", starting).await.body["id"].as_str().unwrap().to_owned();
    for (word, status) in [("pause", "paused"), ("resume", "spawning")] {
        let steered = api.post(&format!("/api/sessions/{starting}/{word}"), json!({})).await;
        assert_eq!(steered.body["status"], json!(status), "a pause ends where it began");
    }
    let ended = order("cancel").await;
    assert_eq!((&ended.body["status"], &ended.body["endReason"]), (&json!("stopped"), &json!("cancelled")));
    assert_snapshot!(order("pause").await.line(), @"409 INVALID_TRANSITION cannot pause a session that is stopped; possible: nothing");
    api.patch(&path, json!({ "status": "working" })).await;
    api.patch(&path, json!({ "status": "completed" })).await;
    assert_snapshot!(api.patch(&path, json!({ "status": "working" })).await, @r#"
    409
    {
      "error": true,
      "statusCode": 409,
      "code": "INVALID_TRANSITION",
      "message": "a session that is completed cannot become working; possible: nothing",
      "details": {
        "from": "completed",
        "to": "working",
        "allowed": []
      }
    }
    "#);
}

async fn a_change_may_insist_on_a_revision(api: &Api) {
    let project = api.project().await;
    let path = format!("/api/sessions/{}", api.session(&project, &[]).await);
    let revision = api.get(&path).await.header("etag").to_owned();
    let insisting = api.with("if-match", &revision);
    assert_eq!(insisting.patch(&path, json!({ "name": "A" })).await.status, 200);
    let late = insisting.patch(&path, json!({ "name": "B" })).await;
    assert_eq!((late.status, &late.body["code"]), (412, &json!("REVISION_MISMATCH")));
    assert_eq!(api.get(&path).await.body["name"], json!("A"));
}

async fn what_could_be_secret_is_shown_nowhere(api: &Api) {
    let project = api.project().await;
    let env = json!({ "MAESTRO_STRATEGY": "simple", "MAESTRO_SESSION_TOKEN": "hush-1", "API_KEY": "hush-2" });
    let made = api.post("/api/sessions", json!({ "projectId": project, "taskIds": [], "env": env })).await;
    let shown = json!({ "MAESTRO_STRATEGY": "simple", "MAESTRO_SESSION_TOKEN": "***", "API_KEY": "***" });
    assert_eq!(made.body["env"], shown);
    let path = format!("/api/sessions/{}", made.id());
    api.patch(&path, json!({ "env": { "API_KEY": "***", "OTHER": "hush-3" } })).await;
    for place in ["/api/sessions", &path, "/api/events", "/api/sessions?fields=summary"] {
        assert!(!api.get(place).await.text.contains("hush"), "{place}");
    }
    let stored = api.store.read(maestro_store::SessionById(made.id().parse().unwrap())).await.unwrap();
    assert_eq!(stored.env["API_KEY"], json!("hush-2"), "what was shown did not become the value");
}

async fn a_lease_keeps_a_session_alive(api: &Api) {
    let project = api.project().await;
    let path = format!("/api/sessions/{}/lease", api.session(&project, &[]).await);
    assert_eq!(api.post(&path, json!({ "duration": 60_000 })).await.status, 204);
    assert_snapshot!(api.post(&path, json!({ "duration": 0 })).await.line(), @"400 VALIDATION_ERROR duration: must be 1 to 3600000 milliseconds");
    assert_snapshot!(api.post(&path, json!({})).await.line(), @"400 VALIDATION_ERROR duration: is required");
    assert_snapshot!(api.post(&path, json!({ "duration": "long" })).await, @r#"
    400
    {
      "error": true,
      "statusCode": 400,
      "code": "VALIDATION_ERROR",
      "message": "duration: invalid type: string \"long\", expected a JSON number at line 1 column 18",
      "details": {
        "field": "duration"
      }
    }
    "#);
}

async fn events_name_the_hook_that_acted(api: &Api) {
    let project = api.project().await;
    let session = api.session(&project, &[]).await;
    let seq = api.store.read(LastEventSeq).await.unwrap();
    let path = format!("/api/sessions/{session}");
    let hook = api.with("x-maestro-actor", "hook");
    assert_eq!(hook.patch(&path, json!({ "status": "working" })).await.status, 200);
    let all = EventsAfter { seq, limit: 100, filter: EventFilter::default() };
    let events = api.store.read(all).await.unwrap();
    assert!(events.iter().any(|event| event.payload.get().contains("\"actor\":\"hook\"")), "{events:?}");
}
