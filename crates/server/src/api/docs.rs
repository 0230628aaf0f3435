//! How does a person read the description? As one page, made of the document itself.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use bytes::Bytes;
use minijinja::value::Serde;
use minijinja::{Environment, Value, context};
use serde::Serialize;
use serde_json::Value as Json;

use super::{derived, document};
use crate::app::App;

const PAGE: &str = include_str!("../../assets/docs.html");
const STYLE: &str = include_str!("../../assets/docs.css");

/// The description in both forms, each made when somebody first asks: most routers live for one request.
#[derive(Default)]
struct Docs {
    text: OnceLock<Bytes>,
    page: OnceLock<Bytes>,
}

impl Docs {
    fn text(&self) -> Bytes {
        self.text.get_or_init(|| document(&derived()).to_string().into()).clone()
    }

    fn page(&self) -> Bytes {
        // The template is ours and tested; a page that cannot be made is an empty one.
        self.page.get_or_init(|| page(&document(&derived())).unwrap_or_default().into()).clone()
    }
}

/// The document, its page, and the page's style.
pub(crate) fn routes() -> Router<App> {
    let docs = Arc::new(Docs::default());
    let same = Arc::clone(&docs);
    Router::new()
        .route("/api/openapi.json", get(move || async move { answer("application/json", same.text()) }))
        .route("/api/docs", get(move || async move { answer("text/html; charset=utf-8", docs.page()) }))
        .route(
            "/assets/docs.css",
            get(|| async { answer("text/css; charset=utf-8", Bytes::from_static(STYLE.as_bytes())) }),
        )
}

fn answer(kind: &'static str, bytes: Bytes) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, kind)], bytes)
}

fn page(document: &Json) -> Result<String, minijinja::Error> {
    let mut templates = Environment::new();
    templates.add_template("docs.html", PAGE)?;
    let shapes: Vec<Shape> = entries(&document["components"]["schemas"]).map(Shape::of).collect();
    templates.get_template("docs.html")?.render(context! {
        title => text(&document["info"]["title"]),
        about => text(&document["info"]["description"]),
        groups => Value::from(Serde(groups(document))),
        shapes => Value::from(Serde(shapes)),
    })
}

/// Operations that belong together.
#[derive(Debug, Serialize)]
struct Group {
    name: String,
    operations: Vec<Operation>,
}

/// Something that can be asked for.
#[derive(Debug, Serialize)]
struct Operation {
    method: String,
    path: String,
    about: String,
    parameters: Vec<Field>,
    body: Option<Kind>,
    answers: Vec<Answer>,
}

/// A parameter of a request, or a field of an object.
#[derive(Debug, Serialize)]
struct Field {
    name: String,
    place: String,
    required: bool,
    kind: Kind,
    about: String,
}

/// A way in which a request is answered.
#[derive(Debug, Serialize)]
struct Answer {
    status: String,
    about: String,
    kind: Option<Kind>,
}

/// The kind of a value in words, with the shape it is explained by.
#[derive(Debug, Default, Serialize)]
struct Kind {
    text: String,
    shape: Option<String>,
}

/// A shape that several places share.
#[derive(Debug, Serialize)]
struct Shape {
    name: String,
    about: String,
    kind: String,
    fields: Vec<Field>,
}

fn groups(document: &Json) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (path, methods) in entries(&document["paths"]) {
        for (method, operation) in entries(methods) {
            let name = text(&operation["tags"][0]);
            let found = Operation::of(method, path, operation);
            match groups.iter_mut().find(|group| group.name == name) {
                Some(group) => group.operations.push(found),
                None => groups.push(Group { name, operations: vec![found] }),
            }
        }
    }
    groups
}

impl Operation {
    fn of(method: &str, path: &str, operation: &Json) -> Self {
        let parameter = |parameter: &Json| Field {
            name: text(&parameter["name"]),
            place: text(&parameter["in"]),
            required: parameter["required"] == true,
            kind: Kind::of(&parameter["schema"]),
            about: text(&parameter["description"]),
        };
        let answer = |(status, answer): (&String, &Json)| Answer {
            status: status.clone(),
            about: text(&answer["description"]),
            kind: content(answer),
        };
        Self {
            method: method.to_uppercase(),
            path: path.to_owned(),
            about: text(&operation["summary"]),
            parameters: operation["parameters"].as_array().into_iter().flatten().map(parameter).collect(),
            body: content(&operation["requestBody"]),
            answers: entries(&operation["responses"]).map(answer).collect(),
        }
    }
}

impl Shape {
    fn of((name, schema): (&String, &Json)) -> Self {
        // What flattens another one consists of parts.
        let parts = schema["allOf"].as_array().map_or_else(|| vec![schema], |parts| parts.iter().collect());
        let fields = parts.into_iter().flat_map(|part| {
            let required = part["required"].as_array().map(Vec::as_slice).unwrap_or_default();
            entries(&part["properties"]).map(move |(field, schema)| Field {
                name: field.clone(),
                place: String::new(),
                required: required.iter().any(|name| name == field),
                kind: Kind::of(schema),
                about: text(&schema["description"]),
            })
        });
        Self {
            name: name.clone(),
            about: text(&schema["description"]),
            kind: Kind::of(schema).text,
            fields: fields.collect(),
        }
    }
}

impl Kind {
    fn of(schema: &Json) -> Self {
        if let Some(reference) = schema["$ref"].as_str() {
            let name = reference.rsplit('/').next().unwrap_or_default().to_owned();
            return Self { text: name.clone(), shape: Some(name) };
        }
        if let Some(words) = schema["enum"].as_array() {
            let words: Vec<String> = words.iter().filter(|word| !word.is_null()).map(text).collect();
            return Self { text: words.join(" | "), shape: None };
        }
        for choice in ["anyOf", "oneOf", "allOf"] {
            let known = schema[choice].as_array().filter(|_| schema["properties"].is_null());
            let kinds: Vec<Self> =
                known.into_iter().flatten().filter(|kind| kind["type"] != "null").map(Self::of).collect();
            if !kinds.is_empty() {
                let texts: Vec<&str> = kinds.iter().map(|kind| kind.text.as_str()).collect();
                let text = texts.join(if choice == "allOf" { " and " } else { " or " });
                return Self { text, shape: kinds.into_iter().find_map(|kind| kind.shape) };
            }
        }
        Self::plain(schema)
    }

    fn plain(schema: &Json) -> Self {
        let kinds = schema["type"].as_array().cloned().unwrap_or_else(|| vec![schema["type"].clone()]);
        let kind = kinds.iter().filter_map(Json::as_str).find(|kind| *kind != "null").unwrap_or("any");
        if kind == "array" {
            let items = Self::of(&schema["items"]);
            return Self { text: format!("list of {}", items.text), shape: items.shape };
        }
        let mut text = kind.to_owned();
        if let Some(pattern) = schema["pattern"].as_str() {
            text.extend([" ", pattern]);
        }
        if let (Some(least), Some(most)) = (schema["minimum"].as_i64(), schema["maximum"].as_i64()) {
            text.extend([format!(" {least} to {most}")]);
        }
        Self { text, shape: None }
    }
}

/// What a body consists of, in the first form it comes in.
fn content(body: &Json) -> Option<Kind> {
    entries(&body["content"]).next().map(|(_, content)| Kind::of(&content["schema"]))
}

fn entries(map: &Json) -> impl Iterator<Item = (&String, &Json)> {
    map.as_object().into_iter().flatten()
}

fn text(value: &Json) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
