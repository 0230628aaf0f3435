//! A request comes in: it is kept, and answered as the script says.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use crate::api::{Answer, Api, Event};
use crate::model::{Request, Shared};
use crate::script::{Fault, Script, Step};

pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/__requests", get(requests))
        .route("/__requests/{number}", get(request))
        .route("/__script", put(script))
        .fallback(asked)
        .layer(DefaultBodyLimit::disable())
        .with_state(shared)
}

async fn requests(State(shared): State<Arc<Shared>>) -> Response {
    let list: Vec<Value> = shared.requests().iter().map(told).collect();
    json_response(StatusCode::OK, &json!(list))
}

async fn request(State(shared): State<Arc<Shared>>, Path(number): Path<usize>) -> Response {
    let body = shared.requests().get(number).map(|request| request.body.clone());
    body.map_or(StatusCode::NOT_FOUND.into_response(), IntoResponse::into_response)
}

async fn script(State(shared): State<Arc<Shared>>, text: String) -> Response {
    match Script::parse(&text) {
        Ok(script) => {
            *shared.script() = script;
            StatusCode::NO_CONTENT.into_response()
        }
        Err(error) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    }
}

fn told(request: &Request) -> Value {
    json!({ "path": request.path, "tag": request.tag, "step": request.step, "text": request.text() })
}

/// Whatever an agent asks.
async fn asked(State(shared): State<Arc<Shared>>, method: Method, uri: Uri, body: Bytes) -> Response {
    if method != Method::POST {
        // Lists of models, and whether anybody is there.
        return json_response(StatusCode::OK, &json!({ "object": "list", "data": [], "models": [] }));
    }
    let path = uri.path();
    if path.ends_with("/count_tokens") || path.ends_with(":countTokens") {
        return json_response(StatusCode::OK, &json!({ "input_tokens": 100, "totalTokens": 100 }));
    }
    let whole_path = uri.path_and_query().map_or_else(|| path.to_owned(), ToString::to_string);
    let Some(api) = Api::of(path) else {
        shared.keep(Request { path: whole_path, body, tag: None, step: 0 });
        return json_response(StatusCode::NOT_FOUND, &json!({ "error": { "message": "no model is asked like this" } }));
    };
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (tag, results, step) = choose(&shared, api, &request, &String::from_utf8_lossy(&body));
    let number = shared.keep(Request { path: whole_path, body, tag, step: results });
    tokio::time::sleep(Duration::from_secs_f64(step.sleep)).await;
    if step.fault == Some(Fault::Hang) {
        return std::future::pending().await;
    }
    if let Some(status) = step.status {
        return failure(api, status, &step);
    }
    let answer = Answer {
        id: format!("{number:08x}"),
        request: &request,
        text: step.text.as_deref(),
        calls: step.calls().collect(),
        usage: step.usage.unwrap_or([100, 10]),
    };
    if !api.streams(path, &request) {
        let pieces = halves(api.whole(&answer).to_string());
        return flow("application/json", pieces, step.fault);
    }
    let events = api.stream(&answer);
    if api == Api::Gemini && !uri.query().unwrap_or_default().contains("alt=sse") {
        return flow("application/json", array(&events), step.fault);
    }
    // Google ends its lines the old way.
    let end = if api == Api::Gemini { "\r\n" } else { "\n" };
    flow("text/event-stream", events.iter().map(|event| sse(event, end)).collect(), step.fault)
}

/// Which tag answers, how many results have come since it was last said, and what is answered.
fn choose(shared: &Shared, api: Api, request: &Value, text: &str) -> (Option<String>, usize, Step) {
    let offers_tools = request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    let turns = api.turns(request);
    let mut script = shared.script();
    let Some(tag) = script.tag(text, offers_tools) else {
        return (None, turns.iter().map(|turn| turn.results).sum(), script.default());
    };
    let name = script.name(tag).to_owned();
    let since = turns.iter().rposition(|turn| turn.said.contains(&name)).unwrap_or(0);
    // Results that come in the same message as the tag were there before it.
    let before = turns.get(since).filter(|turn| turn.said.contains(&name)).map_or(0, |turn| turn.results);
    let results = turns.iter().skip(since).map(|turn| turn.results).sum::<usize>() - before;
    let step = script.take(tag, results).filled(&script.taken(&turns));
    (Some(name), results, step)
}

fn failure(api: Api, status: u16, step: &Step) -> Response {
    let message = step.error.as_deref().unwrap_or("it went wrong, as scripted");
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = json_response(code, &api.error(status, message, step.retry_after));
    if let Some(seconds) = step.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn sse(event: &Event, end: &str) -> String {
    let name = event.name.map(|name| format!("event: {name}{end}")).unwrap_or_default();
    format!("{name}data: {}{end}{end}", event.data)
}

/// Gemini's other way to stream: one JSON array, an element at a time.
fn array(events: &[Event]) -> Vec<String> {
    let last = events.len().saturating_sub(1);
    let place = |(number, event): (usize, &Event)| {
        let (open, close) = (if number == 0 { "[" } else { "," }, if number == last { "]" } else { "\n" });
        format!("{open}{}{close}", event.data)
    };
    events.iter().enumerate().map(place).collect()
}

fn halves(mut text: String) -> Vec<String> {
    let middle = (text.len() / 2..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let rest = text.split_off(middle);
    vec![text, rest]
}

/// Sends `pieces` one after the other, as far as `fault` lets them.
fn flow(kind: &'static str, pieces: Vec<String>, fault: Option<Fault>) -> Response {
    let half = pieces.len().div_ceil(2);
    let sent: Vec<String> = match fault {
        None => pieces,
        Some(Fault::Malformed) => {
            let broken = pieces.get(half).cloned().map(|next| halves(next).swap_remove(0) + "\n\n");
            pieces[..half].iter().cloned().chain(broken).collect()
        }
        Some(_) => pieces[..half].to_vec(),
    };
    // Each piece is sent before the next one is made, as a model does.
    let sent = stream::iter(sent).then(|piece| async move {
        tokio::task::yield_now().await;
        Ok::<_, io::Error>(Bytes::from(piece))
    });
    let body = match fault {
        Some(Fault::Stall) => Body::from_stream(sent.chain(stream::pending())),
        Some(Fault::Disconnect) => Body::from_stream(sent.chain(stream::once(async {
            // What was said so far arrives first.
            tokio::time::sleep(Duration::from_millis(20)).await;
            Err(io::ErrorKind::ConnectionAborted.into())
        }))),
        _ => Body::from_stream(sent),
    };
    ([(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache")], body).into_response()
}

fn json_response(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
