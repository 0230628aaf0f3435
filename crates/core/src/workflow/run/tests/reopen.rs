//! Tests of runs that stopped and continue.

use serde_json::json;

use super::driver::{TestRun, object, workflow};
use crate::workflow::run::{InputRefusal, RunInput};

const STOPS: &str = "name: w\nsteps:\n- {id: first, type: agent, next: {ok: work, fail: end}}\n- {id: work, type: agent, next: {ok: end, fail: tidy}}\n- {id: tidy, type: command, command: {builtin: skills.sync}, optional: true, next: {ok: stop, fail: stop}}\n- {id: stop, type: end, status: blocked, message: no}\n";

#[test]
fn a_stopped_run_continues_from_the_step_where_it_stopped() {
    let mut driver = TestRun::started(STOPS);
    driver.report("ok", json!({})).unwrap();
    driver.report("fail", json!({})).unwrap();
    driver.execute(0, "");
    assert_eq!(driver.ended(), "blocked no");
    let stopped = driver.run.serial;
    driver.reopen().unwrap();
    assert_eq!(driver.at(), "work");
    assert!(driver.run.serial > stopped, "the old report does not count for the new visit");
    driver.report("ok", json!({})).unwrap();
    assert_eq!(driver.ended(), "success");
    assert_eq!(driver.reopen(), Err(InputRefusal::Over), "what is done is not continued");
}

#[test]
fn a_stop_within_a_call_continues_at_the_call() {
    let main = "name: w\nsteps:\n- {id: a, type: call, workflow: helper, next: {ok: end, fail: end, blocked: stop}}\n- {id: stop, type: end, status: blocked}\n";
    let helper = "name: helper\nsteps:\n- {id: x, type: agent, next: {ok: y, fail: end}}\n- {id: y, type: agent, next: {ok: end, fail: stop}}\n- {id: stop, type: end, status: blocked}\n";
    let mut driver = TestRun::new(main);
    driver.definition.callees.insert("helper".into(), workflow(helper));
    driver.start(json!({})).unwrap();
    driver.report("ok", json!({})).unwrap();
    driver.report("fail", json!({})).unwrap();
    assert_eq!(driver.ended(), "blocked");
    driver.reopen().unwrap();
    assert_eq!((driver.run.frames.len(), driver.at()), (2, "x"), "the call begins anew");
}

#[test]
fn a_stopped_run_may_continue_with_other_parameters() {
    let text = "name: w\nparams: {budget: {type: string, default: small}}\nsteps:\n- {id: a, type: agent, description: '{budget}', next: {ok: end, fail: stop}}\n- {id: stop, type: end, status: blocked}\n";
    let mut driver = TestRun::started(text);
    driver.report("fail", json!({})).unwrap();
    let params = object(json!({ "budget": "large", "unknown": 1 }));
    driver.give(RunInput::Reopen { params, note: None, now: 0 }).unwrap();
    assert_eq!(driver.run.frames[0].params, object(json!({ "budget": "large" })));
}

#[test]
fn a_canceled_run_continues_and_one_that_goes_on_is_not_reopened() {
    let mut driver = TestRun::started(STOPS);
    assert_eq!(driver.reopen(), Err(InputRefusal::AlreadyStarted));
    driver.report("ok", json!({})).unwrap();
    let old = driver.ticket();
    driver.give(RunInput::Cancel).unwrap();
    driver.reopen().unwrap();
    assert_eq!(driver.at(), "work");
    assert_ne!(driver.ticket(), old, "the session that was canceled does not report for it any more");
}
