//! Do commands say what is so: events, ids, what waits, ports and settings?

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::sandbox::{Sandbox, is_short_for};
use crate::waiting::wait_until;

/// The short form of an id, as long as any test needs it.
fn short(id: &str) -> &str {
    let random = maestro_core::short_id::random_part(id).unwrap();
    &random[..8.min(random.len())]
}

#[test]
fn the_last_hundred_events_of_the_project_are_shown_newest_last_and_the_rest_is_named() {
    let sandbox = Sandbox::new();
    let server = sandbox.serve();
    let elsewhere = server.make("/api/projects", &json!({ "name": "other", "workingDir": "/elsewhere" }));
    let other = server.make("/api/tasks", &json!({ "projectId": elsewhere["id"], "title": "Not here" }));
    assert_eq!(sandbox.maestro("project create shop").code, 0);
    let project = server.get("/api/projects").as_array().unwrap()[1]["id"].clone();
    for number in 1..=120 {
        server.make("/api/tasks", &json!({ "projectId": project, "title": format!("Task {number}") }));
    }
    let shown = sandbox.maestro("events");
    let text = shown.stdout();
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("task:created")).collect();
    assert_eq!(lines.len(), 100, "{text}");
    assert!(lines[0].ends_with("Task 21") && lines[99].ends_with("Task 120"), "{text}");
    assert!(text.starts_with("20") && text.lines().next().unwrap().ends_with(" (UTC)"), "{text}");
    assert!(shown.stderr().starts_with("Only the last 100 events are shown; `--since 0` shows all"), "{shown}");
    let all = sandbox.maestro("events --since 0 --all").stdout();
    assert!(!text.contains("Not here") && all.contains("Not here"), "{all}");
    let id = other["id"].as_str().unwrap();
    let line = all.lines().find(|line| line.contains("Not here")).unwrap();
    assert!(line.split_whitespace().any(|word| is_short_for(word, id)) && !line.contains(id), "{line}");
}

#[test]
fn every_command_understands_short_ids() {
    let sandbox = Sandbox::new();
    let _server = sandbox.serve();
    assert_eq!(sandbox.maestro("project create shop").code, 0);
    let task = sandbox.maestro_with(&["task", "create", "Fix it", "--json"]).json()["id"].as_str().unwrap().to_owned();
    assert_eq!(sandbox.maestro(&format!("task get {} --json", short(&task))).json()["id"], task.as_str());
    let parts = sandbox.maestro_with(&["task", "create", "A part", "--parent", short(&task), "--json"]).json();
    assert_eq!(parts["parentId"], task.as_str());
    let variables = [("MAESTRO_TASK_ID", task.as_str())];
    let session = sandbox.maestro_as(&variables, &["update", "at it", "--json"]).json()["sessionId"].clone();
    let session = session.as_str().unwrap();
    for words in ["show {}", "session get {}", "say {} hello", "events --session {}", "session pause {}"] {
        let output = sandbox.maestro(&words.replace("{}", short(session)));
        assert_eq!(output.code, 0, "{output}");
    }
    let unknown = sandbox.maestro("workflow log zzzz");
    assert_eq!(unknown.code, 2, "{unknown}");
    assert!(unknown.stderr().contains("unknown run `zzzz`"), "{unknown}");
    let none = sandbox.maestro("task get zzzzzzzz");
    assert_eq!(none.code, 2, "{none}");
}

#[test]
fn what_waits_is_the_same_for_every_command_and_is_answered_by_its_short_id() {
    let sandbox = Sandbox::new();
    let server = sandbox.serve();
    assert_eq!(sandbox.maestro("project create shop").code, 0);
    let task = sandbox.maestro_with(&["task", "create", "Fix it", "--json"]).json()["id"].as_str().unwrap().to_owned();
    let variables = [("MAESTRO_TASK_ID", task.as_str())];
    assert_eq!(sandbox.maestro_as(&variables, &["blocked", "No key"]).code, 0);
    let waiting = server.get("/api/waiting");
    assert_eq!(waiting.as_array().unwrap().len(), 1, "{waiting:#}");
    assert_eq!(sandbox.maestro("--json").json()["waiting"], waiting);
    assert_eq!(sandbox.maestro("session answer --json").json(), waiting);
    let home = sandbox.maestro("").stdout();
    assert!(home.contains("question: Session for Fix it: No key (`maestro session answer "), "{home}");
    let listed = sandbox.maestro("session answer").stdout();
    let session = waiting[0]["sessionId"].as_str().unwrap();
    assert!(is_short_for(listed.split_whitespace().next().unwrap(), session), "{listed}");
    let answered = sandbox.maestro_with(&["session", "answer", short(session), "It is in the safe"]);
    assert_eq!(answered.code, 0, "{answered}");
    assert_eq!(server.get("/api/waiting"), json!([]));
    let told = sandbox.maestro_as(&variables, &["update", "looking"]).stdout();
    assert!(told.contains("It is in the safe"), "{told}");
}

#[test]
fn a_server_says_when_its_usual_port_is_taken() {
    let sandbox = Sandbox::new();
    let mut said = None;
    wait_until("a server finds the port taken", || {
        // Where this fails, another program has the port already, which serves as well as long as it keeps it.
        let held = TcpListener::bind(("127.0.0.1", 3000));
        let mut child = sandbox.command().arg("up").stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let address = lines.next().expect("the server says where it is");
        if !address.ends_with(":3000") {
            said = lines.find(|line| line.starts_with("Port 3000 "));
        }
        assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
        child.wait().unwrap();
        drop(held);
        said.is_some()
    });
    assert_eq!(said.as_deref(), Some("Port 3000 was taken by another program; pass --port to choose one."));
}

#[test]
fn a_word_for_a_list_is_a_list_of_one_and_what_is_refused_is_named() {
    let sandbox = Sandbox::new();
    let set = sandbox.maestro("config set verify true");
    assert_eq!(set.stdout(), "verify = [\"true\"] in ~/.config/maestro/config.toml\n", "{set}");
    assert_eq!(sandbox.maestro("config get verify --json").json(), json!(["true"]));
    let refused = sandbox.maestro("config set skills_enabled maybe");
    assert_eq!(refused.code, 1, "{refused}");
    assert!(refused.stderr().contains("`skills_enabled = \"maybe\"` was not written"), "{refused}");
}
