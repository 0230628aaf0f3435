//! `maestro update`: progress of the work; without a message, only a heartbeat.

use maestro_api::reports::NewReport;
use maestro_core::report::ReportKind;

use crate::args::UpdateArgs;
use crate::client::CliClient;
use crate::client::reporter::{self, WorkReporter};
use crate::host::world::World;
use crate::output::command_output::CommandResult;

pub(crate) fn run(args: &UpdateArgs, world: &World) -> CommandResult {
    let speaker = WorkReporter::of(world)?;
    let client = CliClient::open(world)?;
    let message = args.message.as_deref().map(str::trim).filter(|message| !message.is_empty());
    let report = NewReport { task_ids: Some(args.task.clone()), ..reporter::new_report(ReportKind::Progress, message) };
    let said = if message.is_some() { "Reported." } else { "Heartbeat recorded." };
    reporter::report(client, &speaker, &report, said, world)
}
