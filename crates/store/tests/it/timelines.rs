//! Is a timeline whole and in order, wherever its lines are kept?

use maestro_core::report::ReportKind;
use maestro_core::session::Session;
use maestro_store::*;

use crate::world::{World, both};

/// What a session said, read in parts.
async fn said(world: &World, session: &Session, limit: i64) -> Vec<String> {
    let (mut words, mut after) = (Vec::new(), 0);
    loop {
        let range = TimelineRange::From(ListPage { limit, after });
        let part = world.store.read(TimelineQuery { session: session.id.clone(), range }).await.unwrap();
        words.extend(part.items.into_iter().map(|entry| entry.message).filter(|message| message.starts_with("step ")));
        match part.next {
            Some(next) => after = next,
            None => return words,
        }
    }
}

async fn last_said(world: &World, session: &Session, count: i64) -> Vec<String> {
    let query = TimelineQuery { session: session.id.clone(), range: TimelineRange::Last(count) };
    world.store.read(query).await.unwrap().items.into_iter().map(|entry| entry.message).collect()
}

both! {
    async fn lines_of_sessions_that_speak_by_turns_stay_apart_and_in_order(world) {
        let task = world.task("Fix the login").await;
        let sessions = [world.session(&[&task]).await, world.session(&[&task]).await, world.session(&[&task]).await];
        let mut expected: [Vec<String>; 3] = Default::default();
        for step in 0..700 {
            // One of them is seldom heard.
            let who = if step % 50 == 49 { 2 } else { step % 2 };
            let words = format!("step {step}");
            // A question is a line like the others, and is found by what waits.
            let kind = if step == 333 { ReportKind::NeedsInput } else { ReportKind::Progress };
            world.says(&sessions[who], kind, &words).await;
            expected[who].push(words);
            if step % 83 == 0 {
                assert_eq!(last_said(world, &sessions[who], 1).await, [format!("step {step}")]);
            }
        }
        for (session, expected) in sessions.iter().zip(&expected) {
            for limit in [1, 7, 100, 1000] {
                assert_eq!(&said(world, session, limit).await, expected, "{limit} at once");
            }
            for count in [1_usize, 5, 13, 14, 300] {
                let count = count.min(expected.len());
                let last = last_said(world, session, i64::try_from(count).unwrap()).await;
                assert_eq!(last, expected[expected.len() - count..], "the last {count}");
            }
            assert_eq!(last_said(world, session, 0).await, [""; 0]);
        }
        let ids: Vec<_> = sessions.iter().map(|session| session.id.clone()).collect();
        let last = world.store.read(LastTimelineEntries { sessions: ids.clone(), kind: None }).await.unwrap();
        for (id, expected) in ids.iter().zip(&expected) {
            assert_eq!(Some(&last[id].message), expected.last());
        }
        let asked = world.store.read(LastTimelineEntries { sessions: ids, kind: Some("needs_input") }).await.unwrap();
        assert_eq!(asked[&sessions[1].id].message, "step 333");
        assert_eq!(asked.len(), 1);
        world.assert_in_order().await;
    }

    async fn a_deleted_session_leaves_no_lines(world) {
        let task = world.task("Fix the login").await;
        let (gone, stays) = (world.session(&[&task]).await, world.session(&[&task]).await);
        for step in 0..300 {
            world.says(&gone, ReportKind::Progress, &format!("step {step}")).await;
            world.says(&stays, ReportKind::Progress, &format!("step {step}")).await;
        }
        world.store.write(DeleteSession { id: gone.id, actor: Actor::Person }).await.unwrap();
        world.assert_in_order().await;
        assert_eq!(said(world, &stays, 50).await.len(), 300);
    }

    async fn a_line_without_its_session_stops_no_other(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        world.says(&session, ReportKind::Progress, "step 0").await;
        let DatabaseLocation::File(_) = world.store.location() else { return };
        world.sql("INSERT INTO timeline_tail SELECT 1000000, 'gone', task_id, kind, at, message, metadata FROM timeline_tail LIMIT 1").await;
        world.says(&session, ReportKind::NeedsInput, "step 1").await;
        for step in 2..600 {
            world.says(&session, ReportKind::Progress, &format!("step {step}")).await;
        }
        assert_eq!(said(world, &session, 100).await.len(), 600);
        world.assert_in_order().await;
    }

    async fn a_damaged_line_is_found(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        for step in 0..600 {
            world.says(&session, ReportKind::Progress, &format!("step {step}")).await;
        }
        world.assert_in_order().await;
        let mut cases = vec![("UPDATE timeline SET at = at + 1", "timeline rows without their event", "UPDATE timeline SET at = at - 1"),
        ];
        if matches!(world.store.location(), DatabaseLocation::File(_)) {
            cases.extend([
                (
                    "UPDATE timeline_tail SET at = at + 1",
                    "timeline rows without their event",
                    "UPDATE timeline_tail SET at = at - 1",
                ),
                (
                    "UPDATE timeline_tail SET session_id = 'gone'",
                    "timeline rows without their session",
                    "UPDATE timeline_tail SET session_id = (SELECT id FROM sessions)",
                ),
                (
                    "UPDATE timeline SET ord = ord + 1000",
                    "timeline rows in the wrong order",
                    "UPDATE timeline SET ord = ord - 1000",
                ),
            ]);
        }
        for (damage, expected, repair) in cases {
            world.sql(damage).await;
            let found: Vec<String> =
                world.store.read(CheckIntegrity).await.unwrap().into_iter().map(|finding| finding.what).collect();
            assert!(found.iter().any(|what| what == expected), "{damage}: {found:?}");
            world.sql(repair).await;
            world.assert_in_order().await;
        }
    }
}
