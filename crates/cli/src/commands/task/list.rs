//! `maestro task list` and `task children`: lists of tasks, one line each.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::path;
use crate::args::TaskListArgs;
use crate::client::context;
use crate::client::wire::{self, Task};
use crate::client::worker;
use crate::client::{Client, with_query};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::screen::count;
use crate::output::tree::{Tree, lines};

pub(super) fn run(args: &TaskListArgs, client: Client, world: &World) -> Result<Reply, CommandError> {
    let all = if let Some(id) = &args.id {
        client.list(&format!("{}/children?recursive=true", path(id)))?
    } else {
        let project = context::project(&client, world)?;
        client.list(&with_query("/api/tasks", &[("projectId", Some(&project.id))]))?
    };
    let mut shown = Vec::new();
    let mut closed = 0;
    for whole in all {
        let task: Task = wire::read(&whole)?;
        if args.status.is_some_and(|status| task.status != status.as_str())
            || args.priority.is_some_and(|priority| task.priority != priority.as_str())
        {
            continue;
        }
        if task.is_closed() && !args.all && args.status.is_none() {
            closed += 1;
        } else {
            shown.push((whole, task));
        }
    }
    if world.json {
        return Reply::json(&shown.into_iter().map(|(whole, _)| whole).collect::<Vec<Json>>());
    }
    let tasks: Vec<(usize, &Task)> = shown.iter().map(|(_, task)| (0, task)).collect();
    let mut text = lines(&tasks, 0, world);
    text.push_str(&match tasks.len() {
        0 => "No tasks".to_owned(),
        many => count(many, "task", "tasks"),
    });
    if closed > 0 {
        let _ = write!(text, ", {} not shown (--all)", count(closed, "closed one", "closed ones"));
    }
    text.push('\n');
    Ok(worker::with_news(client, text, world))
}

pub(super) fn children(id: &str, recursive: bool, client: Client, world: &World) -> Result<Reply, CommandError> {
    let query = if recursive { "?recursive=true" } else { "" };
    let found = client.list(&format!("{}/children{query}", path(id)))?;
    if world.json {
        return Reply::json(&found);
    }
    let tree = Tree::of(wire::read_all(&found)?);
    let text = if found.is_empty() { "No subtasks.\n".to_owned() } else { lines(&tree.below(None), 0, world) };
    Ok(worker::with_news(client, text, world))
}
