//! Files as content of an answer: pictures and sounds as such, other files as embedded resources.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use maestro_core::hidden_chars::remove_hidden;
use rmcp::model::{AudioContent, ContentBlock, ImageContent, ResourceContents};

use super::media_type;

/// The largest file that is sent within an answer, in bytes. In base64 it stays below one mebibyte.
const MOST_BYTES: usize = 700 * 1024;

/// The content of a file with this name; nothing if it is too large.
pub(super) fn of_bytes(bytes: &[u8], uri: String, name: &str) -> Option<ContentBlock> {
    if bytes.len() > MOST_BYTES {
        return None;
    }
    let kind = media_type(name);
    if kind.starts_with("image/") && kind != "image/svg+xml" {
        return Some(ContentBlock::Image(ImageContent::new(BASE64_STANDARD.encode(bytes), kind)));
    }
    if kind.starts_with("audio/") {
        return Some(ContentBlock::Audio(AudioContent::new(BASE64_STANDARD.encode(bytes), kind)));
    }
    let contents = if let Ok(text) = std::str::from_utf8(bytes) {
        ResourceContents::text(remove_hidden(text).into_owned(), uri).with_mime_type(kind)
    } else {
        let kind = if kind.starts_with("text/") { "application/octet-stream" } else { kind };
        ResourceContents::blob(BASE64_STANDARD.encode(bytes), uri).with_mime_type(kind)
    };
    Some(ContentBlock::resource(contents))
}
