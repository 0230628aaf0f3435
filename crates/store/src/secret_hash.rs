//! Hash of something that must be recognised and not known.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// What is kept of something that must be recognised and not known.
pub fn hash_secret(secret: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(secret) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
