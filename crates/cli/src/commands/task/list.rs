//! `maestro task list` and `task children`: lists of tasks, one line each.

use std::fmt::Write as _;

use maestro_api::ReceivedReply;
use maestro_api::tasks::{self, DepthQuery, TaskBody, TaskQuery};
use serde_json::Value as Json;

use crate::args::TaskListArgs;
use crate::client::CliClient;
use crate::client::context;
use crate::client::reporter;
use crate::commands::task_tree::{TaskTree, lines};
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::count;

pub(super) fn run(args: &TaskListArgs, client: CliClient, world: &World) -> CommandResult {
    let request = if let Some(id) = &args.id {
        tasks::children(id, DepthQuery { recursive: Some(true) })
    } else {
        let project = context::project(&client, world)?;
        tasks::list(&TaskQuery { project_id: Some(project.id), ..TaskQuery::default() })
    };
    let ReceivedReply { raw, value } = client.list_raw(request)?;
    let mut shown = Vec::new();
    let mut closed = 0;
    for (whole, task) in raw.as_array().cloned().unwrap_or_default().into_iter().zip(value) {
        if args.status.is_some_and(|status| task.status != status)
            || args.priority.is_some_and(|priority| task.priority != priority)
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
        return CommandOutput::json(&shown.into_iter().map(|(whole, _)| whole).collect::<Vec<Json>>());
    }
    let tasks: Vec<(usize, &TaskBody)> = shown.iter().map(|(_, task)| (0, task)).collect();
    let mut text = lines(&tasks, &client.short_ids(), world);
    text.push_str(&match tasks.len() {
        0 => "No tasks".to_owned(),
        many => count(many, "task", "tasks"),
    });
    if closed > 0 {
        let _ = write!(text, ", {} not shown (--all)", count(closed, "closed one", "closed ones"));
    }
    text.push('\n');
    Ok(reporter::with_updates(client, text, world))
}

pub(super) fn children(id: &str, recursive: bool, client: CliClient, world: &World) -> CommandResult {
    let query = DepthQuery { recursive: recursive.then_some(true) };
    let ReceivedReply { raw, value: found } = client.list_raw(tasks::children(id, query))?;
    if world.json {
        return CommandOutput::json(&raw);
    }
    let none = found.is_empty();
    let tree = TaskTree::of(found);
    let text = if none { "No subtasks.\n".to_owned() } else { lines(&tree.below(None), &client.short_ids(), world) };
    Ok(reporter::with_updates(client, text, world))
}
