//! Does an agent report by tools as it does by commands, and hear what changed?

use serde_json::{Value as Json, json};

use super::client::{Client, Era, Forms};
use super::text;
use crate::sandbox::Sandbox;
use crate::served::Prepared;

/// What was said about a task, oldest first.
fn said(sandbox: &Sandbox, task: &str) -> Vec<String> {
    let events = sandbox.maestro_with(&["events", "--task", task, "--json"]).json();
    let events = events.as_array().unwrap().iter();
    events.filter_map(|event| event["payload"]["message"].as_str().map(str::to_owned)).collect()
}

fn work(client: &mut Client, sandbox: &Sandbox, known: &Prepared, task: &Json) {
    let info = client.tool("get_task_info", task);
    assert_eq!(info["structuredContent"]["tasks"][0]["id"], json!(known.task), "{info:#}");
    assert!(text(&info).contains("Cover October in the tests"), "{info:#}");

    let with = |fields: Json| {
        let mut all = task.clone();
        all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        all
    };
    for _ in 0..2 {
        client.tool("report_progress", &with(json!({ "message": "Reading the parser" })));
    }
    let lines = said(sandbox, &known.task);
    assert_eq!(lines.iter().filter(|line| *line == "Reading the parser").count(), 1, "{lines:?}");

    // Somebody wants more meanwhile.
    let parent = known.task.as_str();
    let added = sandbox.maestro_with(&["task", "create", "Also fix the tests", "--parent", parent]);
    assert_eq!(added.code, 0, "{added}");
    let heard = client.tool("report_progress", &with(json!({ "message": "Found it" })));
    assert!(text(&heard).contains("Also fix the tests"), "what changed is told: {heard:#}");
    let again = client.tool("report_progress", &with(json!({ "message": "Mending it" })));
    assert!(!text(&again).contains("Also fix the tests"), "once it was heard it is not told again: {again:#}");

    for word in ["Completed", "Already done"] {
        let done = client.tool("mark_subtask_complete", &with(json!({ "subtask_id": known.subtask })));
        assert!(text(&done).contains(word), "{done:#}");
    }
    let unknown = client.tool("mark_subtask_complete", &with(json!({ "subtaskId": "task_1_aaaaaaaaa" })));
    assert_eq!(unknown["isError"], json!(true), "{unknown:#}");
    assert!(text(&unknown).contains(&known.subtask), "those there are are named: {unknown:#}");

    let early = client.tool("signal_completion", &with(json!({ "message": "All dates compare" })));
    assert_eq!(early["isError"], json!(true), "{early:#}");
    assert!(text(&early).contains("Also fix the tests"), "what is open is named: {early:#}");
    client.tool("mark_subtask_complete", &with(json!({ "subtaskId": added.id() })));
    let ended = client.tool("signal_completion", &with(json!({ "message": "All dates compare" })));
    assert_eq!(ended["structuredContent"]["session_status"], json!("completed"), "{ended:#}");
    let blocked = client.tool("signal_blocker", &with(json!({ "reason": "The tests need a database" })));
    assert_eq!(blocked["isError"], json!(false), "{blocked:#}");
    assert!(said(sandbox, &known.task).contains(&"The tests need a database".to_owned()));
}

#[test]
fn a_worker_reports_by_tools_without_a_server() {
    let sandbox = Sandbox::new();
    let known = Prepared::new(&sandbox);
    let mut client = Client::start(&sandbox, &[("MAESTRO_SESSION_ID", &known.worker)], Era::Earlier, Forms::Unknown);
    work(&mut client, &sandbox, &known, &json!({}));
}

#[test]
fn a_worker_that_knows_only_its_task_reports_through_a_server() {
    let sandbox = Sandbox::new();
    let known = Prepared::new(&sandbox);
    let _server = sandbox.serve();
    let mut client = Client::start(&sandbox, &[("MAESTRO_TASK_ID", &known.task)], Era::Today, Forms::Unknown);
    work(&mut client, &sandbox, &known, &json!({}));
}

#[test]
fn over_http_the_task_is_named_with_each_call() {
    let sandbox = Sandbox::new();
    let known = Prepared::new(&sandbox);
    let server = sandbox.serve();
    let mut client = Client::connect(server.url(), Era::Today, Forms::Unknown);
    let nobody = client.tool("report_progress", &json!({ "message": "Hello" }));
    assert!(text(&nobody).contains("pass `task_id`"), "{nobody:#}");
    work(&mut client, &sandbox, &known, &json!({ "task_id": known.task }));
    let uri = format!("maestro://tasks/{}", known.task);
    let read = client.call("resources/read", json!({ "uri": uri })).unwrap();
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("Cover October in the tests"), "{read:#}");
    let none = client.call("resources/read", json!({ "uri": "maestro://tasks/task_1_aaaaaaaaa" })).unwrap_err();
    assert_eq!(none["code"], json!(-32602));
}

#[test]
fn what_comes_again_or_late_begins_no_other_session() {
    let sandbox = Sandbox::new();
    let known = Prepared::new(&sandbox);
    let mut client = Client::start(&sandbox, &[], Era::Today, Forms::Unknown);
    let other = sandbox.maestro_with(&["task", "create", "--title", "Water the plants"]).id();
    let about = |task: &str, words: Json| -> Json {
        let mut words = words;
        words["task_id"] = json!(task);
        words
    };
    let reason = json!({ "reason": "No water" });
    for _ in 0..2 {
        client.tool("signal_blocker", &about(&other, reason.clone()));
    }
    let blocked = said(&sandbox, &other).iter().filter(|line| *line == "No water").count();
    assert_eq!(blocked, 1, "the same again is heard once");
    client.tool("report_progress", &about(&other, json!({ "message": "Clouds" })));
    let ended = client.tool("signal_completion", &about(&other, json!({ "message": "It rained" })));
    let session = &ended["structuredContent"]["session_id"];
    for words in [json!({ "message": "It rained" }), json!({ "message": "Still" })] {
        let late = client.tool("report_progress", &about(&other, words));
        assert_eq!(late["structuredContent"]["session_id"], *session, "{late:#}");
        assert_eq!(late["structuredContent"]["session_status"], json!("completed"), "{late:#}");
    }
    // The same words about another task are other words.
    for task in [&known.task, &known.subtask] {
        let mut session = Client::start(&sandbox, &[("MAESTRO_SESSION_ID", &known.worker)], Era::Today, Forms::Unknown);
        session.tool("report_progress", &about(task, json!({ "message": "Tests pass" })));
    }
}

#[test]
fn a_server_that_comes_back_elsewhere_is_found_again() {
    let sandbox = Sandbox::new();
    let known = Prepared::new(&sandbox);
    let mut server = sandbox.serve();
    let mut client = Client::start(&sandbox, &[("MAESTRO_TASK_ID", &known.task)], Era::Today, Forms::Unknown);
    client.tool("report_progress", &json!({ "message": "Begun" }));
    server.end();
    client.tool("report_progress", &json!({ "message": "On my own" }));
    let lines = said(&sandbox, &known.task);
    assert!(lines.contains(&"On my own".to_owned()), "{lines:?}");
}
