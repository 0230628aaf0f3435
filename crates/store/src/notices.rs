//! Notices for sessions: written when something happens, delivered with the next call, deleted on confirmation.

use maestro_core::id::{MessageId, SessionId, TaskId};
use maestro_core::notice::SessionNotice;
use serde::{Deserialize, Serialize};

use crate::change::Query;
use crate::db::DbTx;
use crate::error::StoreError;
use crate::session_rows;
use crate::tx::ChangeTx;

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
         WHERE sessions.status IN ('spawning', 'idle', 'working', 'paused') ORDER BY sessions.id",
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
        session_rows::by_id(db, &self.0)?;
        pending(db, &self.0)
    }
}
