//! Notices for sessions: written when something happens, delivered with the next call, deleted on confirmation.

use maestro_core::id::{MessageId, SessionId, TaskId};
use maestro_core::notice::SessionNotice;
use serde::{Deserialize, Serialize};

use crate::actor::{self, Actor};
use crate::change::{Change, Query};
use crate::db::DbTx;
use crate::error::StoreError;
use crate::tx::ChangeTx;
use crate::value::to_json;
use crate::{messages, sessions};

/// How many notices one reply carries.
const AT_ONCE: i64 = 100;

/// The notices that a session has not confirmed yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PendingNotices {
    /// What happened, oldest first.
    pub notices: Vec<SessionNotice>,
    /// What to confirm with after delivery; 0 when there are none.
    pub cursor: i64,
}

/// Notifies every live session at work on a task, or on one above it, except the one that acted.
pub(crate) fn notify_task(
    tx: &mut ChangeTx<'_>,
    task: &TaskId,
    notice: &SessionNotice,
    except: Option<&SessionId>,
) -> Result<(), StoreError> {
    let rows = tx.rows(
        "WITH RECURSIVE up (id, parent_id) AS ( \
           SELECT id, parent_id FROM tasks WHERE id = $1 \
           UNION ALL SELECT tasks.id, tasks.parent_id FROM tasks JOIN up ON tasks.id = up.parent_id ) \
         SELECT DISTINCT sessions.id FROM up \
         JOIN task_sessions ON task_sessions.task_id = up.id \
         JOIN sessions ON sessions.id = task_sessions.session_id \
         WHERE sessions.status NOT IN ('completed', 'failed', 'stopped') ORDER BY sessions.id",
        &[task.into()],
    )?;
    for mut row in rows {
        notify(tx, &row.parsed()?, notice, except);
    }
    Ok(())
}

/// Notifies one session, unless it acted itself.
pub(crate) fn notify(tx: &mut ChangeTx<'_>, session: &SessionId, notice: &SessionNotice, except: Option<&SessionId>) {
    if except != Some(session) {
        tx.notify(session, notice);
    }
}

/// Writes a notice down. This is left to a change's last act, where the order of numbers is the order of commits:
/// else a session could confirm a notice that it was never shown, because its number came first and its commit later.
pub(crate) fn save(tx: &mut ChangeTx<'_>, session: &SessionId, notice: &SessionNotice) -> Result<(), StoreError> {
    let text = to_json(notice)?;
    tx.execute(
        "INSERT INTO notices (session_id, at, notice) VALUES ($1, $2, $3)",
        &[session.into(), tx.now.into(), (&text).into()],
    )?;
    Ok(())
}

/// Drops the messages among a session's notices; they will not be delivered any more.
pub(crate) fn drop_messages(tx: &mut ChangeTx<'_>, session: &SessionId) -> Result<(), StoreError> {
    drop_matching(tx, session, |_| true)
}

/// Drops these messages among a session's notices; they were delivered in another way.
pub(crate) fn drop_delivered(
    tx: &mut ChangeTx<'_>,
    session: &SessionId,
    delivered: &[MessageId],
) -> Result<(), StoreError> {
    drop_matching(tx, session, |id| delivered.contains(id))
}

fn drop_matching(
    tx: &mut ChangeTx<'_>,
    session: &SessionId,
    which: impl Fn(&MessageId) -> bool,
) -> Result<(), StoreError> {
    let waiting = tx.rows("SELECT ord, notice FROM notices WHERE session_id = $1", &[session.into()])?;
    for mut row in waiting {
        let ord = row.int()?;
        if let SessionNotice::Message { id, .. } = row.json()?
            && which(&id)
        {
            tx.execute("DELETE FROM notices WHERE ord = $1", &[ord.into()])?;
        }
    }
    Ok(())
}

/// The notices that a session has not confirmed yet.
pub(crate) fn pending(db: &mut DbTx<'_>, session: &SessionId) -> Result<PendingNotices, StoreError> {
    let sql = "SELECT ord, notice FROM notices WHERE session_id = $1 ORDER BY ord LIMIT $2";
    let mut found = PendingNotices::default();
    for mut row in db.rows(sql, &[session.into(), AT_ONCE.into()])? {
        found.cursor = row.int()?;
        found.notices.push(row.json()?);
    }
    Ok(found)
}

/// The notices that a session has not confirmed yet.
#[derive(Debug, Clone)]
pub struct SessionNotices(
    /// Which session.
    pub SessionId,
);

impl Query for SessionNotices {
    type Output = PendingNotices;

    fn load(&self, db: &mut DbTx<'_>) -> Result<PendingNotices, StoreError> {
        sessions::by_id(db, &self.0)?;
        pending(db, &self.0)
    }
}

/// Records that a session received its notices up to this one; messages among them count as delivered only now.
#[derive(Debug, Clone)]
pub struct ConfirmNotices {
    /// Which session.
    pub session: SessionId,
    /// The last notice it received.
    pub cursor: i64,
    /// How it received them.
    pub how: String,
    /// Who makes the change.
    pub actor: Actor,
}

impl Change for ConfirmNotices {
    type Output = ();

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        actor::require_session_access(tx, &self.actor, &self.session)?;
        let session = sessions::by_id(tx, &self.session)?;
        let confirmed = tx.rows(
            "DELETE FROM notices WHERE session_id = $1 AND ord <= $2 RETURNING ord, notice",
            &[(&self.session).into(), self.cursor.into()],
        )?;
        let mut confirmed =
            confirmed.into_iter().map(|mut row| Ok((row.int()?, row))).collect::<Result<Vec<_>, StoreError>>()?;
        confirmed.sort_by_key(|(ord, _)| *ord);
        for (_, mut row) in confirmed {
            if let SessionNotice::Message { id, .. } = row.json()? {
                messages::mark_delivered(tx, &session, &id, &self.how)?;
            }
        }
        Ok(())
    }
}
