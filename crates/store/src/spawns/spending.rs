//! Spending of agents, kept in columns when they end, so that sums need not read what ended.

use maestro_core::agent::SessionOutcome;
use maestro_core::id::{ProjectId, SessionId};

use crate::change::Query;
use crate::db::DbTx;
use crate::error::StoreError;
use crate::sql_query::SqlQuery;
use crate::value::{SqlRow, or_unknown};

/// How many rows are read at once while columns are filled.
const PAGE: i64 = 1000;

/// What an agent cost, in millionths of a dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AgentCost {
    /// As it was reported; nothing where no agent worked.
    pub(crate) reported: Option<i64>,
    /// How much of it counts against limits: not what a person allowed beyond them.
    pub(crate) counted: Option<i64>,
}

impl AgentCost {
    pub(crate) fn of(outcome: &SessionOutcome) -> Self {
        if outcome.work.is_none() {
            return Self { reported: None, counted: None };
        }
        let (cost, granted) = (outcome.usage().cost_usd, outcome.granted());
        let counted = if granted.unlimited { 0.0 } else { (cost - granted.cost_usd).max(0.0) };
        Self { reported: Some(micros(cost)), counted: Some(micros(counted)) }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "no cost is that large")]
fn micros(dollars: f64) -> i64 {
    (dollars * 1e6).round() as i64
}

#[expect(clippy::cast_precision_loss, reason = "costs stay below billions")]
fn dollars(micros: i64) -> f64 {
    micros as f64 / 1e6
}

/// What agents cost since a time, in dollars, without what a person allowed beyond their limits.
#[derive(Debug, Clone)]
pub struct CostSince {
    /// Since when.
    pub since: i64,
    /// A session that does not count.
    pub except: SessionId,
}

impl Query for CostSince {
    type Output = f64;

    fn load(&self, db: &mut DbTx<'_>) -> Result<f64, StoreError> {
        let sql = "SELECT CAST(coalesce(sum(counted_micros), 0) AS BIGINT) FROM spawns \
                   WHERE updated_at >= $1 AND session_id <> $2";
        db.number(sql, &[self.since.into(), (&self.except).into()]).map(dollars)
    }
}

/// What agents cost since a time, as they report it.
#[derive(Debug, Clone)]
pub struct SpendSince {
    /// Only those of this project.
    pub project: Option<ProjectId>,
    /// Since when.
    pub since: i64,
}

/// The cost of several sessions.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SpendTotal {
    /// In dollars.
    pub cost_usd: f64,
    /// How many sessions worked and reported no cost.
    pub unreported: i64,
}

impl Query for SpendSince {
    type Output = SpendTotal;

    fn load(&self, db: &mut DbTx<'_>) -> Result<SpendTotal, StoreError> {
        // SQLite reads a CROSS JOIN from left to right: by time first, which is short, and not by project.
        let (from, tie) = match self.project {
            Some(_) => ("spawns CROSS JOIN sessions", "AND sessions.id = spawns.session_id"),
            None => ("spawns", ""),
        };
        let select = format!(
            "SELECT CAST(coalesce(sum(spawns.cost_micros), 0) AS BIGINT), \
             CAST(coalesce(sum(CASE WHEN spawns.cost_micros <= 0 THEN 1 ELSE 0 END), 0) AS BIGINT) \
             FROM {from} WHERE spawns.updated_at >= $1 {tie}"
        );
        let rows = SqlQuery::new(select, self.since)
            .only("sessions.project_id = ?", self.project.as_ref())
            .rows(db, "1", 1)?;
        let total = |mut row: SqlRow| Ok(SpendTotal { cost_usd: dollars(row.int()?), unreported: row.int()? });
        rows.into_iter().next().map_or(Ok(SpendTotal::default()), total)
    }
}

/// Fills the columns for agents that ended before there were any.
pub(crate) fn fill_costs(db: &mut DbTx<'_>) -> Result<(), StoreError> {
    let mut after = 0;
    loop {
        let sql = "SELECT ord, outcome FROM spawns WHERE ord > $1 ORDER BY ord LIMIT $2";
        let rows = db.rows(sql, &[after.into(), PAGE.into()])?;
        if rows.is_empty() {
            return Ok(());
        }
        for mut row in rows {
            after = row.int()?;
            let Some(stored) = row.maybe_text()? else { continue };
            let read = serde_json::from_str(&stored).and_then(SessionOutcome::from_stored);
            let cost = AgentCost::of(&or_unknown(read, "outcome"));
            db.execute(
                "UPDATE spawns SET cost_micros = $1, counted_micros = $2 WHERE ord = $3",
                &[cost.reported.into(), cost.counted.into(), after.into()],
            )?;
        }
    }
}
