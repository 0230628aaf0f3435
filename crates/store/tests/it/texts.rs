//! Does every text come back as it was given, or is it refused at once?

use maestro_core::report::ReportKind;
use maestro_store::*;

use crate::cast::{assert_refused, rename, says};
use crate::world::{World, both};

both! {
    async fn a_nul_character_is_refused_by_name(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        let before = world.last_seq().await;
        let renamed = world.store.write(rename(&task, "a\0b", Actor::Person)).await;
        assert_refused!(renamed, StoreError::Invalid(why) if why.contains("NUL"));
        assert_refused!(world.store.write(says(&session.id, ReportKind::Progress, "\0")).await, StoreError::Invalid(_));
        assert_refused!(world.store.read(TokenHolder { hash: "\0".into() }).await, StoreError::Invalid(_));
        assert_eq!(world.last_seq().await, before);

        let metadata = serde_json::json!({ "output": "a\0b" });
        let report = SubmitReport { metadata: Some(metadata.clone()), ..says(&session.id, ReportKind::Progress, "fine") };
        world.store.write(report).await.unwrap();
        let timeline = TimelineQuery { session: session.id, range: TimelineRange::Last(1) };
        assert_eq!(world.store.read(timeline).await.unwrap().items[0].metadata, Some(metadata), "JSON can say it");
    }

    async fn any_other_text_comes_back_as_it_was(world) {
        let texts = [
            "",
            " ",
            "'; DROP TABLE tasks; --",
            "Grüße, 世界 👩‍👩‍👧 \u{202e}abc",
            "\u{1}\u{7f}\u{fffd}\u{ffff}",
            "$1 ? %s \\ \"",
            "a\r\nb\tc",
        ];
        for text in texts {
            let task = world.task(text).await;
            assert_eq!(world.store.read(TaskById(task.id)).await.unwrap().title, text);
        }
    }

    async fn a_very_long_text_comes_back_whole(world) {
        let long = "words and words ".repeat(400_000);
        let task = world.task("Fix the login").await;
        let patch = TaskPatch { description: Some(long.clone()), ..TaskPatch::default() };
        let update = UpdateTask { id: task.id.clone(), patch, task_session: None, expected: None, actor: Actor::Person };
        world.store.write(update).await.unwrap();
        assert!(world.store.read(TaskById(task.id.clone())).await.unwrap().description == long);

        let session = world.session(&[&task]).await;
        world.says(&session, ReportKind::Progress, &long).await;
        let timeline = TimelineQuery { session: session.id, range: TimelineRange::Last(1) };
        assert!(world.store.read(timeline).await.unwrap().items[0].message == long);
        // Longer than what an index of PostgreSQL takes, and not to be compressed.
        let words: Vec<String> = (0..20_000_u64).map(|number| hash_secret(number.to_string().as_bytes())).collect();
        let key = words.concat();
        let once = || Some(IdempotencyKey { request: key.clone(), fingerprint: "f".into() });
        let first = world.store.write_once(rename(&task, "x", Actor::Person), once()).await.unwrap();
        assert_eq!(world.store.write_once(rename(&task, "x", Actor::Person), once()).await.unwrap(), first);
        world.assert_in_order().await;
    }
}
