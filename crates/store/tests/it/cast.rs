//! Who and what appears in the tests: a project with tasks, sessions that work on them, and what they say.

use maestro_core::SessionRole;
use maestro_core::id::{ProjectId, SessionId};
use maestro_core::notice::SessionNotice;
use maestro_core::report::ReportKind;
use maestro_core::session::{Approach, Session, SessionControl, SessionStatus, TaskSessionStatus};
use maestro_core::task::{Task, TaskStatus};
use maestro_store::*;
use serde_json::Map;

use crate::world::World;

impl World {
    /// The project that everything of a test belongs to.
    pub(crate) async fn project(&self) -> ProjectId {
        let make = || async {
            let project =
                CreateProject { name: "shop".into(), working_dir: "/work/shop".into(), description: String::new() };
            self.store.write(project).await.unwrap().id
        };
        self.project.get_or_init(make).await.clone()
    }

    pub(crate) async fn task(&self, title: &str) -> Task {
        let create = CreateTask { project: Some(self.project().await), title: title.into(), ..CreateTask::default() };
        self.store.write(create).await.unwrap()
    }

    pub(crate) async fn subtask(&self, parent: &Task, title: &str) -> Task {
        self.store.write(below(parent, title, Actor::Person)).await.unwrap()
    }

    pub(crate) async fn session(&self, tasks: &[&Task]) -> Session {
        self.store.write(self.new_session(tasks, Approach::Simple).await).await.unwrap()
    }

    pub(crate) async fn new_session(&self, tasks: &[&Task], strategy: Approach) -> CreateSession {
        CreateSession {
            id: None,
            project: self.project().await,
            tasks: tasks.iter().map(|task| task.id.clone()).collect(),
            name: None,
            role: SessionRole::Worker,
            agent: None,
            strategy,
            status: SessionStatus::Idle,
            env: Map::new(),
            metadata: Map::new(),
            parent: None,
            hostname: "host".into(),
            platform: "linux".into(),
        }
    }

    /// A session reports, and it works.
    pub(crate) async fn says(&self, session: &Session, kind: ReportKind, message: &str) -> ReportResult {
        self.store.write(says(&session.id, kind, message)).await.unwrap()
    }

    /// A session gives a sign of life.
    pub(crate) async fn heartbeat(&self, session: &Session) -> ReportResult {
        self.store.write(heartbeat(&session.id)).await.unwrap()
    }

    pub(crate) async fn steer(&self, session: &Session, order: SessionControl) -> Session {
        self.store.write(steer(&session.id, order, Actor::Person)).await.unwrap()
    }

    pub(crate) async fn confirm(&self, session: &Session, cursor: i64) {
        let confirm =
            ConfirmNotices { session: session.id.clone(), cursor, how: "reply".into(), actor: worker(session) };
        self.store.write(confirm).await.unwrap();
    }

    /// A person gives a task another status.
    pub(crate) async fn set_status(&self, task: &Task, status: TaskStatus) -> Task {
        self.store.write(set_status(task, status, Actor::Person)).await.unwrap()
    }

    pub(crate) async fn status(&self, task: &Task) -> TaskStatus {
        self.store.read(TaskById(task.id.clone())).await.unwrap().status
    }

    /// What a session last said of a task.
    pub(crate) async fn pair(&self, task: &Task, session: &Session) -> Option<TaskSessionStatus> {
        let task = self.store.read(TaskById(task.id.clone())).await.unwrap();
        task.sessions.iter().find(|pair| pair.session == session.id).unwrap().status
    }

    pub(crate) async fn find(&self, session: &Session) -> Session {
        self.store.read(SessionById(session.id.clone())).await.unwrap()
    }

    /// All events after one.
    pub(crate) async fn events_after(&self, seq: i64) -> Vec<EventRow> {
        self.store.read(EventsAfter { seq, limit: i64::MAX, filter: EventFilter::default() }).await.unwrap()
    }

    pub(crate) async fn last_seq(&self) -> i64 {
        self.store.read(LastEventSeq).await.unwrap()
    }

    /// Nothing is where it should not be.
    pub(crate) async fn assert_in_order(&self) {
        assert_eq!(self.store.read(CheckIntegrity).await.unwrap(), []);
    }
}

pub(crate) fn worker(session: &Session) -> Actor {
    Actor::Session { id: session.id.clone(), role: SessionRole::Worker }
}

pub(crate) fn orchestrator(session: &Session) -> Actor {
    Actor::Session { id: session.id.clone(), role: SessionRole::Orchestrator }
}

pub(crate) fn below(parent: &Task, title: &str, actor: Actor) -> CreateTask {
    CreateTask { parent: Some(parent.id.clone()), title: title.into(), actor, ..CreateTask::default() }
}

pub(crate) fn says(session: &SessionId, kind: ReportKind, message: &str) -> SubmitReport {
    SubmitReport {
        source: ReportSource::Session(session.clone()),
        kind,
        message: Some(message.into()),
        tasks: Vec::new(),
        metadata: None,
        question: QuestionFate::Stays,
        actor: Actor::Session { id: session.clone(), role: SessionRole::Worker },
    }
}

pub(crate) fn heartbeat(session: &SessionId) -> SubmitReport {
    SubmitReport { message: None, ..says(session, ReportKind::Progress, "") }
}

pub(crate) fn steer(session: &SessionId, order: SessionControl, actor: Actor) -> ControlSession {
    ControlSession { id: session.clone(), control: order, actor }
}

pub(crate) fn set_status(task: &Task, status: TaskStatus, actor: Actor) -> UpdateTask {
    let patch = TaskPatch { status: Some(status), ..TaskPatch::default() };
    UpdateTask { id: task.id.clone(), patch, task_session: None, expected: None, actor }
}

pub(crate) fn rename(task: &Task, title: &str, actor: Actor) -> UpdateTask {
    let patch = TaskPatch { title: Some(title.into()), ..TaskPatch::default() };
    UpdateTask { id: task.id.clone(), patch, task_session: None, expected: None, actor }
}

pub(crate) fn added(task: &Task) -> SessionNotice {
    SessionNotice::SubtaskAdded {
        task: task.id.clone(),
        title: task.title.clone(),
        description: task.description.clone(),
    }
}

/// Asserts that something was refused in a certain way.
macro_rules! assert_refused {
    ($result:expr, $pattern:pat $(if $guard:expr)?) => {
        match $result {
            Err($pattern) $(if $guard)? => {}
            other => panic!("refused otherwise: {other:?}"),
        }
    };
}

pub(crate) use assert_refused;
