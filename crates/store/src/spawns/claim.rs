//! Claims of workers on agents, kept by renewing a lease.

use maestro_core::id::SessionId;
use maestro_core::session::SessionStatus;
use serde::{Deserialize, Serialize};

use super::{NEVER, SpawnRecord, SpawnState, by_session};
use crate::actor::Actor;
use crate::change::{Change, Query};
use crate::db::DbTx;
use crate::error::StoreError;
use crate::runs::RunHost;
use crate::session_rows;
use crate::tx::ChangeTx;
use crate::value::{SqlParam, SqlRow};

/// Takes the next thing to be started, or what a worker that fell silent had, or what waits for words and has them.
///
/// A spawn lost with its worker counts as the same start: the loss is not the agent's fault. Its session may be over
/// by then, and only its outcome remains to be settled.
#[derive(Debug, Clone)]
pub struct ClaimSpawn {
    /// Who takes it.
    pub worker: String,
    /// The lease in milliseconds.
    pub lease: i64,
    /// This very session's, and no other.
    pub session: Option<SessionId>,
    /// Whose sessions it takes.
    pub scope: ClaimScope,
}

/// Which sessions a worker takes. What belongs to a run of a process is started by the workers of that process; what
/// belongs to a paused run is not started at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimScope {
    /// All but those of runs that a single command carries on.
    Server,
    /// Those of the runs that this command carries on, and those without a run that were requested since it started.
    Command {
        /// The command's process.
        host: RunHost,
        /// When it started.
        since: i64,
    },
}

impl ClaimScope {
    /// The condition; its parameters come after so many others.
    fn condition(&self, before: usize) -> String {
        let run = "SELECT 1 FROM step_sessions JOIN runs ON runs.id = step_sessions.run_id \
                   WHERE step_sessions.session_id = spawns.session_id";
        match self {
            Self::Server => {
                format!(" AND NOT EXISTS ({run} AND (runs.status = 'paused' OR runs.host LIKE 'command %'))")
            }
            Self::Command { .. } => format!(
                " AND (EXISTS ({run} AND runs.status <> 'paused' AND runs.host = ${}) \
                 OR (spawns.created_at >= ${} AND NOT EXISTS ({run})))",
                before + 1,
                before + 2
            ),
        }
    }

    /// The text of its host.
    fn host(&self) -> Option<String> {
        match self {
            Self::Server => None,
            Self::Command { host, .. } => Some(host.to_string()),
        }
    }

    /// The parameters of the condition.
    fn parameters<'p>(&self, host: Option<&'p String>) -> Vec<SqlParam<'p>> {
        match (self, host) {
            (Self::Command { since, .. }, Some(host)) => vec![host.into(), (*since).into()],
            _ => Vec::new(),
        }
    }
}

impl Change for ClaimSpawn {
    type Output = Option<SpawnRecord>;

    fn actor(&self) -> Option<&Actor> {
        Some(&Actor::Worker)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<Option<SpawnRecord>, StoreError> {
        let found = if let Some(session) = &self.session {
            next_due(tx, "spawns.session_id = $2", &[tx.now.into(), session.into()])?
        } else {
            let host = self.scope.host();
            let mut parameters = vec![tx.now.into(), tx.now.into(), NEVER.into()];
            let which = format!("{DUE}{}", self.scope.condition(parameters.len()));
            parameters.extend(self.scope.parameters(host.as_ref()));
            next_due(tx, &which, &parameters)?
        };
        let Some(session) = found else { return Ok(None) };
        tx.execute(
            "UPDATE spawns SET state = 'claimed', worker = $1, attach_requested_by = NULL, lease_until = $2, \
             attempt = attempt + CASE state WHEN 'claimed' THEN 0 ELSE 1 END, updated_at = $3 WHERE session_id = $4",
            &[(&self.worker).into(), (tx.now + self.lease).into(), tx.now.into(), (&session).into()],
        )?;
        let mut asks = session_rows::by_id(tx, &session)?;
        if asks.needs_input.take().is_some() {
            // What it asked was answered, or it would not be started.
            session_rows::save(tx, &mut asks)?;
            session_rows::note_change(tx, &asks);
        }
        by_session(tx, &session).map(Some)
    }
}

/// What any worker may start now.
const DUE: &str = "(spawns.not_before <= $2 OR (spawns.not_before = $3 AND EXISTS (SELECT 1 FROM messages \
                   WHERE messages.session_id = spawns.session_id AND messages.state = 'queued')))";

/// The first unclaimed one. The first parameter is the time.
fn next_due(tx: &mut ChangeTx<'_>, which: &str, parameters: &[SqlParam<'_>]) -> Result<Option<SessionId>, StoreError> {
    let lock = if tx.is_postgres() { " FOR UPDATE OF spawns SKIP LOCKED" } else { "" };
    let sql = format!("{} ORDER BY spawns.ord LIMIT 1{lock}", due("spawns.session_id", which));
    tx.row(&sql, parameters)?.map(|mut row| row.parsed()).transpose()
}

/// The unclaimed ones; the first parameter is the time.
fn due(what: &str, which: &str) -> String {
    format!(
        "SELECT {what} FROM spawns JOIN sessions ON sessions.id = spawns.session_id \
         WHERE spawns.state IN ('waiting', 'claimed', 'attached') AND ((sessions.status IN ('spawning', 'idle', 'working') AND (spawns.state = 'waiting' \
         OR (spawns.state IN ('claimed', 'attached') AND spawns.lease_until < $1))) \
         OR (sessions.status IN ('completed', 'failed', 'stopped') AND spawns.state = 'claimed' \
         AND spawns.lease_until < $1)) AND {which}"
    )
}

/// Renews a worker's claim, and returns what was decided meanwhile.
#[derive(Debug, Clone)]
pub struct RenewSpawn {
    /// Which session.
    pub session: SessionId,
    /// Who has it.
    pub worker: String,
    /// The lease in milliseconds, from now.
    pub lease: i64,
    /// What the agent itself calls its session, as soon as that is known.
    pub agent_session: Option<String>,
    /// The git tree before its first start; the first one counts.
    pub tree: Option<String>,
}

/// What was decided about a session while its agent worked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenewedClaim {
    /// The status of the session.
    pub status: SessionStatus,
    /// The signal for its worker.
    pub wish: WorkerSignal,
}

/// A signal for a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerSignal {
    /// Continue.
    GoOn,
    /// End the agent's process, because a person wants to attach to the agent.
    LetGo,
}

impl Change for RenewSpawn {
    type Output = RenewedClaim;

    fn actor(&self) -> Option<&Actor> {
        Some(&Actor::Worker)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<RenewedClaim, StoreError> {
        require_claim(tx, &self.session, &self.worker)?;
        let until = tx.now + self.lease;
        tx.execute(
            "UPDATE spawns SET lease_until = $1, agent_session = coalesce($2, agent_session), \
             initial_tree = coalesce(initial_tree, $3), updated_at = $4 WHERE session_id = $5",
            &[
                until.into(),
                self.agent_session.as_ref().into(),
                self.tree.as_ref().into(),
                tx.now.into(),
                (&self.session).into(),
            ],
        )?;
        tx.execute("UPDATE sessions SET lease_until = $1 WHERE id = $2", &[until.into(), (&self.session).into()])?;
        let sql = "SELECT count(*) FROM spawns WHERE session_id = $1 AND attach_requested_by IS NOT NULL";
        let wanted = tx.number(sql, &[(&self.session).into()])? > 0;
        let wish = if wanted { WorkerSignal::LetGo } else { WorkerSignal::GoOn };
        Ok(RenewedClaim { status: session_rows::by_id(tx, &self.session)?.status, wish })
    }
}

/// Refuses a worker that lost its claim.
pub(crate) fn require_claim(
    tx: &mut ChangeTx<'_>,
    session: &SessionId,
    worker: &str,
) -> Result<SpawnRecord, StoreError> {
    let spawn = by_session(tx, session)?;
    if spawn.state == SpawnState::Claimed && spawn.worker.as_deref() == Some(worker) {
        return Ok(spawn);
    }
    Err(StoreError::Rule(format!("session '{session}' is not this worker's any more")))
}

/// The status of a worker's claims: what was decided and answered meanwhile.
#[derive(Debug, Clone)]
pub struct ClaimStatuses {
    /// Who has it.
    pub worker: String,
}

/// Until when the claim on a session's agent holds; nothing where no worker has it.
#[derive(Debug, Clone)]
pub struct ClaimEnd(
    /// Which session.
    pub SessionId,
);

impl Query for ClaimEnd {
    type Output = Option<i64>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT lease_until FROM spawns WHERE session_id = $1 AND state = 'claimed'";
        Ok(db.row(sql, &[(&self.0).into()])?.map(|mut row| row.maybe_int()).transpose()?.flatten())
    }
}

/// The status of a worker's claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimStatus {
    /// The status of its session.
    pub status: SessionStatus,
    /// The signal for its worker.
    pub signal: WorkerSignal,
    /// How many of its agent's questions were answered.
    pub answered: i64,
}

impl Query for ClaimStatuses {
    type Output = Vec<(SessionId, ClaimStatus)>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Self::Output, StoreError> {
        let sql = "SELECT spawns.session_id, sessions.status, spawns.attach_requested_by, \
                   (SELECT count(*) FROM permissions WHERE permissions.session_id = spawns.session_id \
                   AND permissions.answer IS NOT NULL) \
                   FROM spawns JOIN sessions ON sessions.id = spawns.session_id \
                   WHERE spawns.state = 'claimed' AND spawns.worker = $1";
        let standing = |row: &mut SqlRow| {
            let session = row.parsed()?;
            let status = row.parsed()?;
            let wish = if row.maybe_text()?.is_some() { WorkerSignal::LetGo } else { WorkerSignal::GoOn };
            Ok((session, ClaimStatus { status, signal: wish, answered: row.int()? }))
        };
        db.rows(sql, &[(&self.worker).into()])?.iter_mut().map(standing).collect()
    }
}

/// Whether there is something that a worker may start now, asked without writing anything.
#[derive(Debug, Clone)]
pub struct AnyDueSpawn {
    /// The time.
    pub now: i64,
    /// Whose sessions it takes.
    pub scope: ClaimScope,
}

impl Query for AnyDueSpawn {
    type Output = bool;

    fn load(&self, db: &mut DbTx<'_>) -> Result<bool, StoreError> {
        let host = self.scope.host();
        let mut parameters = vec![self.now.into(), self.now.into(), NEVER.into()];
        let due = due("spawns.ord", &format!("{DUE}{}", self.scope.condition(parameters.len())));
        parameters.extend(self.scope.parameters(host.as_ref()));
        Ok(db.row(&format!("{due} LIMIT 1"), &parameters)?.is_some())
    }
}

/// The workers and persons that have something, by their names, unless it was taken from them.
#[derive(Debug, Clone, Copy)]
pub struct ClaimHolders;

impl Query for ClaimHolders {
    type Output = Vec<String>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT DISTINCT worker FROM spawns WHERE state IN ('claimed', 'attached') AND lease_until > 0 \
                   ORDER BY worker";
        db.rows(sql, &[])?.iter_mut().map(SqlRow::text).collect()
    }
}

/// Takes from those who are gone for certain what they had, without waiting for their time to run out.
#[derive(Debug, Clone)]
pub struct ReleaseSpawns {
    /// Who is gone.
    pub workers: Vec<String>,
}

impl Change for ReleaseSpawns {
    type Output = ();

    fn actor(&self) -> Option<&Actor> {
        Some(&Actor::Worker)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        for worker in &self.workers {
            tx.execute(
                "UPDATE spawns SET lease_until = 0 WHERE worker = $1 AND state IN ('claimed', 'attached')",
                &[worker.into()],
            )?;
        }
        Ok(())
    }
}
