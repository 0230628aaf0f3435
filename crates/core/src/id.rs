//! Ids of one grammar, each kind a type of its own.
//!
//! An id is made of a prefix, the time in milliseconds and nine random characters, as the original server did it;
//! any id of the grammar is accepted, because callers may bring their own.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest id there is.
pub const MAX_LEN: usize = 64;

/// A text that cannot be an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an id is 1 to {MAX_LEN} letters, digits, `_` or `-`")]
pub struct InvalidId;

/// What all kinds of ids have in common.
pub trait EntityId: Sized {
    /// What fresh ids start with.
    const PREFIX: &'static str;

    /// The id with this text, if the grammar allows it.
    fn parse(text: &str) -> Result<Self, InvalidId>;

    /// A new id from the time in milliseconds and a random number.
    fn make(now: i64, random: u64) -> Self;

    /// The id's text.
    fn as_str(&self) -> &str;
}

fn is_id(text: &str) -> bool {
    (1..=MAX_LEN).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn make_id(prefix: &str, now: i64, mut random: u64) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut text = format!("{prefix}_{now}_");
    for _ in 0..9 {
        let digit = usize::try_from(random % 36).unwrap_or_default();
        text.push(char::from(DIGITS[digit]));
        random /= 36;
    }
    text
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl EntityId for $name {
            const PREFIX: &'static str = $prefix;

            fn parse(text: &str) -> Result<Self, InvalidId> {
                is_id(text).then(|| Self(text.to_owned())).ok_or(InvalidId)
            }

            fn make(now: i64, random: u64) -> Self {
                Self(make_id($prefix, now, random))
            }

            fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;

            fn try_from(text: String) -> Result<Self, InvalidId> {
                if is_id(&text) { Ok(Self(text)) } else { Err(InvalidId) }
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
    )*};
}

ids! {
    /// A project.
    ProjectId = "proj";
    /// A task or subtask.
    TaskId = "task";
    /// An agent at work.
    SessionId = "sess";
    /// A line of a session's timeline, or something it did.
    EntryId = "evt";
    /// Words for an agent.
    MessageId = "msg";
    /// Work passed from one role to another.
    HandoffId = "hand";
    /// A token of a program or a browser.
    AccessTokenId = "tok";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fresh_id_looks_like_the_originals() {
        assert_eq!(TaskId::make(1_738_713_600_000, 35).as_str(), "task_1738713600000_z00000000");
        assert!(SessionId::parse(SessionId::make(i64::MAX, u64::MAX).as_str()).is_ok());
    }

    #[test]
    fn what_could_be_a_path_is_no_id() {
        for text in ["", "../../x", "a b", "a.json", "ä", &"x".repeat(65)] {
            assert!(TaskId::parse(text).is_err(), "{text}");
            assert!(serde_json::from_value::<TaskId>(text.into()).is_err(), "{text}");
        }
    }
}
