//! `maestro subtask`: subtasks of a worker's own task.

use maestro_core::task::TaskStatus;
use serde_json::{Value as Json, json};

use crate::args::{SubtaskArgs, SubtaskCommand};
use crate::client::context;
use crate::client::wire::{self, Task};
use crate::client::worker::{self, Speaker};
use crate::client::{Client, escaped};
use crate::commands::info::own_tasks;
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::screen::{clean, count};
use crate::output::tree::{self, Tree};

pub(crate) fn run(args: &SubtaskArgs, world: &World) -> Result<Reply, CommandError> {
    let speaker = Speaker::of(world)?;
    let client = Client::open(world)?;
    match &args.command {
        SubtaskCommand::List => list(client, &speaker, world),
        SubtaskCommand::Complete { id } => {
            let subtask = open_subtask(&client, id, TaskStatus::Completed)?;
            let said = format!("Completed: {}", clean(&subtask.title));
            worker::report(client, &speaker, &json!({ "kind": "complete", "taskIds": [id] }), &said, world)
        }
        SubtaskCommand::Fail { id, reason } => {
            let subtask = open_subtask(&client, id, TaskStatus::Blocked)?;
            let said = format!("Failed: {}", clean(&subtask.title));
            let body = json!({ "kind": "error", "message": reason, "taskIds": [id] });
            worker::report(client, &speaker, &body, &said, world)
        }
        SubtaskCommand::Create { title, desc } => create(client, &speaker, title, desc.as_deref(), world),
    }
}

fn list(client: Client, speaker: &Speaker, world: &World) -> Result<Reply, CommandError> {
    let answer = speaker.beat(&client)?;
    let below: Vec<Json> = own_tasks(&client, &answer.session_id)?.into_iter().flat_map(|(_, below)| below).collect();
    if world.json {
        // Not confirmed: only shown messages count as read.
        return Reply::json(&below);
    }
    let tree = Tree::of(wire::read_all(&below)?);
    let subtasks = tree.below(None);
    let closed = subtasks.iter().filter(|(_, task)| task.is_closed()).count();
    let mut text = tree::lines(&subtasks, 0, world);
    let sum = match subtasks.len() {
        0 => "No subtasks.".to_owned(),
        many => format!("{}, {closed} closed", count(many, "subtask", "subtasks")),
    };
    text.push_str(&sum);
    text.push('\n');
    Ok(worker::told(client, &answer, text, world))
}

/// The subtask with this ID, if it can get that status.
fn open_subtask(client: &Client, id: &str, status: TaskStatus) -> Result<Task, CommandError> {
    let task: Task = client.get(&format!("/api/tasks/{}", escaped(id)))?;
    if task.parent_id.is_none() {
        return Err(CommandError::invalid(format!("task `{id}` is not a subtask"))
            .hint("use `maestro complete` or `maestro blocked` for your own task"));
    }
    if !task.may_become(status) {
        return Err(CommandError::invalid(format!("subtask `{id}` is {} and cannot become {status}", task.status))
            .hint(format!("run `maestro task update {id} --status todo` to reopen it")));
    }
    Ok(task)
}

fn create(
    client: Client,
    speaker: &Speaker,
    title: &str,
    desc: Option<&str>,
    world: &World,
) -> Result<Reply, CommandError> {
    let parent = context::task(None, &client, world)?;
    let made: Json = client.post("/api/tasks", &json!({ "parentId": parent, "title": title, "description": desc }))?;
    if world.json {
        return Reply::json(&made);
    }
    let task: Task = wire::read(&made)?;
    let text = format!("{}  {}\n", clean(&task.id), clean(&task.title));
    let answer = speaker.beat(&client)?.without(&task.id);
    Ok(worker::told(client, &answer, text, world))
}
