//! What waits for a person: until when, and how often it is counted.

use maestro_core::report::ReportKind;
use maestro_core::session::Session;
use maestro_store::*;

use crate::cast::{heartbeat, says};
use crate::world::{World, both};

async fn asked(world: &World) -> Vec<String> {
    let open = world.store.read(OpenQuestions { project: None, limit: 10 }).await.unwrap();
    open.into_iter().map(|open| open.session.needs_input.unwrap()).collect()
}

async fn say(world: &World, session: &Session, kind: ReportKind, words: &str) {
    world.store.write(says(&session.id, kind, words)).await.unwrap();
}

both! {
    async fn a_question_stays_until_it_is_answered_also_when_the_agent_goes_on(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        say(world, &session, ReportKind::NeedsInput, "Which port?").await;
        assert_eq!(asked(world).await, ["Which port?"]);
        world.wait(10);
        say(world, &session, ReportKind::Progress, "going on meanwhile").await;
        world.store.write(heartbeat(&session.id)).await.unwrap();
        assert_eq!(asked(world).await, ["Which port?"], "no one has answered");
        world.wait(10);
        let answer = SendMessage {
            session: session.id.clone(),
            from: "you".into(),
            text: "8080".into(),
            actor: Actor::Person,
        };
        world.store.write(answer).await.unwrap();
        assert_eq!(asked(world).await, [] as [&str; 0]);
        world.wait(10);
        say(world, &session, ReportKind::Progress, "using 8080").await;
        let now = world.store.read(SessionById(session.id.clone())).await.unwrap();
        assert_eq!(now.needs_input, None, "it has its answer");
    }

    async fn a_question_can_be_taken_back(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        say(world, &session, ReportKind::NeedsInput, "Which port?").await;
        let back = SubmitReport {
            question: QuestionFate::Withdrawn,
            ..says(&session.id, ReportKind::Progress, "found it")
        };
        world.store.write(back).await.unwrap();
        assert_eq!(asked(world).await, [] as [&str; 0]);
    }

    async fn what_blocks_a_session_waits_once(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        say(world, &session, ReportKind::Blocked, "No access to the server").await;
        assert_eq!(asked(world).await, ["No access to the server"]);
        let alone = || async { world.store.read(AbandonedTasks { project: None, limit: 10 }).await.unwrap() };
        assert_eq!(alone().await, [], "the session asks for its task");
        let cancel = crate::cast::steer(&session.id, maestro_core::session::SessionControl::Cancel, Actor::Person);
        world.store.write(cancel).await.unwrap();
        let left: Vec<_> = alone().await.into_iter().map(|task| task.id).collect();
        assert!(left.is_empty() || left == [task.id], "{left:?}");
        assert_eq!(asked(world).await, [] as [&str; 0], "a session that ended asks nothing");
    }
}
