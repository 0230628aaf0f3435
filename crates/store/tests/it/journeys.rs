//! The main journey: a task, a session that reports, and what follows.

use maestro_core::report::ReportKind;
use maestro_core::session::SessionStatus;
use maestro_core::task::TaskStatus;
use maestro_store::*;

use crate::cast::{added, says};
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

        let reported = world.says(&session, ReportKind::Complete, "done").await;
        assert_eq!(reported.status, SessionStatus::Completed);
        assert_eq!(world.status(&task).await, TaskStatus::InProgress, "a subtask is open");

        world.set_status(&subtask, TaskStatus::Completed).await;
        assert_eq!(world.status(&task).await, TaskStatus::Completed);

        let seqs: Vec<i64> = world.events_after(0).await.iter().map(|event| event.seq).collect();
        assert!(seqs.is_sorted() && !seqs.is_empty());
        world.assert_in_order().await;
    }

    async fn who_reports_on_a_task_without_a_session_gets_one(world) {
        let task = world.task("Fix the login").await;
        let report = Report {
            who: Who::Task(task.id.clone()),
            actor: Actor::Person,
            ..says(&world.session(&[]).await.id, ReportKind::Progress, "reading")
        };

        let first = world.store.write(report.clone()).await.unwrap();
        let second = world.store.write(report).await.unwrap();

        assert_eq!(first.session, second.session, "the second report finds who made the first");
        assert_eq!(world.status(&task).await, TaskStatus::InProgress);
    }
}
