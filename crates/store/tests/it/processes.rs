//! Do several processes on one database see each other's changes?

use std::time::Duration;

use maestro_store::*;

use crate::cast::rename;
use crate::world::{World, both};

async fn rings(changes: &mut ChangeSignal) -> bool {
    tokio::time::timeout(Duration::from_secs(5), changes.next()).await.is_ok_and(|rung| rung.is_ok())
}

both! {
    async fn two_handles_write_and_see_the_same(world) {
        let other = world.again(StoreOptions::default()).await;
        let task = world.task("Fix the login").await;
        let seen = other.read(TaskById(task.id.clone())).await.unwrap();
        assert_eq!(seen, task);
        let changed = other.write(rename(&task, "Fix the logout", Actor::Person)).await.unwrap();
        assert_eq!(world.store.read(TaskById(task.id.clone())).await.unwrap(), changed);

        let (left, right) = (world.store.clone(), other.clone());
        let project = world.project().await;
        let create = |title: String| CreateTask { project: Some(project.clone()), title, ..CreateTask::default() };
        let mut writers = tokio::task::JoinSet::new();
        for number in 0..40 {
            let (store, create) =
                (if number % 2 == 0 { left.clone() } else { right.clone() }, create(format!("{number}")));
            writers.spawn(async move { store.write(create).await.unwrap() });
        }
        assert_eq!(writers.join_all().await.len(), 40);
        let (left, right) = (left.read(TaskList::default()).await.unwrap(), right.read(TaskList::default()).await.unwrap());
        assert_eq!(left, right);
        assert_eq!(left.items.len(), 41);
        world.assert_in_order().await;
    }

    async fn a_handle_notices_what_another_one_stores(world) {
        let other = world.again(StoreOptions::default()).await;
        let task = world.task("Fix the login").await;
        let mut changes = world.store.changes();
        world.store.watch_others().unwrap();
        // What was stored before may still ring; only what comes after the bell has been still counts.
        while tokio::time::timeout(Duration::from_millis(1500), changes.next()).await.is_ok() {
            if world.schema.is_some() {
                break;
            }
        }
        other.write(rename(&task, "Fix the logout", Actor::Person)).await.unwrap();
        assert!(rings(&mut changes).await);
    }

    async fn a_handle_notices_what_it_stores_itself(world) {
        let mut changes = world.store.changes();
        world.task("Fix the login").await;
        assert!(rings(&mut changes).await);
    }
}
