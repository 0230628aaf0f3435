//! `maestro subtask`: subtasks of a worker's own task.

use maestro_api::ReceivedReply;
use maestro_api::reports::NewReport;
use maestro_api::tasks::{self, NewTask, TaskBody};
use maestro_core::report::ReportKind;
use maestro_core::task::TaskStatus;
use serde_json::Value as Json;

use crate::args::{SubtaskArgs, SubtaskCommand};
use crate::client::Client;
use crate::client::context;
use crate::client::worker::{self, Speaker};
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
            let report = about(id, worker::new_report(ReportKind::Complete, None));
            worker::report(client, &speaker, &report, &said, world)
        }
        SubtaskCommand::Fail { id, reason } => {
            let subtask = open_subtask(&client, id, TaskStatus::Blocked)?;
            let said = format!("Failed: {}", clean(&subtask.title));
            let report = about(id, worker::new_report(ReportKind::Error, Some(reason)));
            worker::report(client, &speaker, &report, &said, world)
        }
        SubtaskCommand::Create { title, desc } => create(client, &speaker, title, desc.as_deref(), world),
    }
}

/// A report about one task.
fn about(task: &str, report: NewReport) -> NewReport {
    NewReport { task_ids: Some(vec![task.to_owned()]), ..report }
}

fn list(client: Client, speaker: &Speaker, world: &World) -> Result<Reply, CommandError> {
    let answer = speaker.beat(&client)?;
    let own = own_tasks(&client, &answer.session_id)?;
    if world.json {
        // Not confirmed: what is not shown was not received.
        let raw = own.into_iter().flat_map(|own| own.below.raw.as_array().cloned().unwrap_or_default());
        return Reply::json(&raw.collect::<Vec<Json>>());
    }
    let tree = Tree::of(own.into_iter().flat_map(|own| own.below.value).collect());
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
fn open_subtask(client: &Client, id: &str, status: TaskStatus) -> Result<TaskBody, CommandError> {
    let task = client.call(tasks::get(id))?;
    if task.parent_id.is_none() {
        return Err(CommandError::invalid(format!("task `{id}` is not a subtask"))
            .hint("use `maestro complete` or `maestro blocked` for your own task"));
    }
    if !task.status.may_become(status) {
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
    let new = NewTask {
        parent_id: Some(parent),
        title: Some(title.to_owned()),
        description: desc.map(str::to_owned),
        ..NewTask::default()
    };
    let ReceivedReply { raw, value: task } = client.call_raw(tasks::create(&new))?;
    if world.json {
        return Reply::json(&raw);
    }
    let text = format!("{}  {}\n", clean(&task.id), clean(&task.title));
    let answer = worker::without_task(speaker.beat(&client)?, &task.id);
    Ok(worker::told(client, &answer, text, world))
}
