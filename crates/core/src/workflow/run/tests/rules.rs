//! Tests of the engine, rule by rule.

use serde_json::{Map, json};

use super::driver::{TestRun, id, object, workflow};
use crate::workflow::name::StepOutcome;
use crate::workflow::run::{
    AnswerAuthor, AwaitedParty, CommandExit, CommandSpec, FileState, GivenArgument, InputRefusal, PendingEffect,
    RecoveryChoice, RunEvent, RunInput, RunStatus, UserAnswer, awaited_party,
};

const TWO_AGENTS: &str = "name: w\nvariables: {n: {type: int, default: 0}}\nsteps:\n- {id: a, type: agent, result: {found: list}, next: {ok: b, fail: end}}\n- {id: b, type: agent, when: n < 9, next: {ok: end, fail: stop}}\n- {id: stop, type: end, status: blocked, message: 'n is {n}, found {steps.a.result.found}'}\n";

#[test]
fn an_agent_walks_from_ticket_to_ticket() {
    let mut driver = TestRun::started(TWO_AGENTS);
    assert!(driver.ticket().as_str().starts_with("a#1."), "{}", driver.ticket());
    assert_eq!(awaited_party(&driver.run), Some(AwaitedParty::Agent));
    driver.report("ok", json!({"found": ["x", "y"]})).unwrap();
    let ticket = driver.ticket();
    let set = object(json!({"n": "5"}));
    let outcome = Some(StepOutcome::FAIL);
    driver
        .give(RunInput::Report {
            ticket,
            outcome,
            set,
            result: Map::new(),
            seen: crate::workflow::run::FileState::default(),
            now: 0,
        })
        .unwrap();
    assert_eq!(driver.ended(), "blocked n is 5, found x, y");
}

#[test]
fn an_old_or_forged_ticket_is_refused_with_the_current_one_and_the_same_words_change_nothing() {
    let mut driver = TestRun::started(TWO_AGENTS);
    let first = driver.ticket();
    let result = object(json!({"found": []}));
    let report = |ticket, outcome: &str| RunInput::Report {
        ticket,
        outcome: Some(StepOutcome::new(outcome)),
        set: Map::new(),
        result: result.clone(),
        seen: crate::workflow::run::FileState::default(),
        now: 0,
    };
    driver.give(report(first.clone(), "ok")).unwrap();
    let after = driver.run.clone();
    driver.give(report(first.clone(), "ok")).unwrap();
    assert_eq!(driver.run, after);
    let current = vec![driver.ticket()];
    assert_eq!(driver.give(report(first, "fail")), Err(InputRefusal::Ticket(current.clone())));
    let forged = crate::workflow::run::Ticket::quoted("b#1.000000");
    assert_eq!(driver.give(report(forged, "ok")), Err(InputRefusal::Ticket(current)));
    assert_eq!(driver.run, after);
}

#[test]
fn what_does_not_fit_is_refused_and_the_directive_stays() {
    let mut driver = TestRun::started(TWO_AGENTS);
    let possible = vec![StepOutcome::OK, StepOutcome::FAIL];
    assert_eq!(driver.report("iterate", json!({"found": []})), Err(InputRefusal::Outcome(possible)));
    assert!(matches!(driver.report("ok", json!({})), Err(InputRefusal::Result(_))));
    assert!(matches!(driver.report("ok", json!({"found": "x"})), Err(InputRefusal::Result(_))));
    assert!(matches!(driver.report("ok", json!({"found": [], "more": 1})), Err(InputRefusal::Result(_))));
    let (ticket, set) = (driver.ticket(), object(json!({"m": 1})));
    let report = RunInput::Report {
        ticket,
        outcome: None,
        set,
        result: Map::new(),
        seen: crate::workflow::run::FileState::default(),
        now: 0,
    };
    let refusal = driver.give(report).unwrap_err().to_string();
    assert_eq!(refusal, "`m`: there is no such variable; the result is not what was asked for: `found` is missing");
    assert_eq!(driver.at(), "a");
    driver.report("fail", json!({})).unwrap();
    assert_eq!(driver.ended(), "success");
}

#[test]
fn only_who_did_it_must_say_what_came_of_it() {
    let text = "name: w\nsteps:\n- {id: a, type: agent, outcomes: [ok, skip], result: {n: int}, next: {ok: end, skip: b}}\n- {id: b, type: end, status: blocked}\n";
    let mut driver = TestRun::started(text);
    assert!(matches!(driver.report("ok", json!({})), Err(InputRefusal::Result(_))));
    assert!(matches!(driver.report("skip", json!({"n": "x"})), Err(InputRefusal::Result(_))));
    driver.report("skip", json!({})).unwrap();
    assert_eq!(driver.ended(), "blocked");
}

#[test]
fn parameters_are_checked_before_anything_happens() {
    let text = "name: w\nparams: {count: {type: int, required: true}, note: {type: string, default: hi}}\nsteps:\n- {id: a, type: end, message: '{note} {params.count}'}\n";
    let mut driver = TestRun::new(text);
    for params in [json!({}), json!({"count": "x"}), json!({"count": 1, "cuont": 2})] {
        assert!(matches!(driver.start(params), Err(InputRefusal::Value { .. })));
    }
    assert_eq!(driver.run.status, RunStatus::New);
    driver.start(json!({"count": "3"})).unwrap();
    assert_eq!(driver.ended(), "success hi 3");
    assert_eq!(driver.start(json!({"count": 1})), Err(InputRefusal::Over));
}

#[test]
fn a_limit_of_five_means_five_investigations() {
    let text = "name: w\nsteps:\n- id: look\n  type: agent\n  max_visits: 5\n  result: {sure: bool, seen: {type: list, append: true}}\n  outcome_from: [{when: result.sure, outcome: ok}, {else: iterate}]\n  next: {ok: end, iterate: look, exhausted: capped}\n- {id: capped, type: end, status: failure, message: 'seen {steps.look.result.seen}'}\n";
    let mut driver = TestRun::started(text);
    for round in 1..=5 {
        assert_eq!(driver.at(), "look");
        driver.report("ok", json!({"sure": false, "seen": [round]})).unwrap();
    }
    assert_eq!(driver.visits("look"), 5);
    assert_eq!(driver.ended(), "failure seen 1, 2, 3, 4, 5");
    let mut driver = TestRun::started(text);
    driver.report("ok", json!({"sure": true, "seen": []})).unwrap();
    assert_eq!(driver.ended(), "success");
}

#[test]
fn commands_are_started_finished_retried_and_stored() {
    let text = "name: w\nvariables: {files: list}\nparams: {dir: {type: string, default: a b}}\nsteps:\n- {id: a, type: command, command: 'ls -- {dir} *.md', parse: lines, store: files, retry: 1}\n- {id: b, type: command, command: [cat, {spread: files}], next: {fail: end}}\n";
    let mut driver = TestRun::started(text);
    let PendingEffect::Execute { order: CommandSpec::Program { program, arguments }, .. } = driver.effect() else {
        panic!()
    };
    let expected =
        [GivenArgument::Text("--".into()), GivenArgument::Text("a b".into()), GivenArgument::Glob("*.md".into())];
    assert_eq!((program.as_str(), arguments.as_slice()), ("ls", &expected[..]));
    let first = driver.ticket();
    driver.execute(2, "");
    assert_ne!(driver.ticket(), first, "another try has another ticket");
    driver.execute(0, "one\n\n two \n");
    let PendingEffect::Execute { order: CommandSpec::Program { arguments, .. }, .. } = driver.effect() else {
        panic!()
    };
    assert_eq!(arguments, [GivenArgument::Text("one".into()), GivenArgument::Text("two".into())]);
    driver.execute(1, "");
    assert_eq!(driver.ended(), "success");
}

#[test]
fn a_value_that_would_be_an_option_is_never_given() {
    for (command, value, runs) in [
        ("echo {p}", "-rf", false),
        ("echo -- {p}", "-rf", true),
        ("echo --name={p}", "-rf", true),
        ("echo {p}..end", "--output=x", false),
        ("echo {empty}{p}", "--output=x", false),
        ("echo -- {p}..end", "--output=x", true),
        ("echo {free}{p}", "x", true),
        ("echo {p}", "; rm $(x) `y` {z}", true),
        ("echo {p}", "a\0b", false),
    ] {
        let text = format!(
            "name: w\nparams: {{p: string, empty: {{type: string, default: ''}}, free: {{type: string, default: '-', allow_leading_dash: true}}}}\nsteps:\n- {{id: a, type: command, command: '{command}', next: {{fail: no}}}}\n- {{id: b, type: end}}\n- {{id: no, type: end, status: blocked}}\n"
        );
        let mut driver = TestRun::new(&text);
        driver.start(json!({"p": value})).unwrap();
        assert_eq!(driver.run.is_over(), !runs, "{command} {value}");
        if runs {
            let PendingEffect::Execute { order: CommandSpec::Program { arguments, .. }, .. } = driver.effect() else {
                panic!()
            };
            assert!(matches!(arguments.last(), Some(GivenArgument::Text(text)) if text.contains(value)));
        }
    }
}

#[test]
fn an_unrouted_failure_ends_the_run_by_name_and_an_optional_one_is_recorded() {
    let text = "name: w\nsteps:\n- {id: a, type: command, command: x, effect: read, optional: true}\n- {id: b, type: command, command: y}\n";
    let mut driver = TestRun::started(text);
    driver.execute(1, "");
    assert!(driver.log.contains(&RunEvent::Tolerated { step: id("a"), outcome: StepOutcome::FAIL }));
    driver.execute(1, "");
    assert_eq!(driver.ended(), "failure `b` ended with `fail`, which has no route");
}

#[test]
fn a_lost_command_is_repeated_or_the_user_is_asked() {
    let text = "name: w\nsteps:\n- {id: a, type: command, command: x, effect: read}\n- {id: b, type: command, command: y}\n- {id: c, type: command, command: y}\n";
    let mut driver = TestRun::started(text);
    let lose = |driver: &mut TestRun| {
        let ticket = driver.ticket();
        driver.give(RunInput::Started { ticket: ticket.clone(), seen: FileState::default(), now: 0 }).unwrap();
        driver.give(RunInput::Lost { ticket, now: 0 }).unwrap();
    };
    lose(&mut driver);
    driver.execute(0, "");
    lose(&mut driver);
    assert_eq!(awaited_party(&driver.run), Some(AwaitedParty::Consent));
    let consent = |driver: &mut TestRun, choice| {
        let ticket = driver.ticket();
        driver.give(RunInput::Consent { ticket, choice, now: 0 }).unwrap();
    };
    consent(&mut driver, RecoveryChoice::Again);
    driver.execute(0, "");
    lose(&mut driver);
    assert!(matches!(driver.answer("perhaps"), Err(InputRefusal::Outcome(_))));
    driver.answer("again").unwrap();
    lose(&mut driver);
    consent(&mut driver, RecoveryChoice::Done);
    assert_eq!(driver.ended(), "success");
}

#[test]
fn a_question_is_asked_again_with_the_reason_and_three_times_at_most() {
    let text = "name: w\nvariables: {role: string}\nvalidators: {known: {command: 'has {answer}'}}\nsteps:\n- {id: a, type: question, prompt: who, options: {type: command, command: roles}, validate: known, store: role, next: {ok: b, declined: no}}\n- {id: b, type: end, message: '{role}'}\n- {id: no, type: end, status: blocked}\n";
    let mut driver = TestRun::started(text);
    driver.execute(0, "dev\nqa\n");
    driver.answer("chef").unwrap();
    let PendingEffect::Ask { asked, .. } = driver.effect() else { panic!() };
    assert_eq!(asked.refused.as_deref(), Some("`chef` is none of dev, qa"));
    driver.answer("qa").unwrap();
    let PendingEffect::Execute { order: CommandSpec::Program { arguments, .. }, .. } = driver.effect() else {
        panic!()
    };
    assert_eq!(arguments, [GivenArgument::Text("qa".into())]);
    driver.execute(1, "no such role\n");
    let PendingEffect::Ask { asked, .. } = driver.effect() else { panic!() };
    assert_eq!(asked.refused.as_deref(), Some("no such role"));
    driver.answer("dev").unwrap();
    driver.execute(0, "");
    assert_eq!(driver.ended(), "success dev");
    let mut driver = TestRun::started(text);
    driver.execute(0, "dev");
    for _ in 0..3 {
        driver.answer("nonsense").unwrap();
    }
    assert_eq!(driver.ended(), "blocked");
}

#[test]
fn an_option_with_a_way_of_its_own_is_the_outcome() {
    let text = "name: w\nsteps:\n- {id: a, type: question, prompt: go, options: [left, right, on], next: {left: l, ok: end, cancelled: l}}\n- {id: l, type: end, status: blocked}\n";
    for (answer, ended) in [("left", "blocked"), ("right", "success")] {
        let mut driver = TestRun::started(text);
        driver.answer(answer).unwrap();
        assert_eq!(driver.ended(), ended);
    }
    let mut driver = TestRun::started(text);
    let ticket = driver.ticket();
    driver.give(RunInput::Answer { ticket, answer: UserAnswer::Declined, by: AnswerAuthor::User, now: 0 }).unwrap();
    assert_eq!(driver.ended(), "failure `a` ended with `declined`, which has no route");
}

#[test]
fn time_that_runs_out_is_an_outcome() {
    let text = "name: w\nsteps:\n- {id: a, type: agent, timeout: 10, next: {ok: end, fail: end, timeout: late}}\n- {id: late, type: end, status: blocked}\n";
    let mut driver = TestRun::started(text);
    driver.give(RunInput::Elapsed { now: 9_999 }).unwrap();
    assert_eq!(driver.at(), "a");
    driver.give(RunInput::Elapsed { now: 10_000 }).unwrap();
    assert_eq!(driver.ended(), "blocked");
}

#[test]
fn a_paused_run_takes_no_report_and_a_cancelled_one_nothing() {
    let mut driver = TestRun::started(TWO_AGENTS);
    driver.give(RunInput::Pause).unwrap();
    assert_eq!(driver.give(RunInput::Elapsed { now: 5 }), Err(InputRefusal::Paused));
    driver.give(RunInput::Resume).unwrap();
    assert_eq!(driver.give(RunInput::Resume), Err(InputRefusal::NotPaused));
    driver.give(RunInput::Cancel).unwrap();
    assert_eq!(driver.give(RunInput::Resume), Err(InputRefusal::Over));
}

#[test]
fn a_step_that_no_session_can_pass_fails_its_workflow_with_the_reason() {
    let mut driver = TestRun::started(TWO_AGENTS);
    let abandon = |ticket| RunInput::Abandon { ticket, reason: "no report was accepted".into(), now: 5 };
    assert!(matches!(
        driver.give(abandon(crate::workflow::run::Ticket::quoted("a#9.x"))),
        Err(InputRefusal::Ticket(_))
    ));
    let ticket = driver.ticket();
    driver.give(abandon(ticket)).unwrap();
    assert_eq!(driver.ended(), "failure stopped at `a`: no report was accepted");
}

#[test]
fn a_called_workflow_that_is_given_up_is_a_failure_for_its_caller() {
    let main = "name: w\nsteps:\n- {id: a, type: call, workflow: helper, next: {ok: end, fail: b, blocked: b}}\n- {id: b, type: end, status: blocked, message: '{steps.a.result.error}'}\n";
    let helper = "name: helper\nsteps:\n- {id: x, type: agent, next: {ok: end, fail: end}}\n";
    let mut driver = TestRun::new(main);
    driver.definition.callees.insert("helper".into(), workflow(helper));
    driver.start(json!({})).unwrap();
    let ticket = driver.ticket();
    driver.give(RunInput::Abandon { ticket, reason: "no report was accepted".into(), now: 5 }).unwrap();
    assert_eq!(driver.ended(), "blocked stopped at `x`: no report was accepted");
}

#[test]
fn a_call_has_a_frame_of_its_own_and_its_end_is_the_outcome() {
    let main = "name: w\nsteps:\n- {id: a, type: call, workflow: helper, max_visits: 2, next: {ok: a, fail: end, blocked: end, exhausted: b}}\n- {id: b, type: end}\n";
    let helper = "name: helper\nvariables: {n: {type: int, default: 1}}\nsteps:\n- {id: a, type: agent, next: {ok: end, fail: stop}}\n- {id: stop, type: end, status: blocked}\noutputs: {n: '{n}'}\n";
    let mut driver = TestRun::new(main);
    driver.definition.callees.insert("helper".into(), workflow(helper));
    driver.start(json!({})).unwrap();
    for _ in 0..2 {
        assert_eq!(driver.run.frames.len(), 2);
        assert_eq!(driver.run.frame().unwrap().visits[&id("a")], 1, "visits count per frame");
        driver.report("ok", json!({})).unwrap();
    }
    assert_eq!(driver.run.frames[0].results[&id("a")], object(json!({"n": 1})));
    assert_eq!(driver.ended(), "success");
}

#[test]
fn why_a_call_did_not_go_well_is_told_to_whoever_called() {
    let main = "name: w\nsteps:\n- {id: a, type: call, workflow: helper, max_visits: 2, next: {ok: a, fail: stop, blocked: stop, exhausted: end}}\n- {id: stop, type: end, status: failure, message: 'It stopped: {steps.a.result.error}'}\n";
    let helper = "name: helper\nsteps:\n- {id: a, type: agent, next: {ok: well, fail: stop}}\n- {id: well, type: end, message: All is well}\n- {id: stop, type: end, status: blocked, message: No way found}\n";
    let mut driver = TestRun::new(main);
    driver.definition.callees.insert("helper".into(), workflow(helper));
    driver.start(json!({})).unwrap();
    driver.report("ok", json!({})).unwrap();
    assert_eq!(driver.run.frames[0].results[&id("a")], object(json!({})), "what went well has no error");
    driver.report("fail", json!({})).unwrap();
    let RunStatus::Ended(ending) = &driver.run.status else { panic!("{:?}", driver.run.status) };
    assert_eq!(ending.message.as_deref(), Some("It stopped: No way found"));
}

const REVIEWED: &str = "name: w\nreviews: {code: {}}\nsteps:\n- {id: work, type: agent, review: {name: code, part: fix}, next: {ok: plan, fail: end}}\n- {id: plan, type: agent, review: {name: code, part: decompose}, next: {ok: look, fail: end}}\n- {id: look, type: dispatch, for_each: reviews.code.open, group: 2, prompt: 'Look at {item}', review: {name: code, part: verify}, max_visits: 20, next: {ok: test, fail: test, partial: test, exhausted: end}}\n- {id: test, type: command, command: cargo test, effect: read, next: {ok: gate, fail: gate}}\n- {id: gate, type: gate, review: code, checks: [test], max_rounds: 5, next: {pass: end, fail: work, exhausted: stop}}\n- {id: stop, type: end, status: failure}\n";

/// Judges every open item, `bad` ones as failed.
fn review(driver: &mut TestRun, bad: &[&str]) {
    while let PendingEffect::Delegate { ticket, child, .. } = driver.effect() {
        let judged: Vec<_> = child
            .items
            .iter()
            .map(|item| {
                let item_id = item["id"].as_str().unwrap();
                assert!(item.get("finding").is_none(), "old verdicts are not shown");
                if bad.contains(&item_id) {
                    json!({"id": item_id, "status": "fail", "finding": "wrong"})
                } else {
                    json!({"id": item_id, "status": "pass", "evidence": "src/a.rs:1"})
                }
            })
            .collect();
        let result = object(json!({"items": judged}));
        driver
            .give(RunInput::Report {
                ticket,
                outcome: Some(StepOutcome::OK),
                set: Map::new(),
                result,
                seen: crate::workflow::run::FileState::default(),
                now: 0,
            })
            .unwrap();
    }
}

fn at_review() -> TestRun {
    let mut driver = TestRun::started(REVIEWED);
    driver.report("ok", json!({})).unwrap();
    let items = json!({"items": [
        {"check": "must hold", "severity": "MUST"}, {"check": "should", "severity": "should"}, {"check": "could", "severity": "COULD"}]});
    driver.report("ok", items).unwrap();
    driver
}

#[test]
fn a_gate_computes_its_verdict_and_lets_go_of_less_in_later_rounds() {
    for (bad, rounds) in [("3", 4), ("2", 5)] {
        let mut driver = at_review();
        for round in 1..=rounds {
            assert_eq!(driver.at(), "look", "round {round}");
            review(&mut driver, &[bad]);
            driver.execute(0, "");
            if round < rounds {
                driver.report("ok", json!({})).unwrap();
            }
        }
        assert_eq!(driver.ended(), "success");
        assert_eq!(driver.visits("plan"), rounds, "the plan step is passed by, not asked again");
        assert_eq!(driver.log.iter().filter(|event| matches!(event, RunEvent::ItemsAdded { .. })).count(), 1);
    }
}

#[test]
fn at_exhaustion_the_user_decides_and_the_risk_is_on_record() {
    let exhausted = |code| {
        let mut driver = at_review();
        for round in 1..=5 {
            review(&mut driver, &["1"]);
            driver.execute(code, "");
            if round < 5 {
                driver.report("ok", json!({})).unwrap();
            }
        }
        assert_eq!(awaited_party(&driver.run), Some(AwaitedParty::User));
        driver
    };
    let mut driver = exhausted(0);
    driver.answer("accept").unwrap();
    assert_eq!(driver.ended(), "success");
    assert_eq!(driver.run.accepted_risks[0].items[0].id, "1");
    let mut driver = exhausted(1);
    assert!(matches!(driver.answer("accept"), Err(InputRefusal::Outcome(_))), "a red check is no risk to accept");
    driver.answer("continue").unwrap();
    assert_eq!(driver.at(), "work");
    let mut driver = exhausted(0);
    driver.answer("abort").unwrap();
    assert_eq!(driver.ended(), "failure");
}

#[test]
fn checks_never_soften_and_a_red_one_never_ends_in_success() {
    let text = "name: w\nsteps:\n- {id: test, type: command, command: t, effect: read, max_visits: 9, next: {ok: gate, fail: gate, exhausted: end}}\n- {id: gate, type: gate, checks: [test], max_rounds: 6, pass_message: All is green., next: {pass: end, fail: test, exhausted: end}}\n";
    let mut driver = TestRun::started(text);
    for _ in 0..6 {
        driver.execute(1, "");
    }
    driver.answer("abort").unwrap();
    assert_eq!(driver.ended(), "failure the check `test` ended with `fail` when it was last executed");
    let mut driver = TestRun::started(text);
    driver.execute(1, "");
    driver.execute(0, "");
    assert_eq!(driver.ended(), "success");
    let shown = |event: &RunEvent| matches!(event, RunEvent::Shown { text, .. } if text == "All is green.");
    assert!(driver.log.iter().any(shown));
}

#[test]
fn an_empty_review_and_items_nobody_looked_at_fail() {
    let text = REVIEWED.replace("next: {ok: look, fail: end}", "next: {ok: look, fail: test}");
    let mut driver = TestRun::started(&text);
    driver.report("ok", json!({})).unwrap();
    driver.report("fail", json!({})).unwrap();
    driver.execute(0, "");
    assert_eq!(driver.at(), "work", "an empty review proves nothing");
}

#[test]
fn a_sub_agent_judges_its_own_items_only_and_with_evidence() {
    let mut driver = at_review();
    for items in [
        json!([{"id": "3", "status": "pass", "evidence": "x"}]),
        json!([{"id": "1", "status": "pass"}, {"id": "2", "status": "pass", "evidence": "x"}]),
        json!([{"id": "1", "status": "pass", "evidence": "x"}]),
        json!([{"id": "1", "status": "todo"}]),
    ] {
        assert!(matches!(driver.report("ok", json!({"items": items})), Err(InputRefusal::Result(_))));
    }
    assert_eq!(driver.run.frame().unwrap().reviews.values().next().unwrap().len(), 3);
}

#[test]
fn a_fix_resets_what_failed_and_what_it_touched() {
    let mut driver = TestRun::started(REVIEWED);
    driver.report("ok", json!({})).unwrap();
    let items = json!({"items": [
        {"check": "a", "severity": "MUST", "scope": "src/*.rs"}, {"check": "b", "severity": "MUST", "scope": ["docs/**"]}]});
    driver.report("ok", items).unwrap();
    review(&mut driver, &["1"]);
    driver.execute(0, "");
    let ticket = driver.ticket();
    let changed = Some(vec!["src/a.rs".to_owned()]);
    driver
        .give(RunInput::Report {
            ticket,
            outcome: Some(StepOutcome::OK),
            set: Map::new(),
            result: Map::new(),
            seen: crate::workflow::run::FileState { tree: None, changed },
            now: 0,
        })
        .unwrap();
    let PendingEffect::Delegate { child, .. } = driver.effect() else { panic!() };
    assert_eq!(child.items.len(), 1, "what is about other files stays as it is");
}

#[test]
fn children_report_in_any_order_and_the_outcome_is_theirs() {
    let text = "name: w\nsteps:\n- {id: a, type: dispatch, mode: roster, for_each: [{who: x}, {who: y}, {who: z}], prompt: 'As {item.who}', next: {ok: end, fail: f, partial: p}}\n- {id: f, type: end, status: failure}\n- {id: p, type: end, status: blocked}\n";
    for (outcomes, ended) in [(["ok"; 3], "success"), (["fail"; 3], "failure"), (["ok", "fail", "ok"], "blocked")] {
        let mut driver = TestRun::started(text);
        assert_eq!(awaited_party(&driver.run), Some(AwaitedParty::Subagents));
        let effects = crate::workflow::run::pending_effects(&driver.definition, &driver.run);
        for (effect, outcome) in effects.into_iter().zip(outcomes).rev() {
            let PendingEffect::Delegate { ticket, .. } = effect else { panic!() };
            let outcome = Some(StepOutcome::new(outcome));
            let input = RunInput::Report {
                ticket,
                outcome,
                set: Map::new(),
                result: Map::new(),
                seen: crate::workflow::run::FileState::default(),
                now: 0,
            };
            driver.give(input.clone()).unwrap();
            driver.give(input).unwrap();
        }
        assert_eq!(driver.ended(), ended);
    }
}

#[test]
fn output_is_cut_with_a_mark_and_an_event() {
    let text = "name: w\nvariables: {v: {type: string, max_length: 20}}\nsteps:\n- {id: a, type: command, command: x, store: v}\n- {id: b, type: end, message: '{v}'}\n";
    let mut driver = TestRun::started(text);
    let ticket = driver.ticket();
    driver.give(RunInput::Started { ticket: ticket.clone(), seen: FileState::default(), now: 0 }).unwrap();
    let finish = CommandExit::Exited { code: 0, output: "é".repeat(30) };
    driver.give(RunInput::Finished { ticket, finish, now: 0 }).unwrap();
    assert_eq!(driver.ended(), format!("success {}\n[cut]", "é".repeat(7)));
    assert!(driver.log.iter().any(|event| matches!(event, RunEvent::Cut { bytes: 46, .. })));
}

#[test]
fn a_huge_result_is_refused() {
    let mut driver = at_review();
    let evidence = "x".repeat(300_000);
    let items =
        json!([{"id": "1", "status": "pass", "evidence": evidence}, {"id": "2", "status": "pass", "evidence": "x"}]);
    assert!(matches!(driver.report("ok", json!({"items": items})), Err(InputRefusal::Result(_))));
}

#[test]
fn a_gate_of_a_called_workflow_finds_its_check_whatever_the_workflow_calls_itself() {
    let main = "name: w\nsteps:\n- {id: a, type: call, workflow: helper}\n";
    let helper = "name: other\nsteps:\n- {id: t, type: command, command: t, max_visits: 3, next: {ok: g, fail: g, exhausted: end}}\n- {id: g, type: gate, checks: [t], next: {pass: end, fail: t, exhausted: end}}\n";
    let mut driver = TestRun::new(main);
    driver.definition.callees.insert("helper".into(), workflow(helper));
    driver.start(json!({})).unwrap();
    driver.execute(1, "");
    driver.execute(0, "");
    assert_eq!(driver.ended(), "success");
}

#[test]
fn adr_004_with_its_names_supplied_runs_to_its_end() {
    let names = "params:\n  suggested_name: {type: string, default: Ptah}\n  mythology: {type: string, default: x}\n  mythology_text: {type: string, default: Old}\nvariables:\n  dashboard-output: {type: object, fields: {active_agents: int, tasks_in_progress: int, tasks_completed: int}}\nvalidators:\n  role-exists: {command: 's9 agent has {answer}'}\n";
    let text = include_str!("../../load/fixtures/session-start.yaml")
        .replace("    validate: role-exists\n", "    validate: role-exists\n    store: role\n")
        .replace("another one?\"\n", "another one?\"\n    store: name\n")
        .replace("command: s9 dashboard\n", "command: s9 dashboard\n    parse: json\n    store: dashboard-output\n");
    let mut driver = TestRun::started(&format!("{names}{text}"));
    driver.execute(0, "{\"active_agents\": 2, \"tasks_in_progress\": 1, \"tasks_completed\": 7, \"more\": 0}");
    driver.execute(0, "Builder\nTester\n");
    driver.answer("Tester").unwrap();
    driver.execute(0, "");
    driver.execute(0, "Ptah\n");
    driver.answer("Ptah; rm -rf /").unwrap();
    driver.execute(0, "2026-02-03\n");
    let PendingEffect::Execute { order: CommandSpec::Program { arguments, .. }, .. } = driver.effect() else {
        panic!()
    };
    assert_eq!(arguments[2], GivenArgument::Text("Ptah; rm -rf /".into()), "a name stays one argument");
    driver.execute(0, "17\n");
    driver.execute(1, "");
    driver.execute(2, "");
    driver.execute(0, "");
    assert_eq!(driver.ended(), "success");
    let shown: Vec<&str> = driver
        .log
        .iter()
        .filter_map(|event| match event {
            RunEvent::Shown { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(shown[0].contains("| Active agents    | 2 |"), "{shown:?}");
    assert_eq!(driver.log.iter().filter(|event| matches!(event, RunEvent::Tolerated { .. })).count(), 2);
}

#[test]
fn an_option_is_meant_by_its_words_in_any_case_or_by_its_number() {
    let text = "name: w\nsteps:\n- {id: a, type: question, prompt: Which?, options: [Merge now, later], store: answer, next: {ok: end, later: stop}}\n- {id: stop, type: end, status: blocked, message: '{answer}'}\n";
    for (said, ended) in
        [("later", "blocked later"), ("LATER", "blocked later"), ("2", "blocked later"), ("2.", "blocked later")]
    {
        let mut driver = TestRun::started(text);
        driver.answer(said).unwrap();
        assert_eq!(driver.ended(), ended, "{said}");
    }
    let mut driver = TestRun::started(text);
    driver.answer("3").unwrap();
    assert!(!driver.run.is_over(), "there is no third option");
    let several = "name: w\nvariables: {kinds: {type: list}}\nsteps:\n- {id: a, type: question, prompt: Which?, options: [x, y, z], multiple: true, store: kinds, next: stop}\n- {id: stop, type: end, message: '{kinds}'}\n";
    let mut driver = TestRun::started(several);
    driver.answer("z, 1").unwrap();
    assert_eq!(driver.ended(), "success z, x");
}

#[test]
fn an_outcome_that_the_step_cannot_have_is_refused_even_where_it_follows_from_the_result() {
    let text = "name: w\nsteps:\n- {id: a, type: agent, result: {n: int}, outcome_from: [{when: result.n > 1, outcome: many}, {else: few}], next: {many: end, few: stop}}\n- {id: stop, type: end, status: blocked}\n";
    let mut driver = TestRun::started(text);
    assert!(matches!(driver.report("lots", json!({"n": 5})), Err(InputRefusal::Outcome(_))));
    driver.report("ok", json!({"n": 5})).unwrap();
    assert_eq!(driver.ended(), "success");
}

#[test]
fn the_walk_of_a_sub_agent_is_not_replaced_by_its_word() {
    let text = "name: w\nsteps:\n- {id: a, type: dispatch, mode: single, role: developer, call: helper, next: {ok: end, fail: stop, partial: stop}}\n- {id: stop, type: end, status: failure}\n";
    let mut driver = TestRun::started(text);
    assert_eq!(driver.report("ok", json!({"done": true})), Err(InputRefusal::HasOwnRun("helper".to_owned())));
    let (ticket, result) = (driver.ticket(), object(json!({"done": true})));
    let (outcome, seen) = (StepOutcome::OK, FileState::default());
    driver.give(RunInput::ChildRunEnded { ticket, outcome, result, seen, now: 0 }).unwrap();
    assert_eq!(driver.ended(), "success");
    let mut driver = TestRun::started(text);
    driver.report("fail", json!({})).unwrap();
    assert_eq!(driver.ended(), "failure");
}
