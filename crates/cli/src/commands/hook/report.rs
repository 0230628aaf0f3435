//! Reports on a session that a person started: it is registered and reports as any other.

use std::sync::mpsc::Receiver;

use maestro_core::hook::{Happening, in_a_line};
use maestro_core::id::{Id as _, SessionId};
use serde_json::{Value as Json, json};

use super::missed;
use crate::client::context;
use crate::client::{Client, escaped};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::server_process::database;

/// Reports an event. Without a project there is nothing to do.
pub(super) fn tell(
    agent: &str,
    session: &SessionId,
    happening: &Happening,
    chosen: &Receiver<Vec<String>>,
    world: &World,
) -> Result<(), CommandError> {
    if *happening == Happening::Other || !is_anything_stored(world) {
        return Ok(());
    }
    let client = Client::open(world)?.in_a_hurry().for_person();
    let path = format!("/api/sessions/{}", escaped(session.as_str()));
    let (reports, said) = (format!("{path}/reports"), said(happening, chosen));
    let told = match client.post::<Json>(&reports, &said) {
        Err(error) if error.is_not_found() => {
            let Ok(project) = context::project_of_unknown(&client, world) else { return Ok(()) };
            let known = json!({
                "id": session.as_str(), "projectId": project.id, "taskIds": [], "status": "working", "agentId": agent,
                "name": format!("{agent}, started by hand"), "metadata": { "spawnSource": "hook" },
            });
            client.post::<Json>("/api/sessions", &known)?;
            client.post::<Json>(&reports, &said)
        }
        told => told,
    };
    told?;
    missed::tell(&client, &path, world)
}

/// Whether there is a server or a database to report to; a hook creates none.
fn is_anything_stored(world: &World) -> bool {
    let named = ["MAESTRO_API_URL", "MAESTRO_SERVER_URL", "MAESTRO_DATABASE"];
    named.into_iter().any(|name| world.variable(name).is_some()) || database::exists(world)
}

/// The report's text.
fn said(happening: &Happening, chosen: &Receiver<Vec<String>>) -> Json {
    match happening {
        Happening::Prompted(prompt) => {
            let skills = chosen.recv().unwrap_or_default();
            json!({ "kind": "progress", "message": in_a_line(prompt), "metadata": { "skills": skills } })
        }
        Happening::Waits(why) => json!({ "kind": "needs-input", "message": why }),
        Happening::Stopped => json!({ "kind": "needs-input", "message": "Turn ended" }),
        Happening::Ended => json!({ "kind": "complete" }),
        Happening::Begun { .. } | Happening::Other => json!({ "kind": "progress" }),
    }
}
