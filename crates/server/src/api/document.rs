//! What describes the API? The document derived from the handlers, with the few rules that types cannot say.

use serde_json::{Value as Json, json};
use utoipa::openapi::OpenApi;

/// The whole description.
pub(crate) fn document(derived: &OpenApi) -> Json {
    // What was derived consists of texts, lists and maps, which cannot fail to be written.
    let mut document = serde_json::to_value(derived).unwrap_or_default();
    let schemas = &mut document["components"]["schemas"];
    needs_one_of(&mut schemas["NewTask"], &[("projectId", "string"), ("parentId", "string")]);
    needs_one_of(&mut schemas["NewSession"], &[("taskIds", "array"), ("taskId", "string")]);
    schemas["TaskChange"]["if"] = given("sessionStatus", "string");
    schemas["TaskChange"]["then"] = given("sessionId", "string");
    let schemas = schemas.clone();
    let paths = document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
    for operation in paths.filter_map(Json::as_object_mut).flat_map(|methods| methods.values_mut()) {
        parameters_are_never_null(operation);
        bodies_may_be_left_out(operation, &schemas);
    }
    document
}

fn given(field: &str, kind: &str) -> Json {
    json!({ "required": [field], "properties": { field: { "type": kind } } })
}

fn needs_one_of(schema: &mut Json, fields: &[(&str, &str)]) {
    schema["anyOf"] = fields.iter().map(|(field, kind)| given(field, kind)).collect();
}

/// What is optional in a path, query or header is left out; there is no way to write a null.
fn parameters_are_never_null(operation: &mut Json) {
    let parameters = operation.get_mut("parameters").and_then(Json::as_array_mut);
    for schema in parameters.into_iter().flatten().filter_map(|parameter| parameter.get_mut("schema")) {
        if let Some(kinds) = schema.get_mut("type").and_then(Json::as_array_mut) {
            kinds.retain(|kind| kind != "null");
            if let [kind] = kinds.as_slice() {
                schema["type"] = kind.clone();
            }
        }
        if let Some(choices) = schema.get_mut("oneOf").and_then(Json::as_array_mut) {
            choices.retain(|choice| choice["type"] != "null");
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
    if schemas[name]["required"].is_null() {
        operation["requestBody"]["required"] = false.into();
    }
}
