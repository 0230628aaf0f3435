//! Checks of a workflow's references: templates, resources, roles, validators, reviews, other workflows.

use std::collections::{BTreeMap, BTreeSet};

use super::definition::{
    AnswerCheck, AssignedValue, DispatchMode, ForEach, MAX_DEPTH, ROLES, ResourceSource, StepWork, SubagentTask,
    Variable, Workflow,
};
use super::finding::FindingCode;
use super::load::{CalleeSignature, DefinitionReader, LoadEnvironment};
use super::name::{Name, StepId};
use super::run::ERROR;
use super::template::ValueReference;
use super::{name_checks, name_uses, type_checks};
use crate::closest_word;
use crate::yaml::SourcePosition;

pub(super) fn check_references(
    workflow: &Workflow,
    surroundings: &LoadEnvironment<'_>,
    reader: &mut DefinitionReader<'_>,
) {
    for (what, name, place) in references(workflow) {
        let known = declared_names(workflow, what);
        if known.contains(&name.as_str()) {
            continue;
        }
        let help = match closest_word::closest(name.as_str(), known.iter().copied()) {
            Some(close) => format!("did you mean `{close}`?"),
            None => format!("declare it under `{}`", what.section()),
        };
        reader.find(FindingCode::E13, place, format!("there is no {} `{name}`", what.word()), help);
    }
    roster_roles(workflow, reader);
    checks(workflow, reader);
    resources(workflow, surroundings, reader);
    callees(workflow, surroundings, reader);
    capabilities(workflow, surroundings, reader);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReferenceKind {
    Template,
    Resource,
    Role,
    Validator,
    Review,
}

impl ReferenceKind {
    fn word(self) -> &'static str {
        match self {
            Self::Template => "template",
            Self::Resource => "resource",
            Self::Role => "role",
            Self::Validator => "validator",
            Self::Review => "review",
        }
    }

    fn section(self) -> &'static str {
        match self {
            Self::Template => "templates",
            Self::Resource => "resources",
            Self::Role => "roles",
            Self::Validator => "validators",
            Self::Review => "reviews",
        }
    }
}

fn declared_names(workflow: &Workflow, what: ReferenceKind) -> Vec<&str> {
    match what {
        ReferenceKind::Template => workflow.templates.keys().map(Name::as_str).collect(),
        ReferenceKind::Resource => workflow.resources.keys().map(Name::as_str).collect(),
        ReferenceKind::Role => workflow.roles.keys().map(Name::as_str).chain(ROLES).collect(),
        ReferenceKind::Validator => workflow.validators.keys().map(Name::as_str).collect(),
        ReferenceKind::Review => workflow.reviews.keys().map(Name::as_str).collect(),
    }
}

fn references(workflow: &Workflow) -> Vec<(ReferenceKind, &Name, SourcePosition)> {
    let mut found = Vec::new();
    for step in &workflow.steps {
        if let Some(part) = step.work.review() {
            found.push((ReferenceKind::Review, &part.review, part.place));
        }
        match &step.work {
            StepWork::Agent(agent) => {
                found.extend(agent.resources.iter().map(|(name, place)| (ReferenceKind::Resource, name, *place)));
                found.extend(agent.role.iter().map(|(name, place)| (ReferenceKind::Role, name, *place)));
            }
            StepWork::Dispatch(dispatch) => {
                found.extend(dispatch.role.iter().map(|(name, place)| (ReferenceKind::Role, name, *place)));
                if let DispatchMode::Template { items: ForEach::Open(name, place), .. } = &dispatch.mode {
                    found.push((ReferenceKind::Review, name, *place));
                }
            }
            StepWork::Output { template, .. } => found.push((ReferenceKind::Template, &template.0, template.1)),
            StepWork::Question(question) => {
                if let Some(AnswerCheck::Named(name, place)) = &question.validate {
                    found.push((ReferenceKind::Validator, name, *place));
                }
            }
            StepWork::Gate(gate) => {
                found.extend(gate.review.iter().map(|(name, place)| (ReferenceKind::Review, name, *place)));
                found.extend(gate.fix_target.iter().map(|(name, place)| (ReferenceKind::Role, name, *place)));
            }
            StepWork::Command { .. }
            | StepWork::Conditional { .. }
            | StepWork::Set(_)
            | StepWork::Call(_)
            | StepWork::End { .. } => {}
        }
    }
    found
}

/// The roles of a roster's entries; in definitions of before they were values only.
fn roster_roles(workflow: &Workflow, reader: &mut DefinitionReader<'_>) {
    let known = declared_names(workflow, ReferenceKind::Role);
    for step in &workflow.steps {
        let StepWork::Dispatch(dispatch) = &step.work else { continue };
        let DispatchMode::Roster(entries) = &dispatch.mode else { continue };
        for (role, place) in entries.iter().filter_map(|entry| entry.role.as_ref()) {
            if known.contains(&role.as_str()) {
                continue;
            }
            let help = match closest_word::closest(role.as_str(), known.iter().copied()) {
                Some(close) => format!("did you mean `{close}`?"),
                None => "declare it under `roles`; a value that is no role needs another name".to_owned(),
            };
            reader.find_at_start(FindingCode::E13, *place, format!("there is no role `{role}`"), help);
        }
    }
}

fn checks(workflow: &Workflow, reader: &mut DefinitionReader<'_>) {
    for step in &workflow.steps {
        let StepWork::Gate(gate) = &step.work else { continue };
        for check in gate.checks.iter().filter(|check| workflow.step(&check.step).is_none()) {
            let help =
                match closest_word::closest(check.step.as_str(), workflow.steps.iter().map(|step| step.id.as_str())) {
                    Some(close) => format!("did you mean `{close}`?"),
                    None => "name a step of type `command`".to_owned(),
                };
            reader.find(FindingCode::E04, check.place, format!("there is no step `{}`", check.step), help);
        }
    }
}

fn resources(workflow: &Workflow, surroundings: &LoadEnvironment<'_>, reader: &mut DefinitionReader<'_>) {
    for resource in workflow.resources.values() {
        match &resource.source {
            ResourceSource::File(path) if !(surroundings.file_exists)(path) => {
                let help = "put it into the skill's folder; the path begins there";
                reader.find(FindingCode::E13, resource.place, format!("there is no file `{path}`"), help);
            }
            ResourceSource::Convention(name) if !(surroundings.convention_exists)(name) => {
                let help = format!("put it into `.maestro/conventions/{name}.md`");
                reader.find(FindingCode::E13, resource.place, format!("there is no convention `{name}`"), help);
            }
            ResourceSource::File(_) | ResourceSource::Convention(_) => {}
        }
    }
}

/// The workflows that are called, and where that is said.
pub(super) fn calls(workflow: &Workflow) -> impl Iterator<Item = (&str, SourcePosition)> {
    workflow.steps.iter().filter_map(|step| match &step.work {
        StepWork::Call(call) => Some((call.workflow.0.as_str(), call.workflow.1)),
        StepWork::Dispatch(dispatch) => match &dispatch.task {
            SubagentTask::Call(name, place) => Some((name.as_str(), *place)),
            SubagentTask::Prompt(_) => None,
        },
        _ => None,
    })
}

fn callees(workflow: &Workflow, surroundings: &LoadEnvironment<'_>, reader: &mut DefinitionReader<'_>) {
    // To know one may mean to read it: each is looked up once.
    let mut known: BTreeMap<&str, Option<CalleeSignature>> = BTreeMap::new();
    for (name, _) in calls(workflow) {
        known.entry(name).or_insert_with(|| (surroundings.callee)(name));
    }
    for (name, place) in calls(workflow) {
        if name == workflow.name || calls_back(name, &workflow.name, surroundings) {
            let help = "a workflow cannot be part of itself; go round with `next` and `max_visits` instead";
            reader.find(FindingCode::E13, place, format!("calling `{name}` leads back here"), help);
        } else if known.get(name).is_some_and(Option::is_none) {
            let help = "`maestro workflow list` shows which there are";
            reader.find(FindingCode::E13, place, format!("there is no workflow `{name}`"), help);
        }
    }
    for step in &workflow.steps {
        let (to, given): (_, Vec<GivenParam<'_>>) = match &step.work {
            StepWork::Call(call) => {
                (&call.workflow, call.with.iter().map(|(name, place, value)| (name, *place, Some(value))).collect())
            }
            StepWork::Dispatch(dispatch) => match &dispatch.task {
                SubagentTask::Call(name, place) => {
                    let given = dispatch.with.iter().map(|(name, value)| (name, value.place, None)).collect();
                    (&(name.clone(), *place), given)
                }
                SubagentTask::Prompt(_) => continue,
            },
            _ => continue,
        };
        if let Some(Some(CalleeSignature { params: Some(params), .. })) = known.get(to.0.as_str()) {
            check_params(workflow, to, &given, params, reader);
        }
    }
    check_results(workflow, &known, reader);
}

/// What is read of a call's result must be something that the callee hands back.
fn check_results(
    workflow: &Workflow,
    known: &BTreeMap<&str, Option<CalleeSignature>>,
    reader: &mut DefinitionReader<'_>,
) {
    let called: BTreeMap<&StepId, &str> = workflow
        .steps
        .iter()
        .filter_map(|step| match &step.work {
            // What is called for each item of a list is handed back as a list.
            StepWork::Call(call) if step.branches.is_none() => Some((&step.id, call.workflow.0.as_str())),
            _ => None,
        })
        .collect();
    let mut told = BTreeSet::new();
    for used in name_uses::name_uses(workflow) {
        let ValueReference::Result(step, field) = used.reference else { continue };
        let Some(name) = called.get(step) else { continue };
        let Some(Some(CalleeSignature { outputs: Some(outputs), .. })) = known.get(name) else { continue };
        // Why it did not go well is handed back by every workflow.
        if outputs.contains(field) || field.as_str() == ERROR || !told.insert(used.reference) {
            continue;
        }
        let help = match closest_word::closest(field.as_str(), outputs.iter().map(Name::as_str)) {
            Some(close) => format!("did you mean `steps.{step}.result.{close}`?"),
            None => format!("declare `{field}` in the `outputs` of `{name}`"),
        };
        let message = format!("`{name}` hands back no `{field}`");
        reader.find(FindingCode::E09, name_checks::place(&used, reader), message, help);
    }
}

fn calls_back(name: &str, own: &str, surroundings: &LoadEnvironment<'_>) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![(name.to_owned(), 1)];
    while let Some((name, depth)) = open.pop() {
        let Some(callee) = (surroundings.callee)(&name) else { continue };
        if depth > MAX_DEPTH || !seen.insert(name) {
            continue;
        }
        if callee.calls.iter().any(|call| call == own) {
            return true;
        }
        open.extend(callee.calls.into_iter().map(|call| (call, depth + 1)));
    }
    false
}

/// A parameter that is given, where, and the value if its type can be known.
type GivenParam<'w> = (&'w Name, SourcePosition, Option<&'w AssignedValue>);

fn check_params(
    workflow: &Workflow,
    (name, place): &(String, SourcePosition),
    given: &[GivenParam<'_>],
    params: &[Variable],
    reader: &mut DefinitionReader<'_>,
) {
    for param in params {
        let Some((_, place, Some(value))) = given.iter().find(|(given, ..)| **given == param.name) else { continue };
        if let Some(message) = type_checks::describe_mismatch(workflow, param, value) {
            let help = format!("`{}` of `{name}` is declared as {}", param.name, param.kind.word());
            reader.find(FindingCode::E10, *place, message, help);
        }
    }
    for (param, place, _) in given.iter().filter(|(param, ..)| params.iter().all(|known| known.name != **param)) {
        let help = match closest_word::closest(param.as_str(), params.iter().map(|known| known.name.as_str())) {
            Some(close) => format!("did you mean `{close}`?"),
            None => "leave it out".to_owned(),
        };
        reader.find(FindingCode::E01, *place, format!("`{name}` has no parameter `{param}`"), help);
    }
    let needed = params.iter().filter(|param| param.required && param.default.is_none());
    for param in needed.filter(|param| given.iter().all(|(given, ..)| **given != param.name)) {
        let help = format!("add `with: {{{}: …}}`", param.name);
        reader.find(FindingCode::E10, *place, format!("`{name}` cannot start without `{}`", param.name), help);
    }
}

fn capabilities(workflow: &Workflow, surroundings: &LoadEnvironment<'_>, reader: &mut DefinitionReader<'_>) {
    let Some(tool) = surroundings.known_tool() else { return };
    for (capability, place) in &workflow.requires.capabilities {
        // A missing capability with a fallback is no error.
        if !tool.can(*capability) && !capability.has_fallback() {
            let help = "use another tool, or take it from `requires` if the workflow can do without";
            reader.find(FindingCode::E19, *place, format!("{} has no `{}`", tool.name, capability.as_str()), help);
        }
    }
}
