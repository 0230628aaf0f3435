//! Contents of the first screen, as of one moment.

use std::collections::{BTreeSet, HashMap};

use maestro_core::id::{ProjectId, SessionId, TaskId};
use maestro_core::message::SessionMessage;
use maestro_core::session::{TaskSessionStatus, TimelineEntry};
use maestro_core::task::TaskStatus;
use maestro_core::{Project, Session, Task};
use maestro_store::{
    CurrentRuns, DbTx, LastActivity, LastMessages, LastTimelineEntries, ListExcerpt, ListPage, OverviewGroup,
    OverviewSessions, PendingPermissions, PermissionRequest, ProjectById, ProjectList, Query, RunList, RunRecord,
    SessionById, SpendSince, SpendTotal, StepSessionEnds, StoreError, TaskFilter, TaskList, TaskTitles,
};

use super::super::run::query::LastMessageQuery;
use crate::page::agent_totals::AgentTotals;

/// How many items of each list are read; the rest is a number.
const PROJECTS: i64 = 200;
const ASKING: i64 = 50;
const BLOCKED: i64 = 30;
const QUESTIONS: i64 = 30;
const ALIVE: i64 = 400;
const RUNS: i64 = 60;
/// How many agents' messages are read.
const LISTENED: usize = 40;
const ENDED_BADLY: i64 = 30;
const ENDED_WELL: i64 = 30;
/// How many runs are looked at to find out what has ever been tried.
const FIRST_RUNS: i64 = 20;

/// The query: everything, or one project.
#[derive(Debug, Clone)]
pub(super) struct OverviewQuery {
    pub(super) project: Option<ProjectId>,
    pub(super) at: i64,
    /// When the person was last here.
    pub(super) since: i64,
    /// What agents used so far, if they were read before.
    pub(super) totals: HashMap<SessionId, AgentTotals>,
}

/// The contents.
#[derive(Debug)]
pub(super) struct OverviewSnapshot {
    /// The selected project.
    pub(super) project: Option<Project>,
    pub(super) projects: Vec<Project>,
    /// The runs that go on, are to be reviewed, or ended since the last visit, newest first.
    pub(super) runs: Vec<RunRecord>,
    /// What the ended sessions of each of them cost.
    pub(super) costs: HashMap<String, SpendTotal>,
    /// The first runs there ever were.
    pub(super) first_runs: Vec<RunRecord>,
    pub(super) spend: SpendTotal,
    pub(super) totals: HashMap<SessionId, AgentTotals>,
    pub(super) asking: ListExcerpt<Session>,
    pub(super) blocked: Vec<BlockedTask>,
    /// The open permission requests, and their sessions.
    pub(super) questions: ListExcerpt<(PermissionRequest, Session)>,
    pub(super) alive: ListExcerpt<Session>,
    pub(super) ended_badly: ListExcerpt<Session>,
    pub(super) ended_well: ListExcerpt<Session>,
    /// The last message of each session.
    pub(super) words: HashMap<SessionId, TimelineEntry>,
    /// The last messages of agents that a worker follows, where they are shown.
    pub(super) activity: HashMap<SessionId, AgentActivity>,
    /// Why the agents of sessions last ended, where they start again.
    pub(super) restarts: HashMap<SessionId, TimelineEntry>,
    /// The last message sent to each session.
    pub(super) told: HashMap<SessionId, SessionMessage>,
    pub(super) titles: HashMap<TaskId, String>,
}

/// The activity of an agent that a worker follows.
#[derive(Debug)]
pub(super) struct AgentActivity {
    /// When it last did something.
    pub(super) at: i64,
    /// Its last message, and when.
    pub(super) words: Option<(i64, String)>,
}

/// A blocked task, and the session that reported it.
#[derive(Debug)]
pub(super) struct BlockedTask {
    pub(super) task: Task,
    pub(super) session: Option<Session>,
    /// The reason, in the session's words.
    pub(super) why: Option<TimelineEntry>,
}

impl BlockedTask {
    /// Whether it is this session that did not get on with it.
    pub(super) fn is_by(&self, session: &Session) -> bool {
        self.session.as_ref().is_some_and(|by| by.id == session.id)
    }
}

impl Query for OverviewQuery {
    type Output = OverviewSnapshot;

    fn load(&self, db: &mut DbTx<'_>) -> Result<OverviewSnapshot, StoreError> {
        let asking = self.sessions(OverviewGroup::Asking, ASKING, db)?;
        let alive = self.sessions(OverviewGroup::Alive, ALIVE, db)?;
        let ended_badly = self.sessions(OverviewGroup::Failed(self.since), ENDED_BADLY, db)?;
        let ended_well = self.sessions(OverviewGroup::Completed(self.since), ENDED_WELL, db)?;
        let blocked = self.blocked(db)?;
        let questions = self.questions(db)?;
        let shown = [&asking, &alive, &ended_badly, &ended_well].map(|part| part.items.iter());
        let stuck = blocked.iter().filter_map(|blocked| blocked.session.as_ref());
        let wanting = questions.items.iter().map(|(_, session)| session);
        let shown: Vec<&Session> = shown.into_iter().flatten().chain(stuck).chain(wanting).collect();
        let sessions: Vec<SessionId> =
            shown.iter().map(|session| session.id.clone()).collect::<BTreeSet<_>>().into_iter().collect();
        let runs = CurrentRuns { project: self.project.clone(), since: self.since, limit: RUNS }.load(db)?;
        let of_runs = runs.iter().filter_map(|run| run.about.task.clone());
        let tasks: BTreeSet<TaskId> =
            shown.iter().filter_map(|session| session.tasks.first().cloned()).chain(of_runs).collect();
        let restarting: Vec<SessionId> = alive.items.iter().map(|session| session.id.clone()).collect();
        Ok(OverviewSnapshot {
            project: self.project.clone().map(|id| ProjectById(id).load(db)).transpose()?,
            projects: ProjectList { page: first_page(PROJECTS) }.load(db)?.items,
            costs: ended_costs(&runs, db)?,
            runs,
            first_runs: RunList { page: first_page(FIRST_RUNS), ..RunList::default() }.load(db)?.items,
            spend: SpendSince { project: self.project.clone(), since: self.since }.load(db)?,
            totals: self.read_totals(&alive.items, db)?,
            activity: agent_activity(&alive.items, db)?,
            words: LastTimelineEntries { sessions: sessions.clone(), kind: None }.load(db)?,
            restarts: LastTimelineEntries { sessions: restarting, kind: Some("agent_ended") }.load(db)?,
            told: LastMessages { sessions }.load(db)?,
            titles: TaskTitles { tasks: tasks.into_iter().collect() }.load(db)?,
            asking,
            blocked,
            questions,
            alive,
            ended_badly,
            ended_well,
        })
    }
}

/// What the ended sessions of each run cost.
fn ended_costs(runs: &[RunRecord], db: &mut DbTx<'_>) -> Result<HashMap<String, SpendTotal>, StoreError> {
    let mut costs = HashMap::new();
    for run in runs {
        let mut total = SpendTotal::default();
        for outcome in StepSessionEnds(run.id).load(db)?.into_iter().filter_map(|end| end.outcome) {
            let cost = outcome.usage().cost_usd;
            total.cost_usd += cost;
            total.unreported += i64::from(outcome.work.is_some() && cost <= 0.0);
        }
        costs.insert(run.id.to_string(), total);
    }
    Ok(costs)
}

/// Reads the activity of the agents that a worker follows.
fn agent_activity(alive: &[Session], db: &mut DbTx<'_>) -> Result<HashMap<SessionId, AgentActivity>, StoreError> {
    let sessions = alive.iter().take(LISTENED).map(|session| session.id.clone()).collect();
    let deeds = LastActivity { sessions }.load(db)?;
    let entry =
        |(id, at): (SessionId, i64)| Ok((id.clone(), AgentActivity { at, words: LastMessageQuery(id).load(db)? }));
    deeds.into_iter().map(entry).collect()
}

fn first_page(limit: i64) -> ListPage {
    ListPage { limit, after: 0 }
}

impl OverviewQuery {
    fn sessions(&self, gaze: OverviewGroup, limit: i64, db: &mut DbTx<'_>) -> Result<ListExcerpt<Session>, StoreError> {
        OverviewSessions { project: self.project.clone(), group: gaze, limit }.load(db)
    }

    fn questions(&self, db: &mut DbTx<'_>) -> Result<ListExcerpt<(PermissionRequest, Session)>, StoreError> {
        let waiting =
            PendingPermissions { project: self.project.clone(), session: None, at: self.at, limit: QUESTIONS };
        let ListExcerpt { items, total } = waiting.load(db)?;
        let with_session =
            |asked: PermissionRequest| SessionById(asked.session.clone()).load(db).map(|session| (asked, session));
        let items = items.into_iter().map(with_session).collect::<Result<_, _>>()?;
        Ok(ListExcerpt { items, total })
    }

    /// What the agents of living sessions used so far; only what is new is read.
    fn read_totals(&self, alive: &[Session], db: &mut DbTx<'_>) -> Result<HashMap<SessionId, AgentTotals>, StoreError> {
        let read = |session: &Session| {
            let known = self.totals.get(&session.id).cloned().unwrap_or_default();
            Ok((session.id.clone(), known.read_new(&session.id, db)?))
        };
        alive.iter().take(LISTENED).map(read).collect()
    }

    /// The blocked tasks. A task that is blocked only by a subtask is left out: the subtask is shown.
    fn blocked(&self, db: &mut DbTx<'_>) -> Result<Vec<BlockedTask>, StoreError> {
        let status = Some(TaskStatus::Blocked);
        let filter = TaskFilter { project: self.project.clone(), status, ..TaskFilter::default() };
        let tasks = TaskList { filter, page: first_page(BLOCKED) }.load(db)?.items;
        let parents: BTreeSet<TaskId> = tasks.iter().filter_map(|task| task.parent.clone()).collect();
        tasks.into_iter().filter(|task| !parents.contains(&task.id)).map(|task| blocked(task, db)).collect()
    }
}

fn blocked(task: Task, db: &mut DbTx<'_>) -> Result<BlockedTask, StoreError> {
    let gave_up = |status: Option<TaskSessionStatus>| {
        matches!(status, Some(TaskSessionStatus::Blocked | TaskSessionStatus::Failed))
    };
    let pair = task.sessions.iter().filter(|pair| gave_up(pair.status)).max_by_key(|pair| pair.updated_at);
    let Some(pair) = pair else { return Ok(BlockedTask { task, session: None, why: None }) };
    let session = SessionById(pair.session.clone()).load(db)?;
    let kind = if pair.status == Some(TaskSessionStatus::Blocked) { "task_blocked" } else { "error" };
    let mut why = LastTimelineEntries { sessions: vec![session.id.clone()], kind: Some(kind) }.load(db)?;
    Ok(BlockedTask { why: why.remove(&session.id), session: Some(session), task })
}
