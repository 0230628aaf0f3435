//! How do things look on the wire? Field for field as the original's clients know them, with what we add at the end.

mod project;
mod queue;
mod session;
mod task;
pub(crate) mod words;

pub(crate) use project::ProjectJson;
pub(crate) use queue::{ItemJson, QueueJson, StatsJson};
pub(crate) use session::{EntryJson, FullSession, FullSessions, SessionJson, SessionSummary, without_masks};
pub(crate) use task::{TaskJson, TaskSummary};

/// How much of each thing a list holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Fields {
    /// Everything.
    #[default]
    Full,
    /// What a table shows.
    Summary,
}

/// What a deletion answers.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
pub(crate) struct Deleted {
    /// Always true.
    pub(crate) success: bool,
    /// What is gone.
    pub(crate) id: String,
}

impl Deleted {
    pub(crate) fn of(id: &impl ToString) -> Self {
        Self { success: true, id: id.to_string() }
    }
}
