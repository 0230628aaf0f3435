//! Settings with a fixed set of words.

use serde::Serialize;

/// What happens to a skill that breaks the Agent Skills rules but can be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SkillValidation {
    /// It is loaded and the broken rule is reported.
    Lenient,
    /// It is skipped.
    Strict,
}

/// Who may call a server without showing a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AuthMode {
    /// The local user.
    Local,
    /// No caller.
    Required,
}

/// Whether questions are put to users by forms of their clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FormsMode {
    /// By clients that appear to be watched.
    Auto,
    /// By all.
    Always,
    /// By none.
    Never,
}
