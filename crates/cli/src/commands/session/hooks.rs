//! `maestro session register`, `complete`, `needs-input` and `resume-working`: what agents' hooks call.
//!
//! A hook that fails can stop an agent, and no agent should stop because a report fails. So these always
//! succeed, and print failures on standard error.

use serde_json::{Value as Json, json};

use super::path;
use crate::client::Client;
use crate::client::context;
use crate::client::wire::{self, Session};
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
                shown(&client.get(&path(&id))?, "started", world)
            }
        }
    })
}

/// Marks a session as working, and registers it if it is not.
fn begin(id: &str, client: Client, world: &World) -> Result<Reply, CommandError> {
    // An unknown session cannot speak for itself yet.
    let client = client.for_person();
    let known = match client.get::<Session>(&path(id)) {
        Ok(known) => known,
        Err(error) if error.is_not_found() => return make(id, &client, world),
        Err(error) => return Err(error),
    };
    match known.status.as_str() {
        // A user paused it; its agent receives that with its next command.
        "working" | "paused" => shown(&client.get(&path(id))?, "started", world),
        _ => shown(&client.patch(&path(id), &json!({ "status": "working" }))?, "started", world),
    }
}

fn make(id: &str, client: &Client, world: &World) -> Result<Reply, CommandError> {
    let body = json!({
        "id": id,
        "projectId": context::project_of_unknown(client, world)?.id,
        "taskIds": context::tasks(world),
        "role": world.variable("MAESTRO_ROLE").or_else(|| world.variable("MAESTRO_MODE")),
        "strategy": world.variable("MAESTRO_STRATEGY"),
        "status": "working",
        "metadata": { "spawnSource": "hook" },
    });
    shown(&client.post("/api/sessions", &body)?, "started", world)
}

pub(super) fn complete(world: &World) -> Result<Reply, CommandError> {
    gently(world, || {
        let client = Client::open(world)?;
        let id = own(&client, world)?;
        shown(&client.patch(&path(&id), &json!({ "status": "completed" }))?, "ended", world)
    })
}

pub(super) fn needs_input(message: Option<&str>, world: &World) -> Result<Reply, CommandError> {
    gently(world, || {
        let speaker = Speaker::of(world)?;
        let client = Client::open(world)?;
        let body = json!({ "kind": "needs-input", "message": message.unwrap_or("Waiting for your input") });
        worker::report(client, &speaker, &body, "Asked.", world)
    })
}

pub(super) fn resume_working(world: &World) -> Result<Reply, CommandError> {
    gently(world, || {
        let speaker = Speaker::of(world)?;
        let client = Client::open(world)?;
        let session: Session = client.get(&path(&own(&client, world)?))?;
        // Hooks call this at every turn; only the end of a wait is worth a line.
        let message = session.needs_input.is_some().then_some("Working again");
        worker::report(client, &speaker, &json!({ "kind": "progress", "message": message }), "Working again.", world)
    })
}

/// The session that speaks.
fn own(client: &Client, world: &World) -> Result<String, CommandError> {
    match Speaker::of(world)? {
        Speaker::Session(id) => Ok(id),
        task @ Speaker::Task(_) => Ok(task.beat(client)?.session_id),
    }
}

fn shown(whole: &Json, verb: &str, world: &World) -> Result<Reply, CommandError> {
    if world.json {
        return Reply::json(whole);
    }
    let session: Session = wire::read(whole)?;
    Ok(Reply::text(format!("{} {verb}.\n", clean(&session.id))))
}

/// Does something that must not fail.
fn gently(world: &World, work: impl FnOnce() -> Result<Reply, CommandError>) -> Result<Reply, CommandError> {
    work().or_else(|error| {
        let reply = if world.json { Reply::json(&error.to_json())? } else { Reply::text("") };
        Ok(reply.with_notes(error.to_text(world.note_paint)))
    })
}
