//! `maestro update`: progress of the work; without a message, only a heartbeat.

use std::time::Duration;

use maestro_api::events::EventQuery;
use maestro_api::reports::NewReport;
use maestro_core::report::ReportKind;
use maestro_core::session::SessionStatus;
use tokio::time::timeout;

use crate::args::UpdateArgs;
use crate::client::CliClient;
use crate::client::reporter::{self, WorkReporter};
use crate::host::world::World;
use crate::output::command_output::CommandResult;

/// How often a paused session says that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(30);

pub(crate) fn run(args: &UpdateArgs, world: &World) -> CommandResult {
    // A person may have meant the program.
    let speaker = WorkReporter::of(world).map_err(|error| error.hint("for a newer Maestro, run `maestro upgrade`"))?;
    let client = CliClient::open(world)?;
    let message = args.message.as_deref().map(str::trim).filter(|message| !message.is_empty());
    let report = NewReport { task_ids: Some(args.task.clone()), ..reporter::new_report(ReportKind::Progress, message) };
    let said = if message.is_some() { "Reported." } else { "Heartbeat recorded." };
    if !args.wait {
        return reporter::report(client, &speaker, &report, said, world);
    }
    if message.is_some() {
        speaker.report(&client, &report)?;
    }
    wait_until_resumed(&client, &speaker)?;
    reporter::report(client, &speaker, &reporter::new_report(ReportKind::Progress, None), said, world)
}

/// Waits as long as the session is paused.
fn wait_until_resumed(client: &CliClient, speaker: &WorkReporter) -> CommandResult<()> {
    let mut reply = speaker.heartbeat(client)?;
    let session = EventQuery { session_id: Some(reply.session_id.clone()), ..EventQuery::default() };
    let mut changes = client.watch(session);
    while reply.session_status == SessionStatus::Paused {
        client.wait(async { timeout(HEARTBEAT, changes.changed()).await.is_ok() });
        reply = speaker.heartbeat(client)?;
    }
    Ok(())
}
