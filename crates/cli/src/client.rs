//! How does a command reach what is stored? With a server over HTTP, without one through the same router in this
//! process; the command cannot tell the difference.

mod http;

use std::fmt::Write as _;

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt as _;
use maestro_server::{Access, App, Options, router};
use maestro_store::{AnySilent, ExpireSilent, Store};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

use self::http::Remote;
use crate::error::CommandError;
use crate::found::ServerFile;
use crate::world::World;
use crate::{config, database, token};

/// How much of an answer is read.
const LARGEST: usize = 256 * 1024 * 1024;

/// A way to everything that is stored.
pub(crate) struct Client {
    runtime: Runtime,
    link: Link,
    token: Option<String>,
    session: Option<String>,
}

enum Link {
    Remote(Remote),
    Local(Box<Router>),
}

impl Client {
    /// Finds the server, or opens the database.
    pub(crate) fn open(world: &World) -> Result<Self, CommandError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| CommandError::io("the program cannot start its work", &error))?;
        let token = ["MAESTRO_SESSION_TOKEN", "MAESTRO_AUTH_TOKEN"].into_iter().find_map(|name| world.variable(name));
        let link = runtime.block_on(Link::find(world))?;
        let token = match token {
            Some(token) => Some(token.to_owned()),
            None => runtime.block_on(link.kept_token(world)),
        };
        Ok(Self { runtime, link, token, session: world.variable("MAESTRO_SESSION_ID").map(str::to_owned) })
    }

    /// Asks for something.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, CommandError> {
        self.call(Method::GET, path, None)
    }

    /// Sends something.
    pub(crate) fn post<T: DeserializeOwned>(&self, path: &str, body: &Json) -> Result<T, CommandError> {
        self.call(Method::POST, path, Some(body))
    }

    fn call<T: DeserializeOwned>(&self, method: Method, path: &str, body: Option<&Json>) -> Result<T, CommandError> {
        let bytes = self.runtime.block_on(async {
            let response = self.send(self.request(method, path, body)?).await?;
            let response = succeeded(response).await?;
            all(response).await
        })?;
        let text: &[u8] = if bytes.is_empty() { b"null" } else { &bytes };
        serde_json::from_slice(text)
            .map_err(|error| CommandError::server(format!("the answer to {path} cannot be understood: {error}")))
    }

    /// Follows a stream line by line, until it ends or the reader has enough.
    pub(crate) fn follow(
        &self,
        path: &str,
        mut line: impl FnMut(&str) -> std::io::Result<()>,
    ) -> Result<(), CommandError> {
        self.runtime.block_on(async {
            let mut request = self.request(Method::GET, path, None)?;
            request.headers_mut().insert(header::ACCEPT, header::HeaderValue::from_static("text/event-stream"));
            let response = succeeded(self.send(request).await?).await?;
            let mut body = response.into_body();
            let mut buffer = Vec::new();
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| CommandError::network("the connection broke").because(&error))?;
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

    fn request(&self, method: Method, path: &str, body: Option<&Json>) -> Result<Request<Body>, CommandError> {
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, self.link.host());
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        if let Some(session) = &self.session {
            request = request.header("x-session-id", session);
        }
        let body = match body {
            Some(body) => {
                request = request.header(header::CONTENT_TYPE, "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        request.body(body).map_err(|error| CommandError::invalid(format!("`{path}` cannot be asked for: {error}")))
    }

    async fn send(&self, request: Request<Body>) -> Result<Response<Body>, CommandError> {
        match &self.link {
            Link::Remote(remote) => remote.send(request).await,
            Link::Local(router) => {
                Ok(router.as_ref().clone().oneshot(request).await.unwrap_or_else(|never| match never {}))
            }
        }
    }
}

impl Link {
    /// The server that was named; else the one that runs on the same database; else none.
    async fn find(world: &World) -> Result<Self, CommandError> {
        let variables = ["MAESTRO_API_URL", "MAESTRO_SERVER_URL"];
        let named = world.aim.server.as_deref().or_else(|| variables.into_iter().find_map(|name| world.variable(name)));
        if let Some(url) = named {
            return Ok(Self::Remote(Remote::connect(url).await?));
        }
        if let Some(remote) = running(world).await {
            return Ok(Self::Remote(remote));
        }
        if world.variable("MAESTRO_SESSION_TOKEN").is_some() {
            return Err(CommandError::network("the server of this session does not answer")
                .hint("start it with `maestro up`; a session never opens the database itself"));
        }
        let settings = config::settings(world)?;
        let store = database::open(database::place(world))?;
        store.set_rules(database::rules(&settings));
        expire(&store).await;
        Ok(Self::Local(Box::new(router(App::new(local(store, database::retention(&settings)))))))
    }

    /// The token that the server on this machine keeps for its user; nothing for any other server.
    async fn kept_token(&self, world: &World) -> Option<String> {
        let Self::Remote(remote) = self else { return None };
        let file = ServerFile::read(&world.maestro_home).filter(|file| file.kept_token)?;
        let token = token::kept(&world.maestro_home)?;
        is_that(remote, &file).await.then_some(token)
    }

    fn host(&self) -> &str {
        match self {
            Self::Remote(remote) => remote.host(),
            Self::Local(_) => "localhost",
        }
    }
}

/// What the router needs when no server runs.
fn local(store: Store, retention: i64) -> Options {
    Options {
        store,
        access: Access::Local,
        hosts: Vec::new(),
        instance: String::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        hostname: hostname(),
        clock: database::clock(),
        retention,
    }
}

/// Ends sessions that fell silent while no server was there to notice.
async fn expire(store: &Store) {
    let silent = AnySilent { now: database::clock()(), silence: store.rules().silence };
    // Whatever is wrong with the database, the command itself will tell.
    if let Ok(true) = store.read(silent).await {
        let _ = store.write(ExpireSilent).await;
    }
}

/// The name of this machine.
pub(crate) fn hostname() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

/// A value as it stands in a path or a query.
pub(crate) fn escaped(value: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    value.bytes().fold(String::new(), |mut text, byte| {
        if keep(byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

/// The server that wrote itself down, if it is still that one.
pub(crate) async fn running(world: &World) -> Option<Remote> {
    let file = ServerFile::read(&world.maestro_home)?;
    if file.database != database::shown(&database::place(world)) {
        return None;
    }
    let remote = Remote::connect(&file.url).await.ok()?;
    is_that(&remote, &file).await.then_some(remote)
}

/// Whether the server at the other end is the one that wrote this down.
async fn is_that(remote: &Remote, file: &ServerFile) -> bool {
    let ask = async || {
        let request = Request::get("/health").header(header::HOST, remote.host()).body(Body::empty()).ok()?;
        let answer = all(remote.send(request).await.ok()?).await.ok()?;
        serde_json::from_slice::<Json>(&answer).ok()
    };
    ask().await.is_some_and(|health| health["instance"] == file.instance.as_str())
}

async fn all(response: Response<Body>) -> Result<Vec<u8>, CommandError> {
    let body = axum::body::to_bytes(response.into_body(), LARGEST).await;
    let body = body.map_err(|error| CommandError::network("the answer broke off").because(&error))?;
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
        StatusCode::NOT_FOUND => CommandError::not_found(message),
        StatusCode::UNAUTHORIZED => CommandError::forbidden(message)
            .hint("set MAESTRO_AUTH_TOKEN to the server's token, or MAESTRO_SESSION_TOKEN to this session's"),
        StatusCode::FORBIDDEN => CommandError::forbidden(message)
            .hint("`maestro whoami` shows who you are here, and `maestro commands` what you may do"),
        status if status.is_server_error() => {
            CommandError::server(message).hint("`maestro doctor` shows what is wrong here")
        }
        _ => CommandError::invalid(message),
    })
}
