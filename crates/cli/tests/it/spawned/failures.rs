//! How does an agent fail, what is said of it, and is it tried again where that may help?

use insta::assert_snapshot;
use serde_json::{Value as Json, json};

use super::{END_TURN, Stage, report, run};
use crate::sandbox::Output;

/// What follows a script: how the session and its agent ended, and why.
fn ended(stage: &Stage, script: &str, words: &str) -> (Json, Output) {
    stage.script(script);
    let (session, followed) = stage.follow(words);
    let start = stage.settled(&session);
    assert_eq!(stage.session(&session)["status"], "failed", "{followed}");
    let shown = stage.sandbox.maestro(&format!("show {session}"));
    let reasons = start["outcome"]["reasons"].as_array().into_iter().flatten().filter_map(Json::as_str);
    for reason in reasons {
        assert!(shown.stdout().contains(reason), "{shown}");
    }
    (start, followed)
}

#[test]
fn an_end_without_a_word_is_no_success() {
    let stage = Stage::scripted("");
    for way in ["", "--driver acp"] {
        let (start, followed) = ended(&stage, "Say hello", way);
        assert_eq!((&start["outcome"]["kind"], followed.code), (&json!("nothing_done"), 1), "{start:#}");
    }
    let (start, followed) = ended(&stage, &json!({ "do": "exit", "code": 7 }).to_string(), "");
    assert_eq!((&start["outcome"]["kind"], followed.code), (&json!("failed"), 1), "{start:#}");
    assert_eq!(start["outcome"]["reasons"], json!(["the agent's process exited with code 7"]));
    assert_eq!(start["attempt"], 1, "what ends by itself is not started again");
}

#[test]
fn a_refused_key_is_not_tried_again() {
    let stage = Stage::scripted("");
    let refused = json!({ "do": "fail", "status": 401, "message": "invalid x-api-key" }).to_string();
    let (start, followed) = ended(&stage, &refused, "");
    assert_eq!((&start["attempt"], followed.code), (&json!(1), 1));
    assert_snapshot!(followed);
    let (start, followed) = ended(&stage, &refused, "--driver acp");
    assert_eq!((&start["attempt"], followed.code), (&json!(1), 1));
    assert!(followed.stdout().contains("invalid x-api-key"), "{followed}");
}

#[test]
fn a_limit_of_the_models_server_is_waited_for_and_no_longer() {
    let stage = Stage::scripted("");
    let limited = json!({ "do": "fail", "status": 429, "message": "Too many requests; try again in 1.2s" });
    stage.script(&format!(
        "{}{limited}\n{END_TURN}{}",
        run("date +%s%3N > first"),
        [run("date +%s%3N > second"), report(&["complete", "at last"])].concat()
    ));
    let (session, followed) = stage.follow("");
    assert_eq!(followed.code, 0, "{followed}");
    let time = |file: &str| stage.lines(file).concat().parse::<i64>().unwrap();
    assert!(time("second") - time("first") >= 1200, "it was tried again too early");
    assert_eq!(stage.start_of(&session)["attempt"], 2);
    let told = stage.timeline(&session);
    assert!(told.iter().any(|(_, line)| line.contains("; next try at ")), "{told:?}");
}

#[test]
fn silence_ends_it() {
    let stage = Stage::scripted("{\"do\":\"hang\"}");
    for driver in ["json", "acp"] {
        let body = json!({
            "projectId": stage.project, "taskIds": [stage.task("Do it")], "agent": "demo", "driver": driver,
            "budget": { "idleMinutes": 0.0001 },
        });
        let session = stage.server.make("/api/sessions/spawn", &body)["sessionId"].as_str().unwrap().to_owned();
        let start = stage.settled(&session);
        assert_eq!(start["outcome"]["kind"], "stalled", "{driver}: {start:#}");
        assert_eq!(stage.session(&session)["status"], "failed");
        let told = stage.timeline(&session);
        assert!(told.iter().any(|(_, line)| line == "The agent was stopped: no output"), "{told:?}");
    }
}

#[test]
fn what_cannot_be_started_says_why() {
    let stage = Stage::prompted();
    let task = stage.task("Do it");
    let spawn = |words: &str| stage.sandbox.maestro(&format!("session spawn --task {task} {words} --follow"));
    let unknown = spawn("--agent nonesuch");
    assert_eq!(unknown.code, 5, "{unknown}");
    assert!(unknown.to_string().contains("nonesuch"), "{unknown}");
    let absent = spawn("--agent command");
    assert_eq!(absent.code, 5, "{absent}");
    assert!(absent.stdout().contains("names no program"), "{absent}");
    let nowhere = stage.sandbox.path("gone");
    let project = super::id(&stage.server.make("/api/projects", &json!({ "name": "gone", "workingDir": nowhere })));
    let task = super::id(&stage.server.make("/api/tasks", &json!({ "projectId": project, "title": "Do it" })));
    let gone = stage.sandbox.maestro(&format!("session spawn --task {task} --agent demo --follow"));
    assert_eq!(gone.code, 5, "{gone}");
    assert!(gone.stdout().contains("there is no directory"), "{gone}");
}
