//! `maestro session`: sessions, their state, and control of them.

mod hooks;
mod names;
pub(crate) mod permit;
mod spawn;
mod suggest_name;

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use crate::args::{SessionArgs, SessionCommand};
use crate::client::context;
use crate::client::wire::{self, Message, Session};
use crate::client::worker::{self, Speaker};
use crate::client::{Client, escaped, with_query};
use crate::commands::info::head;
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::screen::{clean, count, pad};

/// How many lines of a timeline, and how many messages, are shown.
const LAST: usize = 10;

pub(crate) fn run(args: &SessionArgs, world: &World) -> Result<Reply, CommandError> {
    match &args.command {
        SessionCommand::Spawn(args) => spawn::run(args, world),
        SessionCommand::Answer(args) => permit::run(args, world),
        SessionCommand::Register => hooks::register(world),
        SessionCommand::Complete => hooks::complete(world),
        SessionCommand::NeedsInput { message } => hooks::needs_input(message.as_deref(), world),
        SessionCommand::ResumeWorking => hooks::resume_working(world),
        SessionCommand::Info => info(world),
        SessionCommand::Get { id } => get(id, &Client::open(world)?, world),
        SessionCommand::List { task, all } => list(task.as_deref(), *all, Client::open(world)?, world),
        SessionCommand::Pause { id } => steer(id, "pause", "Pauses now, or after its current step.", world),
        SessionCommand::Resume { id } => steer(id, "resume", "Continues.", world),
        SessionCommand::Cancel { id } => steer(id, "cancel", "Stops with its next command.", world),
        SessionCommand::SuggestName(args) => suggest_name::run(args, world),
        SessionCommand::Rename { id, name } => rename(id, name, world),
    }
}

/// Where a session is.
fn path(id: &str) -> String {
    format!("/api/sessions/{}", escaped(id))
}

fn info(world: &World) -> Result<Reply, CommandError> {
    let speaker = Speaker::of(world)?;
    let client = Client::open(world)?;
    let answer = speaker.beat(&client)?;
    let whole: Json = client.get(&path(&answer.session_id))?;
    if world.json {
        return Reply::json(&whole);
    }
    let text = details(&wire::read(&whole)?, &[], world);
    Ok(worker::told(client, &answer, text, world))
}

fn get(id: &str, client: &Client, world: &World) -> Result<Reply, CommandError> {
    let whole: Json = client.get(&path(id))?;
    if world.json {
        return Reply::json(&whole);
    }
    let messages = client.list(&format!("{}/messages", path(id)))?;
    Ok(Reply::text(details(&wire::read(&whole)?, &wire::read_all(&messages)?, world)))
}

/// A session, its tasks, its last words and the last words to it.
fn details(session: &Session, messages: &[Message], world: &World) -> String {
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
        let _ = writeln!(text, "  {}: {} ({}{how})", clean(&message.from), clean(&message.text), message.state);
    }
    text
}

fn list(task: Option<&str>, all: bool, client: Client, world: &World) -> Result<Reply, CommandError> {
    let project = match task {
        Some(task) => {
            // A task that does not exist has no sessions, and that would be half the truth.
            client.get::<Json>(&format!("/api/tasks/{}", escaped(task)))?;
            world.aim.project.clone()
        }
        None => Some(context::project(&client, world)?.id),
    };
    let questions = [
        ("projectId", project.as_deref()),
        ("taskId", task),
        ("active", (!all).then_some("alive")),
        ("fields", Some("summary")),
    ];
    let found = client.list(&with_query("/api/sessions", &questions))?;
    if world.json {
        return Reply::json(&found);
    }
    let sessions: Vec<Session> = wire::read_all(&found)?;
    let mut text = rows(&sessions, world);
    text.push_str(&match sessions.len() {
        0 => "No sessions".to_owned(),
        many => count(many, "session", "sessions"),
    });
    text.push_str(if all { "\n" } else { " (--all includes ended ones)\n" });
    Ok(worker::with_news(client, text, world))
}

/// Sessions, a line each.
pub(crate) fn rows(sessions: &[Session], world: &World) -> String {
    let width = sessions.iter().map(|session| session.id.len()).max().unwrap_or_default();
    sessions.iter().fold(String::new(), |mut text, session| {
        let (status, role) = (pad(&clean(&session.status), 9), pad(&clean(&session.role), 12));
        let id = world.paint.dim(&pad(&clean(&session.id), width));
        let _ = writeln!(text, "{id}  {status}  {role}  {}", clean(&session.name));
        text
    })
}

fn steer(id: &str, order: &str, said: &str, world: &World) -> Result<Reply, CommandError> {
    let client = Client::open(world)?;
    let whole: Json = client.step(&format!("{}/{order}", path(id)), &json!({})).map_err(|error| match order {
        "resume" => error.hint("only a paused session, or one whose agent failed, can resume"),
        _ => error,
    })?;
    if world.json {
        return Reply::json(&whole);
    }
    let session: Session = wire::read(&whole)?;
    Ok(Reply::text(format!("{}  {}  {said}\n", clean(&session.id), clean(&session.status))))
}

fn rename(id: &str, name: &str, world: &World) -> Result<Reply, CommandError> {
    let client = Client::open(world)?;
    let whole: Json = client.patch(&path(id), &json!({ "name": name }))?;
    if world.json {
        return Reply::json(&whole);
    }
    let session: Session = wire::read(&whole)?;
    Ok(Reply::text(format!("{}  {}\n", clean(&session.id), clean(&session.name))))
}
