//! Requests that make no sense.

use axum::http::Method;
use insta::assert_snapshot;
use serde_json::json;

use crate::world::{Api, both};

both! {
    what_is_no_json_is_refused,
    what_is_too_large_is_refused,
    ids_are_no_paths,
    a_nul_is_refused_everywhere,
    what_is_not_there_is_said,
    odd_text_comes_back_as_it_was,
}

async fn what_is_no_json_is_refused(api: &Api) {
    let post = async |text: &str| api.send(Method::POST, "/api/projects", Some(text.to_owned())).await.line();
    assert_snapshot!(post("{").await, @"400 VALIDATION_ERROR the body is not valid JSON: EOF while parsing an object at line 1 column 1");
    assert_snapshot!(post("[]").await, @"400 VALIDATION_ERROR invalid type: sequence, expected an object at line 1 column 0");
    assert_snapshot!(post("{\"name\":\"a\"} x").await, @"400 VALIDATION_ERROR the body is not valid JSON: trailing characters at line 1 column 14");
    assert_snapshot!(post("{\"name\":\"a\",\"name\":\"b\"}").await, @"400 VALIDATION_ERROR duplicate field `name` at line 1 column 18");
    assert_snapshot!(post("{\"name\":\"\\ud800\"}").await, @"400 VALIDATION_ERROR the body is not valid JSON: unexpected end of hex escape at line 1 column 16");
    assert_snapshot!(post(&"[".repeat(500)).await, @"400 VALIDATION_ERROR invalid type: sequence, expected an object at line 1 column 0");
    let listed = api.send(Method::POST, "/api/projects", Some("[\"shop\"]".to_owned())).await;
    assert_snapshot!(listed.line(), @"400 VALIDATION_ERROR invalid type: sequence, expected an object at line 1 column 0");
    let plain = api.with("content-type", "text/plain");
    let answer = plain.send(Method::POST, "/api/projects", Some("{\"name\":\"a\"}".to_owned())).await;
    assert_snapshot!(answer.line(), @"415 UNSUPPORTED_MEDIA_TYPE the body must be JSON with the header `Content-Type: application/json`");
    let with_charset = api.with("content-type", "application/json; charset=utf-8");
    assert_eq!(with_charset.post("/api/projects", json!({ "name": "a" })).await.status, 201);
}

async fn what_is_too_large_is_refused(api: &Api) {
    let answer = api.post("/api/projects", json!({ "name": "x".repeat(1024 * 1024) })).await;
    assert_snapshot!(answer.line(), @"413 PAYLOAD_TOO_LARGE the body is larger than 1 MiB");
    assert_eq!(api.post("/api/projects", json!({ "name": "x".repeat(1000 * 1000) })).await.status, 201);
}

async fn ids_are_no_paths(api: &Api) {
    for id in ["..%2F..%2Fetc%2Fpasswd", "a%20b", "a.json", "%2e%2e", "%00", "%ff", &"x".repeat(65)] {
        for place in ["projects", "tasks", "sessions", "handoffs"] {
            let answer = api.get(&format!("/api/{place}/{id}")).await;
            assert_eq!(answer.status, 400, "{place} {id}: {answer}");
        }
    }
    assert_snapshot!(api.get("/api/tasks/..%2F..%2Fetc").await, @r#"
    400
    {
      "error": true,
      "statusCode": 400,
      "code": "VALIDATION_ERROR",
      "message": "id: an id is 1 to 64 letters, digits, `_` or `-`",
      "details": {
        "field": "id"
      }
    }
    "#);
}

async fn a_nul_is_refused_everywhere(api: &Api) {
    let project = api.project().await;
    let session = api.session(&project, &[]).await;
    assert_snapshot!(api.post("/api/projects", json!({ "name": "a\0b" })).await.line(), @"400 VALIDATION_ERROR the body holds a NUL character");
    let task = json!({ "projectId": project, "title": "t", "description": "\0" });
    assert_eq!(api.post("/api/tasks", task).await.status, 400);
    let line = json!({ "message": "m", "metadata": { "deep": ["\0"] } });
    assert_eq!(api.post(&format!("/api/sessions/{session}/timeline"), line).await.status, 400);
    assert_snapshot!(api.get("/api/handoffs?to=%00").await.line(), @"400 VALIDATION_ERROR the query holds a NUL character");
    let kept = api.post("/api/projects", json!({ "name": "\\u0000" })).await;
    assert_eq!((kept.status, &kept.body["name"]), (201, &json!("\\u0000")), "these are six characters");
}

async fn what_is_not_there_is_said(api: &Api) {
    assert_snapshot!(api.get("/api/nothing").await, @r#"
    404
    {
      "error": true,
      "statusCode": 404,
      "code": "NOT_FOUND",
      "message": "there is nothing at /api/nothing"
    }
    "#);
    assert_snapshot!(api.delete("/api/projects").await, @r#"
    405
    {
      "error": true,
      "statusCode": 405,
      "code": "METHOD_NOT_ALLOWED",
      "message": "/api/projects cannot be done with DELETE"
    }
    "#);
    assert_eq!(api.delete("/api/projects").await.header("allow"), "GET,HEAD,POST");
    assert_eq!(api.get("/ws").await.status, 404, "only a WebSocket");
    assert_eq!(api.get("/ws").await.status, 404);
}

async fn odd_text_comes_back_as_it_was(api: &Api) {
    for name in ["'; DROP TABLE projects; --", "\u{202e}txt", "👩‍👩‍👧 <script>", "\\ \" \u{1} \u{fffd}", "%s {} $1 ?"]
    {
        let made = api.post("/api/projects", json!({ "name": name })).await;
        assert_eq!((made.status, &made.body["name"]), (201, &json!(name)));
    }
}
