use super::*;
use crate::workflow::load::{Surroundings, load};

fn simulated(text: &str) -> Simulation {
    let (workflow, findings) = load(text, &Surroundings::none());
    simulate(&Definition::alone(workflow.unwrap_or_else(|| panic!("{findings:#?}"))), Bounds::default())
}

fn ends(simulation: &Simulation) -> Vec<String> {
    simulation.ends.iter().map(|end| format!("{} {} {}", end.status, end.step, end.outcome)).collect()
}

#[test]
fn every_outcome_of_an_investigation_is_walked() {
    let simulation = simulated(
        "name: w\nparams: {mode: {type: enum, values: [full, quick]}}\nvariables: {n: {type: int, default: 0}}\nsteps:\n- {id: look, type: agent, max_visits: 5, result: {sure: {type: enum, values: [yes, no]}}, outcome_from: [{when: result.sure == 'yes', outcome: ok}, {else: iterate}], next: {ok: choose, iterate: look, exhausted: capped}}\n- {id: choose, type: conditional, cases: [{when: \"mode == 'quick' or n > 41\", next: short}], else: long}\n- {id: short, type: end}\n- {id: long, type: question, prompt: sure, options: [a, b], next: {a: end, b: capped}}\n- {id: capped, type: end, status: failure}\n",
    );
    assert!(simulation.complete, "{} states", simulation.states);
    assert_eq!(simulation.never_reached, []);
    assert_eq!(simulation.never_taken, [(StepId::parse("long").unwrap(), Outcome::OK)]);
    assert_eq!(
        ends(&simulation),
        [
            "failure capped failure",
            "failure long cancelled",
            "failure long declined",
            "success long a",
            "success short success"
        ]
    );
}

#[test]
fn a_review_loop_passes_fails_and_is_given_up() {
    let simulation = simulated(
        "name: w\nreviews: {r: {}}\nsteps:\n- {id: work, type: agent, review: {name: r, part: fix}, next: {ok: plan, fail: no}}\n- {id: plan, type: agent, review: {name: r, part: decompose}, next: {ok: look, fail: no}}\n- {id: look, type: dispatch, for_each: reviews.r.open, prompt: '{item}', review: {name: r, part: verify}, next: {ok: test, fail: test, partial: test}}\n- {id: test, type: command, command: t, effect: read, next: {ok: gate, fail: gate}}\n- {id: gate, type: gate, review: r, checks: [test], next: {pass: yes, fail: work, exhausted: no}}\n- {id: yes, type: end}\n- {id: no, type: end, status: blocked}\n",
    );
    assert!(simulation.complete, "{} states", simulation.states);
    assert_eq!(simulation.never_reached, []);
    assert!(simulation.reaches(EndStatus::Success) && simulation.reaches(EndStatus::Blocked));
    let red = simulation.ends.iter().find(|end| end.status == "success" && end.step.as_str() != "yes");
    assert_eq!(red, None);
}

#[test]
fn a_step_behind_a_condition_that_never_holds_is_told() {
    let simulation = simulated(
        "name: w\nvariables: {n: {type: int, default: 0}}\nsteps:\n- {id: a, type: conditional, cases: [{when: n == 1, next: b}], else: end}\n- {id: b, type: end}\n",
    );
    assert_eq!(simulation.never_reached, [StepId::parse("b").unwrap()]);
}
