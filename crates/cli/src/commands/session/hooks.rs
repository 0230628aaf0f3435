//! `maestro session register`, `complete`, `needs-input` and `resume-working`: what agents' hooks call.
//!
//! A hook that fails can stop an agent, and no agent should stop because a report fails. So these always
//! succeed, and print failures on standard error.

use maestro_api::ReceivedReply;
use maestro_api::reports::NewReport;
use maestro_api::sessions::{self, NewSession, SessionBody, SessionChange};
use maestro_core::report::ReportKind;
use maestro_core::session::SessionStatus;
use serde_json::{Map, Value as Json};

use crate::args::RegisterArgs;
use crate::client::CliClient;
use crate::client::context;
use crate::client::reporter::{self, WorkReporter};
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::clean;

pub(super) fn register(args: &RegisterArgs, world: &World) -> CommandResult {
    ignore_errors(world, || {
        let client = CliClient::open(world)?;
        if args.new && WorkReporter::find(world).is_none() {
            return start(args.key.as_deref(), &client, world);
        }
        match WorkReporter::of(world)? {
            WorkReporter::Session(id) => begin(&id, client, world),
            // Its session starts with its first heartbeat.
            task @ WorkReporter::Task(_) => {
                let id = task.heartbeat(&client)?.session_id;
                session_reply(&client.call_raw(sessions::get(&id))?, "started", world)
            }
        }
    })
}

/// Marks a session as working, and registers it if it is not.
fn begin(id: &str, client: CliClient, world: &World) -> CommandResult {
    // An unknown session cannot speak for itself yet.
    let client = client.for_hook()?;
    let known = match client.call_raw(sessions::get(id)) {
        Ok(known) => known,
        Err(error) if error.is_not_found() => return make(id, &client, world),
        Err(error) => return Err(error),
    };
    match known.value.status {
        // A pause reaches its agent with its next command.
        SessionStatus::Working | SessionStatus::Paused => session_reply(&known, "started", world),
        _ => session_reply(&set_status(&client, id, SessionStatus::Working)?, "started", world),
    }
}

fn set_status(client: &CliClient, id: &str, status: SessionStatus) -> CommandResult<ReceivedReply<SessionBody>> {
    let change = SessionChange { status: Some(status.to_string()), ..SessionChange::default() };
    client.call_raw(sessions::update(id, &change))
}

/// Starts a session for a caller that has none. The same key is the same session.
fn start(key: Option<&str>, client: &CliClient, world: &World) -> CommandResult {
    let new = NewSession {
        project_id: Some(context::project_of_unknown(client, world)?.id),
        task_ids: Some(Vec::new()),
        status: Some(SessionStatus::Working.to_string()),
        metadata: Some(Map::from_iter([("spawnSource".to_owned(), Json::from("workflow"))])),
        ..NewSession::default()
    };
    let request = sessions::create(&new);
    let request = match key {
        Some(key) => request.under_key(key),
        None => request,
    };
    session_reply(&client.call_raw(request)?, "started", world)
}

fn make(id: &str, client: &CliClient, world: &World) -> CommandResult {
    let role = world.variable("MAESTRO_ROLE").or_else(|| world.variable("MAESTRO_MODE"));
    let new = NewSession {
        id: Some(id.to_owned()),
        project_id: Some(context::project_of_unknown(client, world)?.id),
        task_ids: Some(context::tasks(world)),
        role: role.map(str::to_owned),
        strategy: world.variable("MAESTRO_STRATEGY").map(str::to_owned),
        status: Some(SessionStatus::Working.to_string()),
        metadata: Some(Map::from_iter([("spawnSource".to_owned(), Json::from("hook"))])),
        ..NewSession::default()
    };
    session_reply(&client.call_raw(sessions::create(&new))?, "started", world)
}

pub(super) fn complete(world: &World) -> CommandResult {
    ignore_errors(world, || {
        let client = CliClient::open(world)?;
        let id = own_session(&client, world)?;
        session_reply(&set_status(&client, &id, SessionStatus::Completed)?, "ended", world)
    })
}

pub(super) fn needs_input(message: Option<&str>, world: &World) -> CommandResult {
    ignore_errors(world, || {
        let speaker = WorkReporter::of(world)?;
        let client = CliClient::open(world)?;
        let report = reporter::new_report(ReportKind::NeedsInput, Some(message.unwrap_or("Waiting for your input")));
        reporter::report(client, &speaker, &report, "Asked.", world)
    })
}

pub(super) fn resume_working(world: &World) -> CommandResult {
    ignore_errors(world, || {
        let speaker = WorkReporter::of(world)?;
        let client = CliClient::open(world)?;
        let session = client.call(sessions::get(&own_session(&client, world)?))?;
        // Hooks call this at every turn; only the end of a wait is worth a line.
        let message = session.needs_input.is_some().then_some("Working again");
        let report = NewReport { withdraw: Some(true), ..reporter::new_report(ReportKind::Progress, message) };
        reporter::report(client, &speaker, &report, "Working again.", world)
    })
}

/// The session that speaks.
fn own_session(client: &CliClient, world: &World) -> CommandResult<String> {
    match WorkReporter::of(world)? {
        WorkReporter::Session(id) => Ok(id),
        task @ WorkReporter::Task(_) => Ok(task.heartbeat(client)?.session_id),
    }
}

fn session_reply(session: &ReceivedReply<SessionBody>, verb: &str, world: &World) -> CommandResult {
    if world.json {
        return CommandOutput::json(&session.raw);
    }
    Ok(CommandOutput::text(format!("{} {verb}.\n", clean(&session.value.id))))
}

/// Does something that must not fail.
fn ignore_errors(world: &World, work: impl FnOnce() -> CommandResult) -> CommandResult {
    work().or_else(|error| {
        let reply = if world.json { CommandOutput::json(&error.to_json())? } else { CommandOutput::text("") };
        Ok(reply.with_notes(error.to_text(world.note_paint)))
    })
}
