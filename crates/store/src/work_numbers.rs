//! Numbers about finished work: tasks, what agents spent, and which skills were used.

use std::collections::BTreeMap;

use maestro_core::agent::SessionOutcome;
use maestro_core::id::ProjectId;
use maestro_core::workflow::RunEvent;
use maestro_core::workflow::definition::EndStatus;
use serde_json::Value as Json;

use crate::change::Query;
use crate::db::DbTx;
use crate::error::StoreError;
use crate::skill_uses::{SkillUse, SkillUses};
use crate::sql_query::SqlQuery;
use crate::value::{SqlParam, SqlRow};

/// How many runs, tasks and sessions are counted at most, the newest ones.
const MOST: i64 = 2000;
/// How many runs a statement is about.
const BATCH_SIZE: usize = 50;

/// What was finished since a moment.
#[derive(Debug, Clone)]
pub struct WorkNumbersQuery {
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// Since when.
    pub since: i64,
}

/// A task that came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedTask {
    /// When.
    pub at: i64,
    /// How long it took, where that is known.
    pub took: Option<i64>,
    /// How many rounds it took until its checks and review let it pass; nothing where no run did it.
    pub rounds: Option<i64>,
    /// Whether it was done.
    pub done: bool,
}

/// What the sessions of an agent spent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentSpending {
    /// How many sessions.
    pub sessions: i64,
    /// How many tokens, as far as they were reported.
    pub tokens: u64,
    /// How many dollars, as far as they were reported.
    pub cost_usd: f64,
}

/// The numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WorkNumbers {
    /// The tasks, the oldest first.
    pub tasks: Vec<FinishedTask>,
    /// Spending by agent.
    pub agents: BTreeMap<String, AgentSpending>,
    /// Use by skill.
    pub skills: BTreeMap<String, SkillUse>,
}

impl Query for WorkNumbersQuery {
    type Output = WorkNumbers;

    fn load(&self, db: &mut DbTx<'_>) -> Result<WorkNumbers, StoreError> {
        let mut tasks = self.stored_tasks(db)?;
        tasks.extend(self.run_tasks(db)?);
        tasks.sort_by_key(|task| task.at);
        let skills = SkillUses { project: self.project.clone(), since: self.since }.load(db)?;
        Ok(WorkNumbers { tasks, agents: self.agents(db)?, skills })
    }
}

impl WorkNumbersQuery {
    /// The tasks that were created by a person or an agent.
    fn stored_tasks(&self, db: &mut DbTx<'_>) -> Result<Vec<FinishedTask>, StoreError> {
        let select = "SELECT completed_at, started_at FROM tasks WHERE completed_at >= $1";
        let query = SqlQuery::new(select, self.since).only("project_id = ?", self.project.as_ref());
        let query = query.and("coalesce(status, '') = 'completed'").and("coalesce(parent_id, '') = ''");
        let read = |mut row: SqlRow| {
            let (at, started) = (row.int()?, row.maybe_int()?);
            Ok(FinishedTask { at, took: started.map(|started| at - started), rounds: None, done: true })
        };
        query.rows(db, "completed_at DESC", MOST)?.into_iter().map(read).collect()
    }

    /// The tasks that runs did, one after another.
    fn run_tasks(&self, db: &mut DbTx<'_>) -> Result<Vec<FinishedTask>, StoreError> {
        let query = SqlQuery::new("SELECT id FROM runs WHERE updated_at >= $1", self.since)
            .only("project_id = ?", self.project.as_ref());
        let runs: Vec<String> =
            query.rows(db, "updated_at DESC", MOST)?.into_iter().map(|mut row| row.text()).collect::<Result<_, _>>()?;
        let mut tasks = Vec::new();
        for part in runs.chunks(BATCH_SIZE) {
            tasks.extend(self.tasks_of_runs(part, db)?);
        }
        Ok(tasks)
    }

    fn tasks_of_runs(&self, runs: &[String], db: &mut DbTx<'_>) -> Result<Vec<FinishedTask>, StoreError> {
        let places: Vec<String> = (1..=BATCH_SIZE).map(|number| format!("${number}")).collect();
        let params: Vec<SqlParam<'_>> = runs.iter().cycle().take(BATCH_SIZE).map(Into::into).collect();
        let sql = format!(
            "SELECT run, at, type, CASE WHEN type = 'run:returned' OR type = 'run:judged' OR type = 'run:left' THEN payload \
             ELSE 'null' END FROM events WHERE run IN ({}) \
             AND type IN ('run:called', 'run:returned', 'run:judged', 'run:left') ORDER BY run, seq",
            places.join(", ")
        );
        let mut tasks = Vec::new();
        let mut current: Option<(String, i64, i64)> = None;
        for mut row in db.rows(&sql, &params)? {
            let (run, at, kind, payload) = (row.text()?, row.int()?, row.text()?, row.text()?);
            match kind.as_str() {
                "run:called" => current = Some((run, at, 1)),
                "run:returned" => {
                    let Some((_, began, rounds)) = current.take().filter(|(of, _, _)| *of == run) else { continue };
                    if at >= self.since {
                        let done = returned_well(&payload);
                        tasks.push(FinishedTask { at, took: Some(at - began), rounds: Some(rounds), done });
                    }
                }
                _ => {
                    if let Some((_, _, rounds)) = current.as_mut().filter(|(of, _, _)| *of == run) {
                        *rounds += i64::from(sends_back(&kind, &payload));
                    }
                }
            }
        }
        Ok(tasks)
    }

    fn agents(&self, db: &mut DbTx<'_>) -> Result<BTreeMap<String, AgentSpending>, StoreError> {
        let select = "SELECT coalesce(s.agent, ''), w.outcome FROM spawns w CROSS JOIN sessions s \
                      WHERE w.updated_at >= $1 AND s.id = w.session_id";
        let query = SqlQuery::new(select, self.since).only("s.project_id = ?", self.project.as_ref());
        let mut agents: BTreeMap<String, AgentSpending> = BTreeMap::new();
        for mut row in query.rows(db, "w.updated_at DESC", MOST)? {
            let (agent, outcome): (String, Option<Json>) = (row.text()?, row.maybe_json()?);
            let spent = agents.entry(agent).or_default();
            spent.sessions += 1;
            let outcome = outcome.and_then(|outcome| serde_json::from_value::<SessionOutcome>(outcome).ok());
            if let Some(work) = outcome.and_then(|outcome| outcome.work) {
                spent.tokens += work.spent.tokens();
                spent.cost_usd += work.spent.cost_usd;
            }
        }
        Ok(agents)
    }
}

fn run_event(kind: &str, payload: &str) -> Option<RunEvent> {
    RunEvent::from_log(kind, payload).ok()?
}

fn returned_well(payload: &str) -> bool {
    matches!(run_event("run:returned", payload), Some(RunEvent::Returned { status: EndStatus::Success, .. }))
}

/// Whether a gate or a review sends the work back.
fn sends_back(kind: &str, payload: &str) -> bool {
    match run_event(kind, payload) {
        Some(RunEvent::Judged { outcome, .. }) => outcome.as_str() == "fail",
        Some(RunEvent::Left { outcome, phase: Some(maestro_core::workflow::StepPhase::Review), .. }) => {
            outcome.as_str() == "fail"
        }
        _ => false,
    }
}
