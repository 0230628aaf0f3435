//! Static files of the page, served from the binary and cached by browsers until they change.
//!
//! Their address names the build, so that modules import each other by plain names and never mix versions.

use std::borrow::Cow;
use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maestro_store::hash_secret;

use super::files::{self, ASSETS, TEMPLATES};
use crate::error::ApiError;

/// How much of a hash distinguishes two versions.
const SHORT: usize = 16;

static BUILD: LazyLock<String> = LazyLock::new(hash_files);

fn hash_files() -> String {
    let mut all = String::new();
    for file in ASSETS.iter().chain(TEMPLATES) {
        all.push_str(&file.text());
    }
    let mut text = hash_secret(all.as_bytes());
    text.truncate(SHORT);
    text
}

/// A text that changes with every part of the page: a page of another build has to reload.
pub(super) fn build() -> Cow<'static, str> {
    if files::may_change() { Cow::Owned(hash_files()) } else { Cow::Borrowed(BUILD.as_str()) }
}

/// The address of the current version of a file.
pub(super) fn address(name: &str) -> String {
    format!("/assets/{}/{name}", build())
}

/// `GET /assets/{name}`: the current version, whichever it is.
pub(super) async fn current_asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    send(&name, None, &headers)
}

/// `GET /assets/{build}/{name}`.
pub(super) async fn asset(Path((version, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    send(&name, Some(&version), &headers)
}

fn send(name: &str, version: Option<&str>, headers: &HeaderMap) -> Response {
    let Some(file) = ASSETS.iter().find(|file| file.name == name) else {
        return ApiError::not_found(format!("no asset `{name}`")).into_response();
    };
    let build = build();
    let tag = format!("\"{build}\"");
    let lasting = version == Some(&*build);
    let cache = if lasting { "public, max-age=31536000, immutable" } else { "no-cache" };
    let about = [(header::ETAG, tag.clone()), (header::CACHE_CONTROL, cache.to_owned())];
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    if known.is_some_and(|known| known.split(',').any(|known| known.trim().trim_start_matches("W/") == tag)) {
        return (StatusCode::NOT_MODIFIED, about).into_response();
    }
    (about, [(header::CONTENT_TYPE, content_type(name))], file.text()).into_response()
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
