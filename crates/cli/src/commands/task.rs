//! `maestro task`: tasks and their state.

mod change;
mod list;
mod tree;
mod voices;

use std::fmt::Write as _;

use maestro_api::ReceivedReply;
use maestro_api::tasks::{self, DeletionQuery, DepthQuery, NewTask};
use serde_json::json;

use crate::args::{TaskCommand, TaskCreateArgs, TaskGroup};
use crate::client::CliClient;
use crate::client::context;
use crate::client::reporter;
use crate::commands::task_tree::{TaskTree, details};
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::ExitKind;
use crate::output::screen::clean;
use voices::TaskVoices;

pub(crate) fn run(args: &TaskGroup, world: &World) -> CommandResult {
    let client = CliClient::open(world)?;
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

fn get(id: Option<&str>, client: CliClient, world: &World) -> CommandResult {
    let id = context::task(id, &client, world)?;
    let ReceivedReply { mut raw, value: task } = client.call_raw(tasks::get(&id))?;
    let voices = TaskVoices::of(&task, &client)?;
    if world.json {
        if let Some(raw) = raw.as_object_mut() {
            raw.insert("blockedReason".to_owned(), json!(voices.blocked_reason));
            raw.insert("lastWords".to_owned(), json!(voices.last_words));
        }
        return CommandOutput::json(&raw);
    }
    let below = TaskTree::of(client.list(tasks::children(&id, DepthQuery { recursive: Some(true) }))?);
    let mut text = details(&task, &below.below(None), world);
    if let Some(parent) = &task.parent_id {
        let _ = writeln!(text, "  part of {}", clean(parent));
    }
    text.push_str(&voices.describe(world));
    Ok(reporter::with_updates(client, text, world))
}

fn create(args: &TaskCreateArgs, client: CliClient, world: &World) -> CommandResult {
    let title = args.title.as_ref().or(args.title_option.as_ref());
    // A subtask belongs to its parent's project, wherever the command runs.
    let project = match args.parent {
        Some(_) => world.aim.project.clone(),
        None => Some(context::project(&client, world)?.id),
    };
    let new = NewTask {
        project_id: project,
        title: title.cloned(),
        parent_id: args.parent.clone(),
        description: args.desc.clone(),
        priority: args.priority.map(|priority| priority.to_string()),
        ..NewTask::default()
    };
    let made = client.call_raw(tasks::create(&new)).map_err(|error| match (error.exit(), &args.parent) {
        (ExitKind::Forbidden, None) => error.hint("use `maestro subtask create` for your own task"),
        _ => error,
    })?;
    let ReceivedReply { raw, value: task } = made;
    if world.json {
        return CommandOutput::json(&raw);
    }
    let text = format!("{}  {}\n", clean(&task.id), clean(&task.title));
    Ok(reporter::with_updates(client, text, world))
}

fn delete(id: &str, cascade: bool, client: CliClient, world: &World) -> CommandResult {
    let gone = client.call_raw(tasks::delete(id, DeletionQuery { cascade: cascade.then_some(true) }))?;
    if world.json {
        return CommandOutput::json(&gone.raw);
    }
    let what = if cascade { "Deleted with its subtasks." } else { "Deleted." };
    Ok(reporter::with_updates(client, format!("{what}\n"), world))
}
