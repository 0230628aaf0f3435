//! The role of a session.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

crate::word_enum! {
    /// The part a session plays: it does a task itself, or it hands tasks out.
    #[derive(Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum SessionRole {
        /// Works on its own tasks.
        Worker = "worker",
        /// Plans, hands tasks to workers and watches them.
        Orchestrator = "orchestrator",
    }
}

impl FromStr for SessionRole {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::from_word(text).ok_or(UnknownRole)
    }
}

/// A word that names no role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("Role must be \"worker\" or \"orchestrator\"")]
pub struct UnknownRole;
