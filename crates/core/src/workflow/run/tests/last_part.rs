//! Tests of what is done at the end of every run.

use serde_json::json;

use super::driver::{TestRun, workflow};
use crate::workflow::run::{CommandSpec, GivenArgument, PendingEffect, RunInput, RunStatus, deadline};

const TIDIES: &str = "name: w\nfinally: tidy\nlimits: {max_transitions: 2}\nsteps:\n- {id: work, type: agent, next: {ok: end, fail: stop}}\n- {id: stop, type: end, status: blocked, message: no}\n- {id: tidy, type: command, command: [rm, '{ending.status}'], next: {ok: tell, fail: tell}}\n- {id: tell, type: conditional, cases: [{when: \"ending.status == 'success'\", next: end}], else: bad}\n- {id: bad, type: end, status: failure, message: '{ending.message}'}\n";

#[test]
fn the_last_part_is_done_whatever_the_run_ends_with() {
    let mut driver = TestRun::started(TIDIES);
    driver.report("ok", json!({})).unwrap();
    assert_eq!(driver.at(), "tidy");
    driver.execute(0, "");
    assert_eq!(driver.ended(), "success");

    let mut driver = TestRun::started(TIDIES);
    driver.report("fail", json!({})).unwrap();
    assert_eq!(driver.at(), "tidy");
    driver.execute(1, "");
    assert_eq!(driver.ended(), "blocked no", "it ends as it did before its last part, and has transitions left for it");
}

#[test]
fn a_success_whose_last_part_fails_is_none() {
    let text = "name: w\nfinally: tidy\nsteps:\n- {id: work, type: agent, next: {ok: end, fail: end}}\n- {id: tidy, type: command, command: rm}\n";
    let mut driver = TestRun::started(text);
    driver.report("ok", json!({})).unwrap();
    driver.execute(1, "");
    assert_eq!(driver.ended(), "failure `tidy` ended with `fail`, which has no route");
}

#[test]
fn a_called_workflow_has_its_own_last_part_and_a_reopened_one_does_it_again() {
    let main = "name: w\nsteps:\n- {id: a, type: call, workflow: helper, next: {ok: end, fail: stop, blocked: stop}}\n- {id: stop, type: end, status: failure}\n";
    let mut driver = TestRun::new(main);
    driver.definition.callees.insert("helper".into(), workflow(TIDIES));
    driver.start(json!({})).unwrap();
    driver.report("ok", json!({})).unwrap();
    assert_eq!((driver.run.frames.len(), driver.at()), (2, "tidy"));
    driver.execute(0, "");
    assert_eq!(driver.ended(), "success");

    let mut driver = TestRun::started(TIDIES);
    driver.report("fail", json!({})).unwrap();
    driver.execute(0, "");
    driver.reopen().unwrap();
    assert_eq!(driver.at(), "work", "it continues where it stopped, not in its last part");
    driver.report("ok", json!({})).unwrap();
    assert_eq!(driver.at(), "tidy");
    driver.execute(0, "");
    assert_eq!((driver.ended().as_str(), driver.visits("tidy")), ("success", 2));
}

#[test]
fn a_run_that_is_canceled_does_its_last_part_first_and_says_there_why_it_ends() {
    let mut driver = TestRun::started(TIDIES);
    driver.give(RunInput::RequestCancel { now: 5 }).unwrap();
    assert_eq!(driver.at(), "tidy");
    let PendingEffect::Execute { order: CommandSpec::Program { arguments, .. }, .. } = driver.effect() else {
        panic!("{:?}", driver.effect())
    };
    assert_eq!(arguments, [GivenArgument::Text("canceled".into())]);
    driver.execute(1, "");
    assert_eq!(driver.run.status, RunStatus::Cancelled, "whatever comes of it");
    driver.reopen().unwrap();
    assert_eq!(driver.at(), "work", "it continues where it was, as if it had not been canceled");
    driver.report("ok", json!({})).unwrap();
    driver.execute(0, "");
    assert_eq!(driver.ended(), "success");
}

#[test]
fn one_that_is_canceled_again_or_has_no_last_part_stops_at_once() {
    let mut driver = TestRun::started(TIDIES);
    driver.give(RunInput::RequestCancel { now: 5 }).unwrap();
    driver.give(RunInput::RequestCancel { now: 6 }).unwrap();
    assert_eq!(driver.run.status, RunStatus::Cancelled);
    driver.reopen().unwrap();
    assert_eq!(driver.at(), "work");

    let plain = "name: w\nsteps:\n- {id: work, type: agent, next: {ok: end, fail: end}}\n";
    let mut driver = TestRun::started(plain);
    driver.give(RunInput::RequestCancel { now: 5 }).unwrap();
    assert_eq!(driver.run.status, RunStatus::Cancelled);
}

#[test]
fn every_workflow_in_progress_does_its_own_last_part_the_innermost_first() {
    let main = "name: w\nfinally: rest\nsteps:\n- {id: each, type: call, workflow: helper, for_each: [a, b], max_parallel: 2, next: {ok: end, partial: end, fail: end}}\n- {id: rest, type: command, command: rest, timeout: 60}\n";
    let mut driver = TestRun::new(main);
    driver.definition.callees.insert("helper".into(), workflow(TIDIES));
    driver.start(json!({})).unwrap();
    driver.give(RunInput::Pause).unwrap();
    driver.give(RunInput::RequestCancel { now: 5_000 }).unwrap();
    let mut done = Vec::new();
    while driver.run.status == RunStatus::Active {
        done.push(format!("{}:{}", driver.run.frames.last().unwrap().branch.clone().unwrap_or_default(), driver.at()));
        assert_ne!(deadline(&driver.definition, &driver.run), Some(0));
        driver.execute(0, "");
    }
    assert_eq!(driver.run.status, RunStatus::Cancelled);
    done.sort();
    assert_eq!(done, ["1:tidy", "2:tidy", ":rest"]);
}

#[test]
fn a_last_part_that_is_under_way_goes_on_when_the_run_is_canceled() {
    let mut driver = TestRun::started(TIDIES);
    driver.report("fail", json!({})).unwrap();
    assert_eq!(driver.at(), "tidy");
    driver.give(RunInput::RequestCancel { now: 0 }).unwrap();
    assert_eq!((driver.at(), driver.visits("tidy")), ("tidy", 1));
    driver.execute(0, "");
    assert_eq!(driver.run.status, RunStatus::Cancelled);
}
