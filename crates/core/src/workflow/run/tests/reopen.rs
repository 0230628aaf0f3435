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

#[test]
fn a_finished_run_goes_on_from_an_earlier_step_as_it_was_then() {
    let text = "name: w\nreviews: {r: {}}\nvariables: {n: {type: int, default: 0}}\nsteps:\n- {id: work, type: agent, result: {n: int}, next: {ok: list, fail: stop}}\n- {id: list, type: agent, review: {name: r, part: decompose}, next: {ok: look, fail: stop}}\n- {id: look, type: agent, review: {name: r, part: verify}, next: {ok: gate, fail: stop}}\n- {id: gate, type: gate, review: r, next: {pass: end, fail: work, exhausted: stop}}\n- {id: stop, type: end, status: failure, message: '{n}'}\n";
    let judged = json!({"items": [{"id": "1", "status": "pass", "evidence": "seen"}]});
    let mut driver = TestRun::started(text);
    assert_eq!(driver.give(RunInput::Cancel), Ok(()));
    driver.reopen().unwrap();
    driver.report("ok", json!({"n": 1})).unwrap();
    driver.report("ok", json!({"items": [{"check": "c", "severity": "MUST"}]})).unwrap();
    let old = driver.ticket();
    driver.report("ok", judged.clone()).unwrap();
    assert_eq!(driver.ended(), "success");
    let events = driver.log.len();
    driver.branch("look").unwrap();
    assert_eq!(driver.at(), "look", "what passed is looked at again");
    assert_ne!(driver.ticket(), old, "the old report does not count on the new branch");
    assert_eq!(driver.run.frames[0].variables["n"], 1);
    driver.report("ok", judged).unwrap();
    assert_eq!(driver.ended(), "success");
    assert!(driver.log.len() > events, "the history before the branch stays");
    driver.branch("work#1").unwrap();
    assert_eq!(driver.run.frames[0].variables["n"], 0, "nothing that came later has happened");
    assert_eq!(driver.branch("work"), Err(InputRefusal::NotOver));
    driver.report("fail", json!({})).unwrap();
    assert_eq!(driver.ended(), "failure 0");
}
