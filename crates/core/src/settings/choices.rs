//! Which words can a setting be that is a choice between a few?

use serde::Serialize;

/// What happens to a skill that breaks the Agent Skills rules but can be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Validation {
    /// It is loaded and the broken rule is reported.
    Lenient,
    /// It is skipped.
    Strict,
}

/// Who may call a server without showing a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Auth {
    /// The local user.
    Local,
    /// Nobody.
    Required,
}

/// Whether questions are put to users by forms of their clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Forms {
    /// By those that somebody seems to look at.
    Auto,
    /// By all.
    Always,
    /// By none.
    Never,
}
