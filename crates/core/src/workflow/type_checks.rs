//! Checks of types where a value is compared, stored, set or passed on.

use serde_json::Value as Json;

use super::condition::{self, Condition};
use super::definition::{
    AssignedValue, CommandAction, CommandArgument, OutputParsing, PlacedValue, QuestionOptions, StepWork, Variable,
    Workflow, WorkflowStep,
};
use super::finding::FindingCode;
use super::load::DefinitionReader;
use super::name_uses::{self, LocalNames, NameUse, TemplateTest, type_of};
use super::template::{Template, ValueReference};
use super::value_type::ValueType;
use crate::yaml::SourcePosition;

pub(super) fn check_types(workflow: &Workflow, reader: &mut DefinitionReader<'_>) {
    let mut checker = TypeChecker { workflow, reader };
    for validator in workflow.validators.values() {
        checker.action(&validator.action);
    }
    for test in name_uses::template_tests(workflow) {
        checker.template_test(&test);
    }
    for looped in name_uses::looped_lists(workflow) {
        checker.looped(&looped);
    }
    for step in &workflow.steps {
        checker.conditions(step.when.iter(), LocalNames::None);
        checker.stored(step);
        checker.work(step);
    }
}

struct TypeChecker<'w, 'r, 's> {
    workflow: &'w Workflow,
    reader: &'r mut DefinitionReader<'s>,
}

impl<'w> TypeChecker<'w, '_, '_> {
    fn type_of(&self, reference: &ValueReference) -> Option<ValueType> {
        type_of(self.workflow, LocalNames::None, reference)
    }

    fn conditions(&mut self, conditions: impl IntoIterator<Item = &'w PlacedValue<Condition>>, locals: LocalNames<'_>) {
        for placed in conditions {
            for fault in condition::check_types(&placed.value, &|reference| type_of(self.workflow, locals, reference)) {
                let place = self.reader.place_in(placed, fault.at);
                self.reader.find(FindingCode::E10, place, fault.message, fault.help);
            }
        }
    }

    fn looped(&mut self, looped: &NameUse<'w>) {
        let kind = type_of(self.workflow, looped.locals, looped.reference);
        // Texts may hold what a called workflow handed back.
        if let Some(kind) = kind.filter(|kind| !matches!(kind, ValueType::List(_) | ValueType::Text)) {
            let around = PlacedValue { value: (), place: looped.place, text: looped.text.to_owned() };
            let place = self.reader.place_in(&around, looped.at.0);
            let message = format!("`{}` is not a list: it is declared as {}", looped.reference, kind.word());
            self.reader.find_at_start(
                FindingCode::E10,
                place,
                message,
                "only a list is gone through; `{if …}` asks about others",
            );
        }
    }

    fn template_test(&mut self, test: &TemplateTest<'w>) {
        let faults =
            condition::check_types(test.condition, &|reference| type_of(self.workflow, test.locals, reference));
        for fault in faults {
            let around = PlacedValue { value: (), place: test.place, text: test.text.to_owned() };
            let place = self.reader.place_in(&around, test.at.0 + fault.at);
            self.reader.find(FindingCode::E10, place, fault.message, fault.help);
        }
    }

    fn work(&mut self, step: &'w WorkflowStep) {
        if let Some((reference, place)) = step.listed_items() {
            self.is_list(reference, place, FindingCode::E16);
        }
        match &step.work {
            StepWork::Agent(agent) => {
                let rules = agent.outcome_from.iter().filter_map(|rule| rule.when.as_ref());
                self.conditions(rules, LocalNames::Result(&agent.result));
            }
            StepWork::Command { action, .. } => self.action(action),
            StepWork::Output { source: Some((reference, place)), .. } => self.source(reference, *place),
            StepWork::Question(question) => match &question.options {
                QuestionOptions::Variable(reference, place) => self.is_list(reference, *place, FindingCode::E17),
                QuestionOptions::Command(action) => self.action(action),
                QuestionOptions::Free | QuestionOptions::Listed(_) => {}
            },
            StepWork::Conditional { cases, .. } => {
                self.conditions(cases.iter().map(|case| &case.when), LocalNames::None);
            }
            StepWork::Set(values) => {
                for (name, place, value) in values {
                    if let Some(variable) = self.workflow.variable(name) {
                        self.assigned(variable, *place, value);
                    }
                }
            }
            StepWork::Dispatch(_)
            | StepWork::Output { .. }
            | StepWork::Gate(_)
            | StepWork::Call(_)
            | StepWork::End { .. } => {}
        }
    }

    fn is_list(&mut self, reference: &ValueReference, place: SourcePosition, code: FindingCode) {
        if let Some(kind) = self.type_of(reference).filter(|kind| !matches!(kind, ValueType::List(_))) {
            let message = format!("`{reference}` is not a list: it is declared as {}", kind.word());
            self.reader.find(code, place, message, "declare it as `type: list`");
        }
    }

    fn source(&mut self, reference: &ValueReference, place: SourcePosition) {
        match self.type_of(reference) {
            Some(ValueType::Object(fields)) if fields.is_empty() => {
                let help = "declare it as an object and name its `fields`";
                let message = format!("nothing says which fields `{reference}` has");
                self.reader.find(FindingCode::E10, place, message, help);
            }
            Some(ValueType::Object(_)) | None => {}
            Some(kind) => {
                let message = format!("`{reference}` is not an object: it is declared as {}", kind.word());
                let help = "declare it as an object with `fields`, and read the command with `parse: json`";
                self.reader.find(FindingCode::E10, place, message, help);
            }
        }
    }

    fn action(&mut self, action: &'w CommandAction) {
        let CommandAction::Program { arguments, .. } = action else { return };
        for argument in arguments {
            match argument {
                CommandArgument::Text(template) | CommandArgument::Glob(template) => self.one_argument(template),
                CommandArgument::Spread(reference, place) => self.is_list(reference, *place, FindingCode::E10),
            }
        }
    }

    /// A placeholder stays inside one argument, so it cannot hold a list.
    fn one_argument(&mut self, template: &PlacedValue<Template>) {
        for (reference, at) in template.value.references() {
            if let Some(kind @ (ValueType::List(_) | ValueType::Object(_))) = self.type_of(reference) {
                let place = self.reader.place_in(template, at.0);
                let message = format!("`{reference}` is {} and does not fit into one argument", kind.describe());
                let help = format!("write the command as a list and use `{{spread: {reference}}}`");
                self.reader.find(FindingCode::E10, place, message, help);
            }
        }
    }

    fn assigned(&mut self, variable: &Variable, place: SourcePosition, value: &AssignedValue) {
        if let Some(message) = describe_mismatch(self.workflow, variable, value) {
            let help = format!("`{}` is declared as {}", variable.name, variable.kind.word());
            self.reader.find(FindingCode::E10, place, message, help);
        }
    }

    /// What a step produces must fit the variable that keeps it.
    fn stored(&mut self, step: &WorkflowStep) {
        let Some((name, place)) = &step.store else { return };
        let Some(variable) = self.workflow.variable(name) else { return };
        let produced = match &step.work {
            _ if step.branches.is_some() => ValueType::List(Vec::new()),
            StepWork::Command { parse: OutputParsing::Text, .. } => ValueType::Text,
            StepWork::Command { parse: OutputParsing::Lines, .. } => ValueType::List(Vec::new()),
            StepWork::Question(question) if question.multiple => ValueType::List(Vec::new()),
            StepWork::Question(question) => {
                self.options_fit(&question.options, variable, *place);
                ValueType::Text
            }
            StepWork::Command { parse: OutputParsing::Json, .. } => return,
            other => {
                let message = format!("a step of type `{}` produces nothing to store", other.word());
                let help = "`store` belongs to `command` and `question` steps";
                self.reader.find(FindingCode::E10, *place, message, help);
                return;
            }
        };
        if !may_become(&produced, &variable.kind) {
            let message = format!("`{name}` is {} and cannot keep {}", variable.kind.describe(), produced.describe());
            let help = "choose `parse: lines` for a list, `parse: json` for an object";
            self.reader.find(FindingCode::E10, *place, message, help);
        }
    }

    fn options_fit(&mut self, options: &QuestionOptions, variable: &Variable, place: SourcePosition) {
        let QuestionOptions::Listed(options) = options else { return };
        for option in options {
            let message = format!("`{}` cannot hold the option `{option}`", variable.name);
            match &variable.kind {
                ValueType::Enum(values) if !values.contains(option) => {
                    self.reader.find(FindingCode::E17, place, message, format!("it can be {}", values.join(", ")));
                }
                ValueType::Enum(_) => {}
                kind => {
                    if let Err(unfit) = variable.admit(Json::String(option.clone())) {
                        let help = format!("it is declared as {}: {unfit}", kind.word());
                        self.reader.find_at_start(FindingCode::E17, place, message, help);
                    }
                }
            }
        }
    }
}

/// Why a value cannot be what a variable or a parameter holds, as far as that can be told before anything runs.
pub(super) fn describe_mismatch(workflow: &Workflow, variable: &Variable, value: &AssignedValue) -> Option<String> {
    let unfit = |value: Json| match variable.admit(value) {
        Ok(_) => None,
        Err(unfit) => Some(format!("the value does not fit: {unfit}")),
    };
    match value {
        AssignedValue::Literal(value) => unfit(value.clone()),
        AssignedValue::Text(template) if template.value.is_literal() => {
            unfit(Json::String(template.value.leading_text().to_owned()))
        }
        AssignedValue::Text(template) => match template.value.sole() {
            Some(reference) => {
                let kind = type_of(workflow, LocalNames::None, reference);
                let kind = kind.filter(|kind| !may_become(kind, &variable.kind))?;
                Some(format!("`{reference}` is {} and does not fit", kind.describe()))
            }
            None if matches!(variable.kind, ValueType::List(_) | ValueType::Object(_)) => {
                Some("a text does not fit".to_owned())
            }
            None => None,
        },
    }
}

/// Whether a value of one type may turn out to fit another; texts are looked at when they are written.
fn may_become(from: &ValueType, to: &ValueType) -> bool {
    match (from, to) {
        (ValueType::Text, to) => !matches!(to, ValueType::List(_) | ValueType::Object(_)),
        (
            ValueType::Enum(_) | ValueType::Path | ValueType::Int | ValueType::Number | ValueType::Bool,
            ValueType::Text,
        )
        | (ValueType::Int, ValueType::Number) => true,
        (ValueType::Enum(a), ValueType::Enum(b)) => a.iter().any(|value| b.contains(value)),
        (from, to) => from.word() == to.word(),
    }
}
