//! `maestro status`: numbers of the project.

use std::fmt::Write as _;

use maestro_core::task::{Priority, TaskStatus};
use serde_json::{Map, Value as Json, json};

use crate::client::context;
use crate::client::wire::{self, Session, Task};
use crate::client::{Client, with_query};
use crate::commands::session::rows;
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::screen::{clean, count};

pub(crate) fn run(world: &World) -> Result<Reply, CommandError> {
    let client = Client::open(world)?;
    let project = context::project(&client, world)?;
    let of_project = ("projectId", Some(project.id.as_str()));
    let short = ("fields", Some("summary"));
    let tasks: Vec<Task> = wire::read_all(&client.list(&with_query("/api/tasks", &[of_project, short]))?)?;
    let sessions = client.list(&with_query("/api/sessions", &[of_project, ("active", Some("alive")), short]))?;
    let by_status =
        TaskStatus::ALL.map(|status| (status.as_str(), number(&tasks, |task| task.status == status.as_str())));
    let by_priority =
        Priority::ALL.map(|priority| (priority.as_str(), number(&tasks, |task| task.priority == priority.as_str())));
    if world.json {
        return Reply::json(&json!({
            "project": { "id": project.id, "name": project.name, "workingDir": project.working_dir },
            "tasks": { "total": tasks.len(), "byStatus": object(&by_status), "byPriority": object(&by_priority) },
            "activeSessions": sessions,
        }));
    }
    let sessions: Vec<Session> = wire::read_all(&sessions)?;
    let mut text = format!("{} {}\n", world.paint.dim(&clean(&project.id)), world.paint.strong(&clean(&project.name)));
    let _ = writeln!(text, "{}{}", count(tasks.len(), "task", "tasks"), listed(&by_status));
    if !tasks.is_empty() {
        let _ = writeln!(text, "by priority{}", listed(&by_priority));
    }
    let _ = writeln!(text, "{}", count(sessions.len(), "active session", "active sessions"));
    text.push_str(&rows(&sessions, world));
    Ok(Reply::text(text))
}

fn number(tasks: &[Task], is_meant: impl Fn(&Task) -> bool) -> usize {
    tasks.iter().filter(|task| is_meant(task)).count()
}

fn object(numbers: &[(&str, usize)]) -> Map<String, Json> {
    numbers.iter().map(|(word, number)| ((*word).to_owned(), json!(number))).collect()
}

fn listed(numbers: &[(&str, usize)]) -> String {
    let parts: Vec<String> =
        numbers.iter().filter(|(_, number)| *number > 0).map(|(word, number)| format!("{number} {word}")).collect();
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) }
}
