//! Contents of the first page, as of one moment.

use std::collections::{BTreeSet, HashMap};

use maestro_core::handoff::{Handoff, HandoffState};
use maestro_core::id::{ProjectId, SessionId, TaskId};
use maestro_core::message::SessionMessage;
use maestro_core::session::{TaskSessionStatus, TimelineEntry};
use maestro_core::task::TaskStatus;
use maestro_core::{Project, Session, Task};
use maestro_store::{
    CountProjects, DbTx, HandoffList, LastActivity, LastMessages, LastTimelineEntries, ListExcerpt, ListPage,
    OverviewGroup, OverviewSessions, PageItems, PendingPermissions, PermissionRequest, ProjectById, ProjectCounts,
    ProjectList, Query, SessionById, StoreError, TaskFilter, TaskList, TaskTitles,
};

use super::super::session::query::LastMessageQuery;

/// How long ended sessions are shown.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// How many items of each list are shown; the rest is a number.
const PROJECTS: i64 = 200;
const ASKING: i64 = 50;
const BLOCKED: i64 = 30;
const QUESTIONS: i64 = 30;
const ALIVE: i64 = 100;
/// How many agents' messages are read.
const LISTENED: usize = 40;
const ENDED_BADLY: i64 = 30;
const ENDED_WELL: i64 = 10;
const HANDOFFS: i64 = 5;

/// The query: everything, or one project.
#[derive(Debug, Clone)]
pub(super) struct OverviewQuery {
    pub(super) project: Option<ProjectId>,
    pub(super) at: i64,
}

/// The contents.
#[derive(Debug)]
pub(super) struct OverviewSnapshot {
    /// The selected project.
    pub(super) project: Option<Project>,
    pub(super) projects: Vec<Project>,
    pub(super) counts: ProjectCounts,
    pub(super) asking: ListExcerpt<Session>,
    pub(super) blocked: Vec<BlockedTask>,
    /// The open permission requests, and their sessions.
    pub(super) questions: ListExcerpt<(PermissionRequest, Session)>,
    pub(super) alive: ListExcerpt<Session>,
    pub(super) ended_badly: ListExcerpt<Session>,
    pub(super) ended_well: ListExcerpt<Session>,
    pub(super) handoffs: PageItems<Handoff>,
    /// The last message of each session.
    pub(super) words: HashMap<SessionId, TimelineEntry>,
    /// The last messages of agents that a worker follows, where they are shown.
    pub(super) activity: HashMap<SessionId, AgentActivity>,
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

impl Query for OverviewQuery {
    type Output = OverviewSnapshot;

    fn load(&self, db: &mut DbTx<'_>) -> Result<OverviewSnapshot, StoreError> {
        let since = self.at.saturating_sub(DAY);
        let asking = self.sessions(OverviewGroup::Asking, ASKING, db)?;
        let alive = self.sessions(OverviewGroup::Alive, ALIVE, db)?;
        let ended_badly = self.sessions(OverviewGroup::Failed(since), ENDED_BADLY, db)?;
        let ended_well = self.sessions(OverviewGroup::Completed(since), ENDED_WELL, db)?;
        let blocked = self.blocked(db)?;
        let questions = self.questions(db)?;
        let shown = [&asking, &alive, &ended_badly, &ended_well].map(|part| part.items.iter());
        let stuck = blocked.iter().filter_map(|blocked| blocked.session.as_ref());
        let wanting = questions.items.iter().map(|(_, session)| session);
        let shown: Vec<&Session> = shown.into_iter().flatten().chain(stuck).chain(wanting).collect();
        let sessions: Vec<SessionId> =
            shown.iter().map(|session| session.id.clone()).collect::<BTreeSet<_>>().into_iter().collect();
        let tasks: BTreeSet<TaskId> = shown.iter().filter_map(|session| session.tasks.first().cloned()).collect();
        let project = self.project.clone().map(|id| ProjectById(id).load(db)).transpose()?;
        Ok(OverviewSnapshot {
            project,
            projects: ProjectList { page: first_page(PROJECTS) }.load(db)?.items,
            counts: CountProjects.load(db)?,
            handoffs: self.handoffs(db)?,
            activity: agent_activity(&alive.items, db)?,
            words: LastTimelineEntries { sessions: sessions.clone(), kind: None }.load(db)?,
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

    fn handoffs(&self, db: &mut DbTx<'_>) -> Result<PageItems<Handoff>, StoreError> {
        let state = Some(HandoffState::Pending);
        HandoffList { project: self.project.clone(), to: None, state, page: first_page(HANDOFFS) }.load(db)
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
