//! Tokens over HTTP, and links by which a browser signs in. They are for people only.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use maestro_api::fields::{DeletedReply, EmptyBody};
use maestro_api::schemas::IdText;
use maestro_api::tokens::{AccessTokenBody, AccessTokenReply, AccessTokenRequest, SignInLink};
use maestro_core::id::{AccessTokenId, EntityId as _, ProjectId, SessionId};
use maestro_store::{
    AccessToken, AccessTokenList, CreateAccessToken, EndSessionTokens, RevokeAccessToken, SessionToken,
    SessionTokenList, TokenAccess, TokenKind,
};
use utoipa::OpenApi;

use super::ApiFailures;
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{JsonBody, parse_word, required};
use crate::json_reply::JsonReply;
use crate::sign_in_state::CodeError;

/// A day in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// How many days a token may last, where its end is named: a century.
const MOST_DAYS: i64 = 36_500;

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/tokens", routing::get(list).post(create))
        .route("/api/tokens/{id}", routing::delete(revoke))
        .route("/api/sign-in-links", routing::post(sign_in_link))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(list, create, revoke, sign_in_link))]
pub(super) struct TokensApiDoc;

fn token_body(token: AccessToken) -> AccessTokenBody {
    AccessTokenBody {
        id: token.id.into(),
        name: token.name,
        kind: token.kind.as_str().to_owned(),
        access: token.access.as_str().to_owned(),
        project_id: token.project.map(Into::into),
        created_at: token.created_at,
        expires_at: token.expires_at,
    }
}

/// The tokens of a session count as one, which has the session's id.
fn session_token_body(token: SessionToken) -> AccessTokenBody {
    AccessTokenBody {
        name: format!("session {}", token.session),
        id: token.session.into(),
        kind: "session".to_owned(),
        access: TokenAccess::Write.as_str().to_owned(),
        project_id: Some(token.project.into()),
        created_at: token.created_at,
        expires_at: None,
    }
}

/// The tokens that have not ended, oldest first
#[utoipa::path(get, path = "/api/tokens", tag = "tokens", responses((status = 200, body = [AccessTokenBody]), ApiFailures))]
async fn list(State(app): State<AppState>, caller: Caller) -> Result<JsonReply<Vec<AccessTokenBody>>, ApiError> {
    caller.require_person("list tokens")?;
    let tokens = app.store.read(AccessTokenList { now: (app.clock)() }).await?;
    let sessions = app.store.read(SessionTokenList).await?;
    let mut all: Vec<AccessTokenBody> = tokens.into_iter().map(token_body).collect();
    all.extend(sessions.into_iter().map(session_token_body));
    all.sort_by_key(|token| token.created_at);
    Ok(JsonReply(all))
}

/// Make a token for a program; its secret is shown this once
#[utoipa::path(post, path = "/api/tokens", tag = "tokens", request_body = AccessTokenRequest,
    responses((status = 201, body = AccessTokenReply), ApiFailures))]
async fn create(
    State(app): State<AppState>,
    caller: Caller,
    JsonBody { value, .. }: JsonBody<AccessTokenRequest>,
) -> Result<Response, ApiError> {
    caller.require_hand_out("make tokens")?;
    if value.days.is_some_and(|days| !(1..=MOST_DAYS).contains(&days)) {
        return Err(ApiError::field("days", format!("must be 1 to {MOST_DAYS}")));
    }
    let change = CreateAccessToken {
        name: required(value.name, "name is required")?,
        kind: TokenKind::Client,
        access: parse_word("access", value.access.as_deref())?.unwrap_or(TokenAccess::Write),
        project: parse_word::<ProjectId>("projectId", value.project_id.as_deref())?,
        lifetime: value.days.map(|days| days * DAY),
    };
    let made = app.store.write(change).await?;
    let reply = AccessTokenReply { about: token_body(made.token), token: made.secret };
    Ok((StatusCode::CREATED, JsonReply(reply)).into_response())
}

/// Revoke a token, or all tokens of a session
#[utoipa::path(delete, path = "/api/tokens/{id}", tag = "tokens", params(("id" = IdText, Path)),
    responses((status = 200, body = DeletedReply), ApiFailures))]
async fn revoke(
    State(app): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<JsonReply<DeletedReply>, ApiError> {
    caller.require_person("revoke tokens")?;
    let unfit = |error| ApiError::field("id", error);
    if id.starts_with(SessionId::PREFIX) {
        let session = SessionId::parse(&id).map_err(unfit)?;
        return match app.store.write(EndSessionTokens { session: session.clone() }).await? {
            0 => Err(ApiError::not_found(format!("session '{session}' has no token"))),
            _ => Ok(JsonReply(DeletedReply::of(&session))),
        };
    }
    let id = AccessTokenId::parse(&id).map_err(unfit)?;
    app.store.write(RevokeAccessToken { id: id.clone() }).await?;
    Ok(JsonReply(DeletedReply::of(&id)))
}

/// Make a link by which a browser signs in, once
#[utoipa::path(post, path = "/api/sign-in-links", tag = "tokens", responses((status = 201, body = SignInLink), ApiFailures))]
async fn sign_in_link(
    State(app): State<AppState>,
    caller: Caller,
    _: JsonBody<EmptyBody>,
) -> Result<Response, ApiError> {
    caller.require_hand_out("sign in to the page")?;
    let link = app.sign_in.make_link(&app.facts.url, (app.clock)()).map_err(|error| match error {
        CodeError::TooMany => ApiError::new(StatusCode::TOO_MANY_REQUESTS, "LIMIT_REACHED", error.to_string()),
        CodeError::Random(_) => ApiError::internal(error.to_string()),
    })?;
    Ok((StatusCode::CREATED, JsonReply(link)).into_response())
}
