//! Flow of values to the places that test them.

use super::asked::{Questions, Root, Source, workflows};
use crate::workflow::definition::{Assigned, Options, Step, Work, Workflow};
use crate::workflow::name::Name;
use crate::workflow::run::Definition;
use crate::workflow::scope::{Locals, type_of};
use crate::workflow::template::{Reference, Template};
use crate::workflow::value::Type;

/// A value of one workflow that becomes another, perhaps of another workflow.
pub(super) struct Flow {
    pub(super) from: (String, Source),
    pub(super) to: (String, Root),
    /// Whether the run fails where the value is not there or does not fit.
    pub(super) checked: bool,
    way: Way,
}

/// How a value becomes another.
enum Way {
    /// It is the same.
    Same,
    /// It must first fit another type.
    Fitted(Type),
    /// It is put into a text.
    Part,
    /// One of its items is chosen.
    Item,
}

impl Flow {
    /// What is asked about the source when this is asked about a field of the target, and about which field of it.
    pub(super) fn back(&self, field: Option<Name>, mut questions: Questions) -> Option<(Option<Name>, Questions)> {
        let own = &self.from.1.field;
        match &self.way {
            Way::Same if own.is_none() => Some((field, questions)),
            Way::Same => field.is_none().then(|| (own.clone(), questions)),
            Way::Fitted(kind) => {
                let texts: Vec<String> = match kind {
                    Type::Enum(values) => values.clone(),
                    Type::Int => vec!["1".to_owned()],
                    Type::Bool => vec!["true".to_owned(), "false".to_owned()],
                    _ => Vec::new(),
                };
                questions.any = true;
                questions.texts.extend(texts);
                let numbers: Vec<String> = questions.numbers.iter().map(i64::to_string).collect();
                questions.texts.extend(numbers);
                Some((own.clone(), questions))
            }
            Way::Part => {
                let all = questions.any;
                Some((own.clone(), Questions { any: all, all, ..Questions::default() }))
            }
            Way::Item => {
                let items = questions.texts;
                Some((own.clone(), Questions { items, ..Questions::default() }))
            }
        }
    }
}

/// Every way from a value to a value.
pub(super) fn flows(definition: &Definition) -> Vec<Flow> {
    let mut all = Vec::new();
    for (name, workflow) in workflows(definition) {
        for step in &workflow.steps {
            let mut finder = Finder { name, workflow, step, found: &mut all };
            finder.step(definition);
        }
    }
    all
}

struct Finder<'f> {
    name: &'f str,
    workflow: &'f Workflow,
    step: &'f Step,
    found: &'f mut Vec<Flow>,
}

impl Finder<'_> {
    fn step(&mut self, definition: &Definition) {
        match &self.step.work {
            Work::Agent(agent) => {
                for field in &agent.result {
                    let Some(variable) = self.workflow.variable(&field.name) else { continue };
                    let from = Source { root: self.result(&field.name), field: None };
                    let way = way(&field.kind, &variable.kind);
                    self.add(from, (self.name, &Root::Variable(field.name.clone())), way, None);
                }
            }
            Work::Set(values) => {
                for (name, _, value) in values {
                    let Some(variable) = self.workflow.variable(name) else { continue };
                    self.assigned(value, (self.name, &Root::Variable(name.clone())), &variable.kind);
                }
            }
            Work::Call(call) => {
                let name = call.workflow.0.as_str();
                let Some(callee) = definition.workflow(name) else { return };
                for (param, _, value) in &call.with {
                    let Some(declared) = callee.param(param) else { continue };
                    self.assigned(value, (name, &Root::Param(param.clone())), &declared.kind);
                }
                let to = self.name;
                for (output, template) in &callee.outputs {
                    let root = self.result(output);
                    let step = self.step;
                    let mut inside = Finder { name, workflow: callee, step, found: self.found };
                    inside.template(&template.value, (to, &root), None);
                }
            }
            Work::Question(question) => {
                if let (Options::Variable(reference, _), Some((name, _))) = (&question.options, &self.step.store) {
                    let from = Source::of(self.workflow, &self.step.id, reference);
                    if let Some(from) = from {
                        self.add(from, (self.name, &Root::Variable(name.clone())), Way::Item, None);
                    }
                }
            }
            _ => {}
        }
    }

    fn result(&self, field: &Name) -> Root {
        Root::Result(self.step.id.clone(), field.clone())
    }

    fn assigned(&mut self, value: &Assigned, to: (&str, &Root), kind: &Type) {
        if let Assigned::Text(template) = value {
            self.template(&template.value, to, Some(kind));
        }
    }

    fn template(&mut self, template: &Template, to: (&str, &Root), kind: Option<&Type>) {
        let sole = template.sole();
        for (reference, _) in template.references() {
            let Some(from) = Source::of(self.workflow, &self.step.id, reference) else { continue };
            let way = match (sole, kind) {
                (Some(_), Some(kind)) => self.kind(reference).map_or(Way::Same, |own| way(&own, kind)),
                (Some(_), None) => Way::Same,
                (None, _) => Way::Part,
            };
            self.add(from, to, way, kind);
        }
    }

    fn kind(&self, reference: &Reference) -> Option<Type> {
        type_of(self.workflow, Locals::None, reference)
    }

    /// Notes a flow; what it becomes is checked where it must be of some kind.
    fn add(&mut self, from: Source, (name, root): (&str, &Root), way: Way, kind: Option<&Type>) {
        let (from, to) = ((self.name.to_owned(), from), (name.to_owned(), root.clone()));
        self.found.push(Flow { from, to, checked: kind.is_some(), way });
    }
}

/// How a value of one type becomes one of another.
fn way(from: &Type, to: &Type) -> Way {
    let fits = match (from, to) {
        (_, Type::Text | Type::Path) => true,
        (Type::Enum(_), Type::Enum(_)) => from == to,
        (from, to) => from.word() == to.word(),
    };
    if fits { Way::Same } else { Way::Fitted(to.clone()) }
}
