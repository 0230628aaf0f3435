//! Why a run does not start, with what a model needs to start it.

use std::fmt::Write as _;

use axum::http::StatusCode;
use maestro_api::ClientError;
use serde_json::Value as Json;

use super::super::clipped;
use super::super::skill_index::{StartableWorkflow, ToolSet};
use super::super::tools::schema;

/// How many characters of names are listed.
const MOST_NAMES: usize = 2_000;

/// A refusal, with the workflow's parameters where those given do not fit, or with the names that exist.
pub(super) fn explain(error: &ClientError, name: &str, offer: &ToolSet) -> String {
    match (error, offer.workflow(name)) {
        (ClientError::Refused { status: StatusCode::BAD_REQUEST, .. }, Some(flow)) => {
            format!("{error}\n\n{}", params(flow))
        }
        (ClientError::Refused { status: StatusCode::NOT_FOUND, .. }, None) => {
            let names: Vec<&str> = offer.workflows().map(|flow| flow.name.as_str()).collect();
            format!("{error}\n\nThe workflows: {}", clipped(&names.join(", "), MOST_NAMES))
        }
        _ => error.to_string(),
    }
}

/// The parameters of a workflow that a model may give.
fn params(flow: &StartableWorkflow) -> String {
    let schema = schema::of_flow(flow);
    let text = |shape: &Json, key: &str| shape.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
    let required: Vec<&str> =
        schema.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect();
    let mut lines = String::new();
    let is_param = |name: &str| flow.workflow.params.iter().any(|param| param.name.as_str() == name);
    for (name, shape) in
        schema.get("properties").and_then(Json::as_object).into_iter().flatten().filter(|(name, _)| is_param(name))
    {
        let need = if required.contains(&name.as_str()) { ", required" } else { "" };
        let about = text(shape, "description");
        let _ = writeln!(
            lines,
            "- {name} ({}{need}){}{about}",
            text(shape, "type"),
            if about.is_empty() { "" } else { ": " }
        );
    }
    if lines.is_empty() { format!("`{}` has no parameters.", flow.name) } else { format!("It takes:\n{lines}") }
}
