//! The role of a session.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The part a session plays: it does a task itself, or it hands tasks out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionRole {
    /// Works on its own tasks.
    Worker,
    /// Plans, hands tasks to workers and watches them.
    Orchestrator,
}

impl SessionRole {
    /// Both roles, in the order they are shown.
    pub const ALL: [Self; 2] = [Self::Worker, Self::Orchestrator];

    /// The word used on the command line and in manifests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Worker => "worker",
            Self::Orchestrator => "orchestrator",
        }
    }
}

impl fmt::Display for SessionRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for SessionRole {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|role| role.as_str() == text).ok_or(UnknownRole)
    }
}

/// A word that names no role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownRole;

impl fmt::Display for UnknownRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Role must be \"worker\" or \"orchestrator\"")
    }
}

impl std::error::Error for UnknownRole {}
