//! Contents of the first page, as of one moment.

use std::collections::{BTreeSet, HashMap};

use maestro_core::handoff::{Handoff, HandoffState};
use maestro_core::id::{ProjectId, SessionId, TaskId};
use maestro_core::message::Message;
use maestro_core::session::{PairStatus, TimelineEntry};
use maestro_core::task::TaskStatus;
use maestro_core::{Project, Session, Task};
use maestro_store::{
    Counts, Db, Excerpt, Gaze, Handoffs, LastDeeds, LastMessages, LastSeq, LastWords, Listed, Page, Permission,
    PermissionsWaiting, ProjectById, Projects, Read, SessionById, SessionsSeen, StoreError, Tally, TaskFilter, Tasks,
    Titles,
};

use super::session::Listen;

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
pub(super) struct Now {
    pub(super) project: Option<ProjectId>,
    pub(super) at: i64,
}

/// The contents.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) at: i64,
    pub(super) seq: i64,
    /// The selected project.
    pub(super) project: Option<Project>,
    pub(super) projects: Vec<Project>,
    pub(super) counts: Counts,
    pub(super) asking: Excerpt<Session>,
    pub(super) blocked: Vec<Blocked>,
    /// The open permission requests, and their sessions.
    pub(super) questions: Excerpt<(Permission, Session)>,
    pub(super) alive: Excerpt<Session>,
    pub(super) ended_badly: Excerpt<Session>,
    pub(super) ended_well: Excerpt<Session>,
    pub(super) handoffs: Listed<Handoff>,
    /// The last message of each session.
    pub(super) words: HashMap<SessionId, TimelineEntry>,
    /// The last messages of agents that a worker follows, where they are shown.
    pub(super) heard: HashMap<SessionId, Heard>,
    /// The last message sent to each session.
    pub(super) told: HashMap<SessionId, Message>,
    pub(super) titles: HashMap<TaskId, String>,
}

/// The activity of an agent that a worker follows.
#[derive(Debug)]
pub(super) struct Heard {
    /// When it last did something.
    pub(super) at: i64,
    /// Its last message, and when.
    pub(super) words: Option<(i64, String)>,
}

/// A blocked task, and the session that reported it.
#[derive(Debug)]
pub(super) struct Blocked {
    pub(super) task: Task,
    pub(super) session: Option<Session>,
    /// The reason, in the session's words.
    pub(super) why: Option<TimelineEntry>,
}

impl Read for Now {
    type Output = Seen;

    fn load(&self, db: &mut Db<'_>) -> Result<Seen, StoreError> {
        let since = self.at.saturating_sub(DAY);
        let asking = self.sessions(Gaze::Asking, ASKING, db)?;
        let alive = self.sessions(Gaze::Alive, ALIVE, db)?;
        let ended_badly = self.sessions(Gaze::EndedBadly(since), ENDED_BADLY, db)?;
        let ended_well = self.sessions(Gaze::EndedWell(since), ENDED_WELL, db)?;
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
        Ok(Seen {
            at: self.at,
            seq: LastSeq.load(db)?,
            project,
            projects: Projects { page: first(PROJECTS) }.load(db)?.items,
            counts: Tally.load(db)?,
            handoffs: self.handoffs(db)?,
            heard: heard(&alive.items, db)?,
            words: LastWords { sessions: sessions.clone(), kind: None }.load(db)?,
            told: LastMessages { sessions }.load(db)?,
            titles: Titles { tasks: tasks.into_iter().collect() }.load(db)?,
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
fn heard(alive: &[Session], db: &mut Db<'_>) -> Result<HashMap<SessionId, Heard>, StoreError> {
    let sessions = alive.iter().take(LISTENED).map(|session| session.id.clone()).collect();
    let deeds = LastDeeds { sessions }.load(db)?;
    let hear = |(id, at): (SessionId, i64)| Ok((id.clone(), Heard { at, words: Listen(id).load(db)? }));
    deeds.into_iter().map(hear).collect()
}

fn first(limit: i64) -> Page {
    Page { limit, after: 0 }
}

impl Now {
    fn sessions(&self, gaze: Gaze, limit: i64, db: &mut Db<'_>) -> Result<Excerpt<Session>, StoreError> {
        SessionsSeen { project: self.project.clone(), gaze, limit }.load(db)
    }

    fn questions(&self, db: &mut Db<'_>) -> Result<Excerpt<(Permission, Session)>, StoreError> {
        let waiting =
            PermissionsWaiting { project: self.project.clone(), session: None, at: self.at, limit: QUESTIONS };
        let Excerpt { items, total } = waiting.load(db)?;
        let with_session =
            |asked: Permission| SessionById(asked.session.clone()).load(db).map(|session| (asked, session));
        let items = items.into_iter().map(with_session).collect::<Result<_, _>>()?;
        Ok(Excerpt { items, total })
    }

    fn handoffs(&self, db: &mut Db<'_>) -> Result<Listed<Handoff>, StoreError> {
        let state = Some(HandoffState::Pending);
        Handoffs { project: self.project.clone(), to: None, state, page: first(HANDOFFS) }.load(db)
    }

    /// The blocked tasks. A task that is blocked only by a subtask is left out: the subtask is shown.
    fn blocked(&self, db: &mut Db<'_>) -> Result<Vec<Blocked>, StoreError> {
        let status = Some(TaskStatus::Blocked);
        let filter = TaskFilter { project: self.project.clone(), status, ..TaskFilter::default() };
        let tasks = Tasks { filter, page: first(BLOCKED) }.load(db)?.items;
        let parents: BTreeSet<TaskId> = tasks.iter().filter_map(|task| task.parent.clone()).collect();
        tasks.into_iter().filter(|task| !parents.contains(&task.id)).map(|task| blocked(task, db)).collect()
    }
}

fn blocked(task: Task, db: &mut Db<'_>) -> Result<Blocked, StoreError> {
    let gave_up = |status: Option<PairStatus>| matches!(status, Some(PairStatus::Blocked | PairStatus::Failed));
    let pair = task.sessions.iter().filter(|pair| gave_up(pair.status)).max_by_key(|pair| pair.updated_at);
    let Some(pair) = pair else { return Ok(Blocked { task, session: None, why: None }) };
    let session = SessionById(pair.session.clone()).load(db)?;
    let kind = if pair.status == Some(PairStatus::Blocked) { "task_blocked" } else { "error" };
    let mut why = LastWords { sessions: vec![session.id.clone()], kind: Some(kind) }.load(db)?;
    Ok(Blocked { why: why.remove(&session.id), session: Some(session), task })
}
