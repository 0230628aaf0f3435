//! Does walking a list in parts show each thing once, in order, while new ones come?

use maestro_store::*;

use crate::world::{World, both};

both! {
    async fn a_walk_over_tasks_meets_each_once(world) {
        for number in 0..10 {
            world.task(&format!("task {number}")).await;
        }
        let mut titles = Vec::new();
        let mut after = 0;
        loop {
            let page = ListPage { limit: 3, after };
            let listed = world.store.read(TaskList { filter: TaskFilter::default(), page }).await.unwrap();
            assert!(listed.items.len() <= 3);
            titles.extend(listed.items.into_iter().map(|task| task.title));
            if titles.len() < 12 {
                world.task(&format!("task {}", 9 + titles.len() / 3)).await;
            }
            match listed.next {
                Some(next) => after = next,
                None => break,
            }
        }
        let expected: Vec<String> = (0..titles.len()).map(|number| format!("task {number}")).collect();
        assert_eq!(titles, expected);
        assert!(titles.len() >= 13, "those that came during the walk are met at its end");
    }

    async fn a_part_that_is_the_last_says_so(world) {
        for number in 0..6 {
            world.task(&format!("task {number}")).await;
        }
        let first = world.store.read(TaskList { page: ListPage { limit: 3, after: 0 }, ..TaskList::default() }).await.unwrap();
        let second = TaskList { page: ListPage { limit: 3, after: first.next.unwrap() }, ..TaskList::default() };
        assert_eq!(world.store.read(second).await.unwrap().next, None);
        let none = world.store.read(TaskList { page: ListPage { limit: -1, after: 0 }, ..TaskList::default() }).await.unwrap();
        assert_eq!(none.items, [], "on both databases");
    }

    async fn a_filter_shows_only_what_it_names(world) {
        let root = world.task("root").await;
        let leaf = world.subtask(&root, "leaf").await;
        let session = world.session(&[&leaf]).await;
        let titles = async |filter| {
            let listed = world.store.read(TaskList { filter, page: ListPage::default() }).await.unwrap();
            listed.items.into_iter().map(|task| task.title).collect::<Vec<_>>()
        };
        assert_eq!(titles(TaskFilter { parent: Some(None), ..TaskFilter::default() }).await, ["root"]);
        assert_eq!(titles(TaskFilter { parent: Some(Some(root.id)), ..TaskFilter::default() }).await, ["leaf"]);
        assert_eq!(titles(TaskFilter { session: Some(session.id.clone()), ..TaskFilter::default() }).await, ["leaf"]);
        let filter = SessionFilter { task: Some(leaf.id), liveness: LivenessFilter::Alive, ..SessionFilter::default() };
        let sessions = world.store.read(SessionList { filter, page: ListPage::default() }).await.unwrap();
        assert_eq!(sessions.items, [world.find(&session).await]);
    }
}
