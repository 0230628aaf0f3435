//! What is an agent told and given: its prompt, its environment, the file about its session?

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use insta::assert_snapshot;
use serde_json::{Value as Json, json};

use super::{Follows, Stage, id, sandbox};
use crate::waiting::wait_until;

/// A plain shell as an agent: it keeps what it is told and who it is.
const SHELL: &str = r#"
[shell]
title = "A shell"
inherits = ["OWN"]

[shell.text]
programs = ["sh"]
args = ["-c", "cat > prompt; env -0 > environment; maestro complete 'read it'"]

[patient]
title = "A shell that waits"
inherits = ["OWN"]

[patient.text]
programs = ["sh"]
args = ["-c", "env -0 > some; mv some environment; while [ ! -e go ]; do sleep 0.02; done; maestro complete waited"]
"#;

/// A server that knows that agent. Somebody else's variables are around.
fn stage() -> Stage {
    let mut sandbox = sandbox(Follows::Prompt);
    for (name, value) in [
        ("MAESTRO_TASK_TITLE", "somebody else's"),
        ("MAESTRO_AGENT_COLOUR", "somebody else's"),
        ("MAESTRO_MANIFEST_PATH", "/somebody/else"),
        ("OWN", "kept"),
        ("GITHUB_TOKEN", "a secret"),
    ] {
        sandbox = sandbox.with_variable(name, value);
    }
    sandbox.write("~/.config/maestro/agents.toml", SHELL);
    Stage::of(sandbox, &[])
}

/// What the agent's shell saw of its environment.
fn environment(stage: &Stage) -> BTreeMap<String, String> {
    let text = fs::read_to_string(stage.sandbox.path("environment")).unwrap();
    let pairs = text.split('\0').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// A session of that agent for two tasks, followed to its end.
fn told(stage: &Stage) -> (Vec<String>, Json) {
    let body = json!({
        "projectId": stage.project, "title": "Compare dates as dates", "description": "Tokens fail in October.",
        "initialPrompt": "Begin with a test.", "priority": "high",
    });
    let tasks = vec![id(&stage.server.make("/api/tasks", &body)), stage.task("Tell the others")];
    let body = json!({
        "projectId": stage.project, "taskIds": tasks, "agent": "shell", "prompt": "Keep the signature.",
        "sessionName": "Dates", "strategy": "queue",
    });
    let spawned = stage.server.make("/api/sessions/spawn", &body);
    stage.wait_for(spawned["sessionId"].as_str().unwrap(), "completed");
    (tasks, spawned)
}

#[test]
fn a_plain_command_is_told_everything_and_reports() {
    let stage = stage();
    let (_, spawned) = told(&stage);
    let text = fs::read_to_string(stage.sandbox.path("prompt")).unwrap();
    assert_snapshot!("a_worker_is_told_this", stage.sandbox.normal(&text));
    let session = spawned["sessionId"].as_str().unwrap();
    let start = stage.settled(session);
    assert_eq!(start["outcome"]["kind"], "done", "{start:#}");
    assert_eq!(stage.session(session)["agentId"], "shell");
}

#[test]
fn its_shell_knows_who_it_is_and_nothing_of_anybody_else() {
    let stage = stage();
    let (tasks, spawned) = told(&stage);
    let session = spawned["sessionId"].as_str().unwrap();
    let found = environment(&stage);
    let home = stage.sandbox.path("~/.maestro").display().to_string();
    for (name, value) in [
        ("MAESTRO_SESSION_ID", session),
        ("MAESTRO_PROJECT_ID", &stage.project),
        ("MAESTRO_ROLE", "worker"),
        ("MAESTRO_STRATEGY", "queue"),
        ("MAESTRO_TASK_ID", &tasks[0]),
        ("MAESTRO_TASK_IDS", &tasks.join(",")),
        ("MAESTRO_TASK_TITLE", "Compare dates as dates"),
        ("MAESTRO_TASK_PRIORITY", "high"),
        ("MAESTRO_API_URL", stage.server.url()),
        ("MAESTRO_SERVER_URL", stage.server.url()),
        ("MAESTRO_MANIFEST_PATH", &format!("{home}/sessions/{session}/manifest.json")),
        ("MAESTRO_SOCKET", &format!("{home}/sessions/{session}/maestro.sock")),
        ("MAESTRO_HOME", &home),
        ("DATA_DIR", &home),
        ("SESSION_DIR", &format!("{home}/sessions")),
        ("OWN", "kept"),
    ] {
        assert_eq!(found.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert_eq!((found.get("MAESTRO_AGENT_COLOUR"), found.get("GITHUB_TOKEN")), (None, None));
    assert!(found["PATH"].starts_with(&format!("{home}/bin:")), "{}", found["PATH"]);
    assert!(!found["TMPDIR"].is_empty());
    wait_until("its temporary files are gone", || !std::path::Path::new(&found["TMPDIR"]).exists());
}

#[test]
fn the_file_about_the_session_says_the_same_and_only_its_user_reads_it() {
    let stage = stage();
    let (_, spawned) = told(&stage);
    let path = spawned["manifestPath"].as_str().unwrap();
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut manifest: Json = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    for task in manifest["tasks"].as_array_mut().unwrap() {
        assert!(task["createdAt"].as_str().unwrap().ends_with('Z'), "{task}");
        task["createdAt"] = json!("[MOMENT]");
    }
    assert_snapshot!(stage.sandbox.normal(&format!("{manifest:#}")));
}

#[test]
fn its_token_is_for_its_own_task_only() {
    let stage = stage();
    let (own, other) = (stage.task("Its own"), stage.task("Somebody else's"));
    let body = json!({ "projectId": stage.project, "taskIds": [own], "agent": "patient" });
    let session = stage.server.make("/api/sessions/spawn", &body)["sessionId"].as_str().unwrap().to_owned();
    wait_until("the agent is there", || stage.sandbox.path("environment").exists());
    let token = environment(&stage)["MAESTRO_SESSION_TOKEN"].clone();
    let say = |task: &str, kind: &str| {
        let body = json!({ "kind": kind, "message": "still there" });
        stage.server.ask("POST", &format!("/api/tasks/{task}/reports"), Some(&token), Some(&body)).0
    };
    assert_eq!((say(&own, "progress"), say(&other, "progress"), say(&other, "complete")), (200, 403, 403));
    let part = json!({ "projectId": stage.project, "title": "A part of it", "parentId": own });
    let part = id(&stage.server.make("/api/tasks", &part));
    assert_eq!(say(&part, "complete"), 200);
    assert_eq!(stage.server.get(&format!("/api/tasks/{part}"))["status"], "completed");
    assert_eq!(stage.session(&session)["status"], "working", "a part is not the whole");
    stage.sandbox.write("go", "");
    stage.wait_for(&session, "completed");
    stage.settled(&session);
    assert_eq!(say(&own, "progress"), 401, "its token has ended with it");
    assert_eq!(stage.session(&session)["status"], "completed", "late words bring nobody back");
    assert_eq!(stage.server.get(&format!("/api/tasks/{other}"))["status"], "todo");
}
