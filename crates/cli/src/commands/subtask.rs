//! `maestro subtask`: subtasks of a worker's own task.

use maestro_api::ReceivedReply;
use maestro_api::reports::NewReport;
use maestro_api::tasks::{self, NewTask, TaskBody};
use maestro_core::report::ReportKind;
use maestro_core::task::TaskStatus;
use serde_json::Value as Json;

use crate::args::{SubtaskCommand, SubtaskGroup};
use crate::client::CliClient;
use crate::client::context;
use crate::client::reporter::{self, WorkReporter};
use crate::commands::info::own_tasks;
use crate::commands::task_tree::{self, TaskTree};
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::{clean, count};

pub(crate) fn run(args: &SubtaskGroup, world: &World) -> CommandResult {
    let speaker = WorkReporter::of(world)?;
    let client = CliClient::open(world)?;
    match &args.command {
        SubtaskCommand::List => list(client, &speaker, world),
        SubtaskCommand::Complete { id } => {
            let subtask = open_subtask(&client, id, TaskStatus::Completed)?;
            let said = format!("Completed: {}", clean(&subtask.title));
            let report = about(id, reporter::new_report(ReportKind::Complete, None));
            reporter::report(client, &speaker, &report, &said, world)
        }
        SubtaskCommand::Fail { id, reason } => {
            let subtask = open_subtask(&client, id, TaskStatus::Blocked)?;
            let said = format!("Failed: {}", clean(&subtask.title));
            let report = about(id, reporter::new_report(ReportKind::Error, Some(reason)));
            reporter::report(client, &speaker, &report, &said, world)
        }
        SubtaskCommand::Create { title, desc } => create(client, &speaker, title, desc.as_deref(), world),
    }
}

/// A report about one task.
fn about(task: &str, report: NewReport) -> NewReport {
    NewReport { task_ids: Some(vec![task.to_owned()]), ..report }
}

fn list(client: CliClient, speaker: &WorkReporter, world: &World) -> CommandResult {
    let answer = speaker.heartbeat(&client)?;
    let own = own_tasks(&client, &answer.session_id)?;
    if world.json {
        // Not confirmed: what is not shown was not received.
        let raw = own.into_iter().flat_map(|own| own.below.raw.as_array().cloned().unwrap_or_default());
        return CommandOutput::json(&raw.collect::<Vec<Json>>());
    }
    let tree = TaskTree::of(own.into_iter().flat_map(|own| own.below.value).collect());
    let subtasks = tree.below(None);
    let closed = subtasks.iter().filter(|(_, task)| task.is_closed()).count();
    let mut text = task_tree::lines_in_full(&subtasks, 0, world);
    let sum = match subtasks.len() {
        0 => "No subtasks.".to_owned(),
        many => format!("{}, {closed} closed", count(many, "subtask", "subtasks")),
    };
    text.push_str(&sum);
    text.push('\n');
    Ok(reporter::reply_with_updates(client, &answer, text, world))
}

/// The subtask with this ID, if it can get that status.
fn open_subtask(client: &CliClient, id: &str, status: TaskStatus) -> CommandResult<TaskBody> {
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

fn create(client: CliClient, speaker: &WorkReporter, title: &str, desc: Option<&str>, world: &World) -> CommandResult {
    let parent = context::task(None, &client, world)?;
    let new = NewTask {
        parent_id: Some(parent),
        title: Some(title.to_owned()),
        description: desc.map(str::to_owned),
        ..NewTask::default()
    };
    let ReceivedReply { raw, value: task } = client.call_raw(tasks::create(&new))?;
    if world.json {
        return CommandOutput::json(&raw);
    }
    let text = format!("{}  {}\n", clean(&task.id), clean(&task.title));
    let answer = reporter::without_task(speaker.heartbeat(&client)?, &task.id);
    Ok(reporter::reply_with_updates(client, &answer, text, world))
}
