//! Timeline of a session: what it reported and did, entry by entry.
//!
//! On SQLite the newest lines of all sessions are in `timeline_tail`, in the order in which they came, and are sorted into
//! `timeline` many at once. So each line there is older than all of its session in the tail.

use maestro_core::event::{Event, TimelineFact, ToolFact};
use maestro_core::id::{EntityId, EntryId, ProjectId, SessionId, TaskId};
use maestro_core::session::{EntryKind, SessionEvent, TimelineEntry};
use serde_json::Value as Json;

use crate::change::Query;
use crate::db::DbTx;
use crate::error::StoreError;
use crate::tx::{ChangeTx, EventScope, TimelineLine};
use crate::value::{SqlRow, to_json};
use crate::{ListPage, PageItems, session_rows};

/// A line for a timeline.
#[derive(Debug, Clone)]
pub struct NewTimelineEntry {
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
    tx: &mut ChangeTx<'_>,
    project: &ProjectId,
    session: &SessionId,
    entry: &NewTimelineEntry,
) -> Result<(), StoreError> {
    let line = TimelineLine {
        session: session.clone(),
        task: entry.task.clone(),
        kind: entry.kind.clone(),
        message: entry.message.clone(),
        metadata: entry.metadata.as_ref().map(to_json).transpose()?,
    };
    let scope = EventScope { task: entry.task.clone(), ..EventScope::project(project).session(session) };
    let fact = TimelineFact { kind: entry.kind.as_str().to_owned(), message: entry.message.clone() };
    tx.emit_line(scope, Event::TimelineAdded(fact), line);
    Ok(())
}

/// Adds something the session's tools did.
pub(crate) fn add_event(
    tx: &mut ChangeTx<'_>,
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
    let scope = EventScope::project(project).session(session);
    tx.emit(scope, Event::SessionEvent(ToolFact { kind: kind.as_str().to_owned() }));
    Ok(())
}

pub(crate) fn entry(row: &mut SqlRow) -> Result<TimelineEntry, StoreError> {
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
pub enum TimelineRange {
    /// From the beginning, or from where the last part ended.
    From(ListPage),
    /// The last so many.
    Last(i64),
}

/// A session's timeline, oldest line first.
#[derive(Debug, Clone)]
pub struct TimelineQuery {
    /// Which session.
    pub session: SessionId,
    /// Which part of it.
    pub range: TimelineRange,
}

impl Query for TimelineQuery {
    type Output = PageItems<TimelineEntry>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<PageItems<TimelineEntry>, StoreError> {
        session_rows::by_id(db, &self.session)?;
        match self.range {
            TimelineRange::From(page) => {
                let mut rows = rows_after(db, LineTable::Sorted, &self.session, page.after, page.row_limit())?;
                let room = page.row_limit() - row_count(&rows);
                rows.extend(rows_after(db, LineTable::Tail, &self.session, page.after, room)?);
                page.list(rows, entry)
            }
            TimelineRange::Last(count) => last(db, &self.session, count),
        }
    }
}

fn last(db: &mut DbTx<'_>, session: &SessionId, count: i64) -> Result<PageItems<TimelineEntry>, StoreError> {
    let mut rows = last_rows(db, LineTable::Tail, session, count)?;
    let room = count - row_count(&rows);
    rows.extend(last_rows(db, LineTable::Sorted, session, room)?);
    let mut items: Vec<_> = rows.iter_mut().map(entry).collect::<Result<_, _>>()?;
    items.reverse();
    Ok(PageItems { items, next: None })
}

/// Where lines are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineTable {
    Sorted,
    Tail,
}

impl LineTable {
    fn name(self) -> &'static str {
        match self {
            Self::Sorted => "timeline",
            Self::Tail => "timeline_tail",
        }
    }

    /// Whether it is worth a query: PostgreSQL has no tail.
    fn has_rows(self, db: &DbTx<'_>, limit: i64) -> bool {
        limit > 0 && (self == Self::Sorted || !db.is_postgres())
    }
}

fn rows_after(
    db: &mut DbTx<'_>,
    table: LineTable,
    session: &SessionId,
    after: i64,
    limit: i64,
) -> Result<Vec<SqlRow>, StoreError> {
    if !table.has_rows(db, limit) {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT ord, ord, kind, at, message, task_id, metadata FROM {} \
         WHERE session_id = $1 AND ord > $2 ORDER BY ord LIMIT $3",
        table.name()
    );
    db.rows(&sql, &[session.into(), after.into(), limit.into()])
}

fn last_rows(db: &mut DbTx<'_>, table: LineTable, session: &SessionId, count: i64) -> Result<Vec<SqlRow>, StoreError> {
    if !table.has_rows(db, count) {
        return Ok(Vec::new());
    }
    let sql = format!(
        "SELECT ord, kind, at, message, task_id, metadata FROM {} WHERE session_id = $1 ORDER BY ord DESC LIMIT $2",
        table.name()
    );
    db.rows(&sql, &[session.into(), count.into()])
}

fn row_count(rows: &[SqlRow]) -> i64 {
    i64::try_from(rows.len()).unwrap_or(i64::MAX)
}

/// The last things a session's tools did, oldest first.
#[derive(Debug, Clone)]
pub struct RecentSessionEvents {
    /// Which session.
    pub session: SessionId,
    /// How many at most.
    pub last: i64,
}

impl Query for RecentSessionEvents {
    type Output = Vec<SessionEvent>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<SessionEvent>, StoreError> {
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
