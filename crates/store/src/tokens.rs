//! Tokens of sessions. Only their hashes are stored.

use std::fmt::Write as _;

use maestro_core::SessionRole;
use maestro_core::id::{SessionId, TaskId};

use crate::change::{Change, Query};
use crate::db::DbTx;
use crate::error::StoreError;
use crate::secret_hash::hash_secret;
use crate::session_rows;
use crate::tx::{self, ChangeTx};

/// Makes a token for a session; it is seen this once.
#[derive(Debug, Clone)]
pub struct IssueToken {
    /// Which session.
    pub session: SessionId,
}

impl Change for IssueToken {
    type Output = String;

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<String, StoreError> {
        session_rows::by_id(tx, &self.session)?;
        let mut token = "mst_".to_owned();
        for _ in 0..4 {
            let _ = write!(token, "{:016x}", tx::random()?);
        }
        tx.execute(
            "INSERT INTO tokens (hash, session_id, created_at) VALUES ($1, $2, $3)",
            &[(&hash_secret(token.as_bytes())).into(), (&self.session).into(), tx.now.into()],
        )?;
        Ok(token)
    }
}

/// The session a token belongs to, and its role.
#[derive(Debug, Clone)]
pub struct TokenHolder {
    /// The token's hash.
    pub hash: String,
}

impl Query for TokenHolder {
    type Output = Option<(SessionId, SessionRole)>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Option<(SessionId, SessionRole)>, StoreError> {
        let row = db.row(
            "SELECT sessions.id, sessions.role FROM tokens JOIN sessions ON sessions.id = tokens.session_id \
             WHERE tokens.hash = $1",
            &[(&self.hash).into()],
        )?;
        row.map(|mut row| Ok((row.parsed()?, row.parsed()?))).transpose()
    }
}

/// Whether a session has a token, so that its name alone is not enough.
#[derive(Debug, Clone)]
pub struct SessionHasToken(
    /// Which session.
    pub SessionId,
);

impl Query for SessionHasToken {
    type Output = bool;

    fn load(&self, db: &mut DbTx<'_>) -> Result<bool, StoreError> {
        Ok(db.number("SELECT count(*) FROM tokens WHERE session_id = $1", &[(&self.0).into()])? > 0)
    }
}

/// The youngest living session at work on a task that is known by its name alone, and its role.
#[derive(Debug, Clone)]
pub struct ActiveTaskSession(
    /// Which task.
    pub TaskId,
);

impl Query for ActiveTaskSession {
    type Output = Option<(SessionId, SessionRole)>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Option<(SessionId, SessionRole)>, StoreError> {
        let row = db.row(
            "SELECT sessions.id, sessions.role FROM sessions \
             JOIN task_sessions ON task_sessions.session_id = sessions.id \
             WHERE task_sessions.task_id = $1 AND sessions.status NOT IN ('completed', 'failed', 'stopped') \
             AND NOT EXISTS (SELECT 1 FROM tokens WHERE tokens.session_id = sessions.id) \
             ORDER BY sessions.ord DESC LIMIT 1",
            &[(&self.0).into()],
        )?;
        row.map(|mut row| Ok((row.parsed()?, row.parsed()?))).transpose()
    }
}
