//! The way of a command to what is stored: over HTTP to a server, or through the same router in this
//! process without one; the command cannot tell the difference.

pub(crate) mod context;
mod door;
mod http;
mod link;
pub(crate) mod permissions;
mod retry;
pub(crate) mod runs;
pub(crate) mod waiting;
pub(crate) mod wire;
pub(crate) mod worker;

use std::fmt::Write as _;

use axum::body::Body;
use axum::http::header::InvalidHeaderValue;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

pub(crate) use self::door::open as open_door;
use self::link::Link;
pub(crate) use self::link::{hostname, running};
use self::retry::Patience;
use crate::host::world::World;
use crate::output::error::{CommandError, Exit};

pub(crate) use maestro_server::escaped;

/// How much of an answer is read.
const LARGEST: usize = 256 * 1024 * 1024;

/// A way to everything that is stored.
pub(crate) struct Client {
    runtime: Runtime,
    link: Link,
    token: Option<String>,
    session: Option<String>,
    /// The task its session works on, where only that is known.
    task: Option<String>,
    patience: Patience,
}

/// What may be done about a request that got no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    /// Ask again: twice is the same as once.
    Safe,
    /// Ask again with the same key, by which the server knows a request it has carried out.
    ByKey,
    /// Only if it certainly was not carried out.
    Never,
}

impl Client {
    /// Finds the server, or opens the database.
    pub(crate) fn open(world: &World) -> Result<Self, CommandError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| CommandError::io("cannot start the runtime", &error))?;
        let token = ["MAESTRO_SESSION_TOKEN", "MAESTRO_AUTH_TOKEN"].into_iter().find_map(|name| world.variable(name));
        let patience = Patience::of(world)?;
        let link = Link::find(world, &runtime)?;
        let token = match token {
            Some(token) => Some(token.to_owned()),
            None => runtime.block_on(link.kept_token(world)),
        };
        let session = world.variable("MAESTRO_SESSION_ID").map(str::to_owned);
        let task = context::tasks(world).into_iter().next();
        Ok(Self { runtime, link, token, session, task, patience })
    }

    /// A way to a server that runs already; nothing is opened or started for it.
    pub(crate) fn of_running(world: &World) -> Option<Self> {
        let named = ["MAESTRO_API_URL", "MAESTRO_SERVER_URL"].into_iter().any(|name| world.variable(name).is_some());
        if world.aim.server.is_some() || named {
            return Self::open(world).ok();
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        runtime.block_on(running(world))?;
        Self::open(world).ok()
    }

    /// The same client, speaking for the user and not for a session.
    pub(crate) fn for_person(mut self) -> Self {
        self.session = None;
        self.task = None;
        self
    }

    /// The same client, asking once and never again.
    pub(crate) fn in_a_hurry(mut self) -> Self {
        self.patience = Patience::NONE;
        self
    }

    /// What is spoken to: a server's address, or a database.
    pub(crate) fn target(&self) -> Target<'_> {
        match &self.link {
            Link::Remote(reached) => Target::Server(reached.remote().url()),
            Link::Local { database, .. } => Target::Database(database),
        }
    }

    /// Asks for something.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CommandError> {
        self.call(&Method::GET, path, None, Again::Safe)
    }

    /// Waits for something that itself asks and sends.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Asks for something while other things go on.
    pub(crate) async fn ask_for<T: DeserializeOwned>(&self, path: &str) -> Result<T, CommandError> {
        let (answer, _) = self.asked(&Method::GET, path, None, Again::Safe).await?;
        understood(path, &answer)
    }

    /// Sends something while other things go on.
    pub(crate) async fn send_to<T: DeserializeOwned>(&self, path: &str, body: &Json) -> Result<T, CommandError> {
        let (answer, _) = self.asked(&Method::POST, path, Some(body), Again::ByKey).await?;
        understood(path, &answer)
    }

    /// Asks for a whole list, however many parts it comes in.
    pub(crate) fn list(&self, path: &str) -> Result<Vec<Json>, CommandError> {
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let part = cursor.as_ref().map_or_else(
                || path.to_owned(),
                |cursor| format!("{path}{}cursor={cursor}", if path.contains('?') { '&' } else { '?' }),
            );
            let (answer, next) = self.ask(&Method::GET, &part, None, Again::Safe)?;
            items.append(&mut understood::<Vec<Json>>(&part, &answer)?);
            match next {
                Some(next) => cursor = Some(next),
                None => return Ok(items),
            }
        }
    }

    /// Sends something; sent again, it is still carried out once.
    pub(crate) fn post<T: DeserializeOwned>(&self, path: &str, body: &Json) -> Result<T, CommandError> {
        self.call(&Method::POST, path, Some(body), Again::ByKey)
    }

    /// Takes a step that would be another step if it were taken twice.
    pub(crate) fn step<T: DeserializeOwned>(&self, path: &str, body: &Json) -> Result<T, CommandError> {
        self.call(&Method::POST, path, Some(body), Again::Never)
    }

    /// Changes something.
    pub(crate) fn patch<T: DeserializeOwned>(&self, path: &str, body: &Json) -> Result<T, CommandError> {
        self.call(&Method::PATCH, path, Some(body), Again::ByKey)
    }

    /// Removes something.
    pub(crate) fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, CommandError> {
        self.call(&Method::DELETE, path, None, Again::Safe)
    }

    fn call<T: DeserializeOwned>(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Json>,
        again: Again,
    ) -> Result<T, CommandError> {
        let (answer, _) = self.ask(method, path, body, again)?;
        understood(path, &answer)
    }

    fn ask(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Json>,
        again: Again,
    ) -> Result<(Vec<u8>, Option<String>), CommandError> {
        self.runtime.block_on(self.asked(method, path, body, again))
    }

    /// Asks, and asks again as long as that is safe and there is hope.
    async fn asked(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Json>,
        again: Again,
    ) -> Result<(Vec<u8>, Option<String>), CommandError> {
        let key = (again == Again::ByKey).then(|| uuid::Uuid::now_v7().to_string());
        let mut tries = self.patience.tries();
        loop {
            let mut request = self.request(method, path, body)?;
            if let Some(key) = key.as_ref().and_then(|key| header::HeaderValue::from_str(key).ok()) {
                request.headers_mut().insert("idempotency-key", key);
            }
            let failed = match self.answer(request).await {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            if let Link::Remote(reached) = &self.link
                && failed.was_not_sent()
            {
                reached.look_again().await;
            }
            let hopeful = matches!(self.link, Link::Remote(_)) && failed.may_pass();
            let safe = again != Again::Never || failed.was_not_sent();
            match tries.next().filter(|_| hopeful && safe) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(failed),
            }
        }
    }

    async fn answer(&self, request: Request<Body>) -> Result<(Vec<u8>, Option<String>), CommandError> {
        let asked = *request.method() == Method::GET;
        let response = succeeded(self.send(request).await?).await.map_err(|error| match error.exit() {
            Exit::Failed if !asked && !error.may_pass() => error.hint("nothing was changed"),
            _ => error,
        })?;
        let next = response.headers().get("maestro-next-cursor").and_then(|next| next.to_str().ok()).map(str::to_owned);
        Ok((all(response).await?, next))
    }

    /// Follows a stream line by line, until it ends or the reader has enough.
    pub(crate) fn follow(
        &self,
        path: &str,
        mut line: impl FnMut(&str) -> std::io::Result<()>,
    ) -> Result<(), CommandError> {
        self.runtime.block_on(async {
            let mut request = self.request(&Method::GET, path, None)?;
            request.headers_mut().insert(header::ACCEPT, header::HeaderValue::from_static("text/event-stream"));
            let response = succeeded(self.send(request).await?).await?;
            let mut body = response.into_body();
            let mut buffer = Vec::new();
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| CommandError::network("connection lost").because(&error))?;
                buffer.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
                while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
                    let rest = buffer.split_off(end + 1);
                    let text = String::from_utf8_lossy(&buffer[..end]).into_owned();
                    buffer = rest;
                    if line(&text).is_err() {
                        return Ok(());
                    }
                }
            }
            Ok(())
        })
    }

    fn request(&self, method: &Method, path: &str, body: Option<&Json>) -> Result<Request<Body>, CommandError> {
        let mut request = Request::builder().method(method).uri(path);
        let body = match body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        let unfit = |error: &dyn std::error::Error| CommandError::invalid(format!("cannot request `{path}`: {error}"));
        let mut request = request.body(body).map_err(|error| unfit(&error))?;
        request.headers_mut().extend(self.signature().map_err(|error| unfit(&error))?);
        Ok(request)
    }

    /// What every request says of whom it is for and who asks.
    pub(crate) fn signature(&self) -> Result<HeaderMap, InvalidHeaderValue> {
        let mut signature = HeaderMap::new();
        signature.insert(header::HOST, HeaderValue::from_str(self.link.host())?);
        if let Some(token) = &self.token {
            let mut token = HeaderValue::from_str(&format!("Bearer {token}"))?;
            token.set_sensitive(true);
            signature.insert(header::AUTHORIZATION, token);
        }
        if let Some(session) = &self.session {
            signature.insert("x-session-id", HeaderValue::from_str(session)?);
        } else if let Some(task) = &self.task {
            signature.insert("x-task-id", HeaderValue::from_str(task)?);
        }
        Ok(signature)
    }

    async fn send(&self, request: Request<Body>) -> Result<Response<Body>, CommandError> {
        match &self.link {
            Link::Remote(reached) => reached.remote().send(request).await,
            Link::Local { router, .. } => {
                Ok(router.as_ref().clone().oneshot(request).await.unwrap_or_else(|never| match never {}))
            }
        }
    }
}

/// What a client speaks to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target<'a> {
    /// The server at this address.
    Server(&'a str),
    /// This database, without a server.
    Database(&'a str),
}

/// A path with the questions that were asked.
pub(crate) fn with_query(path: &str, questions: &[(&str, Option<&str>)]) -> String {
    let mut whole = path.to_owned();
    let mut mark = '?';
    for (name, value) in questions {
        if let Some(value) = value {
            let _ = write!(whole, "{mark}{name}={}", escaped(value));
            mark = '&';
        }
    }
    whole
}

fn understood<T: DeserializeOwned>(path: &str, answer: &[u8]) -> Result<T, CommandError> {
    let text: &[u8] = if answer.is_empty() { b"null" } else { answer };
    serde_json::from_slice(text)
        .map_err(|error| CommandError::server(format!("cannot read the response to {path}: {error}")))
}

async fn all(response: Response<Body>) -> Result<Vec<u8>, CommandError> {
    let body = axum::body::to_bytes(response.into_body(), LARGEST).await;
    let body = body.map_err(|error| CommandError::network("the response ended early").because(&error))?;
    Ok(body.to_vec())
}

/// Turns the server's no into ours.
async fn succeeded(response: Response<Body>) -> Result<Response<Body>, CommandError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let body: Json = serde_json::from_slice(&all(response).await?).unwrap_or_default();
    let message = body["message"].as_str().map_or_else(|| format!("the server answered {status}"), str::to_owned);
    Err(match status {
        StatusCode::NOT_FOUND => {
            let hint = where_to_look(&message);
            CommandError::not_found(message).hint(hint)
        }
        StatusCode::UNAUTHORIZED => CommandError::forbidden(message)
            .hint("set MAESTRO_AUTH_TOKEN to the server's token, or MAESTRO_SESSION_TOKEN to this session's"),
        StatusCode::FORBIDDEN => CommandError::forbidden(message)
            .hint("run `maestro whoami` for your role, `maestro commands` for what you may do"),
        status if status.is_server_error() => CommandError::server(message).hint("run `maestro db check`"),
        StatusCode::CONFLICT | StatusCode::UNPROCESSABLE_ENTITY => CommandError::refused(message),
        _ => CommandError::invalid(message),
    }
    .with_details(&body["details"]))
}

/// Where to find what there is, by what there is not.
fn where_to_look(message: &str) -> &'static str {
    match message.split_whitespace().next() {
        Some("Task" | "Parent") => "run `maestro task list --all` for the tasks of a project",
        Some("Session") => "run `maestro session list --all` for the sessions of a project",
        Some("Project") => "run `maestro project list` for all projects",
        Some("Run") => "run `maestro workflow runs` for the runs of a project",
        _ => "check the ID; run `maestro whoami` for the server in use",
    }
}
