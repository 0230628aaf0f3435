//! Reasons why something was not stored or not found.

use std::fmt;
use std::path::PathBuf;

use maestro_core::session::{SessionControl, SessionStatus};
use maestro_core::task::TaskStatus;

/// What the store could not do.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// There is no such thing.
    #[error("{what} with id '{id}' not found")]
    NotFound {
        /// What was looked for.
        what: RecordKind,
        /// Under which id.
        id: String,
    },
    /// Another change came first.
    #[error("{what} '{id}' has changed: its revision is {current}, not {expected}")]
    StaleRevision {
        /// What was to be changed.
        what: RecordKind,
        /// Which one.
        id: String,
        /// The revision the caller knows.
        expected: i64,
        /// The revision it has.
        current: i64,
    },
    /// A task cannot become that.
    #[error("a task that is {from} cannot become {to}")]
    TaskTransition {
        /// What it is.
        from: TaskStatus,
        /// What it was to become.
        to: TaskStatus,
    },
    /// A session cannot become that.
    #[error("a session that is {from} cannot become {to}")]
    SessionTransition {
        /// What it is.
        from: SessionStatus,
        /// What it was to become.
        to: SessionStatus,
    },
    /// A session cannot be controlled that way.
    #[error("cannot {control} a session that is {from}")]
    InvalidControl {
        /// What it is.
        from: SessionStatus,
        /// What it was asked to do.
        control: SessionControl,
    },
    /// The id is taken.
    #[error("{what} with id '{id}' exists already")]
    Exists {
        /// What.
        what: RecordKind,
        /// Which id.
        id: String,
    },
    /// Another run works through the same.
    #[error("run {run} works on this already")]
    WorkTaken {
        /// Which run.
        run: String,
    },
    /// A session has as many agents as it may have.
    #[error("{name} is {most}, and {living} agents of session '{session}' have not ended")]
    Limit {
        /// Whose agents.
        session: String,
        /// The limit.
        name: String,
        /// How many there may be.
        most: i64,
        /// How many there are.
        living: i64,
    },
    /// A rule of the domain is in the way.
    #[error("{0}")]
    Rule(String),
    /// The request itself makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// The caller may not do that.
    #[error("{0}")]
    Forbidden(String),
    /// The same request key was used for another request.
    #[error("this Idempotency-Key was used for another request")]
    KeyReused,
    /// Another program holds the database.
    #[error("the database is busy: another program is writing to it")]
    Busy,
    /// Nothing can be written.
    #[error("the database cannot be written to: {0}")]
    ReadOnly(String),
    /// The disk is full.
    #[error("the disk is full: nothing was stored")]
    Full,
    /// The database was written by a newer program.
    #[error("the database is from a newer Maestro (schema {found}, this one knows up to {known})")]
    NewerSchema {
        /// The schema in the database.
        found: i64,
        /// The newest schema this program knows.
        known: i64,
    },
    /// The database cannot be opened.
    #[error("the database {place} cannot be opened: {cause}")]
    Open {
        /// The file or the address.
        place: String,
        /// Why.
        cause: String,
    },
    /// Another server holds the database.
    #[error("the database {place} is in use by another server{}", if holder.is_empty() { String::new() } else { format!(" ({holder})") })]
    InUse {
        /// The file.
        place: String,
        /// Who has it, in its own words.
        holder: String,
    },
    /// The file's pages are damaged.
    #[error("the database {place} is damaged: {cause}")]
    Damaged {
        /// The file.
        place: String,
        /// What was found.
        cause: String,
    },
    /// A file beside the database cannot be read or written.
    #[error("{path}: {cause}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: String,
    },
    /// Something in the database is not as it should be.
    #[error("the database holds something unexpected: {0}")]
    Corrupt(String),
    /// The database said no.
    #[error("the database failed: {0}")]
    Database(String),
    /// The transaction met another one and can be tried again.
    #[error("another change came first")]
    Collision,
    /// The store is being closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// Whether the database or its disk failed, rather than the request being refused.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Busy
            | Self::ReadOnly(_)
            | Self::Full
            | Self::NewerSchema { .. }
            | Self::Open { .. }
            | Self::InUse { .. }
            | Self::Damaged { .. }
            | Self::File { .. }
            | Self::Corrupt(_)
            | Self::Database(_) => true,
            Self::NotFound { .. }
            | Self::StaleRevision { .. }
            | Self::TaskTransition { .. }
            | Self::SessionTransition { .. }
            | Self::InvalidControl { .. }
            | Self::Exists { .. }
            | Self::WorkTaken { .. }
            | Self::Limit { .. }
            | Self::Rule(_)
            | Self::Invalid(_)
            | Self::Forbidden(_)
            | Self::KeyReused
            | Self::Collision
            | Self::Closed => false,
        }
    }

    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt(what.into())
    }

    pub(crate) fn not_found(what: RecordKind, id: impl fmt::Display) -> Self {
        Self::NotFound { what, id: id.to_string() }
    }
}

maestro_core::word_enum! {
    /// The kinds of things that are looked for.
    pub enum RecordKind {
        /// A project.
        Project = "Project",
        /// A task.
        Task = "Task",
        /// The task another one is to be a part of.
        ParentTask = "Parent task",
        /// A session.
        Session = "Session",
        /// A session's queue.
        Queue = "Queue",
        /// A message.
        Message = "Message",
        /// A hand-off.
        Handoff = "Handoff",
        /// A run.
        Run = "Run",
        /// Something an agent asks.
        Permission = "Permission request",
        /// What an agent was started for.
        Spawn = "Agent of session",
        /// A token.
        Token = "Token",
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly(error.to_string()),
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Corrupt(error.to_string()),
            _ => Self::Database(error.to_string()),
        }
    }
}

impl From<postgres::Error> for StoreError {
    fn from(error: postgres::Error) -> Self {
        use postgres::error::SqlState;
        match error.code() {
            Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED) => Self::Collision,
            _ if is_violation(&error) => Self::Collision,
            Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => Self::ReadOnly(text_of(&error)),
            Some(&SqlState::DISK_FULL) => Self::Full,
            Some(&SqlState::LOCK_NOT_AVAILABLE | &SqlState::TOO_MANY_CONNECTIONS) => Self::Busy,
            _ => Self::Database(text_of(&error)),
        }
    }
}

/// Whether a row was in the way, or missing, that was not when the change looked: the next attempt will see it.
pub(crate) fn is_violation(error: &postgres::Error) -> bool {
    use postgres::error::SqlState;
    matches!(error.code(), Some(&SqlState::UNIQUE_VIOLATION | &SqlState::FOREIGN_KEY_VIOLATION))
}

/// The server's own words, which the error's text leaves out.
pub(crate) fn text_of(error: &postgres::Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(said), _) => said.message().to_owned(),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    }
}
