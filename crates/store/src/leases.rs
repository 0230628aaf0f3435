//! Leases of sessions, and the end of sessions that were silent for too long.

use maestro_core::id::SessionId;
use maestro_core::session::{EndReason, EntryKind, SessionStatus};

use crate::actor::Actor;
use crate::change::{Change, Query};
use crate::db::DbTx;
use crate::error::StoreError;
use crate::timeline::{self, NewTimelineEntry};
use crate::tx::ChangeTx;
use crate::value::SqlRow;
use crate::{session_rows, session_status};

/// Ends the sessions that fell silent, and frees their tasks. Paused ones are left alone.
#[derive(Debug, Clone, Copy)]
pub struct ExpireSilentSessions;

impl Change for ExpireSilentSessions {
    type Output = Vec<SessionId>;

    fn actor(&self) -> Option<&Actor> {
        Some(&Actor::Daemon)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<Vec<SessionId>, StoreError> {
        let limit = tx.now - tx.rules.silence_limit;
        let silent: Vec<SessionId> = tx
            .rows(
                "SELECT id FROM sessions WHERE status IN ('spawning', 'idle', 'working') AND last_activity < $1 \
                 AND (lease_until IS NULL OR lease_until < $2) ORDER BY id",
                &[limit.into(), tx.now.into()],
            )?
            .iter_mut()
            .map(SqlRow::parsed)
            .collect::<Result<_, _>>()?;
        let mut ended = Vec::new();
        for id in silent {
            let mut session = session_rows::by_id(tx, &id)?;
            if session.last_activity >= limit || session.status.is_over() || session.status == SessionStatus::Paused {
                // It said something while this change waited for it.
                continue;
            }
            session_status::set_status(tx, &mut session, SessionStatus::Stopped, Some(EndReason::Silence))?;
            let minutes = (tx.now - session.last_activity) / 60_000;
            let entry = NewTimelineEntry {
                kind: EntryKind::session_stopped(),
                message: format!("No sign of life for {minutes} minutes"),
                task: None,
                metadata: None,
            };
            timeline::add(tx, &session.project, &id, &entry)?;
            ended.push(id);
        }
        Ok(ended)
    }
}

/// Whether a session has fallen silent, asked without writing anything.
#[derive(Debug, Clone, Copy)]
pub struct AnySilentSession {
    /// The time.
    pub now: i64,
    /// How long a session may be silent.
    pub silence: i64,
}

impl Query for AnySilentSession {
    type Output = bool;

    fn load(&self, db: &mut DbTx<'_>) -> Result<bool, StoreError> {
        let silent = db.row(
            "SELECT ord FROM sessions WHERE status IN ('spawning', 'idle', 'working') AND last_activity < $1 \
             AND (lease_until IS NULL OR lease_until < $2) LIMIT 1",
            &[(self.now - self.silence).into(), self.now.into()],
        )?;
        Ok(silent.is_some())
    }
}

/// Says that a session's process is alive, whatever its agent says.
#[derive(Debug, Clone)]
pub struct RenewLease {
    /// Which session.
    pub session: SessionId,
    /// The lease in milliseconds, from now.
    pub duration: i64,
}

impl Change for RenewLease {
    type Output = ();

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        let until = tx.now.saturating_add(self.duration);
        let changed =
            tx.execute("UPDATE sessions SET lease_until = $1 WHERE id = $2", &[until.into(), (&self.session).into()])?;
        match changed {
            0 => Err(StoreError::not_found(crate::RecordKind::Session, &self.session)),
            _ => Ok(()),
        }
    }
}
