//! Attacks by claims: programs that report, answer or call for a run, and are not the ones who may.

use std::fs;

use serde_json::{Value as Json, json};

use super::callers::{Stage, calling_workflow, id, take_codes};
use crate::waiting::wait_until;

/// A workflow whose check fails, then one that asks the user.
const GUARDED: &str = "name: guarded\ndescription: Check and ask. Use when something is to be checked.\nsteps:\n  \
                       - {id: check, type: command, command: [sleep, '60']}\n  \
                       - {id: sure, type: question, prompt: 'Sure?', options: [yes, no]}\n";

/// Starts a run of a workflow that the user trusts.
fn start(stage: &Stage, name: &str, text: &str) -> String {
    stage.sandbox.write(&format!(".claude/skills/{name}/workflow.yaml"), text);
    let trusted = stage.sandbox.maestro(&format!("trust {name} --yes"));
    assert_eq!(trusted.code, 0, "{trusted}");
    let run = json!({ "workflow": name, "workspace": stage.sandbox.project(), "projectId": stage.project });
    id(&stage.server.make("/api/runs", &run))
}

/// What a run waits for, as its owner sees it.
fn ticket(stage: &Stage, run: &str) -> String {
    let shown =
        |run: &Json| Some(run.pointer("/next/directive/ticket").or(run.pointer("/next/ticket"))?.as_str()?.to_owned());
    let mut found = None;
    wait_until("the run waits", || {
        found = shown(&stage.server.get(&format!("/api/runs/{run}")));
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn a_check_that_an_agent_wrote_cannot_call_maestro() {
    let stage = Stage::new();
    let probe = "printenv MAESTRO_SOCKET >> socket; maestro task create evil >> out 2>&1; echo $? >> codes\n";
    stage.sandbox.write("probe.sh", probe);
    let set = stage.sandbox.maestro_with(&["config", "set", "verify", "sh probe.sh"]);
    assert_eq!(set.code, 0, "{set}");
    let checks = "name: checks\ndescription: Run the checks.\nsteps:\n  - {id: run, type: command, command: {builtin: verify}}\n";
    start(&stage, "checks", checks);
    take_codes(&stage, 1);
    assert_eq!(fs::read_to_string(stage.sandbox.path("socket")).unwrap(), "");
    let tasks = stage.server.get("/api/tasks");
    assert_eq!(tasks, json!([]), "{}", fs::read_to_string(stage.sandbox.path("out")).unwrap());
}

#[test]
fn a_session_reports_nothing_on_the_runs_of_others() {
    let stage = Stage::new();
    let body = json!({ "projectId": stage.project, "taskIds": [] });
    let session = id(&stage.server.make("/api/sessions", &body));
    let token = stage.server.make(&format!("/api/sessions/{session}/token"), &json!({}))["token"].clone();
    let run = start(&stage, "guarded", GUARDED);
    let claims = [
        ("finished", json!({ "ticket": "check#1.x", "finish": { "exited": { "code": 0, "output": "" } } })),
        ("started", json!({ "ticket": "check#1.x", "by": "me" })),
        ("lost", json!({ "ticket": "check#1.x", "by": "me" })),
        ("report", json!({ "ticket": "check#1.x", "outcome": "pass" })),
    ];
    for (claim, body) in claims {
        let (status, answer) =
            stage.server.ask("POST", &format!("/api/runs/{run}/{claim}"), token.as_str(), Some(&body));
        assert_eq!(status, 403, "{claim}: {answer}");
        assert!(!answer.to_string().contains("check#1."), "the ticket is not told: {answer}");
    }
    stage.server.make(&format!("/api/runs/{run}/cancel"), &json!({}));
}

#[test]
fn a_step_answers_no_question() {
    let stage = Stage::new();
    let asking = "name: asking\ndescription: Ask. Use when something is to be asked.\nsteps:\n  - {id: sure, type: question, prompt: 'Sure?', options: [yes, no]}\n";
    let run = start(&stage, "asking", asking);
    let sure = ticket(&stage, &run);
    let caller = calling_workflow(&stage, &[&format!("maestro workflow answer {run} --ticket {sure} yes")]);
    stage.server.make("/api/runs", &caller);
    let codes = take_codes(&stage, 1);
    assert_eq!(codes, ["4"], "{}", fs::read_to_string(stage.sandbox.path("out")).unwrap());
    assert_eq!(ticket(&stage, &run), sure, "it still asks");
}

#[test]
fn a_lock_file_of_a_clone_names_no_folder_elsewhere() {
    let stage = Stage::new();
    let sandbox = &stage.sandbox;
    sandbox.write(".git/hooks/pre-commit.sample", "#!/bin/sh\n");
    sandbox.write("vendor/hooks/SKILL.md", "---\nname: ../../.git/hooks\ndescription: Hooks.\n---\n");
    sandbox.write("vendor/hooks/pre-commit", "#!/bin/sh\ntouch evil\n");
    let entry = json!({ "source": "./vendor", "sourceType": "local", "computedHash": "0" });
    let lock = json!({ "version": 1, "skills": { "../../.git/hooks": entry } });
    sandbox.write("skills-lock.json", lock.to_string());
    for command in ["skills update --yes", "skills remove ../../.git/hooks --yes", "skills outdated"] {
        let refused = sandbox.maestro(command);
        assert!(
            refused.code == 1 && refused.stderr().contains("skills-lock.json names a skill"),
            "{command}: {refused}"
        );
    }
    assert!(sandbox.path(".git/hooks/pre-commit.sample").exists() && !sandbox.path(".git/hooks/pre-commit").exists());
}
