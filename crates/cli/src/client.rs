//! The way from a command to what is stored: a server over HTTP, or the same router in this process.

pub(crate) mod connect;
pub(crate) mod context;
mod link;
pub(crate) mod own_server;
pub(crate) mod permissions;
mod relay;
pub(crate) mod reporter;
pub(crate) mod runs;
pub(crate) mod short_ids;
pub(crate) mod waiting;

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use maestro_api::events::EventQuery;
use maestro_api::{
    ApiClient, ApiRequest, ChangeWatch, ClientError, HttpConnection, LiveStream, ReceivedReply, RetryPolicy,
    UnreadAnswer, UntypedRequest,
};
use maestro_engine::caller_sockets;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use tokio::runtime::Runtime;

use self::link::ApiLink;
pub(crate) use self::link::{hostname, local as local_options, named_by_variable, running};
use crate::host::runtime;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::{CommandError, ExitKind};

/// How often a request is repeated unless the environment says otherwise.
const RETRIES: u64 = 3;
/// After how many milliseconds, the first time.
const RETRY_DELAY: u64 = 1000;

/// A way to everything that is stored.
pub(crate) struct CliClient {
    runtime: Runtime,
    link: ApiLink,
    caller: CallerHeaders,
    retry: RetryPolicy,
    api: ApiClient,
}

/// What every request says of who asks.
#[derive(Debug, Clone, Default)]
struct CallerHeaders {
    token: Option<String>,
    session: Option<String>,
    /// The task its session works on, where only that is known.
    task: Option<String>,
}

impl CallerHeaders {
    fn to_headers(&self) -> CommandResult<HeaderMap> {
        let unfit = |error| CommandError::invalid(format!("cannot send the caller's identity to a server: {error}"));
        let mut headers = HeaderMap::new();
        if let Some(token) = &self.token {
            let mut token = HeaderValue::from_str(&format!("Bearer {token}")).map_err(unfit)?;
            token.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, token);
        }
        if let Some(session) = &self.session {
            headers.insert("x-session-id", HeaderValue::from_str(session).map_err(unfit)?);
        } else if let Some(task) = &self.task {
            headers.insert("x-task-id", HeaderValue::from_str(task).map_err(unfit)?);
        }
        Ok(headers)
    }
}

impl CliClient {
    /// Finds the server, or opens the database.
    pub(crate) fn open(world: &World) -> CommandResult<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| CommandError::io("cannot start the runtime", &error))?;
        let token = ["MAESTRO_SESSION_TOKEN", "MAESTRO_AUTH_TOKEN"].into_iter().find_map(|name| world.variable(name));
        let retry = retry_policy(world)?;
        let link = ApiLink::find(world, &runtime)?;
        let token = token.map(str::to_owned);
        let session = world.variable("MAESTRO_SESSION_ID").map(str::to_owned);
        let task = context::tasks(world).into_iter().next();
        let caller = CallerHeaders { token, session, task };
        // What a router in this process fails at, it fails at again.
        let retry = if matches!(link, ApiLink::Remote(_)) { retry } else { RetryPolicy::NONE };
        let api = ApiClient::new(link.transport()).with_headers(caller.to_headers()?).with_retry(retry);
        Ok(Self { runtime, link, caller, retry, api })
    }

    /// A way to a server that runs already; nothing is opened or started for it.
    pub(crate) fn connect_running(world: &World) -> CommandResult<Option<Self>> {
        let named = ["MAESTRO_API_URL", "MAESTRO_SERVER_URL", caller_sockets::VARIABLE];
        let named = named.into_iter().any(|name| world.variable(name).is_some());
        if world.aim.server.is_none() && !named {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|error| CommandError::io("cannot start the runtime", &error))?;
            if runtime::wait(&runtime, running(world)).is_none() {
                return Ok(None);
            }
        }
        Self::open(world).map(Some)
    }

    /// The same client, speaking for the user and not for a session.
    pub(crate) fn for_person(self) -> CommandResult<Self> {
        let caller = CallerHeaders { session: None, task: None, ..self.caller };
        let api = ApiClient::new(self.link.transport()).with_headers(caller.to_headers()?).with_retry(self.retry);
        Ok(Self { caller, api, ..self })
    }

    /// The same client, speaking for a hook of the user's coding tool.
    pub(crate) fn for_hook(self) -> CommandResult<Self> {
        let person = self.for_person()?;
        let mut headers = person.caller.to_headers()?;
        headers.insert("x-maestro-actor", HeaderValue::from_static("hook"));
        let api = ApiClient::new(person.link.transport()).with_headers(headers).with_retry(person.retry);
        Ok(Self { api, ..person })
    }

    /// The same client, asking once and never again.
    pub(crate) fn without_retries(self) -> Self {
        let api = self.api.clone().with_retry(RetryPolicy::NONE);
        Self { retry: RetryPolicy::NONE, api, ..self }
    }

    /// What is spoken to: a server's address, or a database.
    pub(crate) fn target(&self) -> ClientTarget<'_> {
        self.link.target()
    }

    /// The same way for another runtime; nothing where it ends in this process.
    pub(crate) fn another_connection(&self) -> Option<HttpConnection> {
        self.link.another_connection()
    }

    /// What every request says of who asks.
    pub(crate) fn headers(&self) -> CommandResult<HeaderMap> {
        self.caller.to_headers()
    }

    /// Waits for something that itself asks and sends.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        runtime::wait(&self.runtime, work)
    }

    /// Sends a request and reads its answer.
    pub(crate) fn call<T: DeserializeOwned>(&self, request: ApiRequest<T>) -> CommandResult<T> {
        Ok(self.ask(request.into_untyped())?.read()?)
    }

    /// Sends a request; its answer as it came, and what it says.
    pub(crate) fn call_raw<T: DeserializeOwned>(&self, request: ApiRequest<T>) -> CommandResult<ReceivedReply<T>> {
        Ok(self.ask(request.into_untyped())?.read_raw()?)
    }

    /// Sends a request while other things go on.
    pub(crate) async fn send<T: DeserializeOwned>(&self, request: ApiRequest<T>) -> CommandResult<T> {
        Ok(self.ask_meanwhile(request.into_untyped()).await?.read()?)
    }

    /// Sends a request while other things go on; its answer as it came, and what it says.
    pub(crate) async fn send_raw<T: DeserializeOwned>(
        &self,
        request: ApiRequest<T>,
    ) -> CommandResult<ReceivedReply<T>> {
        Ok(self.ask_meanwhile(request.into_untyped()).await?.read_raw()?)
    }

    fn ask(&self, request: UntypedRequest) -> CommandResult<UnreadAnswer> {
        runtime::wait(&self.runtime, self.ask_meanwhile(request))
    }

    async fn ask_meanwhile(&self, request: UntypedRequest) -> CommandResult<UnreadAnswer> {
        let changes = request.changes_something();
        let request = self.expand(request).await?;
        self.api.ask(request).await.map_err(|error| refused(error, changes))
    }

    /// Asks for a whole list, however many parts it comes in.
    pub(crate) fn list<T: DeserializeOwned + Send>(&self, request: ApiRequest<Vec<T>>) -> CommandResult<Vec<T>> {
        let mut items = Vec::new();
        self.ask_for_parts(request.into_untyped(), &mut |part| {
            items.append(&mut part.read::<Vec<T>>()?);
            Ok(())
        })?;
        Ok(items)
    }

    /// Asks for a whole list; its items as they came, and what they say.
    pub(crate) fn list_raw<T: DeserializeOwned + Send>(
        &self,
        request: ApiRequest<Vec<T>>,
    ) -> CommandResult<ReceivedReply<Vec<T>>> {
        let (mut raw, mut value) = (Vec::new(), Vec::new());
        self.ask_for_parts(request.into_untyped(), &mut |part| {
            raw.append(&mut part.read::<Vec<Json>>()?);
            value.append(&mut part.read::<Vec<T>>()?);
            Ok(())
        })?;
        Ok(ReceivedReply { raw: Json::Array(raw), value })
    }

    fn ask_for_parts(
        &self,
        request: UntypedRequest,
        add: &mut (dyn FnMut(UnreadAnswer) -> Result<(), ClientError> + Send),
    ) -> CommandResult<()> {
        runtime::wait(&self.runtime, async { Ok(self.api.ask_for_parts(self.expand(request).await?, add).await?) })
    }

    /// Waits for changes of what these events are about.
    pub(crate) fn watch(&self, query: EventQuery) -> ChangeWatch {
        ChangeWatch::new(self.api.clone(), query)
    }

    /// Opens a live stream.
    pub(crate) async fn open_stream<T>(&self, request: ApiRequest<T>) -> CommandResult<LiveStream> {
        Ok(self.api.open_stream(self.expand(request.into_untyped()).await?).await?)
    }
}

/// What a client speaks to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientTarget<'a> {
    /// The server at this address.
    Server(&'a str),
    /// This database, without a server.
    Database(&'a str),
}

/// What `MAESTRO_RETRIES` and `MAESTRO_RETRY_DELAY` say.
fn retry_policy(world: &World) -> CommandResult<RetryPolicy> {
    let retries = number(world, "MAESTRO_RETRIES", RETRIES)?;
    let delay = number(world, "MAESTRO_RETRY_DELAY", RETRY_DELAY)?;
    Ok(RetryPolicy { retries: u32::try_from(retries).unwrap_or(u32::MAX), delay: Duration::from_millis(delay) })
}

fn number(world: &World, name: &str, usual: u64) -> CommandResult<u64> {
    world.variable(name).map_or(Ok(usual), |text| {
        text.trim().parse().map_err(|_| {
            CommandError::invalid(format!("{name} is not a number: `{text}`")).hint(format!("unset {name}"))
        })
    })
}

/// The error of a command whose request failed; a change that was refused changed nothing.
fn refused(error: ClientError, changes: bool) -> CommandError {
    let refusal = matches!(error, ClientError::Refused { .. });
    let error = CommandError::from(error);
    let nothing_changed = changes && refusal && error.exit() == ExitKind::Failed && !error.is_transient();
    if nothing_changed { error.hint("nothing was changed") } else { error }
}

impl From<ClientError> for CommandError {
    fn from(error: ClientError) -> Self {
        let message = error.to_string();
        match error {
            ClientError::Refused { status, details, .. } => refusal(status, message).with_details(details),
            ClientError::Unreachable { cause, .. } => Self::unreachable(message)
                .because(cause.as_ref())
                .hint("run `maestro up`, or unset MAESTRO_API_URL and --server to work without a server"),
            ClientError::NotConnected(_) => Self::unreachable(message),
            ClientError::Broken { cause, .. } => Self::network(message).because(cause.as_ref()),
            ClientError::Unreadable { .. } => Self::server(message),
            ClientError::Unsendable { .. } => Self::invalid(message),
            ClientError::InvalidUrl { .. } => Self::invalid(message).hint("use an address like http://127.0.0.1:3000"),
        }
    }
}

/// What the API refused, as a command's error.
fn refusal(status: StatusCode, message: String) -> CommandError {
    match status {
        StatusCode::NOT_FOUND => {
            let hint = list_hint(&message);
            CommandError::not_found(message).hint(hint)
        }
        StatusCode::UNAUTHORIZED => CommandError::forbidden(message).hint(
            "set MAESTRO_AUTH_TOKEN to a token from `maestro token create`, or MAESTRO_SESSION_TOKEN to this session's",
        ),
        StatusCode::FORBIDDEN => CommandError::forbidden(message)
            .hint("run `maestro whoami` for your role, `maestro commands` for what you may do"),
        status if status.is_server_error() => CommandError::server(message).hint("run `maestro db check`"),
        StatusCode::CONFLICT | StatusCode::UNPROCESSABLE_ENTITY => CommandError::refused(message),
        _ => CommandError::invalid(message),
    }
}

/// Where to find what there is, by what there is not.
fn list_hint(message: &str) -> &'static str {
    match message.split_whitespace().next() {
        Some("Task" | "Parent") => "run `maestro task list --all` for the tasks of a project",
        Some("Session") => "run `maestro session list --all` for the sessions of a project",
        Some("Project") => "run `maestro project list` for all projects",
        Some("Token") => "run `maestro token list` for the tokens",
        Some("Run") => "run `maestro workflow runs` for the runs of a project",
        _ => "check the ID; run `maestro whoami` for the server in use",
    }
}
