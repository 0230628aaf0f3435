//! What may a worker do, and what not?

use maestro_core::report::ReportKind;
use maestro_core::session::{EntryKind, SessionControl, SessionStatus, TaskSessionStatus};
use maestro_core::task::TaskStatus;
use maestro_store::*;

use crate::cast::{assert_refused, below, orchestrator, rename, says, set_status, worker};
use crate::world::{World, both};

both! {
    async fn another_sessions_task_is_out_of_a_workers_reach(world) {
        let (own, foreign) = (world.task("mine").await, world.task("theirs").await);
        let session = world.session(&[&own]).await;
        let actor = || worker(&session);
        let before = world.last_seq().await;

        assert_refused!(world.store.write(rename(&foreign, "hm", actor())).await, StoreError::Forbidden(_));
        assert_refused!(
            world.store.write(set_status(&foreign, TaskStatus::Completed, actor())).await,
            StoreError::Forbidden(_)
        );
        let delete = DeleteTask { id: foreign.id.clone(), subtasks: SubtaskPolicy::Delete, actor: actor() };
        assert_refused!(world.store.write(delete).await, StoreError::Forbidden(_));
        assert_refused!(world.store.write(below(&foreign, "sub", actor())).await, StoreError::Forbidden(_));
        let report = SubmitReport { tasks: vec![foreign.id.clone()], ..says(&session.id, ReportKind::Complete, "done") };
        assert_refused!(world.store.write(report).await, StoreError::Forbidden(_));
        let at_the_root = CreateTask {
            project: Some(world.project().await),
            title: "new".into(),
            actor: actor(),
            ..CreateTask::default()
        };
        assert_refused!(world.store.write(at_the_root).await, StoreError::Forbidden(_));

        assert_eq!(world.last_seq().await, before, "what was refused left no trace");
        assert_eq!(world.store.read(TaskById(foreign.id.clone())).await.unwrap(), foreign);
    }

    async fn a_worker_writes_no_line_about_a_foreign_task(world) {
        let (own, foreign) = (world.task("mine").await, world.task("theirs").await);
        let session = world.session(&[&own]).await;
        let line = |task: &maestro_core::task::Task| AddTimelineEntry {
            session: session.id.clone(),
            entry: NewTimelineEntry {
                kind: EntryKind::progress(),
                message: "hm".into(),
                task: Some(task.id.clone()),
                metadata: None,
            },
            actor: worker(&session),
        };
        assert_refused!(world.store.write(line(&foreign)).await, StoreError::Forbidden(_));
        world.store.write(line(&own)).await.unwrap();
    }

    async fn an_orchestrator_acts_in_its_own_project_only(world) {
        let own = world.task("mine").await;
        let session = world.session(&[&own]).await;
        let other = CreateProject { name: "other".into(), working_dir: String::new(), description: String::new() };
        let other = world.store.write(other).await.unwrap().id;
        let foreign = CreateTask { project: Some(other.clone()), title: "theirs".into(), ..CreateTask::default() };
        let foreign = world.store.write(foreign).await.unwrap();

        let boss = || orchestrator(&session);
        assert_refused!(world.store.write(rename(&foreign, "hijacked", boss())).await, StoreError::Forbidden(_));
        let delete = DeleteTask { id: foreign.id.clone(), subtasks: SubtaskPolicy::Delete, actor: boss() };
        assert_refused!(world.store.write(delete).await, StoreError::Forbidden(_));
        let create = CreateTask { project: Some(other), title: "new".into(), actor: boss(), ..CreateTask::default() };
        assert_refused!(world.store.write(create).await, StoreError::Forbidden(_));
        world.store.write(rename(&own, "renamed", boss())).await.unwrap();
    }

    async fn a_cancelled_session_changes_nothing_more(world) {
        let task = world.task("mine").await;
        let session = world.session(&[&task]).await;
        world.steer(&session, SessionControl::Cancel).await;

        assert_refused!(world.store.write(below(&task, "after", worker(&session))).await, StoreError::Forbidden(_));
        let update = set_status(&task, TaskStatus::Blocked, worker(&session));
        assert_refused!(world.store.write(update).await, StoreError::Forbidden(_));
        assert_refused!(world.store.write(rename(&task, "hm", orchestrator(&session))).await, StoreError::Forbidden(_));
        world.says(&session, ReportKind::Progress, "my words are kept").await;
        assert_eq!(world.status(&task).await, TaskStatus::Todo);
    }

    async fn on_its_own_task_a_worker_speaks_for_itself_only(world) {
        let task = world.task("shared").await;
        let (one, two) = (world.session(&[&task]).await, world.session(&[&task]).await);
        world.says(&two, ReportKind::Progress, "at it").await;

        let update = set_status(&task, TaskStatus::Completed, worker(&one));
        let updated = world.store.write(update).await.unwrap();

        assert_eq!(updated.status, TaskStatus::InProgress, "the other one is still at it");
        assert_eq!(world.pair(&task, &one).await, Some(TaskSessionStatus::Completed));
        assert_eq!(world.pair(&task, &two).await, Some(TaskSessionStatus::Working));
    }

    async fn below_its_own_task_a_worker_makes_finishes_and_deletes_tasks(world) {
        let task = world.task("mine").await;
        let session = world.session(&[&task]).await;
        let middle = world.store.write(below(&task, "a part", worker(&session))).await.unwrap();
        let leaf = world.store.write(below(&middle, "a part of it", worker(&session))).await.unwrap();

        world.store.write(set_status(&leaf, TaskStatus::Completed, worker(&session))).await.unwrap();
        assert_eq!(world.status(&leaf).await, TaskStatus::Completed);
        assert_eq!(world.status(&middle).await, TaskStatus::Completed);
        let delete = DeleteTask { id: middle.id, subtasks: SubtaskPolicy::Delete, actor: worker(&session) };
        world.store.write(delete).await.unwrap();

        let delete = DeleteTask { id: task.id.clone(), subtasks: SubtaskPolicy::Keep, actor: worker(&session) };
        assert_refused!(world.store.write(delete).await, StoreError::Forbidden(_));
        world.assert_in_order().await;
    }

    async fn a_worker_cannot_act_for_another_session(world) {
        let task = world.task("shared").await;
        let (one, two) = (world.session(&[&task]).await, world.session(&[&task]).await);
        let (other, actor) = (two.id.clone(), || worker(&one));
        let store = &world.store;
        let before = (world.last_seq().await, world.find(&two).await);

        let report = SubmitReport { actor: actor(), ..says(&other, ReportKind::Complete, "done") };
        assert_refused!(store.write(report).await, StoreError::Forbidden(_));
        let update = UpdateSession { status: Some(SessionStatus::Failed), ..UpdateSession::of(other.clone(), actor()) };
        assert_refused!(store.write(update).await, StoreError::Forbidden(_));
        let cancel = ControlSession { id: other.clone(), control: SessionControl::Cancel, actor: actor() };
        assert_refused!(store.write(cancel).await, StoreError::Forbidden(_));
        let confirm = ConfirmNotices { session: other.clone(), cursor: 1, how: "reply".into(), actor: actor() };
        assert_refused!(store.write(confirm).await, StoreError::Forbidden(_));
        let pair = UpdateTask { task_session: Some((other.clone(), TaskSessionStatus::Failed)), ..rename(&task, "shared", actor()) };
        assert_refused!(store.write(pair).await, StoreError::Forbidden(_));
        let entry = NewTimelineEntry { kind: EntryKind::progress(), message: "hm".into(), task: None, metadata: None };
        let line = AddTimelineEntry { session: other.clone(), entry, actor: actor() };
        assert_refused!(store.write(line).await, StoreError::Forbidden(_));
        let event = AddSessionEvent { session: other.clone(), kind: EntryKind::progress(), data: None, actor: actor() };
        assert_refused!(store.write(event).await, StoreError::Forbidden(_));
        let start = QueueStart { session: other.clone(), actor: actor() };
        assert_refused!(store.write(start).await, StoreError::Forbidden(_));
        let delete = DeleteSession { id: other.clone(), actor: actor() };
        assert_refused!(store.write(delete).await, StoreError::Forbidden(_));

        assert_eq!((world.last_seq().await, world.find(&two).await), before, "what was refused left no trace");
    }

    async fn a_worker_does_not_choose_its_tasks(world) {
        let (own, other) = (world.task("mine").await, world.task("free").await);
        let session = world.session(&[&own]).await;
        let bind = BindTask { session: session.id.clone(), task: other.id.clone(), actor: worker(&session) };
        assert_refused!(world.store.write(bind).await, StoreError::Forbidden(_));
        let unbind = UnbindTask { session: session.id.clone(), task: own.id.clone(), actor: worker(&session) };
        assert_refused!(world.store.write(unbind).await, StoreError::Forbidden(_));
        let update = UpdateSession {
            tasks: Some(vec![other.id.clone()]),
            ..UpdateSession::of(session.id.clone(), worker(&session))
        };
        assert_refused!(world.store.write(update).await, StoreError::Forbidden(_));
        let push = QueuePush { session: session.id.clone(), task: other.id, actor: worker(&session) };
        assert_refused!(world.store.write(push).await, StoreError::Forbidden(_));
        assert_eq!(world.find(&session).await.tasks, [own.id]);
    }

    async fn an_orchestrator_may_do_what_a_person_may(world) {
        let task = world.task("theirs").await;
        let (lead, session) = (world.session(&[]).await, world.session(&[]).await);
        let bind = BindTask { session: session.id.clone(), task: task.id.clone(), actor: orchestrator(&lead) };
        world.store.write(bind).await.unwrap();
        world.store.write(set_status(&task, TaskStatus::Completed, orchestrator(&lead))).await.unwrap();
        assert_eq!(world.status(&task).await, TaskStatus::Completed);
    }

    async fn nobody_is_bound_who_is_not_there(world) {
        let task = world.task("mine").await;
        let ghost: maestro_core::id::SessionId = "ghost".parse().unwrap();
        let pair =
            UpdateTask { task_session: Some((ghost.clone(), TaskSessionStatus::Working)), ..rename(&task, "mine", Actor::Person) };
        assert_refused!(world.store.write(pair).await, StoreError::NotFound { what: RecordKind::Session, .. });
        let patch = TaskPatch { sessions: Some(vec![ghost]), ..TaskPatch::default() };
        let update = UpdateTask { id: task.id.clone(), patch, task_session: None, expected: None, actor: Actor::Person };
        assert_refused!(world.store.write(update).await, StoreError::NotFound { what: RecordKind::Session, .. });
    }

    async fn a_task_waits_only_for_others_that_exist(world) {
        let task = world.task("mine").await;
        let waits_for = |id| UpdateTask {
            patch: TaskPatch { dependencies: Some(vec![id]), ..TaskPatch::default() },
            ..rename(&task, "mine", Actor::Person)
        };
        assert_refused!(
            world.store.write(waits_for("ghost".parse().unwrap())).await,
            StoreError::NotFound { what: RecordKind::Task, .. }
        );
        assert_refused!(world.store.write(waits_for(task.id.clone())).await, StoreError::Rule(_));
        let first = world.task("first").await;
        assert_eq!(world.store.write(waits_for(first.id.clone())).await.unwrap().dependencies, [first.id]);
    }
}
