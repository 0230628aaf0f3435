//! Does an agent that has to ask wait for the answer, and does nobody ask who need not?

use insta::assert_snapshot;
use serde_json::json;

use super::{Stage, report, run};
use crate::waiting::wait_until;

/// The questions that wait for an answer.
fn questions(stage: &Stage, session: &str) -> usize {
    stage.server.get(&format!("/api/permissions?sessionId={session}")).as_array().unwrap().len()
}

fn asked(stage: &Stage, session: &str) {
    wait_until("it asks", || questions(stage, session) == 1);
}

#[test]
fn nothing_happens_before_the_answer_and_each_answer_counts_once() {
    let stage =
        Stage::scripted(&[run("touch first"), run("touch second"), report(&["complete", "asked twice"])].concat());
    let session = stage.spawn(&stage.task("Do it"), "--permission ask --driver acp");
    asked(&stage, &session);
    assert_snapshot!(stage.sandbox.maestro("session answer"));
    assert!(stage.sandbox.maestro(&format!("show {session}")).stdout().contains("asks: touch first"));
    assert!(!stage.sandbox.path("first").exists());
    let answered = stage.sandbox.maestro(&format!("session answer {session} once"));
    assert_eq!(answered.code, 0, "{answered}");
    wait_until("what was allowed is done", || stage.sandbox.path("first").exists());
    asked(&stage, &session);
    assert!(!stage.sandbox.path("second").exists(), "once is not always");
    stage.sandbox.maestro(&format!("session answer {session} deny"));
    stage.wait_for(&session, "completed");
    assert!(!stage.sandbox.path("second").exists());
    let late = stage.sandbox.maestro(&format!("session answer {session} once"));
    assert_eq!(late.code, 2, "{late}");
}

#[test]
fn a_question_ends_with_its_session() {
    let stage = Stage::scripted(&run("touch never"));
    let session = stage.spawn(&stage.task("Do it"), "--permission ask --driver acp");
    asked(&stage, &session);
    assert_eq!(stage.sandbox.maestro(&format!("session cancel {session}")).code, 0);
    stage.settled(&session);
    assert_eq!(questions(&stage, &session), 0);
    let all = stage.server.get(&format!("/api/permissions?sessionId={session}&all=true"));
    assert_eq!(all[0]["answer"], "reject_once", "{all:#}");
    assert!(!stage.sandbox.path("never").exists());
}

#[test]
fn what_nobody_answers_is_a_no() {
    let stage = Stage::scripted(&[run("touch never"), report(&["complete", "asked"])].concat());
    let body = json!({
        "projectId": stage.project, "taskIds": [stage.task("Do it")], "agent": "demo", "driver": "acp",
        "permission": "ask", "budget": { "questionMinutes": 0.0001 },
    });
    let session = stage.server.make("/api/sessions/spawn", &body)["sessionId"].as_str().unwrap().to_owned();
    stage.wait_for(&session, "completed");
    let all = stage.server.get(&format!("/api/permissions?sessionId={session}&all=true"));
    assert_eq!(all[0]["answer"], "reject_once", "{all:#}");
    assert!(!stage.sandbox.path("never").exists());
}

#[test]
fn edits_where_it_works_and_the_projects_checks_need_no_answer() {
    let add = json!({ "do": "add", "file": "made.txt", "text": "made" });
    let stage = Stage::scripted("");
    stage.sandbox.write(".maestro/config.toml", "verify = [\"touch checked\"]\n");
    let allowed = stage.sandbox.maestro("trust --config --yes");
    assert_eq!(allowed.code, 0, "{allowed}");
    stage.script(
        &[format!("{add}\n"), run("touch checked"), run("touch other"), report(&["complete", "done"])].concat(),
    );
    let session = stage.spawn(&stage.task("Do it"), "--permission edits --driver acp");
    asked(&stage, &session);
    let open = stage.server.get(&format!("/api/permissions?sessionId={session}"));
    assert_eq!(open[0]["title"], "touch other", "{open:#}");
    assert!(stage.sandbox.path("made.txt").exists() && stage.sandbox.path("checked").exists());
    stage.sandbox.maestro(&format!("session answer {session} always"));
    stage.wait_for(&session, "completed");
    assert!(stage.sandbox.path("other").exists());
}
