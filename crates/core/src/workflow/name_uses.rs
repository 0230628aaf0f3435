//! Uses of names: where each is known, what it holds, where it is used.

use super::condition::Condition;
use super::definition::{
    AssignedValue, BranchItems, CommandAction, CommandArgument, DispatchMode, EndStatus, ForEach, PlacedValue,
    QuestionOptions, StepWork, SubagentTask, Workflow, WorkflowStep,
};
use super::name::Name;
use super::template::{ByteOffset, Template, ValueReference};
use super::value_type::{ResultField, ValueType};
use crate::yaml::SourcePosition;

/// The names that need no declaration.
pub(super) const PREDECLARED: [&str; 5] = ["tool", "workspace", "skill_dir", "run", "project"];

/// The name of how a run comes to its end, in the steps of `finally`.
pub(super) const ENDING: &str = "ending";
/// How a run ends that is canceled, beside how others do.
pub(super) const CANCELED: &str = "canceled";

/// Names that are known in one place only.
#[derive(Debug, Clone, Copy)]
pub(super) enum LocalNames<'w> {
    /// None.
    None,
    /// What an `output` step adds for its template.
    Output(&'w [(Name, PlacedValue<Template>)], Option<&'w ValueReference>),
    /// `answer`, in a validator.
    Answer,
    /// `item`, where something is done for each item of a list, and the list if there is one.
    Item(Option<&'w ValueReference>),
    /// `result`, where an outcome follows from it.
    Result(&'w [ResultField]),
    /// The name of a loop in a template, and the list that it goes through.
    Each(&'w Name, &'w ValueReference),
}

/// One use of a name.
pub(super) struct NameUse<'w> {
    /// What is referred to.
    pub(super) reference: &'w ValueReference,
    /// The text it stands in, where that is, and where in it.
    pub(super) text: &'w str,
    pub(super) place: SourcePosition,
    pub(super) at: ByteOffset,
    /// The step, by its position, if it is used at one.
    pub(super) step: Option<usize>,
    /// What is known beside the declared names.
    pub(super) locals: LocalNames<'w>,
}

/// What a reference holds; none when it is not declared.
pub(super) fn type_of(workflow: &Workflow, locals: LocalNames<'_>, reference: &ValueReference) -> Option<ValueType> {
    match reference {
        ValueReference::Param(name) => workflow.param(name).map(|param| param.kind.clone()),
        ValueReference::Result(id, field) => match &workflow.step(id)?.work {
            _ if field.as_str() == "results" && workflow.step(id)?.branches.is_some() => {
                Some(ValueType::List(Vec::new()))
            }
            StepWork::Agent(agent) => field_of(&agent.result, field),
            StepWork::Dispatch(_) if field.as_str() == "results" => Some(ValueType::List(Vec::new())),
            StepWork::Command { .. } if field.as_str() == super::run::ERROR => Some(ValueType::Text),
            // What is called for each item of a list hands back nothing but that list.
            StepWork::Call(_) if workflow.step(id)?.branches.is_some() && field.as_str() != super::run::ERROR => None,
            // What it hands back is the callee's own business; here it is text.
            StepWork::Call(_) => Some(ValueType::Text),
            _ => None,
        },
        ValueReference::Named(name, field) => {
            let kind = match local(workflow, locals, name, field.as_ref()) {
                Some(kind) => return Some(kind),
                None => named(workflow, name)?,
            };
            match (field, kind) {
                (None, kind) => Some(kind),
                (Some(field), ValueType::Object(fields)) => field_of(&fields, field),
                (Some(_), _) => None,
            }
        }
    }
}

fn named(workflow: &Workflow, name: &Name) -> Option<ValueType> {
    let declared = workflow.variable(name).or_else(|| workflow.param(name));
    let always = || PREDECLARED.contains(&name.as_str()).then_some(ValueType::Text);
    let ending = || (is_ending(workflow, name)).then(ending_type);
    declared.map(|variable| variable.kind.clone()).or_else(always).or_else(ending)
}

/// Whether a name is that of how a run comes to its end.
pub(super) fn is_ending(workflow: &Workflow, name: &Name) -> bool {
    let declared = workflow.variable(name).is_some() || workflow.param(name).is_some();
    name.as_str() == ENDING && workflow.finally.is_some() && !declared
}

fn ending_type() -> ValueType {
    let words = EndStatus::ALL.map(EndStatus::as_str).into_iter().chain([CANCELED]);
    let words = words.map(str::to_owned).collect();
    let fields = [("status", ValueType::Enum(words)), ("message", ValueType::Text)];
    ValueType::Object(fields.into_iter().filter_map(|(name, kind)| ResultField::plain(name, kind)).collect())
}

fn local(workflow: &Workflow, locals: LocalNames<'_>, name: &Name, field: Option<&Name>) -> Option<ValueType> {
    match locals {
        LocalNames::Answer => (name.as_str() == "answer" && field.is_none()).then_some(ValueType::Text),
        LocalNames::Item(list) if name.as_str() == "item" => {
            match (list.and_then(|list| type_of(workflow, LocalNames::None, list)), field) {
                (Some(ValueType::List(fields)), Some(field)) if !fields.is_empty() => field_of(&fields, field),
                // What the items look like is not declared; whatever they have is text here.
                _ => Some(ValueType::Text),
            }
        }
        LocalNames::Result(fields) if name.as_str() == "result" => field.and_then(|field| field_of(fields, field)),
        LocalNames::Each(own, list) if name == own => match type_of(workflow, LocalNames::None, list) {
            Some(ValueType::List(fields)) if !fields.is_empty() => match field {
                Some(field) => field_of(&fields, field),
                None => Some(ValueType::Object(fields)),
            },
            // What the items are is not declared.
            _ => Some(ValueType::Text),
        },
        LocalNames::None | LocalNames::Item(_) | LocalNames::Result(_) | LocalNames::Each(..) => None,
        LocalNames::Output(data, source) => {
            if let Some((_, value)) = data.iter().find(|(key, _)| key == name) {
                let sole = value.value.sole().and_then(|reference| type_of(workflow, LocalNames::None, reference));
                return field.is_none().then(|| sole.unwrap_or(ValueType::Text));
            }
            match source.and_then(|reference| type_of(workflow, LocalNames::None, reference)) {
                Some(ValueType::Object(fields)) if field.is_none() => field_of(&fields, name),
                _ => None,
            }
        }
    }
}

fn field_of(fields: &[ResultField], name: &Name) -> Option<ValueType> {
    fields.iter().find(|field| field.name == *name).map(|field| field.kind.clone())
}

/// A condition in a template.
pub(super) struct TemplateTest<'w> {
    pub(super) condition: &'w Condition,
    /// The text it stands in, where that is, and where in it.
    pub(super) text: &'w str,
    pub(super) place: SourcePosition,
    pub(super) at: ByteOffset,
    /// What is known beside the declared names.
    pub(super) locals: LocalNames<'w>,
}

/// Every use of a name in a workflow.
pub(super) fn name_uses(workflow: &Workflow) -> Vec<NameUse<'_>> {
    collect(workflow).found
}

/// Every condition in a template of a workflow.
pub(super) fn template_tests(workflow: &Workflow) -> Vec<TemplateTest<'_>> {
    collect(workflow).tests
}

/// Every list that a loop in a template of a workflow goes through.
pub(super) fn looped_lists(workflow: &Workflow) -> Vec<NameUse<'_>> {
    collect(workflow).loops
}

fn collect(workflow: &Workflow) -> UseCollector<'_> {
    let mut uses =
        UseCollector { found: Vec::new(), tests: Vec::new(), loops: Vec::new(), step: None, locals: LocalNames::None };
    for validator in workflow.validators.values() {
        uses.with(LocalNames::Answer, |uses| uses.action(&validator.action));
    }
    for (index, step) in workflow.steps.iter().enumerate() {
        uses.step = Some(index);
        uses.templates(step.description.iter());
        uses.conditions(step.when.iter());
        uses.templates(step.retry.iter().filter_map(|retry| retry.feedback.as_ref()));
        uses.work(workflow, step);
    }
    uses.step = None;
    uses.templates(workflow.outputs.iter().map(|(_, template)| template));
    uses
}

struct UseCollector<'w> {
    found: Vec<NameUse<'w>>,
    tests: Vec<TemplateTest<'w>>,
    loops: Vec<NameUse<'w>>,
    step: Option<usize>,
    locals: LocalNames<'w>,
}

impl<'w> UseCollector<'w> {
    fn with(&mut self, locals: LocalNames<'w>, walk: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.locals, locals);
        walk(self);
        self.locals = before;
    }

    fn note(&mut self, reference: &'w ValueReference, text: &'w str, place: SourcePosition, at: ByteOffset) {
        self.found.push(NameUse { reference, text, place, at, step: self.step, locals: self.locals });
    }

    fn templates(&mut self, templates: impl IntoIterator<Item = &'w PlacedValue<Template>>) {
        for template in templates {
            for (reference, at) in template.value.references() {
                self.note(reference, &template.text, template.place, at);
            }
            for used in template.value.loop_uses() {
                self.with(LocalNames::Each(used.name, used.list), |uses| {
                    uses.note(used.reference, &template.text, template.place, used.at);
                });
            }
            for (list, at) in template.value.looped_lists() {
                let (text, place, locals) = (template.text.as_str(), template.place, self.locals);
                self.loops.push(NameUse { reference: list, text, place, at, step: self.step, locals });
            }
            for (condition, at) in template.value.conditions() {
                let (text, place, locals) = (template.text.as_str(), template.place, self.locals);
                self.tests.push(TemplateTest { condition, text, place, at, locals });
            }
        }
    }

    fn conditions(&mut self, conditions: impl IntoIterator<Item = &'w PlacedValue<Condition>>) {
        for condition in conditions {
            for (reference, at) in condition.value.references() {
                self.note(reference, &condition.text, condition.place, at);
            }
        }
    }

    fn action(&mut self, action: &'w CommandAction) {
        match action {
            CommandAction::Program { arguments, .. } => {
                for argument in arguments {
                    match argument {
                        CommandArgument::Text(template) | CommandArgument::Glob(template) => self.templates([template]),
                        CommandArgument::Spread(reference, place) => self.note(reference, "", *place, ByteOffset(0)),
                    }
                }
            }
            CommandAction::BuiltinCommand { arguments, .. } => self.templates(arguments.values()),
            CommandAction::Shell { env, .. } => self.templates(env.values()),
        }
    }

    fn assigned(&mut self, values: impl IntoIterator<Item = &'w AssignedValue>) {
        for value in values {
            if let AssignedValue::Text(template) = value {
                self.templates([template]);
            }
        }
    }

    fn work(&mut self, workflow: &'w Workflow, step: &'w WorkflowStep) {
        let item = match step.branches.as_ref().map(|branches| &branches.items) {
            Some(BranchItems::List(list, _)) => LocalNames::Item(Some(list)),
            Some(BranchItems::Fixed(_)) => LocalNames::Item(None),
            None => LocalNames::None,
        };
        match step.branches.as_ref().map(|branches| &branches.items) {
            Some(BranchItems::List(reference, place)) => self.note(reference, "", *place, ByteOffset(0)),
            Some(BranchItems::Fixed(items)) => self.assigned(items),
            None => {}
        }
        match &step.work {
            StepWork::Agent(agent) => {
                self.templates(agent.actions.iter().chain(&agent.forbidden).chain(agent.expected.texts()));
                self.templates(agent.session.iter().flat_map(super::definition::SessionSpec::texts));
                self.templates(agent.data.iter().map(|(_, template)| template));
                let resources = agent.resources.iter().filter_map(|(name, _)| workflow.resources.get(name));
                self.templates(resources.filter_map(|resource| resource.section.as_ref()));
                let rules = agent.outcome_from.iter().filter_map(|rule| rule.when.as_ref());
                self.with(LocalNames::Result(&agent.result), |uses| uses.conditions(rules));
            }
            StepWork::Dispatch(dispatch) => {
                match &dispatch.mode {
                    DispatchMode::Template { items: ForEach::List(reference, place), .. } => {
                        self.note(reference, "", *place, ByteOffset(0));
                    }
                    DispatchMode::Roster(entries) => {
                        self.templates(entries.iter().flat_map(|entry| &entry.values).map(|(_, template)| template));
                    }
                    DispatchMode::Single | DispatchMode::Template { .. } => {}
                }
                let list = match &dispatch.mode {
                    DispatchMode::Template { items: ForEach::List(list, _), group: 1 } => Some(list),
                    _ => None,
                };
                self.with(LocalNames::Item(list), |uses| {
                    uses.templates(dispatch.with.iter().map(|(_, template)| template));
                    if let SubagentTask::Prompt(prompt) = &dispatch.task {
                        uses.templates([prompt]);
                    }
                });
            }
            StepWork::Command { action, setting, .. } => self.with(item, |uses| {
                uses.action(action);
                uses.templates(setting.texts());
            }),
            StepWork::Output { template, data, source } => {
                self.templates(data.iter().map(|(_, template)| template));
                if let Some((reference, place)) = source {
                    self.note(reference, "", *place, ByteOffset(0));
                }
                let locals = LocalNames::Output(data, source.as_ref().map(|(reference, _)| reference));
                self.with(locals, |uses| uses.templates(workflow.templates.get(&template.0)));
            }
            StepWork::Question(question) => {
                self.templates([&question.prompt]);
                self.templates(&question.default);
                match &question.options {
                    QuestionOptions::Command(action) => self.action(action),
                    QuestionOptions::Variable(reference, place) => self.note(reference, "", *place, ByteOffset(0)),
                    QuestionOptions::Free | QuestionOptions::Listed(_) => {}
                }
            }
            StepWork::Conditional { cases, .. } => self.conditions(cases.iter().map(|case| &case.when)),
            StepWork::Set(values) => self.assigned(values.iter().map(|(_, _, value)| value)),
            StepWork::Call(call) => {
                self.with(item, |uses| uses.assigned(call.with.iter().map(|(_, _, value)| value)));
            }
            StepWork::End { message, .. } => self.templates(message),
            StepWork::Gate(gate) => self.templates(&gate.pass_message),
        }
    }
}
