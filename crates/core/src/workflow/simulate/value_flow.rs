//! Flow of values to the places that test them.

use super::value_tests::{ValueRoot, ValueSource, ValueTests, workflows};
use crate::workflow::definition::{AssignedValue, QuestionOptions, StepWork, Workflow, WorkflowStep};
use crate::workflow::name::Name;
use crate::workflow::name_uses::{LocalNames, type_of};
use crate::workflow::run::RunDefinition;
use crate::workflow::template::{Template, ValueReference};
use crate::workflow::value_type::ValueType;

/// A value of one workflow that becomes another, perhaps of another workflow.
pub(super) struct ValueFlow {
    pub(super) from: (String, ValueSource),
    pub(super) to: (String, ValueRoot),
    /// Whether the run fails where the value is not there or does not fit.
    pub(super) checked: bool,
    way: FlowConversion,
}

/// How a value becomes another.
enum FlowConversion {
    /// It is the same.
    Same,
    /// It must first fit another type.
    Fitted(ValueType),
    /// It is put into a text.
    Part,
    /// One of its items is chosen.
    Item,
}

impl ValueFlow {
    /// What is asked about the source when this is asked about a field of the target, and about which field of it.
    pub(super) fn back(&self, field: Option<Name>, mut questions: ValueTests) -> Option<(Option<Name>, ValueTests)> {
        let own = &self.from.1.field;
        match &self.way {
            FlowConversion::Same if own.is_none() => Some((field, questions)),
            FlowConversion::Same => field.is_none().then(|| (own.clone(), questions)),
            FlowConversion::Fitted(kind) => {
                let texts: Vec<String> = match kind {
                    ValueType::Enum(values) => values.clone(),
                    ValueType::Int | ValueType::Number => vec!["1".to_owned()],
                    ValueType::Bool => vec!["true".to_owned(), "false".to_owned()],
                    _ => Vec::new(),
                };
                questions.any = true;
                questions.texts.extend(texts);
                let numbers: Vec<String> = questions.numbers.iter().map(i64::to_string).collect();
                questions.texts.extend(numbers);
                Some((own.clone(), questions))
            }
            FlowConversion::Part => {
                let all = questions.any;
                Some((own.clone(), ValueTests { any: all, all, ..ValueTests::default() }))
            }
            FlowConversion::Item => {
                let items = questions.texts;
                Some((own.clone(), ValueTests { items, ..ValueTests::default() }))
            }
        }
    }
}

/// Every way from a value to a value.
pub(super) fn flows(definition: &RunDefinition) -> Vec<ValueFlow> {
    let mut all = Vec::new();
    for (name, workflow) in workflows(definition) {
        for step in &workflow.steps {
            let mut finder = FlowFinder { name, workflow, step, found: &mut all };
            finder.step(definition);
        }
    }
    all
}

struct FlowFinder<'f> {
    name: &'f str,
    workflow: &'f Workflow,
    step: &'f WorkflowStep,
    found: &'f mut Vec<ValueFlow>,
}

impl FlowFinder<'_> {
    fn step(&mut self, definition: &RunDefinition) {
        match &self.step.work {
            StepWork::Agent(agent) => {
                for field in &agent.result {
                    let Some(variable) = self.workflow.variable(&field.name) else { continue };
                    let from = ValueSource { root: self.result(&field.name), field: None };
                    let way = way(&field.kind, &variable.kind);
                    self.add(from, (self.name, &ValueRoot::Variable(field.name.clone())), way, None);
                }
            }
            StepWork::Set(values) => {
                for (name, _, value) in values {
                    let Some(variable) = self.workflow.variable(name) else { continue };
                    self.assigned(value, (self.name, &ValueRoot::Variable(name.clone())), &variable.kind);
                }
            }
            StepWork::Call(call) => {
                let name = call.workflow.0.as_str();
                let Some(callee) = definition.workflow(name) else { return };
                for (param, _, value) in &call.with {
                    let Some(declared) = callee.param(param) else { continue };
                    self.assigned(value, (name, &ValueRoot::Param(param.clone())), &declared.kind);
                }
                let to = self.name;
                for (output, template) in &callee.outputs {
                    let root = self.result(output);
                    let step = self.step;
                    let mut inside = FlowFinder { name, workflow: callee, step, found: self.found };
                    inside.template(&template.value, (to, &root), None);
                }
            }
            StepWork::Question(question) => {
                if let (QuestionOptions::Variable(reference, _), Some((name, _))) =
                    (&question.options, &self.step.store)
                {
                    let from = ValueSource::of(self.workflow, &self.step.id, reference);
                    if let Some(from) = from {
                        self.add(from, (self.name, &ValueRoot::Variable(name.clone())), FlowConversion::Item, None);
                    }
                }
            }
            _ => {}
        }
    }

    fn result(&self, field: &Name) -> ValueRoot {
        ValueRoot::Result(self.step.id.clone(), field.clone())
    }

    fn assigned(&mut self, value: &AssignedValue, to: (&str, &ValueRoot), kind: &ValueType) {
        if let AssignedValue::Text(template) = value {
            self.template(&template.value, to, Some(kind));
        }
    }

    fn template(&mut self, template: &Template, to: (&str, &ValueRoot), kind: Option<&ValueType>) {
        let sole = template.sole();
        for (reference, _) in template.references() {
            let Some(from) = ValueSource::of(self.workflow, &self.step.id, reference) else { continue };
            let way = match (sole, kind) {
                (Some(_), Some(kind)) => self.kind(reference).map_or(FlowConversion::Same, |own| way(&own, kind)),
                (Some(_), None) => FlowConversion::Same,
                (None, _) => FlowConversion::Part,
            };
            self.add(from, to, way, kind);
        }
    }

    fn kind(&self, reference: &ValueReference) -> Option<ValueType> {
        type_of(self.workflow, LocalNames::None, reference)
    }

    /// Notes a flow; what it becomes is checked where it must be of some kind.
    fn add(
        &mut self,
        from: ValueSource,
        (name, root): (&str, &ValueRoot),
        way: FlowConversion,
        kind: Option<&ValueType>,
    ) {
        let (from, to) = ((self.name.to_owned(), from), (name.to_owned(), root.clone()));
        self.found.push(ValueFlow { from, to, checked: kind.is_some(), way });
    }
}

/// How a value of one type becomes one of another.
fn way(from: &ValueType, to: &ValueType) -> FlowConversion {
    let fits = match (from, to) {
        (_, ValueType::Text | ValueType::Path) => true,
        (ValueType::Enum(_), ValueType::Enum(_)) => from == to,
        (from, to) => from.word() == to.word(),
    };
    if fits { FlowConversion::Same } else { FlowConversion::Fitted(to.clone()) }
}
