//! Documentation page of the API, made from its description.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use bytes::Bytes;
use minijinja::value::Serde;
use minijinja::{Environment, Value, context};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::openapi::openapi_text;
use crate::app::AppState;

const PAGE: &str = include_str!("../../assets/docs.html");
const STYLE: &str = include_str!("../../assets/docs.css");

/// The description in both forms, each made on first use: most routers live for one request.
#[derive(Default)]
struct ApiDocs {
    text: OnceLock<Bytes>,
    page: OnceLock<Bytes>,
}

impl ApiDocs {
    fn text(&self) -> Bytes {
        self.text.get_or_init(|| openapi_text().into()).clone()
    }

    fn page(&self) -> Bytes {
        // The template is ours and tested; a page that cannot be made is an empty one.
        let made = || page(&serde_json::from_str(&openapi_text()).unwrap_or_default()).unwrap_or_default().into();
        self.page.get_or_init(made).clone()
    }
}

/// The document, its page, and the page's style.
pub(crate) fn routes() -> Router<AppState> {
    let docs = Arc::new(ApiDocs::default());
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
    let document: DocumentView = read(document);
    let groups = groups(&document);
    let shapes: Vec<DocShape> = document.components.schemas.iter().map(DocShape::of).collect();
    templates.get_template("docs.html")?.render(context! {
        title => document.info.title,
        about => document.info.description,
        groups => Value::from(Serde(groups)),
        shapes => Value::from(Serde(shapes)),
    })
}

/// Operations that belong together.
#[derive(Debug, Serialize)]
struct OperationGroup {
    name: String,
    operations: Vec<ApiOperation>,
}

/// Something that can be asked for.
#[derive(Debug, Serialize)]
struct ApiOperation {
    method: String,
    path: String,
    about: String,
    parameters: Vec<DocField>,
    body: Option<ValueKind>,
    answers: Vec<OperationAnswer>,
}

/// A parameter of a request, or a field of an object.
#[derive(Debug, Serialize)]
struct DocField {
    name: String,
    place: String,
    required: bool,
    kind: ValueKind,
    about: String,
}

/// A way in which a request is answered.
#[derive(Debug, Serialize)]
struct OperationAnswer {
    status: String,
    about: String,
    kind: Option<ValueKind>,
}

/// The kind of a value in words, with the shape it is explained by.
#[derive(Debug, Default, Serialize)]
struct ValueKind {
    text: String,
    shape: Option<String>,
}

/// A shape that several places share.
#[derive(Debug, Serialize)]
struct DocShape {
    name: String,
    about: String,
    kind: String,
    fields: Vec<DocField>,
}

fn groups(document: &DocumentView) -> Vec<OperationGroup> {
    let mut groups: Vec<OperationGroup> = Vec::new();
    for (path, methods) in &document.paths {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            let operation: OperationView = read(operation);
            let name = operation.tags.first().cloned().unwrap_or_default();
            let found = ApiOperation::of(method, path, &operation);
            match groups.iter_mut().find(|group| group.name == name) {
                Some(group) => group.operations.push(found),
                None => groups.push(OperationGroup { name, operations: vec![found] }),
            }
        }
    }
    groups
}

impl ApiOperation {
    fn of(method: &str, path: &str, operation: &OperationView) -> Self {
        let parameter = |parameter: &ParameterView| DocField {
            name: parameter.name.clone(),
            place: parameter.place.clone(),
            required: parameter.required,
            kind: ValueKind::of(&parameter.schema),
            about: parameter.description.clone(),
        };
        let answer = |(status, answer): (&String, &Json)| {
            let answer: BodyView = read(answer);
            OperationAnswer { status: status.clone(), kind: answer.kind(), about: answer.description }
        };
        Self {
            method: method.to_uppercase(),
            path: path.to_owned(),
            about: operation.summary.clone(),
            parameters: operation.parameters.iter().map(parameter).collect(),
            body: operation.request_body.kind(),
            answers: operation.responses.iter().map(answer).collect(),
        }
    }
}

impl DocShape {
    fn of((name, schema): (&String, &Json)) -> Self {
        let schema: SchemaView = read(schema);
        // What flattens another one consists of parts.
        let parts = schema.all_of.as_deref().unwrap_or(std::slice::from_ref(&schema));
        let fields = parts.iter().flat_map(|part| {
            part.properties.iter().map(move |(field, property)| {
                let property: SchemaView = read(property);
                DocField {
                    name: field.clone(),
                    place: String::new(),
                    required: part.required.contains(field),
                    kind: ValueKind::of(&property),
                    about: property.description,
                }
            })
        });
        let fields = fields.collect();
        Self { name: name.clone(), kind: ValueKind::of(&schema).text, about: schema.description, fields }
    }
}

impl ValueKind {
    fn of(schema: &SchemaView) -> Self {
        if let Some(reference) = &schema.reference {
            let name = reference.rsplit('/').next().unwrap_or_default().to_owned();
            return Self { text: name.clone(), shape: Some(name) };
        }
        if let Some(words) = &schema.words {
            let words: Vec<&str> = words.iter().filter_map(Json::as_str).collect();
            return Self { text: words.join(" | "), shape: None };
        }
        for (choices, between) in [(&schema.any_of, " or "), (&schema.one_of, " or "), (&schema.all_of, " and ")] {
            let known = choices.iter().flatten().filter(|_| schema.properties.is_empty());
            let kinds: Vec<Self> = known.filter(|kind| !kind.is_null()).map(Self::of).collect();
            if !kinds.is_empty() {
                let texts: Vec<&str> = kinds.iter().map(|kind| kind.text.as_str()).collect();
                let text = texts.join(between);
                return Self { text, shape: kinds.into_iter().find_map(|kind| kind.shape) };
            }
        }
        Self::plain(schema)
    }

    fn plain(schema: &SchemaView) -> Self {
        let kind = schema.kinds().iter().find(|kind| *kind != "null").map_or("any", String::as_str);
        if kind == "array" {
            let items = schema.items.as_deref().map(Self::of).unwrap_or_default();
            return Self { text: format!("list of {}", items.text), shape: items.shape };
        }
        let mut text = kind.to_owned();
        if let Some(pattern) = &schema.pattern {
            text.extend([" ", pattern]);
        }
        if let (Some(least), Some(most)) = (schema.minimum, schema.maximum) {
            text.extend([format!(" {least} to {most}")]);
        }
        Self { text, shape: None }
    }
}

/// What the page reads of the document. Maps keep their order, and their values are read one by one.
#[derive(Default, Deserialize)]
#[serde(default)]
struct DocumentView {
    info: InfoView,
    paths: Map<String, Json>,
    components: ComponentsView,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct InfoView {
    title: String,
    description: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ComponentsView {
    schemas: Map<String, Json>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct OperationView {
    tags: Vec<String>,
    summary: String,
    parameters: Vec<ParameterView>,
    request_body: BodyView,
    responses: Map<String, Json>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ParameterView {
    name: String,
    #[serde(rename = "in")]
    place: String,
    required: bool,
    schema: SchemaView,
    description: String,
}

/// The body of a request or a response.
#[derive(Default, Deserialize)]
#[serde(default)]
struct BodyView {
    description: String,
    content: Map<String, Json>,
}

impl BodyView {
    /// What it consists of, in the first form it comes in.
    fn kind(&self) -> Option<ValueKind> {
        let content: ContentView = read(self.content.values().next()?);
        Some(ValueKind::of(&content.schema))
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ContentView {
    schema: SchemaView,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SchemaView {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    #[serde(rename = "enum")]
    words: Option<Vec<Json>>,
    any_of: Option<Vec<SchemaView>>,
    one_of: Option<Vec<SchemaView>>,
    all_of: Option<Vec<SchemaView>>,
    #[serde(rename = "type")]
    kind: Option<TypeView>,
    properties: Map<String, Json>,
    required: Vec<String>,
    items: Option<Box<SchemaView>>,
    pattern: Option<String>,
    minimum: Option<i64>,
    maximum: Option<i64>,
    description: String,
}

/// The type of a value, or the types it may have.
#[derive(Deserialize)]
#[serde(untagged)]
enum TypeView {
    One(String),
    Several(Vec<String>),
}

impl SchemaView {
    fn kinds(&self) -> &[String] {
        match &self.kind {
            None => &[],
            Some(TypeView::One(kind)) => std::slice::from_ref(kind),
            Some(TypeView::Several(kinds)) => kinds,
        }
    }

    fn is_null(&self) -> bool {
        matches!(&self.kind, Some(TypeView::One(kind)) if kind == "null")
    }
}

/// A part of the document; one of another form is shown as an empty one.
fn read<T: DeserializeOwned + Default>(part: &Json) -> T {
    T::deserialize(part).unwrap_or_default()
}
