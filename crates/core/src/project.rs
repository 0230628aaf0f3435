//! Projects.

use serde::{Deserialize, Serialize};

use crate::id::ProjectId;

/// A directory in which work is done, and everything about that work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// Its id.
    pub id: ProjectId,
    /// What people call it.
    pub name: String,
    /// Its directory.
    pub working_dir: String,
    /// What it is about.
    pub description: String,
    /// When it was made.
    pub created_at: i64,
    /// When it last changed.
    pub updated_at: i64,
    /// Counts its changes.
    pub revision: i64,
}
