//! Refusal to spawn a session.

use maestro_core::id::{ProjectId, SessionId, TaskId};
use maestro_store::StoreError;

/// Why a session is not spawned.
#[derive(Debug, thiserror::Error)]
pub enum SpawnRefusal {
    /// The session that spawns it does not exist.
    #[error("{error}")]
    NoParent {
        /// Which.
        id: SessionId,
        /// The store's words.
        error: StoreError,
    },
    /// The caller is not the session that it spawns for.
    #[error("only session '{0}' itself, by its token, starts agents for it")]
    NotParent(
        /// Which.
        SessionId,
    ),
    /// There is no such role.
    #[error("role must be \"worker\" or \"orchestrator\"")]
    InvalidRole,
    /// There is no such way through its tasks.
    #[error("strategy must be simple, queue or tree")]
    InvalidStrategy,
    /// One of its tasks does not exist.
    #[error("{error}")]
    NoTask {
        /// Which.
        id: TaskId,
        /// The store's words.
        error: StoreError,
    },
    /// Its project does not exist.
    #[error("{error}")]
    NoProject {
        /// Which.
        id: ProjectId,
        /// The store's words.
        error: StoreError,
    },
    /// One of its tasks belongs elsewhere.
    #[error("task '{0}' belongs to another project")]
    ForeignTask(
        /// Which.
        TaskId,
    ),
    /// The file about it cannot be written; the session was ended.
    #[error("the file about the session cannot be written: {0}")]
    Manifest(
        /// Why.
        std::io::Error,
    ),
    /// The store says no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Something of ours failed.
    #[error("{0}")]
    Failed(
        /// What.
        String,
    ),
}

impl SpawnRefusal {
    /// The refusal for something that is missing; any other error stays what it is.
    pub(super) fn missing(error: StoreError, refusal: impl FnOnce(StoreError) -> Self) -> Self {
        match error {
            StoreError::NotFound { .. } => refusal(error),
            other => other.into(),
        }
    }
}
