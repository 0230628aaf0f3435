//! Tests of workflows that a step calls for several items at the same time.

use serde_json::{Map, json};

use super::driver::{TestRun, workflow};
use crate::workflow::name::StepOutcome;
use crate::workflow::run::{
    AwaitedParty, CommandExit, FileState, PendingEffect, RunEvent, RunInput, Ticket, awaited_party, pending_effects,
};

const MAIN: &str = "name: w\nsteps:\n- {id: each, type: call, workflow: helper, with: {what: '{item}'}, for_each: [a, b, c], max_parallel: 2, next: {ok: end, partial: some, fail: stop}}\n- {id: some, type: end, status: success, message: \"{for r in steps.each.result.results}{r.id}:{r.outcome} {end}\"}\n- {id: stop, type: end, status: failure}\n";
const BUILDS: &str = "name: helper\nparams: {what: string}\nsteps:\n- {id: build, type: command, command: [make, '{what}'], effect: write, next: {ok: look, fail: stop}}\n- {id: look, type: agent, description: 'Look at {what}.', next: {ok: end, fail: stop}}\n- {id: stop, type: end, status: blocked, message: 'No {what}.'}\noutputs: {did: '{what}'}\n";

fn started(helper: &str) -> TestRun {
    let mut driver = TestRun::new(MAIN);
    driver.definition.callees.insert("helper".into(), workflow(helper));
    driver.start(json!({})).unwrap();
    driver
}

fn tickets(driver: &TestRun, of: impl Fn(&PendingEffect) -> Option<&Ticket>) -> Vec<Ticket> {
    pending_effects(&driver.definition, &driver.run).iter().filter_map(of).cloned().collect()
}

fn executions(driver: &TestRun) -> Vec<Ticket> {
    tickets(driver, |effect| match effect {
        PendingEffect::Execute { ticket, .. } => Some(ticket),
        _ => None,
    })
}

fn directives(driver: &TestRun) -> Vec<Ticket> {
    tickets(driver, |effect| match effect {
        PendingEffect::Instruct { ticket, .. } => Some(ticket),
        _ => None,
    })
}

fn start(driver: &mut TestRun, ticket: &Ticket) {
    driver.give(RunInput::Started { ticket: ticket.clone(), seen: FileState::default(), now: 0 }).unwrap();
}

fn finish(driver: &mut TestRun, ticket: &Ticket, code: i32) {
    let finish = CommandExit::Exited { code, output: String::new() };
    driver.give(RunInput::Finished { ticket: ticket.clone(), finish, now: 0 }).unwrap();
}

fn report(driver: &mut TestRun, ticket: &Ticket, outcome: &str) {
    let (ticket, outcome) = (ticket.clone(), Some(StepOutcome::new(outcome)));
    let (set, result, seen) = (Map::new(), Map::new(), FileState::default());
    driver.give(RunInput::Report { ticket, outcome, set, result, seen, now: 0 }).unwrap();
}

#[test]
fn as_many_workflows_as_allowed_are_called_at_a_time_and_each_goes_on_by_itself() {
    let mut driver = started(BUILDS);
    let first = executions(&driver);
    assert_eq!(first.len(), 2, "two of three items");
    assert_ne!(first[0], first[1]);
    start(&mut driver, &first[0]);
    assert!(!driver.run.is_executed(&first[1]), "what one branch started says nothing of another");
    start(&mut driver, &first[1]);
    assert!(driver.run.is_executed(&first[0]) && driver.run.is_executed(&first[1]));
    finish(&mut driver, &first[1], 0);
    assert_eq!(awaited_party(&driver.run), Some(AwaitedParty::Agent), "what somebody has to do comes first");
    let look = directives(&driver);
    assert_eq!(look.len(), 1);
    finish(&mut driver, &first[0], 0);
    assert_eq!(directives(&driver)[0], look[0], "the page that was shown stays, and its ticket holds");
    assert_eq!(driver.run.awaited_agents(), 2);
    let other = directives(&driver)[1].clone();
    report(&mut driver, &other, "ok");
    assert_eq!(executions(&driver).len(), 1, "the third item is begun once one has ended");
    report(&mut driver, &look[0], "fail");
    let third = executions(&driver);
    start(&mut driver, &third[0]);
    finish(&mut driver, &third[0], 0);
    let last = directives(&driver);
    report(&mut driver, &last[0], "ok");
    assert_eq!(driver.ended(), "success a:ok b:blocked c:ok");
    let results = &driver.run.frames[0].results.values().next().unwrap()["results"];
    assert_eq!(results[1], json!({"id": "b", "outcome": "blocked", "did": "b", "error": "No b."}));
    assert_eq!(results[2]["did"], "c");
}

#[test]
fn an_executor_that_is_gone_loses_only_its_own_branch() {
    let mut driver = started(BUILDS);
    let first = executions(&driver);
    for ticket in &first {
        start(&mut driver, ticket);
    }
    driver.give(RunInput::Lost { ticket: first[0].clone(), now: 0 }).unwrap();
    assert_eq!(awaited_party(&driver.run), Some(AwaitedParty::Consent), "what writes is not repeated unasked");
    finish(&mut driver, &first[1], 0);
    assert!(matches!(driver.effect(), PendingEffect::Consent { .. }), "{:?}", driver.effect());
    driver.answer("done").unwrap();
    assert_eq!(directives(&driver).len(), 2);
}

#[test]
fn checks_of_one_branch_do_not_answer_for_another() {
    let gated = "name: helper\nparams: {what: string}\nsteps:\n- {id: tests, type: command, command: [test, '{what}'], effect: write, next: {ok: gate, fail: gate}}\n- {id: gate, type: gate, checks: [tests], max_rounds: 2, next: {pass: end, fail: tests, exhausted: stop}}\n- {id: stop, type: end, status: blocked}\n";
    let mut driver = started(gated);
    let both = executions(&driver);
    for ticket in &both {
        start(&mut driver, ticket);
    }
    finish(&mut driver, &both[0], 1);
    finish(&mut driver, &both[1], 0);
    let ended: Vec<_> = driver.run.frames[0].branches().iter().map(|child| child.outcome.clone()).collect();
    assert_eq!(ended, [None, Some(StepOutcome::OK), None], "the first one tests again, the second one is through");
    while let Some(again) = executions(&driver).first().cloned() {
        start(&mut driver, &again);
        let is_first = driver.run.frames.last().unwrap().branch.as_deref() == Some("1");
        finish(&mut driver, &again, i32::from(is_first));
        if awaited_party(&driver.run).is_some() {
            driver.answer("abort").unwrap();
        }
    }
    assert!(driver.ended().starts_with("failure the check `tests` ended with `fail`"), "{}", driver.ended());
}

#[test]
fn branches_within_branches_are_found_by_their_tickets() {
    let main = "name: w\nsteps:\n- {id: each, type: call, workflow: helper, with: {what: '{item}'}, for_each: [a, b], max_parallel: 2, next: {ok: end, partial: end, fail: end}}\n";
    let middle = "name: middle\nparams: {what: string}\nsteps:\n- {id: inner, type: call, workflow: helper, with: {what: '{what}{item}'}, for_each: ['1', '2'], max_parallel: 2, next: {ok: end, partial: end, fail: end}}\n";
    let leaf = "name: leaf\nparams: {what: string}\nsteps:\n- {id: look, type: agent, description: 'At {what}.', next: {ok: end, fail: end}}\n";
    let mut driver = TestRun::new(main);
    let mut middle = workflow(middle);
    if let crate::workflow::definition::StepWork::Call(call) = &mut middle.steps[0].work {
        call.workflow.0 = "leaf".to_owned();
    }
    driver.definition.callees.insert("helper".into(), middle);
    driver.definition.callees.insert("leaf".into(), workflow(leaf));
    driver.start(json!({})).unwrap();
    let open = directives(&driver);
    assert_eq!(open.len(), 4);
    for ticket in open.iter().rev() {
        report(&mut driver, ticket, "ok");
    }
    assert_eq!(driver.ended(), "success");
    let folded = driver.log.iter().fold(crate::workflow::Run::default(), crate::workflow::evolve);
    assert_eq!(folded, driver.run);
}

#[test]
fn time_that_is_over_in_one_branch_leaves_the_others_alone() {
    let slow = "name: helper\nparams: {what: string}\nsteps:\n- {id: look, type: agent, timeout: 60, next: {ok: end, fail: stop, timeout: stop}}\n- {id: stop, type: end, status: blocked}\n";
    let mut driver = started(slow);
    let open = directives(&driver);
    driver.give(RunInput::Elapsed { now: 30_000 }).unwrap();
    assert_eq!(directives(&driver), open);
    report(&mut driver, &open[1], "ok");
    driver.give(RunInput::Elapsed { now: 60_000 }).unwrap();
    assert!(!directives(&driver).contains(&open[0]), "its time is over");
    let left = driver
        .log
        .iter()
        .filter(|event| matches!(event, RunEvent::Left { outcome, .. } if *outcome == StepOutcome::TIMEOUT));
    assert!(left.count() >= 1);
}

#[test]
fn a_run_that_goes_on_from_an_earlier_branch_takes_no_ticket_of_before() {
    let mut driver = started(
        "name: helper\nparams: {what: string}\nsteps:\n- {id: look, type: agent, next: {ok: more, fail: end}}\n- {id: more, type: agent, next: {ok: end, fail: end}}\n",
    );
    let open = directives(&driver);
    report(&mut driver, &open[0], "ok");
    driver.give(RunInput::Cancel).unwrap();
    driver.branch("more").unwrap();
    let now = directives(&driver);
    assert_eq!(now.len(), 2);
    assert!(now.iter().all(|ticket| !open.contains(ticket)), "{now:?} {open:?}");
    for ticket in now {
        report(&mut driver, &ticket, "ok");
    }
    assert!(driver.ended().starts_with("Active"));
}
