//! Several runs of one plan: the first creates a branch, and the others join it.

use maestro_api::runs::{self, NewRun};

use crate::client::CliClient;
use crate::output::command_output::CommandResult;

/// Starts further runs beside the first one of a plan, so that there are so many. Returns all of them.
pub(super) fn start_lanes(client: &CliClient, request: &NewRun, first: &str, many: u32) -> CommandResult<Vec<String>> {
    let mut all = vec![first.to_owned()];
    for _ in 1..many {
        let mut lane = request.clone();
        lane.params.get_or_insert_default().insert("lead".to_owned(), first.into());
        all.push(client.call(runs::create(&lane))?.summary.id);
    }
    Ok(all)
}
