//! Checks of types where a value is compared, stored, set or passed on.

use serde_json::Value as Json;

use super::condition::{self, Condition};
use super::definition::{
    Action, Argument, Assigned, ForEach, Mode, Options, Parse, Placed, Step, Variable, Work, Workflow,
};
use super::finding::FindingCode;
use super::load::Reader;
use super::scope::{Locals, type_of};
use super::template::{Reference, Template};
use super::value::Type;
use crate::yaml::Place;

pub(super) fn check(workflow: &Workflow, reader: &mut Reader<'_>) {
    let mut checker = Checker { workflow, reader };
    for validator in workflow.validators.values() {
        checker.action(&validator.action);
    }
    for step in &workflow.steps {
        checker.conditions(step.when.iter(), Locals::None);
        checker.stored(step);
        checker.work(step);
    }
}

struct Checker<'w, 'r, 's> {
    workflow: &'w Workflow,
    reader: &'r mut Reader<'s>,
}

impl<'w> Checker<'w, '_, '_> {
    fn type_of(&self, reference: &Reference) -> Option<Type> {
        type_of(self.workflow, Locals::None, reference)
    }

    fn conditions(&mut self, conditions: impl IntoIterator<Item = &'w Placed<Condition>>, locals: Locals<'_>) {
        for placed in conditions {
            for fault in condition::check(&placed.value, &|reference| type_of(self.workflow, locals, reference)) {
                let place = self.reader.place_in(placed, fault.at);
                self.reader.find(FindingCode::E10, place, fault.message, fault.help);
            }
        }
    }

    fn work(&mut self, step: &'w Step) {
        match &step.work {
            Work::Agent(agent) => {
                let rules = agent.outcome_from.iter().filter_map(|rule| rule.when.as_ref());
                self.conditions(rules, Locals::Result(&agent.result));
            }
            Work::Dispatch(dispatch) => {
                if let Mode::Template { items: ForEach::List(reference, place), .. } = &dispatch.mode {
                    self.is_list(reference, *place, FindingCode::E16);
                }
            }
            Work::Command { action, .. } => self.action(action),
            Work::Output { source: Some((reference, place)), .. } => self.source(reference, *place),
            Work::Question(question) => match &question.options {
                Options::Variable(reference, place) => self.is_list(reference, *place, FindingCode::E17),
                Options::Command(action) => self.action(action),
                Options::Free | Options::Listed(_) => {}
            },
            Work::Conditional { cases, .. } => self.conditions(cases.iter().map(|case| &case.when), Locals::None),
            Work::Set(values) => {
                for (name, place, value) in values {
                    if let Some(variable) = self.workflow.variable(name) {
                        self.assigned(variable, *place, value);
                    }
                }
            }
            Work::Output { .. } | Work::Gate(_) | Work::Call(_) | Work::End { .. } => {}
        }
    }

    fn is_list(&mut self, reference: &Reference, place: Place, code: FindingCode) {
        if let Some(kind) = self.type_of(reference).filter(|kind| *kind != Type::List) {
            let message = format!("`{reference}` is not a list: it is declared as {}", kind.word());
            self.reader.find(code, place, message, "declare it as `type: list`");
        }
    }

    fn source(&mut self, reference: &Reference, place: Place) {
        match self.type_of(reference) {
            Some(Type::Object(fields)) if fields.is_empty() => {
                let help = "declare it as an object and name its `fields`";
                let message = format!("nothing says which fields `{reference}` has");
                self.reader.find(FindingCode::E10, place, message, help);
            }
            Some(Type::Object(_)) | None => {}
            Some(kind) => {
                let message = format!("`{reference}` is not an object: it is declared as {}", kind.word());
                let help = "declare it as an object with `fields`, and read the command with `parse: json`";
                self.reader.find(FindingCode::E10, place, message, help);
            }
        }
    }

    fn action(&mut self, action: &'w Action) {
        let Action::Program { arguments, .. } = action else { return };
        for argument in arguments {
            match argument {
                Argument::Text(template) | Argument::Glob(template) => self.one_argument(template),
                Argument::Spread(reference, place) => self.is_list(reference, *place, FindingCode::E10),
            }
        }
    }

    /// A placeholder stays inside one argument, so it cannot hold a list.
    fn one_argument(&mut self, template: &Placed<Template>) {
        for (reference, at) in template.value.references() {
            if let Some(kind @ (Type::List | Type::Object(_))) = self.type_of(reference) {
                let place = self.reader.place_in(template, at.0);
                let message = format!("`{reference}` is {} and does not fit into one argument", kind.described());
                let help = format!("write the command as a list and use `{{spread: {reference}}}`");
                self.reader.find(FindingCode::E10, place, message, help);
            }
        }
    }

    fn assigned(&mut self, variable: &Variable, place: Place, value: &Assigned) {
        if let Some(message) = misfit(self.workflow, variable, value) {
            let help = format!("`{}` is declared as {}", variable.name, variable.kind.word());
            self.reader.find(FindingCode::E10, place, message, help);
        }
    }

    /// What a step produces must fit the variable that keeps it.
    fn stored(&mut self, step: &Step) {
        let Some((name, place)) = &step.store else { return };
        let Some(variable) = self.workflow.variable(name) else { return };
        let produced = match &step.work {
            Work::Command { parse: Parse::Text, .. } => Type::Text,
            Work::Command { parse: Parse::Lines, .. } => Type::List,
            Work::Question(question) if question.multiple => Type::List,
            Work::Question(question) => {
                self.options_fit(&question.options, variable, *place);
                Type::Text
            }
            Work::Command { parse: Parse::Json, .. } => return,
            other => {
                let message = format!("a step of type `{}` produces nothing to store", other.word());
                let help = "`store` belongs to `command` and `question` steps";
                self.reader.find(FindingCode::E10, *place, message, help);
                return;
            }
        };
        if !may_become(&produced, &variable.kind) {
            let message = format!("`{name}` is {} and cannot keep {}", variable.kind.described(), produced.described());
            let help = "choose `parse: lines` for a list, `parse: json` for an object";
            self.reader.find(FindingCode::E10, *place, message, help);
        }
    }

    fn options_fit(&mut self, options: &Options, variable: &Variable, place: Place) {
        let (Options::Listed(options), Type::Enum(values)) = (options, &variable.kind) else { return };
        for option in options.iter().filter(|option| !values.contains(option)) {
            let message = format!("`{}` cannot hold the option `{option}`", variable.name);
            self.reader.find(FindingCode::E17, place, message, format!("it can be {}", values.join(", ")));
        }
    }
}

/// Why a value cannot be what a variable or a parameter holds, as far as that can be told before anything runs.
pub(super) fn misfit(workflow: &Workflow, variable: &Variable, value: &Assigned) -> Option<String> {
    let unfit = |value: Json| match variable.kind.admit(value, variable.max_length) {
        Ok(_) => None,
        Err(unfit) => Some(format!("the value does not fit: {unfit}")),
    };
    match value {
        Assigned::Literal(value) => unfit(value.clone()),
        Assigned::Text(template) if template.value.is_literal() => {
            unfit(Json::String(template.value.lead().to_owned()))
        }
        Assigned::Text(template) => match template.value.sole() {
            Some(reference) => {
                let kind = type_of(workflow, Locals::None, reference);
                let kind = kind.filter(|kind| !may_become(kind, &variable.kind))?;
                Some(format!("`{reference}` is {} and does not fit", kind.described()))
            }
            None if matches!(variable.kind, Type::List | Type::Object(_)) => Some("a text does not fit".to_owned()),
            None => None,
        },
    }
}

/// Whether a value of one type may turn out to fit another; texts are looked at when they are written.
fn may_become(from: &Type, to: &Type) -> bool {
    match (from, to) {
        (Type::Text, to) => !matches!(to, Type::List | Type::Object(_)),
        (Type::Enum(_) | Type::Path | Type::Int | Type::Bool, Type::Text) => true,
        (Type::Enum(a), Type::Enum(b)) => a.iter().any(|value| b.contains(value)),
        (from, to) => from.word() == to.word(),
    }
}
