//! Outcomes of steps and their routes.

use std::collections::BTreeMap;

use super::{DefinitionReader, foreign_words};
use crate::closest_word;
use crate::workflow::definition::{QuestionOptions, RouteTarget, StepRoute, StepWork, WorkflowStep};
use crate::workflow::finding::FindingCode;
use crate::workflow::name::{StepId, StepOutcome};
use crate::yaml::{SourcePosition, YamlNode, YamlValue};

/// The outcomes a step can have, the good one first.
pub(in crate::workflow) fn outcomes(step: &WorkflowStep) -> Vec<StepOutcome> {
    let more = [
        (step.max_visits.is_some(), StepOutcome::EXHAUSTED),
        (step.timeout.is_some(), StepOutcome::TIMEOUT),
        (step.when.is_some(), StepOutcome::SKIP),
    ];
    with(worked(step), more)
}

/// The outcomes a step can have once it has started.
pub(in crate::workflow) fn own_outcomes(step: &WorkflowStep) -> Vec<StepOutcome> {
    with(worked(step), [(step.timeout.is_some(), StepOutcome::TIMEOUT)])
}

fn with<const N: usize>(mut found: Vec<StepOutcome>, more: [(bool, StepOutcome); N]) -> Vec<StepOutcome> {
    for (has, outcome) in more {
        if has && !found.contains(&outcome) {
            found.push(outcome);
        }
    }
    found
}

/// The outcomes that follow from what is done at a step.
fn worked(step: &WorkflowStep) -> Vec<StepOutcome> {
    if step.branches.is_some() {
        return vec![StepOutcome::OK, StepOutcome::FAIL, StepOutcome::PARTIAL];
    }
    match &step.work {
        StepWork::Agent(agent) => agent.outcomes.clone(),
        StepWork::Dispatch(_) => vec![StepOutcome::OK, StepOutcome::FAIL, StepOutcome::PARTIAL],
        StepWork::Command { .. } => vec![StepOutcome::OK, StepOutcome::FAIL],
        StepWork::Output { .. } | StepWork::Set(_) => vec![StepOutcome::OK],
        StepWork::Question(question) => {
            let mut all = vec![StepOutcome::OK, StepOutcome::DECLINED, StepOutcome::CANCELLED];
            match &question.options {
                QuestionOptions::Listed(options) => {
                    all.extend(options.iter().map(StepOutcome::new).filter(|option| *option != StepOutcome::OK));
                }
                // There may be nothing to choose from.
                QuestionOptions::Command(_) | QuestionOptions::Variable(..) => all.push(StepOutcome::FAIL),
                QuestionOptions::Free => {}
            }
            if every_option_has_its_way(step, &step.next) {
                all.retain(|outcome| *outcome != StepOutcome::OK);
            }
            all
        }
        StepWork::Conditional { .. } | StepWork::End { .. } => Vec::new(),
        StepWork::Gate(_) => vec![StepOutcome::PASS, StepOutcome::FAIL, StepOutcome::EXHAUSTED],
        StepWork::Call(_) => vec![StepOutcome::OK, StepOutcome::FAIL, StepOutcome::BLOCKED],
    }
}

/// Whether each answer to a question leads its own way, so that none is left that would be just `ok`.
fn every_option_has_its_way(step: &WorkflowStep, routes: &BTreeMap<StepOutcome, StepRoute>) -> bool {
    let StepWork::Question(question) = &step.work else { return false };
    let QuestionOptions::Listed(options) = &question.options else { return false };
    // Of several answers together none is the outcome.
    let own =
        |option: &String| option != StepOutcome::OK.as_str() && routes.contains_key(&StepOutcome::new(option.clone()));
    !question.multiple && options.iter().all(own)
}

/// Whether it is known what a step does, and so what it can end with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkReading {
    Yes,
    No,
}

/// Reads `next`, and fills in what follows from the order of the steps.
pub(super) fn read(
    node: Option<&YamlNode<'_>>,
    step: &mut WorkflowStep,
    following: RouteTarget,
    understood: WorkReading,
    reader: &mut DefinitionReader<'_>,
) {
    let possible = outcomes(step);
    let mut routes = BTreeMap::new();
    match node.map(|node| (&node.value, node)) {
        None => {}
        Some((YamlValue::Map(pairs), _)) => {
            for pair in pairs {
                let outcome = StepOutcome::new(pair.key.as_ref());
                if understood == WorkReading::Yes && !possible.contains(&outcome) {
                    impossible(step, &outcome, &possible, pair.place, reader);
                }
                if let Some(target) = target(&pair.value, reader) {
                    routes.insert(outcome, StepRoute { target, place: pair.value.place });
                }
            }
        }
        Some((_, node)) => {
            if !possible.contains(&StepOutcome::OK) {
                impossible(step, &StepOutcome::OK, &possible, node.place, reader);
            } else if let Some(target) = target(node, reader) {
                routes.insert(StepOutcome::OK, StepRoute { target, place: node.place });
            }
        }
    }
    // Where all answers lead elsewhere, `ok` is only where an optional step goes on.
    let answered = every_option_has_its_way(step, &routes);
    if let (true, false, Some(route)) = (answered, step.optional, routes.get(&StepOutcome::OK)) {
        let possible: Vec<StepOutcome> =
            possible.iter().filter(|outcome| **outcome != StepOutcome::OK).cloned().collect();
        impossible(step, &StepOutcome::OK, &possible, route.place, reader);
    }
    if possible.contains(&StepOutcome::OK) && (!answered || step.optional) {
        routes.entry(StepOutcome::OK).or_insert(StepRoute { target: following.clone(), place: step.place });
    }
    if possible.contains(&StepOutcome::SKIP) && !routes.contains_key(&StepOutcome::SKIP) {
        let good = routes.get(&StepOutcome::OK).or(routes.get(&StepOutcome::PASS)).cloned();
        routes.insert(StepOutcome::SKIP, good.unwrap_or(StepRoute { target: following, place: step.place }));
    }
    step.next = routes;
}

fn impossible(
    step: &WorkflowStep,
    outcome: &StepOutcome,
    possible: &[StepOutcome],
    place: SourcePosition,
    reader: &mut DefinitionReader<'_>,
) {
    let words: Vec<&str> = possible.iter().map(StepOutcome::as_str).collect();
    let close = || closest_word::closest(outcome.as_str(), words.iter().copied());
    let help = match (foreign_words::help_with_word(outcome.as_str(), &words), close()) {
        (Some(foreign), _) => foreign,
        (None, Some(close)) => format!("did you mean `{close}`?"),
        (None, None) if possible.is_empty() => format!("`{}` steps have no `next`", step.work.word()),
        (None, None) => format!("it can end with {}", words.join(", ")),
    };
    reader.find(FindingCode::E11, place, format!("`{}` never ends with `{outcome}`", step.id), help);
}

/// A step's id, or `end`.
pub(super) fn target(node: &YamlNode<'_>, reader: &mut DefinitionReader<'_>) -> Option<RouteTarget> {
    let Some(text) = node.text() else {
        reader.wrong(node, "write the id of one step, `end`, or a mapping such as `{ok: STEP, fail: STEP}`");
        return None;
    };
    if text == "end" {
        return Some(RouteTarget::End);
    }
    match StepId::parse(text) {
        Ok(id) => Some(RouteTarget::Step(id)),
        Err(bad) => {
            reader.find(FindingCode::E04, node.place, format!("`{text}` is no step"), bad.to_string());
            None
        }
    }
}
