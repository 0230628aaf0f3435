//! Workflow runs: one row and one revision each, so that the second of two concurrent changes is refused.

mod hosts;
mod queries;

use std::collections::BTreeMap;

use maestro_core::agent::RunRights;
use maestro_core::event::{Event, RunId};
use maestro_core::id::{ProjectId, SessionId, TaskId};
use maestro_core::work_state::RunLanding;
use maestro_core::workflow::pinned_definition::PinnedText;
use maestro_core::workflow::run::{AwaitedParty, Run, RunEvent, Ticket, awaited_party};
pub use maestro_core::workflow::run::{RunDriver as Driver, RunExecutor as Executing, RunState};
use serde::{Deserialize, Serialize};

use crate::change::Change;
use crate::db::DbTx;
use crate::error::{RecordKind, StoreError};
use crate::tx::{ChangeTx, EventScope};
use crate::value::{SqlParam, SqlRow, to_json};
use crate::{projects, task_rows};

pub use hosts::{HostKind, HostRun, HostsOfRuns, InvalidRunHost, RecordLanding, RunHost, RunsOfHost};
pub use queries::{
    CurrentRuns, EndedSubruns, OverdueRuns, PinnedDefinitions, RecentRuns, RunById, RunList, RunLog, RunTail,
    UndrivenRuns,
};

/// The version of what is kept of a run; a program that keeps it otherwise knows this one too.
const STATE_VERSION: i64 = 1;

/// A run as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Which.
    pub id: RunId,
    /// What it belongs to.
    pub about: RunOrigin,
    /// The hash of what it was started with.
    pub hash: String,
    /// Its current state.
    pub run: Run,
    /// The current executor, if any.
    pub executor: Option<Executing>,
    /// The process that carries it on, if one does.
    pub host: Option<RunHost>,
    /// What became of its result.
    pub landing: Option<RunLanding>,
    /// When it began.
    pub created_at: i64,
    /// When it last changed.
    pub updated_at: i64,
    /// When it ended.
    pub ended_at: Option<i64>,
    /// How often it changed.
    pub revision: i64,
}

/// What a run belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunOrigin {
    /// The workflow, by the name it was started by.
    pub workflow: String,
    /// The project.
    pub project: Option<ProjectId>,
    /// The task.
    pub task: Option<TaskId>,
    /// The session that started it.
    pub session: Option<SessionId>,
    /// The run and the ticket it reports to when it ends.
    pub parent: Option<(RunId, Ticket)>,
    /// Who executes its commands.
    pub driver: Driver,
    /// The most that its agents may do.
    #[serde(default = "rights_before")]
    pub rights: RunRights,
}

/// The rights of runs that started before there was a limit: what they had.
fn rights_before() -> RunRights {
    RunRights::UNLIMITED
}

pub(crate) const SELECT: &str = "SELECT ord, id, workflow, project_id, task_id, session_id, parent_run, parent_ticket, driver, rights, \
                      definitions_hash, state, executor, executor_until, host, landing, created_at, updated_at, ended_at, revision \
                      FROM runs";

pub(crate) fn record(row: &mut SqlRow) -> Result<RunRecord, StoreError> {
    Ok(RunRecord {
        id: row.parsed()?,
        about: RunOrigin {
            workflow: row.text()?,
            project: row.maybe_parsed()?,
            task: row.maybe_parsed()?,
            session: row.maybe_parsed()?,
            parent: {
                let (run, ticket): (Option<RunId>, _) = (row.maybe_parsed()?, row.maybe_text()?);
                run.zip(ticket.map(Ticket::quoted))
            },
            driver: {
                let word = row.text()?;
                Driver::from_word(&word).ok_or_else(|| StoreError::corrupt(format!("driver `{word}`")))?
            },
            rights: row.maybe_json()?.unwrap_or_else(rights_before),
        },
        hash: row.text()?,
        run: row.json()?,
        executor: {
            let (by, until) = (row.maybe_text()?, row.maybe_int()?);
            by.zip(until).map(|(by, until)| Executing { by, until })
        },
        host: row.maybe_parsed()?,
        landing: row.maybe_json()?,
        created_at: row.int()?,
        updated_at: row.int()?,
        ended_at: row.maybe_int()?,
        revision: row.int()?,
    })
}

fn found(db: &mut DbTx<'_>, condition: &str, params: &[SqlParam<'_>]) -> Result<Option<RunRecord>, StoreError> {
    let Some(mut row) = db.row(&format!("{SELECT} WHERE {condition}{}", db.lock_clause()), params)? else {
        return Ok(None);
    };
    row.int()?;
    record(&mut row).map(Some)
}

fn by_id(db: &mut DbTx<'_>, id: &RunId) -> Result<RunRecord, StoreError> {
    let text = id.to_string();
    found(db, "id = $1", &[(&text).into()])?.ok_or_else(|| StoreError::not_found(RecordKind::Run, id))
}

fn emit(tx: &mut ChangeTx<'_>, id: &RunId, about: &RunOrigin, events: &[RunEvent]) {
    let scope = EventScope {
        project: about.project.clone(),
        task: about.task.clone(),
        session: about.session.clone(),
        run: Some(id.to_string()),
    };
    for event in events {
        tx.emit(scope.clone(), Event::Run(event.clone()));
    }
}

/// Starts a run. Of two that report to the same ticket the first one counts, and both callers receive it.
#[derive(Debug, Clone)]
pub struct StartRun {
    /// Its id.
    pub id: RunId,
    /// What it belongs to.
    pub about: RunOrigin,
    /// The hash of what it is started with.
    pub hash: String,
    /// What it is started with.
    pub definitions: BTreeMap<String, PinnedText>,
    /// What happened so far.
    pub events: Vec<RunEvent>,
    /// The state after that.
    pub run: Run,
    /// When to check whether time ran out.
    pub deadline: Option<i64>,
    /// The process that carries it on.
    pub host: Option<RunHost>,
    /// What it works through, where only one run may at a time.
    pub work_key: Option<String>,
}

impl Change for StartRun {
    type Output = RunRecord;

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<RunRecord, StoreError> {
        let about = &self.about;
        if let Some(project) = &about.project {
            projects::by_id(tx, project)?;
        }
        // What a run is a part of may have outlived its task; only what begins by itself needs one that is there.
        if let (Some(task), None) = (&about.task, &about.parent) {
            task_rows::by_id(tx, task)?;
        }
        let parent = about.parent.as_ref().map(|(run, ticket)| (run.to_string(), ticket.as_str()));
        if let Some((run, ticket)) = &parent
            && let Some(first) = found(tx, "parent_run = $1 AND parent_ticket = $2", &[run.into(), (*ticket).into()])?
        {
            return Ok(first);
        }
        if let Some(key) = &self.work_key {
            require_free(tx, key)?;
        }
        tx.execute(
            "INSERT INTO pinned_definitions (hash, definitions) VALUES ($1, $2) ON CONFLICT (hash) DO NOTHING",
            &[(&self.hash).into(), (&to_json(&self.definitions)?).into()],
        )?;
        let (id, state) = (self.id.to_string(), to_json(&self.run)?);
        let rights = to_json(&about.rights)?;
        let (status, waiting, step, agents) = summary(&self.run);
        let ended = self.run.is_over().then_some(tx.now);
        tx.execute(
            "INSERT INTO runs (id, project_id, task_id, session_id, parent_run, parent_ticket, workflow, \
             definitions_hash, driver, rights, state, state_version, status, waiting, step, deadline, created_at, \
             updated_at, ended_at, host, work_key, awaited_agents, revision) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, \
             $22, 1)",
            &[
                (&id).into(),
                about.project.as_ref().into(),
                about.task.as_ref().into(),
                about.session.as_ref().into(),
                parent.as_ref().map(|(run, _)| run).into(),
                parent.as_ref().map(|(_, ticket)| *ticket).into(),
                (&about.workflow).into(),
                (&self.hash).into(),
                about.driver.as_str().into(),
                (&rights).into(),
                (&state).into(),
                STATE_VERSION.into(),
                status.into(),
                waiting.into(),
                step.as_ref().into(),
                self.deadline.into(),
                tx.now.into(),
                tx.now.into(),
                ended.into(),
                self.host.as_ref().map(ToString::to_string).as_ref().into(),
                self.work_key.as_ref().into(),
                agents.into(),
            ],
        )?;
        emit(tx, &self.id, about, &self.events);
        by_id(tx, &self.id)
    }
}

/// Refuses a second run that works through the same.
fn require_free(tx: &mut ChangeTx<'_>, key: &str) -> Result<(), StoreError> {
    let first = tx.row("SELECT id FROM runs WHERE work_key = $1 AND ended_at IS NULL", &[key.into()])?;
    first.map_or(Ok(()), |mut row| Err(StoreError::WorkTaken { run: row.text()? }))
}

/// The same for a run that stopped and continues.
fn require_free_again(tx: &mut ChangeTx<'_>, id: &str) -> Result<(), StoreError> {
    let key = tx.row("SELECT work_key FROM runs WHERE id = $1", &[id.into()])?;
    match key.map(|mut row| row.maybe_text()).transpose()?.flatten() {
        Some(key) => require_free(tx, &key),
        None => Ok(()),
    }
}

/// What a list of runs shows of where one stands.
fn summary(run: &Run) -> (&'static str, Option<&'static str>, Option<String>, i64) {
    let step = run.position().map(|position| position.step.to_string());
    let agents = i64::try_from(run.awaited_agents()).unwrap_or(i64::MAX);
    (RunState::of(&run.status).as_str(), awaited_party(run).map(AwaitedParty::as_str), step, agents)
}

/// Advances a run, unless another change came first.
#[derive(Debug, Clone)]
pub struct AdvanceRun {
    /// Which.
    pub id: RunId,
    /// The revision it was read at.
    pub revision: i64,
    /// What happened.
    pub events: Vec<RunEvent>,
    /// The state after that.
    pub run: Run,
    /// The new executor, if any.
    pub executor: Option<Executing>,
    /// When to check whether time ran out.
    pub deadline: Option<i64>,
}

impl Change for AdvanceRun {
    type Output = RunRecord;

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<RunRecord, StoreError> {
        let before = by_id(tx, &self.id)?;
        if before.revision != self.revision {
            return Err(StoreError::StaleRevision {
                what: RecordKind::Run,
                id: self.id.to_string(),
                expected: self.revision,
                current: before.revision,
            });
        }
        let (id, state) = (self.id.to_string(), to_json(&self.run)?);
        if before.run.is_over() && !self.run.is_over() {
            require_free_again(tx, &id)?;
        }
        let (status, waiting, step, agents) = summary(&self.run);
        let ended = self.run.is_over().then_some(tx.now);
        let landing = RunLanding::of_ending(&self.run, tx.now);
        tx.execute(
            "UPDATE runs SET state = $1, status = $2, waiting = $3, step = $4, executor = $5, executor_until = $6, \
             deadline = $7, updated_at = $8, ended_at = $9, landing = coalesce($10, landing), \
             awaited_agents = $11, revision = revision + 1 WHERE id = $12",
            &[
                (&state).into(),
                status.into(),
                waiting.into(),
                step.as_ref().into(),
                self.executor.as_ref().map(|executor| &executor.by).into(),
                self.executor.as_ref().map(|executor| executor.until).into(),
                self.deadline.into(),
                tx.now.into(),
                ended.into(),
                landing.as_ref().map(to_json).transpose()?.as_ref().into(),
                agents.into(),
                (&id).into(),
            ],
        )?;
        emit(tx, &self.id, &before.about, &self.events);
        Ok(RunRecord {
            run: self.run.clone(),
            executor: self.executor.clone(),
            landing: landing.or(before.landing),
            updated_at: tx.now,
            ended_at: ended,
            revision: before.revision + 1,
            ..before
        })
    }
}
