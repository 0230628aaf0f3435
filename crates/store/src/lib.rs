//! Projects, tasks, sessions and what happened to them, in SQLite or PostgreSQL.
//!
//! All SQL is here, and nothing else is: no HTTP, no files but the database's, no printing. A change is a value that is
//! applied in one transaction together with its events; a caller gets its answer when it is on the disk.

mod access;
mod access_tokens;
mod actor;
mod automatic_backups;
mod change;
mod completion;
mod counted_tasks;
mod database_lock;
mod db;
mod delivery;
mod error;
mod event_search;
mod events;
mod handoffs;
mod health;
mod idempotency;
mod leases;
mod maintenance;
mod messages;
mod migrate;
mod notices;
mod overview;
mod permissions;
mod pg;
mod private_copy;
mod projects;
mod pruning;
mod queue_rows;
mod queues;
mod record_ids;
mod reports;
mod runs;
mod search;
mod search_words;
mod secret_hash;
mod session_control;
mod session_rows;
mod session_status;
mod sessions;
mod shared_state;
mod skill_deliveries;
mod skill_uses;
mod spawns;
mod sql_query;
mod sqlite;
mod statements;
mod step_sessions;
mod store;
mod task_counts;
mod task_groups;
mod task_rollup;
mod task_rows;
mod task_session_rows;
mod task_sessions;
mod tasks;
mod timeline;
mod tokens;
mod transcripts;
mod tx;
mod usual_start;
mod value;
mod waiting;
mod work_numbers;

pub use access_tokens::{
    AccessToken, AccessTokenList, CreateAccessToken, NewAccessToken, RevokeAccessToken, TokenAccess, TokenByHash,
    TokenKind,
};
pub use actor::Actor;
pub use automatic_backups::AutomaticBackups;
pub use change::{Change, Query};
pub use database_lock::{DatabaseLock, PreviousEnd, check_pages};
pub use db::DbTx;
pub use delivery::{ConfirmNotices, MarkDelivered};
pub use error::{RecordKind, StoreError};
pub use event_search::{EventSearch, EventSearchPage};
pub use events::{
    EventFilter, EventHeadsAfter, EventPage, EventPageAfter, EventRow, EventsAfter, LastEventSeq, LastEvents,
    RecordEvents,
};
pub use handoffs::{AcceptHandoff, CompleteHandoff, CreateHandoff, HandoffById, HandoffList};
pub use health::StoreFailure;
pub use idempotency::IdempotencyKey;
pub use leases::{AnySilentSession, ExpireSilentSessions, RenewLease};
pub use maintenance::{CheckIntegrity, IntegrityFinding, backup, backup_file, empty_log, restore};
pub use messages::{MessageList, SendMessage, UnreadMessages};
pub use notices::{PendingNotices, SessionNotices};
pub use overview::{
    CountProjects, LastActivity, LastMessages, LastTimelineEntries, ListExcerpt, OverviewGroup, OverviewSessions,
    ProjectCounts, TaskTitles,
};
pub use permissions::{
    AnswerPermission, AskPermission, PendingPermissions, PermissionFilter, PermissionList, PermissionRequest,
};
pub use projects::{CreateProject, DeleteProject, ProjectById, ProjectList, UpdateProject};
pub use pruning::{ForgetEvents, PrunableEvents, PrunablePart, PruneHistory, PrunedCounts};
pub use queues::{QueueEnd, QueuePush, QueueStart, QueueStep, QueueStepResult, SessionQueue};
pub use record_ids::RecordIds;
pub use reports::{QuestionFate, ReportResult, ReportSource, SubmitReport};
pub use runs::{
    AdvanceRun, CurrentRuns, Driver, EndedSubruns, Executing, HostKind, HostRun, HostsOfRuns, InvalidRunHost,
    OverdueRuns, PinnedDefinitions, RecentRuns, RecordLanding, RunById, RunHost, RunList, RunLog, RunOrigin, RunRecord,
    RunState, RunTail, RunsOfHost, StartRun, UndrivenRuns,
};
pub use search::{SearchMatch, SearchMatches, TextSearch};
pub use secret_hash::hash_secret;
pub use session_control::ControlSession;
pub use sessions::{
    AddSessionEvent, AddTimelineEntry, CreateSession, DeleteSession, LivenessFilter, SessionById, SessionFilter,
    SessionList, UpdateSession,
};
pub use shared_state::{ChangeSignal, Clock, StoreOptions};
pub use skill_deliveries::{DeliveryStage, RecordDeliveries, SkillDeliveries, SkillDelivery};
pub use skill_uses::{SkillReceiver, SkillReceivers, SkillUse, SkillUses};
pub use spawns::{
    AnyDueSpawn, AttachSession, ClaimEnd, ClaimHolders, ClaimPolicy, ClaimScope, ClaimSpawn, ClaimStatus,
    ClaimStatuses, CostSince, DetachSession, NextStart, ReleaseSpawns, RenewAttachment, RenewSpawn, RenewedClaim,
    RequestSpawn, SettleSpawn, SpawnBySession, SpawnRecord, SpawnState, SpendSince, SpendTotal, WorkerSignal,
};
pub use step_sessions::{
    EndedStepSessions, OrphanStepSessions, RunStepSessions, RunsAwaitingAgents, SaveStepReport, SettleStepSession,
    StartStepSession, StepOfSession, StepSessionEnds, WaitingStepSessions, WorkingStepSessions,
};
pub use store::{DatabaseLocation, Store};
pub use task_counts::{TaskNumbers, TaskNumbersQuery};
pub use task_groups::{SubtaskCount, SubtaskCounts, TaskColumn, TaskColumnList};
pub use task_sessions::{BindTask, UnbindTask};
pub use tasks::{
    CreateTask, DeleteTask, SetTaskParent, SubtaskPolicy, TaskById, TaskFilter, TaskList, TaskPatch, UpdateTask,
};
pub use timeline::{NewTimelineEntry, RecentSessionEvents, TimelineQuery, TimelineRange};
pub use tokens::{
    ActiveTaskSession, EndSessionTokens, IssueToken, SessionHasToken, SessionToken, SessionTokenList, TokenHolder,
};
pub use transcripts::{
    AppendTranscript, TranscriptEntry, TranscriptEvents, TranscriptExcerpt, TranscriptMatches, TranscriptMoment,
    TranscriptPage, TranscriptTail,
};
pub use tx::{ChangeTx, EventScope, StoreRules};
pub use usual_start::UsualStart;
pub use waiting::{AbandonedTasks, AskingSession, OpenQuestions, QuestionsOfRuns};
pub use work_numbers::{AgentSpending, FinishedTask, WorkNumbers, WorkNumbersQuery};

/// A part of a list: at most `limit` things after `after`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListPage {
    /// How many at most.
    pub limit: i64,
    /// The cursor of the last one that was seen.
    pub after: i64,
}

impl Default for ListPage {
    fn default() -> Self {
        Self { limit: i64::MAX, after: 0 }
    }
}

/// Things with the cursor of the last one, when there may be more.
#[derive(Debug, Clone, PartialEq)]
pub struct PageItems<T> {
    /// The things.
    pub items: Vec<T>,
    /// Where the next part begins; nothing when this was all.
    pub next: Option<i64>,
}

impl ListPage {
    /// How many rows to ask for: one more than wanted shows whether there are more.
    pub(crate) fn row_limit(&self) -> i64 {
        self.limit.max(0).saturating_add(1)
    }

    /// The part of a list that these rows are; each begins with its cursor.
    pub(crate) fn list<T>(
        &self,
        rows: Vec<value::SqlRow>,
        read: impl Fn(&mut value::SqlRow) -> Result<T, StoreError>,
    ) -> Result<PageItems<T>, StoreError> {
        let limit = usize::try_from(self.limit.max(0)).unwrap_or(usize::MAX);
        let more = rows.len() > limit;
        let mut last = None;
        let mut items = Vec::with_capacity(rows.len().min(limit));
        for mut row in rows.into_iter().take(limit) {
            last = Some(row.int()?);
            items.push(read(&mut row)?);
        }
        Ok(PageItems { items, next: last.filter(|_| more) })
    }
}
