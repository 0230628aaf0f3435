//! Failures: the body that every failed request is answered with, and what a client reports.

use std::error::Error;

use http::StatusCode;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use utoipa::ToSchema;

/// Why a request failed, as it is sent.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorBody {
    /// Always true.
    pub error: bool,
    /// The HTTP status, repeated.
    pub status_code: u16,
    /// A code for programs.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// Details, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub details: Option<Json>,
}

/// What lies beneath a failure.
pub type ErrorCause = Box<dyn Error + Send + Sync>;

/// Why a client has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The API refused.
    #[error("{message}")]
    Refused {
        /// The status.
        status: StatusCode,
        /// A word for programs; empty where a proxy answered.
        code: String,
        /// A sentence for people.
        message: String,
        /// What exactly.
        details: Option<Box<Json>>,
    },
    /// There is no server at the address, so nothing was carried out.
    #[error("cannot connect to {url}")]
    Unreachable {
        /// The address.
        url: String,
        /// Why.
        #[source]
        cause: ErrorCause,
    },
    /// No way to the API was found, so nothing was carried out.
    #[error("{0}")]
    NotConnected(String),
    /// The connection broke before the answer was complete.
    #[error("{what}")]
    Broken {
        /// What broke.
        what: String,
        /// Why.
        #[source]
        cause: ErrorCause,
    },
    /// The answer is not what was asked for.
    #[error("cannot read the response to {path}: {cause}")]
    Unreadable {
        /// What was asked for.
        path: String,
        /// Why; part of the message already.
        cause: String,
    },
    /// The request cannot be sent.
    #[error("cannot request `{path}`: {cause}")]
    Unsendable {
        /// What was asked for.
        path: String,
        /// Why; part of the message already.
        cause: String,
    },
    /// The address is not one of a server.
    #[error("`{url}` is not a server address: {why}")]
    InvalidUrl {
        /// The address.
        url: String,
        /// Why.
        why: &'static str,
    },
}

impl ClientError {
    /// Whether the target does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { status: StatusCode::NOT_FOUND, .. })
    }

    /// Whether certainly nothing was carried out, because no server received the request.
    pub fn was_not_sent(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::NotConnected(_))
    }

    /// Whether no answer arrived, for a reason that lies between client and server.
    pub fn is_network(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::NotConnected(_) | Self::Broken { .. })
    }

    /// Whether the same request may succeed the next time.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Refused { status, .. } => status.is_server_error(),
            Self::Unreadable { .. } => true,
            other => other.is_network(),
        }
    }

    /// What the API said exactly, read as `T`.
    pub fn details<T: DeserializeOwned>(&self) -> Option<T> {
        match self {
            Self::Refused { details: Some(details), .. } => T::deserialize(details.as_ref()).ok(),
            _ => None,
        }
    }
}
