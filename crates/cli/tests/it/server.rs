//! One server on one file, and what a glance at it tells.

use serde_json::json;

use crate::sandbox::Sandbox;

#[test]
fn a_second_server_on_the_same_file_is_refused() {
    let sandbox = Sandbox::new();
    let server = sandbox.serve();
    let second = sandbox.maestro("up --port 0");
    assert_eq!(second.code, 1, "{second}");
    assert!(second.stderr().contains(&format!("already uses this database: {}", server.url())), "{second}");
    drop(server);
    drop(sandbox.serve());
}

#[test]
fn a_glance_tells_what_waits_and_where_the_server_is() {
    let sandbox = Sandbox::new();
    let server = sandbox.serve();
    let project = server.make("/api/projects", &json!({ "name": "shop" }))["id"].clone();
    let task = server.make("/api/tasks", &json!({ "projectId": project, "title": "Fix the login" }))["id"].clone();
    server.make(
        &format!("/api/tasks/{}/reports", task.as_str().unwrap()),
        &json!({ "kind": "needs-input", "message": "which colour?" }),
    );
    let glance = sandbox.maestro("--json").json();
    assert_eq!(glance["server"], server.url());
    assert_eq!(glance["waiting"][0]["text"], "which colour?");
    assert!(sandbox.maestro("").stdout().contains("question: Session for Fix the login: which colour?"));
}
