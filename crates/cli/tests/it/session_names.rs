//! `maestro session suggest-name`: names that no living session has.

use insta::assert_snapshot;
use serde_json::json;

use crate::sandbox::Sandbox;
use crate::served::Server;

#[test]
fn names_come_with_a_line_of_background() {
    assert_snapshot!(Sandbox::new().maestro("session suggest-name reviewer"), @"
    $ maestro session suggest-name reviewer
    adele         Adele Goldberg: brought Smalltalk and its windows to people who were not programmers.
    vint          Vint Cerf: with Bob Kahn made networks of any kind speak as one.
    shafi         Shafi Goldwasser: proved that one can prove without telling.
    ");
    assert_snapshot!(Sandbox::new().maestro("session suggest-name reviewer --count 0"), @"
    $ maestro session suggest-name reviewer --count 0
    --- stderr
    error: invalid value `0` for `--count <N>`: expected 1 to 50
    hint: run `maestro session suggest-name --help` for its arguments and options
    --- exit 1
    ");
}

#[test]
fn the_names_of_living_sessions_are_not_suggested_again() {
    let sandbox = Sandbox::new();
    let names = |sandbox: &Sandbox| {
        let suggested = sandbox.maestro("session suggest-name worker --count 2 --json").json();
        suggested.as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let first = names(&sandbox);
    let server = Server::start(&sandbox, &[]);
    let project = server.make("/api/projects", &json!({ "name": "app" }));
    let task = server.make("/api/tasks", &json!({ "projectId": project["id"], "title": "Do it" }));
    let body = json!({ "projectId": project["id"], "taskIds": [task["id"]], "name": first[0].to_uppercase() });
    let session = server.make("/api/sessions", &body);
    assert_eq!(names(&sandbox)[0], first[1]);
    server.make(&format!("/api/sessions/{}/cancel", session["id"].as_str().unwrap()), &json!({}));
    assert_eq!(names(&sandbox), first, "a name is free again when its session has ended");
}
