//! Tests of commands and calls that go through a list.

use serde_json::{Value as Json, json};

use super::driver::{TestRun, workflow};
use crate::workflow::run::{
    AwaitedParty, CommandExit, CommandSpec, FileState, GivenArgument, InputRefusal, PendingEffect, RunInput, Ticket,
    awaited_party, pending_effects,
};

const LISTS: &str = "name: w\nparams: {files: {type: list, default: [a, b, c]}}\nsteps:\n- {id: lint, type: command, command: [lint, '{item}'], for_each: files, max_parallel: 2, effect: write, retry: 1, store: found, next: {ok: end, partial: some, fail: stop}}\n- {id: some, type: end, status: blocked, message: \"{for r in steps.lint.result.results}{r.id}:{r.outcome} {end}\"}\n- {id: stop, type: end, status: failure, message: '{found}'}\n";

fn due(driver: &TestRun) -> Vec<(Ticket, String)> {
    let effects = pending_effects(&driver.definition, &driver.run).into_iter();
    let orders = effects.filter_map(|effect| match effect {
        PendingEffect::Execute { ticket, order: CommandSpec::Program { arguments, .. }, .. } => {
            let GivenArgument::Text(text) = &arguments[0] else { panic!("{arguments:?}") };
            Some((ticket, text.clone()))
        }
        _ => None,
    });
    orders.collect()
}

fn start(driver: &mut TestRun, ticket: &Ticket) -> Result<(), InputRefusal> {
    driver.give(RunInput::Started { ticket: ticket.clone(), seen: FileState::default(), now: 0 })
}

fn finish(driver: &mut TestRun, ticket: &Ticket, code: i32, output: &str) {
    let finish = CommandExit::Exited { code, output: output.to_owned() };
    driver.give(RunInput::Finished { ticket: ticket.clone(), finish, now: 0 }).unwrap();
}

#[test]
fn as_many_branches_as_allowed_are_executed_at_a_time_and_each_result_is_kept_with_its_item() {
    let mut driver = TestRun::started(LISTS);
    let first = due(&driver);
    assert_eq!(first.iter().map(|(_, item)| item.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    start(&mut driver, &first[0].0).unwrap();
    assert!(start(&mut driver, &first[0].0).is_err(), "of two executors one is refused");
    start(&mut driver, &first[1].0).unwrap();
    assert_eq!(due(&driver), [], "no third one beside them");
    finish(&mut driver, &first[1].0, 0, " fine \n");
    let third = due(&driver);
    assert_eq!(third[0].1, "c");
    start(&mut driver, &third[0].0).unwrap();
    finish(&mut driver, &third[0].0, 1, "no");
    let again = due(&driver);
    assert_eq!(again[0].1, "c", "what failed is tried again");
    start(&mut driver, &again[0].0).unwrap();
    finish(&mut driver, &again[0].0, 1, "still no");
    finish(&mut driver, &first[0].0, 0, "");
    assert_eq!(driver.ended(), "blocked a:ok b:ok c:fail");
    let kept = &driver.run.frames[0].variables["found"];
    assert_eq!(kept[1], json!({"id": "b", "outcome": "ok", "output": "fine"}));
    assert_eq!(kept[2]["error"], "it exited with 1: still no");
}

#[test]
fn a_lost_branch_that_writes_waits_for_the_user_while_the_others_go_on() {
    let mut driver = TestRun::started(LISTS);
    let first = due(&driver);
    start(&mut driver, &first[0].0).unwrap();
    driver.give(RunInput::Lost { ticket: first[0].0.clone(), now: 0 }).unwrap();
    assert_eq!(awaited_party(&driver.run), None, "the others are executed first");
    for item in ["b", "c"] {
        let next = due(&driver);
        assert_eq!(next[0].1, item);
        start(&mut driver, &next[0].0).unwrap();
        finish(&mut driver, &next[0].0, 0, "");
    }
    assert_eq!(awaited_party(&driver.run), Some(AwaitedParty::Consent));
    driver.answer("done").unwrap();
    assert_eq!(driver.ended(), "success");
}

#[test]
fn an_empty_list_is_done_at_once_and_an_item_that_looks_like_an_option_fails_alone() {
    let mut driver = TestRun::new(LISTS);
    driver.start(json!({"files": []})).unwrap();
    assert_eq!(driver.ended(), "success");
    let mut driver = TestRun::new(LISTS);
    driver.start(json!({"files": ["-x"]})).unwrap();
    assert!(driver.ended().contains("would be taken for an option"), "{}", driver.ended());
}

#[test]
fn a_workflow_is_called_for_each_item_one_after_the_other() {
    let main = "name: w\nsteps:\n- {id: each, type: call, workflow: helper, with: {what: '{item.what}'}, for_each: [{id: A, what: one}, {id: B, what: two}], retry: 1, next: {ok: end, partial: stop, fail: stop}}\n- {id: stop, type: end, status: failure, message: '{steps.each.result.results}'}\n";
    let helper = "name: helper\nparams: {what: string}\nsteps:\n- {id: x, type: agent, description: '{what}', next: {ok: end, fail: stop}}\n- {id: stop, type: end, status: blocked, message: 'No {what}.'}\noutputs: {did: '{what}'}\n";
    let mut driver = TestRun::new(main);
    driver.definition.callees.insert("helper".into(), workflow(helper));
    driver.start(json!({})).unwrap();
    let given = |driver: &TestRun| driver.run.frames[1].params["what"].clone();
    assert_eq!(given(&driver), "one");
    driver.report("ok", json!({})).unwrap();
    assert_eq!(given(&driver), "two");
    driver.report("fail", json!({})).unwrap();
    assert_eq!(given(&driver), "two", "only what failed is called again");
    driver.report("ok", json!({})).unwrap();
    assert_eq!(driver.ended(), "success");
    let results: Json = driver.run.frames[0].results.values().next().unwrap()["results"].clone();
    assert_eq!(
        results,
        json!([{"id": "A", "outcome": "ok", "did": "one"}, {"id": "B", "outcome": "ok", "did": "two"}])
    );
}
