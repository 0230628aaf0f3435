//! Can a client start a session's agent itself, with the environment it was handed?

use serde_json::{Value as Json, json};

use super::Stage;
use crate::sandbox::Output;

/// A session that no worker starts by itself.
fn session(stage: &Stage, role: &str) -> Json {
    let body = json!({
        "projectId": stage.project, "taskIds": [stage.task("Add a file made.txt that says made")], "agent": "demo",
        "spawnMode": "ui", "role": role,
    });
    stage.server.make("/api/sessions/spawn", &body)["session"].clone()
}

/// Runs a command in that session's environment.
fn within(stage: &Stage, session: &Json, args: &[&str]) -> Output {
    let variables: Vec<(&str, &str)> = session["env"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
        .collect();
    stage.sandbox.maestro_as(&variables, args)
}

#[test]
fn a_client_starts_it_with_the_environment_it_was_handed() {
    let stage = Stage::prompted();
    let session = session(&stage, "worker");
    let id = session["id"].as_str().unwrap();
    let other = stage.spawn(&stage.task("Add a file other.txt that says other"), "");
    stage.wait_for(&other, "completed");
    assert_eq!(stage.start_of(id)["state"], "waiting", "no worker takes what is not for it");
    let wrong = within(&stage, &session, &["orchestrator", "init"]);
    assert_eq!(wrong.code, 1, "{wrong}");
    let begun = within(&stage, &session, &["worker", "init"]);
    assert_eq!(begun.code, 0, "{begun}");
    assert!(begun.stdout().contains("maestro complete Wrote made.txt"), "{begun}");
    assert_eq!(stage.session(id)["status"], "completed");
    assert_eq!(stage.lines("made.txt"), ["made"]);
}

#[test]
fn an_orchestrator_is_started_the_same_way() {
    let stage = Stage::prompted();
    let session = session(&stage, "orchestrator");
    let begun = within(&stage, &session, &["orchestrator", "init"]);
    assert_eq!(begun.code, 0, "{begun}");
    assert_eq!(session["metadata"]["loadedSkills"], json!(["maestro-cli", "maestro-orchestrator"]));
}

#[test]
fn without_a_session_it_says_what_is_missing() {
    let stage = Stage::prompted();
    let nobody = stage.sandbox.maestro("worker init");
    assert_eq!(nobody.code, 1, "{nobody}");
    assert!(nobody.stderr().contains("MAESTRO_SESSION_ID"), "{nobody}");
}
