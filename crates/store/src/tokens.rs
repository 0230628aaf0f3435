//! Tokens of sessions. Only their hashes are stored.

use std::fmt::Write as _;

use maestro_core::SessionRole;
use maestro_core::id::{ProjectId, SessionId, TaskId};
use serde::{Deserialize, Serialize};

use crate::change::{Change, Query};
use crate::db::DbTx;
use crate::error::StoreError;
use crate::secret_hash::hash_secret;
use crate::session_rows;
use crate::tx::{self, ChangeTx};
use crate::value::SqlRow;

/// A secret that cannot be guessed.
pub(crate) fn make_secret(prefix: &str) -> Result<String, StoreError> {
    let mut secret = prefix.to_owned();
    for _ in 0..4 {
        let _ = write!(secret, "{:016x}", tx::random()?);
    }
    Ok(secret)
}

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
        let token = make_secret("mst_")?;
        tx.execute(
            "INSERT INTO tokens (hash, session_id, created_at) VALUES ($1, $2, $3)",
            &[(&hash_secret(token.as_bytes())).into(), (&self.session).into(), tx.now.into()],
        )?;
        Ok(token)
    }
}

/// Ends all tokens of a session: its agent is gone.
#[derive(Debug, Clone)]
pub struct EndSessionTokens {
    /// Which session.
    pub session: SessionId,
}

impl Change for EndSessionTokens {
    /// How many ended.
    type Output = u64;

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<u64, StoreError> {
        end_tokens(tx, &self.session)
    }
}

/// Ends the tokens of a session.
pub(crate) fn end_tokens(tx: &mut ChangeTx<'_>, session: &SessionId) -> Result<u64, StoreError> {
    let sql = "UPDATE tokens SET ended_at = $1 WHERE session_id = $2 AND ended_at IS NULL";
    tx.execute(sql, &[tx.now.into(), session.into()])
}

/// A session that has a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionToken {
    /// The session.
    pub session: SessionId,
    /// Its project.
    pub project: ProjectId,
    /// When the latest was made.
    pub created_at: i64,
}

/// The sessions with tokens that have not ended, oldest first.
#[derive(Debug, Clone)]
pub struct SessionTokenList;

impl Query for SessionTokenList {
    type Output = Vec<SessionToken>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<SessionToken>, StoreError> {
        let rows = db.rows(
            "SELECT sessions.id, sessions.project_id, max(tokens.created_at) AS latest FROM tokens \
             JOIN sessions ON sessions.id = tokens.session_id WHERE tokens.ended_at IS NULL \
             GROUP BY sessions.id, sessions.project_id ORDER BY latest, sessions.id",
            &[],
        )?;
        let read = |mut row: SqlRow| {
            Ok(SessionToken { session: row.parsed()?, project: row.parsed()?, created_at: row.int()? })
        };
        rows.into_iter().map(read).collect()
    }
}

/// The session a token belongs to, its role and project; nothing once the token has ended.
#[derive(Debug, Clone)]
pub struct TokenHolder {
    /// The token's hash.
    pub hash: String,
}

impl Query for TokenHolder {
    type Output = Option<(SessionId, SessionRole, ProjectId)>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Self::Output, StoreError> {
        let row = db.row(
            "SELECT sessions.id, sessions.role, sessions.project_id FROM tokens \
             JOIN sessions ON sessions.id = tokens.session_id WHERE tokens.hash = $1 AND tokens.ended_at IS NULL",
            &[(&self.hash).into()],
        )?;
        row.map(|mut row| Ok((row.parsed()?, row.parsed()?, row.parsed()?))).transpose()
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

/// The youngest living session at work on a task that is known by its name alone, its role and project.
#[derive(Debug, Clone)]
pub struct ActiveTaskSession(
    /// Which task.
    pub TaskId,
);

impl Query for ActiveTaskSession {
    type Output = Option<(SessionId, SessionRole, ProjectId)>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Self::Output, StoreError> {
        let row = db.row(
            "SELECT sessions.id, sessions.role, sessions.project_id FROM sessions \
             JOIN task_sessions ON task_sessions.session_id = sessions.id \
             WHERE task_sessions.task_id = $1 AND sessions.status IN ('spawning', 'idle', 'working', 'paused') \
             AND NOT EXISTS (SELECT 1 FROM tokens WHERE tokens.session_id = sessions.id) \
             ORDER BY sessions.ord DESC LIMIT 1",
            &[(&self.0).into()],
        )?;
        row.map(|mut row| Ok((row.parsed()?, row.parsed()?, row.parsed()?))).transpose()
    }
}
