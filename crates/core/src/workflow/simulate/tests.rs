use std::fmt::Write as _;

use super::*;
use crate::workflow::load::{CalleeSignature, LoadEnvironment, load_workflow};

fn workflow(text: &str) -> Workflow {
    let callee: &dyn Fn(&str) -> Option<CalleeSignature> = &|_| Some(CalleeSignature::anything());
    let (workflow, findings) = load_workflow(text, &LoadEnvironment { callee, ..LoadEnvironment::none() });
    workflow.unwrap_or_else(|| panic!("{findings:#?}"))
}

fn simulated(text: &str) -> Simulation {
    simulate(&RunDefinition::alone(workflow(text)), SimulationBounds::default())
}

/// Every step is reached, every way is taken, everything was looked at.
fn walked(text: &str) -> Simulation {
    let simulation = simulated(text);
    assert!(simulation.complete, "{} states", simulation.states);
    assert_eq!((&simulation.never_reached[..], &simulation.never_taken[..]), (&[][..], &[][..]));
    assert_eq!(simulation.red_successes, BTreeSet::new());
    simulation
}

fn ends(simulation: &Simulation) -> Vec<String> {
    simulation.ends.iter().map(|end| format!("{} {} {}", end.status, end.step, end.outcome)).collect()
}

fn id(text: &str) -> StepId {
    StepId::parse(text).unwrap()
}

#[test]
fn every_outcome_of_an_investigation_is_walked() {
    let simulation = walked(
        "name: w\nparams: {mode: {type: enum, values: [full, quick]}}\nvariables: {n: {type: int, default: 0}}\nsteps:\n- {id: look, type: agent, max_visits: 5, result: {sure: {type: enum, values: [yes, no]}}, outcome_from: [{when: result.sure == 'yes', outcome: ok}, {else: iterate}], next: {ok: choose, iterate: look, exhausted: capped}}\n- {id: choose, type: conditional, cases: [{when: \"mode == 'quick' or n > 41\", next: short}], else: long}\n- {id: short, type: end}\n- {id: long, type: question, prompt: sure, options: [a, b], next: {a: end, b: capped}}\n- {id: capped, type: end, status: failure}\n",
    );
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
fn a_review_loop_passes_fails_and_is_given_up_and_never_succeeds_on_red() {
    let simulation = walked(
        "name: w\nreviews: {r: {}}\nsteps:\n- {id: work, type: agent, review: {name: r, part: fix}, next: {ok: plan, fail: no}}\n- {id: plan, type: agent, review: {name: r, part: decompose}, next: {ok: look, fail: no}}\n- {id: look, type: dispatch, for_each: reviews.r.open, group: 3, prompt: '{item}', review: {name: r, part: verify}, next: {ok: test, fail: test, partial: test}}\n- {id: test, type: command, command: t, effect: read, next: {ok: gate, fail: gate}}\n- {id: gate, type: gate, review: r, checks: [test], next: {pass: yes, fail: work, exhausted: no}}\n- {id: yes, type: end}\n- {id: no, type: end, status: blocked}\n",
    );
    assert_eq!(ends(&simulation), ["blocked no blocked", "success yes success"]);
}

#[test]
fn a_way_past_the_gate_ends_in_failure_while_the_check_is_red() {
    let simulation = walked(
        "name: w\nsteps:\n- {id: test, type: command, command: t, effect: read, next: {ok: ask, fail: ask}}\n- {id: ask, type: question, prompt: what, options: [go, skip], next: {go: gate, skip: end, declined: end, cancelled: end}}\n- {id: gate, type: gate, checks: [test], max_rounds: 3, next: {pass: end, fail: test, exhausted: end}}\n",
    );
    assert!(ends(&simulation).contains(&"failure ask skip".to_owned()), "{:?}", ends(&simulation));
}

#[test]
fn a_red_check_is_seen_whatever_the_engine_says() {
    let definition = RunDefinition::alone(workflow(
        "name: w\nsteps:\n- {id: t, type: command, command: t, next: {ok: g, fail: g}}\n- {id: u, type: gate, checks: [t], next: {pass: end, fail: t, exhausted: end}}\n- {id: g, type: command, command: g, next: {ok: u, fail: u}}\n",
    ));
    let mut walk = SimulatedRun::default();
    let began = RunEvent::Began {
        workflow: "w".into(),
        params: Map::new(),
        variables: Map::new(),
        context: Map::new(),
        seed: 0,
    };
    walk.run = evolve(walk.run, &began);
    let executed = |step: &str, outcome| RunEvent::Executed { step: id(step), outcome, code: None, reason: None };
    walk.execute(&definition, &executed("g", StepOutcome::FAIL));
    assert!(walk.red.is_empty(), "no gate asks for it");
    walk.execute(&definition, &executed("t", StepOutcome::FAIL));
    assert_eq!(walk.red, BTreeSet::from(["w:t".to_owned()]));
    walk.execute(&definition, &executed("t", StepOutcome::OK));
    assert!(walk.red.is_empty());
}

#[test]
fn a_step_behind_a_condition_that_never_holds_is_told() {
    let simulation = simulated(
        "name: w\nvariables: {n: {type: int, default: 0}}\nsteps:\n- {id: a, type: conditional, cases: [{when: n == 1, next: b}], else: end}\n- {id: b, type: end}\n",
    );
    assert_eq!(simulation.never_reached, [id("b")]);
    assert_eq!(simulation.never_taken, [(id("a"), StepOutcome::new("n == 1"))]);
}

#[test]
fn lists_are_as_long_as_is_asked_and_some_of_two_sub_agents_fail() {
    walked(
        "name: w\nsteps:\n- {id: find, type: agent, result: {found: list}, next: {ok: many, fail: end}}\n- {id: many, type: conditional, cases: [{when: length(steps.find.result.found) >= 7, next: lots}], else: each}\n- {id: lots, type: end}\n- {id: each, type: dispatch, for_each: steps.find.result.found, group: 2, prompt: '{item}', next: {ok: end, fail: lots, partial: some}}\n- {id: some, type: end, status: blocked}\n",
    );
}

#[test]
fn what_is_asked_later_is_varied_where_it_is_found() {
    let simulation = walked(
        "name: w\nvariables: {size: {type: enum, values: [s, m, l, xl]}, copy: string}\nsteps:\n- {id: a, type: agent, outcomes: [ok], result: {size: {type: enum, values: [s, m, l, xl]}, kind: string, note: string, more: list, other: bool}}\n- {id: b, type: set, values: {copy: '{steps.a.result.kind}'}}\n- {id: c, type: agent, when: \"size == 'l'\", outcomes: [ok]}\n- {id: d, type: conditional, cases: [{when: \"copy == 'red'\", next: e}, {when: copy is empty, next: f}], else: end}\n- {id: e, type: end}\n- {id: f, type: end, status: blocked}\n",
    );
    // Nothing asks about the note, and of the sizes only one is distinguished from the others.
    assert!(simulation.states <= 8, "{} states", simulation.states);
}

#[test]
fn many_fields_decide_together_whatever_their_order() {
    let fields: Vec<String> = (0..6).map(|n| format!("f{n}: {{type: enum, values: [no, part, yes]}}")).collect();
    let all: Vec<String> = (0..6).map(|n| format!("result.f{n} == 'yes'")).collect();
    let simulation = walked(&format!(
        "name: w\nsteps:\n- {{id: a, type: agent, max_visits: 9, result: {{text: string, {}}}, outcome_from: [{{when: \"{}\", outcome: ok}}, {{when: \"result.f5 == 'no'\", outcome: no}}, {{else: again}}], next: {{ok: end, no: b, again: a, exhausted: b}}}}\n- {{id: b, type: end, status: failure}}\n",
        fields.join(", "),
        all.join(" and ")
    ));
    assert_eq!(simulation.states, 2);
}

#[test]
fn what_is_handed_to_a_callee_and_back_decides() {
    let main = workflow(
        "name: w\nsteps:\n- {id: ask, type: agent, outcomes: [ok], result: {mode: string}}\n- {id: do, type: call, workflow: c, with: {mode: '{steps.ask.result.mode}'}, next: {ok: how, fail: end, blocked: end}}\n- {id: how, type: conditional, cases: [{when: \"steps.do.result.colour == 'red'\", next: red}], else: end}\n- {id: red, type: end}\n",
    );
    let callee = workflow(
        "name: c\nparams: {mode: {type: string, default: ''}}\nsteps:\n- {id: a, type: conditional, cases: [{when: \"mode == 'deep'\", next: deep}], else: flat}\n- {id: deep, type: agent, result: {colour: string}, next: {ok: end, fail: stop}}\n- {id: flat, type: end, status: failure}\n- {id: stop, type: end, status: blocked}\noutputs: {colour: '{steps.deep.result.colour}'}\n",
    );
    let definition = RunDefinition { main, callees: BTreeMap::from([("c".to_owned(), callee)]) };
    let simulation = simulate(&definition, SimulationBounds::default());
    assert_eq!((simulation.never_reached, simulation.never_taken), (vec![], vec![]));
}

#[test]
fn a_value_that_is_kept_from_before_is_no_other_value_once_it_is_written_again() {
    let simulation = walked(
        "name: w\nsteps:\n- {id: a, type: agent, max_visits: 3, result: {grade: {type: enum, values: [a, b, c, d]}, all: {type: list, append: true}}, outcome_from: [{when: \"result.grade == 'a' and length(result.all) > 2\", outcome: ok}, {else: again}], next: {ok: end, again: a, exhausted: b}}\n- {id: b, type: conditional, cases: [{when: \"steps.a.result.grade in ['b', 'c']\", next: c}], else: end}\n- {id: c, type: end, status: blocked}\n",
    );
    assert_eq!(simulation.states, 4, "the first visit, and the second with a list of 1, 2 or more");
}

#[test]
fn questions_are_answered_with_what_is_asked_and_with_several_options() {
    walked(
        "name: w\nvariables: {n: int}\nsteps:\n- {id: a, type: question, prompt: how many, store: n, next: {ok: b, declined: end, cancelled: end}}\n- {id: b, type: conditional, cases: [{when: n > 3, next: c}], else: end}\n- {id: c, type: question, prompt: which, options: [x, y], multiple: true, store: which, next: {ok: d, x: end, y: end}}\n- {id: d, type: conditional, cases: [{when: \"'x' in which\", next: end}], else: end}\n",
    );
}

/// A workflow in which much is asked, here and later, about what was found, set, stored and chosen.
fn asking(kinds: &[(u8, u8)]) -> String {
    let mut text = "name: w\nparams: {deep: {type: bool, default: false}}\nvariables: {n: {type: int, default: 0}, word: {type: string, default: x}, v: {type: enum, values: [a, b, c], default: a}}\nsteps:\n- {id: first, type: agent, max_visits: 2, result: {g: {type: enum, values: [a, b, c]}, l: {type: list, append: true}, k: string}, next: {ok: s0, fail: s0, exhausted: last}}\n".to_owned();
    for (index, (kind, seed)) in kinds.iter().enumerate() {
        let target = |index: usize| if index >= kinds.len() { "last".to_owned() } else { format!("s{index}") };
        let next = target(index + 1);
        let other = if seed % 5 == 0 { "first".to_owned() } else { target(usize::from(*seed) % (kinds.len() + 1)) };
        let common = format!("id: s{index}, max_visits: 2");
        let line = match kind % 9 {
            0 => format!(
                "{common}, type: agent, result: {{g: {{type: enum, values: [a, b, c]}}}}, outcome_from: [{{when: \"result.g == 'a'\", outcome: ok}}, {{else: again}}], next: {{ok: {next}, again: {other}, exhausted: last}}"
            ),
            1 => format!(
                "{common}, type: agent, result: {{v: {{type: enum, values: [a, b, c]}}}}, next: {{ok: {next}, fail: {other}, exhausted: last}}"
            ),
            2 => format!(
                "{common}, type: conditional, cases: [{{when: \"steps.first.result.g == 'b' or v == 'c'\", next: {other}}}], else: {next}, next: {{exhausted: last}}"
            ),
            3 => format!(
                "{common}, type: set, values: {{word: '{{steps.first.result.k}}', n: {seed}}}, next: {{ok: {next}, exhausted: last}}"
            ),
            4 => format!(
                "{common}, type: question, prompt: p, options: [a, b, skip], store: word, next: {{ok: {next}, skip: {other}, exhausted: last}}"
            ),
            5 => format!(
                "{common}, type: dispatch, for_each: steps.first.result.l, prompt: p, next: {{ok: {next}, partial: {other}, fail: last, exhausted: last}}"
            ),
            6 => format!(
                "{common}, type: agent, when: \"word == 'a' and not params.deep\", outcomes: [ok, skip], next: {{ok: {next}, skip: {other}, exhausted: last}}"
            ),
            7 => format!(
                "{common}, type: command, command: c, parse: json, store: n, timeout: 3, next: {{ok: {next}, fail: {other}, timeout: {other}, exhausted: last}}"
            ),
            _ => format!(
                "{common}, type: conditional, cases: [{{when: length(steps.first.result.l) > 2 or n > 99, next: {other}}}], else: {next}, next: {{exhausted: last}}"
            ),
        };
        writeln!(text, "- {{{line}}}").unwrap();
    }
    text.push_str("- {id: last, type: command, command: t, next: {ok: gate, fail: gate}}\n- {id: gate, type: gate, checks: [last], next: {pass: done, fail: last, exhausted: done}}\n- {id: done, type: conditional, cases: [{when: \"v == 'a' and word is empty\", next: end}], else: no}\n- {id: no, type: end, status: blocked}\n");
    text
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 16, ..Default::default() })]
    #[test]
    fn walks_that_are_held_for_the_same_lead_to_the_same(
        kinds in proptest::collection::vec((0..9_u8, proptest::prelude::any::<u8>()), 1..5)
    ) {
        let (found, _) = load_workflow(&asking(&kinds), &LoadEnvironment::none());
        // A step that no way leads to is no matter here.
        proptest::prop_assume!(found.is_some());
        let bounds = SimulationBounds { states: 600, ..SimulationBounds::default() };
        let definition = limit_definition(&RunDefinition::alone(found.unwrap()), bounds);
        let known = SimulationFacts::of(&definition);
        let exact = explore(&definition, &known, bounds, &|walk| serde_json::to_string(&walk.run).unwrap());
        let short = simulate(&definition, bounds);
        proptest::prop_assume!(exact.complete);
        proptest::prop_assert!(short.states <= exact.states);
        proptest::prop_assert_eq!(Simulation { states: 0, ..short }, Simulation { states: 0, ..exact });
    }
}

#[test]
fn limits_of_values_keep_no_way_from_being_walked() {
    let text = "name: w\nparams: {p: {type: string, required: true, pattern: 'K\\d\\d'}}\nsteps:\n- {id: a, type: agent, result: {ids: {type: list, min: 3, pattern: 'K\\d\\d'}, items: {type: list, min: 1, fields: {id: {type: string, min: 4}}}}, next: {ok: end, fail: no}}\n- {id: no, type: end, status: failure}\n";
    let definition = RunDefinition::alone(workflow(text));
    let found = simulate(&definition, SimulationBounds::default());
    assert_eq!((found.never_reached, found.never_taken), (Vec::new(), Vec::new()));
}

#[test]
fn steps_that_are_tried_again_fail_in_the_end() {
    let simulation = walked(
        "name: w\nparams: {l: {type: list, default: [1, 2]}}\nsteps:\n- {id: a, type: agent, retry: 2, next: {ok: b, fail: stop}}\n- {id: b, type: dispatch, for_each: l, prompt: Do it., retry: 1, next: {ok: end, fail: stop, partial: stop}}\n- {id: stop, type: end, status: failure}\n",
    );
    assert_eq!(ends(&simulation), ["failure stop failure", "success b ok"]);
}
