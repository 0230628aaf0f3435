//! Queries about runs: lists, pinned definitions and events.

use std::collections::BTreeMap;

use maestro_core::event::RunId;
use maestro_core::id::ProjectId;
use maestro_core::workflow::pinned_definition::PinnedText;
use maestro_core::workflow::run::RunEvent;

use super::{RunHost, RunRecord, RunState, SELECT, by_id, record};
use crate::change::Query;
use crate::db::DbTx;
use crate::error::StoreError;
use crate::events::{self, EventRow};
use crate::sql_query::SqlQuery;
use crate::value::{SqlRow, from_json};
use crate::{ListPage, PageItems};

/// One run.
#[derive(Debug, Clone, Copy)]
pub struct RunById(
    /// Which one.
    pub RunId,
);

impl Query for RunById {
    type Output = RunRecord;

    fn load(&self, db: &mut DbTx<'_>) -> Result<RunRecord, StoreError> {
        by_id(db, &self.0)
    }
}

/// What a run was started with.
#[derive(Debug, Clone)]
pub struct PinnedDefinitions(
    /// The hash of it.
    pub String,
);

impl Query for PinnedDefinitions {
    type Output = BTreeMap<String, PinnedText>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Self::Output, StoreError> {
        let row = db.row("SELECT definitions FROM pinned_definitions WHERE hash = $1", &[(&self.0).into()])?;
        let mut row = row.ok_or_else(|| StoreError::corrupt(format!("the definition {} is not kept", self.0)))?;
        from_json(&row.text()?)
    }
}

/// Runs, oldest first.
#[derive(Debug, Clone, Default)]
pub struct RunList {
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// Only those of this workflow.
    pub workflow: Option<String>,
    /// Only those in this state.
    pub status: Option<RunState>,
    /// Which part.
    pub page: ListPage,
}

impl Query for RunList {
    type Output = PageItems<RunRecord>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<PageItems<RunRecord>, StoreError> {
        let rows = SqlQuery::new(format!("{SELECT} WHERE ord > $1"), self.page.after)
            .only("project_id = ?", self.project.as_ref())
            .only("workflow = ?", self.workflow.as_ref())
            .only("status = ?", self.status.map(RunState::as_str))
            .page(db, self.page)?;
        self.page.list(rows, record)
    }
}

/// The newest runs that are no part of others: those that go on, and those that ended since a moment.
#[derive(Debug, Clone)]
pub struct RecentRuns {
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// Only those of this workflow.
    pub workflow: Option<String>,
    /// Since when.
    pub since: i64,
    /// How many at most.
    pub limit: i64,
}

impl Query for RecentRuns {
    type Output = Vec<RunRecord>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<RunRecord>, StoreError> {
        let of = |query: SqlQuery<'_>, db: &mut DbTx<'_>| {
            let query =
                query.only("project_id = ?", self.project.as_ref()).only("workflow = ?", self.workflow.as_ref());
            query.rows(db, "+ord DESC", self.limit)
        };
        newest(vec![of(going_on(), db)?, of(ended_since(self.since), db)?], self.limit)
    }
}

/// The runs that have not ended and are no part of others. They are few, and ordered by a sum: a sign keeps a database
/// from visiting all runs in their order.
fn going_on<'a>() -> SqlQuery<'a> {
    SqlQuery::all(format!("{SELECT} WHERE status IN ('running', 'paused') AND parent_run IS NULL"))
}

/// The runs that ended since a moment and are no part of others.
fn ended_since<'a>(since: i64) -> SqlQuery<'a> {
    SqlQuery::new(format!("{SELECT} WHERE ended_at >= $1 AND parent_run IS NULL"), since)
}

/// The newest runs of several lists, each once.
fn newest(lists: Vec<Vec<SqlRow>>, limit: i64) -> Result<Vec<RunRecord>, StoreError> {
    let mut found = BTreeMap::new();
    for mut row in lists.into_iter().flatten() {
        found.insert(row.int()?, record(&mut row)?);
    }
    Ok(found.into_values().rev().take(usize::try_from(limit).unwrap_or_default()).collect())
}

/// The runs that a person may want to see now, newest first: those that go on, those that ended since a time, and those
/// whose result was neither merged nor thrown away. Runs of sub-agents are part of others.
#[derive(Debug, Clone)]
pub struct CurrentRuns {
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// Since when.
    pub since: i64,
    /// How many at most.
    pub limit: i64,
}

impl Query for CurrentRuns {
    type Output = Vec<RunRecord>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<RunRecord>, StoreError> {
        let of = |query: SqlQuery<'_>, db: &mut DbTx<'_>| {
            query.only("project_id = ?", self.project.as_ref()).rows(db, "+ord DESC", self.limit)
        };
        let unlanded = "WHERE status = 'completed' AND landing IS NULL AND parent_run IS NULL";
        let unlanded = SqlQuery::all(format!("{SELECT} {unlanded}"));
        let unlanded = unlanded.only("project_id = ?", self.project.as_ref()).rows(db, "ord DESC", self.limit)?;
        newest(vec![of(going_on(), db)?, unlanded, of(ended_since(self.since), db)?], self.limit)
    }
}

/// The runs whose deadline has passed.
#[derive(Debug, Clone, Copy)]
pub struct OverdueRuns {
    /// What time it is.
    pub now: i64,
}

impl Query for OverdueRuns {
    type Output = Vec<RunId>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<RunId>, StoreError> {
        let sql = "SELECT id FROM runs WHERE deadline IS NOT NULL AND deadline <= $1 ORDER BY deadline LIMIT 100";
        db.rows(sql, &[self.now.into()])?.iter_mut().map(SqlRow::parsed).collect()
    }
}

/// The runs that a process drives and that wait for nothing else.
#[derive(Debug, Clone)]
pub struct UndrivenRuns {
    /// The process.
    pub host: RunHost,
}

impl Query for UndrivenRuns {
    type Output = Vec<RunId>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<RunId>, StoreError> {
        let sql = "SELECT id FROM runs WHERE driver = 'server' AND status = 'running' AND waiting IS NULL \
                   AND host = $1 ORDER BY ord LIMIT 100";
        db.rows(sql, &[(&self.host.to_string()).into()])?.iter_mut().map(SqlRow::parsed).collect()
    }
}

/// The runs of a run's sub-agents that are over.
#[derive(Debug, Clone, Copy)]
pub struct EndedSubruns {
    /// The run that they are parts of.
    pub of: RunId,
}

impl Query for EndedSubruns {
    type Output = Vec<RunRecord>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<RunRecord>, StoreError> {
        let sql = format!("{SELECT} WHERE parent_run = $1 AND ended_at IS NOT NULL ORDER BY ord");
        let mut rows = db.rows(&sql, &[(&self.of.to_string()).into()])?;
        let read = |row: &mut SqlRow| {
            row.int()?;
            record(row)
        };
        rows.iter_mut().map(read).collect()
    }
}

/// The last things that happened to a run, oldest first.
#[derive(Debug, Clone, Copy)]
pub struct RunTail {
    /// Which run.
    pub id: RunId,
    /// How many at most.
    pub limit: i64,
}

impl Query for RunTail {
    type Output = Vec<RunEvent>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<RunEvent>, StoreError> {
        let sql = "SELECT type, payload FROM events WHERE run = $1 ORDER BY seq DESC LIMIT $2";
        let mut rows = db.rows(sql, &[(&self.id.to_string()).into(), self.limit.into()])?;
        rows.reverse();
        rows.iter_mut().map(happened).collect()
    }
}

fn happened(row: &mut SqlRow) -> Result<RunEvent, StoreError> {
    let (kind, payload) = (row.text()?, row.text()?);
    let event = RunEvent::from_log(&kind, &payload).map_err(|error| StoreError::corrupt(error.to_string()))?;
    event.ok_or_else(|| StoreError::corrupt(format!("{kind} is no event of a run")))
}

/// What happened to a run, oldest first.
#[derive(Debug, Clone, Copy)]
pub struct RunLog {
    /// Which run.
    pub id: RunId,
    /// The last event that was seen.
    pub after: i64,
    /// How many at most.
    pub limit: i64,
}

impl Query for RunLog {
    type Output = Vec<EventRow>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<EventRow>, StoreError> {
        let id = self.id.to_string();
        SqlQuery::new(format!("{} WHERE seq > $1", events::SELECT), self.after)
            .only("run = ?", &id)
            .rows(db, "seq", self.limit)?
            .into_iter()
            .map(events::row)
            .collect()
    }
}
