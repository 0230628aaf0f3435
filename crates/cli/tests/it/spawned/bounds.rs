//! Is an agent ended that uses up more than it may?

use serde_json::{Value as Json, json};

use super::{Stage, run};
use crate::waiting::wait_until;

/// A script that goes on until it is ended.
fn goes_on(act: &str) -> String {
    format!("{act}\n{}\n{{\"do\":\"hang\"}}\n", run("touch was-there"))
}

fn reached(stage: &Stage, words: &str) -> Json {
    let (session, followed) = stage.follow(words);
    assert_eq!(followed.code, 1, "{followed}");
    let start = stage.settled(&session);
    assert_eq!(start["outcome"]["kind"], "failed", "{start:#}");
    assert_eq!(start["attempt"], 1);
    assert!(followed.stdout().contains("a limit was reached"), "{followed}");
    start["outcome"].clone()
}

/// At a limit of tokens or money a person is asked; without more of it the agent is ended.
fn refused(stage: &Stage, words: &str) -> Json {
    let session = stage.spawn(&stage.task("Spend"), words);
    wait_until("it asks", || stage.server.get("/api/permissions") != json!([]));
    let answered = stage.sandbox.maestro_with(&["session", "answer", &session, "deny"]);
    assert_eq!(answered.code, 0, "{answered}");
    let start = stage.settled(&session);
    assert_eq!(start["outcome"]["kind"], "failed", "{start:#}");
    start["outcome"].clone()
}

#[test]
fn tokens_money_and_turns_have_an_end() {
    let stage = Stage::scripted("");
    let spends = json!({ "do": "tokens", "input": 900, "output": 200, "cost_usd": 0.75 });
    stage.script(&goes_on(&spends.to_string()));
    let tokens = refused(&stage, "--tokens 1000");
    assert_eq!(tokens["reasons"][0], "a limit was reached: 1000 tokens");
    assert_eq!(tokens["spent"]["input"], 900);
    assert_eq!(refused(&stage, "--cost 0.5")["reasons"][0], "a limit was reached: $0.5");
    stage.script(&goes_on(&[run("true"), run("true")].concat()));
    assert_eq!(reached(&stage, "--turns 2")["reasons"][0], "a limit was reached: 2 turns");
}
