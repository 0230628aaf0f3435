//! `maestro events`: past events, and with `--follow` new ones.

use std::fmt::Write as _;
use std::io;

use serde_json::Value as Json;

use crate::args::EventsArgs;
use crate::client::{Client, with_query};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::screen::clean;

pub(crate) fn run(args: &EventsArgs, world: &World) -> Result<Reply, CommandError> {
    let client = Client::open(world)?;
    let path = path(args, world);
    let json = world.json;
    if args.follow {
        return Ok(Reply::stream(move |out| {
            let followed = client.follow(&path, |line| {
                let Some(data) = line.strip_prefix("data: ") else { return Ok(()) };
                let text = if json { data.to_owned() } else { in_a_line(data) };
                writeln!(out, "{text}").and_then(|()| out.flush())
            });
            followed.map_err(|error| io::Error::other(error.message().to_owned()))
        }));
    }
    let events: Vec<Json> = client.get(&path)?;
    if json {
        return Reply::json(&events);
    }
    let mut text = String::new();
    for event in events {
        let _ = writeln!(text, "{}", in_a_line(&event.to_string()));
    }
    Ok(Reply::text(text))
}

fn path(args: &EventsArgs, world: &World) -> String {
    let since = args.since.map(|since| since.to_string());
    with_query(
        "/api/events",
        &[
            ("since", since.as_deref()),
            ("projectId", world.aim.project.as_deref()),
            ("taskId", args.task.as_deref()),
            ("sessionId", args.session.as_deref()),
        ],
    )
}

/// An event for a person: number, kind, and the words that say most.
fn in_a_line(data: &str) -> String {
    let event: Json = serde_json::from_str(data).unwrap_or_default();
    let payload = &event["payload"];
    let words = ["message", "title", "name", "reason", "kind"].iter().find_map(|key| payload[key].as_str());
    let about = ["task", "session", "project"].iter().find_map(|key| event[key].as_str());
    let mut line =
        format!("{:>6}  {:<22}", event["seq"].as_i64().unwrap_or_default(), event["type"].as_str().unwrap_or_default());
    for word in [about, payload["status"].as_str(), words].into_iter().flatten() {
        let _ = write!(line, " {}", clean(word));
    }
    line
}
