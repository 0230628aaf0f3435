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

/// Whether callers over the network need a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AuthMode {
    /// They do.
    Token,
    /// They do not: each process that reaches the address is the user.
    Open,
}

impl AuthMode {
    /// Their words.
    pub(super) const WORDS: [(&'static str, Self); 2] = [("token", Self::Token), ("open", Self::Open)];
    /// Words of earlier versions; on this machine, no caller needed a token then.
    pub(super) const OLD_WORDS: [(&'static str, Self); 2] = [("local", Self::Token), ("required", Self::Token)];
}

/// What agents reach over the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkMode {
    /// Everything.
    All,
    /// Nothing but themselves and Maestro.
    None,
    /// Besides, the hosts that `network_hosts` names.
    Hosts,
}

impl NetworkMode {
    pub(super) const WORDS: [(&str, Self); 3] = [("all", Self::All), ("none", Self::None), ("hosts", Self::Hosts)];
}

/// What confines agents and commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ConfinementChoice {
    /// Namespaces where they work, else Landlock.
    Auto,
    /// Namespaces.
    Namespaces,
    /// Landlock.
    Landlock,
}

impl ConfinementChoice {
    pub(super) const WORDS: [(&str, Self); 3] =
        [("auto", Self::Auto), ("namespaces", Self::Namespaces), ("landlock", Self::Landlock)];
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
