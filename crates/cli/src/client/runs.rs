//! Runs, as commands speak about them over the API, execute what they order, and read them.

use std::collections::BTreeMap;
use std::path::Path;

use maestro_api::events::{self, EventBody, EventQuery};
use maestro_api::runs::{self, RunBody, RunQuery, RunStateQuery, RunSummary};
use maestro_api::sessions;
use maestro_core::RunId;
use maestro_core::id::{EntityId as _, TaskId};
use maestro_core::short_id::ShortIds;
use maestro_core::workflow::pinned_definition::{PinnedDefinition, PinnedText};
use maestro_core::workflow::run::{CommandExit, FileState, Run, Ticket};
use maestro_core::workflow::run_reply::{NextAction, RunReply};
use maestro_engine::drive::{ClaimDecision, DriveError, RunApi, RunSnapshot, drive};
use maestro_engine::git_changes;

use crate::client::CliClient;
use crate::client::context;
use crate::client::relay::CallRelay;
use crate::host::cli_host::CliHost;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::server_process::database;

/// A run as it is rendered for a tool.
pub(crate) fn reply(run: RunBody) -> RunReply {
    RunReply { run: run.summary.id, updates: run.updates, next: run.next }
}

/// What is known of the files, where a review wants to know.
pub(crate) fn review_state(run: &RunBody) -> FileState {
    let reviewed = matches!(&run.next, NextAction::Directive { directive } if directive.round.review.is_some());
    // A sub-agent's run reports to a review of its parent.
    let is_wanted = reviewed || run.summary.parent_run.is_some();
    if !is_wanted || run.summary.workspace.is_empty() {
        return FileState::default();
    }
    git_changes::review_state(Path::new(&run.summary.workspace), run.reviewed.as_deref())
}

/// The way to runs. A session that is not registered cannot speak for itself yet, and may walk through the workflow
/// that registers it all the same.
pub(crate) fn client(world: &World) -> CommandResult<CliClient> {
    let client = CliClient::open(world)?;
    let Some(session) = context::session(world) else { return Ok(client) };
    match client.call(sessions::get(session)) {
        Err(error) if error.is_not_found() => client.for_person(),
        _ => Ok(client),
    }
}

/// The project that a run belongs to, where there is one.
pub(crate) fn project(client: &CliClient, world: &World) -> Option<String> {
    // An API that fails says so with the request that follows.
    let known = context::project(client, world).or_else(|_| context::project_of_unknown(client, world));
    known.ok().map(|project| project.id)
}

/// The run whose id begins so.
pub(crate) fn find_run(client: &CliClient, id: &str) -> CommandResult<RunSummary> {
    let hint = "run `maestro loop status` for the runs and their IDs";
    let all = client.list(runs::list(&RunQuery::default()))?;
    let known = ShortIds::new(all.iter().map(|run| run.id.clone()));
    let meant: Vec<String> = known.matches(id).into_iter().map(str::to_owned).collect();
    let is_meant = |run: &RunSummary| match meant.as_slice() {
        [] => !id.is_empty() && run.id.starts_with(id),
        some => some.contains(&run.id),
    };
    let mut found: Vec<RunSummary> = all.into_iter().filter(is_meant).collect();
    // A run that is part of another is seldom meant.
    if found.len() > 1 {
        found.retain(|run| run.parent_run.is_none());
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(CommandError::not_found(format!("unknown run `{id}`")).hint(hint)),
        many => Err(CommandError::invalid(format!("{many} runs start with `{id}`")).hint(hint)),
    }
}

/// What happened in a run, all of it, oldest first.
pub(crate) fn events(client: &CliClient, run: &str) -> CommandResult<Vec<EventBody>> {
    let mut all: Vec<EventBody> = Vec::new();
    loop {
        let since = all.last().map_or(0, |event| event.seq);
        let query = EventQuery { run_id: Some(run.to_owned()), since: Some(since), ..EventQuery::default() };
        let more = client.call(events::list(&query))?;
        if more.is_empty() {
            return Ok(all);
        }
        all.extend(more);
    }
}

/// Where a run stands.
pub(crate) fn get(client: &CliClient, id: &str) -> CommandResult<RunBody> {
    client.call(runs::get(run_id(id)?.as_str()))
}

/// A text that can be the id of a run, or a short one.
pub(crate) fn run_id(id: &str) -> CommandResult<String> {
    if let Ok(id) = id.parse::<RunId>() {
        return Ok(id.to_string());
    }
    let wrong = |_| {
        CommandError::invalid(format!("`{id}` is not a run ID"))
            .hint("run `maestro workflow runs` for the runs and their IDs")
    };
    TaskId::parse(id).map(|_| id.to_owned()).map_err(wrong)
}

/// A run with what it was started with.
pub(crate) fn state(client: &CliClient, id: &str) -> CommandResult<(Run, PinnedDefinition)> {
    let state = client.call(runs::state(&run_id(id)?, RunStateQuery { pinned: Some(true) }))?;
    Ok((state.run, PinnedDefinition { main: state.workflow, definitions: state.definitions.unwrap_or_default() }))
}

/// The run after everything was executed that is ordered now.
pub(crate) fn drive_run(client: &CliClient, run: RunBody, world: &World) -> CommandResult<RunBody> {
    if !matches!(run.next, NextAction::Busy { .. }) {
        return Ok(run);
    }
    let unfit = |_| CommandError::server("the server sent an invalid run ID");
    let id: RunId = run.summary.id.parse().map_err(unfit)?;
    let relay = client.wait(async { CallRelay::open(client, world) });
    let host = CliHost::reading(world);
    let machine = match &relay {
        Some(relay) => host.with_sockets(relay.sockets()),
        None => host,
    };
    client.wait(drive(&HttpRunApi { client }, id, &machine.execution()?)).map_err(run_error)?;
    // The reply carries everything that happened since the last report.
    get(client, &run.summary.id)
}

fn run_error(error: DriveError<CommandError>) -> CommandError {
    match error {
        DriveError::Api(error) => error,
        DriveError::NotAllowed { ref workflow, .. } => {
            let hint = format!("run `maestro trust {workflow}` to review and allow it, then `maestro workflow next`");
            CommandError::forbidden(error.to_string()).hint(hint)
        }
        DriveError::CommandsNotAllowed(_) => CommandError::forbidden(error.to_string())
            .hint("run `maestro trust --config` to review and allow them, then `maestro workflow next`"),
        DriveError::ConsentUnknown { .. } => {
            CommandError::forbidden(error.to_string()).hint("run `maestro trust` to see how to fix it")
        }
        DriveError::Forged(_) | DriveError::Unsound(_) => {
            CommandError::server(error.to_string()).hint("run `maestro db check`")
        }
        DriveError::Unable(ref cause) => CommandError::io("cannot execute commands here", cause),
    }
}

/// The API, as the driver of a run uses it.
struct HttpRunApi<'c> {
    client: &'c CliClient,
}

impl RunApi for HttpRunApi<'_> {
    type Error = CommandError;

    async fn snapshot(&self, id: RunId) -> CommandResult<RunSnapshot> {
        let state = self.client.send(runs::state(&id.to_string(), RunStateQuery::default())).await?;
        let (workflow, hash, run, executor) = (state.workflow, state.hash, state.run, state.executor);
        Ok(RunSnapshot { workflow, hash, run, executor, now: database::clock()() })
    }

    async fn definitions(&self, id: RunId) -> CommandResult<BTreeMap<String, PinnedText>> {
        let state = self.client.send(runs::state(&id.to_string(), RunStateQuery { pinned: Some(true) })).await?;
        Ok(state.definitions.unwrap_or_default())
    }

    async fn claim_execution(
        &self,
        id: RunId,
        ticket: &Ticket,
        by: &str,
        seconds: u32,
        seen: FileState,
    ) -> CommandResult<ClaimDecision> {
        accepted(self.client.send(runs::started(&id.to_string(), ticket, by, seconds, seen)).await)
    }

    async fn report_finished(&self, id: RunId, ticket: &Ticket, finish: CommandExit) -> CommandResult<()> {
        // The run may have been cancelled, or this executor given up, while it was executed.
        accepted(self.client.send(runs::finished(&id.to_string(), ticket, &finish)).await).map(|_| ())
    }

    async fn report_lost(&self, id: RunId, ticket: &Ticket, by: &str) -> CommandResult<()> {
        accepted(self.client.send(runs::lost(&id.to_string(), ticket, by)).await).map(|_| ())
    }
}

/// Whether a run accepted a report; a refusal is no failure of the driver.
fn accepted(answer: CommandResult<RunBody>) -> CommandResult<ClaimDecision> {
    match answer {
        Ok(_) => Ok(ClaimDecision::Granted),
        Err(error) if error.is_refusal() => Ok(ClaimDecision::Denied),
        Err(error) => Err(error),
    }
}
