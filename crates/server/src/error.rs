//! Error of a request, in one shape for every failure.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maestro_api::ErrorBody;
use maestro_core::session::SessionControl;
use maestro_store::StoreError;
use serde_json::{Value as Json_, json};

use crate::json_reply::JsonReply;

/// Why a request failed.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    details: Option<Json_>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), details: None }
    }

    /// The request is not valid.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "VALIDATION_ERROR", message)
    }

    /// A field of the request is not valid.
    pub(crate) fn field(field: &str, message: impl std::fmt::Display) -> Self {
        Self::invalid(format!("{field}: {message}")).with(json!({ "field": field }))
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", message)
    }

    pub(crate) fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "FORBIDDEN", message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_ERROR", message)
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn with(mut self, details: Json_) -> Self {
        self.details = Some(details);
        self
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = ErrorBody {
            error: true,
            status_code: self.status.as_u16(),
            code: self.code.to_owned(),
            message: self.message,
            details: self.details,
        };
        let mut response = (self.status, JsonReply(body)).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::NotFound { .. } => Self::not_found(message),
            StoreError::StaleRevision { expected, current, .. } => {
                Self::new(StatusCode::PRECONDITION_FAILED, "REVISION_MISMATCH", message)
                    .with(json!({ "expected": expected, "current": current }))
            }
            StoreError::TaskTransition { from, to } => {
                let allowed: Vec<&str> = from.next().iter().map(|status| status.as_str()).collect();
                transition(&message, from.as_str(), to.as_str(), &allowed)
            }
            StoreError::SessionTransition { from, to } => {
                let allowed: Vec<&str> = from.next().iter().map(|status| status.as_str()).collect();
                transition(&message, from.as_str(), to.as_str(), &allowed)
            }
            StoreError::InvalidControl { from, control: order } => {
                let allowed: Vec<&str> = SessionControl::allowed_for(from).iter().map(|order| order.as_str()).collect();
                transition(&message, from.as_str(), order.as_str(), &allowed)
            }
            StoreError::WorkTaken { run } => {
                Self::new(StatusCode::CONFLICT, "RUN_EXISTS", message).with(json!({ "run": run }))
            }
            StoreError::Exists { .. } => Self::new(StatusCode::CONFLICT, "ALREADY_EXISTS", message),
            StoreError::Limit { name, most, living, .. } => Self::new(StatusCode::CONFLICT, "LIMIT_REACHED", message)
                .with(json!({ "limit": name, "most": most, "living": living })),
            StoreError::Collision => Self::new(StatusCode::CONFLICT, "CONFLICT", message),
            StoreError::Rule(_) => Self::new(StatusCode::UNPROCESSABLE_ENTITY, "BUSINESS_RULE_ERROR", message),
            StoreError::KeyReused => Self::new(StatusCode::UNPROCESSABLE_ENTITY, "IDEMPOTENCY_KEY_REUSED", message),
            StoreError::Invalid(_) => Self::invalid(message),
            StoreError::Forbidden(_) => Self::forbidden(message),
            StoreError::Busy => Self::new(StatusCode::SERVICE_UNAVAILABLE, "DATABASE_BUSY", message),
            StoreError::Closed => Self::new(StatusCode::SERVICE_UNAVAILABLE, "SHUTTING_DOWN", message),
            StoreError::ReadOnly(_)
            | StoreError::Full
            | StoreError::NewerSchema { .. }
            | StoreError::Open { .. }
            | StoreError::InUse { .. }
            | StoreError::Damaged { .. } => Self::new(StatusCode::SERVICE_UNAVAILABLE, "DATABASE_UNAVAILABLE", message),
            StoreError::File { .. } | StoreError::Corrupt(_) | StoreError::Database(_) => Self::internal(message),
        }
    }
}

fn transition(message: &str, from: &str, to: &str, allowed: &[&str]) -> ApiError {
    let hint = if allowed.is_empty() { "nothing".to_owned() } else { allowed.join(", ") };
    ApiError::new(StatusCode::CONFLICT, "INVALID_TRANSITION", format!("{message}; possible: {hint}"))
        .with(json!({ "from": from, "to": to, "allowed": allowed }))
}
