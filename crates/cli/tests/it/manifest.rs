//! `maestro manifest generate`: what a session starts with.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value as Json, json};

use crate::sandbox::Sandbox;
use crate::served::Prepared;

fn generate(sandbox: &Sandbox, prepared: &Prepared, more: &[&str]) -> (i32, Json) {
    let tasks = format!("{},{}", prepared.task, prepared.subtask);
    let mut args = vec!["manifest", "generate", "--role", "worker", "--project-id", &prepared.project];
    args.extend(["--task-ids", &tasks, "--output", "out/manifest.json"]);
    args.extend(more);
    let output = sandbox.maestro_with(&args);
    let text = fs::read_to_string(sandbox.path("out/manifest.json")).unwrap_or_default();
    (output.code, serde_json::from_str(&text).unwrap_or(Json::Null))
}

#[test]
fn a_manifest_has_everything_the_format_requires() {
    let sandbox = Sandbox::new();
    let prepared = Prepared::new(&sandbox);
    let (code, manifest) = generate(&sandbox, &prepared, &[]);
    assert_eq!(code, 0);
    let created = manifest["tasks"][0]["createdAt"].as_str().unwrap();
    assert!(created.len() == 24 && created.ends_with('Z') && created.as_bytes()[10] == b'T', "{created}");
    assert_eq!(manifest["manifestVersion"], "1.0");
    assert_eq!((&manifest["role"], &manifest["strategy"]), (&json!("worker"), &json!("simple")));
    assert_eq!(
        manifest["session"],
        json!({
            "model": "opus",
            "permissionMode": "acceptEdits",
            "thinkingMode": "auto",
            "workingDirectory": sandbox.project().to_string_lossy(),
        })
    );
    assert_eq!(manifest["context"], json!({ "custom": { "taskIds": [prepared.task, prepared.subtask] } }));
    assert_eq!(manifest["skills"], json!(["maestro-worker"]));
    let task = &manifest["tasks"][1];
    assert_eq!(task["acceptanceCriteria"], json!(["Task completion as described"]));
    assert_eq!((&task["id"], &task["parentId"]), (&json!(prepared.subtask), &json!(prepared.task)));
    let known = [
        "id",
        "title",
        "description",
        "acceptanceCriteria",
        "projectId",
        "createdAt",
        "parentId",
        "dependencies",
        "priority",
        "status",
        "sessionIds",
    ];
    assert!(task.as_object().unwrap().keys().all(|key| known.contains(&key.as_str())), "{task}");
}

#[test]
fn skills_and_strategy_are_as_asked_for() {
    let sandbox = Sandbox::new();
    let prepared = Prepared::new(&sandbox);
    let (_, manifest) = generate(&sandbox, &prepared, &["--skills", "pdf,maestro-worker", "--strategy", "tree"]);
    assert_eq!((&manifest["skills"], &manifest["strategy"]), (&json!(["pdf", "maestro-worker"]), &json!("tree")));
    let (_, manifest) = generate(&sandbox, &prepared, &["--skills", ""]);
    assert_eq!(manifest["skills"], json!([]), "an empty list is empty");
}

#[test]
fn unknown_projects_tasks_and_roles_are_refused() {
    let sandbox = Sandbox::new();
    let absent = "manifest generate --project-id proj_1_aaaaaaaaa --task-ids task_1_aaaaaaaaa --output m.json";
    assert_snapshot!(sandbox.maestro(&format!("{absent} --role worker")), @"
    $ maestro manifest generate --project-id proj_1_aaaaaaaaa --task-ids task_1_aaaaaaaaa --output m.json --role worker
    --- stderr
    error: Project with id 'proj_1_aaaaaaaaa' not found
    hint: run `maestro project list` for all projects
    --- exit 2
    ");
    assert_snapshot!(sandbox.maestro(&format!("{absent} --role boss")), @r#"
    $ maestro manifest generate --project-id proj_1_aaaaaaaaa --task-ids task_1_aaaaaaaaa --output m.json --role boss
    --- stderr
    error: invalid value `boss` for `--role <ROLE>`: Role must be "worker" or "orchestrator"
    hint: run `maestro manifest generate --help` for its arguments and options
    --- exit 1
    "#);
    assert!(!sandbox.path("m.json").exists());
}
