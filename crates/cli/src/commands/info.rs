//! `maestro info`: a worker's tasks, their progress, and what changed since the last command.

use std::fmt::Write as _;

use maestro_api::ReceivedReply;
use maestro_api::sessions::{self, SessionBody};
use maestro_api::spawns;
use maestro_api::tasks::{self, DepthQuery, TaskBody, TaskQuery};
use maestro_core::agent::spawn::PlanTaskText;
use serde_json::{Value as Json, json};

use crate::client::CliClient;
use crate::client::reporter::{self, WorkReporter};
use crate::commands::task_tree::{self, TaskTree};
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::ExitKind;
use crate::output::screen::{clean, clean_lines};

pub(crate) fn run(world: &World) -> CommandResult {
    let speaker = WorkReporter::of(world)?;
    let client = CliClient::open(world)?;
    // The updates first: a change while the rest is read is shown twice rather than never.
    let answer = speaker.heartbeat(&client)?;
    let session = client.call_raw(sessions::get(&answer.session_id))?;
    let tasks = own_tasks(&client, &answer.session_id)?;
    let planned = if tasks.is_empty() { plan_task(&client, &answer.session_id)? } else { None };
    if world.json {
        let tasks: Vec<Json> = tasks.into_iter().map(OwnTask::into_raw).collect();
        let (notices, changes) = (&answer.news.notices, &answer.news.changes);
        let mut object = json!({ "session": session.raw, "tasks": tasks, "notices": notices, "changes": changes });
        if let Some(planned) = planned {
            object["planTask"] = json!(planned);
        }
        return Ok(reporter::confirm_printed(client, &answer, format!("{object}\n"), world));
    }
    let mut text = head(&session.value, world);
    match &planned {
        Some(planned) => text.push_str(&describe_planned(planned, world)),
        None if tasks.is_empty() => text.push_str("\nNo task.\n"),
        None => {}
    }
    for OwnTask { task, below, .. } in tasks {
        let below = TaskTree::of(below.value);
        text.push('\n');
        text.push_str(&task_tree::details(&task, &below.below(None), world));
    }
    if !answer.news.changes.is_empty() {
        text.push('\n');
    }
    Ok(reporter::reply_with_updates(client, &answer, text, world))
}

/// A task of a session, with everything below it.
pub(crate) struct OwnTask {
    pub(crate) task: TaskBody,
    raw: Json,
    pub(crate) below: ReceivedReply<Vec<TaskBody>>,
}

impl OwnTask {
    /// The task as it came, with what is below it under `subtasks`.
    fn into_raw(mut self) -> Json {
        if let Some(task) = self.raw.as_object_mut() {
            task.insert("subtasks".to_owned(), self.below.raw);
        }
        self.raw
    }
}

/// The tasks of a session, each with everything below it.
pub(crate) fn own_tasks(client: &CliClient, session: &str) -> CommandResult<Vec<OwnTask>> {
    let query = TaskQuery { session_id: Some(session.to_owned()), ..TaskQuery::default() };
    let ReceivedReply { raw, value } = client.list_raw(tasks::list(&query))?;
    let raws = raw.as_array().cloned().unwrap_or_default();
    let tasks = value.into_iter().zip(raws).map(|(task, raw)| {
        let below = client.list_raw(tasks::children(&task.id, DepthQuery { recursive: Some(true) }))?;
        Ok(OwnTask { task, raw, below })
    });
    tasks.collect()
}

/// The task of a plan that a session was started for; none where it was not started so.
fn plan_task(client: &CliClient, session: &str) -> CommandResult<Option<PlanTaskText>> {
    match client.call(spawns::get(session)) {
        Ok(spawn) => Ok(spawn.read_spec().plan_task),
        Err(error) if error.exit() == ExitKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A task of a plan in full.
fn describe_planned(task: &PlanTaskText, world: &World) -> String {
    let mut text = format!("\n{}\n", world.paint.strong(&clean(&task.label)));
    for line in clean_lines(task.details.as_deref().unwrap_or_default().trim_end()).lines() {
        let _ = writeln!(text, "{}", format!("  {} {line}", world.paint.dim("|")).trim_end());
    }
    text
}

/// A session in a few lines.
pub(crate) fn head(session: &SessionBody, world: &World) -> String {
    let ended = session.end_reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    let mut text = format!(
        "{} {}\n  {}, {}{ended}, in {}\n",
        world.paint.dim(&clean(&session.id)),
        world.paint.strong(&clean(&session.name)),
        session.role,
        session.status,
        clean(&session.project_id),
    );
    if let Some(question) = &session.needs_input {
        let _ = writeln!(text, "  {} {}", world.paint.warning("asks:"), clean(&question.message));
    }
    text
}
