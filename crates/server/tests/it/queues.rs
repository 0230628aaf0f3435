//! A session's queue.

use insta::assert_snapshot;
use serde_json::json;

use crate::world::{Api, both, plain};

both! { a_queue_is_worked_off, what_is_wrong_with_a_queue_is_said, }

async fn queue(api: &Api, tasks: usize) -> (String, String) {
    let project = api.project().await;
    let mut ids = Vec::new();
    for number in 0..tasks {
        ids.push(api.task(&project, &format!("T{number}")).await);
    }
    let body = json!({ "projectId": project, "taskIds": ids, "strategy": "queue" });
    let session = api.post("/api/sessions", body).await.id();
    (project, format!("/api/sessions/{session}/queue"))
}

async fn a_queue_is_worked_off(api: &Api) {
    let (project, path) = queue(api, 3).await;
    assert_snapshot!(api.get(&path).await, @r#"
    200
    {
      "queue": {
        "sessionId": "sess",
        "strategy": "queue",
        "currentIndex": -1,
        "createdAt": 1738713600000,
        "updatedAt": 1738713600000,
        "items": [
          {
            "taskId": "task",
            "status": "queued",
            "addedAt": 1738713600000
          },
          {
            "taskId": "task",
            "status": "queued",
            "addedAt": 1738713600000
          },
          {
            "taskId": "task",
            "status": "queued",
            "addedAt": 1738713600000
          }
        ]
      },
      "stats": {
        "total": 3,
        "queued": 3,
        "processing": 0,
        "completed": 0,
        "failed": 0,
        "skipped": 0
      }
    }
    "#);
    let step = async |word: &str| {
        let answer = api.post(&format!("{path}/{word}"), json!({ "reason": "too hard" })).await;
        plain(&answer.body.to_string())
    };
    assert_snapshot!(plain(&api.get(&format!("{path}/top")).await.body.to_string()), @r#"{"hasMore":true,"item":{"taskId":"task","status":"queued","addedAt":1738713600000}}"#);
    assert_snapshot!(step("start").await, @r#"{"success":true,"item":{"taskId":"task","status":"processing","addedAt":1738713600000,"startedAt":1738713600000},"message":"Started task task"}"#);
    assert_snapshot!(api.post(&format!("{path}/start"), json!({})).await.line(), @"400 VALIDATION_ERROR Task task is being processed already; complete, fail or skip it first");
    let again = api.with("idempotency-key", "done");
    let first = again.post(&format!("{path}/complete"), json!({})).await;
    assert_snapshot!(plain(&first.body.to_string()), @r#"{"success":true,"completedItem":{"taskId":"task","status":"completed","addedAt":1738713600000,"startedAt":1738713600000,"completedAt":1738713600000},"nextItem":{"taskId":"task","status":"queued","addedAt":1738713600000},"hasMore":true,"message":"Completed task task"}"#);
    assert_eq!(again.post(&format!("{path}/complete"), json!({})).await.body, first.body, "a retry ends no other item");
    step("start").await;
    assert_snapshot!(step("fail").await, @r#"{"success":true,"failedItem":{"taskId":"task","status":"failed","addedAt":1738713600000,"startedAt":1738713600000,"completedAt":1738713600000,"failReason":"too hard"},"nextItem":{"taskId":"task","status":"queued","addedAt":1738713600000},"hasMore":true,"message":"Failed task task"}"#);
    assert_snapshot!(step("skip").await, @r#"{"success":true,"skippedItem":{"taskId":"task","status":"skipped","addedAt":1738713600000,"completedAt":1738713600000},"nextItem":null,"hasMore":false,"message":"Skipped task task"}"#);
    assert_snapshot!(step("start").await, @r#"{"success":true,"item":null,"empty":true,"message":"Queue is empty - all tasks processed"}"#);
    assert_snapshot!(plain(&api.get(&format!("{path}/top")).await.body.to_string()), @r#"{"hasMore":false,"item":null,"message":"Queue is empty - all tasks processed"}"#);
    assert_eq!(
        api.get(&format!("{path}/items")).await.body["stats"],
        json!({ "total": 3, "queued": 0, "processing": 0, "completed": 1, "failed": 1, "skipped": 1 })
    );
    let more = api.task(&project, "more").await;
    let pushed = api.post(&format!("{path}/push"), json!({ "taskId": more })).await;
    assert_eq!((pushed.status, &pushed.body["item"]["status"]), (200, &json!("queued")));
    assert_snapshot!(api.post(&format!("{path}/push"), json!({ "taskId": more })).await.line(), @"400 VALIDATION_ERROR Task task is in the queue already");
}

async fn what_is_wrong_with_a_queue_is_said(api: &Api) {
    let project = api.project().await;
    let session = api.session(&project, &[]).await;
    assert_snapshot!(api.get(&format!("/api/sessions/{session}/queue")).await.line(), @"400 VALIDATION_ERROR Session sess does not use queue strategy");
    let (_, path) = queue(api, 1).await;
    assert_snapshot!(api.post(&format!("{path}/complete"), json!({})).await.line(), @"400 VALIDATION_ERROR No task is being processed");
    assert_snapshot!(api.post(&format!("{path}/push"), json!({})).await.line(), @"400 VALIDATION_ERROR taskId is required");
    assert_snapshot!(api.post(&format!("{path}/push"), json!({ "taskId": "nobody" })).await.line(), @"404 NOT_FOUND Task with id 'nobody' not found");
    assert_snapshot!(api.get("/api/sessions/nobody/queue").await.line(), @"404 NOT_FOUND Session with id 'nobody' not found");
}
