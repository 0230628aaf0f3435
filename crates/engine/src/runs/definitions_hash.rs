//! Hash of the definitions that a run is pinned to.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use maestro_core::workflow::pinned_definition::PinnedText;
use sha2::{Digest as _, Sha256};

/// The content that trust and pinning are about: every text the workflow reaches, whichever of them is executed.
pub fn hash(definitions: &BTreeMap<String, PinnedText>) -> String {
    let mut hasher = Sha256::new();
    let mut add = |text: &str| {
        hasher.update(text.len().to_le_bytes());
        hasher.update(text.as_bytes());
    };
    for (name, kept) in definitions {
        add(name);
        add(&kept.text);
        add(&kept.folder);
        for (name, text) in &kept.resources {
            add(name.as_str());
            add(text);
        }
        add("");
    }
    hasher.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
