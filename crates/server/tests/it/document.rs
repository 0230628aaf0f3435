//! The description of the API, and its page.

use std::fs::File;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value as Json, json};

use crate::world::Api;

/// How runs are called.
const RUN: &str = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";

fn operations(document: &Json) -> Vec<(String, &Json)> {
    let paths = document["paths"].as_object().unwrap();
    let methods = paths.iter().flat_map(|(path, methods)| {
        methods.as_object().unwrap().iter().map(move |(method, operation)| (format!("{method} {path}"), operation))
    });
    methods.collect()
}

#[tokio::test]
async fn what_is_served_is_what_the_handlers_say() {
    let derived = maestro_server::derive_openapi();
    if std::env::var_os("UPDATE_DOCS").is_some_and(|value| value == "1") {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/assets/openapi.json.gz");
        let mut file = GzEncoder::new(File::create(path).unwrap(), Compression::best());
        file.write_all(derived.to_string().as_bytes()).unwrap();
        file.finish().unwrap();
        return;
    }
    let served = Api::sqlite().get("/api/openapi.json").await.body;
    let hint = "hint: UPDATE_DOCS=1 cargo test -p maestro-server document";
    assert!(served == derived, "assets/openapi.json.gz is not what the handlers say\n{hint}");
}

#[tokio::test]
async fn every_operation_is_described() {
    let document = Api::sqlite().get("/api/openapi.json").await.body;
    let operations = operations(&document);
    assert!(operations.len() > 40, "{}", operations.len());
    for (name, operation) in operations {
        assert!(operation["summary"].is_string(), "{name}");
        let responses = operation["responses"].as_object().unwrap();
        let good = responses.iter().find(|(status, _)| status.starts_with('2')).unwrap();
        assert!(good.0 == "204" || good.1["content"].is_object(), "{name} answers with a body");
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            // Skills are called by names that others gave them.
            if parameter["in"] == "path" && !name.contains("/api/skills/") {
                let schema = resolved(&document, &parameter["schema"]);
                let patterns = ["^[A-Za-z0-9_-]{1,64}$", "^[^/]{1,255}$", RUN];
                assert!(patterns.iter().any(|pattern| schema["pattern"] == *pattern), "{name}");
            }
        }
    }
}

#[tokio::test]
async fn every_described_operation_is_there() {
    let api = Api::sqlite();
    let document = api.get("/api/openapi.json").await.body;
    for (name, _) in operations(&document) {
        let (method, path) = name.split_once(' ').unwrap();
        let path: String =
            path.split('/').map(|part| if part.starts_with('{') { "x" } else { part }).collect::<Vec<_>>().join("/");
        let answer = api.send(method.to_uppercase().parse().unwrap(), &path, None).await;
        assert_ne!(answer.status, 405, "{name}");
        let message = answer.body["message"].as_str().unwrap_or_default();
        assert!(!message.starts_with("there is nothing at"), "{name}: {message}");
    }
}

fn resolved<'d>(document: &'d Json, schema: &'d Json) -> &'d Json {
    match schema["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
        None => schema,
    }
}

fn references<'d>(value: &'d Json, found: &mut Vec<&'d str>) {
    match value {
        Json::Object(map) => map.iter().for_each(|(key, value)| match value.as_str() {
            Some(text) if key == "$ref" => found.push(text),
            _ => references(value, found),
        }),
        Json::Array(list) => list.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[tokio::test]
async fn whatever_is_referred_to_is_there() {
    let document = Api::sqlite().get("/api/openapi.json").await.body;
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 100);
    for reference in found {
        assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
    }
}

#[tokio::test]
async fn closed_sets_are_listed_and_rules_are_said() {
    let document = Api::sqlite().get("/api/openapi.json").await.body;
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["Part"]["enum"], json!(["worker", "orchestrator"]));
    assert_eq!(schemas["TaskState"]["enum"].as_array().unwrap().len(), 7);
    assert_eq!(schemas["NewTask"]["anyOf"][1]["required"], json!(["parentId"]));
    let body = |path: &str| document["paths"][path]["post"]["requestBody"]["required"].clone();
    assert_eq!((body("/api/projects"), body("/api/sessions/{id}/reports")), (json!(true), json!(false)));
}

#[tokio::test]
async fn people_can_read_it() {
    let api = Api::sqlite();
    let page = api.get("/api/docs").await;
    assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(page.header("content-security-policy").contains("default-src 'none'"));
    for text in ["queue&#x2f;push</code>", "id=\"shape-TaskJson\"", "worker | orchestrator"] {
        assert!(page.text.contains(text), "{text}");
    }
    for forbidden in ["<script", "style=", "onclick", "<style"] {
        assert!(!page.text.contains(forbidden), "{forbidden}");
    }
    let mut links: Vec<&str> =
        page.text.split("href=\"#").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    links.dedup();
    for link in links {
        assert!(page.text.contains(&format!("id=\"{link}\"")), "{link}");
    }
    assert_eq!(api.get("/assets/docs.css").await.header("content-type"), "text/css; charset=utf-8");
}
