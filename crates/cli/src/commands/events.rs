//! `maestro events`: the last events of the project, and with `--follow` new ones.

mod archive;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use maestro_api::ReceivedReply;
use maestro_api::events::{self, EventBody, EventQuery};
use maestro_api::waiting::{self, WaitingQuery};
use maestro_core::short_id::ShortIds;
use serde::Deserialize;

use self::archive::{ArchiveReader, ArchivedEvents};
use crate::args::EventsArgs;
use crate::client::CliClient;
use crate::client::runs;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::{clean, wrap};
use crate::output::time::{clock_time, day};
use crate::server_process::database;

/// How many events are shown by default.
const LAST: i64 = 100;
/// How wide a line is where no terminal says so.
const WIDTH: usize = 160;
/// The event with which a run waits.
const WAITING: &str = "run:waiting";
/// Where the words of an event begin.
const INDENT: usize = 4;

pub(crate) fn run(args: &EventsArgs, world: &World) -> CommandResult {
    if !args.archive.is_empty() {
        return run_archive(args, world);
    }
    let client = CliClient::open(world)?;
    let query = query(args, &client, world);
    let short = client.short_ids();
    let (json, width) = (world.json, world.width.unwrap_or(WIDTH));
    if args.follow {
        return Ok(CommandOutput::stream(move |out| {
            client.wait(async {
                let mut stream = client.open_stream(events::list(&query)).await.map_err(|error| failed(&error))?;
                while let Some(data) = stream.next_data().await.map_err(|error| failed(&error.into()))? {
                    let text = match serde_json::from_str::<EventBody>(&data) {
                        Ok(event) if !json => {
                            let asked = load_questions(std::slice::from_ref(&event), &client).await.remove(&event.seq);
                            event_line(&event, asked, &short, width)
                        }
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
    let asked = client.wait(load_questions(&events, &client));
    Ok(listed(events, asked, &query, &short, world))
}

/// The events of archives.
fn run_archive(args: &EventsArgs, world: &World) -> CommandResult {
    let last = args.since.is_none().then_some(if world.json { LAST } else { LAST + 1 });
    let most = usize::try_from(last.unwrap_or(1000)).unwrap_or_default();
    let current = match given_project(args, world) {
        // An archive can be read where there is no database.
        GivenProject::Current if database::exists(world) => {
            CliClient::open(world).ok().and_then(|client| runs::project(&client, world))
        }
        _ => None,
    };
    let mut reader = ArchiveReader::new(args, world.aim.project.as_deref(), current.as_deref(), most);
    args.archive.iter().try_for_each(|file| reader.read(file, world))?;
    let ArchivedEvents { events, short, notes } = reader.finish()?;
    if world.json {
        return Ok(CommandOutput::json(&events)?.with_notes(notes));
    }
    let query = EventQuery { last, ..EventQuery::default() };
    Ok(listed(events, BTreeMap::new(), &query, &short, world).with_further_notes(&notes))
}

/// The events for a person, by day.
fn listed(
    mut events: Vec<EventBody>,
    mut asked: BTreeMap<i64, String>,
    query: &EventQuery,
    short: &ShortIds,
    world: &World,
) -> CommandOutput {
    let width = world.width.unwrap_or(WIDTH);
    let mut notes = String::new();
    // One more than are shown was asked for, to see whether there are more.
    if query.last.is_some() && i64::try_from(events.len()).is_ok_and(|many| many > LAST) {
        events.remove(0);
        notes = format!("Only the last {LAST} events are shown; `--since 0` shows all, a thousand at a time.\n");
    } else if query.last.is_none() && events.len() >= 1000 {
        let last = events.last().map(|event| event.seq).unwrap_or_default();
        notes = format!("There may be more; continue with `--since {last}`.\n");
    }
    let mut text = String::new();
    let mut today = String::new();
    for event in &events {
        let at = day(event.at);
        let date = at.split(' ').next().unwrap_or_default();
        if date != today {
            let _ = writeln!(text, "{}", world.paint.dim(&format!("{date} (UTC)")));
            date.clone_into(&mut today);
        }
        let asked = asked.remove(&event.seq);
        let _ = writeln!(text, "{}", event_line(event, asked, short, width));
    }
    if events.is_empty() {
        text.push_str("No events.\n");
    }
    CommandOutput::text(text).with_notes(notes)
}

fn failed(error: &CommandError) -> io::Error {
    io::Error::other(error.message().to_owned())
}

/// The project whose events are asked for.
enum GivenProject {
    /// This one.
    Named(String),
    /// The current one, if there is one.
    Current,
    /// None in particular.
    Any,
}

fn given_project(args: &EventsArgs, world: &World) -> GivenProject {
    match (&world.aim.project, args.all, &args.task, &args.session) {
        (Some(project), ..) => GivenProject::Named(project.clone()),
        // What is named belongs to one project anyway.
        (None, true, ..) | (None, _, Some(_), _) | (None, _, _, Some(_)) => GivenProject::Any,
        (None, false, None, None) => GivenProject::Current,
    }
}

/// What is asked for: this project's events, and everything where there is none.
fn query(args: &EventsArgs, client: &CliClient, world: &World) -> EventQuery {
    let project = match given_project(args, world) {
        GivenProject::Named(id) => Some(id),
        GivenProject::Current => runs::project(client, world),
        GivenProject::Any => None,
    };
    let last = (args.since.is_none() && !args.follow).then_some(if world.json { LAST } else { LAST + 1 });
    EventQuery {
        since: args.since,
        project_id: project,
        task_id: args.task.clone(),
        session_id: args.session.clone(),
        last,
        ..EventQuery::default()
    }
}

/// What runs still ask, by the number of the event with which they began to wait for the answer.
async fn load_questions(events: &[EventBody], client: &CliClient) -> BTreeMap<i64, String> {
    let last_wait = |run: &str| {
        let waits = |event: &&EventBody| event.kind == WAITING && event.run.as_deref() == Some(run);
        events.iter().rev().find(waits).map(|event| event.seq)
    };
    if !events.iter().any(|event| event.kind == WAITING) {
        return BTreeMap::new();
    }
    // The events are what was asked for; without the questions they are shown all the same.
    let waiting = client.send(waiting::list(&WaitingQuery::default())).await.unwrap_or_default();
    let of_run = waiting.into_iter().filter(|item| item.session_id.is_none());
    of_run.filter_map(|item| Some((last_wait(item.run_id.as_deref()?)?, first_line(&item.text)))).collect()
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
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

/// An event for a person: number, time, kind, and the words that say most.
fn event_line(event: &EventBody, asked: Option<String>, short: &ShortIds, width: usize) -> String {
    let words: PayloadWords = serde_json::from_str(event.payload.get()).unwrap_or_default();
    let PayloadWords { message, title, name, reason, kind, status } = words;
    let about = [&event.task, &event.session, &event.run].into_iter().find_map(Option::as_deref);
    let about = about.map(|id| short.shorten(id).to_owned());
    let said = asked.or(message).or(title).or(name).or(reason).or(kind);
    let mut line = format!("{:>6}  {}  {:<22}", event.seq, clock_time(event.at), clean(&event.kind));
    for word in [about, status, said].into_iter().flatten() {
        let _ = write!(line, " {}", clean(&word));
    }
    wrap(line.trim_end(), width, INDENT)
}
