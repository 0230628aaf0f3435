//! `auth = "required"`: a server that asks everybody for a token.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;

use crate::sandbox::Sandbox;
use crate::served::{Prepared, Server};

fn careful() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("~/.config/maestro/config.toml", "auth = \"required\"\n");
    sandbox
}

#[test]
fn without_its_token_a_server_that_requires_one_answers_401() {
    let sandbox = careful();
    let server = Server::start(&sandbox, &[]);
    assert_eq!(server.ask("GET", "/api/projects", None, None).0, 401);
    assert_eq!(server.ask("GET", "/api/projects", Some("maestro_guess"), None).0, 401);
    assert_eq!(server.ask("GET", "/health", None, None).0, 200);
    let path = sandbox.path("~/.maestro/run/token");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let token = fs::read_to_string(path).unwrap();
    assert_eq!(server.ask("GET", "/api/projects", Some(token.trim()), None).0, 200);
}

#[test]
fn commands_on_the_same_machine_find_the_token() {
    let sandbox = careful();
    let server = Server::start(&sandbox, &[]);
    assert_eq!(sandbox.maestro("events --json").code, 0);
    assert_eq!(sandbox.maestro(&format!("events --json --server {}", server.url())).code, 0, "it is the same server");
    let token = fs::read(sandbox.path("~/.maestro/run/token")).unwrap();
    drop(server);
    let again = Server::start(&sandbox, &[]);
    assert_eq!(fs::read(sandbox.path("~/.maestro/run/token")).unwrap(), token, "it is used again");
    assert_eq!(again.file["kept_token"], true);
    fs::remove_file(sandbox.path("~/.maestro/run/token")).unwrap();
    let refused = sandbox.maestro("events");
    assert_snapshot!(refused, @"
    $ maestro events
    --- stderr
    error: missing token: send `Authorization: Bearer …`
    hint: set MAESTRO_AUTH_TOKEN to the server's token, or MAESTRO_SESSION_TOKEN to this session's
    --- exit 4
    ");
}

#[test]
fn a_session_is_still_known_by_its_name_behind_the_servers_token() {
    let sandbox = Sandbox::new();
    let prepared = Prepared::new(&sandbox);
    sandbox.write("~/.config/maestro/config.toml", "auth = \"required\"\n");
    let _server = Server::start(&sandbox, &[]);
    let sandbox = sandbox.with_variable("MAESTRO_SESSION_ID", &prepared.worker);
    let accepted = sandbox.maestro_with(&["handoff", "accept", &prepared.handoff, "--json"]).json();
    assert_eq!(accepted["acceptedBy"], prepared.worker.as_str());
    assert_eq!(sandbox.maestro("update").code, 0);
}

#[test]
fn a_token_left_behind_is_not_shown_to_a_server_that_wants_none() {
    let sandbox = careful();
    drop(Server::start(&sandbox, &[]));
    let server = Server::start(&sandbox, &["--set", "auth=local"]);
    assert_eq!(server.file["kept_token"], false);
    assert_eq!(sandbox.maestro("events").code, 0);
}

#[test]
fn a_project_cannot_open_the_server() {
    let sandbox = careful();
    sandbox.write(".maestro/config.toml", "auth = \"local\"\n");
    assert_snapshot!(sandbox.maestro("up --port 0"), @"
    $ maestro up --port 0
    --- stderr
    error: the configuration has errors
      because [PROJECT]/.maestro/config.toml:1:8: a project may not set `auth` (set it in your own config.toml: it holds for everything that is stored, of all projects)
    hint: run `maestro doctor` for all problems, `maestro config show --origin` for every setting
    --- exit 1
    ");
}

#[test]
fn the_settings_decide_what_a_finished_task_becomes() {
    use serde_json::json;
    let sandbox = Sandbox::new();
    let server = Server::start(&sandbox, &["--set", "task_when_done=in_review"]);
    let project = server.make("/api/projects", &json!({ "name": "app", "workingDir": "/srv/app" }));
    let task = server.make("/api/tasks", &json!({ "projectId": project["id"], "title": "Do it" }));
    let session = server.make("/api/sessions", &json!({ "projectId": project["id"], "taskIds": [task["id"]] }));
    let reports = format!("/api/sessions/{}/reports", session["id"].as_str().unwrap());
    server.make(&reports, &json!({ "kind": "complete", "message": "done" }));
    let path = format!("/api/tasks/{}", task["id"].as_str().unwrap());
    assert_eq!(server.ask("GET", &path, None, None).1["status"], "in_review");
}
