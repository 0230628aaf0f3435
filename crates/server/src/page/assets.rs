//! Static files of the page, served from the binary and cached by browsers until they change.

use std::sync::LazyLock;

use axum::extract::{Path, Query};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use maestro_store::hash_secret;
use serde::Deserialize;

use super::fragments;
use crate::error::ApiError;

/// A file: its name, content type and contents.
struct PageAsset {
    name: &'static str,
    kind: &'static str,
    text: &'static str,
}

const ASSETS: [PageAsset; 4] = [
    PageAsset { name: "maestro.css", kind: "text/css; charset=utf-8", text: include_str!("../../assets/maestro.css") },
    PageAsset { name: "live.js", kind: "text/javascript; charset=utf-8", text: include_str!("../../assets/live.js") },
    PageAsset { name: "icon.svg", kind: "image/svg+xml", text: include_str!("../../assets/icon.svg") },
    PageAsset { name: "icon-waits.svg", kind: "image/svg+xml", text: include_str!("../../assets/icon-waits.svg") },
];

/// How much of a hash distinguishes two versions.
const SHORT: usize = 16;

static HASHES: LazyLock<[String; ASSETS.len()]> = LazyLock::new(|| ASSETS.map(|asset| short(asset.text.as_bytes())));

static BUILD: LazyLock<String> = LazyLock::new(|| {
    let parts: Vec<&str> = HASHES.iter().map(String::as_str).chain(fragments::sources()).collect();
    short(parts.concat().as_bytes())
});

fn short(bytes: &[u8]) -> String {
    let mut text = hash_secret(bytes);
    text.truncate(SHORT);
    text
}

/// A text that changes with every part of the page: a page of another build has to reload.
pub(super) fn build() -> &'static str {
    &BUILD
}

/// The address of the current version of a file.
pub(super) fn address(name: &str) -> String {
    match index(name) {
        Some(index) => format!("/assets/{name}?v={}", HASHES[index]),
        None => format!("/assets/{name}"),
    }
}

fn index(name: &str) -> Option<usize> {
    ASSETS.iter().position(|asset| asset.name == name)
}

/// The requested version.
#[derive(Deserialize)]
pub(super) struct AssetVersion {
    v: Option<String>,
}

/// `GET /assets/{name}`.
pub(super) async fn asset(
    Path(name): Path<String>,
    Query(version): Query<AssetVersion>,
    headers: HeaderMap,
) -> Response {
    let Some(index) = index(&name) else {
        return ApiError::not_found(format!("no asset `{name}`")).into_response();
    };
    let (asset, hash) = (&ASSETS[index], &HASHES[index]);
    let tag = format!("\"{hash}\"");
    let lasting = version.v.as_ref() == Some(hash);
    let cache = if lasting { "public, max-age=31536000, immutable" } else { "no-cache" };
    let about = [(header::ETAG, tag.clone()), (header::CACHE_CONTROL, cache.to_owned())];
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    if known.is_some_and(|known| known.split(',').any(|known| known.trim().trim_start_matches("W/") == tag)) {
        return (StatusCode::NOT_MODIFIED, about).into_response();
    }
    (about, [(header::CONTENT_TYPE, asset.kind)], asset.text).into_response()
}
