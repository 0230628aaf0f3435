//! Description of the API derived from the handlers, with the few rules that types cannot express.
//!
//! Deriving it takes a megabyte of code, so the program has the result: `assets/openapi.json.gz`. A test compares them.

use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::{Value as Json, json};

const COMPRESSED: &[u8] = include_bytes!("../../assets/openapi.json.gz");

/// The whole description, as it was derived when the program was built.
pub(super) fn openapi_text() -> String {
    let mut text = String::new();
    // The file is ours and tested; one that cannot be read is an empty one.
    let read = GzDecoder::new(COMPRESSED).read_to_string(&mut text);
    read.map(|_| text).unwrap_or_default()
}

/// The whole description, derived from the handlers. Only tests call this, so that the program goes without it.
pub fn derive_openapi() -> Json {
    // What was derived consists of texts, lists and maps, which cannot fail to be written.
    let mut document = serde_json::to_value(super::derive_from_handlers()).unwrap_or_default();
    let rules = [
        ("NewTask", "anyOf", one_of(&[("projectId", "string"), ("parentId", "string")])),
        ("NewSession", "anyOf", one_of(&[("taskIds", "array"), ("taskId", "string")])),
        ("TaskChange", "if", with_required("sessionStatus", "string")),
        ("TaskChange", "then", with_required("sessionId", "string")),
    ];
    for (schema, rule, value) in rules {
        let schema = document.pointer_mut(&format!("/components/schemas/{schema}")).and_then(Json::as_object_mut);
        schema.map(|schema| schema.insert(rule.to_owned(), value));
    }
    let schemas = document.pointer("/components/schemas").cloned().unwrap_or_default();
    let paths = document.get_mut("paths").and_then(Json::as_object_mut);
    let paths = paths.into_iter().flat_map(|paths| paths.values_mut());
    for operation in paths.filter_map(Json::as_object_mut).flat_map(|methods| methods.values_mut()) {
        parameters_are_never_null(operation);
        bodies_may_be_left_out(operation, &schemas);
    }
    document
}

fn with_required(field: &str, kind: &str) -> Json {
    json!({ "required": [field], "properties": { field: { "type": kind } } })
}

fn one_of(fields: &[(&str, &str)]) -> Json {
    fields.iter().map(|(field, kind)| with_required(field, kind)).collect()
}

/// What is optional in a path, query or header is left out; there is no way to write a null.
fn parameters_are_never_null(operation: &mut Json) {
    let parameters = operation.get_mut("parameters").and_then(Json::as_array_mut);
    for schema in parameters.into_iter().flatten().filter_map(|parameter| parameter.get_mut("schema")) {
        if let Some(kind) = schema.get_mut("type")
            && let Some(kinds) = kind.as_array_mut()
        {
            kinds.retain(|kind| kind != "null");
            if let [only] = kinds.as_slice() {
                *kind = only.clone();
            }
        }
        if let Some(choices) = schema.get_mut("oneOf").and_then(Json::as_array_mut) {
            choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
            if let [choice] = choices.as_slice() {
                *schema = choice.clone();
            }
        }
    }
}

/// No body is an empty object; where nothing in it is required, that is enough.
fn bodies_may_be_left_out(operation: &mut Json, schemas: &Json) {
    let reference = operation.pointer("/requestBody/content/application~1json/schema/$ref").and_then(Json::as_str);
    let Some(name) = reference.and_then(|reference| reference.rsplit('/').next()) else { return };
    let is_required = schemas.get(name).is_some_and(|schema| schema.get("required").is_some());
    if let Some(body) = operation.get_mut("requestBody").and_then(Json::as_object_mut).filter(|_| !is_required) {
        body.insert("required".to_owned(), false.into());
    }
}
