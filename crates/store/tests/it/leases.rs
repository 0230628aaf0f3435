//! Who has not given a sign of life for too long, and who comes back?

use maestro_core::notice::SessionNotice;
use maestro_core::report::ReportKind;
use maestro_core::session::{EndReason, SessionControl, SessionStatus};
use maestro_core::task::TaskStatus;
use maestro_store::*;

use crate::cast::{assert_refused, worker};
use crate::world::{MINUTE, World, both};

both! {
    async fn silence_ends_a_session_and_frees_its_task(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        world.says(&session, ReportKind::Progress, "reading").await;

        world.wait(14 * MINUTE);
        assert_eq!(world.store.write(ExpireSilentSessions).await.unwrap(), []);
        world.wait(2 * MINUTE);
        assert_eq!(world.store.write(ExpireSilentSessions).await.unwrap(), std::slice::from_ref(&session.id));
        assert_eq!(world.status(&task).await, TaskStatus::Todo);
        let ended = world.find(&session).await;
        assert_eq!((ended.status, ended.end), (SessionStatus::Stopped, Some(EndReason::Silence)));
        assert_eq!(world.store.write(ExpireSilentSessions).await.unwrap(), [], "it ends once");
    }

    async fn a_silent_session_lives_again_with_its_next_report(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        world.wait(16 * MINUTE);
        world.store.write(ExpireSilentSessions).await.unwrap();

        let reported = world.heartbeat(&session).await;
        assert_eq!(reported.status, SessionStatus::Working);
        assert_eq!(world.status(&task).await, TaskStatus::InProgress);
        let back = world.find(&session).await;
        assert_eq!((back.end, back.completed_at), (None, None));
        world.assert_in_order().await;
    }

    async fn a_silent_session_may_come_back_with_its_work_done(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        world.says(&session, ReportKind::Progress, "a long build").await;
        world.wait(20 * MINUTE);
        world.store.write(ExpireSilentSessions).await.unwrap();

        let reported = world.says(&session, ReportKind::Complete, "done").await;
        assert_eq!(reported.status, SessionStatus::Completed);
        assert_eq!(world.status(&task).await, TaskStatus::Completed);
        let done = world.find(&session).await;
        assert_eq!((done.status, done.end), (SessionStatus::Completed, None));
        world.assert_in_order().await;
    }

    async fn a_lease_protects_whoever_is_too_busy_to_talk(world) {
        let session = world.session(&[]).await;
        world.wait(10 * MINUTE);
        world.store.write(RenewLease { session: session.id.clone(), duration: 10 * MINUTE }).await.unwrap();
        world.wait(9 * MINUTE);
        assert_eq!(world.store.write(ExpireSilentSessions).await.unwrap(), []);
        world.wait(2 * MINUTE);
        assert_eq!(world.store.write(ExpireSilentSessions).await.unwrap(), std::slice::from_ref(&session.id));
        let ghost = RenewLease { session: "ghost".parse().unwrap(), duration: 1 };
        assert_refused!(world.store.write(ghost).await, StoreError::NotFound { .. });
    }

    async fn a_paused_session_may_be_silent_and_has_time_when_it_is_resumed(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        world.says(&session, ReportKind::Progress, "reading").await;
        world.steer(&session, SessionControl::Pause).await;
        world.wait(60 * MINUTE);
        assert_eq!(world.store.write(ExpireSilentSessions).await.unwrap(), []);

        let resumed = world.steer(&session, SessionControl::Resume).await;
        assert_eq!(resumed.status, SessionStatus::Working);
        world.wait(MINUTE);
        assert_eq!(world.store.write(ExpireSilentSessions).await.unwrap(), [], "it was told to go on a minute ago");
        world.wait(15 * MINUTE);
        assert_eq!(world.store.write(ExpireSilentSessions).await.unwrap(), [session.id]);
    }

    async fn a_cancelled_session_does_not_come_back(world) {
        let session = world.session(&[]).await;
        world.steer(&session, SessionControl::Cancel).await;

        let reported = world.says(&session, ReportKind::Progress, "not listening").await;
        assert_eq!(reported.status, SessionStatus::Stopped);
        let reported = world.says(&session, ReportKind::NeedsInput, "may I?").await;
        assert_eq!(reported.status, SessionStatus::Stopped);
        let revive = UpdateSession {
            status: Some(SessionStatus::Working),
            ..UpdateSession::of(session.id.clone(), worker(&session))
        };
        assert_refused!(world.store.write(revive).await, StoreError::SessionTransition { .. });
        let ended = world.find(&session).await;
        assert_eq!((ended.status, ended.end), (SessionStatus::Stopped, Some(EndReason::Cancelled)));
        assert_eq!(ended.needs_input, None, "nobody will answer");
    }

    async fn cancelling_a_silent_session_keeps_it_from_coming_back(world) {
        let session = world.session(&[]).await;
        world.wait(16 * MINUTE);
        world.store.write(ExpireSilentSessions).await.unwrap();
        assert_eq!(world.steer(&session, SessionControl::Cancel).await.end, Some(EndReason::Cancelled));
        let reported = world.heartbeat(&session).await;
        assert_eq!(reported.status, SessionStatus::Stopped);
        assert_eq!(reported.news.notices, [SessionNotice::Cancelled]);
    }

    async fn what_a_paused_session_says_of_itself_does_not_end_the_pause(world) {
        let session = world.session(&[]).await;
        world.says(&session, ReportKind::Progress, "reading").await;
        world.steer(&session, SessionControl::Pause).await;

        let idle = UpdateSession {
            status: Some(SessionStatus::Idle),
            ..UpdateSession::of(session.id.clone(), worker(&session))
        };
        assert_eq!(world.store.write(idle).await.unwrap().status, SessionStatus::Paused);
        assert_eq!(world.says(&session, ReportKind::Progress, "hm").await.status, SessionStatus::Paused);
        assert_eq!(world.steer(&session, SessionControl::Resume).await.status, SessionStatus::Idle, "as it last said");
    }

    async fn a_sign_of_life_answers_no_question(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        world.says(&session, ReportKind::NeedsInput, "which one?").await;
        world.heartbeat(&session).await;
        assert_eq!(world.find(&session).await.needs_input.as_deref(), Some("which one?"));
        world.says(&session, ReportKind::Progress, "the first one, then").await;
        assert_eq!(world.find(&session).await.needs_input.as_deref(), Some("which one?"));
        world.says(&session, ReportKind::Complete, "done").await;
        assert_eq!(world.find(&session).await.needs_input, None);
    }
}
