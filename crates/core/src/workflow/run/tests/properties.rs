//! Properties of every workflow and every input.

use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Map, json};

use super::driver::{TestRun, object, workflow};
use crate::workflow::definition::EndStatus;
use crate::workflow::name::StepOutcome;
use crate::workflow::run::{
    AnswerAuthor, CommandExit, FileState, PendingEffect, RecoveryChoice, Run, RunEvent, RunInput, RunStatus, Ticket,
    UserAnswer, evolve, pending_effects,
};

/// A workflow of steps of every kind. Good outcomes lead on, others anywhere, and every step has a bound.
fn text(kinds: &[(u8, u8, u8)]) -> String {
    let target = |seed: u8| match usize::from(seed) % (kinds.len() + 1) {
        index if index == kinds.len() => "last".to_owned(),
        index => format!("s{index}"),
    };
    let mut text = "name: w\nparams: {items: {type: list, default: [1, 2, 3]}}\nvariables: {n: {type: int, default: 0}, word: {type: string, default: x}}\nreviews: {r: {}}\nlimits: {max_transitions: 60}\nsteps:\n".to_owned();
    for (index, (kind, visits, seed)) in kinds.iter().enumerate() {
        let next = if index + 1 == kinds.len() { "last".to_owned() } else { format!("s{}", index + 1) };
        let other = target(*seed);
        let most = visits % 4 + 1;
        let common = format!("id: s{index}, max_visits: {most}");
        let bad = format!("fail: {other}, exhausted: last");
        let line = match kind % 12 {
            0 => format!("{common}, type: agent, retry: 1, next: {{ok: {next}, {bad}}}"),
            1 => format!("{common}, type: command, command: run, retry: 1, next: {{ok: {next}, {bad}}}"),
            2 => format!(
                "{common}, type: command, command: run, effect: read, next: {{ok: {next}, exhausted: last}}, optional: true"
            ),
            3 => format!(
                "{common}, type: question, prompt: p, options: [a, b], store: word, next: {{ok: {next}, b: {other}, exhausted: last}}"
            ),
            4 => format!("{common}, type: set, values: {{n: {seed}}}, next: {{ok: {next}, exhausted: last}}"),
            5 => format!(
                "id: s{index}, type: conditional, max_visits: {most}, cases: [{{when: 'n > 100', next: {other}}}], else: {next}, next: {{exhausted: last}}"
            ),
            6 => format!(
                "{common}, type: dispatch, for_each: items, group: 2, prompt: p, retry: {{max: 1, on: [fail, partial]}}, next: {{ok: {next}, partial: {other}, {bad}}}"
            ),
            7 => format!("{common}, type: output, template: t, when: 'n < 128', next: {{ok: {next}, exhausted: last}}"),
            8 => format!(
                "{common}, type: call, workflow: helper, retry: {{max: 2, on: [blocked]}}, next: {{ok: {next}, blocked: {other}, exhausted: last}}"
            ),
            9 => format!(
                "{common}, type: agent, timeout: 5, review: {{name: r, part: decompose}}, next: {{ok: {next}, timeout: {other}, {bad}}}"
            ),
            10 => format!(
                "{common}, type: dispatch, for_each: reviews.r.open, prompt: p, review: {{name: r, part: verify}}, next: {{ok: {next}, partial: {next}, {bad}}}"
            ),
            _ => format!("{common}, type: agent, review: {{name: r, part: fix}}, next: {{ok: {next}, {bad}}}"),
        };
        writeln!(text, "- {{{line}}}").unwrap();
    }
    // The tail makes every workflow sound: the review is used, and there is a check that a gate judges.
    text.push_str(
        "- {id: last, type: agent, review: {name: r, part: decompose}, next: {ok: look, fail: look}}\n\
         - {id: look, type: dispatch, for_each: reviews.r.open, prompt: p, review: {name: r, part: verify}, max_visits: 9, next: {ok: check, fail: check, partial: check, exhausted: check}}\n\
         - {id: check, type: command, command: test, effect: read, next: {ok: gate, fail: gate}}\n\
         - {id: gate, type: gate, review: r, checks: [check], max_rounds: 3, next: {pass: done, fail: look, exhausted: done}}\n\
         - {id: done, type: end, message: '{n} {word} {items}'}\ntemplates: {t: '{n}'}\n",
    );
    text
}

const HELPER: &str = "name: helper\nsteps:\n- {id: s0, type: agent, next: {ok: end, fail: stop}}\n- {id: stop, type: end, status: blocked}\n";

/// An input for what is waited for, good or bad as the seed says.
fn respond(effect: &PendingEffect, seed: u8, now: i64) -> RunInput {
    let outcome = if seed.is_multiple_of(3) { StepOutcome::FAIL } else { StepOutcome::OK };
    let report = |ticket: &Ticket, result| RunInput::Report {
        ticket: ticket.clone(),
        outcome: Some(outcome.clone()),
        set: Map::new(),
        result: object(result),
        seen: FileState::default(),
        now,
    };
    let items = json!({"items": [{"check": "c", "severity": "MUST"}, {"check": "d", "severity": "COULD"}]});
    match effect {
        PendingEffect::Instruct { ticket, .. } if seed.is_multiple_of(2) => report(ticket, items),
        PendingEffect::Instruct { ticket, .. } => report(ticket, json!({})),
        PendingEffect::Delegate { ticket, child, .. } => {
            let status = if seed.is_multiple_of(5) { "fail" } else { "pass" };
            let judged = child.items.iter().filter_map(|item| item.get("id"));
            let judged = judged.map(|id| json!({"id": id, "status": status, "evidence": "e", "finding": "f"}));
            let judged: Vec<_> = judged.collect();
            report(ticket, if judged.is_empty() { json!({}) } else { json!({"items": judged}) })
        }
        PendingEffect::Execute { ticket, .. } => {
            RunInput::Started { ticket: ticket.clone(), seen: FileState::default(), now }
        }
        PendingEffect::Await { ticket } if seed.is_multiple_of(7) => RunInput::Lost { ticket: ticket.clone(), now },
        PendingEffect::Await { ticket } if seed.is_multiple_of(11) => {
            RunInput::Finished { ticket: ticket.clone(), finish: CommandExit::TimedOut, now }
        }
        PendingEffect::Await { ticket } => {
            let finish = CommandExit::Exited { code: i32::from(seed.is_multiple_of(3)), output: "out".into() };
            RunInput::Finished { ticket: ticket.clone(), finish, now }
        }
        PendingEffect::Ask { ticket, asked, .. } => {
            let options = asked.options.clone().unwrap_or_default();
            let word = options.get(usize::from(seed) % (options.len() + 1)).cloned();
            let answer = word.map_or(UserAnswer::Declined, |word| UserAnswer::Value(json!(word)));
            RunInput::Answer { ticket: ticket.clone(), answer, by: AnswerAuthor::User, now }
        }
        PendingEffect::Consent { ticket, .. } => {
            let choice = [RecoveryChoice::Again, RecoveryChoice::Done, RecoveryChoice::Abort][usize::from(seed % 3)];
            RunInput::Consent { ticket: ticket.clone(), choice, now }
        }
    }
}

/// What may always come in between: noise that is refused or harmless.
fn noise(seed: u8, now: i64) -> RunInput {
    let ticket = Ticket::quoted(format!("s{}#1.000000", seed % 3));
    match seed % 6 {
        0 => RunInput::Pause,
        1 => RunInput::Resume,
        2 => RunInput::Elapsed { now },
        3 => RunInput::Finished { ticket, finish: CommandExit::TimedOut, now },
        4 => RunInput::Start { params: Map::new(), context: Map::new(), seed: 1, now },
        _ => RunInput::Report {
            ticket,
            outcome: None,
            set: Map::new(),
            result: Map::new(),
            seen: FileState::default(),
            now,
        },
    }
}

fn limits_hold(driver: &TestRun) {
    for frame in &driver.run.frames {
        let workflow = driver.definition.workflow(&frame.workflow).unwrap();
        assert!(frame.transitions <= workflow.max_transitions);
        for (step, visits) in &frame.visits {
            let most = workflow.step(step).unwrap().max_visits;
            assert!(most.is_none_or(|most| *visits <= most), "{step} was visited {visits} times");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn every_run_has_a_way_on_keeps_its_limits_and_comes_to_an_end(
        kinds in proptest::collection::vec((any::<u8>(), any::<u8>(), any::<u8>()), 1..7),
        seeds in proptest::collection::vec(any::<u8>(), 40..80),
    ) {
        let mut driver = TestRun::new(&text(&kinds));
        driver.definition.callees.insert("helper".into(), workflow(HELPER));
        driver.start(json!({})).unwrap();
        let mut turn = 0_usize;
        while !driver.run.is_over() {
            let seed = seeds[turn % seeds.len()];
            turn += 1;
            prop_assert!(turn < 5_000, "the run does not end: {:#?}", driver.run.position());
            let now = i64::try_from(turn).unwrap() * 1000;
            if seed.is_multiple_of(13) {
                let before = driver.run.clone();
                if driver.give(noise(seed, now)).is_err() {
                    prop_assert_eq!(&driver.run, &before);
                }
            }
            if driver.run.status == RunStatus::Paused {
                driver.give(RunInput::Resume).unwrap();
            }
            let effects = pending_effects(&driver.definition, &driver.run);
            let Some(effect) = effects.get(usize::from(seed) % effects.len().max(1)) else { continue };
            // What is refused is said again with another result; a user who always says "continue" gives up some time.
            let seed = if turn > 500 { 2 } else { seed };
            if driver.give(respond(effect, seed, now)).is_err() {
                let _ = driver.give(respond(effect, seed.wrapping_add(1), now));
                let _ = driver.give(respond(effect, 1, now));
            }
            limits_hold(&driver);
        }
        let folded = driver.log.iter().fold(Run::default(), evolve);
        prop_assert_eq!(&folded, &driver.run);
        let again: Vec<RunEvent> = serde_json::from_str(&serde_json::to_string(&driver.log).unwrap()).unwrap();
        prop_assert_eq!(&again, &driver.log);
        if let RunStatus::Ended(ending) = &driver.run.status {
            let red = driver.run.checks.values().any(|outcome| *outcome != StepOutcome::OK);
            prop_assert!(!red || ending.status != EndStatus::Success, "a red check ended in success");
        }
        for seed in 0..6 {
            let before = driver.run.clone();
            let _ = driver.give(noise(seed, 0));
            prop_assert_eq!(&driver.run, &before, "something happened after the end");
        }
    }
}
