//! Timeline of a session: what it reported and did, entry by entry.

use maestro_core::event::{Event, Happening, TimelineFact};
use maestro_core::id::{EntryId, Id, ProjectId, SessionId, TaskId};
use maestro_core::session::{EntryKind, SessionEvent, TimelineEntry};
use serde_json::Value as Json;

use crate::change::Read;
use crate::db::Db;
use crate::error::StoreError;
use crate::tx::{Scope, Tx};
use crate::value::{Row, to_json};
use crate::{Listed, Page, sessions};

/// A line for a timeline.
#[derive(Debug, Clone)]
pub struct NewEntry {
    /// What kind of line.
    pub kind: EntryKind,
    /// Its words.
    pub message: String,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// Further data to store.
    pub metadata: Option<Json>,
}

/// Adds a line.
pub(crate) fn add(
    tx: &mut Tx<'_>,
    project: &ProjectId,
    session: &SessionId,
    entry: &NewEntry,
) -> Result<(), StoreError> {
    let metadata = entry.metadata.as_ref().map(to_json).transpose()?;
    tx.execute(
        "INSERT INTO timeline (session_id, task_id, kind, at, message, metadata) VALUES ($1, $2, $3, $4, $5, $6)",
        &[
            session.into(),
            entry.task.as_ref().into(),
            entry.kind.as_str().into(),
            tx.now.into(),
            (&entry.message).into(),
            metadata.as_ref().into(),
        ],
    )?;
    let scope = Scope { task: entry.task.clone(), ..Scope::project(project).session(session) };
    let fact = TimelineFact { kind: entry.kind.as_str().to_owned(), message: entry.message.clone() };
    tx.emit(scope, Event::TimelineAdded(fact));
    Ok(())
}

/// Adds something the session's tools did.
pub(crate) fn add_event(
    tx: &mut Tx<'_>,
    project: &ProjectId,
    session: &SessionId,
    kind: &EntryKind,
    data: Option<&Json>,
) -> Result<(), StoreError> {
    let id: EntryId = tx.make_id()?;
    let data = data.map(to_json).transpose()?;
    tx.execute(
        "INSERT INTO session_events (id, session_id, kind, at, data) VALUES ($1, $2, $3, $4, $5)",
        &[(&id).into(), session.into(), kind.as_str().into(), tx.now.into(), data.as_ref().into()],
    )?;
    let scope = Scope::project(project).session(session);
    tx.emit(scope, Event::SessionEvent(Happening { kind: kind.as_str().to_owned() }));
    Ok(())
}

pub(crate) fn entry(row: &mut Row) -> Result<TimelineEntry, StoreError> {
    let (place, kind, at) = (row.int()?, row.parsed()?, row.int()?);
    Ok(TimelineEntry {
        id: EntryId::make(at, place.unsigned_abs()),
        kind,
        at,
        message: row.text()?,
        task: row.maybe_parsed()?,
        metadata: row.maybe_json()?,
    })
}

/// Which end of a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// From the beginning, or from where the last part ended.
    From(Page),
    /// The last so many.
    Last(i64),
}

/// A session's timeline, oldest line first.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// Which session.
    pub session: SessionId,
    /// Which part of it.
    pub part: Part,
}

impl Read for Timeline {
    type Output = Listed<TimelineEntry>;

    fn load(&self, db: &mut Db<'_>) -> Result<Listed<TimelineEntry>, StoreError> {
        sessions::by_id(db, &self.session)?;
        match self.part {
            Part::From(page) => {
                let sql = "SELECT ord, ord, kind, at, message, task_id, metadata FROM timeline \
                           WHERE session_id = $1 AND ord > $2 ORDER BY ord LIMIT $3";
                let rows = db.rows(sql, &[(&self.session).into(), page.after.into(), page.asked().into()])?;
                page.list(rows, entry)
            }
            Part::Last(count) => last(db, &self.session, count),
        }
    }
}

fn last(db: &mut Db<'_>, session: &SessionId, count: i64) -> Result<Listed<TimelineEntry>, StoreError> {
    let sql = "SELECT ord, kind, at, message, task_id, metadata FROM timeline \
               WHERE session_id = $1 ORDER BY ord DESC LIMIT $2";
    let mut items: Vec<_> =
        db.rows(sql, &[session.into(), count.max(0).into()])?.iter_mut().map(entry).collect::<Result<_, _>>()?;
    items.reverse();
    Ok(Listed { items, next: None })
}

/// The last things a session's tools did, oldest first.
#[derive(Debug, Clone)]
pub struct SessionEvents {
    /// Which session.
    pub session: SessionId,
    /// How many at most.
    pub last: i64,
}

impl Read for SessionEvents {
    type Output = Vec<SessionEvent>;

    fn load(&self, db: &mut Db<'_>) -> Result<Vec<SessionEvent>, StoreError> {
        let sql = "SELECT id, kind, at, data FROM session_events WHERE session_id = $1 ORDER BY ord DESC LIMIT $2";
        let mut events: Vec<_> = db
            .rows(sql, &[(&self.session).into(), self.last.max(0).into()])?
            .iter_mut()
            .map(|row| {
                Ok(SessionEvent { id: row.parsed()?, kind: row.parsed()?, at: row.int()?, data: row.maybe_json()? })
            })
            .collect::<Result<_, StoreError>>()?;
        events.reverse();
        Ok(events)
    }
}
