//! `maestro queue`: tasks of a session, one after the other.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use maestro_api::events::EventQuery;
use maestro_api::queue::{
    self, NewQueueItem, QueueEndReply, QueueFailure, QueueItemBody, QueueItemsReply, QueueReply, QueueStartReply,
    QueueStatsBody,
};
use maestro_api::{ApiRequest, ReceivedReply, sessions, tasks};
use maestro_core::session::SessionStatus;
use serde_json::Value as Json;
use tokio::time::timeout;

use crate::args::{QueueArgs, QueueCommand};
use crate::client::CliClient;
use crate::client::reporter::{self, WorkReporter};
use crate::commands::task_tree::details;
use crate::host::world::World;
use crate::output::command_output::{self, CommandOutput, CommandResult};
use crate::output::screen::clean;

pub(crate) fn run(args: &QueueArgs, world: &World) -> CommandResult {
    if let QueueCommand::Push { task, session: Some(session) } = &args.command {
        return push(task, session, CliClient::open(world)?, world);
    }
    let speaker = WorkReporter::of(world)?;
    let client = CliClient::open(world)?;
    let session = match &speaker {
        WorkReporter::Session(id) => id.clone(),
        WorkReporter::Task(_) => speaker.heartbeat(&client)?.session_id,
    };
    take(&args.command, &speaker, &session, client, world).map_err(|error| match error.message() {
        message if message.ends_with("does not use queue strategy") => {
            error.hint("run `maestro info` for the tasks of your session; it has them all at once")
        }
        _ => error,
    })
}

fn take(
    command: &QueueCommand,
    speaker: &WorkReporter,
    session: &str,
    client: CliClient,
    world: &World,
) -> CommandResult {
    match command {
        QueueCommand::Top => {
            let ReceivedReply { raw, value } = client.call_raw(queue::top(session))?;
            let step = QueueStepView { message: value.message, item: value.item, lead: Lead::Current };
            item(&raw, &step, client, world)
        }
        QueueCommand::Start { poll_interval, poll_timeout } => {
            let patience = Duration::from_secs(poll_timeout.saturating_mul(60));
            let interval = Duration::from_secs(*poll_interval);
            let ReceivedReply { raw, value } = start(&client, speaker, session, interval, patience, world)?;
            let step = QueueStepView { message: Some(value.message), item: value.item, lead: Lead::Current };
            item(&raw, &step, client, world)
        }
        QueueCommand::Complete => ended(queue::complete(session), client, world),
        QueueCommand::Fail { reason } => {
            ended(queue::fail(session, &QueueFailure { reason: reason.clone() }), client, world)
        }
        QueueCommand::Skip => ended(queue::skip(session), client, world),
        QueueCommand::List => list(&client.call_raw(queue::items(session))?, client, world),
        QueueCommand::Status => status(&client.call_raw(queue::get(session))?, client, world),
        QueueCommand::Push { task, .. } => push(task, session, client, world),
    }
}

/// The item that a step leads to.
struct QueueStepView {
    message: Option<String>,
    item: Option<QueueItemBody>,
    lead: Lead,
}

/// How the item of a step stands to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lead {
    /// It is being worked on.
    Current,
    /// It comes next.
    Next,
}

fn ended(request: ApiRequest<QueueEndReply>, client: CliClient, world: &World) -> CommandResult {
    let ReceivedReply { raw, value } = client.call_raw(request)?;
    let step = QueueStepView { message: Some(value.message), item: value.next_item, lead: Lead::Next };
    item(&raw, &step, client, world)
}

/// Begins the next item; where there is none, waits until there is one, time is up or the session is cancelled.
fn start(
    client: &CliClient,
    speaker: &WorkReporter,
    session: &str,
    interval: Duration,
    patience: Duration,
    world: &World,
) -> CommandResult<ReceivedReply<QueueStartReply>> {
    let began = Instant::now();
    let mut changes = client.watch(EventQuery { session_id: Some(session.to_owned()), ..EventQuery::default() });
    let mut is_said = false;
    loop {
        let answer = client.call_raw(queue::start(session))?;
        let left = patience.saturating_sub(began.elapsed());
        if answer.value.item.is_some() || left.is_zero() {
            return Ok(answer);
        }
        if !std::mem::replace(&mut is_said, true) {
            let minutes = patience.as_secs() / 60;
            let text = format!(
                "the queue is empty; waiting up to {minutes} min for a task (`--poll-timeout 0` does not wait)"
            );
            command_output::warn(&text, world.note_paint);
        }
        let woken = client.wait(async { timeout(interval.min(left), changes.changed()).await.is_ok() });
        let status = if woken {
            client.call(sessions::get(session))?.status
        } else {
            // A sign of life while it waits.
            speaker.heartbeat(client)?.session_status
        };
        if status.is_over() || status == SessionStatus::Paused {
            return Ok(answer);
        }
    }
}

/// The result of a step, and the task it leads to.
fn item(raw: &Json, step: &QueueStepView, client: CliClient, world: &World) -> CommandResult {
    if world.json {
        return CommandOutput::json(raw);
    }
    let mut text = String::new();
    if let Some(message) = &step.message {
        let _ = writeln!(text, "{}", clean(message));
    }
    match (&step.item, step.lead) {
        (Some(item), lead) => {
            let task = client.call(tasks::get(&item.task_id))?;
            if lead == Lead::Next {
                text.push_str("Next (start it with `maestro queue start`):\n");
            }
            text.push_str(&details(&task, &[], world));
        }
        (None, Lead::Next) => text.push_str("The queue is empty.\n"),
        (None, Lead::Current) => {}
    }
    Ok(reporter::with_updates(client, text, world))
}

fn list(answer: &ReceivedReply<QueueItemsReply>, client: CliClient, world: &World) -> CommandResult {
    if world.json {
        return CommandOutput::json(&answer.raw);
    }
    let mut text = String::new();
    for item in &answer.value.items {
        let why = item.fail_reason.as_deref().map(|why| format!("  {}", clean(why))).unwrap_or_default();
        let _ = writeln!(text, "{:<10}  {}{why}", item.status.as_str(), clean(&item.task_id));
    }
    let _ = writeln!(text, "{}", counts(answer.value.stats));
    Ok(reporter::with_updates(client, text, world))
}

fn status(answer: &ReceivedReply<QueueReply>, client: CliClient, world: &World) -> CommandResult {
    if world.json {
        return CommandOutput::json(&answer.raw);
    }
    Ok(reporter::with_updates(client, format!("{}\n", counts(answer.value.stats)), world))
}

fn counts(stats: QueueStatsBody) -> String {
    let QueueStatsBody { total, queued, processing, completed, failed, skipped } = stats;
    format!(
        "{total} in all: {queued} queued, {processing} processing, {completed} completed, {failed} failed, \
         {skipped} skipped"
    )
}

fn push(task: &str, session: &str, client: CliClient, world: &World) -> CommandResult {
    let item = NewQueueItem { task_id: Some(task.to_owned()) };
    let answer = client.call_raw(queue::push(session, &item))?;
    if world.json {
        return CommandOutput::json(&answer.raw);
    }
    Ok(reporter::with_updates(client, format!("{} waits in the queue of {}.\n", clean(task), clean(session)), world))
}
