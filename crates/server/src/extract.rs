//! Paths, queries and bodies of requests; an error names the wrong field.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;
use maestro_api::fields::{NamedFields, PageQuery};
use maestro_api::schemas::RetryKey;
use maestro_core::id::EntityId;
use maestro_store::{IdempotencyKey, ListPage, hash_secret};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::caller::Caller;
use crate::error::ApiError;
use crate::run_driver::PATIENCE;

/// How many items a list holds unless the request says otherwise.
const USUAL: i64 = 1000;
/// How many items a list holds at most.
const MOST: i64 = 10_000;
/// The largest number that every reader of JSON can keep.
pub(crate) const LARGEST: i64 = 9_007_199_254_740_991;
/// The longest key a caller may mark a request with.
const LONGEST_KEY: usize = 255;

/// The only id in a path.
pub(crate) struct PathId<I>(pub(crate) I);

impl<I: EntityId, S: Send + Sync> FromRequestParts<S> for PathId<I> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let text = path_text(parts).await?;
        I::parse(&text).map(Self).map_err(|error| ApiError::field("id", error))
    }
}

async fn path_text(parts: &mut Parts) -> Result<String, ApiError> {
    let text = Path::<String>::from_request_parts(parts, &()).await;
    text.map(|Path(text)| text).map_err(|rejection| ApiError::invalid(rejection.to_string()))
}

/// Both ids in a path.
pub(crate) struct PathIds<A, B>(pub(crate) A, pub(crate) B);

impl<A: EntityId, B: EntityId, S: Send + Sync> FromRequestParts<S> for PathIds<A, B> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Path((first, second)) = Path::<(String, String)>::from_request_parts(parts, state)
            .await
            .map_err(|rejection| ApiError::invalid(rejection.to_string()))?;
        let bad = |error| ApiError::field("id", error);
        Ok(Self(A::parse(&first).map_err(bad)?, B::parse(&second).map_err(bad)?))
    }
}

/// The query string.
pub(crate) struct UrlQuery<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for UrlQuery<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        if parts.uri.query().is_some_and(|query| query.contains("%00")) {
            return Err(ApiError::invalid("the query holds a NUL character"));
        }
        match Query::<T>::from_request_parts(parts, state).await {
            Ok(Query(value)) => Ok(Self(value)),
            Err(rejection) => Err(ApiError::invalid(rejection.body_text())),
        }
    }
}

/// A JSON body, and the key of a request that must not be carried out twice.
pub(crate) struct JsonBody<T> {
    pub(crate) value: T,
    pub(crate) once: Option<IdempotencyKey>,
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let (bytes, once) = read_body(request).await?;
        Ok(Self { value: parse(&bytes)?, once })
    }
}

async fn read_body(request: Request) -> Result<(Bytes, Option<IdempotencyKey>), ApiError> {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let headers = request.headers().clone();
    let caller = request.extensions().get::<Caller>().cloned();
    let bytes = Bytes::from_request(request, &()).await.map_err(|rejection| {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            let message = "the body is larger than 1 MiB";
            return ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE", message);
        }
        ApiError::new(rejection.status(), "VALIDATION_ERROR", rejection.body_text())
    })?;
    if !bytes.is_empty() && !is_json(&headers) {
        let message = "the body must be JSON with the header `Content-Type: application/json`";
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE", message));
    }
    let request = format!("{method} {path}");
    let once = idempotency_key(&headers, caller.as_ref(), &request, &bytes)?;
    Ok((bytes, once))
}

/// The header that marks a request that must not be carried out twice; [`JsonBody`] reads it.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "only describes what is read")]
pub(crate) struct IdempotencyHeader {
    /// The same request with the same key is carried out once, and answered as it was the first time.
    #[param(rename = "Idempotency-Key", value_type = Option<RetryKey>)]
    key: Option<String>,
}

/// How long a caller waits for the result of its request.
pub(crate) struct WaitTime(pub(crate) Duration);

impl<S: Send + Sync> FromRequestParts<S> for WaitTime {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        // A preference that cannot be parsed is ignored.
        let prefers = parts.headers.get("prefer").and_then(|value| value.to_str().ok());
        let seconds = prefers.and_then(|prefers| prefers.trim().strip_prefix("wait=")?.parse().ok());
        Ok(Self(seconds.map_or(PATIENCE, |seconds| PATIENCE.min(Duration::from_secs(seconds)))))
    }
}

/// The header that says how long a caller waits; [`WaitTime`] reads it.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "only describes what is read")]
pub(crate) struct PreferHeader {
    /// `wait=` and how many seconds the answer may wait for what is executed, 10 at most and unless said otherwise.
    #[param(rename = "Prefer", value_type = Option<String>)]
    prefer: Option<String>,
}

/// Reads a body; an empty one is an empty object.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    if holds_nul(bytes) {
        // One of the databases cannot store it, and no text needs it.
        return Err(ApiError::invalid("the body holds a NUL character"));
    }
    let text: &[u8] = if bytes.is_empty() { b"{}" } else { bytes };
    let text =
        str::from_utf8(text).map_err(|error| ApiError::invalid(format!("the body is not valid JSON: {error}")))?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let NamedFields(value) = serde_path_to_error::deserialize(&mut reader).map_err(wrong_body)?;
    reader.end().map_err(|error| ApiError::invalid(format!("the body is not valid JSON: {error}")))?;
    Ok(value)
}

fn wrong_body(error: serde_path_to_error::Error<serde_json::Error>) -> ApiError {
    let field = error.path().to_string();
    let cause = error.into_inner();
    if cause.is_data() && field != "." {
        ApiError::field(&field, cause)
    } else if cause.is_data() {
        ApiError::invalid(cause.to_string())
    } else {
        ApiError::invalid(format!("the body is not valid JSON: {cause}"))
    }
}

/// Whether JSON text holds an escaped NUL; an unescaped one is not valid JSON.
fn holds_nul(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        let escape = &rest[at + 1..];
        if escape.starts_with(b"u0000") {
            return true;
        }
        rest = escape.get(1..).unwrap_or_default();
    }
    false
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json") || kind.to_ascii_lowercase().ends_with("+json")
}

/// A key belongs to its caller: callers never receive each other's answers.
fn idempotency_key(
    headers: &HeaderMap,
    caller: Option<&Caller>,
    request: &str,
    body: &[u8],
) -> Result<Option<IdempotencyKey>, ApiError> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    let fits = |key: &&str| (1..=LONGEST_KEY).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic());
    let key = key.to_str().ok().filter(fits).ok_or_else(|| {
        ApiError::field("Idempotency-Key", format!("must be 1 to {LONGEST_KEY} printable ASCII characters"))
    })?;
    let space = caller.map(Caller::key_space).unwrap_or_default();
    Ok(Some(IdempotencyKey { request: format!("{request} {space} {key}"), fingerprint: hash_secret(body) }))
}

/// The revision in `If-Match`; `*` and a missing header name none.
pub(crate) struct ExpectedRevision(pub(crate) Option<i64>);

impl<S: Send + Sync> FromRequestParts<S> for ExpectedRevision {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let Some(value) = parts.headers.get(header::IF_MATCH) else { return Ok(Self(None)) };
        let text = value.to_str().unwrap_or_default().trim();
        if text == "*" {
            return Ok(Self(None));
        }
        let number = text.trim_start_matches("W/").trim_matches('"').parse();
        number.map(|revision| Self(Some(revision))).map_err(|_| {
            ApiError::invalid("If-Match: must be a revision from an ETag").with(json!({ "field": "If-Match" }))
        })
    }
}

/// The part of a list that is wanted; every list reads it from the query in this way.
pub(crate) struct PagingParams(pub(crate) ListPage);

impl<S: Send + Sync> FromRequestParts<S> for PagingParams {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let UrlQuery(query) = UrlQuery::<PageQuery>::from_request_parts(parts, state).await?;
        Self::of(query)
    }
}

impl PagingParams {
    pub(crate) fn of(query: PageQuery) -> Result<Self, ApiError> {
        let limit = query.limit.unwrap_or(USUAL);
        if !(1..=MOST).contains(&limit) {
            return Err(ApiError::field("limit", format!("must be 1 to {MOST}")));
        }
        let after = query.cursor.unwrap_or(0);
        if !(0..=LARGEST).contains(&after) {
            return Err(ApiError::field("cursor", "must come from `Maestro-Next-Cursor`"));
        }
        Ok(Self(ListPage { limit, after }))
    }
}

/// Parses an optional word; the error names the field.
pub(crate) fn parse_word<T: std::str::FromStr<Err: std::fmt::Display>>(
    field: &str,
    text: Option<&str>,
) -> Result<Option<T>, ApiError> {
    text.map(|text| text.parse().map_err(|error| ApiError::field(field, error))).transpose()
}

/// Requires text that is not blank.
pub(crate) fn required(text: Option<String>, message: &str) -> Result<String, ApiError> {
    let text = text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    text.ok_or_else(|| ApiError::invalid(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_real_nul_is_one() {
        assert!(holds_nul(br#"{"a":"\u0000"}"#) && holds_nul(br#""\\\u0000""#));
        assert!(!holds_nul(br#"{"a":"\\u0000"}"#) && !holds_nul(br#""\u0001\""#) && !holds_nul(b"\\"));
    }
}
