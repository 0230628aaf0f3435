//! `maestro queue`: tasks of a session, one after the other.

use std::fmt::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::args::{QueueArgs, QueueCommand};
use crate::client::wire::Task;
use crate::client::worker::{self, Speaker};
use crate::client::{Client, escaped};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::screen::clean;
use crate::output::tree::details;

pub(crate) fn run(args: &QueueArgs, world: &World) -> Result<Reply, CommandError> {
    if let QueueCommand::Push { task, session: Some(session) } = &args.command {
        return push(task, session, Client::open(world)?, world);
    }
    let speaker = Speaker::of(world)?;
    let client = Client::open(world)?;
    let session = match &speaker {
        Speaker::Session(id) => id.clone(),
        Speaker::Task(_) => speaker.beat(&client)?.session_id,
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
    speaker: &Speaker,
    session: &str,
    client: Client,
    world: &World,
) -> Result<Reply, CommandError> {
    let at = |what: &str| format!("{}{what}", path(session));
    match command {
        QueueCommand::Top => item(&client.get(&at("/top"))?, "item", client, world),
        QueueCommand::Start { poll_interval, poll_timeout } => {
            let patience = Duration::from_secs(poll_timeout.saturating_mul(60));
            let started = start(&client, speaker, &at("/start"), Duration::from_secs(*poll_interval), patience)?;
            item(&started, "item", client, world)
        }
        QueueCommand::Complete => item(&client.step(&at("/complete"), &json!({}))?, "nextItem", client, world),
        QueueCommand::Fail { reason } => {
            item(&client.step(&at("/fail"), &json!({ "reason": reason }))?, "nextItem", client, world)
        }
        QueueCommand::Skip => item(&client.step(&at("/skip"), &json!({}))?, "nextItem", client, world),
        QueueCommand::List => list(&client.get(&at("/items"))?, client, world),
        QueueCommand::Status => status(&client.get(&at(""))?, client, world),
        QueueCommand::Push { task, .. } => push(task, session, client, world),
    }
}

fn path(session: &str) -> String {
    format!("/api/sessions/{}/queue", escaped(session))
}

/// Begins the next item; where there is none, looks again until there is one, time is up or the session is cancelled.
fn start(
    client: &Client,
    speaker: &Speaker,
    path: &str,
    interval: Duration,
    patience: Duration,
) -> Result<Json, CommandError> {
    let began = Instant::now();
    loop {
        let answer: Json = client.step(path, &json!({}))?;
        let left = patience.saturating_sub(began.elapsed());
        if !answer["item"].is_null() || left.is_zero() {
            return Ok(answer);
        }
        thread::sleep(interval.min(left));
        // A sign of life while it waits.
        if matches!(speaker.beat(client)?.session_status.as_str(), "stopped" | "failed" | "completed" | "paused") {
            return Ok(answer);
        }
    }
}

/// The result of a step, and the next task.
fn item(answer: &Json, key: &str, client: Client, world: &World) -> Result<Reply, CommandError> {
    if world.json {
        return Reply::json(answer);
    }
    let mut text = String::new();
    if let Some(message) = answer["message"].as_str() {
        let _ = writeln!(text, "{}", clean(message));
    }
    if let Some(id) = answer[key]["taskId"].as_str() {
        let task: Task = client.get(&format!("/api/tasks/{}", escaped(id)))?;
        if key == "nextItem" {
            text.push_str("Next (start it with `maestro queue start`):\n");
        }
        text.push_str(&details(&task, &[], world));
    } else if key == "nextItem" {
        text.push_str("The queue is empty.\n");
    }
    Ok(worker::with_news(client, text, world))
}

fn list(answer: &Json, client: Client, world: &World) -> Result<Reply, CommandError> {
    if world.json {
        return Reply::json(answer);
    }
    let mut text = String::new();
    for item in answer["items"].as_array().into_iter().flatten() {
        let said = |key: &str| clean(item[key].as_str().unwrap_or_default()).into_owned();
        let why = item["failReason"].as_str().map(|why| format!("  {}", clean(why))).unwrap_or_default();
        let _ = writeln!(text, "{:<10}  {}{why}", said("status"), said("taskId"));
    }
    let _ = writeln!(text, "{}", counts(&answer["stats"]));
    Ok(worker::with_news(client, text, world))
}

fn status(answer: &Json, client: Client, world: &World) -> Result<Reply, CommandError> {
    if world.json {
        return Reply::json(answer);
    }
    Ok(worker::with_news(client, format!("{}\n", counts(&answer["stats"])), world))
}

fn counts(stats: &Json) -> String {
    let number = |key: &str| stats[key].as_u64().unwrap_or_default();
    let parts = ["queued", "processing", "completed", "failed", "skipped"].map(|key| format!("{} {key}", number(key)));
    format!("{} in all: {}", number("total"), parts.join(", "))
}

fn push(task: &str, session: &str, client: Client, world: &World) -> Result<Reply, CommandError> {
    let answer: Json = client.post(&format!("{}/push", path(session)), &json!({ "taskId": task }))?;
    if world.json {
        return Reply::json(&answer);
    }
    Ok(worker::with_news(client, format!("{} waits in the queue of {}.\n", clean(task), clean(session)), world))
}
