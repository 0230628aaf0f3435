//! What a search finds among tasks and sessions that are not among the newest.

use maestro_core::id::ProjectId;
use maestro_core::session::Approach;
use maestro_store::*;

use crate::cast::rename;
use crate::world::{World, both};

/// A task and a session with which everything before them is old.
const NEWER: &str = "\
    INSERT INTO tasks (ord, id, project_id, title, description, status, priority, initial_prompt, skills, agents, \
      dependencies, created_at, updated_at, manual_status, revision) \
      SELECT 50000, 'task_1_newer', id, 'newer', '', 'todo', 'medium', '', '[]', '[]', '[]', 1, 1, 0, 1 FROM projects;\
    INSERT INTO sessions (ord, id, project_id, name, role, env, strategy, status, started_at, last_activity, hostname, \
      platform, metadata, revision) \
      SELECT 50000, 'sess_1_newer', id, 'newer', 'worker', '{}', 'simple', 'completed', 1, 1, '', '', '{}', 1 FROM projects;";

async fn found(world: &World, text: &str, project: Option<&ProjectId>) -> (Vec<String>, Vec<String>) {
    let search = TextSearch { text: text.to_owned(), project: project.cloned(), limit: 3 };
    let found = world.store.read(search).await.unwrap();
    let tasks = found.tasks.into_iter().map(|task| task.title).collect();
    (tasks, found.sessions.into_iter().map(|session| session.title).collect())
}

both! {
    async fn old_ones_are_found_by_the_beginnings_of_their_words(world) {
        let project = world.project().await;
        for title in ["Fix the log-in form", "Ship the forms", "Fix the rest", "Fix 検索", "The last form"] {
            world.task(title).await;
        }
        let session = CreateSession {
            name: Some("Forgotten work".to_owned()),
            agent: Some("aider".to_owned()),
            ..world.new_session(&[], Approach::Simple).await
        };
        world.store.write(session).await.unwrap();
        world.sql(NEWER).await;
        let tasks = async |text| found(world, text, None).await.0;
        assert_eq!(tasks("FORM fix").await, ["Fix the log-in form"]);
        assert_eq!(tasks("log-in").await, ["Fix the log-in form"]);
        assert_eq!(tasks("索").await, ["Fix 検索"]);
        assert_eq!(tasks("the").await, ["The last form", "Fix the rest", "Ship the forms"], "the newest first");
        assert_eq!(tasks("form missing").await, [""; 0]);
        assert_eq!(found(world, "new", Some(&project)).await, (vec!["newer".to_owned()], vec!["newer".to_owned()]));
        assert_eq!(found(world, "forgot aid", Some(&project)).await.1, ["Forgotten work"]);
        let stranger: ProjectId = "proj_1_stranger".parse().unwrap();
        assert_eq!(found(world, "forgot", Some(&stranger)).await, (vec![], vec![]));
    }

    async fn words_follow_what_is_renamed_and_deleted(world) {
        let task = world.task("Fix the login").await;
        let session = world.store.write(world.new_session(&[], Approach::Simple).await).await.unwrap();
        world.sql(NEWER).await;
        world.store.write(rename(&task, "Fix the logout", Actor::Person)).await.unwrap();
        let named = UpdateSession {
            name: Some("Painting".to_owned()),
            agent: Some("codex".to_owned()),
            ..UpdateSession::of(session.id.clone(), Actor::Person)
        };
        world.store.write(named).await.unwrap();
        assert_eq!(found(world, "login", None).await.0, [""; 0]);
        assert_eq!(found(world, "logout fix", None).await.0, ["Fix the logout"]);
        assert_eq!(found(world, "codex paint", None).await.1, ["Painting"]);
        let delete = DeleteTask { id: task.id, subtasks: SubtaskPolicy::Keep, actor: Actor::Person };
        world.store.write(delete).await.unwrap();
        world.store.write(DeleteSession { id: session.id, actor: Actor::Person }).await.unwrap();
        assert_eq!(found(world, "logout", None).await.0, [""; 0]);
        assert_eq!(found(world, "painting", None).await.1, [""; 0]);
    }
}
