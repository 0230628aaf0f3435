//! Tests of further attempts at a step.

use serde_json::{Value as Json, json};

use super::driver::{TestRun, workflow};
use crate::workflow::directive::{DirectiveContext, build_directive};
use crate::workflow::run::RunEvent;

fn data(driver: &TestRun, key: &str) -> Json {
    let context = DirectiveContext { run: "r1", program: "maestro" };
    let directive = build_directive(&driver.definition, &driver.run, context).unwrap();
    directive.data.get(key).cloned().unwrap_or(Json::Null)
}

#[test]
fn an_agent_is_tried_again_with_what_was_wrong() {
    let text = "name: w\nsteps:\n- {id: a, type: agent, outcomes: [ok, fail, unclear], retry: {max: 2, on: [fail, unclear], feedback: Look closer.}, next: {ok: end, fail: stop, unclear: stop}}\n- {id: stop, type: end, status: failure}\n";
    let mut driver = TestRun::started(text);
    assert_eq!(data(&driver, "retry"), Json::Null);
    let first = driver.ticket();
    driver.report("fail", json!({})).unwrap();
    assert_eq!(data(&driver, "retry"), json!({"attempt": 2, "of": 3, "last": "fail", "feedback": "Look closer."}));
    assert_ne!(driver.ticket(), first, "the old report does not count for the new attempt");
    driver.report("unclear", json!({})).unwrap();
    assert_eq!(data(&driver, "retry")["attempt"], 3);
    driver.report("fail", json!({})).unwrap();
    assert_eq!(driver.ended(), "failure");
    assert_eq!(driver.visits("a"), 1);
    let mut driver = TestRun::started(text);
    driver.report("fail", json!({})).unwrap();
    driver.report("ok", json!({})).unwrap();
    assert_eq!(driver.ended(), "success");
}

#[test]
fn only_the_sub_agents_that_failed_are_started_again() {
    let text = "name: w\nparams: {items: {type: list, default: [1, 2, 3]}}\nsteps:\n- {id: a, type: dispatch, for_each: items, prompt: 'Do {item}.', retry: {max: 1, on: [fail, partial]}, next: {ok: end, fail: stop, partial: stop}}\n- {id: stop, type: end, status: failure, message: '{steps.a.result.results}'}\n";
    let mut driver = TestRun::started(text);
    driver.report("ok", json!({"n": 1})).unwrap();
    driver.report("fail", json!({"reason": "no tool"})).unwrap();
    driver.report("ok", json!({"n": 3})).unwrap();
    assert_eq!(data(&driver, "retry")["feedback"], "2: no tool");
    driver.report("ok", json!({"n": 2})).unwrap();
    assert_eq!(driver.ended(), "success");
}

#[test]
fn a_called_workflow_is_called_again() {
    let main = "name: w\nsteps:\n- {id: a, type: call, workflow: helper, retry: 1, next: {ok: end, fail: stop, blocked: stop}}\n- {id: stop, type: end, status: failure}\n";
    let helper = "name: helper\nsteps:\n- {id: x, type: agent, next: {ok: end, fail: stop}}\n- {id: stop, type: end, status: failure, message: It is red.}\n";
    let mut driver = TestRun::new(main);
    driver.definition.callees.insert("helper".into(), workflow(helper));
    driver.start(json!({})).unwrap();
    driver.report("fail", json!({})).unwrap();
    assert_eq!(driver.at(), "x", "it is called once more");
    let told = |event: &RunEvent| matches!(event, RunEvent::Retried { attempt, .. } if attempt.feedback.as_deref() == Some("It is red."));
    assert!(driver.log.iter().any(told), "{:?}", driver.log);
    driver.report("ok", json!({})).unwrap();
    assert_eq!(driver.ended(), "success");
}
