//! `maestro update`: progress of the work; without a message, only a heartbeat.

use maestro_api::reports::NewReport;
use maestro_core::report::ReportKind;

use crate::args::UpdateArgs;
use crate::client::Client;
use crate::client::worker::{self, Speaker};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;

pub(crate) fn run(args: &UpdateArgs, world: &World) -> Result<Reply, CommandError> {
    let speaker = Speaker::of(world)?;
    let client = Client::open(world)?;
    let message = args.message.as_deref().map(str::trim).filter(|message| !message.is_empty());
    let report = NewReport { task_ids: Some(args.task.clone()), ..worker::new_report(ReportKind::Progress, message) };
    let said = if message.is_some() { "Reported." } else { "Heartbeat recorded." };
    worker::report(client, &speaker, &report, said, world)
}
