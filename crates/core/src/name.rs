//! Names of a workflow's parts. One grammar, each kind a type of its own.

use std::borrow::{Borrow, Cow};
use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest name there is.
pub const MAX_LEN: usize = 64;

/// A text that cannot be a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a name is 1 to {MAX_LEN} letters, digits, `_` or `-`, and begins with a letter or `_`")]
pub struct InvalidName;

/// Whether a text can be a name.
pub(crate) fn is_name(text: &str) -> bool {
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.len() <= MAX_LEN && text.starts_with(starts) && text.chars().all(is_name_char)
}

/// Whether a character may stand inside a name.
pub(crate) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The name with this text, if the grammar allows it.
            pub fn parse(text: &str) -> Result<Self, InvalidName> {
                if is_name(text) { Ok(Self(text.to_owned())) } else { Err(InvalidName) }
            }

            /// The name's text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;

            fn try_from(text: String) -> Result<Self, InvalidName> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }
    )*};
}

names! {
    /// A parameter, variable, field, template, resource, review, role or validator.
    Name;
    /// A step of one workflow.
    StepId;
}

/// What a step ended with. An option that a user chose is an outcome too, so any text may be one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepOutcome(Cow<'static, str>);

impl StepOutcome {
    /// It went well.
    pub const OK: Self = Self(Cow::Borrowed("ok"));
    /// It did not.
    pub const FAIL: Self = Self(Cow::Borrowed("fail"));
    /// Some children failed.
    pub const PARTIAL: Self = Self(Cow::Borrowed("partial"));
    /// The user would not answer.
    pub const DECLINED: Self = Self(Cow::Borrowed("declined"));
    /// The user broke off.
    pub const CANCELLED: Self = Self(Cow::Borrowed("cancelled"));
    /// A gate let the run through.
    pub const PASS: Self = Self(Cow::Borrowed("pass"));
    /// A limit was reached.
    pub const EXHAUSTED: Self = Self(Cow::Borrowed("exhausted"));
    /// Time ran out.
    pub const TIMEOUT: Self = Self(Cow::Borrowed("timeout"));
    /// The step's condition did not hold.
    pub const SKIP: Self = Self(Cow::Borrowed("skip"));
    /// The called workflow could not continue.
    pub const BLOCKED: Self = Self(Cow::Borrowed("blocked"));

    /// The outcome with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Cow::Owned(text.into()))
    }

    /// The outcome's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for StepOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_could_stand_between_braces_and_in_a_condition() {
        for good in ["role", "dashboard-output", "_x", "A1"] {
            assert!(Name::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "1a", "a b", "a.b", "{a}", "-a", "ä", &"x".repeat(65)] {
            assert!(Name::parse(bad).is_err(), "{bad}");
            assert!(serde_json::from_value::<StepId>(bad.into()).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_outcome_is_the_same_wherever_it_came_from() {
        assert_eq!(StepOutcome::OK, StepOutcome::new("ok"));
        assert_eq!(serde_json::from_value::<StepOutcome>("ok".into()).unwrap(), StepOutcome::OK);
    }
}
