//! Agents to be started, and the state of each.
//!
//! A worker that claims a spawn keeps it as long as it renews its claim. One that falls silent loses it, and the next
//! one goes on where it was; what the first one says after that counts for nothing.

mod attach;
mod claim;
mod settle;
mod spending;

use maestro_core::agent::SessionOutcome;
use maestro_core::event::{Event, SessionFact};
use maestro_core::id::SessionId;
use maestro_core::session::Session;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

pub use attach::{AttachSession, DetachSession, RenewAttachment};
pub(crate) use claim::require_claim;
pub use claim::{
    AnyDueSpawn, ClaimEnd, ClaimHolders, ClaimScope, ClaimSpawn, ClaimStatus, ClaimStatuses, ReleaseSpawns, RenewSpawn,
    RenewedClaim, WorkerSignal,
};
pub(crate) use settle::revive;
pub use settle::{NextStart, SettleSpawn};
pub(crate) use spending::fill_costs;
pub use spending::{CostSince, SpendSince, SpendTotal};

use crate::change::{Change, Query};
use crate::db::DbTx;
use crate::error::{RecordKind, StoreError};
use crate::session_rows;
use crate::sessions::CreateSession;
use crate::tx::{ChangeTx, EventScope};
use crate::value::{SqlRow, or_unknown, to_json};

/// Something to be started, as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpawnRecord {
    /// The session.
    pub session: SessionId,
    /// What is needed to start it; opaque to the store.
    pub spec: Json,
    /// Its status.
    pub state: SpawnState,
    /// Who has it.
    pub worker: Option<String>,
    /// How often it was started since it last waited for a person, this time included. A worker that takes over from a
    /// lost one does not count as another start.
    pub attempt: i64,
    /// What the agent itself calls its session.
    pub agent_session: Option<String>,
    /// The git tree before its first start.
    pub tree: Option<String>,
    /// The outcome.
    pub outcome: Option<SessionOutcome>,
}

maestro_core::word_enum! {
    /// How far a spawn is.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum SpawnState {
        /// It waits for a worker.
        Waiting = "waiting",
        /// A worker has it.
        Claimed = "claimed",
        /// A person has it, in the agent's own interface.
        Attached = "attached",
        /// It is over.
        Done = "done",
    }
}

const SELECT: &str =
    "SELECT session_id, spec, state, worker, attempt, agent_session, initial_tree, outcome FROM spawns";

fn spawn(row: &mut SqlRow) -> Result<SpawnRecord, StoreError> {
    Ok(SpawnRecord {
        session: row.parsed()?,
        spec: row.json()?,
        state: {
            let word = row.text()?;
            SpawnState::from_word(&word).ok_or_else(|| StoreError::corrupt(format!("spawn state `{word}`")))?
        },
        worker: row.maybe_text()?,
        attempt: row.int()?,
        agent_session: row.maybe_text()?,
        tree: row.maybe_text()?,
        outcome: row.maybe_json()?.map(|stored| or_unknown(SessionOutcome::from_stored(stored), "outcome")),
    })
}

fn by_session(db: &mut DbTx<'_>, session: &SessionId) -> Result<SpawnRecord, StoreError> {
    let found = db.row(&format!("{SELECT} WHERE session_id = $1{}", db.lock_clause()), &[session.into()])?;
    spawn(&mut found.ok_or_else(|| StoreError::not_found(RecordKind::Spawn, session))?)
}

/// Who starts an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimPolicy {
    /// Any worker.
    AnyWorker,
    /// Only a worker that asks for exactly this session.
    SpecificSession,
}

/// When no worker starts it by itself.
pub(crate) const NEVER: i64 = i64::MAX;

/// Asks for an agent to be started: the session is made, and waits for a worker.
#[derive(Debug, Clone)]
pub struct RequestSpawn {
    /// The session.
    pub session: CreateSession,
    /// What is needed to start it.
    pub spec: Json,
    /// Who starts it.
    pub claim_policy: ClaimPolicy,
    /// How many of its parent's agents there may be at once, and the name of each such limit.
    pub limits: Vec<(String, i64)>,
}

impl Change for RequestSpawn {
    type Output = Session;

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<Session, StoreError> {
        self.check_limits(tx)?;
        let mut session = self.session.apply(tx)?;
        // As clients have always seen it: a requested session is at its second revision, and that is announced.
        session_rows::save(tx, &mut session)?;
        session_rows::note_change(tx, &session);
        let not_before = if self.claim_policy == ClaimPolicy::SpecificSession { NEVER } else { tx.now };
        tx.execute(
            "INSERT INTO spawns (session_id, spec, state, attempt, not_before, created_at, updated_at) \
             VALUES ($1, $2, 'waiting', 0, $3, $4, $5)",
            &[(&session.id).into(), (&to_json(&self.spec)?).into(), not_before.into(), tx.now.into(), tx.now.into()],
        )?;
        let fact =
            SessionFact { id: session.id.clone(), name: session.name.clone(), status: session.status, reason: None };
        tx.emit(EventScope::project(&session.project).session(&session.id), Event::SessionSpawn(fact));
        Ok(session)
    }
}

impl RequestSpawn {
    /// Refuses a session more agents than it may have. Its row is held, so that two requests are counted one by one.
    fn check_limits(&self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        let Some(parent) = self.session.parent.as_ref().filter(|_| !self.limits.is_empty()) else { return Ok(()) };
        session_rows::by_id(tx, parent)?;
        let living = tx.number(
            "SELECT count(*) FROM sessions WHERE parent_id = $1 AND status IN ('spawning', 'idle', 'working', 'paused')",
            &[parent.into()],
        )?;
        match self.limits.iter().find(|(_, most)| living >= *most) {
            Some((name, most)) => {
                Err(StoreError::Limit { session: parent.to_string(), name: name.clone(), most: *most, living })
            }
            None => Ok(()),
        }
    }
}

/// What is kept of a session's spawn; `None` for a session without a spawn.
#[derive(Debug, Clone)]
pub struct SpawnBySession(
    /// Which session.
    pub SessionId,
);

impl Query for SpawnBySession {
    type Output = Option<SpawnRecord>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Option<SpawnRecord>, StoreError> {
        let row = db.row(&format!("{SELECT} WHERE session_id = $1"), &[(&self.0).into()])?;
        row.map(|mut row| spawn(&mut row)).transpose()
    }
}
