//! Tests of what is done at the end of every run.

use serde_json::json;

use super::driver::{TestRun, workflow};

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
