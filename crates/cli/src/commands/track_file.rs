//! `maestro track-file`: a hook that records a file changed by an agent. It must never block the agent: it prints
//! nothing, and always succeeds.

use maestro_api::sessions::{self, NewSessionEvent, SessionQuery};
use serde_json::json;

use crate::args::TrackFileArgs;
use crate::client::CliClient;
use crate::client::reporter::WorkReporter;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::time;
use crate::server_process::database;

pub(crate) fn run(args: &TrackFileArgs, world: &World) -> CommandOutput {
    // `maestro doctor` shows why nothing is recorded.
    let _ = note(&args.path, world);
    CommandOutput::text("")
}

fn note(file: &str, world: &World) -> CommandResult<()> {
    let speaker = WorkReporter::of(world)?;
    let client = CliClient::open(world)?.without_retries();
    let Some(session) = session(&client, speaker)? else { return Ok(()) };
    let data = json!({ "file": file, "timestamp": time::iso(database::clock()()) });
    let event = NewSessionEvent { kind: Some("file_modified".to_owned()), data: Some(data) };
    client.call(sessions::add_event(&session, &event))?;
    Ok(())
}

/// The caller's session; for one known only by its task, the last active one.
fn session(client: &CliClient, speaker: WorkReporter) -> CommandResult<Option<String>> {
    let task = match speaker {
        WorkReporter::Session(id) => return Ok(Some(id)),
        WorkReporter::Task(id) => id,
    };
    let query = SessionQuery { task_id: Some(task), ..SessionQuery::active() };
    let sessions = client.call(sessions::summaries(&query))?;
    Ok(sessions.into_iter().rfind(|session| !session.status.is_over()).map(|session| session.id))
}
