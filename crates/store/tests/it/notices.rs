//! What does a session hear, how often, and when does a message count as delivered?

use std::collections::BTreeMap;

use maestro_core::message::MessageState;
use maestro_core::notice::SessionNotice;
use maestro_core::report::ReportKind;
use maestro_core::session::{Session, SessionControl, SessionStatus};
use maestro_core::task::Task;
use maestro_store::*;

use crate::cast::{added, below, heartbeat, rename, worker};
use crate::world::{MINUTE, World, both};

async fn say(world: &World, session: &Session, text: &str) -> maestro_core::message::SessionMessage {
    let say = SendMessage { session: session.id.clone(), from: "ada".into(), text: text.into(), actor: Actor::Person };
    world.store.write(say).await.unwrap()
}

async fn message(world: &World, session: &Session) -> maestro_core::message::SessionMessage {
    let messages = MessageList { session: session.id.clone(), page: ListPage::default() };
    world.store.read(messages).await.unwrap().items.pop().unwrap()
}

both! {
    async fn a_notice_is_told_until_it_is_confirmed(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        let subtask = world.subtask(&task, "Fix the tests").await;

        let first = world.heartbeat(&session).await.news;
        assert_eq!(first.notices, [added(&subtask)]);
        assert_eq!(world.heartbeat(&session).await.news, first, "nobody said that it was heard");
        world.confirm(&session, first.cursor).await;
        assert_eq!(world.heartbeat(&session).await.news, PendingNotices::default());
        world.assert_in_order().await;
    }

    async fn confirming_leaves_what_came_later(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        world.subtask(&task, "first").await;
        let heard = world.heartbeat(&session).await.news;
        let second = world.subtask(&task, "second").await;
        world.confirm(&session, heard.cursor).await;
        assert_eq!(world.heartbeat(&session).await.news.notices, [added(&second)]);
    }

    async fn who_did_it_is_not_told_but_those_above_are(world) {
        let root = world.task("Ship it").await;
        let leaf = world.subtask(&root, "Fix the login").await;
        let other = world.task("Something else").await;
        let (above, doer, stranger) =
            (world.session(&[&root]).await, world.session(&[&leaf]).await, world.session(&[&other]).await);

        let part = world.store.write(below(&leaf, "a part", worker(&doer))).await.unwrap();
        world.store.write(rename(&leaf, "Fix the login at last", worker(&doer))).await.unwrap();

        let changed =
            SessionNotice::TaskChanged { task: leaf.id, title: "Fix the login at last".into(), fields: vec!["title".into()] };
        assert_eq!(world.heartbeat(&above).await.news.notices, [added(&part), changed]);
        assert_eq!(world.heartbeat(&doer).await.news.notices, []);
        assert_eq!(world.heartbeat(&stranger).await.news.notices, []);
    }

    async fn a_session_hears_of_tasks_that_come_and_go(world) {
        let (task, other) = (world.task("Fix the login").await, world.task("Fix the rest").await);
        let session = world.session(&[&task]).await;
        let (id, named) = (session.id.clone(), |task: &Task| (task.id.clone(), task.title.clone()));
        world
            .store
            .write(BindTask { session: id.clone(), task: other.id.clone(), actor: Actor::Person })
            .await
            .unwrap();
        world.store.write(UnbindTask { session: id, task: other.id.clone(), actor: Actor::Person }).await.unwrap();
        let delete = DeleteTask { id: task.id.clone(), subtasks: SubtaskPolicy::Keep, actor: Actor::Person };
        world.store.write(delete).await.unwrap();

        let ((other, others), (task, title)) = (named(&other), named(&task));
        let expected = [
            SessionNotice::TaskAssigned { task: other.clone(), title: others.clone() },
            SessionNotice::TaskUnassigned { task: other, title: others },
            SessionNotice::TaskDeleted { task, title },
        ];
        assert_eq!(world.heartbeat(&session).await.news.notices, expected);
    }

    async fn who_should_wait_or_end_is_told_every_time(world) {
        let session = world.session(&[]).await;
        world.steer(&session, SessionControl::Pause).await;
        let news = world.heartbeat(&session).await.news;
        assert_eq!(news.notices, [SessionNotice::Paused]);
        world.confirm(&session, news.cursor).await;
        assert_eq!(world.heartbeat(&session).await.news.notices, [SessionNotice::Paused], "it still should wait");

        world.steer(&session, SessionControl::Resume).await;
        let news = world.heartbeat(&session).await.news;
        assert_eq!(news.notices, [SessionNotice::Resumed]);
        world.confirm(&session, news.cursor).await;
        assert_eq!(world.heartbeat(&session).await.news.notices, []);

        world.steer(&session, SessionControl::Cancel).await;
        let news = world.heartbeat(&session).await.news;
        assert_eq!(news.notices, [SessionNotice::Cancelled]);
        world.confirm(&session, news.cursor).await;
        assert_eq!(world.heartbeat(&session).await.news.notices, [SessionNotice::Cancelled], "it still should end");
    }

    async fn a_paused_session_that_says_it_is_done_is_not_told_to_wait(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        world.steer(&session, SessionControl::Pause).await;
        let cursor = world.heartbeat(&session).await.news.cursor;
        world.confirm(&session, cursor).await;

        let reported = world.says(&session, ReportKind::Complete, "was done anyway").await;
        assert_eq!(reported.status, SessionStatus::Completed);
        assert_eq!(reported.news.notices, []);
        let done = world.find(&session).await;
        assert_eq!((done.status, done.paused_from), (SessionStatus::Completed, None));
        assert_eq!(world.status(&task).await, maestro_core::task::TaskStatus::Completed);
    }

    async fn a_message_is_delivered_when_its_agent_confirms_it(world) {
        let session = world.session(&[]).await;
        let said = say(world, &session, "use the other one").await;
        assert_eq!(said.state, MessageState::Queued);

        let news = world.heartbeat(&session).await.news;
        let notice = SessionNotice::Message { id: said.id, from: "ada".into(), text: "use the other one".into() };
        assert_eq!(news.notices, [notice]);
        assert_eq!(message(world, &session).await.state, MessageState::Queued, "sent is not heard");

        world.confirm(&session, news.cursor).await;
        let heard = message(world, &session).await;
        assert_eq!((heard.state, heard.how.as_deref()), (MessageState::Delivered, Some("reply")));
        let kinds: Vec<String> = world.events_after(0).await.into_iter().map(|event| event.kind).collect();
        assert_eq!(kinds.iter().filter(|kind| *kind == "message:delivered").count(), 1);
    }

    async fn what_a_session_will_never_hear_is_refused(world) {
        let session = world.session(&[]).await;
        say(world, &session, "wait for me").await;
        world.says(&session, ReportKind::Complete, "done").await;
        assert_eq!(message(world, &session).await.state, MessageState::Refused);

        let late = say(world, &session, "too late").await;
        assert_eq!(late.state, MessageState::Refused);
        assert!(late.settled_at.is_some());
        world.assert_in_order().await;
    }

    async fn who_comes_back_does_not_hear_what_was_refused_meanwhile(world) {
        let session = world.session(&[]).await;
        say(world, &session, "are you there?").await;
        world.wait(16 * MINUTE);
        world.store.write(ExpireSilentSessions).await.unwrap();
        assert_eq!(message(world, &session).await.state, MessageState::Refused);
        assert_eq!(world.heartbeat(&session).await.news.notices, []);
    }

    async fn many_notices_come_in_parts(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        for number in 0..130 {
            world.subtask(&task, &format!("part {number}")).await;
        }
        let first = world.heartbeat(&session).await.news;
        assert_eq!(first.notices.len(), 100);
        world.confirm(&session, first.cursor).await;
        let second = world.heartbeat(&session).await.news;
        assert_eq!(second.notices.len(), 30);
    }

    async fn no_notice_is_lost_or_told_again_while_others_write(world) {
        const WRITERS: usize = 8;
        const EACH: usize = 12;
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..WRITERS {
            // Their changes take different ways, and times, to the same listener.
            let part = world.subtask(&task, &format!("part {writer}")).await;
            let store = world.store.clone();
            writers.spawn(async move {
                for number in 0..EACH {
                    let title = format!("{writer}.{number}");
                    store.write(below(&part, &title, Actor::Person)).await.unwrap();
                }
            });
        }
        let mut heard: BTreeMap<String, usize> = BTreeMap::new();
        loop {
            let finished = writers.is_empty();
            while writers.try_join_next().is_some_and(|done| done.is_ok()) {}
            let news = world.store.write(heartbeat(&session.id)).await.unwrap().news;
            for notice in &news.notices {
                if let SessionNotice::SubtaskAdded { title, .. } = notice {
                    *heard.entry(title.clone()).or_default() += 1;
                }
            }
            world.confirm(&session, news.cursor).await;
            if finished && news.notices.is_empty() {
                break;
            }
        }
        assert_eq!(heard.len(), WRITERS * EACH + WRITERS, "each was heard");
        assert!(heard.values().all(|times| *times == 1), "and only once: {heard:?}");
    }
}
