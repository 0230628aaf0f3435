//! `maestro session`: sessions, their state, and control of them.

pub(crate) mod answer;
mod hooks;
mod names;
mod spawn;
mod suggest_name;

use std::fmt::Write as _;

use maestro_api::ReceivedReply;
use maestro_api::messages::{self, MessageBody};
use maestro_api::sessions::{self, SessionBody, SessionChange, SessionQuery, SessionSummary, SteerAction};
use maestro_api::tasks;
use maestro_core::short_id::ShortIds;

use crate::args::{SessionArgs, SessionCommand};
use crate::client::CliClient;
use crate::client::context;
use crate::client::reporter::{self, WorkReporter};
use crate::commands::info::head;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::{clean, count, pad};

/// How many lines of a timeline, and how many messages, are shown.
const LAST: usize = 10;

pub(crate) fn run(args: &SessionArgs, world: &World) -> CommandResult {
    match &args.command {
        SessionCommand::Spawn(args) => spawn::run(args, world),
        SessionCommand::Answer(args) => answer::run(args, world),
        SessionCommand::Register(args) => hooks::register(args, world),
        SessionCommand::Complete => hooks::complete(world),
        SessionCommand::NeedsInput { message } => hooks::needs_input(message.as_deref(), world),
        SessionCommand::ResumeWorking => hooks::resume_working(world),
        SessionCommand::Info => info(world),
        SessionCommand::Get { id } => get(id, &CliClient::open(world)?, world),
        SessionCommand::List { task, all } => list(task.as_deref(), *all, CliClient::open(world)?, world),
        SessionCommand::Pause { id } => steer(id, SteerAction::Pause, "Pauses now, or after its current step.", world),
        SessionCommand::Resume { id } => steer(id, SteerAction::Resume, "Continues.", world),
        SessionCommand::Cancel { id } => steer(id, SteerAction::Cancel, "Stops with its next command.", world),
        SessionCommand::SuggestName(args) => suggest_name::run(args, world),
        SessionCommand::Rename { id, name } => rename(id, name, world),
    }
}

fn info(world: &World) -> CommandResult {
    let speaker = WorkReporter::of(world)?;
    let client = CliClient::open(world)?;
    let answer = speaker.heartbeat(&client)?;
    let session = client.call_raw(sessions::get(&answer.session_id))?;
    if world.json {
        return CommandOutput::json(&session.raw);
    }
    let text = details(&session.value, &[], world);
    Ok(reporter::reply_with_updates(client, &answer, text, world))
}

fn get(id: &str, client: &CliClient, world: &World) -> CommandResult {
    let session = client.call_raw(sessions::get(id))?;
    if world.json {
        return CommandOutput::json(&session.raw);
    }
    let messages = client.list(messages::list(id))?;
    Ok(CommandOutput::text(details(&session.value, &messages, world)))
}

/// A session, its tasks, its last words and the last words to it.
fn details(session: &SessionBody, messages: &[MessageBody], world: &World) -> String {
    let mut text = head(session, world);
    let tasks = if session.task_ids.is_empty() { "none".to_owned() } else { session.task_ids.join(", ") };
    let _ = writeln!(text, "  tasks: {}", clean(&tasks));
    let skipped = session.timeline.len().saturating_sub(LAST);
    if skipped > 0 {
        let _ = writeln!(text, "  … {} before", count(skipped, "line", "lines"));
    }
    let width = session.timeline.iter().skip(skipped).map(|line| line.kind.len()).max().unwrap_or_default();
    for line in session.timeline.iter().skip(skipped) {
        let _ = writeln!(text, "  {}  {}", world.paint.dim(&pad(&clean(&line.kind), width)), clean(&line.message));
    }
    for message in messages.iter().skip(messages.len().saturating_sub(LAST)) {
        let how = message.how.as_ref().map(|how| format!(", {}", clean(how))).unwrap_or_default();
        let _ =
            writeln!(text, "  {}: {} ({}{how})", clean(&message.from), clean(&message.text), message.state.as_str());
    }
    text
}

fn list(task: Option<&str>, all: bool, client: CliClient, world: &World) -> CommandResult {
    let project = match task {
        Some(task) => {
            // A task that does not exist has no sessions, and that would be half the truth.
            client.call(tasks::get(task))?;
            world.aim.project.clone()
        }
        None => Some(context::project(&client, world)?.id),
    };
    let which = if all { SessionQuery::default() } else { SessionQuery::alive() };
    let query = SessionQuery { project_id: project, task_id: task.map(str::to_owned), ..which };
    let ReceivedReply { raw, value: sessions } = client.list_raw(sessions::summaries(&query))?;
    if world.json {
        return CommandOutput::json(&raw);
    }
    let mut text = rows(&sessions, &client.short_ids(), world);
    text.push_str(&match sessions.len() {
        0 => "No sessions".to_owned(),
        many => count(many, "session", "sessions"),
    });
    text.push_str(if all { "\n" } else { " (--all includes ended ones)\n" });
    Ok(reporter::with_updates(client, text, world))
}

/// Sessions, a line each.
pub(crate) fn rows(sessions: &[SessionSummary], short: &ShortIds, world: &World) -> String {
    let width = sessions.iter().map(|session| short.shorten(&session.id).len()).max().unwrap_or_default();
    let widest = sessions.iter().map(|session| session.state.label().len()).max().unwrap_or_default();
    sessions.iter().fold(String::new(), |mut text, session| {
        let (status, role) = (pad(session.state.label(), widest), pad(session.role.as_str(), 12));
        let id = world.paint.dim(&pad(&clean(short.shorten(&session.id)), width));
        let _ = writeln!(text, "{id}  {status}  {role}  {}", clean(&session.name));
        text
    })
}

fn steer(id: &str, action: SteerAction, said: &str, world: &World) -> CommandResult {
    let client = CliClient::open(world)?;
    let steered = client.call_raw(sessions::steer(id, action)).map_err(|error| match action {
        SteerAction::Resume => error.hint("only a paused session, or one whose agent failed, can resume"),
        SteerAction::Pause | SteerAction::Cancel => error,
    })?;
    let ReceivedReply { raw, value: session } = steered;
    if world.json {
        return CommandOutput::json(&raw);
    }
    Ok(CommandOutput::text(format!("{}  {}  {said}\n", clean(&session.id), session.status)))
}

fn rename(id: &str, name: &str, world: &World) -> CommandResult {
    let client = CliClient::open(world)?;
    let change = SessionChange { name: Some(name.to_owned()), ..SessionChange::default() };
    let ReceivedReply { raw, value: session } = client.call_raw(sessions::update(id, &change))?;
    if world.json {
        return CommandOutput::json(&raw);
    }
    Ok(CommandOutput::text(format!("{}  {}\n", clean(&session.id), clean(&session.name))))
}
