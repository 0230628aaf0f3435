//! What sessions say and hear: reports, notices, messages, hand-offs.

use insta::assert_snapshot;
use serde_json::json;

use crate::world::{Api, both};

both! { a_report_is_answered_with_what_changed, a_task_alone_is_enough_to_report, words_reach_an_agent, work_is_passed_on, }

async fn a_report_is_answered_with_what_changed(api: &Api) {
    let project = api.project().await;
    let task = api.task(&project, "T").await;
    let session = api.session(&project, &[&task]).await;
    let path = format!("/api/sessions/{session}");
    let report = async |body| api.post(&format!("{path}/reports"), body).await;
    report(json!({ "message": "reading" })).await;
    api.subtask(&task, "one more").await;
    let answer = report(json!({})).await;
    assert_snapshot!(answer, @r#"
    200
    {
      "success": true,
      "sessionId": "sess",
      "sessionStatus": "working",
      "sessionCompleted": false,
      "taskIds": [
        "task"
      ],
      "notices": [
        {
          "kind": "subtask_added",
          "task": "task",
          "title": "one more"
        }
      ],
      "changes": [
        "1 new subtask: one more"
      ],
      "noticeCursor": 1
    }
    "#);
    let heard = json!({ "noticeCursor": answer.body["noticeCursor"] });
    assert_eq!(api.post(&format!("{path}/notices/confirm"), heard).await.status, 204);
    assert_snapshot!(api.get(&format!("{path}/notices")).await, @r#"
    200
    {
      "notices": [],
      "changes": [],
      "noticeCursor": 0
    }
    "#);
    assert_snapshot!(report(json!({ "kind": "banana" })).await.line(), @"400 VALIDATION_ERROR kind: must be one of progress, complete, blocked, error, needs-input");
    assert_snapshot!(report(json!({ "taskIds": ["nobody"], "message": "m" })).await.line(), @"404 NOT_FOUND Task with id 'nobody' not found");
    let open = report(json!({ "kind": "complete", "message": "done" })).await;
    assert!(open.line().contains("1 subtask is open: one more"), "{open}");
    let one_more = api
        .get("/api/tasks")
        .await
        .body
        .as_array()
        .unwrap()
        .iter()
        .find(|task| task["title"] == "one more")
        .unwrap()["id"]
        .clone();
    assert_eq!(report(json!({ "kind": "complete", "taskIds": [one_more] })).await.status, 200);
    let done = report(json!({ "kind": "complete", "message": "done" })).await;
    assert_eq!((&done.body["sessionCompleted"], &done.body["sessionStatus"]), (&json!(true), &json!("completed")));
    assert_eq!(api.post("/api/sessions/nobody/reports", json!({})).await.status, 404);
}

async fn a_task_alone_is_enough_to_report(api: &Api) {
    let project = api.project().await;
    let task = api.task(&project, "T").await;
    let again = api.with("idempotency-key", "same");
    let first = again.post(&format!("/api/tasks/{task}/reports"), json!({ "message": "reading" })).await;
    let second = again.post(&format!("/api/tasks/{task}/reports"), json!({ "message": "reading" })).await;
    assert_eq!((first.status, &first.body), (200, &second.body));
    let session = first.body["sessionId"].as_str().unwrap();
    let said = api.get(&format!("/api/sessions/{session}/timeline")).await.text.matches("reading").count();
    assert_eq!(said, 1);
    assert_eq!(api.get(&format!("/api/tasks/{task}")).await.body["status"], json!("in_progress"));
}

async fn words_reach_an_agent(api: &Api) {
    let project = api.project().await;
    let session = api.session(&project, &[]).await;
    let path = format!("/api/sessions/{session}");
    assert_snapshot!(api.post(&format!("{path}/messages"), json!({ "text": "use tabs" })).await, @r#"
    201
    {
      "id": "msg",
      "sessionId": "sess",
      "from": "you",
      "text": "use tabs",
      "state": "queued",
      "how": null,
      "createdAt": 1738713600000,
      "settledAt": null
    }
    "#);
    assert_snapshot!(api.post(&format!("{path}/messages"), json!({ "text": " " })).await.line(), @"400 VALIDATION_ERROR text is required");
    let news = api.post(&format!("{path}/reports"), json!({})).await;
    assert_eq!(news.body["changes"], json!(["the user says: use tabs"]));
    let state = async || api.get(&format!("{path}/messages")).await.body[0]["state"].clone();
    assert_eq!(state().await, json!("queued"), "not delivered before it was heard");
    let heard = json!({ "noticeCursor": news.body["noticeCursor"] });
    api.post(&format!("{path}/notices/confirm"), heard).await;
    assert_eq!(state().await, json!("delivered"));
    api.post(&format!("{path}/cancel"), json!({})).await;
    let late = api.post(&format!("{path}/messages"), json!({ "text": "too late" })).await;
    assert_eq!((late.status, &late.body["state"]), (201, &json!("refused")));
}

async fn work_is_passed_on(api: &Api) {
    let project = api.project().await;
    let body = json!({ "projectId": project, "from": "planner", "to": "builder", "title": "Build it" });
    let made = api.post("/api/handoffs", body).await;
    assert_snapshot!(made, @r#"
    201
    {
      "id": "hand",
      "projectId": "proj",
      "taskId": null,
      "from": "planner",
      "to": "builder",
      "title": "Build it",
      "body": "",
      "state": "pending",
      "acceptedBy": null,
      "result": null,
      "createdAt": 1738713600000,
      "acceptedAt": null,
      "completedAt": null
    }
    "#);
    let path = format!("/api/handoffs/{}", made.id());
    assert_eq!(api.get("/api/handoffs?to=builder&state=pending").await.ids().len(), 1);
    assert_snapshot!(api.post(&format!("{path}/complete"), json!({})).await.line(), @"422 BUSINESS_RULE_ERROR hand-off 'hand' is pending, and only an accepted one is completed");
    assert_eq!(api.post(&format!("{path}/accept"), json!({ "by": "Ada" })).await.body["acceptedBy"], json!("Ada"));
    assert_snapshot!(api.post(&format!("{path}/accept"), json!({ "by": "Bob" })).await.line(), @"422 BUSINESS_RULE_ERROR hand-off 'hand' is accepted already");
    let done = api.post(&format!("{path}/complete"), json!({ "result": "built" })).await;
    assert_eq!((&done.body["state"], &done.body["result"]), (&json!("completed"), &json!("built")));
    assert_snapshot!(api.get("/api/handoffs?state=lost").await.line(), @"400 VALIDATION_ERROR state: must be one of pending, accepted, completed");
    let wrong = json!({ "projectId": project, "from": "../x", "to": "b", "title": "t" });
    assert_snapshot!(api.post("/api/handoffs", wrong).await.line(), @"400 VALIDATION_ERROR from: must be letters, digits, `-` and `_`, at most 64");
    assert_snapshot!(api.get("/api/handoffs/nobody").await.line(), @"404 NOT_FOUND Handoff with id 'nobody' not found");
}
