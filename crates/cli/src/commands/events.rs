//! `maestro events`: past events, and with `--follow` new ones.

use std::fmt::Write as _;
use std::io;

use maestro_api::ReceivedReply;
use maestro_api::events::{self, EventBody, EventQuery};
use serde::Deserialize;

use crate::args::EventsArgs;
use crate::client::CliClient;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::clean;

pub(crate) fn run(args: &EventsArgs, world: &World) -> CommandResult {
    let client = CliClient::open(world)?;
    let query = query(args, world);
    let json = world.json;
    if args.follow {
        return Ok(CommandOutput::stream(move |out| {
            client.wait(async {
                let mut stream = client.open_stream(events::list(&query)).await.map_err(|error| failed(&error))?;
                while let Some(data) = stream.next_data().await.map_err(|error| failed(&error.into()))? {
                    let text = match serde_json::from_str::<EventBody>(&data) {
                        Ok(event) if !json => event_line(&event),
                        _ => data,
                    };
                    writeln!(out, "{text}").and_then(|()| out.flush())?;
                }
                Ok(())
            })
        }));
    }
    let ReceivedReply { raw, value: events } = client.call_raw(events::list(&query))?;
    if json {
        return CommandOutput::json(&raw);
    }
    let mut text = String::new();
    for event in events {
        let _ = writeln!(text, "{}", event_line(&event));
    }
    Ok(CommandOutput::text(text))
}

fn failed(error: &CommandError) -> io::Error {
    io::Error::other(error.message().to_owned())
}

fn query(args: &EventsArgs, world: &World) -> EventQuery {
    EventQuery {
        since: args.since,
        project_id: world.aim.project.clone(),
        task_id: args.task.clone(),
        session_id: args.session.clone(),
        ..EventQuery::default()
    }
}

/// The words of a payload that say most; each kind of event has some of them.
#[derive(Default, Deserialize)]
#[serde(default)]
struct PayloadWords {
    message: Option<String>,
    title: Option<String>,
    name: Option<String>,
    reason: Option<String>,
    kind: Option<String>,
    status: Option<String>,
}

/// An event for a person: number, kind, and the words that say most.
fn event_line(event: &EventBody) -> String {
    let words: PayloadWords = serde_json::from_str(event.payload.get()).unwrap_or_default();
    let PayloadWords { message, title, name, reason, kind, status } = words;
    let about = event.task.clone().or_else(|| event.session.clone()).or_else(|| event.project.clone());
    let said = message.or(title).or(name).or(reason).or(kind);
    let mut line = format!("{:>6}  {:<22}", event.seq, event.kind);
    for word in [about, status, said].into_iter().flatten() {
        let _ = write!(line, " {}", clean(&word));
    }
    line
}
