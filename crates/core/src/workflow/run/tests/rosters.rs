//! Tests of sub-agents of which each has its own role, agent and result.

use serde_json::{Value as Json, json};

use super::driver::TestRun;
use crate::workflow::directive::{Directive, DirectiveContext, build_directive};
use crate::workflow::render::{RenderForm, render_reply};
use crate::workflow::run::InputRefusal;
use crate::workflow::run_reply::{NextAction, RunReply};
use crate::workflow::tool::CodingTool;

const ROSTER: &str = "name: w\nroles: {skeptic: {model: strong}}\nsteps:\n- id: look\n  type: dispatch\n  mode: roster\n  role: explore\n  max_parallel: 2\n  result: {note: string}\n  for_each:\n  - {view: cost}\n  - {view: risk, role: skeptic, agent: codex, result: {risks: {type: list, min: 1}}}\n  - {view: time}\n  prompt: 'Look at {item.view}.'\n  next: {ok: end, fail: stop, partial: stop}\n- {id: stop, type: end, status: failure}\n";

fn directive(driver: &TestRun) -> Directive {
    let context = DirectiveContext { run: "r1", program: "maestro" };
    build_directive(&driver.definition, &driver.run, context).unwrap()
}

#[test]
fn each_entry_has_its_own_role_agent_and_result_and_so_many_are_started_at_a_time() {
    let mut driver = TestRun::started(ROSTER);
    let told = directive(&driver);
    let roles: Vec<String> = told.dispatches.iter().map(|child| child.role.as_ref().unwrap().to_string()).collect();
    assert_eq!(roles, ["explore", "skeptic"], "two at a time");
    assert_eq!(told.dispatches[1].agent.as_deref(), Some("codex"));
    assert_eq!(told.dispatches[1].model.as_deref(), Some("strong"));
    assert_eq!(Json::Object(told.dispatches[1].result.clone()), json!({"risks": {"type": "list", "min": 1}}));
    assert_eq!(Json::Object(told.result.clone()), json!({"note": {"type": "string"}}));
    let next = NextAction::Directive { directive: Box::new(told) };
    let reply = RunReply { run: "r1".to_owned(), updates: Vec::new(), next };
    for form in [RenderForm::Text, RenderForm::Markdown, RenderForm::Xml] {
        let page = render_reply(&reply, &CodingTool::unknown().with_form(form));
        assert!(page.contains("risks") && page.contains("codex"), "{page}");
    }
    let refused = driver.report("ok", json!({"risks": []}));
    assert!(matches!(&refused, Err(InputRefusal::Result(reason)) if reason.0.contains("note")), "{refused:?}");
    driver.report("ok", json!({"note": "cheap"})).unwrap();
    let refused = driver.report("ok", json!({"risks": []}));
    assert!(matches!(&refused, Err(InputRefusal::Result(reason)) if reason.0.contains("risks")), "{refused:?}");
    driver.report("ok", json!({"risks": [{"id": "R1"}]})).unwrap();
    driver.report("fail", json!({"reason": "no time"})).unwrap();
    let results = driver.run.frames[0].results.values().next().unwrap()["results"].clone();
    let outcomes: Vec<&Json> = results.as_array().unwrap().iter().map(|result| &result["outcome"]).collect();
    assert_eq!((driver.ended().as_str(), outcomes), ("failure", vec![&json!("ok"), &json!("ok"), &json!("fail")]));
}

#[test]
fn an_option_is_chosen_by_its_value_its_title_or_its_number() {
    let text = "name: w\nsteps:\n- {id: ask, type: question, prompt: Merge it?, options: [{value: now, title: Merge it right away}, later], store: said, next: {ok: stop, declined: end}}\n- {id: stop, type: end, status: blocked, message: '{said}'}\n";
    for answer in ["now", "merge it RIGHT away", "1"] {
        let mut driver = TestRun::started(text);
        let question = directive(&driver).question.unwrap();
        assert_eq!((question.title("now"), question.title("later")), ("Merge it right away", "later"));
        driver.answer(answer).unwrap();
        assert_eq!(driver.ended(), "blocked now", "{answer}");
    }
    let listed = "name: w\nsteps:\n- {id: ask, type: question, prompt: Which?, options: {type: command, command: ls}, store: said, next: {ok: stop, declined: end, fail: end}}\n- {id: stop, type: end, status: blocked, message: '{said}'}\n";
    let mut driver = TestRun::started(listed);
    driver.execute(0, "a\tThe first\nb\n");
    driver.answer("the first").unwrap();
    assert_eq!(driver.ended(), "blocked a");
}
