//! `maestro task tree`: all tasks of a project as a tree.

use std::collections::HashSet;

use serde_json::Value as Json;

use super::path;
use crate::args::TaskTreeArgs;
use crate::client::context;
use crate::client::wire::{self, Task};
use crate::client::worker;
use crate::client::{Client, with_query};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::tree::{Tree, lines};

pub(super) fn run(args: &TaskTreeArgs, client: Client, world: &World) -> Result<Reply, CommandError> {
    let all = all(args, &client, world)?;
    let tree = Tree::of(wire::read_all(&all)?);
    let depth = args.depth.map_or(usize::MAX, |depth| usize::try_from(depth).unwrap_or(usize::MAX));
    let wanted = wanted(&tree, args);
    let mut shown = tree.below(None);
    shown.retain(|(level, task)| *level < depth && wanted.as_ref().is_none_or(|wanted| wanted.contains(&*task.id)));
    if world.json {
        return Reply::json(&nested(&shown, &all));
    }
    let text = if shown.is_empty() { "No tasks.\n".to_owned() } else { lines(&shown, 0, world) };
    Ok(worker::with_news(client, text, world))
}

/// Every task there is to show, with at most three requests.
fn all(args: &TaskTreeArgs, client: &Client, world: &World) -> Result<Vec<Json>, CommandError> {
    let Some(root) = &args.root else {
        let project = context::project(client, world)?;
        return client.list(&with_query("/api/tasks", &[("projectId", Some(&project.id))]));
    };
    let mut all: Vec<Json> = vec![client.get(&path(root))?];
    all.append(&mut client.list(&format!("{}/children?recursive=true", path(root)))?);
    Ok(all)
}

/// Those in the status asked for, and everything above them.
fn wanted<'a>(tree: &'a Tree, args: &TaskTreeArgs) -> Option<HashSet<&'a str>> {
    let status = args.status?;
    let mut wanted = HashSet::new();
    let mut above: Vec<&Task> = Vec::new();
    for (level, task) in tree.below(None) {
        above.truncate(level);
        above.push(task);
        if task.status == status.as_str() {
            wanted.extend(above.iter().map(|task| task.id.as_str()));
        }
    }
    Some(wanted)
}

/// The tasks as the server sent them, each with those below it under `children`.
fn nested(shown: &[(usize, &Task)], all: &[Json]) -> Vec<Json> {
    let mut levels: Vec<Vec<Json>> = vec![Vec::new()];
    let fold = |levels: &mut Vec<Vec<Json>>, down_to: usize| {
        while levels.len() > down_to + 1 {
            let children = levels.pop().unwrap_or_default();
            if let Some(parent) = levels.last_mut().and_then(|level| level.last_mut()) {
                parent["children"] = children.into();
            }
        }
    };
    let whole: std::collections::HashMap<&str, &Json> =
        all.iter().filter_map(|task| Some((task["id"].as_str()?, task))).collect();
    for (level, task) in shown {
        fold(&mut levels, *level);
        let mut node = whole.get(task.id.as_str()).map_or(Json::Null, |task| (*task).clone());
        node["children"] = Json::Array(Vec::new());
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
