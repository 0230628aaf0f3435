//! Tests of what reports and answers may say: every mistake is named at once, and what others said stays.

use serde_json::{Map, Value as Json, json};

use super::driver::{TestRun, object};
use crate::workflow::name::StepOutcome;
use crate::workflow::run::{
    AnswerAuthor, CommandExit, FileState, InputRefusal, ReviewItemStatus, RunEvent, RunInput, UserAnswer,
};

fn set(driver: &mut TestRun, set: Json) -> Result<(), InputRefusal> {
    let ticket = driver.ticket();
    let (outcome, set, seen) = (Some(StepOutcome::OK), object(set), FileState::default());
    driver.give(RunInput::Report { ticket, outcome, set, result: Map::new(), seen, now: 0 })
}

fn answer(driver: &mut TestRun, value: Json) {
    let ticket = driver.ticket();
    driver.give(RunInput::Answer { ticket, answer: UserAnswer::Value(value), by: AnswerAuthor::User, now: 0 }).unwrap();
}

fn refusal(result: Result<(), InputRefusal>) -> String {
    result.expect_err("it is refused").to_string()
}

#[test]
fn a_report_cannot_change_what_the_user_answered_or_a_command_printed() {
    let text = "name: w\nvariables: {note: {type: string}}\nsteps:\n- {id: ask, type: question, prompt: Go?, options: ['yes', 'no'], store: go}\n- {id: run, type: command, command: [echo, x], store: printed}\n- {id: work, type: agent, next: {ok: stop, fail: end}}\n- {id: stop, type: end, message: '{go} {printed} {note}'}\n";
    let mut driver = TestRun::started(text);
    answer(&mut driver, json!("no"));
    driver.execute(0, "x");
    assert!(refusal(set(&mut driver, json!({"go": "yes"}))).contains("it is the user's answer"));
    assert!(refusal(set(&mut driver, json!({"printed": "y"}))).contains("it is what a command returned"));
    set(&mut driver, json!({"note": "fine"})).unwrap();
    assert_eq!(driver.ended(), "success no x fine");
}

#[test]
fn a_report_cannot_set_what_another_step_reports() {
    let text = "name: w\nvariables: {mood: {type: enum, values: [low, high], default: low}}\nsteps:\n- {id: first, type: agent, next: {ok: judge, fail: end}}\n- {id: judge, type: agent, result: {mood: {type: enum, values: [low, high]}}, next: {ok: stop, fail: end}}\n- {id: stop, type: end, message: '{mood}'}\n";
    let mut driver = TestRun::started(text);
    assert_eq!(refusal(set(&mut driver, json!({"mood": "high"}))), "`mood`: another step reports it");
    driver.report("ok", json!({})).unwrap();
    driver.report("ok", json!({"mood": "HIGH"})).unwrap();
    assert_eq!(driver.ended(), "success high");
}

#[test]
fn all_mistakes_of_a_report_are_named_together_and_nothing_is_kept() {
    let text = "name: w\nvariables: {go: {type: string, default: ''}}\nsteps:\n- {id: ask, type: question, prompt: Go?, options: ['yes', 'no'], store: go, next: {'yes': work, 'no': work}}\n- {id: work, type: agent, result: {n: {type: int, min: 1}, many: {type: list, max: 1, fields: {id: string}}, note: {type: string, default: none}}, next: {ok: stop, fail: end}}\n- {id: stop, type: end, message: '{go} {steps.work.result.n} {steps.work.result.note}'}\n";
    let mut driver = TestRun::started(text);
    answer(&mut driver, json!("no"));
    let ticket = driver.ticket();
    let report = |outcome: &str, set: Json, result: Json| RunInput::Report {
        ticket: ticket.clone(),
        outcome: Some(StepOutcome::new(outcome)),
        set: object(set),
        result: object(result),
        seen: FileState::default(),
        now: 0,
    };
    let wrong = report("done", json!({"go": "yes", "zz": 1}), json!({"n": 0, "many": [{"id": "a"}, {}], "more": true}));
    assert_eq!(
        refusal(driver.give(wrong)),
        "`go`: it is the user's answer, which a report cannot change; `zz`: there is no such variable; the step can end with ok, fail; the result is not what was asked for: `n`: 0 is too little: the least is 1; `many`: 2 items is too much: the most is 1; item 2: `id` is missing; `more` is not declared"
    );
    assert_eq!(refusal(driver.give(report("done", json!({}), json!({})))), "the step can end with ok, fail");
    driver.give(report("ok", json!({}), json!({"n": 2, "many": [], "note": null}))).unwrap();
    assert_eq!(driver.ended(), "success no 2 none", "what may be left out may be nothing");
}

#[test]
fn one_answer_to_a_question_with_several_is_a_list_of_one() {
    let text = "name: w\nsteps:\n- {id: ask, type: question, prompt: Which?, multiple: true, options: [unit, e2e, lint], store: kinds}\n- {id: stop, type: end, message: '{kinds}'}\n";
    for (said, kept) in [
        (json!("unit"), "unit"),
        (json!("2"), "e2e"),
        (json!(3), "lint"),
        (json!("Unit, lint"), "unit, lint"),
        (json!(["e2e"]), "e2e"),
    ] {
        let mut driver = TestRun::started(text);
        answer(&mut driver, said);
        assert_eq!(driver.ended(), format!("success {kept}"));
    }
    let free = "name: w\nsteps:\n- {id: ask, type: question, prompt: Which?, multiple: true, store: kinds}\n- {id: stop, type: end, message: '{kinds}'}\n";
    let mut driver = TestRun::started(free);
    answer(&mut driver, json!("one, two"));
    assert_eq!(driver.ended(), "success one, two");
}

#[test]
fn a_question_that_is_given_up_says_why() {
    let text = "name: w\nsteps:\n- {id: ask, type: question, prompt: Which?, options: [a, b], next: {ok: end, declined: end}}\n";
    let mut driver = TestRun::started(text);
    for _ in 0..3 {
        answer(&mut driver, json!("c"));
    }
    let told = driver.log.iter().find_map(|event| match event {
        RunEvent::Executed { reason, .. } => reason.clone(),
        _ => None,
    });
    let why = "3 answers were not accepted, the last one because `c` is none of a, b";
    assert_eq!(told.as_deref(), Some(why));
}

#[test]
fn items_of_a_list_have_their_declared_fields_and_every_mistake_is_named() {
    let text = "name: w\nsteps:\n- id: look\n  type: agent\n  result:\n    found: {type: list, fields: {file: string, severity: {type: enum, values: [high, low]}, line: {type: int, default: 0}}}\n  next: {ok: end, fail: end}\n";
    let mut driver = TestRun::started(text);
    let wrong = json!({"found": [
        {"file": "a.rs", "severity": "urgent"},
        "b.rs",
        {"severity": "LOW", "line": "x"},
        {"file": "c.rs", "severity": "high"},
    ]});
    assert_eq!(
        refusal(driver.report("ok", wrong)),
        "the result is not what was asked for: `found`: item 1: `severity`: \"urgent\" is none of high, low; item 2: \"b.rs\" is not an object; item 3: `file` is missing; `line`: \"x\" is not an int"
    );
    driver.report("ok", json!({"found": [{"file": "a.rs", "severity": "HIGH", "why": "because"}]})).unwrap();
    let kept = driver.log.iter().find_map(|event| match event {
        RunEvent::Resulted { result, .. } => Some(Json::Object(result.clone())),
        _ => None,
    });
    assert_eq!(kept, Some(json!({"found": [{"file": "a.rs", "severity": "high", "line": 0}]})));
}

#[test]
fn every_mistake_in_the_items_of_a_review_is_named() {
    let text = "name: w\nreviews: {quality: {}}\nsteps:\n- {id: split, type: agent, review: {name: quality, part: decompose}, next: {ok: judge, fail: end}}\n- {id: judge, type: agent, review: {name: quality, part: verify}, next: {ok: end, fail: end}}\n";
    let mut driver = TestRun::started(text);
    let items = json!({"items": [{"id": "a", "check": "x", "severity": "HIGH"}, {"id": "b", "severity": "must"}]});
    let told = refusal(driver.report("ok", items));
    assert!(told.contains("item a: `severity` is MUST, SHOULD or COULD, not `HIGH`"), "{told}");
    assert!(told.contains("item b has no `check`"), "{told}");
    let right = json!({"items": [{"id": "a", "check": "x", "severity": "Must"}, {"id": "b", "check": "y", "severity": "could"}]});
    driver.report("ok", right).unwrap();
    let told = refusal(driver.report("ok", json!({"items": [{"id": "a", "status": "fine"}]})));
    assert!(told.contains("item a: `status` is pass or fail; item b is not judged"), "{told}");
}

#[test]
fn a_required_parameter_that_says_nothing_is_refused() {
    let text = "name: w\nparams: {goal: {type: string, required: true}}\nsteps:\n- {id: a, type: end}\n";
    let mut driver = TestRun::new(text);
    assert_eq!(refusal(driver.start(json!({"goal": "  "}))), "`goal`: required, but empty");
    driver.start(json!({"goal": "x"})).unwrap();
}

#[test]
fn all_mistakes_in_parameters_are_named_together() {
    let text = "name: w\nparams: {goal: {type: string, required: true}, size: {type: enum, values: [small, large], default: small}, most: {type: int, max: 5, default: 1}}\nsteps:\n- {id: a, type: end}\n";
    let mut driver = TestRun::new(text);
    assert_eq!(
        refusal(driver.start(json!({"goal": "", "size": "huge", "most": 9, "gaol": "x"}))),
        "`goal`: required, but empty; `gaol`: there is no such parameter; did you mean `goal`?; `size`: \"huge\" is none of small, large; `most`: 9 is too much: the most is 5"
    );
    assert_eq!(
        refusal(driver.start(json!({"most": "x"}))),
        "`goal`: required, but not given; `most`: \"x\" is not an int"
    );
}

const EXHAUSTED: &str = "name: w\nreviews: {quality: {}}\nsteps:\n- {id: split, type: agent, review: {name: quality, part: decompose}, next: {ok: judge, fail: end}}\n- {id: judge, type: agent, review: {name: quality, part: verify}, next: {ok: gate, fail: gate}}\n- {id: gate, type: gate, review: quality, max_rounds: 1, next: {pass: end, fail: judge, exhausted: stop}}\n- {id: stop, type: end, status: blocked}\n";

/// A run at a gate whose rounds are used up.
fn at_exhausted_gate() -> TestRun {
    let mut driver = TestRun::started(EXHAUSTED);
    driver.report("ok", json!({"items": [{"id": "a", "check": "x", "severity": "SHOULD"}]})).unwrap();
    driver.report("ok", json!({"items": [{"id": "a", "status": "fail", "finding": "wrong"}]})).unwrap();
    driver
}

#[test]
fn an_agent_cannot_let_a_risk_pass_or_grant_itself_rounds() {
    let mut driver = at_exhausted_gate();
    let decide = |driver: &mut TestRun, word: &str, by| {
        let (ticket, answer) = (driver.ticket(), UserAnswer::Value(json!(word)));
        driver.give(RunInput::Answer { ticket, answer, by, now: 0 })
    };
    for word in ["accept", "continue"] {
        assert_eq!(decide(&mut driver, word, AnswerAuthor::Agent), Err(InputRefusal::UsersDecision));
    }
    decide(&mut driver, "accept", AnswerAuthor::Script).unwrap();
    assert_eq!(driver.ended(), "success");
    assert_eq!(driver.run.accepted_risks[0].by, AnswerAuthor::Script, "the record names its author");
    let mut driver = at_exhausted_gate();
    decide(&mut driver, "abort", AnswerAuthor::Agent).unwrap();
    assert_eq!(driver.ended(), "blocked");
}

const REVIEWED: &str = "name: w\nreviews: {r: {}}\nsteps:\n- {id: list, type: agent, review: {name: r, part: decompose}, next: {ok: look, fail: stop}}\n- {id: look, type: dispatch, mode: single, call: helper, review: {name: r, part: verify}, max_visits: 5, next: {ok: gate, fail: stop, partial: stop, exhausted: stop}}\n- {id: gate, type: gate, review: r, next: {pass: end, fail: fix, exhausted: stop}}\n- {id: fix, type: agent, review: {name: r, part: fix}, max_visits: 5, next: {ok: look, fail: stop, exhausted: stop}}\n- {id: stop, type: end, status: failure}\n";

/// A run in which a called reviewer judged two items, the first of which failed.
fn judged_by_callee() -> TestRun {
    let mut driver = TestRun::started(REVIEWED);
    let items = json!({"items": [
        {"id": "a", "check": "A holds", "severity": "MUST", "scope": "src/a.rs"},
        {"id": "b", "check": "B holds", "severity": "MUST", "scope": "src/b.rs"},
    ]});
    driver.report("ok", items).unwrap();
    judge(
        &mut driver,
        &json!([
            {"id": "a", "status": "fail", "finding": "no"},
            {"id": "b", "status": "pass", "evidence": "seen"},
        ]),
    );
    assert_eq!(driver.at(), "fix");
    driver
}

fn judge(driver: &mut TestRun, items: &Json) {
    let (ticket, outcome) = (driver.ticket(), StepOutcome::OK);
    let result = object(json!({"items": items}));
    let seen = FileState { tree: Some("aaaa".to_owned()), changed: None };
    driver.give(RunInput::ChildRunEnded { ticket, outcome, result, seen, now: 0 }).unwrap();
}

fn fix(driver: &mut TestRun, changed: &[&str]) {
    let seen = FileState {
        tree: Some("bbbb".to_owned()),
        changed: Some(changed.iter().map(|&file| file.to_owned()).collect()),
    };
    let (ticket, outcome) = (driver.ticket(), Some(StepOutcome::OK));
    driver.give(RunInput::Report { ticket, outcome, set: Map::new(), result: Map::new(), seen, now: 0 }).unwrap();
}

#[test]
fn a_called_reviewers_verdict_carries_the_tree_that_it_saw() {
    let mut driver = judged_by_callee();
    assert_eq!(driver.run.reviewed(&driver.definition), Some("aaaa"));
    fix(&mut driver, &["src/a.rs"]);
    assert_eq!(driver.at(), "look");
    judge(&mut driver, &json!([{"id": "a", "status": "pass", "evidence": "seen"}]));
    assert_eq!(driver.ended(), "success", "the item about another file is not looked at again");
}

#[test]
fn a_fix_that_changes_a_file_reopens_what_is_about_it() {
    let mut driver = judged_by_callee();
    fix(&mut driver, &["src/a.rs", "src/b.rs"]);
    let open = driver.run.frames[0].reviews.values().flatten().filter(|item| item.status == ReviewItemStatus::Todo);
    assert_eq!(open.count(), 2);
}

#[test]
fn a_verify_step_with_nothing_open_is_skipped() {
    let text = "name: w\nreviews: {r: {}}\nsteps:\n- {id: list, type: agent, review: {name: r, part: decompose}, next: {ok: look, fail: stop}}\n- {id: look, type: agent, review: {name: r, part: verify}, next: {ok: again, fail: stop}}\n- {id: again, type: agent, review: {name: r, part: verify}, next: {ok: gate, fail: stop}}\n- {id: gate, type: gate, review: r, max_rounds: 1, next: {pass: end, fail: list, exhausted: stop}}\n- {id: stop, type: end, status: failure}\n";
    let mut driver = TestRun::started(text);
    driver.report("ok", json!({"items": [{"check": "A", "severity": "MUST"}]})).unwrap();
    driver.report("ok", json!({"items": [{"id": "1", "status": "pass", "evidence": "seen"}]})).unwrap();
    assert_eq!(driver.ended(), "success");
    assert!(driver.log.iter().any(|event| matches!(event, RunEvent::Skipped { step } if step.as_str() == "again")));
}

#[test]
fn what_changed_after_its_review_is_judged_again_before_a_check_of_the_gate() {
    let text = "name: w\nreviews: {r: {}}\nsteps:\n- {id: list, type: agent, review: {name: r, part: decompose}, next: {ok: look, fail: stop}}\n- {id: look, type: dispatch, mode: single, call: helper, review: {name: r, part: verify}, max_visits: 5, next: {ok: test, fail: stop, partial: stop, exhausted: stop}}\n- {id: test, type: command, command: [make, test], next: {ok: gate, fail: gate}}\n- {id: gate, type: gate, review: r, checks: [test], next: {pass: end, fail: fix, exhausted: stop}}\n- {id: fix, type: agent, review: {name: r, part: fix}, max_visits: 5, next: {ok: look, fail: stop, exhausted: stop}}\n- {id: stop, type: end, status: failure}\n";
    let judged = |changed: &[&str]| {
        let mut driver = TestRun::started(text);
        let item = |id: &str, file: &str| json!({"id": id, "check": "it holds", "severity": "MUST", "scope": file});
        driver.report("ok", json!({"items": [item("a", "src/a.rs"), item("b", "src/b.rs")]})).unwrap();
        let pass = |id: &str| json!({"id": id, "status": "pass", "evidence": "seen"});
        judge(&mut driver, &json!([pass("a"), pass("b")]));
        assert_eq!(driver.run.reviewed(&driver.definition), Some("aaaa"), "the check is about what was reviewed");
        let changed = changed.iter().map(|&file| file.to_owned()).collect();
        let (ticket, seen) = (driver.ticket(), FileState { tree: Some("bbbb".to_owned()), changed: Some(changed) });
        driver.give(RunInput::Started { ticket: ticket.clone(), seen, now: 0 }).unwrap();
        let finish = CommandExit::Exited { code: 0, output: String::new() };
        driver.give(RunInput::Finished { ticket, finish, now: 0 }).unwrap();
        driver
    };
    assert_eq!(judged(&[]).ended(), "success");
    assert_eq!(judged(&["docs/other.md"]).ended(), "success", "no item is about it");
    let driver = judged(&["src/a.rs"]);
    assert_eq!(driver.at(), "fix");
    let reason = driver.run.frames[0].refusals.values().flatten().next().unwrap();
    assert_eq!(reason, "MUST a: changed after it was judged: src/a.rs");
    assert_eq!(driver.run.frames[0].refusals.values().flatten().count(), 1, "the other item stays as it is");
}
