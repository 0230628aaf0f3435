//! Outcomes of steps and their routes.

use std::collections::BTreeMap;

use super::Reader;
use crate::suggest;
use crate::workflow::definition::{Options, Route, Step, Target, Work};
use crate::workflow::finding::FindingCode;
use crate::workflow::name::{Outcome, StepId};
use crate::yaml::{Node, Place, Value};

/// The outcomes a step can have, the good one first.
pub(in crate::workflow) fn outcomes(step: &Step) -> Vec<Outcome> {
    let more = [
        (step.max_visits.is_some(), Outcome::EXHAUSTED),
        (step.timeout.is_some(), Outcome::TIMEOUT),
        (step.when.is_some(), Outcome::SKIP),
    ];
    with(worked(step), more)
}

/// The outcomes a step can have once it has started.
pub(in crate::workflow) fn own_outcomes(step: &Step) -> Vec<Outcome> {
    with(worked(step), [(step.timeout.is_some(), Outcome::TIMEOUT)])
}

fn with<const N: usize>(mut found: Vec<Outcome>, more: [(bool, Outcome); N]) -> Vec<Outcome> {
    for (has, outcome) in more {
        if has && !found.contains(&outcome) {
            found.push(outcome);
        }
    }
    found
}

/// The outcomes that follow from what is done at a step.
fn worked(step: &Step) -> Vec<Outcome> {
    match &step.work {
        Work::Agent(agent) => agent.outcomes.clone(),
        Work::Dispatch(_) => vec![Outcome::OK, Outcome::FAIL, Outcome::PARTIAL],
        Work::Command { .. } => vec![Outcome::OK, Outcome::FAIL],
        Work::Output { .. } | Work::Set(_) => vec![Outcome::OK],
        Work::Question(question) => {
            let mut all = vec![Outcome::OK, Outcome::DECLINED, Outcome::CANCELLED];
            match &question.options {
                Options::Listed(options) => {
                    all.extend(options.iter().map(Outcome::new).filter(|option| *option != Outcome::OK));
                }
                // There may be nothing to choose from.
                Options::Command(_) | Options::Variable(..) => all.push(Outcome::FAIL),
                Options::Free => {}
            }
            if every_option_has_its_way(step, &step.next) {
                all.retain(|outcome| *outcome != Outcome::OK);
            }
            all
        }
        Work::Conditional { .. } | Work::End { .. } => Vec::new(),
        Work::Gate(_) => vec![Outcome::PASS, Outcome::FAIL, Outcome::EXHAUSTED],
        Work::Call(_) => vec![Outcome::OK, Outcome::FAIL, Outcome::BLOCKED],
    }
}

/// Whether each answer to a question leads its own way, so that none is left that would be just `ok`.
fn every_option_has_its_way(step: &Step, routes: &BTreeMap<Outcome, Route>) -> bool {
    let Work::Question(question) = &step.work else { return false };
    let Options::Listed(options) = &question.options else { return false };
    // Of several answers together none is the outcome.
    let own = |option: &String| option != Outcome::OK.as_str() && routes.contains_key(&Outcome::new(option.clone()));
    !question.multiple && options.iter().all(own)
}

/// Whether it is known what a step does, and so what it can end with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Understood {
    Yes,
    No,
}

/// Reads `next`, and fills in what follows from the order of the steps.
pub(super) fn read(
    node: Option<&Node<'_>>,
    step: &mut Step,
    following: Target,
    understood: Understood,
    reader: &mut Reader<'_>,
) {
    let possible = outcomes(step);
    let mut routes = BTreeMap::new();
    match node.map(|node| (&node.value, node)) {
        None => {}
        Some((Value::Map(pairs), _)) => {
            for pair in pairs {
                let outcome = Outcome::new(pair.key.as_ref());
                if understood == Understood::Yes && !possible.contains(&outcome) {
                    impossible(step, &outcome, &possible, pair.place, reader);
                }
                if let Some(target) = target(&pair.value, reader) {
                    routes.insert(outcome, Route { target, place: pair.value.place });
                }
            }
        }
        Some((_, node)) => {
            if !possible.contains(&Outcome::OK) {
                impossible(step, &Outcome::OK, &possible, node.place, reader);
            } else if let Some(target) = target(node, reader) {
                routes.insert(Outcome::OK, Route { target, place: node.place });
            }
        }
    }
    // Where all answers lead elsewhere, `ok` is only where an optional step goes on.
    let answered = every_option_has_its_way(step, &routes);
    if let (true, false, Some(route)) = (answered, step.optional, routes.get(&Outcome::OK)) {
        let possible: Vec<Outcome> = possible.iter().filter(|outcome| **outcome != Outcome::OK).cloned().collect();
        impossible(step, &Outcome::OK, &possible, route.place, reader);
    }
    if possible.contains(&Outcome::OK) && (!answered || step.optional) {
        routes.entry(Outcome::OK).or_insert(Route { target: following.clone(), place: step.place });
    }
    if possible.contains(&Outcome::SKIP) && !routes.contains_key(&Outcome::SKIP) {
        let good = routes.get(&Outcome::OK).or(routes.get(&Outcome::PASS)).cloned();
        routes.insert(Outcome::SKIP, good.unwrap_or(Route { target: following, place: step.place }));
    }
    step.next = routes;
}

fn impossible(step: &Step, outcome: &Outcome, possible: &[Outcome], place: Place, reader: &mut Reader<'_>) {
    let words = possible.iter().map(Outcome::as_str);
    let help = match suggest::closest(outcome.as_str(), words.clone()) {
        Some(close) => format!("did you mean `{close}`?"),
        None if possible.is_empty() => format!("`{}` steps have no `next`", step.work.word()),
        None => format!("it can end with {}", words.collect::<Vec<_>>().join(", ")),
    };
    reader.find(FindingCode::E11, place, format!("`{}` never ends with `{outcome}`", step.id), help);
}

/// A step's id, or `end`.
pub(super) fn target(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Target> {
    let text = reader.text(node)?;
    if text == "end" {
        return Some(Target::End);
    }
    match StepId::parse(&text) {
        Ok(id) => Some(Target::Step(id)),
        Err(bad) => {
            reader.find(FindingCode::E04, node.place, format!("`{text}` is no step"), bad.to_string());
            None
        }
    }
}
