//! Checks of names: each is declared, and written before it is read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::definition::{PlacedValue, StepWork, Workflow, WorkflowStep};
use super::finding::FindingCode;
use super::graph::{StepGraph, StepSet};
use super::load::DefinitionReader;
use super::name::Name;
use super::name_uses::{self, LocalNames, NameUse, PREDECLARED};
use super::template::ValueReference;
use super::value_type::ValueType;
use crate::closest_word;
use crate::yaml::SourcePosition;

pub(super) fn check_names(workflow: &Workflow, reader: &mut DefinitionReader<'_>) {
    declared_once(workflow, reader);
    written_are_declared(workflow, reader);
    let uses = name_uses::name_uses(workflow);
    let mut names = NameChecker {
        workflow,
        graph: StepGraph::with_finally(workflow),
        declared: BTreeMap::new(),
        written: BTreeMap::new(),
    };
    let mut unknown: BTreeMap<&ValueReference, (SourcePosition, usize, &NameUse<'_>)> = BTreeMap::new();
    let mut unwritten = BTreeSet::new();
    for used in &uses {
        if !names.is_declared(used) {
            let first = || (place(used, reader), 0, used);
            unknown.entry(used.reference).or_insert_with(first).1 += 1;
        } else if let Some(step) = used.step.filter(|step| !names.is_written_before(*step, used))
            && unwritten.insert((used.reference, step))
        {
            let message = format!("`{}` is read here before anything has written it", used.reference);
            let help = "give it a default, or write it on a way that leads here";
            reader.find(FindingCode::E09, place(used, reader), message, help);
        }
    }
    for (reference, (place, times, first)) in unknown {
        let also = if times > 1 { format!(" (used {times} times)") } else { String::new() };
        let message = format!("`{reference}` is never declared{also}");
        // What is read at a step was found out by one before it.
        let before = &workflow.steps[..first.step.unwrap_or(workflow.steps.len())];
        let mut help = suggestion(workflow, reference, first.locals, before);
        let is_compared = first.text.get(..first.at.0).is_some_and(|left| left.trim_end().ends_with(['=', '<', '>']));
        if let (true, ValueReference::Named(name, None)) = (is_compared, reference) {
            let _ = write!(help, "; a text stands in quotes: `'{name}'`");
        }
        // Fields of items were free once.
        if let (ValueReference::Named(..), LocalNames::Item(Some(_))) = (reference, first.locals)
            && reference.to_string().starts_with("item.")
        {
            reader.find_at_start(FindingCode::E09, place, message, help);
        } else {
            reader.find(FindingCode::E09, place, message, help);
        }
    }
}

/// Where a name is used.
pub(super) fn place(used: &NameUse<'_>, reader: &DefinitionReader<'_>) -> SourcePosition {
    reader.place_in(&PlacedValue { value: (), place: used.place, text: used.text.to_owned() }, used.at.0)
}

/// A name means one thing.
fn declared_once(workflow: &Workflow, reader: &mut DefinitionReader<'_>) {
    for variable in &workflow.variables {
        if workflow.param(&variable.name).is_some() {
            let message = format!("`{}` is a parameter and a variable", variable.name);
            reader.find(FindingCode::E02, variable.place, message, "a parameter never changes: choose another name");
        }
    }
    for variable in workflow.variables.iter().chain(&workflow.params) {
        if PREDECLARED.contains(&variable.name.as_str()) {
            let message = format!("`{}` is always declared and cannot be declared again", variable.name);
            reader.find(FindingCode::E02, variable.place, message, "choose another name");
        }
    }
}

fn written_are_declared(workflow: &Workflow, reader: &mut DefinitionReader<'_>) {
    for step in &workflow.steps {
        let StepWork::Set(values) = &step.work else { continue };
        for (name, place, _) in values.iter().filter(|(name, ..)| workflow.variable(name).is_none()) {
            let help =
                suggestion(workflow, &ValueReference::Named(name.clone(), None), LocalNames::None, &workflow.steps);
            reader.find(FindingCode::E09, *place, format!("`{name}` is not a variable"), help);
        }
    }
}

/// What is found out about each name once, however often it is used.
struct NameChecker<'w> {
    workflow: &'w Workflow,
    graph: StepGraph,
    /// Whether what is known everywhere is declared.
    declared: BTreeMap<&'w ValueReference, bool>,
    /// The steps that may come after one that wrote something.
    written: BTreeMap<&'w ValueReference, StepSet>,
}

impl<'w> NameChecker<'w> {
    fn is_declared(&mut self, used: &NameUse<'w>) -> bool {
        let declared = || name_uses::type_of(self.workflow, used.locals, used.reference).is_some();
        match used.locals {
            LocalNames::None => *self.declared.entry(used.reference).or_insert_with(declared),
            LocalNames::Output(..)
            | LocalNames::Answer
            | LocalNames::Item(_)
            | LocalNames::Result(_)
            | LocalNames::Each(..) => declared(),
        }
    }

    /// Whether something may have been written when a step reads it.
    fn is_written_before(&mut self, step: usize, used: &NameUse<'w>) -> bool {
        let (workflow, graph) = (self.workflow, &self.graph);
        let after = |writes: &dyn Fn(&WorkflowStep) -> bool| {
            let writers = workflow.steps.iter().enumerate().filter(|(_, step)| writes(step));
            graph.after_any(writers.map(|(index, _)| index))
        };
        let written = match used.reference {
            ValueReference::Param(_) => return true,
            ValueReference::Result(id, _) => {
                self.written.entry(used.reference).or_insert_with(|| after(&|step| step.id == *id))
            }
            ValueReference::Named(name, _) if name_uses::is_ending(workflow, name) => {
                return StepGraph::of(workflow).last_part(workflow).is_some_and(|part| part.has(step));
            }
            ValueReference::Named(name, _) => match workflow.variable(name) {
                Some(variable) if variable.default.is_none() && !is_local(used.locals, name) => {
                    self.written.entry(used.reference).or_insert_with(|| after(&|step| may_write(step, name)))
                }
                _ => return true,
            },
        };
        written.has(step)
    }
}

fn is_local(locals: LocalNames<'_>, name: &Name) -> bool {
    match locals {
        LocalNames::Output(data, _) => data.iter().any(|(key, _)| key == name),
        LocalNames::Each(own, _) => own == name,
        LocalNames::None | LocalNames::Answer | LocalNames::Item(_) | LocalNames::Result(_) => false,
    }
}

/// Whether a step may write a variable. An agent may set some with its report.
fn may_write(step: &WorkflowStep, name: &Name) -> bool {
    let stores = step.store.as_ref().is_some_and(|(stored, _)| stored == name);
    stores
        || match &step.work {
            StepWork::Agent(_) => true,
            StepWork::Set(values) => values.iter().any(|(set, ..)| set == name),
            _ => false,
        }
}

/// What the author probably meant, or how the name could come to be.
fn suggestion(
    workflow: &Workflow,
    reference: &ValueReference,
    locals: LocalNames<'_>,
    before: &[WorkflowStep],
) -> String {
    if let Some(close) = closest(workflow, reference, locals) {
        return format!("did you mean `{close}`?");
    }
    match reference {
        ValueReference::Param(name) => format!("declare it: `params: {{{name}: {{type: string}}}}`"),
        ValueReference::Result(step, field) if workflow.step(step).is_some_and(|step| step.branches.is_some()) => {
            format!("`{step}` goes through a list: `{field}` of each item is in `steps.{step}.result.results`")
        }
        ValueReference::Result(step, field) => match workflow.step(step).map(|step| &step.work) {
            Some(StepWork::Question(_)) => {
                format!("add `store: {field}` to the question `{step}`, and write `{{{field}}}`")
            }
            Some(StepWork::Command { .. }) => {
                format!("add `store: {field}` to the command `{step}`, and write `{{{field}}}`")
            }
            _ => format!("declare `{field}` in the `result` of an agent step `{step}`"),
        },
        ValueReference::Named(name, _) if name.as_str() == name_uses::ENDING => {
            "only the steps of the last part know how a run ends: name the first of them under `finally`".to_owned()
        }
        ValueReference::Named(name, _) if name.as_str() == "item" => match locals {
            LocalNames::Item(_) => {
                "the items of the list have no such field; declare it in the list's `fields`".to_owned()
            }
            _ => "add `for_each:` with the name of a list to the step".to_owned(),
        },
        ValueReference::Named(name, Some(_)) if matches!(name.as_str(), "secrets" | "env") => {
            "secrets and `env` are no values: the program finds them in its environment".to_owned()
        }
        ValueReference::Named(name, Some(field)) => format!("declare `{name}` as an object with a field `{field}`"),
        ValueReference::Named(name, None) => match find_writer(before, name) {
            Some(step) => format!("add `store: {name}` to step `{}`, or declare it under `params`", step.id),
            None => {
                format!("declare `{name}` under `params` or `variables`, or `store` it at the step that finds it out")
            }
        },
    }
}

fn closest(workflow: &Workflow, reference: &ValueReference, locals: LocalNames<'_>) -> Option<String> {
    let mut known: Vec<String> = PREDECLARED.map(str::to_owned).to_vec();
    known.extend(workflow.variables.iter().chain(&workflow.params).map(|variable| variable.name.to_string()));
    known.extend(workflow.params.iter().map(|param| format!("params.{}", param.name)));
    for step in &workflow.steps {
        if let StepWork::Agent(agent) = &step.work {
            known.extend(agent.result.iter().map(|field| format!("steps.{}.result.{}", step.id, field.name)));
        }
    }
    match locals {
        LocalNames::Output(data, source) => {
            known.extend(data.iter().map(|(name, _)| name.to_string()));
            if let Some(ValueType::Object(fields)) =
                source.and_then(|of| name_uses::type_of(workflow, LocalNames::None, of))
            {
                known.extend(fields.iter().map(|field| field.name.to_string()));
            }
        }
        LocalNames::Result(fields) => known.extend(fields.iter().map(|field| format!("result.{}", field.name))),
        LocalNames::Answer => known.push("answer".to_owned()),
        LocalNames::Item(list) => {
            known.push("item".to_owned());
            let fields = list.and_then(|list| name_uses::type_of(workflow, LocalNames::None, list));
            if let Some(ValueType::List(fields)) = fields {
                known.extend(fields.iter().map(|field| format!("item.{}", field.name)));
            }
        }
        LocalNames::Each(own, list) => {
            if let Some(ValueType::List(fields)) = name_uses::type_of(workflow, LocalNames::None, list) {
                known.extend(fields.iter().map(|field| format!("{own}.{}", field.name)));
            }
        }
        LocalNames::None => {}
    }
    closest_word::closest(&reference.to_string(), known.iter().map(String::as_str)).map(str::to_owned)
}

/// The step that seems to find a value out without keeping it: its id shares a word with the name.
fn find_writer<'w>(steps: &'w [WorkflowStep], name: &Name) -> Option<&'w WorkflowStep> {
    let words = |text: &str| text.split(['-', '_']).map(str::to_owned).collect::<Vec<_>>();
    let wanted = words(name.as_str());
    let related =
        |step: &&WorkflowStep| step.store.is_none() && words(step.id.as_str()).iter().any(|word| wanted.contains(word));
    let mut asking = steps.iter().filter(related).filter(|step| matches!(step.work, StepWork::Question(_)));
    let mut running = steps.iter().filter(related).filter(|step| matches!(step.work, StepWork::Command { .. }));
    asking.next().or_else(|| running.next())
}
