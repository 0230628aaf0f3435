//! Does an agent that is started do its task, and can everybody see what it did?

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value as Json, json};

use super::{Follows, Stage, id, sandbox};
use crate::sandbox::Sandbox;
use crate::served::Server;
use crate::waiting::wait_until;

fn kinds(transcript: &[Json]) -> Vec<&str> {
    transcript.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// Has a file added in this way, and looks at everything that came of it.
fn adds_a_file(stage: &Stage, way: &str) -> String {
    let task = stage.task("Add a file greeting.txt that says Good morning");
    let session = stage.spawn(&task, way);
    stage.wait_for(&session, "completed");
    let start = stage.settled(&session);
    assert_eq!(start["outcome"]["kind"], "done", "{start:#}");
    assert_eq!(start["attempt"], 1);
    assert_eq!(fs::read_to_string(stage.sandbox.path("greeting.txt")).unwrap(), "Good morning\n");
    assert_eq!(stage.server.get(&format!("/api/tasks/{task}"))["status"], "completed");
    let timeline = stage.timeline(&session);
    let words: Vec<&str> = timeline.iter().map(|(_, message)| message.as_str()).collect();
    assert_eq!(
        words[words.len() - 3..],
        ["Write greeting.txt", "Wrote greeting.txt", "The agent is done"],
        "{timeline:?}"
    );
    session
}

#[test]
fn a_task_is_done_and_seen_from_everywhere() {
    let stage = Stage::prompted();
    let session = adds_a_file(&stage, "");
    let shown = stage.sandbox.maestro(&format!("show {session} --transcript"));
    assert_snapshot!(shown);
    let transcript = stage.transcript(&session);
    let kinds = kinds(&transcript);
    assert_eq!((kinds[0], kinds[kinds.len() - 1]), ("agent:began", "agent:ended"), "{kinds:?}");
    assert!(kinds.contains(&"agent:changed"), "{kinds:?}");
    let skills = stage.sandbox.maestro(&format!("show {session} --skills")).stdout();
    assert!(skills.contains("skills requested: none"), "{skills}");
    assert!(skills.contains("skills available: maestro-cli, maestro-worker"), "{skills}");
    assert!(!skills.contains("handed"), "its prompt says where to read them: {skills}");
}

#[test]
fn an_agent_that_speaks_the_protocol_does_it_as_well() {
    let stage = Stage::prompted();
    let session = adds_a_file(&stage, "--driver acp");
    let transcript = stage.transcript(&session);
    assert!(kinds(&transcript).contains(&"agent:tool_started"), "{transcript:?}");
}

#[test]
fn who_follows_sees_it_and_hears_by_the_exit_code_how_it_went() {
    let stage = Stage::prompted();
    let task = stage.task("Add a file greeting.txt that says Good morning");
    let followed = stage.sandbox.maestro(&format!("session spawn --task {task} --agent demo --follow"));
    assert_snapshot!(followed);
}

#[test]
fn without_a_server_it_waits_until_there_is_one() {
    let sandbox: Sandbox = sandbox(Follows::Prompt);
    let project = sandbox.maestro("project create shop -d . --json").json();
    let task =
        sandbox.maestro_with(&["task", "create", "Add a file late.txt that says late", "--project", &id(&project)]);
    let spawned = sandbox.maestro(&format!("session spawn --task {} --agent demo", task.id()));
    assert!(spawned.stdout().contains("run `maestro up` to start its agent"), "{spawned}");
    assert!(!sandbox.path("late.txt").exists());
    let server: Server = sandbox.serve();
    let path = format!("/api/sessions/{}", spawned.id());
    wait_until("it is done", || server.get(&path)["status"] == json!("completed"));
    assert!(sandbox.path("late.txt").exists());
}
