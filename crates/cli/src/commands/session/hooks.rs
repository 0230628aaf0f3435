//! `maestro session register`, `complete`, `needs-input` and `resume-working`: what agents' hooks call.
//!
//! A hook that fails can stop an agent, and no agent should stop because a report fails. So these always
//! succeed, and print failures on standard error.

use maestro_api::ReceivedReply;
use maestro_api::sessions::{self, NewSession, SessionBody, SessionChange};
use maestro_core::report::ReportKind;
use maestro_core::session::SessionStatus;
use serde_json::{Map, Value as Json};

use crate::client::Client;
use crate::client::context;
use crate::client::worker::{self, Speaker};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::screen::clean;

pub(super) fn register(world: &World) -> Result<Reply, CommandError> {
    gently(world, || {
        let client = Client::open(world)?;
        match Speaker::of(world)? {
            Speaker::Session(id) => begin(&id, client, world),
            // Its session starts with its first heartbeat.
            task @ Speaker::Task(_) => {
                let id = task.beat(&client)?.session_id;
                shown(&client.call_raw(sessions::get(&id))?, "started", world)
            }
        }
    })
}

/// Marks a session as working, and registers it if it is not.
fn begin(id: &str, client: Client, world: &World) -> Result<Reply, CommandError> {
    // An unknown session cannot speak for itself yet.
    let client = client.for_hook()?;
    let known = match client.call_raw(sessions::get(id)) {
        Ok(known) => known,
        Err(error) if error.is_not_found() => return make(id, &client, world),
        Err(error) => return Err(error),
    };
    match known.value.status {
        // A pause reaches its agent with its next command.
        SessionStatus::Working | SessionStatus::Paused => shown(&known, "started", world),
        _ => shown(&set_status(&client, id, SessionStatus::Working)?, "started", world),
    }
}

fn set_status(client: &Client, id: &str, status: SessionStatus) -> Result<ReceivedReply<SessionBody>, CommandError> {
    let change = SessionChange { status: Some(status.to_string()), ..SessionChange::default() };
    client.call_raw(sessions::update(id, &change))
}

fn make(id: &str, client: &Client, world: &World) -> Result<Reply, CommandError> {
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
    shown(&client.call_raw(sessions::create(&new))?, "started", world)
}

pub(super) fn complete(world: &World) -> Result<Reply, CommandError> {
    gently(world, || {
        let client = Client::open(world)?;
        let id = own(&client, world)?;
        shown(&set_status(&client, &id, SessionStatus::Completed)?, "ended", world)
    })
}

pub(super) fn needs_input(message: Option<&str>, world: &World) -> Result<Reply, CommandError> {
    gently(world, || {
        let speaker = Speaker::of(world)?;
        let client = Client::open(world)?;
        let report = worker::new_report(ReportKind::NeedsInput, Some(message.unwrap_or("Waiting for your input")));
        worker::report(client, &speaker, &report, "Asked.", world)
    })
}

pub(super) fn resume_working(world: &World) -> Result<Reply, CommandError> {
    gently(world, || {
        let speaker = Speaker::of(world)?;
        let client = Client::open(world)?;
        let session = client.call(sessions::get(&own(&client, world)?))?;
        // Hooks call this at every turn; only the end of a wait is worth a line.
        let message = session.needs_input.is_some().then_some("Working again");
        let report = worker::new_report(ReportKind::Progress, message);
        worker::report(client, &speaker, &report, "Working again.", world)
    })
}

/// The session that speaks.
fn own(client: &Client, world: &World) -> Result<String, CommandError> {
    match Speaker::of(world)? {
        Speaker::Session(id) => Ok(id),
        task @ Speaker::Task(_) => Ok(task.beat(client)?.session_id),
    }
}

fn shown(session: &ReceivedReply<SessionBody>, verb: &str, world: &World) -> Result<Reply, CommandError> {
    if world.json {
        return Reply::json(&session.raw);
    }
    Ok(Reply::text(format!("{} {verb}.\n", clean(&session.value.id))))
}

/// Does something that must not fail.
fn gently(world: &World, work: impl FnOnce() -> Result<Reply, CommandError>) -> Result<Reply, CommandError> {
    work().or_else(|error| {
        let reply = if world.json { Reply::json(&error.to_json())? } else { Reply::text("") };
        Ok(reply.with_notes(error.to_text(world.note_paint)))
    })
}
