//! Projects, tasks, sessions and what happened to them, in SQLite or PostgreSQL.
//!
//! All SQL is here, and nothing else is: no HTTP, no files but the database's, no printing. A change is a value that is
//! applied in one transaction together with its events; a caller gets its answer when it is on the disk.

mod actor;
mod answers;
mod change;
mod db;
mod error;
mod events;
mod handoffs;
mod health;
mod leases;
mod messages;
mod migrate;
mod notices;
mod overview;
mod pairs;
mod permissions;
mod pg;
mod projects;
mod query;
mod queues;
mod receipts;
mod reports;
mod runs;
mod seats;
mod sessions;
mod spawns;
mod sqlite;
mod store;
mod tasks;
mod timeline;
mod tokens;
mod transcripts;
mod tx;
mod upkeep;
mod value;

pub use actor::Actor;
pub use answers::Once;
pub use change::{Change, Read};
pub use db::Db;
pub use error::{StoreError, What};
pub use events::{EventFilter, EventRow, EventsAfter, LastSeq, Record};
pub use handoffs::{AcceptHandoff, CompleteHandoff, CreateHandoff, HandoffById, Handoffs};
pub use health::StoreFailure;
pub use leases::{AnySilent, ExpireSilent, RenewLease};
pub use messages::{Messages, PassedOn, Say, Unheard};
pub use notices::{Confirm, Notices, NoticesOf};
pub use overview::{Counts, Excerpt, Gaze, LastDeeds, LastMessages, LastWords, SessionsSeen, Tally, Titles};
pub use pairs::{BindTask, UnbindTask};
pub use permissions::{AnswerPermission, AskPermission, Permission, Permissions, PermissionsWaiting, Which};
pub use projects::{CreateProject, DeleteProject, ProjectById, Projects, UpdateProject};
pub use queues::{QueueEnd, QueueOf, QueuePush, QueueStart, QueueStep, QueueStepped};
pub use receipts::{KeepReceipts, Receipt, Receipts, Stage};
pub use reports::{Report, Reported, Who};
pub use runs::{
    AdvanceRun, Driver, EndedParts, Executing, OverdueRuns, PinnedBy, RunAbout, RunById, RunLog, RunRecord, RunState,
    RunTail, Runs, StartRun, UndrivenRuns,
};
pub use seats::{AwaitingAgents, EndedSeats, KeepVerdict, SeatEnds, SeatOf, SeatsOf, SettleSeat, StraySeats, TakeSeat};
pub use sessions::{
    AddSessionEvent, AddTimeline, CreateSession, DeleteSession, Living, Order, SessionById, SessionFilter, Sessions,
    Steer, UpdateSession,
};
pub use spawns::{
    After, AnyDue, Attach, ClaimSpawn, Claimants, Detach, KeepAttached, ReleaseSpawns, RenewSpawn, Renewed,
    RequestSpawn, SettleSpawn, Spawn, SpawnOf, SpawnState, Standing, Standings, Starter, Wish,
};
pub use store::{Changes, Clock, Options, Place, Store};
pub use tasks::{CreateTask, DeleteTask, Subtasks, TaskById, TaskFilter, TaskPatch, Tasks, UpdateTask};
pub use timeline::{NewEntry, Part, SessionEvents, Timeline};
pub use tokens::{AtWork, IssueToken, NeedsToken, TokenHolder, hash};
pub use transcripts::{AppendTranscript, Tail, Transcript, TranscriptEntry, TranscriptOf, TranscriptTail};
pub use tx::{Rules, Scope, Tx};
pub use upkeep::{Check, Finding, Retain, Retained, backup, backup_file, restore};

/// A part of a list: at most `limit` things after `after`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// How many at most.
    pub limit: i64,
    /// The cursor of the last one that was seen.
    pub after: i64,
}

impl Default for Page {
    fn default() -> Self {
        Self { limit: i64::MAX, after: 0 }
    }
}

/// Things with the cursor of the last one, when there may be more.
#[derive(Debug, Clone, PartialEq)]
pub struct Listed<T> {
    /// The things.
    pub items: Vec<T>,
    /// Where the next part begins; nothing when this was all.
    pub next: Option<i64>,
}

impl Page {
    /// How many rows to ask for: one more than wanted shows whether there are more.
    pub(crate) fn asked(&self) -> i64 {
        self.limit.max(0).saturating_add(1)
    }

    /// The part of a list that these rows are; each begins with its cursor.
    pub(crate) fn list<T>(
        &self,
        rows: Vec<value::Row>,
        read: impl Fn(&mut value::Row) -> Result<T, StoreError>,
    ) -> Result<Listed<T>, StoreError> {
        let limit = usize::try_from(self.limit.max(0)).unwrap_or(usize::MAX);
        let more = rows.len() > limit;
        let mut last = None;
        let mut items = Vec::with_capacity(rows.len().min(limit));
        for mut row in rows.into_iter().take(limit) {
            last = Some(row.int()?);
            items.push(read(&mut row)?);
        }
        Ok(Listed { items, next: last.filter(|_| more) })
    }
}
