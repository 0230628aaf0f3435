//! Key of a skill's card: a hash of its text.

use std::fmt;

use sha2::{Digest, Sha256};

/// What a card says, as a hash: a vector belongs to it as long as the card is the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct CardKey(pub(crate) [u8; 16]);

impl CardKey {
    /// How many bytes a key has.
    pub(crate) const BYTES: usize = 16;

    /// The key of a card's text.
    pub(crate) fn of(card: &str) -> Self {
        let digest = Sha256::digest(card.as_bytes());
        Self(digest.first_chunk().copied().unwrap_or_default())
    }
}

impl fmt::Debug for CardKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
