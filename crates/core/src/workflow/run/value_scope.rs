//! Lookup of the values of names.

use std::borrow::Cow;

use serde_json::{Map, Value as Json, json};

use super::{CallFrame, Run};
use crate::workflow::definition::Workflow;
use crate::workflow::name::Name;
use crate::workflow::name_uses::{CANCELED, ENDING};
use crate::workflow::template::ValueReference;

/// Where names are looked up: a frame, what is always declared, and names that are known in one place only.
#[derive(Clone, Copy)]
pub(in crate::workflow) struct ValueScope<'r> {
    run: &'r Run,
    frame: &'r CallFrame,
    workflow: &'r Workflow,
    locals: Option<&'r Map<String, Json>>,
}

impl<'r> ValueScope<'r> {
    pub(in crate::workflow) fn new(run: &'r Run, frame: &'r CallFrame, workflow: &'r Workflow) -> Self {
        Self { run, frame, workflow, locals: None }
    }

    pub(in crate::workflow) fn with(self, locals: &'r Map<String, Json>) -> Self {
        Self { locals: Some(locals), ..self }
    }

    /// What a reference holds; a name without a value is empty.
    pub(in crate::workflow) fn get(&self, reference: &ValueReference) -> Cow<'r, Json> {
        match reference {
            ValueReference::Param(name) => self.param(name).map_or(Cow::Owned(Json::Null), Cow::Borrowed),
            ValueReference::Result(step, field) => {
                let found = self.frame.results.get(step).and_then(|result| result.get(field.as_str()));
                found.map_or(Cow::Owned(Json::Null), Cow::Borrowed)
            }
            ValueReference::Named(name, field) => {
                let value = self.named(name);
                match field {
                    None => value,
                    Some(field) => Cow::Owned(value.get(field.as_str()).cloned().unwrap_or(Json::Null)),
                }
            }
        }
    }

    /// The folder of the skill.
    pub(super) fn folder(&self) -> &'r str {
        &self.workflow.folder
    }

    fn named(&self, name: &Name) -> Cow<'r, Json> {
        let key = name.as_str();
        let local = self.locals.and_then(|locals| locals.get(key));
        let found = local.or_else(|| self.frame.variables.get(key)).or_else(|| self.param(name));
        if key == "skill_dir" && found.is_none() {
            return Cow::Owned(Json::String(self.workflow.folder.clone()));
        }
        if let (ENDING, None, Some(ending)) = (key, found, &self.frame.ending) {
            let status = if ending.is_canceled { CANCELED } else { ending.status.as_str() };
            return Cow::Owned(json!({"status": status, "message": ending.message.as_deref().unwrap_or("")}));
        }
        match found.or_else(|| self.run.context.get(key)) {
            Some(value) => Cow::Borrowed(value),
            None => Cow::Owned(self.workflow.variable(name).map_or(Json::Null, |variable| variable.kind.empty())),
        }
    }

    fn param(&self, name: &Name) -> Option<&'r Json> {
        self.frame.params.get(name.as_str())
    }
}
