//! Sessions as stored.

use maestro_core::event::{Event, SessionFact};
use maestro_core::id::SessionId;
use maestro_core::session::{EndReason, Session, SessionStatus};

use crate::db::DbTx;
use crate::error::{RecordKind, StoreError};
use crate::task_session_rows;
use crate::tx::{ChangeTx, EventScope};
use crate::value::{SqlRow, to_json};

pub(crate) const SELECT: &str = "SELECT ord, id, project_id, name, role, agent, env, strategy, status, paused_from, end_reason, \
                      needs_input, parent_id, started_at, last_activity, completed_at, hostname, platform, metadata, \
                      revision FROM sessions";

pub(crate) fn session(row: &mut SqlRow) -> Result<Session, StoreError> {
    Ok(Session {
        id: row.parsed()?,
        project: row.parsed()?,
        tasks: Vec::new(),
        name: row.text()?,
        role: row.parsed()?,
        agent: row.maybe_text()?,
        env: row.json()?,
        strategy: row.parsed()?,
        status: row.parsed()?,
        paused_from: row.maybe_parsed()?,
        end: row.maybe_parsed()?,
        needs_input: row.maybe_text()?,
        parent: row.maybe_parsed()?,
        started_at: row.int()?,
        last_activity: row.int()?,
        completed_at: row.maybe_int()?,
        hostname: row.text()?,
        platform: row.text()?,
        metadata: row.json()?,
        revision: row.int()?,
    })
}

/// What of a session is searched by its words.
pub(crate) fn searched_text(session: &Session) -> String {
    format!("{} {}", session.name, session.agent.as_deref().unwrap_or_default())
}

pub(crate) fn by_id(db: &mut DbTx<'_>, id: &SessionId) -> Result<Session, StoreError> {
    let found = db.row(&format!("{SELECT} WHERE id = $1{}", db.lock_clause()), &[id.into()])?;
    let mut row = found.ok_or_else(|| StoreError::not_found(RecordKind::Session, id))?;
    row.int()?;
    let mut session = session(&mut row)?;
    session.tasks = task_session_rows::of_session(db, id)?.into_iter().map(|(task, _)| task).collect();
    Ok(session)
}

/// Checks that the session exists, without locking it.
pub(crate) fn require(db: &mut DbTx<'_>, id: &SessionId) -> Result<(), StoreError> {
    match db.number("SELECT count(*) FROM sessions WHERE id = $1", &[id.into()])? {
        0 => Err(StoreError::not_found(RecordKind::Session, id)),
        _ => Ok(()),
    }
}

/// Whether a session that has ended may go on by itself: not when it completed or was cancelled.
pub(crate) fn can_revive(status: SessionStatus, end: Option<EndReason>) -> bool {
    status != SessionStatus::Completed && end != Some(EndReason::Cancelled)
}

pub(crate) fn note_change(tx: &mut ChangeTx<'_>, session: &Session) {
    let fact = SessionFact {
        id: session.id.clone(),
        name: session.name.clone(),
        status: session.status,
        reason: session.end.map(|end| end.to_string()),
    };
    tx.emit(EventScope::project(&session.project).session(&session.id), Event::SessionUpdated(fact));
}

/// Stores what a session has become.
pub(crate) fn save(tx: &mut ChangeTx<'_>, session: &mut Session) -> Result<(), StoreError> {
    session.revision += 1;
    let (env, metadata) = (to_json(&session.env)?, to_json(&session.metadata)?);
    tx.execute(
        "UPDATE sessions SET name = $1, role = $2, agent = $3, env = $4, status = $5, paused_from = $6, \
         end_reason = $7, needs_input = $8, last_activity = $9, completed_at = $10, metadata = $11, revision = $12 \
         WHERE id = $13",
        &[
            (&session.name).into(),
            session.role.as_str().into(),
            session.agent.as_ref().into(),
            (&env).into(),
            session.status.as_str().into(),
            session.paused_from.map(SessionStatus::as_str).into(),
            session.end.map(EndReason::as_str).into(),
            session.needs_input.as_ref().into(),
            session.last_activity.into(),
            session.completed_at.into(),
            (&metadata).into(),
            session.revision.into(),
            (&session.id).into(),
        ],
    )?;
    Ok(())
}
