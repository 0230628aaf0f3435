//! `maestro track-file`: a hook that records a file changed by an agent. It must never block the agent: it prints
//! nothing, and always succeeds.

use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::args::TrackFileArgs;
use crate::client::worker::Speaker;
use crate::client::{Client, escaped};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::time;
use crate::server_process::database;

pub(crate) fn run(args: &TrackFileArgs, world: &World) -> Reply {
    // `maestro doctor` shows why nothing is recorded.
    let _ = note(&args.path, world);
    Reply::text("")
}

fn note(file: &str, world: &World) -> Result<(), CommandError> {
    let speaker = Speaker::of(world)?;
    let client = Client::open(world)?.in_a_hurry();
    let Some(session) = session(&client, speaker)? else { return Ok(()) };
    let data = json!({ "file": file, "timestamp": time::iso(database::clock()()) });
    let body = json!({ "type": "file_modified", "data": data });
    client.post::<Json>(&format!("/api/sessions/{}/events", escaped(&session)), &body)?;
    Ok(())
}

/// A session, as far as it must be told from others.
#[derive(Deserialize)]
struct Known {
    id: String,
    status: String,
}

/// The caller's session; for one known only by its task, the last active one.
fn session(client: &Client, speaker: Speaker) -> Result<Option<String>, CommandError> {
    let task = match speaker {
        Speaker::Session(id) => return Ok(Some(id)),
        Speaker::Task(id) => id,
    };
    let path = format!("/api/sessions?active=true&fields=summary&taskId={}", escaped(&task));
    let sessions: Vec<Known> = client.get(&path)?;
    let lives = |session: &Known| !matches!(session.status.as_str(), "completed" | "failed" | "stopped");
    Ok(sessions.into_iter().rfind(lives).map(|session| session.id))
}
