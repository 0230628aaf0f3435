//! Who may do what.

use axum::http::Method;
use insta::assert_snapshot;
use maestro_server::AccessPolicy;
use serde_json::json;

use crate::world::{Api, both};

both! { a_worker_is_held_to_its_tasks, a_worker_speaks_for_no_other_session, a_name_is_enough_until_there_is_a_token, }

async fn a_worker_is_held_to_its_tasks(api: &Api) {
    let project = api.project().await;
    let (own, foreign) = (api.task(&project, "own").await, api.task(&project, "foreign").await);
    let below = api.subtask(&own, "below").await;
    let session = api.session(&project, &[&own]).await;
    let worker = api.as_session(&session).await;
    let status = async |task: &str, status: &str| {
        let answer = worker.patch(&format!("/api/tasks/{task}"), json!({ "status": status })).await;
        if answer.status == 200 { answer.body["status"].to_string() } else { answer.line() }
    };
    assert_eq!(status(&below, "completed").await, "\"completed\"", "it finishes subtasks itself");
    assert_snapshot!(status(&foreign, "completed").await, @"403 FORBIDDEN task 'task' is not assigned to session 'sess', nor below a task that is");
    assert_eq!(status(&own, "completed").await, "\"completed\"", "all its sessions say so");
    let bound = api.get(&format!("/api/tasks/{own}")).await;
    assert_eq!(bound.body["taskSessionStatuses"], json!({ session.clone(): "completed" }));
    let refused = [
        worker.post("/api/projects", json!({ "name": "mine" })).await,
        worker.delete(&format!("/api/projects/{project}")).await,
        worker.post("/api/tasks", json!({ "projectId": project, "title": "anything" })).await,
        worker.post("/api/tasks", json!({ "parentId": foreign, "title": "below" })).await,
        worker.delete(&format!("/api/tasks/{foreign}")).await,
        worker.delete(&format!("/api/tasks/{own}")).await,
        worker.post(&format!("/api/tasks/{foreign}/reports"), json!({ "taskIds": [foreign], "message": "m" })).await,
        worker.post("/api/sessions", json!({ "projectId": project, "taskIds": [foreign] })).await,
        worker.post(&format!("/api/sessions/{session}/tasks/{foreign}"), json!({})).await,
        worker.patch(&format!("/api/sessions/{session}"), json!({ "taskIds": [foreign] })).await,
        worker.post(&format!("/api/sessions/{session}/token"), json!({})).await,
    ];
    let lines: Vec<String> = refused.iter().map(crate::world::Answer::line).collect();
    assert_snapshot!(lines.join("\n"), @"
    403 FORBIDDEN session 'sess' may not make projects
    403 FORBIDDEN session 'sess' may not remove projects
    403 FORBIDDEN session 'sess' is a worker and may not make tasks that are not below its own
    403 FORBIDDEN task 'task' is not assigned to session 'sess', nor below a task that is
    403 FORBIDDEN task 'task' is not assigned to session 'sess', nor below a task that is
    403 FORBIDDEN a worker may not delete the task it works on
    403 FORBIDDEN task 'task' is not assigned to session 'sess', nor below a task that is
    403 FORBIDDEN session 'sess' is a worker and may not begin sessions
    403 FORBIDDEN session 'sess' is a worker and may not give tasks to sessions
    403 FORBIDDEN session 'sess' is a worker and may not choose its tasks
    403 FORBIDDEN session 'sess' may not make tokens
    ");
    assert_eq!(worker.post("/api/tasks", json!({ "parentId": own, "title": "below" })).await.status, 201);
    assert_eq!(worker.get(&format!("/api/tasks/{foreign}")).await.status, 200, "it may look");
}

async fn a_worker_speaks_for_no_other_session(api: &Api) {
    let project = api.project().await;
    let (one, two) = (api.session(&project, &[]).await, api.session(&project, &[]).await);
    let worker = api.as_session(&one).await;
    let path = format!("/api/sessions/{two}");
    let refused = [
        worker.patch(&path, json!({ "status": "failed" })).await,
        worker.delete(&path).await,
        worker.post(&format!("{path}/timeline"), json!({ "message": "m" })).await,
        worker.post(&format!("{path}/events"), json!({ "type": "e" })).await,
        worker.post(&format!("{path}/reports"), json!({ "message": "m" })).await,
        worker.post(&format!("{path}/cancel"), json!({})).await,
        worker.post(&format!("{path}/lease"), json!({ "duration": 5 })).await,
        worker.post(&format!("{path}/notices/confirm"), json!({ "noticeCursor": 5 })).await,
    ];
    for answer in refused {
        assert_eq!((answer.status, &answer.body["code"]), (403, &json!("FORBIDDEN")), "{answer}");
    }
    assert_eq!(worker.post(&format!("/api/sessions/{one}/reports"), json!({ "message": "m" })).await.status, 200);
    let orchestrator = json!({ "projectId": project, "taskIds": [], "role": "orchestrator" });
    let chief = api.post("/api/sessions", orchestrator).await.id();
    let chief = api.as_session(&chief).await;
    assert_eq!(chief.post(&format!("{path}/cancel"), json!({})).await.status, 200);
}

async fn a_name_is_enough_until_there_is_a_token(api: &Api) {
    let project = api.project().await;
    let session = api.session(&project, &[]).await;
    let named = api.with("x-session-id", &session);
    assert_snapshot!(named.post("/api/projects", json!({ "name": "mine" })).await.line(), @"403 FORBIDDEN session 'sess' may not make projects");
    api.as_session(&session).await;
    assert_snapshot!(named.get("/api/projects").await.line(), @"401 UNAUTHORIZED session 'sess' has a token; the request must send it");
    assert_eq!(named.get("/api/projects").await.header("www-authenticate"), "Bearer");
    assert_snapshot!(api.with("x-session-id", "nobody").get("/api/projects").await.line(), @"404 NOT_FOUND Session with id 'nobody' not found");
    assert_snapshot!(api.with("authorization", "Bearer guess").get("/api/projects").await.line(), @"401 UNAUTHORIZED unknown token");
    assert_snapshot!(api.with("authorization", "Basic eDp5").get("/api/projects").await.line(), @"401 UNAUTHORIZED Authorization: must be `Bearer TOKEN`");
}

#[tokio::test]
async fn a_server_with_a_token_asks_for_it() {
    let api = Api::sqlite_for(AccessPolicy::Token(Some("sesame".to_owned())));
    assert_snapshot!(api.get("/api/projects").await.line(), @"401 UNAUTHORIZED missing token: send `Authorization: Bearer …`");
    assert_eq!(api.get("/health").await.status, 200, "whether it lives is no secret");
    assert_eq!(api.get("/ws").await.status, 401);
    assert_eq!(api.with("authorization", "Bearer sesame ").get("/api/projects").await.status, 200);
    assert_eq!(api.with("authorization", "Bearer sesam").get("/api/projects").await.status, 401);
}

#[tokio::test]
async fn only_our_own_pages_and_names_come_in() {
    let api = Api::sqlite();
    let line = async |name: &str, value: &str| api.with(name, value).get("/api/projects").await.line();
    for host in ["localhost", "localhost:3000", "127.0.0.1:1", "[::1]:3000", "maestro.test", "MAESTRO.test:80"] {
        assert_eq!(line("host", host).await, "200", "{host}");
    }
    assert_snapshot!(line("host", "evil.test").await, @"403 FORBIDDEN this server is not `evil.test`");
    assert_eq!(
        line("host", "localhost.evil.test:3000").await,
        "403 FORBIDDEN this server is not `localhost.evil.test`"
    );
    assert_snapshot!(line("origin", "https://evil.test").await, @"403 FORBIDDEN requests from another origin are not allowed");
    for origin in ["null", "http://localhost:9", "file://", "http://evil.test/localhost"] {
        assert!(line("origin", origin).await.starts_with("403"), "{origin}");
    }
    assert_eq!(line("origin", "http://localhost").await, "200");
    let foreign = api.with("origin", "http://evil.test");
    assert_eq!(foreign.get("/health").await.status, 403);
    assert_eq!(foreign.post("/api/projects", json!({ "name": "x" })).await.status, 403);
}

#[tokio::test]
async fn every_answer_says_what_may_run() {
    let api = Api::sqlite();
    for path in ["/health", "/api/projects", "/api/nothing", "/api/openapi.json"] {
        let answer = api.get(path).await;
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("x-frame-options"), "DENY");
        assert!(answer.header("content-security-policy").starts_with("default-src 'none'; script-src 'self'"));
    }
}

#[tokio::test]
async fn a_person_shows_the_servers_token_once_and_then_sees_the_page() {
    let api = Api::sqlite_for(AccessPolicy::Token(Some("sesame".to_owned())));
    let browser = api.with("accept", "text/html");
    let asked = browser.get("/").await;
    assert_eq!(asked.status, 401);
    assert!(asked.text.contains("Or enter a token of this server."), "{}", asked.text);
    assert_eq!(api.get("/").await.body["code"], "UNAUTHORIZED", "a program is told in its own words");

    let form = browser.with("content-type", "application/x-www-form-urlencoded").with("origin", "http://localhost");
    let send = async |token: &str| form.send(Method::POST, "/page/sign-in", Some(format!("token={token}"))).await;
    let wrong = send("open").await;
    assert_eq!((wrong.status, wrong.headers.get("set-cookie")), (401, None));
    assert!(wrong.text.contains("wrong token"), "{}", wrong.text);
    let made = api.with("authorization", "Bearer sesame").post("/api/tokens", json!({ "name": "ci" })).await;
    let made = made.body["token"].as_str().unwrap().to_owned();
    assert_eq!(send(&made).await.status, 401, "a program's token makes no browser's, which would outlive it");
    let right = send("sesame").await;
    let cookie = right.header("set-cookie");
    assert_eq!((right.status, right.header("location")), (303, "/"));
    let (cookie, attributes) = cookie.split_once("; ").unwrap();
    assert_eq!(attributes, "Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict");
    assert!(cookie.starts_with("maestro_site=mat_") && !cookie.contains("sesame"), "{cookie}");

    let signed_in = browser.with("cookie", &format!("other=1; {cookie}"));
    assert_eq!(signed_in.get("/").await.status, 200);
    assert_eq!(signed_in.get("/api/tasks").await.status, 200);
    assert_eq!(browser.with("cookie", "maestro_site=open").get("/api/tasks").await.status, 401);
    let elsewhere = signed_in.with("origin", "http://evil.test");
    assert_eq!(elsewhere.post("/api/projects", json!({ "name": "x" })).await.status, 403);
}

#[tokio::test]
async fn the_cookie_of_another_server_on_this_machine_locks_nobody_out() {
    let api = Api::sqlite().with("cookie", "maestro_other=of another server; maestro_site=of an earlier one");
    assert_eq!(api.get("/").await.status, 200);
    assert_eq!(api.get("/api/tasks").await.status, 200);
}
