//! `maestro info`: a worker's tasks, their progress, and what changed since the last command.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use crate::client::wire::{self, Session, Task};
use crate::client::worker::{self, Speaker};
use crate::client::{Client, escaped, with_query};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::screen::clean;
use crate::output::tree::{self, Tree};

pub(crate) fn run(world: &World) -> Result<Reply, CommandError> {
    let speaker = Speaker::of(world)?;
    let client = Client::open(world)?;
    // The updates first: a change while the rest is read is shown twice rather than never.
    let answer = speaker.beat(&client)?;
    let whole: Json = client.get(&format!("/api/sessions/{}", escaped(&answer.session_id)))?;
    let tasks = own_tasks(&client, &answer.session_id)?;
    if world.json {
        let tasks: Vec<Json> = tasks.into_iter().map(|(task, below)| with_subtasks(task, &below)).collect();
        let object = json!({ "session": whole, "tasks": tasks, "notices": answer.notices, "changes": answer.changes });
        return Ok(worker::confirmed(client, &answer, format!("{object}\n")));
    }
    let session: Session = wire::read(&whole)?;
    let mut text = head(&session, world);
    if tasks.is_empty() {
        text.push_str("\nNo task.\n");
    }
    for (task, below) in tasks {
        let below = Tree::of(wire::read_all(&below)?);
        text.push('\n');
        text.push_str(&tree::details(&wire::read::<Task>(&task)?, &below.below(None), world));
    }
    if !answer.changes.is_empty() {
        text.push('\n');
    }
    Ok(worker::told(client, &answer, text, world))
}

/// The tasks of a session, each with everything below it.
pub(crate) fn own_tasks(client: &Client, session: &str) -> Result<Vec<(Json, Vec<Json>)>, CommandError> {
    let tasks = client.list(&with_query("/api/tasks", &[("sessionId", Some(session))]))?;
    tasks
        .into_iter()
        .map(|task| {
            let id = task["id"].as_str().unwrap_or_default();
            let below = client.list(&format!("/api/tasks/{}/children?recursive=true", escaped(id)))?;
            Ok((task, below))
        })
        .collect()
}

fn with_subtasks(mut task: Json, below: &[Json]) -> Json {
    task["subtasks"] = below.into();
    task
}

/// A session in a few lines.
pub(crate) fn head(session: &Session, world: &World) -> String {
    let ended = session.end_reason.as_ref().map(|reason| format!(" ({})", clean(reason))).unwrap_or_default();
    let mut text = format!(
        "{} {}\n  {}, {}{ended}, in {}\n",
        world.paint.dim(&clean(&session.id)),
        world.paint.strong(&clean(&session.name)),
        clean(&session.role),
        clean(&session.status),
        clean(&session.project_id),
    );
    if let Some(question) = &session.needs_input {
        let _ = writeln!(text, "  {} {}", world.paint.warning("asks:"), clean(&question.message));
    }
    text
}
