//! `maestro task tree`: all tasks of a project as a tree.

use std::collections::{HashMap, HashSet};

use maestro_api::ReceivedReply;
use maestro_api::tasks::{self, DepthQuery, TaskBody, TaskQuery};
use serde_json::Value as Json;

use crate::args::TaskTreeArgs;
use crate::client::CliClient;
use crate::client::context;
use crate::client::reporter;
use crate::commands::task_tree::{TaskTree, lines};
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};

pub(super) fn run(args: &TaskTreeArgs, client: CliClient, world: &World) -> CommandResult {
    let ReceivedReply { raw, value } = all(args, &client, world)?;
    let ids: Vec<String> = value.iter().map(|task| task.id.clone()).collect();
    let tree = TaskTree::of(value);
    let depth = args.depth.map_or(usize::MAX, |depth| usize::try_from(depth).unwrap_or(usize::MAX));
    let wanted = matching_ids(&tree, args);
    let mut shown = tree.below(None);
    shown.retain(|(level, task)| *level < depth && wanted.as_ref().is_none_or(|wanted| wanted.contains(&*task.id)));
    if world.json {
        let raws = raw.as_array().map(Vec::as_slice).unwrap_or_default();
        let whole: HashMap<&str, &Json> = ids.iter().map(String::as_str).zip(raws).collect();
        return CommandOutput::json(&nest(&shown, &whole));
    }
    let text = if shown.is_empty() { "No tasks.\n".to_owned() } else { lines(&shown, &client.short_ids(), world) };
    Ok(reporter::with_updates(client, text, world))
}

/// Every task there is to show, with at most three requests.
fn all(args: &TaskTreeArgs, client: &CliClient, world: &World) -> CommandResult<ReceivedReply<Vec<TaskBody>>> {
    let Some(root) = &args.root else {
        let project = context::project(client, world)?;
        return client.list_raw(tasks::list(&TaskQuery { project_id: Some(project.id), ..TaskQuery::default() }));
    };
    let first = client.call_raw(tasks::get(root))?;
    let mut below = client.list_raw(tasks::children(root, DepthQuery { recursive: Some(true) }))?;
    below.value.insert(0, first.value);
    if let Some(items) = below.raw.as_array_mut() {
        items.insert(0, first.raw);
    }
    Ok(below)
}

/// Those in the status asked for, and everything above them.
fn matching_ids<'a>(tree: &'a TaskTree, args: &TaskTreeArgs) -> Option<HashSet<&'a str>> {
    let status = args.status?;
    let mut wanted = HashSet::new();
    let mut above: Vec<&TaskBody> = Vec::new();
    for (level, task) in tree.below(None) {
        above.truncate(level);
        above.push(task);
        if task.status == status {
            wanted.extend(above.iter().map(|task| task.id.as_str()));
        }
    }
    Some(wanted)
}

/// The tasks as the server sent them, each with those below it under `children`.
fn nest(shown: &[(usize, &TaskBody)], whole: &HashMap<&str, &Json>) -> Vec<Json> {
    let mut levels: Vec<Vec<Json>> = vec![Vec::new()];
    let fold = |levels: &mut Vec<Vec<Json>>, down_to: usize| {
        while levels.len() > down_to + 1 {
            let children = levels.pop().unwrap_or_default();
            if let Some(parent) = levels.last_mut().and_then(|level| level.last_mut()) {
                with_children(parent, children);
            }
        }
    };
    for (level, task) in shown {
        fold(&mut levels, *level);
        let mut node = whole.get(task.id.as_str()).map_or(Json::Null, |task| (*task).clone());
        with_children(&mut node, Vec::new());
        while levels.len() <= *level {
            levels.push(Vec::new());
        }
        if let Some(siblings) = levels.last_mut() {
            siblings.push(node);
        }
    }
    fold(&mut levels, 0);
    levels.pop().unwrap_or_default()
}

fn with_children(task: &mut Json, children: Vec<Json>) {
    if let Some(task) = task.as_object_mut() {
        task.insert("children".to_owned(), children.into());
    }
}
