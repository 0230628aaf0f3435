//! Tests of what people say about the work of a run.

use serde_json::json;

use super::driver::TestRun;
use crate::workflow::directive::{DirectiveContext, build_directive};
use crate::workflow::run::{InputRefusal, MAX_ITEM, PersonComment, PersonItemState, RunInput};

const REVIEWED: &str = "name: w\nvariables: {found: {type: string, default: ''}}\nsteps:\n- {id: work, type: agent, phase: implement, data: {findings: '{found}'}, outcomes: [ok, fail], max_visits: 9, next: {ok: look, fail: stop, exhausted: stop}}\n- {id: look, type: agent, phase: review, outcomes: [pass, fail], result: {findings: {type: string, default: ''}}, next: {pass: end, fail: feed}}\n- {id: feed, type: set, values: {found: '{steps.look.result.findings}'}, next: work}\n- {id: stop, type: end, status: blocked}\n";
const CHECKED: &str = "name: w\nsteps:\n- {id: work, type: agent, outcomes: [ok, fail], next: {ok: test, fail: stop}}\n- {id: test, type: command, command: {builtin: verify}, next: {ok: gate, fail: gate}}\n- {id: gate, type: gate, checks: [test], max_rounds: 5, next: {pass: end, fail: work, exhausted: stop}}\n- {id: stop, type: end, status: blocked}\n";

impl TestRun {
    fn comment(&mut self, text: &str) -> Result<(), InputRefusal> {
        let file = Some("src/limit.rs".to_owned());
        let comment = PersonComment { text: text.to_owned(), file, line: Some(41), ..PersonComment::default() };
        self.give(RunInput::AddItem { comment, now: 5 })
    }

    fn item_state(&self) -> PersonItemState {
        self.run.person_items[0].state
    }

    /// A value that the agent at the current step is given.
    fn given(&self, name: &str) -> Option<String> {
        let directive = build_directive(&self.definition, &self.run, DirectiveContext { run: "r", program: "m" })?;
        directive
            .data
            .iter()
            .find(|(known, _)| known.as_str() == name)
            .and_then(|(_, value)| value.as_str().map(str::to_owned))
    }
}

#[test]
fn a_comment_is_delivered_fixed_and_verified() {
    let mut driver = TestRun::started(REVIEWED);
    driver.comment("  per client,\nnot per process ").unwrap();
    assert_eq!(driver.item_state(), PersonItemState::Queued, "the agent has its prompt already");
    driver.report("ok", json!({})).unwrap();
    driver.report("pass", json!({})).unwrap();
    assert_eq!(driver.at(), "work", "a review does not pass what a person wants changed");
    assert_eq!(driver.item_state(), PersonItemState::Delivered);
    assert_eq!(driver.given("comments").as_deref(), Some("- src/limit.rs:41: per client, not per process"));
    assert!(driver.given("findings").unwrap().contains("not per process"), "the loop's own words say it, too");
    driver.report("ok", json!({})).unwrap();
    assert_eq!(driver.item_state(), PersonItemState::Fixed);
    assert!(driver.given("comments_to_verify").unwrap().contains("per client"));
    driver.report("fail", json!({ "findings": "still per process" })).unwrap();
    assert_eq!(driver.item_state(), PersonItemState::Fixed, "a failed review verifies nothing");
    driver.report("ok", json!({})).unwrap();
    driver.report("pass", json!({})).unwrap();
    assert_eq!((driver.item_state(), driver.ended().as_str()), (PersonItemState::Verified, "success"));
    assert_eq!(driver.comment("late"), Err(InputRefusal::Over));
}

#[test]
fn a_gate_does_not_pass_what_a_person_wants_changed() {
    let mut driver = TestRun::started(CHECKED);
    driver.report("ok", json!({})).unwrap();
    driver.comment("name it limit").unwrap();
    driver.execute(0, "{}");
    assert_eq!((driver.at(), driver.visits("gate")), ("work", 1));
    assert!(driver.given("comments").unwrap().contains("name it limit"));
    driver.report("ok", json!({})).unwrap();
    driver.execute(0, "{}");
    assert_eq!((driver.ended().as_str(), driver.item_state()), ("success", PersonItemState::Fixed));
}

#[test]
fn comments_are_bounded_and_wait_while_a_run_is_paused() {
    let mut driver = TestRun::started(REVIEWED);
    assert!(driver.comment(" \n").is_err() && driver.comment(&"x".repeat(MAX_ITEM + 1)).is_err());
    driver.give(RunInput::Pause).unwrap();
    driver.comment("also this").unwrap();
    assert_eq!(driver.run.person_items[0].id, "you-1");
    driver.give(RunInput::Resume).unwrap();
    for _ in 1..200 {
        driver.comment("more").unwrap();
    }
    assert!(driver.comment("too many").is_err());
}

#[test]
fn words_for_the_next_step_reach_its_agent_once() {
    let mut driver = TestRun::started(REVIEWED);
    let comment = PersonComment::for_next_step("look at the limits, too".to_owned());
    driver.give(RunInput::AddItem { comment, now: 5 }).unwrap();
    assert_eq!(driver.given("messages_from_the_user"), None, "the agent at work has its prompt already");
    driver.report("ok", json!({})).unwrap();
    assert_eq!((driver.at(), driver.item_state()), ("look", PersonItemState::Delivered));
    assert_eq!(driver.given("messages_from_the_user").as_deref(), Some("- look at the limits, too"));
    driver.report("pass", json!({})).unwrap();
    assert_eq!(driver.ended().as_str(), "success", "words are no findings");
}

#[test]
fn a_comment_that_the_agent_at_work_received_needs_no_other_round() {
    let mut driver = TestRun::started(REVIEWED);
    assert!(driver.run.can_fix_now(&driver.definition));
    let comment =
        PersonComment { text: "per client".to_owned(), message: Some("msg_1".to_owned()), ..PersonComment::default() };
    driver.give(RunInput::AddItem { comment, now: 5 }).unwrap();
    driver.give(RunInput::DeliverItems { messages: vec!["msg_2".to_owned()], now: 6 }).unwrap();
    assert_eq!(driver.item_state(), PersonItemState::Queued);
    driver.give(RunInput::DeliverItems { messages: vec!["msg_1".to_owned()], now: 6 }).unwrap();
    driver.report("ok", json!({})).unwrap();
    assert!(!driver.run.can_fix_now(&driver.definition), "a reviewer fixes nothing");
    assert!(driver.given("comments_to_verify").unwrap().contains("per client"));
    driver.report("pass", json!({})).unwrap();
    assert_eq!((driver.item_state(), driver.ended().as_str()), (PersonItemState::Verified, "success"));
}

#[test]
fn a_note_comes_with_the_next_attempt() {
    let mut driver = TestRun::started(REVIEWED);
    driver.report("fail", json!({})).unwrap();
    assert_eq!(driver.ended().as_str(), "blocked");
    let note = Some("the port is 8081".to_owned());
    driver.give(RunInput::Reopen { params: serde_json::Map::new(), note, now: 7 }).unwrap();
    assert_eq!(driver.given("messages_from_the_user").as_deref(), Some("- the port is 8081"));
}
