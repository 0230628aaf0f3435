//! Identity and rights of the caller of a request.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use maestro_core::SessionRole;
use maestro_core::id::{EntityId, SessionId, TaskId};
use maestro_store::{ActiveTaskSession, Actor, SessionById, SessionHasToken, TokenHolder, hash_secret as hash_of};

use crate::app::{AccessPolicy, AppState};
use crate::error::ApiError;

/// The header by which a session's programs say which one they belong to.
pub(crate) const SESSION: &str = "x-session-id";

/// The header by which programs that know only their task say which one it is.
pub(crate) const TASK: &str = "x-task-id";

/// The header by which a hook of a coding tool says that no person acts. It grants nothing.
pub(crate) const ACTOR: &str = "x-maestro-actor";

/// The cookie in which a browser keeps the server's token.
pub(crate) const COOKIE: &str = "maestro_token";

/// The caller, as far as it is known.
#[derive(Debug, Clone)]
pub(crate) struct Caller(pub(crate) Actor);

impl Caller {
    /// Refuses everyone but people.
    pub(crate) fn require_person(&self, what: &str) -> Result<(), ApiError> {
        match &self.0 {
            // Hooks are the user's own; the daemon, workers and steps never call.
            Actor::Person | Actor::Hook => Ok(()),
            Actor::Session { id, .. } => Err(ApiError::forbidden(format!("session '{id}' may not {what}"))),
            Actor::Daemon | Actor::Worker | Actor::Step => Err(ApiError::forbidden(format!("only people may {what}"))),
        }
    }

    /// Refuses workers: they do the work and do not assign it.
    pub(crate) fn refuse_workers(&self, what: &str) -> Result<(), ApiError> {
        match &self.0 {
            Actor::Session { id, role: SessionRole::Worker } => {
                Err(ApiError::forbidden(format!("session '{id}' is a worker and may not {what}")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a worker that speaks for another session.
    pub(crate) fn check_session(&self, session: &SessionId) -> Result<(), ApiError> {
        match &self.0 {
            Actor::Session { id, role: SessionRole::Worker } if id != session => {
                Err(ApiError::forbidden(format!("session '{id}' may not act for session '{session}'")))
            }
            _ => Ok(()),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| ApiError::unauthorized("unknown caller"))
    }
}

/// Identifies the caller: the server's token, a session's token, the name of a session without a token, or anonymous.
pub(crate) async fn identify(app: &AppState, headers: &HeaderMap) -> Result<Caller, ApiError> {
    let wanted = matches!(app.facts.access, AccessPolicy::Token(_));
    // Browsers keep one cookie for all ports of a host: where no token is required, it belongs to another server.
    if let Some(token) = bearer(headers)?.or_else(|| cookie(headers).filter(|_| wanted)) {
        let caller = from_token(app, token).await?;
        // A caller with the server's token may still say on whose behalf a command runs.
        return if caller.0 == Actor::Person { from_headers(app, headers).await } else { Ok(caller) };
    }
    if wanted {
        return Err(ApiError::unauthorized("missing token: send `Authorization: Bearer …`"));
    }
    from_headers(app, headers).await
}

/// The session that is named, or the one that works on the named task; otherwise anonymous.
async fn from_headers(app: &AppState, headers: &HeaderMap) -> Result<Caller, ApiError> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    match (text(SESSION), text(TASK)) {
        (Some(name), _) => from_name(app, name).await,
        (None, Some(task)) => {
            let task = TaskId::parse(task).map_err(|error| ApiError::field("X-Task-Id", error))?;
            let found = app.store.read(ActiveTaskSession(task)).await?;
            Ok(Caller(found.map_or(Actor::Person, |(id, role)| Actor::Session { id, role })))
        }
        (None, None) if text(ACTOR) == Some("hook") => Ok(Caller(Actor::Hook)),
        (None, None) => Ok(Caller(Actor::Person)),
    }
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let Some(value) = headers.get(axum::http::header::AUTHORIZATION) else { return Ok(None) };
    let token = value.to_str().ok().and_then(|text| text.strip_prefix("Bearer ")).map(str::trim);
    token.map(Some).ok_or_else(|| ApiError::unauthorized("Authorization: must be `Bearer TOKEN`"))
}

/// The token in the browser's cookie. `guard` ensures that only pages of this server send it.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(axum::http::header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, token)| token)
}

/// Whether this is the server's own token.
pub(crate) fn is_token(app: &AppState, token: &str) -> bool {
    match &app.facts.access {
        // Hashes of equal length are compared, so that the time taken reveals nothing about the token.
        AccessPolicy::Token(own) => hash_of(own.as_bytes()) == hash_of(token.as_bytes()),
        AccessPolicy::Local => false,
    }
}

async fn from_token(app: &AppState, token: &str) -> Result<Caller, ApiError> {
    if is_token(app, token) {
        return Ok(Caller(Actor::Person));
    }
    let hash = hash_of(token.as_bytes());
    let holder = app.store.read(TokenHolder { hash }).await?;
    let (id, role) = holder.ok_or_else(|| ApiError::unauthorized("unknown token"))?;
    Ok(Caller(Actor::Session { id, role }))
}

async fn from_name(app: &AppState, name: &str) -> Result<Caller, ApiError> {
    let id = SessionId::parse(name).map_err(|error| ApiError::field("X-Session-Id", error))?;
    if app.store.read(SessionHasToken(id.clone())).await? {
        return Err(ApiError::unauthorized(format!("session '{id}' has a token; the request must send it")));
    }
    let session = app.store.read(SessionById(id.clone())).await?;
    Ok(Caller(Actor::Session { id, role: session.role }))
}
