//! JSON answers of the API.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// An answer as JSON. Unlike axum's own, it is written into a `Vec`, as all other JSON is: for each type there is one
/// writer in the program.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonReply<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for JsonReply<T> {
    fn into_response(self) -> Response {
        written(serde_json::to_vec(&self.0))
    }
}

fn written(text: serde_json::Result<Vec<u8>>) -> Response {
    match text {
        Ok(text) => ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
