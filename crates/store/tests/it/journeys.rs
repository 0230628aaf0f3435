//! The main journey: a task, a session that reports, and what follows.

use maestro_core::notice::SessionNotice;
use maestro_core::report::ReportKind;
use maestro_core::session::{SessionControl, SessionStatus};
use maestro_core::task::{Task, TaskStatus};
use maestro_store::*;

use crate::cast::{added, assert_refused, says};
use crate::world::{World, both};

both! {
    async fn a_worker_reports_and_its_task_follows(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;

        let reported = world.says(&session, ReportKind::Progress, "reading").await;
        assert_eq!(reported.status, SessionStatus::Working);
        assert_eq!(world.status(&task).await, TaskStatus::InProgress);

        let subtask = world.subtask(&task, "Also fix the tests").await;
        let reported = world.says(&session, ReportKind::Progress, "still reading").await;
        assert_eq!(reported.news.notices, [added(&subtask)]);

        let refused = world.store.write(says(&session.id, ReportKind::Complete, "done")).await;
        assert_refused!(refused, StoreError::Rule(said) if said.contains("1 subtask is open: Also fix the tests"));
        assert_eq!(world.status(&task).await, TaskStatus::InProgress);
        assert_eq!(world.find(&session).await.status, SessionStatus::Working, "it works on");

        world.set_status(&subtask, TaskStatus::Completed).await;
        let reported = world.says(&session, ReportKind::Complete, "done").await;
        assert_eq!(reported.status, SessionStatus::Completed);
        assert_eq!(world.status(&task).await, TaskStatus::Completed);

        let seqs: Vec<i64> = world.events_after(0).await.iter().map(|event| event.seq).collect();
        assert!(seqs.is_sorted() && !seqs.is_empty());
        world.assert_in_order().await;
    }

    async fn who_reports_on_a_task_without_a_session_gets_one(world) {
        let task = world.task("Fix the login").await;
        let report = SubmitReport {
            source: ReportSource::Task(task.id.clone()),
            actor: Actor::Person,
            ..says(&world.session(&[]).await.id, ReportKind::Progress, "reading")
        };

        let first = world.store.write(report.clone()).await.unwrap();
        let second = world.store.write(report).await.unwrap();

        assert_eq!(first.session, second.session, "the second report finds who made the first");
        assert_eq!(world.status(&task).await, TaskStatus::InProgress);
    }

    async fn a_sign_of_life_takes_no_question_back(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        let asks = async || world.store.read(SessionById(session.id.clone())).await.unwrap().needs_input;

        world.store.write(says(&session.id, ReportKind::NeedsInput, "Which colour?")).await.unwrap();
        let beat = SubmitReport { message: None, ..says(&session.id, ReportKind::Progress, "") };
        world.store.write(beat).await.unwrap();
        assert_eq!(asks().await.as_deref(), Some("Which colour?"));
        world.store.write(says(&session.id, ReportKind::Progress, "blue it is")).await.unwrap();
        assert_eq!(asks().await.as_deref(), Some("Which colour?"), "no one has answered");
        world.store.write(says(&session.id, ReportKind::NeedsInput, "Which size?")).await.unwrap();
        assert_eq!(asks().await.as_deref(), Some("Which size?"), "the last question counts");
    }

    async fn a_task_finds_the_session_that_must_hear_of_its_end(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        let speak = || SubmitReport {
            source: ReportSource::Task(task.id.clone()),
            actor: Actor::Person,
            ..says(&session.id, ReportKind::Progress, "going on")
        };

        let cancel = ControlSession { id: session.id.clone(), control: SessionControl::Cancel, actor: Actor::Person };
        world.store.write(cancel).await.unwrap();
        let heard = world.store.write(speak()).await.unwrap();
        assert_eq!((&heard.session, heard.status), (&session.id, SessionStatus::Stopped));
        assert_eq!(heard.news.notices, [SessionNotice::Cancelled]);
        let confirm = ConfirmNotices {
            session: session.id.clone(),
            cursor: heard.news.cursor,
            how: "reply".into(),
            actor: Actor::Person,
        };
        world.store.write(confirm).await.unwrap();
        let later = world.store.write(speak()).await.unwrap();
        assert_eq!((&later.session, later.status), (&session.id, SessionStatus::Stopped), "it comes back by no name");
        assert_eq!(world.status(&task).await, TaskStatus::Todo);
        let next = world.session(&[&task]).await;
        assert_eq!(world.store.write(speak()).await.unwrap().session, next.id, "another one has taken over");
    }

    async fn a_task_that_is_done_keeps_its_speaker_until_it_is_opened_again(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        let speak = || SubmitReport {
            source: ReportSource::Task(task.id.clone()),
            actor: Actor::Person,
            ..says(&session.id, ReportKind::Progress, "by the way")
        };
        world.says(&session, ReportKind::Complete, "done").await;
        let late = world.store.write(speak()).await.unwrap();
        assert_eq!((&late.session, late.status), (&session.id, SessionStatus::Completed));
        assert_eq!(world.status(&task).await, TaskStatus::Completed);
        world.set_status(&task, TaskStatus::Todo).await;
        assert_ne!(world.store.write(speak()).await.unwrap().session, session.id);
    }

    async fn a_session_completes_only_what_it_did_not_give_up(world) {
        let (done, failed, blocked) =
            (world.task("Fix the login").await, world.task("Fix the logout").await, world.task("Ask Ada").await);
        let session = world.session(&[&done, &failed, &blocked]).await;
        let about = |task: &Task, kind| SubmitReport { tasks: vec![task.id.clone()], ..says(&session.id, kind, "no way") };
        world.store.write(about(&failed, ReportKind::Error)).await.unwrap();
        world.store.write(about(&blocked, ReportKind::Blocked)).await.unwrap();
        let reported = world.says(&session, ReportKind::Complete, "the rest is done").await;
        assert_eq!((reported.status, reported.tasks), (SessionStatus::Completed, vec![done.id.clone()]));
        assert_eq!(world.status(&done).await, TaskStatus::Completed);
        assert_eq!(world.status(&failed).await, TaskStatus::Blocked);
        assert_eq!(world.status(&blocked).await, TaskStatus::Blocked);

        let alone = world.task("Fix the rest").await;
        let session = world.session(&[&alone]).await;
        world.says(&session, ReportKind::Blocked, "no password").await;
        let refused = world.store.write(says(&session.id, ReportKind::Complete, "done")).await;
        assert_refused!(refused, StoreError::Rule(said) if said.contains("is blocked"));
        assert_eq!(world.status(&alone).await, TaskStatus::Blocked);
        world.says(&session, ReportKind::Progress, "found it").await;
        world.says(&session, ReportKind::Complete, "done").await;
        assert_eq!(world.status(&alone).await, TaskStatus::Completed);
    }

    async fn a_session_that_is_done_may_still_finish_a_subtask_it_names(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        let part = world.subtask(&task, "Test it").await;

        let end = UpdateSession {
            status: Some(SessionStatus::Completed),
            ..UpdateSession::of(session.id.clone(), Actor::Person)
        };
        world.store.write(end).await.unwrap();
        let report = SubmitReport { tasks: vec![part.id.clone()], ..says(&session.id, ReportKind::Complete, "tested") };
        assert_eq!(world.store.write(report).await.unwrap().status, SessionStatus::Completed);
        assert_eq!(world.status(&part).await, TaskStatus::Completed);
        assert_eq!(world.status(&task).await, TaskStatus::Completed);
    }

    async fn everything_below_a_task_is_found_at_once(world) {
        let top = world.task("Fix the login").await;
        let other = world.task("Write the docs").await;
        let part = world.subtask(&top, "Test it").await;
        let deep = world.subtask(&part, "By hand").await;
        world.subtask(&other, "Elsewhere").await;

        let filter = TaskFilter { below: Some(top.id.clone()), ..TaskFilter::default() };
        let found = world.store.read(TaskList { filter, page: ListPage::default() }).await.unwrap().items;
        let ids: Vec<_> = found.into_iter().map(|task| task.id).collect();
        assert_eq!(ids, [part.id, deep.id]);
    }
}
