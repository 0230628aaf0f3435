//! Tasks: what the original's clients send and get, and what was added.

use insta::assert_snapshot;
use serde_json::json;

use crate::world::{Api, both};

both! {
    a_task_lives_and_dies,
    what_is_wrong_with_a_task_is_said,
    tasks_are_found_by_what_they_are,
    old_words_for_a_status_are_understood,
    a_session_speaks_only_for_itself,
    only_some_changes_of_status_are_possible,
    a_change_may_insist_on_a_revision,
    a_request_may_be_repeated,
    a_line_about_a_task_goes_into_the_timeline,
}

async fn a_task_lives_and_dies(api: &Api) {
    let project = api.project().await;
    let body = json!({
        "projectId": project, "title": "Fix the login", "description": "It fails", "priority": "high",
        "initialPrompt": "Look first", "skillIds": ["maestro-worker"], "model": "opus", "pinned": true,
    });
    let made = api.post("/api/tasks", body).await;
    assert_snapshot!(made, @r#"
    201
    {
      "id": "task",
      "projectId": "proj",
      "parentId": null,
      "title": "Fix the login",
      "description": "It fails",
      "status": "todo",
      "state": "queued",
      "priority": "high",
      "createdAt": 1738713600000,
      "updatedAt": 1738713600000,
      "startedAt": null,
      "completedAt": null,
      "initialPrompt": "Look first",
      "sessionIds": [],
      "skillIds": [
        "maestro-worker"
      ],
      "agentIds": [],
      "dependencies": [],
      "model": "opus",
      "taskSessionStatuses": {},
      "revision": 1
    }
    "#);
    assert_eq!(made.header("etag"), "\"1\"");
    let task = made.id();
    let path = format!("/api/tasks/{task}");
    assert_eq!(api.get(&path).await.body, made.body, "nothing else was kept");
    let subtask = api.subtask(&task, "Write a test").await;
    assert_eq!(api.get(&format!("{path}/children")).await.ids(), [subtask.as_str()]);
    api.wait(1000);
    assert_snapshot!(api.patch(&path, json!({ "status": "in_progress", "title": "Fix it", "dueDate": 5 })).await, @r#"
    200
    {
      "id": "task",
      "projectId": "proj",
      "parentId": null,
      "title": "Fix it",
      "description": "It fails",
      "status": "in_progress",
      "state": "working",
      "priority": "high",
      "createdAt": 1738713600000,
      "updatedAt": 1738713601000,
      "startedAt": 1738713601000,
      "completedAt": null,
      "initialPrompt": "Look first",
      "sessionIds": [],
      "skillIds": [
        "maestro-worker"
      ],
      "agentIds": [],
      "dependencies": [],
      "model": "opus",
      "taskSessionStatuses": {},
      "revision": 2
    }
    "#);
    assert_eq!(api.delete(&path).await.body, json!({ "success": true, "id": task }));
    assert_eq!(api.get(&format!("/api/tasks/{subtask}")).await.body["parentId"], json!(null), "it moved up");
}

async fn what_is_wrong_with_a_task_is_said(api: &Api) {
    let project = api.project().await;
    assert_snapshot!(api.post("/api/tasks", json!({ "title": "T" })).await, @r#"
    400
    {
      "error": true,
      "statusCode": 400,
      "code": "VALIDATION_ERROR",
      "message": "Project ID is required"
    }
    "#);
    assert_snapshot!(api.post("/api/tasks", json!({ "projectId": project, "title": " " })).await.line(), @"400 VALIDATION_ERROR Task title is required");
    assert_snapshot!(api.post("/api/tasks", json!({ "projectId": "nobody", "title": "T" })).await.line(), @"404 NOT_FOUND Project with id 'nobody' not found");
    let orphan = json!({ "projectId": project, "title": "T", "parentId": "nobody" });
    assert_snapshot!(api.post("/api/tasks", orphan).await.line(), @"404 NOT_FOUND Parent task with id 'nobody' not found");
    let urgent = json!({ "projectId": project, "title": "T", "priority": "very" });
    assert_snapshot!(api.post("/api/tasks", urgent).await, @r#"
    400
    {
      "error": true,
      "statusCode": 400,
      "code": "VALIDATION_ERROR",
      "message": "priority: must be one of low, medium, high, critical",
      "details": {
        "field": "priority"
      }
    }
    "#);
    let skills = json!({ "projectId": project, "title": "T", "skillIds": ["a", 5] });
    assert_snapshot!(api.post("/api/tasks", skills).await, @r#"
    400
    {
      "error": true,
      "statusCode": 400,
      "code": "VALIDATION_ERROR",
      "message": "skillIds[1]: invalid type: integer `5`, expected a string at line 1 column 73",
      "details": {
        "field": "skillIds[1]"
      }
    }
    "#);
    let path = format!("/api/tasks/{}", api.task(&project, "T").await);
    assert_snapshot!(api.patch(&path, json!({ "title": "" })).await.line(), @"400 VALIDATION_ERROR Task title cannot be empty");
    assert_snapshot!(api.patch(&path, json!({ "status": "banana" })).await.line(), @"400 VALIDATION_ERROR status: must be one of todo, in_progress, in_review, blocked, completed, cancelled, archived");
    assert_snapshot!(api.patch(&path, json!({ "sessionStatus": "working" })).await.line(), @"400 VALIDATION_ERROR sessionId: is needed with sessionStatus");
    let stranger = json!({ "sessionStatus": "working", "sessionId": "nobody" });
    assert_snapshot!(api.patch(&path, stranger).await.line(), @"404 NOT_FOUND Session with id 'nobody' not found");
    for answer in [
        api.get("/api/tasks/nobody").await,
        api.patch("/api/tasks/nobody", json!({})).await,
        api.delete("/api/tasks/nobody").await,
        api.get("/api/tasks/nobody/children").await,
    ] {
        assert_eq!(answer.line(), "404 NOT_FOUND Task with id 'nobody' not found");
    }
}

async fn tasks_are_found_by_what_they_are(api: &Api) {
    let (here, there) = (api.project().await, api.project().await);
    let (one, two, other) = (api.task(&here, "one").await, api.task(&here, "two").await, api.task(&there, "x").await);
    let below = api.subtask(&one, "below").await;
    let session = api.session(&here, &[&two]).await;
    api.patch(&format!("/api/tasks/{one}"), json!({ "status": "blocked" })).await;
    let found = async |query: &str| {
        let answer = api.get(&format!("/api/tasks?{query}")).await;
        answer.ids().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found("").await, [&one, &two, &other, &below].map(String::as_str));
    assert_eq!(found(&format!("projectId={here}&parentId=null")).await, [&one, &two].map(String::as_str));
    assert_eq!(found(&format!("parentId={one}")).await, [below.as_str()]);
    assert_eq!(found("status=blocked").await, [one.as_str()]);
    assert_eq!(found(&format!("sessionId={session}")).await, [two.as_str()]);
    assert_snapshot!(api.get("/api/tasks?status=blocked&fields=summary&limit=1").await, @r#"
    200
    [
      {
        "id": "task",
        "projectId": "proj",
        "parentId": null,
        "title": "one",
        "status": "blocked",
        "state": "waiting",
        "priority": "medium",
        "updatedAt": 1738713600000,
        "sessionIds": []
      }
    ]
    "#);
    assert_snapshot!(api.get("/api/tasks?status=banana").await.line(), @"400 VALIDATION_ERROR status: must be one of todo, in_progress, in_review, blocked, completed, cancelled, archived");
    assert_snapshot!(api.get("/api/tasks?fields=some").await.line(), @"400 VALIDATION_ERROR Failed to deserialize query string: fields: unknown variant `some`, expected `full` or `summary`");
}

async fn old_words_for_a_status_are_understood(api: &Api) {
    let project = api.project().await;
    let session = api.session(&project, &[]).await;
    for (said, becomes) in [("in-progress", "in_progress"), ("PENDING", "todo"), ("IN_PROGRESS", "in_progress")] {
        let task = api.task(&project, "T").await;
        let answer = api.patch(&format!("/api/tasks/{task}"), json!({ "status": said })).await;
        assert_eq!((answer.status, &answer.body["status"]), (200, &json!(becomes)), "{said}");
    }
    let task = api.task(&project, "T").await;
    let failed = json!({ "status": "failed", "sessionId": session });
    let answer = api.patch(&format!("/api/tasks/{task}"), failed).await;
    assert_eq!((&answer.body["status"], &answer.body["sessionStatus"]), (&json!("blocked"), &json!("failed")));
}

async fn a_session_speaks_only_for_itself(api: &Api) {
    let project = api.project().await;
    let task = api.task(&project, "T").await;
    let session = api.session(&project, &[&task]).await;
    let said = json!({
        "updateSource": "session", "sessionId": session, "sessionStatus": "needs-input", "status": "completed",
        "title": "mine now",
    });
    let answer = api.patch(&format!("/api/tasks/{task}"), said).await;
    let field = |name: &str| answer.body[name].clone();
    assert_eq!((field("title"), field("sessionStatus")), (json!("T"), json!("needs_input")));
    assert_eq!(field("taskSessionStatuses"), json!({ session: "needs_input" }));
    assert_ne!(field("status"), json!("completed"));
}

async fn only_some_changes_of_status_are_possible(api: &Api) {
    let project = api.project().await;
    let path = format!("/api/tasks/{}", api.task(&project, "T").await);
    api.patch(&path, json!({ "status": "cancelled" })).await;
    assert_snapshot!(api.patch(&path, json!({ "status": "completed" })).await, @r#"
    409
    {
      "error": true,
      "statusCode": 409,
      "code": "INVALID_TRANSITION",
      "message": "a task that is cancelled cannot become completed; possible: todo, archived",
      "details": {
        "from": "cancelled",
        "to": "completed",
        "allowed": [
          "todo",
          "archived"
        ]
      }
    }
    "#);
    assert_eq!(api.get(&path).await.body["status"], json!("cancelled"));
}

async fn a_change_may_insist_on_a_revision(api: &Api) {
    let project = api.project().await;
    let path = format!("/api/tasks/{}", api.task(&project, "T").await);
    let first = api.with("if-match", "\"1\"");
    assert_eq!(first.patch(&path, json!({ "title": "A" })).await.header("etag"), "\"2\"");
    assert_snapshot!(first.patch(&path, json!({ "title": "B" })).await, @r#"
    412
    {
      "error": true,
      "statusCode": 412,
      "code": "REVISION_MISMATCH",
      "message": "Task 'task' has changed: its revision is 2, not 1",
      "details": {
        "expected": 1,
        "current": 2
      }
    }
    "#);
    assert_eq!(api.with("if-match", "*").patch(&path, json!({ "title": "C" })).await.status, 200);
    assert_snapshot!(api.with("if-match", "soon").patch(&path, json!({ "title": "D" })).await, @r#"
    400
    {
      "error": true,
      "statusCode": 400,
      "code": "VALIDATION_ERROR",
      "message": "If-Match: must be a revision from an ETag",
      "details": {
        "field": "If-Match"
      }
    }
    "#);
}

async fn a_request_may_be_repeated(api: &Api) {
    let project = api.project().await;
    let body = json!({ "projectId": project, "title": "once" });
    let again = api.with("idempotency-key", "k1");
    let first = again.post("/api/tasks", body.clone()).await;
    let second = again.post("/api/tasks", body.clone()).await;
    assert_eq!((second.status, &second.body), (201, &first.body));
    assert_eq!(api.get("/api/tasks").await.ids().len(), 1);
    let other = json!({ "projectId": project, "title": "another" });
    assert_snapshot!(again.post("/api/tasks", other).await.line(), @"422 IDEMPOTENCY_KEY_REUSED this Idempotency-Key was used for another request");
    let session = api.session(&project, &[]).await;
    let theirs = again.with("x-session-id", &session).post("/api/tasks", body.clone()).await;
    assert_eq!(theirs.status, 403, "somebody else's key is another key: {theirs}");
    let endless = api.with("idempotency-key", &"k".repeat(300)).post("/api/tasks", body).await;
    assert_snapshot!(endless.line(), @"400 VALIDATION_ERROR Idempotency-Key: must be 1 to 255 printable ASCII characters");
}

async fn a_line_about_a_task_goes_into_the_timeline(api: &Api) {
    let project = api.project().await;
    let task = api.task(&project, "T").await;
    let session = api.session(&project, &[&task]).await;
    let path = format!("/api/tasks/{task}/timeline");
    assert_snapshot!(api.post(&path, json!({ "message": "reading", "sessionId": session })).await, @r#"
    200
    {
      "success": true,
      "taskId": "task",
      "sessionId": "sess",
      "message": "reading",
      "type": "progress"
    }
    "#);
    assert_snapshot!(api.post(&path, json!({ "sessionId": session })).await.line(), @"400 VALIDATION_ERROR message is required");
    assert_snapshot!(api.post(&path, json!({ "message": "m" })).await.line(), @"400 VALIDATION_ERROR sessionId is required");
    assert_snapshot!(api.post(&path, json!({ "message": "m", "sessionId": "nobody" })).await.line(), @"404 NOT_FOUND Session with id 'nobody' not found");
    let lost = api.post("/api/tasks/nobody/timeline", json!({ "message": "m", "sessionId": session })).await;
    assert_snapshot!(lost.line(), @"404 NOT_FOUND Task with id 'nobody' not found");
    let lines = api.get(&format!("/api/sessions/{session}/timeline?limit=1&cursor=0")).await;
    assert_eq!(lines.body[0]["type"], json!("session_started"));
}
