//! Identification of callers: by the socket they call on, the token they show, or the way they came.

use axum::http::{HeaderMap, header};
use maestro_core::event::RunId;
use maestro_core::id::{EntityId as _, SessionId, TaskId};
use maestro_store::{
    ActiveTaskSession, RunById, SessionById, SessionHasToken, TokenAccess, TokenByHash, TokenHolder, TokenKind,
    hash_secret as hash_of,
};

use super::{Caller, CallingSession, CallingToken, RunStarter};
use crate::app::{AccessPolicy, AppState};
use crate::error::ApiError;
use crate::origin::RequestOrigin;
use crate::peer::PeerStanding;

/// The header by which a session's programs say which one they belong to.
const SESSION: &str = "x-session-id";
/// The header by which programs that know only their task say which one it is.
const TASK: &str = "x-task-id";
/// The header by which a hook of a coding tool says that no person acts. It grants nothing.
const ACTOR: &str = "x-maestro-actor";

/// Identifies the caller of a request. A stranger is a caller, too; a wrong token is an error.
pub(crate) async fn identify(app: &AppState, origin: &RequestOrigin, headers: &HeaderMap) -> Result<Caller, ApiError> {
    match origin {
        // A socket names its callers, whatever they send.
        RequestOrigin::SessionSocket(session) => by_session(app, session.clone()).await.map(Caller::Session),
        RequestOrigin::RunSocket(run) => by_run(app, *run).await,
        RequestOrigin::UserSocket(standing) => match (bearer(headers)?, standing) {
            (Some(token), _) => by_token(app, token, headers).await,
            (None, PeerStanding::Person) => on_behalf(app, headers).await,
            (None, PeerStanding::Refused(reason)) => {
                Err(ApiError::unauthorized(format!("{reason}; it may not act as you without a token")))
            }
        },
        RequestOrigin::Process | RequestOrigin::Network => match bearer(headers)? {
            Some(token) => by_token(app, token, headers).await,
            None => match cookie(app, headers) {
                Some(secret) => by_cookie(app, secret).await,
                None => without_token(app, headers).await,
            },
        },
    }
}

/// Whether this is the server's own token.
pub(crate) fn is_server_token(app: &AppState, token: &str) -> bool {
    match &app.facts.access {
        // Hashes of equal length are compared, so that the time taken reveals nothing about the token.
        AccessPolicy::Token(Some(own)) => hash_of(own.as_bytes()) == hash_of(token.as_bytes()),
        AccessPolicy::Token(None) | AccessPolicy::Open => false,
    }
}

async fn without_token(app: &AppState, headers: &HeaderMap) -> Result<Caller, ApiError> {
    match app.facts.access {
        AccessPolicy::Open => on_behalf(app, headers).await,
        AccessPolicy::Token(_) => Ok(Caller::Stranger),
    }
}

/// The user, or the session that the user's command names, or the one that works on the named task.
async fn on_behalf(app: &AppState, headers: &HeaderMap) -> Result<Caller, ApiError> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    match (text(SESSION), text(TASK)) {
        (Some(name), _) => by_name(app, name).await,
        (None, Some(task)) => {
            let task = TaskId::parse(task).map_err(|error| ApiError::field("X-Task-Id", error))?;
            let found = app.store.read(ActiveTaskSession(task)).await?;
            Ok(found
                .map_or(Caller::Person, |(id, role, project)| Caller::Session(CallingSession { id, role, project })))
        }
        (None, None) if text(ACTOR) == Some("hook") => Ok(Caller::Hook),
        (None, None) => Ok(Caller::Person),
    }
}

fn bearer(headers: &HeaderMap) -> Result<Option<&str>, ApiError> {
    let Some(value) = headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let token = value.to_str().ok().and_then(|text| text.strip_prefix("Bearer ")).map(str::trim);
    token.map(Some).ok_or_else(|| ApiError::unauthorized("Authorization: must be `Bearer TOKEN`"))
}

/// The secret in the browser's cookie. `guard` ensures that only pages of this server send it.
fn cookie<'h>(app: &AppState, headers: &'h HeaderMap) -> Option<&'h str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == app.facts.cookie).map(|(_, secret)| secret)
}

/// A browser that signed in; a cookie that ended is none.
async fn by_cookie(app: &AppState, secret: &str) -> Result<Caller, ApiError> {
    let token = TokenByHash { hash: hash_of(secret.as_bytes()), now: (app.clock)() };
    match app.store.read(token).await? {
        Some(token) if token.kind == TokenKind::Browser => Ok(Caller::Person),
        _ => without_token(app, &HeaderMap::new()).await,
    }
}

async fn by_token(app: &AppState, token: &str, headers: &HeaderMap) -> Result<Caller, ApiError> {
    if is_server_token(app, token) {
        // The holder may still say on whose behalf a command runs.
        return Ok(match on_behalf(app, headers).await? {
            Caller::Person => Caller::Token(CallingToken { id: None, access: TokenAccess::Write, project: None }),
            named => named,
        });
    }
    let hash = hash_of(token.as_bytes());
    if let Some((id, role, project)) = app.store.read(TokenHolder { hash: hash.clone() }).await? {
        return Ok(Caller::Session(CallingSession { id, role, project }));
    }
    match app.store.read(TokenByHash { hash, now: (app.clock)() }).await? {
        Some(token) if token.kind == TokenKind::Client => {
            Ok(Caller::Token(CallingToken { id: Some(token.id), access: token.access, project: token.project }))
        }
        _ => Err(ApiError::unauthorized("unknown token")),
    }
}

async fn by_name(app: &AppState, name: &str) -> Result<Caller, ApiError> {
    let id = SessionId::parse(name).map_err(|error| ApiError::field("X-Session-Id", error))?;
    if app.store.read(SessionHasToken(id.clone())).await? {
        return Err(ApiError::unauthorized(format!("session '{id}' has a token; the request must send it")));
    }
    by_session(app, id).await.map(Caller::Session)
}

async fn by_session(app: &AppState, id: SessionId) -> Result<CallingSession, ApiError> {
    let session = app.store.read(SessionById(id)).await?;
    Ok(CallingSession { id: session.id, role: session.role, project: session.project })
}

/// A step of a run, with the rights of the run's starter.
async fn by_run(app: &AppState, id: RunId) -> Result<Caller, ApiError> {
    let about = app.store.read(RunById(id)).await?.about;
    let starter = match about.session {
        Some(session) => RunStarter::Session(by_session(app, session).await?),
        None => RunStarter::Person(about.project),
    };
    Ok(Caller::Run { id, starter })
}
