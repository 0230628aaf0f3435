//! Event log in the order of commits, which everything live reads from.

use maestro_core::Event;
use maestro_core::event::{RunId, current_name};
use maestro_core::id::{ProjectId, SessionId, TaskId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::change::{Change, Query};
use crate::db::DbTx;
use crate::error::StoreError;
use crate::sql_query::SqlQuery;
use crate::tx::{ChangeTx, EventScope};
use crate::value::SqlRow;

/// Something that happened, as the log has it. The payload is kept as it was written, whatever its version.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EventRow {
    /// Its place in the order of commits.
    pub seq: i64,
    /// When.
    pub at: i64,
    /// What kind of thing.
    #[serde(rename = "type")]
    pub kind: String,
    /// Which version of the payload.
    pub version: i64,
    /// The project it is about.
    pub project: Option<String>,
    /// The task it is about.
    pub task: Option<String>,
    /// The session it is about.
    pub session: Option<String>,
    /// The run it is about.
    pub run: Option<String>,
    /// The facts.
    pub payload: Box<RawValue>,
}

pub(crate) const SELECT: &str = "SELECT seq, at, type, version, project, task, session, run, payload FROM events";
const SELECT_HEADS: &str = "SELECT seq, at, type, version, project, task, session, run, 'null' FROM events";
/// How many characters of facts are read at once, unless one event alone has more.
const PAGE_CHARS: i64 = 1024 * 1024;

/// Which events to return.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// Only this task's.
    pub task: Option<TaskId>,
    /// Only this session's.
    pub session: Option<SessionId>,
    /// Only this run's.
    pub run: Option<RunId>,
}

impl EventFilter {
    /// Whether it lets everything through.
    pub fn is_open(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it lets this one through.
    pub fn admits(&self, row: &EventRow) -> bool {
        use maestro_core::id::EntityId;
        let same = |wanted: Option<&str>, found: Option<&str>| wanted.is_none() || wanted == found;
        same(self.project.as_ref().map(EntityId::as_str), row.project.as_deref())
            && same(self.task.as_ref().map(EntityId::as_str), row.task.as_deref())
            && same(self.session.as_ref().map(EntityId::as_str), row.session.as_deref())
            && same(self.run.map(|run| run.to_string()).as_deref(), row.run.as_deref())
    }

    /// The rows of a selection from the log that it lets through, after an event.
    fn rows(&self, select: &str, after: i64, limit: i64, db: &mut DbTx<'_>) -> Result<Vec<SqlRow>, StoreError> {
        self.query(select, after, db, "seq", limit)
    }

    fn query(
        &self,
        select: &str,
        after: i64,
        db: &mut DbTx<'_>,
        order: &str,
        limit: i64,
    ) -> Result<Vec<SqlRow>, StoreError> {
        let run = self.run.map(|run| run.to_string());
        SqlQuery::new(format!("{select} WHERE seq > $1"), after)
            .only("project = ?", self.project.as_ref())
            .only("task = ?", self.task.as_ref())
            .only("session = ?", self.session.as_ref())
            .only("run = ?", run.as_ref())
            .rows(db, order, limit)
    }
}

/// The events after one, oldest first.
#[derive(Debug, Clone)]
pub struct EventsAfter {
    /// The last one that was seen.
    pub seq: i64,
    /// How many at most.
    pub limit: i64,
    /// Which ones.
    pub filter: EventFilter,
}

impl Query for EventsAfter {
    type Output = Vec<EventRow>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<EventRow>, StoreError> {
        self.filter.rows(SELECT, self.seq, self.limit, db)?.into_iter().map(row).collect()
    }
}

/// The last events, oldest first.
#[derive(Debug, Clone)]
pub struct LastEvents {
    /// Only those after this one.
    pub after: i64,
    /// How many at most.
    pub limit: i64,
    /// Which ones.
    pub filter: EventFilter,
}

impl Query for LastEvents {
    type Output = Vec<EventRow>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<EventRow>, StoreError> {
        let rows = self.filter.query(SELECT, self.after, db, "seq DESC", self.limit)?;
        let mut events: Vec<EventRow> = rows.into_iter().map(row).collect::<Result<_, _>>()?;
        events.reverse();
        Ok(events)
    }
}

/// A part of the log after an event: as many events as wanted, and fewer where they are large.
#[derive(Debug, Clone)]
pub struct EventPageAfter {
    /// The last one that was seen.
    pub seq: i64,
    /// How many at most.
    pub limit: i64,
    /// Which ones.
    pub filter: EventFilter,
}

/// A part of the log.
#[derive(Debug)]
pub struct EventPage {
    /// The events, oldest first.
    pub rows: Vec<EventRow>,
    /// Whether there may be more.
    pub more: bool,
}

impl Query for EventPageAfter {
    type Output = EventPage;

    fn load(&self, db: &mut DbTx<'_>) -> Result<EventPage, StoreError> {
        let mut room = PAGE_CHARS;
        let mut fitting = 0_i64;
        let sizes = self.filter.rows("SELECT length(payload) FROM events", self.seq, self.limit, db)?;
        let found = i64::try_from(sizes.len()).unwrap_or(i64::MAX);
        for mut size in sizes {
            room -= size.int()?;
            // One event is always sent, however large.
            if room < 0 && fitting > 0 {
                break;
            }
            fitting += 1;
        }
        let rows = EventsAfter { seq: self.seq, limit: fitting, filter: self.filter.clone() }.load(db)?;
        Ok(EventPage { rows, more: fitting < found || found >= self.limit })
    }
}

/// The events after one, oldest first, without their facts: their payload is `null`.
#[derive(Debug, Clone)]
pub struct EventHeadsAfter {
    /// The last one that was seen.
    pub seq: i64,
    /// How many at most.
    pub limit: i64,
    /// Which ones.
    pub filter: EventFilter,
}

impl Query for EventHeadsAfter {
    type Output = Vec<EventRow>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<EventRow>, StoreError> {
        self.filter.rows(SELECT_HEADS, self.seq, self.limit, db)?.into_iter().map(row).collect()
    }
}

pub(crate) fn row(mut row: SqlRow) -> Result<EventRow, StoreError> {
    Ok(EventRow {
        seq: row.int()?,
        at: row.int()?,
        kind: current_name(&row.text()?).to_owned(),
        version: row.int()?,
        project: row.maybe_text()?,
        task: row.maybe_text()?,
        session: row.maybe_text()?,
        run: row.maybe_text()?,
        payload: RawValue::from_string(row.text()?).map_err(|error| StoreError::corrupt(error.to_string()))?,
    })
}

/// The last event there is.
#[derive(Debug, Clone, Copy)]
pub struct LastEventSeq;

impl Query for LastEventSeq {
    type Output = i64;

    fn load(&self, db: &mut DbTx<'_>) -> Result<i64, StoreError> {
        db.number("SELECT CAST(coalesce(max(seq), 0) AS BIGINT) FROM events", &[])
    }
}

/// Appends events that change nothing else: what was found out about skills, say.
pub struct RecordEvents {
    /// What they are about.
    pub scope: EventScope,
    /// What happened.
    pub events: Vec<Event>,
}

impl Change for RecordEvents {
    type Output = ();

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        for event in &self.events {
            tx.emit(self.scope.clone(), event.clone());
        }
        Ok(())
    }
}
