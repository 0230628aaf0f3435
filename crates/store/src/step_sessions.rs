//! Sessions that work on the steps of runs, and their reports for the steps.

use maestro_core::agent::SessionOutcome;
use maestro_core::event::RunId;
use maestro_core::id::SessionId;
use maestro_core::session::Session;
use maestro_core::step_session::{StepReport, StepSession, StepSessionEnd, StepSessionMetadata};

use crate::actor::Actor;
use crate::change::{Change, Query};
use crate::db::DbTx;
use crate::error::{RecordKind, StoreError};
use crate::runs::RunHost;
use crate::session_rows;
use crate::spawns::{NEVER, RequestSpawn};
use crate::tx::ChangeTx;
use crate::value::{SqlRow, or_unknown, to_json};

const COLUMNS: &str = "step_sessions.run_id, step_sessions.ticket, step_sessions.session_id, step_sessions.report";
const SELECT: &str = "SELECT step_sessions.run_id, step_sessions.ticket, step_sessions.session_id, \
                      step_sessions.report FROM step_sessions";

fn step_session(row: &mut SqlRow) -> Result<StepSession, StoreError> {
    Ok(StepSession { run: row.parsed()?, ticket: row.text()?, session: row.parsed()?, report: row.maybe_json()? })
}

/// Starts a session for a step of a run, once.
#[derive(Debug, Clone)]
pub struct StartStepSession {
    /// The run.
    pub run: RunId,
    /// The ticket of the step's directive.
    pub ticket: String,
    /// The session.
    pub request: RequestSpawn,
}

impl Change for StartStepSession {
    type Output = Session;

    fn actor(&self) -> Option<&Actor> {
        Some(&Actor::Step)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<Session, StoreError> {
        let run = self.run.to_string();
        let taken =
            tx.row(&format!("{SELECT} WHERE run_id = $1 AND ticket = $2"), &[(&run).into(), (&self.ticket).into()])?;
        if let Some(mut row) = taken {
            return session_rows::by_id(tx, &step_session(&mut row)?.session);
        }
        let session = self.request.apply(tx)?;
        tx.execute(
            "INSERT INTO step_sessions (run_id, ticket, session_id) VALUES ($1, $2, $3)",
            &[(&run).into(), (&self.ticket).into(), (&session.id).into()],
        )?;
        Ok(session)
    }
}

/// Saves what a session reports for its step; the last report counts, once the session has ended.
#[derive(Debug, Clone)]
pub struct SaveStepReport {
    /// The session.
    pub session: SessionId,
    /// The ticket it quotes.
    pub ticket: String,
    /// What it reports.
    pub report: StepReport,
}

impl Change for SaveStepReport {
    type Output = ();

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        let changed = tx.execute(
            "UPDATE step_sessions SET report = $1 WHERE session_id = $2 AND ticket = $3 AND settled_at IS NULL",
            &[(&to_json(&self.report)?).into(), (&self.session).into(), (&self.ticket).into()],
        )?;
        match changed {
            0 => Err(StoreError::not_found(RecordKind::Run, &self.ticket)),
            _ => Ok(()),
        }
    }
}

/// Records that the run received the result of a step's session.
#[derive(Debug, Clone)]
pub struct SettleStepSession(
    /// The session.
    pub SessionId,
);

impl Change for SettleStepSession {
    type Output = ();

    fn actor(&self) -> Option<&Actor> {
        Some(&Actor::Step)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        tx.execute(
            "UPDATE step_sessions SET settled_at = $1 WHERE session_id = $2 AND settled_at IS NULL",
            &[tx.now.into(), (&self.0).into()],
        )?;
        Ok(())
    }
}

/// The ended sessions whose results the runs of a process have not received. A paused run receives it when it resumes.
#[derive(Debug, Clone)]
pub struct EndedStepSessions {
    /// The process.
    pub host: RunHost,
}

impl Query for EndedStepSessions {
    type Output = Vec<StepSession>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<StepSession>, StoreError> {
        let sql = format!(
            "{SELECT} JOIN spawns ON spawns.session_id = step_sessions.session_id \
             JOIN sessions ON sessions.id = step_sessions.session_id JOIN runs ON runs.id = step_sessions.run_id \
             WHERE step_sessions.settled_at IS NULL AND runs.status <> 'paused' \
             AND (runs.host = $1 OR runs.status <> 'running') AND (spawns.state = 'done' \
             OR (spawns.state = 'waiting' AND sessions.status IN ('completed', 'failed', 'stopped'))) \
             ORDER BY step_sessions.ord LIMIT 100"
        );
        db.rows(&sql, &[(&self.host.to_string()).into()])?.iter_mut().map(step_session).collect()
    }
}

/// The sessions at steps that wait for an answer of a person, and since when. A paused run lets them wait.
#[derive(Debug, Clone, Copy)]
pub struct WaitingStepSessions;

impl Query for WaitingStepSessions {
    type Output = Vec<(StepSession, i64)>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<(StepSession, i64)>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS}, spawns.updated_at FROM step_sessions \
             JOIN spawns ON spawns.session_id = step_sessions.session_id \
             JOIN sessions ON sessions.id = step_sessions.session_id JOIN runs ON runs.id = step_sessions.run_id \
             WHERE step_sessions.settled_at IS NULL AND runs.status = 'running' AND spawns.state = 'waiting' \
             AND spawns.not_before = $1 AND sessions.status IN ('spawning', 'idle', 'working') \
             AND NOT EXISTS (SELECT 1 FROM messages \
             WHERE messages.session_id = spawns.session_id AND messages.state = 'queued') \
             ORDER BY step_sessions.ord LIMIT 100"
        );
        let waiting = |row: &mut SqlRow| Ok((step_session(row)?, row.int()?));
        db.rows(&sql, &[NEVER.into()])?.iter_mut().map(waiting).collect()
    }
}

/// The sessions that still work for runs that are over.
#[derive(Debug, Clone, Copy)]
pub struct OrphanStepSessions;

impl Query for OrphanStepSessions {
    type Output = Vec<StepSession>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<StepSession>, StoreError> {
        let sql = format!(
            "{SELECT} JOIN sessions ON sessions.id = step_sessions.session_id \
             JOIN runs ON runs.id = step_sessions.run_id \
             WHERE step_sessions.settled_at IS NULL AND runs.status NOT IN ('running', 'paused') \
             AND sessions.status IN ('spawning', 'idle', 'working', 'paused') ORDER BY step_sessions.ord LIMIT 100"
        );
        db.rows(&sql, &[])?.iter_mut().map(step_session).collect()
    }
}

/// The sessions that work at steps of a run now.
#[derive(Debug, Clone, Copy)]
pub struct WorkingStepSessions(
    /// The run.
    pub RunId,
);

impl Query for WorkingStepSessions {
    type Output = Vec<StepSession>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<StepSession>, StoreError> {
        let sql = format!(
            "{SELECT} JOIN sessions ON sessions.id = step_sessions.session_id WHERE step_sessions.run_id = $1 \
             AND step_sessions.settled_at IS NULL \
             AND sessions.status IN ('spawning', 'idle', 'working', 'paused') ORDER BY step_sessions.ord"
        );
        db.rows(&sql, &[(&self.0.to_string()).into()])?.iter_mut().map(step_session).collect()
    }
}

/// The step that a session works on, if any.
#[derive(Debug, Clone)]
pub struct StepOfSession(
    /// The session.
    pub SessionId,
);

impl Query for StepOfSession {
    type Output = Option<StepSession>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Option<StepSession>, StoreError> {
        let row = db.row(&format!("{SELECT} WHERE step_sessions.session_id = $1"), &[(&self.0).into()])?;
        row.map(|mut row| step_session(&mut row)).transpose()
    }
}

/// All step sessions of a run, oldest first.
#[derive(Debug, Clone, Copy)]
pub struct RunStepSessions(
    /// The run.
    pub RunId,
);

impl Query for RunStepSessions {
    type Output = Vec<StepSession>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<StepSession>, StoreError> {
        let sql = format!("{SELECT} WHERE step_sessions.run_id = $1 ORDER BY step_sessions.ord");
        db.rows(&sql, &[(&self.0.to_string()).into()])?.iter_mut().map(step_session).collect()
    }
}

/// The outcomes of all sessions of a run and of its subruns, oldest first.
#[derive(Debug, Clone, Copy)]
pub struct StepSessionEnds(
    /// The run.
    pub RunId,
);

impl Query for StepSessionEnds {
    type Output = Vec<StepSessionEnd>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<StepSessionEnd>, StoreError> {
        let sql = "SELECT step_sessions.session_id, sessions.metadata, spawns.initial_tree, spawns.outcome \
                   FROM step_sessions \
                   JOIN sessions ON sessions.id = step_sessions.session_id \
                   JOIN spawns ON spawns.session_id = step_sessions.session_id \
                   WHERE step_sessions.run_id = $1 \
                   OR step_sessions.run_id IN (SELECT id FROM runs WHERE parent_run = $2) \
                   ORDER BY step_sessions.ord";
        let run = self.0.to_string();
        let end = |row: &mut SqlRow| {
            Ok(StepSessionEnd {
                session: Some(row.parsed()?),
                metadata: or_unknown(StepSessionMetadata::from_stored(row.json()?), "metadata"),
                tree: row.maybe_text()?,
                outcome: row.maybe_json()?.map(|stored| or_unknown(SessionOutcome::from_stored(stored), "outcome")),
            })
        };
        db.rows(sql, &[(&run).into(), (&run).into()])?.iter_mut().map(end).collect()
    }
}

/// The runs that a process drives and that wait for an agent, so that a session may have to be started.
#[derive(Debug, Clone)]
pub struct RunsAwaitingAgents {
    /// The process.
    pub host: RunHost,
}

impl Query for RunsAwaitingAgents {
    type Output = Vec<RunId>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<RunId>, StoreError> {
        let sql = "SELECT id FROM runs WHERE driver = 'server' AND status = 'running' AND awaited_agents > 0 \
                   AND host = $1 AND awaited_agents > (SELECT count(*) FROM step_sessions \
                   WHERE step_sessions.run_id = runs.id AND step_sessions.settled_at IS NULL) \
                   ORDER BY ord LIMIT 100";
        db.rows(sql, &[(&self.host.to_string()).into()])?.iter_mut().map(SqlRow::parsed).collect()
    }
}
