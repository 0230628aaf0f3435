//! Do random changes keep what must always hold?
//!
//! After each of them: the check finds nothing; what was refused left no trace, and was refused for a reason of the
//! domain; and a task is in progress only while somebody can be expected to go on with it. That is a living session
//! bound to it or to a task above it, a subtask that is being worked on or looked at, or subtasks that are still open
//! after all who worked on the task itself have completed it.

use maestro_core::id::{SessionId, TaskId};
use maestro_core::report::ReportKind;
use maestro_core::session::{Approach, Session, SessionControl, SessionStatus, TaskSessionStatus};
use maestro_core::task::{Task, TaskStatus};
use maestro_store::*;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{RngSeed, TestCaseError};

use crate::cast::{heartbeat, says, steer};
use crate::world::{MINUTE, World};

/// A change; numbers stand for one of the youngest tasks or sessions there are, or were.
#[derive(Debug, Clone)]
enum Step {
    AddTask(Option<usize>),
    AddSession(Vec<usize>, Approach),
    Bind(usize, usize),
    Unbind(usize, usize),
    Report(usize, ReportKind, Option<usize>),
    Heartbeat(usize),
    Steer(usize, SessionControl, bool),
    SetTask(usize, TaskStatus, Option<usize>),
    SetSession(usize, SessionStatus, bool),
    DropTask(usize, SubtaskPolicy),
    DropSession(usize),
    Say(usize),
    Confirm(usize),
    QueueStart(usize),
    QueueEnd(usize, QueueStep),
    QueuePush(usize, usize),
    Silence,
    Forget,
}

fn step() -> impl Strategy<Value = Step> {
    let one = || 0..4_usize;
    // What a person says by hand would hide whether the rest follows from others, so nobody begins a task by hand.
    let statuses = [TaskStatus::Todo, TaskStatus::Completed, TaskStatus::Cancelled, TaskStatus::Blocked];
    let steps = vec![QueueStep::Complete, QueueStep::Fail(None), QueueStep::Skip];
    prop_oneof![
        3 => proptest::option::weighted(0.7, one()).prop_map(Step::AddTask),
        3 => (proptest::collection::vec(one(), 1..3), select(&Approach::ALL)).prop_map(|(t, a)| Step::AddSession(t, a)),
        1 => (one(), one()).prop_map(|(s, t)| Step::Bind(s, t)),
        1 => (one(), one()).prop_map(|(s, t)| Step::Unbind(s, t)),
        8 => (one(), select(ReportKind::ALL.to_vec()), proptest::option::of(one()))
            .prop_map(|(s, k, t)| Step::Report(s, k, t)),
        1 => one().prop_map(Step::Heartbeat),
        2 => (one(), select(vec![SessionControl::Pause, SessionControl::Resume, SessionControl::Cancel]), any::<bool>())
            .prop_map(|(s, o, own)| Step::Steer(s, o, own)),
        3 => (one(), select(statuses.to_vec()), proptest::option::of(one())).prop_map(|(t, st, s)| Step::SetTask(t, st, s)),
        2 => (one(), select(&SessionStatus::ALL), any::<bool>()).prop_map(|(s, st, own)| Step::SetSession(s, st, own)),
        1 => (one(), select(vec![SubtaskPolicy::Keep, SubtaskPolicy::Delete])).prop_map(|(t, what)| Step::DropTask(t, what)),
        1 => one().prop_map(Step::DropSession),
        1 => one().prop_map(Step::Say),
        1 => one().prop_map(Step::Confirm),
        2 => one().prop_map(Step::QueueStart),
        2 => (one(), select(steps)).prop_map(|(s, how)| Step::QueueEnd(s, how)),
        1 => (one(), one()).prop_map(|(s, t)| Step::QueuePush(s, t)),
        1 => Just(Step::Silence),
        1 => Just(Step::Forget),
    ]
}

/// A world and all that ever was in it.
struct History {
    world: World,
    tasks: Vec<TaskId>,
    sessions: Vec<SessionId>,
}

/// One of the youngest; some of them may be gone.
fn young<T: Clone>(all: &[T], number: usize) -> Option<T> {
    all.iter().rev().nth(number % all.len().max(1)).cloned()
}

impl History {
    fn task(&self, number: usize) -> TaskId {
        young(&self.tasks, number).unwrap_or_else(|| "ghost".parse().unwrap())
    }

    fn session(&self, number: usize) -> SessionId {
        young(&self.sessions, number).unwrap_or_else(|| "ghost".parse().unwrap())
    }

    fn actor(&self, session: Option<usize>) -> Actor {
        let role = maestro_core::SessionRole::Worker;
        session.map_or(Actor::Person, |number| Actor::Session { id: self.session(number), role })
    }

    async fn make(&mut self, step: Step) -> Result<(), StoreError> {
        match step {
            Step::AddTask(parent) => {
                let parent = parent.map(|number| self.task(number));
                let project = Some(self.world.project().await).filter(|_| parent.is_none());
                let create = CreateTask { project, parent, title: "task".into(), ..CreateTask::default() };
                self.tasks.push(self.world.store.write(create).await?.id);
            }
            Step::AddSession(tasks, strategy) => {
                let tasks = tasks.into_iter().map(|number| self.task(number)).collect();
                let create = CreateSession { tasks, ..self.world.new_session(&[], strategy).await };
                self.sessions.push(self.world.store.write(create).await?.id);
            }
            other => self.change(other).await?,
        }
        Ok(())
    }

    async fn change(&self, step: Step) -> Result<(), StoreError> {
        let (store, person) = (&self.world.store, Actor::Person);
        match step {
            Step::AddTask(_) | Step::AddSession(..) => {}
            Step::Bind(s, t) => {
                store.write(BindTask { session: self.session(s), task: self.task(t), actor: person }).await?;
            }
            Step::Unbind(s, t) => {
                store.write(UnbindTask { session: self.session(s), task: self.task(t), actor: person }).await?;
            }
            Step::Report(s, kind, t) => {
                let tasks = t.map(|number| self.task(number)).into_iter().collect();
                store.write(SubmitReport { tasks, ..says(&self.session(s), kind, "words") }).await?;
            }
            Step::Heartbeat(s) => drop(store.write(heartbeat(&self.session(s))).await?),
            Step::Steer(s, order, own) => {
                store.write(steer(&self.session(s), order, self.actor(own.then_some(s)))).await?;
            }
            Step::SetTask(t, status, s) => {
                let patch = TaskPatch { status: Some(status), ..TaskPatch::default() };
                let (id, actor) = (self.task(t), self.actor(s));
                store.write(UpdateTask { id, patch, task_session: None, expected: None, actor }).await?;
            }
            Step::SetSession(s, status, own) => {
                let update = UpdateSession::of(self.session(s), self.actor(own.then_some(s)));
                store.write(UpdateSession { status: Some(status), ..update }).await?;
            }
            Step::DropTask(t, subtasks) => {
                store.write(DeleteTask { id: self.task(t), subtasks, actor: person }).await?;
            }
            Step::DropSession(s) => store.write(DeleteSession { id: self.session(s), actor: person }).await?,
            Step::Say(s) => {
                let (session, text) = (self.session(s), "words".to_owned());
                store.write(SendMessage { session, from: "ada".into(), text, actor: person }).await?;
            }
            Step::Confirm(s) => {
                let (session, how) = (self.session(s), "reply".to_owned());
                let cursor = store.read(SessionNotices(session.clone())).await?.cursor;
                store.write(ConfirmNotices { session, cursor, how, actor: person }).await?;
            }
            Step::QueueStart(s) => drop(store.write(QueueStart { session: self.session(s), actor: person }).await?),
            Step::QueueEnd(s, step) => {
                store.write(QueueEnd { session: self.session(s), step, actor: person }).await?;
            }
            Step::QueuePush(s, t) => {
                store.write(QueuePush { session: self.session(s), task: self.task(t), actor: person }).await?;
            }
            Step::Silence => {
                self.world.wait(16 * MINUTE);
                store.write(ExpireSilentSessions).await?;
            }
            Step::Forget => {
                self.world.wait(MINUTE);
                store.write(PruneHistory { events: MINUTE, from: 0 }).await?;
            }
        }
        Ok(())
    }

    async fn everything(&self) -> (Vec<Task>, Vec<Session>, i64) {
        let store = &self.world.store;
        (
            store.read(TaskList::default()).await.unwrap().items,
            store.read(SessionList::default()).await.unwrap().items,
            self.world.last_seq().await,
        )
    }
}

/// Whether somebody can be expected to go on with a task that is in progress.
fn goes_on(task: &Task, tasks: &[Task], sessions: &[Session]) -> bool {
    let subtasks = || tasks.iter().filter(|other| other.parent.as_ref() == Some(&task.id));
    let alive = |id: &SessionId| sessions.iter().any(|session| session.id == *id && !session.status.is_over());
    let mut up = Some(task);
    while let Some(above) = up {
        if above.sessions.iter().any(|pair| alive(&pair.session)) {
            return true;
        }
        up = tasks.iter().find(|other| Some(&other.id) == above.parent.as_ref());
    }
    let completed = task.sessions.iter().any(|pair| pair.status == Some(TaskSessionStatus::Completed));
    let active = |status| matches!(status, TaskStatus::InProgress | TaskStatus::InReview);
    subtasks().any(|subtask| active(subtask.status))
        || (completed && subtasks().any(|subtask| !subtask.status.is_closed()))
}

fn is_of_the_domain(refusal: &StoreError) -> bool {
    use StoreError::{Forbidden, Invalid, InvalidControl, NotFound, Rule, SessionTransition, TaskTransition};
    matches!(
        refusal,
        NotFound { .. }
            | TaskTransition { .. }
            | SessionTransition { .. }
            | InvalidControl { .. }
            | Rule(_)
            | Invalid(_)
            | Forbidden(_)
    )
}

async fn keeps_the_laws(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut history = History { world: World::sqlite(), tasks: Vec::new(), sessions: Vec::new() };
    // Something to begin with, so that most changes meet something.
    let first = [
        Step::AddTask(None),
        Step::AddTask(Some(0)),
        Step::AddSession(vec![1], Approach::Simple),
        Step::AddSession(vec![0, 1], Approach::Queue),
    ];
    for step in first.into_iter().chain(steps) {
        let before = history.everything().await;
        let outcome = history.make(step.clone()).await;
        let after = history.everything().await;
        if let Err(refusal) = outcome {
            prop_assert!(is_of_the_domain(&refusal), "{:?}: {:?}", step, refusal);
            prop_assert_eq!(&before, &after, "{:?} was refused ({}) and left a trace", step, refusal);
        }
        let found = history.world.store.read(CheckIntegrity).await.unwrap();
        prop_assert_eq!(found, [], "after {:?}", step);
        let (tasks, sessions, _) = after;
        for task in tasks.iter().filter(|task| task.status == TaskStatus::InProgress) {
            prop_assert!(goes_on(task, &tasks, &sessions), "after {:?} nobody goes on with {:?}", step, task);
        }
        for session in sessions {
            let paused = session.status == SessionStatus::Paused;
            prop_assert_eq!(paused, session.paused_from.is_some(), "after {:?}", step);
            prop_assert_eq!(session.status.is_over(), session.completed_at.is_some(), "after {:?}", step);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40,
        rng_seed: RngSeed::Fixed(7_246_290),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_changes_keep_the_laws(steps in proptest::collection::vec(step(), 20..80)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(keeps_the_laws(steps))?;
    }
}
