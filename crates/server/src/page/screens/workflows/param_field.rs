//! Field of a form for a parameter of a workflow, and what was written into it.

use std::path::Path;

use maestro_core::workflow::definition::Variable;
use maestro_core::workflow::value_type::{ValueType, value_text};
use maestro_engine::workflows::{DefinitionError, WorkflowIndex};
use maestro_skills::Catalogue;
use serde::Serialize;
use serde_json::Value as Json;

use crate::error::ApiError;

/// A field.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ParamField {
    name: String,
    /// How it is written: text, number, choice or json.
    kind: &'static str,
    /// The word for its type.
    word: &'static str,
    options: Vec<String>,
    value: String,
    required: bool,
    description: Option<String>,
    /// Whether it names an agent.
    is_agent: bool,
}

impl ParamField {
    pub(super) fn of(param: &Variable) -> Self {
        let (kind, options) = match &param.kind {
            ValueType::Text | ValueType::Path => ("text", Vec::new()),
            ValueType::Int | ValueType::Number => ("number", Vec::new()),
            ValueType::Bool => ("choice", ["true", "false"].map(str::to_owned).to_vec()),
            ValueType::Enum(words) => ("choice", words.clone()),
            ValueType::List(_) | ValueType::Object(_) => ("json", Vec::new()),
        };
        let name = param.name.to_string();
        Self {
            is_agent: matches!(name.as_str(), "agent" | "reviewer") && kind == "text",
            kind,
            word: param.kind.word(),
            options,
            value: param.default.as_ref().map(value_text).unwrap_or_default(),
            required: param.required && param.default.is_none(),
            description: param.description.clone(),
            name,
        }
    }
}

/// The parameters of the workflow of a name.
pub(super) fn declared_params(
    catalogue: &Catalogue,
    directory: &Path,
    name: &str,
) -> Result<Vec<Variable>, DefinitionError> {
    WorkflowIndex::of(catalogue, directory).definition(name).map(|definition| definition.main.params)
}

/// The value that was written into a field; nothing where it was left as it is.
pub(super) fn parse_value(param: &Variable, written: &str) -> Result<Option<Json>, ApiError> {
    let text = written.trim();
    let default = param.default.as_ref().map(value_text).unwrap_or_default();
    if text.is_empty() || text == default.trim() {
        return Ok(None);
    }
    let wrong = |what: &str| ApiError::field(&format!("param {}", param.name), format!("must be {what}"));
    let value = match &param.kind {
        ValueType::Text | ValueType::Path | ValueType::Enum(_) => Json::from(written),
        ValueType::Int => Json::from(text.parse::<i64>().map_err(|_| wrong("a whole number"))?),
        ValueType::Number => Json::from(text.parse::<f64>().map_err(|_| wrong("a number"))?),
        ValueType::Bool => Json::from(text.parse::<bool>().map_err(|_| wrong("true or false"))?),
        ValueType::List(_) | ValueType::Object(_) => {
            serde_json::from_str(text).map_err(|error| wrong(&format!("JSON: {error}")))?
        }
    };
    Ok(Some(value))
}
