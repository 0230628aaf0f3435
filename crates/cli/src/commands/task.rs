//! `maestro task`: tasks and their state.

mod change;
mod list;
mod tree;

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use crate::args::{TaskCommand, TaskCreateArgs, TaskGroup};
use crate::client::context;
use crate::client::wire::{self, Task};
use crate::client::worker;
use crate::client::{Client, escaped};
use crate::host::world::World;
use crate::output::error::{CommandError, Exit};
use crate::output::reply::Reply;
use crate::output::screen::clean;
use crate::output::tree::{Tree, details};

pub(crate) fn run(args: &TaskGroup, world: &World) -> Result<Reply, CommandError> {
    let client = Client::open(world)?;
    match &args.command {
        TaskCommand::List(args) => list::run(args, client, world),
        TaskCommand::Get { id } => get(id.as_deref(), client, world),
        TaskCommand::Create(args) => create(args, client, world),
        TaskCommand::Children { id, recursive } => list::children(id, *recursive, client, world),
        TaskCommand::Update(args) => change::update(args, client, world),
        TaskCommand::Start { id } => change::start(id, client, world),
        TaskCommand::Complete { id } => change::complete(id, client, world),
        TaskCommand::Block { id, reason } => change::block(id, reason, client, world),
        TaskCommand::Delete { id, cascade } => delete(id, *cascade, client, world),
        TaskCommand::Tree(args) => tree::run(args, client, world),
    }
}

/// Where a task is.
fn path(id: &str) -> String {
    format!("/api/tasks/{}", escaped(id))
}

fn get(id: Option<&str>, client: Client, world: &World) -> Result<Reply, CommandError> {
    let id = context::task(id, &client, world)?;
    let whole: Json = client.get(&path(&id))?;
    if world.json {
        return Reply::json(&whole);
    }
    let below = Tree::of(wire::read_all(&client.list(&format!("{}/children?recursive=true", path(&id)))?)?);
    let task: Task = wire::read(&whole)?;
    let mut text = details(&task, &below.below(None), world);
    if let Some(parent) = &task.parent_id {
        let _ = writeln!(text, "  part of {}", clean(parent));
    }
    if !task.session_ids.is_empty() {
        let _ = writeln!(text, "  sessions: {}", clean(&task.session_ids.join(", ")));
    }
    Ok(worker::with_news(client, text, world))
}

fn create(args: &TaskCreateArgs, client: Client, world: &World) -> Result<Reply, CommandError> {
    let title = args.title.as_ref().or(args.title_option.as_ref());
    // A subtask belongs to its parent's project, wherever the command runs.
    let project = match args.parent {
        Some(_) => world.aim.project.clone(),
        None => Some(context::project(&client, world)?.id),
    };
    let body = json!({
        "projectId": project, "title": title, "parentId": args.parent, "description": args.desc,
        "priority": args.priority,
    });
    let made: Json = client.post("/api/tasks", &body).map_err(|error| match (error.exit(), &args.parent) {
        (Exit::Forbidden, None) => error.hint("use `maestro subtask create` for your own task"),
        _ => error,
    })?;
    if world.json {
        return Reply::json(&made);
    }
    let task: Task = wire::read(&made)?;
    let text = format!("{}  {}\n", clean(&task.id), clean(&task.title));
    Ok(worker::with_news(client, text, world))
}

fn delete(id: &str, cascade: bool, client: Client, world: &World) -> Result<Reply, CommandError> {
    let query = if cascade { "?cascade=true" } else { "" };
    let gone: Json = client.delete(&format!("{}{query}", path(id)))?;
    if world.json {
        return Reply::json(&gone);
    }
    let what = if cascade { "Deleted with its subtasks." } else { "Deleted." };
    Ok(worker::with_news(client, format!("{what}\n"), world))
}
