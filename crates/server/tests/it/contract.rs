//! The public names of the HTTP API: paths, parameters, schemas and their properties.
//!
//! Clients depend on every line of the snapshots. Rust names may change beneath them; these may not.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use insta::assert_snapshot;
use serde_json::Value as Json;

use crate::world::Api;

/// A schema in one line: the name of a shared one, or its type.
fn shape(schema: &Json) -> String {
    let parts = |key: &str| {
        let shapes: Vec<String> = schema[key].as_array()?.iter().map(shape).collect();
        Some(shapes.join(if key == "allOf" { " & " } else { " | " }))
    };
    if let Some(reference) = schema["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or_default().to_owned();
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(Json::to_string).collect::<Vec<_>>().join(" | ");
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(shapes) = ["oneOf", "anyOf", "allOf"].into_iter().find_map(parts) {
        return shapes;
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Json::String(kind) => vec![kind],
        Json::Array(kinds) => kinds.iter().filter_map(Json::as_str).collect(),
        _ => vec!["any"],
    };
    let kind = |kind: &str| match kind {
        "array" => format!("[{}]", shape(&schema["items"])),
        "object" if schema["properties"].is_object() => format!("{{ {} }}", properties(schema).join(", ")),
        "object" if schema["additionalProperties"].is_object() => {
            format!("map of {}", shape(&schema["additionalProperties"]))
        }
        kind => kind.to_owned(),
    };
    kinds.into_iter().map(kind).collect::<Vec<_>>().join(" | ")
}

/// `name: type` for each property, sorted; `?` marks one that may be absent.
fn properties(schema: &Json) -> Vec<String> {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    let mut lines: Vec<String> = schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, property)| {
            let mark = if required.contains(&name.as_str()) { "" } else { "?" };
            format!("{name}{mark}: {}", shape(property))
        })
        .collect();
    lines.sort();
    lines
}

/// The body of a request or response: its media type unless that is JSON, and its shape.
fn body(content: &Json) -> String {
    let bodies = content.as_object().into_iter().flatten().map(|(media, content)| {
        let shape = shape(&content["schema"]);
        if media == "application/json" { shape } else { format!("{media} {shape}") }
    });
    bodies.collect::<Vec<_>>().join(", ")
}

/// An operation with its query and headers, its body, its answers, and the statuses of its errors.
fn operation(document: &Json, method: &str, path: &str) -> String {
    let operation = &document["paths"][path][method];
    let mut text = format!("{} {path}\n", method.to_uppercase());
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let (place, name) = (parameter["in"].as_str().unwrap(), parameter["name"].as_str().unwrap());
        let mark = if parameter["required"] == true { "" } else { "?" };
        writeln!(text, "  {place} {name}{mark}: {}", shape(&parameter["schema"])).unwrap();
    }
    if operation["requestBody"].is_object() {
        writeln!(text, "  body {}", body(&operation["requestBody"]["content"])).unwrap();
    }
    let responses = operation["responses"].as_object().unwrap();
    let mut errors: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (status, response) in responses {
        let body = body(&response["content"]);
        if status.starts_with(['4', '5']) {
            errors.entry(body).or_default().push(status);
        } else {
            writeln!(text, "  {}", format!("{status} {body}").trim_end()).unwrap();
        }
    }
    for (body, statuses) in errors {
        writeln!(text, "  {} {body}", statuses.join(" ")).unwrap();
    }
    text
}

#[tokio::test]
async fn every_path_keeps_its_parameters_and_bodies() {
    let document = Api::sqlite().get("/api/openapi.json").await.body;
    let mut operations: Vec<(String, String)> = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        operations.extend(methods.as_object().unwrap().keys().map(|method| (path.clone(), method.clone())));
    }
    operations.sort();
    let lines = operations.iter().map(|(path, method)| operation(&document, method, path));
    assert_snapshot!(lines.collect::<String>());
}

#[tokio::test]
async fn every_schema_keeps_its_name_and_properties() {
    let document = Api::sqlite().get("/api/openapi.json").await.body;
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let mut names: Vec<&String> = schemas.keys().collect();
    names.sort();
    let mut text = String::new();
    for name in names {
        let schema = &schemas[name];
        if schema["properties"].is_object() {
            writeln!(text, "{name}").unwrap();
            for line in properties(schema) {
                writeln!(text, "  {line}").unwrap();
            }
        } else {
            writeln!(text, "{name} = {}", shape(schema)).unwrap();
        }
    }
    assert_snapshot!(text);
}
