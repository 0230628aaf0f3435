//! Uses of names: where each is known, what it holds, where it is used.

use super::condition::Condition;
use super::definition::{Action, Argument, Assigned, ForEach, Mode, Options, Placed, Task, Work, Workflow};
use super::name::Name;
use super::template::{At, Reference, Template};
use super::value::{Field, Type};
use crate::yaml::Place;

/// The names that need no declaration.
pub(super) const PREDECLARED: [&str; 5] = ["tool", "workspace", "skill_dir", "run", "project"];

/// Names that are known in one place only.
#[derive(Debug, Clone, Copy)]
pub(super) enum Locals<'w> {
    /// None.
    None,
    /// What an `output` step adds for its template.
    Output(&'w [(Name, Placed<Template>)], Option<&'w Reference>),
    /// `answer`, in a validator.
    Answer,
    /// `item`, in the instructions of a sub-agent.
    Item,
    /// `result`, where an outcome follows from it.
    Result(&'w [Field]),
}

/// One use of a name.
pub(super) struct Use<'w> {
    /// What is referred to.
    pub(super) reference: &'w Reference,
    /// The text it stands in, where that is, and where in it.
    pub(super) text: &'w str,
    pub(super) place: Place,
    pub(super) at: At,
    /// The step, by its position, if it is used at one.
    pub(super) step: Option<usize>,
    /// What is known beside the declared names.
    pub(super) locals: Locals<'w>,
}

/// What a reference holds; none when it is not declared.
pub(super) fn type_of(workflow: &Workflow, locals: Locals<'_>, reference: &Reference) -> Option<Type> {
    match reference {
        Reference::Param(name) => workflow.param(name).map(|param| param.kind.clone()),
        Reference::Result(id, field) => match &workflow.step(id)?.work {
            Work::Agent(agent) => field_of(&agent.result, field),
            Work::Dispatch(_) if field.as_str() == "results" => Some(Type::List),
            Work::Command { .. } if field.as_str() == super::run::ERROR => Some(Type::Text),
            // What it hands back is the callee's own business; here it is text.
            Work::Call(_) => Some(Type::Text),
            _ => None,
        },
        Reference::Named(name, field) => {
            let kind = match local(workflow, locals, name, field.as_ref()) {
                Some(kind) => return Some(kind),
                None => named(workflow, name)?,
            };
            match (field, kind) {
                (None, kind) => Some(kind),
                (Some(field), Type::Object(fields)) => field_of(&fields, field),
                (Some(_), _) => None,
            }
        }
    }
}

fn named(workflow: &Workflow, name: &Name) -> Option<Type> {
    let declared = workflow.variable(name).or_else(|| workflow.param(name));
    declared.map(|variable| variable.kind.clone()).or(PREDECLARED.contains(&name.as_str()).then_some(Type::Text))
}

fn local(workflow: &Workflow, locals: Locals<'_>, name: &Name, field: Option<&Name>) -> Option<Type> {
    match locals {
        Locals::Answer => (name.as_str() == "answer" && field.is_none()).then_some(Type::Text),
        // What the items of a list look like is not declared; whatever they have is text here.
        Locals::Item => (name.as_str() == "item").then_some(Type::Text),
        Locals::Result(fields) if name.as_str() == "result" => field.and_then(|field| field_of(fields, field)),
        Locals::None | Locals::Result(_) => None,
        Locals::Output(data, source) => {
            if let Some((_, value)) = data.iter().find(|(key, _)| key == name) {
                let sole = value.value.sole().and_then(|reference| type_of(workflow, Locals::None, reference));
                return field.is_none().then(|| sole.unwrap_or(Type::Text));
            }
            match source.and_then(|reference| type_of(workflow, Locals::None, reference)) {
                Some(Type::Object(fields)) if field.is_none() => field_of(&fields, name),
                _ => None,
            }
        }
    }
}

fn field_of(fields: &[Field], name: &Name) -> Option<Type> {
    fields.iter().find(|field| field.name == *name).map(|field| field.kind.clone())
}

/// Every use of a name in a workflow.
pub(super) fn uses(workflow: &Workflow) -> Vec<Use<'_>> {
    let mut uses = Uses { found: Vec::new(), step: None, locals: Locals::None };
    for validator in workflow.validators.values() {
        uses.with(Locals::Answer, |uses| uses.action(&validator.action));
    }
    for (index, step) in workflow.steps.iter().enumerate() {
        uses.step = Some(index);
        uses.templates(step.description.iter());
        uses.conditions(step.when.iter());
        uses.work(workflow, &step.work);
    }
    uses.step = None;
    uses.templates(workflow.outputs.iter().map(|(_, template)| template));
    uses.found
}

struct Uses<'w> {
    found: Vec<Use<'w>>,
    step: Option<usize>,
    locals: Locals<'w>,
}

impl<'w> Uses<'w> {
    fn with(&mut self, locals: Locals<'w>, walk: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.locals, locals);
        walk(self);
        self.locals = before;
    }

    fn note(&mut self, reference: &'w Reference, text: &'w str, place: Place, at: At) {
        self.found.push(Use { reference, text, place, at, step: self.step, locals: self.locals });
    }

    fn templates(&mut self, templates: impl IntoIterator<Item = &'w Placed<Template>>) {
        for template in templates {
            for (reference, at) in template.value.references() {
                self.note(reference, &template.text, template.place, at);
            }
        }
    }

    fn conditions(&mut self, conditions: impl IntoIterator<Item = &'w Placed<Condition>>) {
        for condition in conditions {
            for (reference, at) in condition.value.references() {
                self.note(reference, &condition.text, condition.place, at);
            }
        }
    }

    fn action(&mut self, action: &'w Action) {
        match action {
            Action::Program { arguments, .. } => {
                for argument in arguments {
                    match argument {
                        Argument::Text(template) | Argument::Glob(template) => self.templates([template]),
                        Argument::Spread(reference, place) => self.note(reference, "", *place, At(0)),
                    }
                }
            }
            Action::Builtin { arguments, .. } => self.templates(arguments.values()),
            Action::Shell { env, .. } => self.templates(env.values()),
        }
    }

    fn assigned(&mut self, values: impl IntoIterator<Item = &'w Assigned>) {
        for value in values {
            if let Assigned::Text(template) = value {
                self.templates([template]);
            }
        }
    }

    fn work(&mut self, workflow: &'w Workflow, work: &'w Work) {
        match work {
            Work::Agent(agent) => {
                self.templates(agent.actions.iter().chain(&agent.forbidden).chain(agent.expected.texts()));
                self.templates(agent.session.iter().flat_map(super::definition::Session::texts));
                self.templates(agent.data.iter().map(|(_, template)| template));
                let rules = agent.outcome_from.iter().filter_map(|rule| rule.when.as_ref());
                self.with(Locals::Result(&agent.result), |uses| uses.conditions(rules));
            }
            Work::Dispatch(dispatch) => {
                match &dispatch.mode {
                    Mode::Template { items: ForEach::List(reference, place), .. } => {
                        self.note(reference, "", *place, At(0));
                    }
                    Mode::Roster(entries) => self.templates(entries.iter().flatten().map(|(_, template)| template)),
                    Mode::Single | Mode::Template { .. } => {}
                }
                self.with(Locals::Item, |uses| {
                    uses.templates(dispatch.with.iter().map(|(_, template)| template));
                    if let Task::Prompt(prompt) = &dispatch.task {
                        uses.templates([prompt]);
                    }
                });
            }
            Work::Command { action, .. } => self.action(action),
            Work::Output { template, data, source } => {
                self.templates(data.iter().map(|(_, template)| template));
                if let Some((reference, place)) = source {
                    self.note(reference, "", *place, At(0));
                }
                let locals = Locals::Output(data, source.as_ref().map(|(reference, _)| reference));
                self.with(locals, |uses| uses.templates(workflow.templates.get(&template.0)));
            }
            Work::Question(question) => {
                self.templates([&question.prompt]);
                self.templates(&question.default);
                match &question.options {
                    Options::Command(action) => self.action(action),
                    Options::Variable(reference, place) => self.note(reference, "", *place, At(0)),
                    Options::Free | Options::Listed(_) => {}
                }
            }
            Work::Conditional { cases, .. } => self.conditions(cases.iter().map(|case| &case.when)),
            Work::Set(values) => self.assigned(values.iter().map(|(_, _, value)| value)),
            Work::Call(call) => self.assigned(call.with.iter().map(|(_, _, value)| value)),
            Work::End { message, .. } => self.templates(message),
            Work::Gate(gate) => self.templates(&gate.pass_message),
        }
    }
}
