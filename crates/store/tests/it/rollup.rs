//! Where does a task stand, given what its sessions say and how its subtasks are?

use maestro_core::report::ReportKind;
use maestro_core::rollup::DoneStatus;
use maestro_core::session::{SessionControl, SessionStatus, TaskSessionStatus};
use maestro_core::task::TaskStatus;
use maestro_store::*;

use crate::cast::{assert_refused, set_status, worker};
use crate::world::{MINUTE, World, both};

both! {
    async fn what_the_only_session_says_decides(world) {
        let cases = [
            (ReportKind::Progress, TaskStatus::InProgress),
            (ReportKind::NeedsInput, TaskStatus::InProgress),
            (ReportKind::Blocked, TaskStatus::Blocked),
            (ReportKind::Error, TaskStatus::Blocked),
            (ReportKind::Complete, TaskStatus::Completed),
        ];
        for (kind, expected) in cases {
            let task = world.task("Fix the login").await;
            let session = world.session(&[&task]).await;
            world.says(&session, kind, "words").await;
            assert_eq!(world.status(&task).await, expected, "after {kind}");
            assert_eq!(world.pair(&task, &session).await, Some(kind.task_session_status()));
            let asks = matches!(kind, ReportKind::NeedsInput | ReportKind::Blocked).then(|| "words".to_owned());
            assert_eq!(world.find(&session).await.needs_input, asks, "after {kind}");
        }
        world.assert_in_order().await;
    }

    async fn a_blocked_session_that_goes_on_unblocks_its_task(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        world.says(&session, ReportKind::Blocked, "no password").await;
        world.says(&session, ReportKind::Progress, "found it").await;
        assert_eq!(world.status(&task).await, TaskStatus::InProgress);
    }

    async fn a_task_of_two_sessions_is_done_when_both_are(world) {
        let task = world.task("Fix the login").await;
        let (one, two) = (world.session(&[&task]).await, world.session(&[&task]).await);
        world.says(&one, ReportKind::Progress, "mine").await;
        world.says(&two, ReportKind::Progress, "ours").await;
        world.says(&one, ReportKind::Complete, "done").await;
        assert_eq!(world.status(&task).await, TaskStatus::InProgress);
        world.says(&two, ReportKind::Complete, "done too").await;
        assert_eq!(world.status(&task).await, TaskStatus::Completed);
    }

    async fn somebody_should_look_when_one_completed_and_another_failed(world) {
        let task = world.task("Fix the login").await;
        let (one, two) = (world.session(&[&task]).await, world.session(&[&task]).await);
        world.says(&two, ReportKind::Progress, "at it").await;
        world.says(&one, ReportKind::Complete, "done").await;
        world.says(&two, ReportKind::Error, "gave up").await;
        assert_eq!(world.status(&task).await, TaskStatus::InReview);
    }

    async fn a_tree_follows_its_leaf(world) {
        let root = world.task("Ship it").await;
        let middle = world.subtask(&root, "Fix the login").await;
        let leaf = world.subtask(&middle, "Write the test").await;
        let session = world.session(&[&leaf]).await;

        world.says(&session, ReportKind::Progress, "writing").await;
        for task in [&leaf, &middle, &root] {
            assert_eq!(world.status(task).await, TaskStatus::InProgress, "{}", task.title);
        }
        world.says(&session, ReportKind::Complete, "written").await;
        for task in [&leaf, &middle, &root] {
            assert_eq!(world.status(task).await, TaskStatus::Completed, "{}", task.title);
        }
        world.assert_in_order().await;
    }

    async fn a_parent_waits_for_the_subtasks_of_its_subtasks(world) {
        let root = world.task("Ship it").await;
        let middle = world.subtask(&root, "Fix the login").await;
        let leaf = world.subtask(&middle, "Write the test").await;
        let above = world.session(&[&root, &middle]).await;
        let below = world.session(&[&leaf]).await;

        let early = crate::cast::says(&above.id, ReportKind::Complete, "all done");
        assert_refused!(world.store.write(early.clone()).await, StoreError::Rule(_));
        assert_eq!(world.status(&middle).await, TaskStatus::Todo);
        world.says(&below, ReportKind::Complete, "mine").await;
        world.store.write(early).await.unwrap();
        assert_eq!(world.status(&root).await, TaskStatus::Completed);
    }

    async fn opening_a_task_again_forgets_old_verdicts(world) {
        let task = world.task("Fix the login").await;
        let (one, two) = (world.session(&[&task]).await, world.session(&[&task]).await);
        world.says(&one, ReportKind::Error, "gave up").await;
        world.set_status(&task, TaskStatus::Todo).await;
        assert_eq!(world.pair(&task, &one).await, Some(TaskSessionStatus::Skipped));

        world.says(&two, ReportKind::Complete, "done").await;
        assert_eq!(world.status(&task).await, TaskStatus::Completed, "the old failure no longer counts");

        world.set_status(&task, TaskStatus::Todo).await;
        let three = world.session(&[&task]).await;
        world.says(&three, ReportKind::Progress, "once more").await;
        assert_eq!(world.status(&task).await, TaskStatus::InProgress);
    }

    async fn by_setting_somebody_looks_before_a_task_is_done(world) {
        world.store.set_rules(StoreRules { when_done: DoneStatus::Review, ..StoreRules::default() });
        let root = world.task("Ship it").await;
        let leaf = world.subtask(&root, "Fix the login").await;
        let session = world.session(&[&leaf]).await;
        world.says(&session, ReportKind::Complete, "done").await;
        assert_eq!(world.status(&leaf).await, TaskStatus::InReview);
        assert_eq!(world.status(&root).await, TaskStatus::InProgress);
        world.set_status(&leaf, TaskStatus::Completed).await;
        assert_eq!(world.status(&root).await, TaskStatus::InReview);
    }

    async fn what_a_person_closed_stays_closed(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        world.set_status(&task, TaskStatus::Cancelled).await;
        world.says(&session, ReportKind::Progress, "still at it").await;
        assert_eq!(world.status(&task).await, TaskStatus::Cancelled);
    }

    async fn a_task_whose_only_worker_is_taken_away_is_open_again(world) {
        let (unbound, deleted, replaced) =
            (world.task("Fix the login").await, world.task("Fix the logout").await, world.task("Fix the rest").await);
        for task in [&unbound, &deleted, &replaced] {
            let session = world.session(&[task]).await;
            world.says(&session, ReportKind::Progress, "at it").await;
            assert_eq!(world.status(task).await, TaskStatus::InProgress);
            if task == &unbound {
                let unbind = UnbindTask { session: session.id, task: task.id.clone(), actor: Actor::Person };
                world.store.write(unbind).await.unwrap();
            } else if task == &deleted {
                world.store.write(DeleteSession { id: session.id, actor: Actor::Person }).await.unwrap();
            } else {
                let patch = TaskPatch { sessions: Some(Vec::new()), ..TaskPatch::default() };
                let update =
                    UpdateTask { id: task.id.clone(), patch, task_session: None, expected: None, actor: Actor::Person };
                world.store.write(update).await.unwrap();
            }
            assert_eq!(world.status(task).await, TaskStatus::Todo, "{}", task.title);
        }
        world.assert_in_order().await;
    }

    async fn a_tree_whose_worker_fell_silent_is_open_again(world) {
        let root = world.task("Ship it").await;
        let middle = world.subtask(&root, "Fix the login").await;
        let leaf = world.subtask(&middle, "Write the test").await;
        let session = world.session(&[&middle]).await;
        let about = SubmitReport {
            tasks: vec![leaf.id.clone()],
            ..crate::cast::says(&session.id, ReportKind::Progress, "writing the test")
        };
        world.store.write(about).await.unwrap();
        for task in [&leaf, &middle, &root] {
            assert_eq!(world.status(task).await, TaskStatus::InProgress, "{}", task.title);
        }
        world.wait(16 * MINUTE);
        world.store.write(ExpireSilentSessions).await.unwrap();
        for task in [&leaf, &middle, &root] {
            assert_eq!(world.status(task).await, TaskStatus::Todo, "{}", task.title);
        }
    }

    async fn a_task_whose_only_active_part_goes_is_open_again_unless_a_person_began_it(world) {
        for by_hand in [false, true] {
            let root = world.task("Ship it").await;
            if by_hand {
                world.set_status(&root, TaskStatus::InProgress).await;
            }
            for cancelled in [false, true] {
                let part = world.subtask(&root, "Fix the login").await;
                let session = world.session(&[&part]).await;
                world.says(&session, ReportKind::Progress, "at it").await;
                assert_eq!(world.status(&root).await, TaskStatus::InProgress);
                if cancelled {
                    world.set_status(&part, TaskStatus::Cancelled).await;
                } else {
                    let delete = DeleteTask { id: part.id, subtasks: SubtaskPolicy::Keep, actor: Actor::Person };
                    world.store.write(delete).await.unwrap();
                }
                let expected = if by_hand { TaskStatus::InProgress } else { TaskStatus::Todo };
                assert_eq!(world.status(&root).await, expected);
            }
        }
    }

    async fn a_cancelled_session_cannot_take_its_task_up_again(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        world.says(&session, ReportKind::Progress, "at it").await;
        world.steer(&session, SessionControl::Cancel).await;
        assert_eq!(world.status(&task).await, TaskStatus::Todo);

        let update = set_status(&task, TaskStatus::InProgress, worker(&session));
        assert_refused!(world.store.write(update).await, StoreError::Forbidden(_));
        world.says(&session, ReportKind::Progress, "not listening").await;
        assert_eq!(world.status(&task).await, TaskStatus::Todo);
        assert_eq!(world.pair(&task, &session).await, Some(TaskSessionStatus::Skipped));
        world.assert_in_order().await;
    }

    async fn a_completed_session_may_still_say_that_its_task_is_done(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        let end = UpdateSession {
            status: Some(SessionStatus::Completed),
            ..UpdateSession::of(session.id.clone(), worker(&session))
        };
        world.store.write(end).await.unwrap();
        world.store.write(set_status(&task, TaskStatus::Completed, worker(&session))).await.unwrap();
        assert_eq!(world.status(&task).await, TaskStatus::Completed);
    }

    async fn a_silent_session_lives_again_when_it_takes_up_its_task(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        world.wait(16 * MINUTE);
        assert_eq!(world.store.write(ExpireSilentSessions).await.unwrap(), std::slice::from_ref(&session.id));
        world.store.write(set_status(&task, TaskStatus::InProgress, worker(&session))).await.unwrap();
        assert_eq!(world.find(&session).await.status, SessionStatus::Working);
        assert_eq!(world.status(&task).await, TaskStatus::InProgress);
        world.assert_in_order().await;
    }

    async fn words_about_a_finished_subtask_do_not_open_it_again(world) {
        let task = world.task("Fix the login").await;
        let subtask = world.subtask(&task, "Write the test").await;
        let session = world.session(&[&task]).await;
        let about =
            |kind| SubmitReport { tasks: vec![subtask.id.clone()], ..crate::cast::says(&session.id, kind, "the test") };
        world.store.write(about(ReportKind::Complete)).await.unwrap();
        assert_eq!(world.status(&subtask).await, TaskStatus::Completed);
        world.store.write(about(ReportKind::Progress)).await.unwrap();
        assert_eq!(world.status(&subtask).await, TaskStatus::Completed);
    }
}
