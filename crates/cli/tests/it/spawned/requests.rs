//! What does `POST /api/sessions/spawn` answer, well and badly?

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value as Json, json};

use super::{Stage, id};
use crate::served::{TOKEN, request_with};

/// What is answered: the status and the code.
fn answer(stage: &Stage, body: &Json) -> (u16, String) {
    let (status, answer) = stage.server.ask("POST", "/api/sessions/spawn", None, Some(body));
    (status, answer["code"].as_str().unwrap_or_else(|| panic!("it was not refused: {answer:#}")).to_owned())
}

#[test]
fn each_mistake_has_its_code_and_the_first_one_counts() {
    let stage = Stage::of(super::sandbox(super::Follows::Prompt), &["--agents", "0"]);
    let task = stage.task("Do it");
    // Everything is wrong at first; then one thing after the other is put right.
    let mut body = json!({
        "projectId": "", "taskIds": [], "spawnSource": "moon", "role": "king", "strategy": "luck",
    });
    let mut steps = vec![answer(&stage, &body)];
    for (field, value) in [
        ("projectId", json!("proj_1738713600000_z00000000")),
        ("taskIds", json!(["task_1738713600000_z00000000"])),
        ("spawnSource", json!("session")),
        ("sessionId", json!("sess_1738713600000_z00000000")),
        ("spawnSource", json!("ui")),
        ("role", json!("worker")),
        ("taskIds", json!([task])),
        ("projectId", json!(stage.project)),
    ] {
        body[field] = value;
        steps.push(answer(&stage, &body));
    }
    let known = [
        (400, "missing_project_id"),
        (400, "invalid_task_ids"),
        (400, "invalid_spawn_source"),
        (400, "missing_session_id"),
        (404, "parent_session_not_found"),
        (400, "invalid_role"),
        (404, "task_not_found"),
        (404, "project_not_found"),
        (400, "invalid_strategy"),
    ];
    assert_eq!(steps, known.map(|(status, code)| (status, code.to_owned())));
    body["strategy"] = json!("simple");
    for (field, value) in [
        ("driver", json!("shouting")),
        ("permission", json!("whatever")),
        ("budget", json!({ "tokens": "many" })),
        ("budget", json!({ "token": 5 })),
        ("spawnMode", json!("rocket")),
    ] {
        let mut wrong = body.clone();
        wrong[field] = value;
        let (status, answer) = stage.server.ask("POST", "/api/sessions/spawn", None, Some(&wrong));
        assert_eq!((status, &answer["details"]["field"]), (400, &json!(field)), "{answer:#}");
    }
    assert_eq!(stage.server.get("/api/sessions"), json!([]), "what is refused leaves nothing behind");
}

#[test]
fn a_task_that_is_not_there_is_named() {
    let stage = Stage::of(super::sandbox(super::Follows::Prompt), &["--agents", "0"]);
    let body = json!({ "projectId": stage.project, "taskIds": [stage.task("Do it"), "task_1_nonesuch"] });
    let (_, answer) = stage.server.ask("POST", "/api/sessions/spawn", None, Some(&body));
    assert_eq!(answer["details"], json!({ "taskId": "task_1_nonesuch" }), "{answer:#}");
}

#[test]
fn a_task_of_another_project_is_refused_by_a_rule() {
    let stage = Stage::of(super::sandbox(super::Follows::Prompt), &["--agents", "0"]);
    let other = id(&stage.server.make("/api/projects", &json!({ "name": "other", "workingDir": "/srv/other" })));
    let body = json!({ "projectId": other, "taskIds": [stage.task("Do it")] });
    assert_eq!(answer(&stage, &body), (422, "BUSINESS_RULE_ERROR".to_owned()));
}

#[test]
fn a_file_that_cannot_be_written_is_told_and_the_session_has_failed() {
    let sandbox = super::sandbox(super::Follows::Prompt);
    sandbox.write("~/no-directory", "");
    let place = sandbox.path("~/no-directory/sessions").display().to_string();
    let stage = Stage::of(sandbox.with_variable("SESSION_DIR", &place), &["--agents", "0"]);
    let body = json!({ "projectId": stage.project, "taskIds": [stage.task("Do it")] });
    assert_eq!(answer(&stage, &body), (500, "manifest_generation_failed".to_owned()));
    assert_eq!(stage.server.get("/api/sessions")[0]["status"], "failed");
}

#[test]
fn the_answer_is_the_originals_and_more() {
    let stage = Stage::of(super::sandbox(super::Follows::Prompt), &["--agents", "0"]);
    let body = json!({
        "projectId": stage.project, "taskIds": [stage.task("Do it")], "skills": ["nonesuch"],
        "context": { "reason": "it is due" }, "agent": "demo",
    });
    let (status, spawned) = stage.server.ask("POST", "/api/sessions/spawn", None, Some(&body));
    assert_eq!(status, 201, "{spawned:#}");
    let mut shown = spawned.clone();
    shown["session"]["env"]["MAESTRO_BIN"] = json!("[MAESTRO]");
    let text = serde_json::to_string(&shown).unwrap().replace(stage.server.url(), "[SERVER]");
    let normal: Json = serde_json::from_str(&stage.sandbox.normal(&text)).unwrap();
    assert_snapshot!(format!("{normal:#}"));
    assert_eq!(id(&spawned["session"]), spawned["sessionId"].as_str().unwrap());
}

#[test]
fn the_same_request_again_starts_nothing_more() {
    let stage = Stage::prompted();
    let task = stage.task("Append once to log");
    let body = json!({ "projectId": stage.project, "taskIds": [task], "agent": "demo" });
    let send = || {
        let key = format!("Idempotency-Key: one-and-only\r\nAuthorization: Bearer {TOKEN}\r\n");
        request_with(stage.server.url(), "POST", "/api/sessions/spawn", &key, Some(&body)).unwrap().1
    };
    let (first, second) = (send(), send());
    assert_eq!(first["sessionId"], second["sessionId"], "{second:#}");
    stage.wait_for(first["sessionId"].as_str().unwrap(), "completed");
    assert_eq!(stage.server.get("/api/sessions").as_array().unwrap().len(), 1);
    assert_eq!(stage.lines("log"), ["once"]);
}

#[test]
fn the_file_about_a_session_is_written_by_the_request_and_not_again() {
    let mut stage = Stage::of(super::sandbox(super::Follows::Prompt), &["--agents", "0"]);
    let body = json!({ "projectId": stage.project, "taskIds": [stage.task("Append once to log")], "agent": "demo" });
    let (status, spawned) = stage.server.ask("POST", "/api/sessions/spawn", None, Some(&body));
    assert_eq!(status, 201, "{spawned:#}");
    let manifest = spawned["manifestPath"].as_str().unwrap();
    let written = fs::read_to_string(manifest).unwrap();
    // Another text that says the same shows whether it is written a second time.
    let marked = format!("{written}\n\n");
    fs::write(manifest, &marked).unwrap();
    stage.server.end();
    stage.server = stage.sandbox.serve();
    stage.wait_for(spawned["sessionId"].as_str().unwrap(), "completed");
    assert_eq!(stage.lines("log"), ["once"]);
    assert_eq!(fs::read_to_string(manifest).unwrap(), marked);
}
