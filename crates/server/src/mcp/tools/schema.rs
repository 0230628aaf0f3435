//! Schemas of the tools' arguments, as short as possible.
//!
//! What programs may pass and models need not know is accepted and not described: `project_id`, the `step` of
//! `find_skills`, the `key` of `run_start`.

use maestro_core::workflow::definition::{StepWork, Variable};
use maestro_core::workflow::{ResultField, ValueType, Workflow, rights_params};
use serde_json::{Map, Value as Json, json};

use super::super::clipped;
use super::super::skill_index::{StartableWorkflow, WorkflowActs};
use super::put;

/// How many characters of a parameter's description are sent.
const DESCRIPTION: usize = 70;

/// The schema of an object with these properties and required fields.
fn object(properties: Json, required: &[&str]) -> Map<String, Json> {
    let mut schema = Map::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), properties)]);
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema
}

fn text(description: &str) -> Json {
    json!({ "type": "string", "description": description })
}

fn task_id() -> Json {
    text("The task, if not the one you were started for")
}

fn run_id() -> Json {
    text("The run's id")
}

/// Where a page of a long text begins.
fn from() -> Json {
    json!({ "type": "integer", "description": "Offset in a long text" })
}

fn answers() -> Json {
    json!({ "type": "object", "description": "Known answers, by step id" })
}

pub(super) fn find_skills() -> Map<String, Json> {
    object(json!({ "task": text("The task in a sentence or two") }), &[])
}

pub(super) fn use_skill() -> Map<String, Json> {
    let properties = json!({ "name": text("The skill's name"), "file": text("One of its files"), "from": from() });
    object(properties, &["name"])
}

/// The names of workflows that have no tools are listed with the parameter that takes one.
pub(super) fn run_start(unlisted: &str) -> Map<String, Json> {
    let params = json!({ "type": "object", "description": "Its parameters, by name" });
    let name = if unlisted.is_empty() { "Its name".to_owned() } else { format!("Its name, such as {unlisted}") };
    let properties = json!({
        "workflow": text(&name), "params": params, "answers": answers(),
        "parent": text("For a sub-agent: its parent run"), "ticket": text("For a sub-agent: its ticket"),
    });
    object(properties, &["workflow"])
}

pub(super) fn run_next() -> Map<String, Json> {
    object(json!({ "run_id": run_id(), "answers": answers() }), &["run_id"])
}

pub(super) fn run_report() -> Map<String, Json> {
    let properties = json!({
        "run_id": run_id(),
        "ticket": text("Your ticket"),
        "outcome": text("One of your outcomes"),
        "set": { "type": "object", "description": "Variables to set" },
        "result": { "type": "object", "description": "The fields of the result, if asked for" },
    });
    object(properties, &["run_id", "ticket"])
}

pub(super) fn run_answer() -> Map<String, Json> {
    let properties = json!({
        "run_id": run_id(),
        "ticket": text("The question's ticket"),
        "value": {
            "anyOf": [
                { "type": "string" }, { "type": "number" }, { "type": "boolean" },
                { "type": "array", "items": { "type": "string" } },
            ],
            "description": "What the user said; a list for several",
        },
        "instead": { "type": "string", "enum": ["declined", "cancelled"], "description": "If the user gives no answer" },
    });
    object(properties, &["run_id"])
}

pub(super) fn run_status() -> Map<String, Json> {
    let wait = json!({ "type": "integer", "description": "Seconds to wait, at most 45" });
    object(json!({ "run_id": text("The run's id; without it, the open runs"), "wait_s": wait, "from": from() }), &[])
}

pub(super) fn task() -> Map<String, Json> {
    object(json!({ "task_id": task_id() }), &[])
}

pub(super) fn report_progress() -> Map<String, Json> {
    object(json!({ "message": text("What is done, in a sentence"), "task_id": task_id() }), &["message"])
}

pub(super) fn mark_subtask_complete() -> Map<String, Json> {
    object(json!({ "subtaskId": text("The subtask's id"), "task_id": task_id() }), &["subtaskId"])
}

pub(super) fn signal_completion() -> Map<String, Json> {
    object(json!({ "message": text("What was done, in a sentence"), "task_id": task_id() }), &[])
}

pub(super) fn signal_blocker() -> Map<String, Json> {
    object(json!({ "reason": text("Why you are blocked"), "task_id": task_id() }), &["reason"])
}

/// The schema a command's author declared; or a workflow's parameters and, unless a parameter has that name, its answers.
pub(in crate::mcp) fn of_flow(flow: &StartableWorkflow) -> Map<String, Json> {
    if let Some(made) = &flow.command {
        return made.schema.clone().into_iter().map(|(key, value)| (key, with_items(value))).collect();
    }
    // What decides about rights is the user's to say.
    let is_right =
        |param: &Variable| flow.acts == WorkflowActs::Agents && rights_params::is_right(&flow.workflow, param);
    let params: Vec<&Variable> = flow.workflow.params.iter().filter(|param| !is_right(param)).collect();
    let mut properties: Map<String, Json> =
        params.iter().map(|param| (param.name.to_string(), of_param(param))).collect();
    if has_questions(&flow.workflow) {
        properties.entry("answers").or_insert_with(answers);
    }
    let required = params.iter().filter(|param| param.required && param.default.is_none());
    let required: Vec<&str> = required.map(|param| param.name.as_str()).collect();
    object(Json::Object(properties), &required)
}

/// Whether a workflow asks anything itself.
fn has_questions(workflow: &Workflow) -> bool {
    workflow.steps.iter().any(|step| matches!(step.work, StepWork::Question(_)))
}

/// A declared schema whose arrays all say what is in them: the servers of some models refuse a whole request otherwise.
fn with_items(schema: Json) -> Json {
    match schema {
        Json::Object(mut fields) => {
            if fields.get("type").is_some_and(|kind| kind == "array") && !fields.contains_key("prefixItems") {
                fields.entry("items").or_insert_with(|| json!({ "type": "string" }));
            }
            fields.into_iter().map(|(key, value)| (key, with_items(value))).collect()
        }
        Json::Array(all) => all.into_iter().map(with_items).collect(),
        other => other,
    }
}

/// The shape of a value. A list always says what is in it.
fn of_kind(kind: &ValueType) -> Json {
    match kind {
        ValueType::Text | ValueType::Path => json!({ "type": "string" }),
        ValueType::Int => json!({ "type": "integer" }),
        ValueType::Number => json!({ "type": "number" }),
        ValueType::Bool => json!({ "type": "boolean" }),
        ValueType::Enum(values) => json!({ "type": "string", "enum": values }),
        ValueType::List(fields) if fields.is_empty() => json!({ "type": "array", "items": { "type": "string" } }),
        ValueType::List(fields) => json!({ "type": "array", "items": of_fields(fields) }),
        ValueType::Object(fields) if fields.is_empty() => json!({ "type": "object" }),
        ValueType::Object(fields) => of_fields(fields),
    }
}

fn of_fields(fields: &[ResultField]) -> Json {
    let shapes: Map<String, Json> = fields.iter().map(|field| (field.name.to_string(), of_kind(&field.kind))).collect();
    json!({ "type": "object", "properties": shapes })
}

fn of_param(param: &Variable) -> Json {
    let mut schema = of_kind(&param.kind);
    if let Some(description) = &param.description {
        put(&mut schema, "description", json!(clipped(description, DESCRIPTION)));
    }
    if let Some(default) = &param.default {
        put(&mut schema, "default", default.clone());
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_says_what_is_in_it() {
        assert_eq!(of_kind(&ValueType::List(Vec::new())), json!({ "type": "array", "items": { "type": "string" } }));
        let declared =
            json!({ "files": { "type": "array" }, "pairs": { "type": "array", "items": { "type": "array" } } });
        let strings = json!({ "type": "array", "items": { "type": "string" } });
        assert_eq!(with_items(declared), json!({ "files": strings, "pairs": { "type": "array", "items": strings } }));
    }
}
