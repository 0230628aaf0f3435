//! Run client of a command: talks to the API, executes directives, and prints the current
//! one.

use std::collections::BTreeMap;
use std::path::Path;

use maestro_core::RunId;
use maestro_core::workflow::pinned::{Pinned, PinnedText};
use maestro_core::workflow::run::{Finish, Run, Seen, Ticket};
use maestro_core::workflow::told::{News, Now, Told};
use maestro_engine::changes;
use maestro_engine::drive::{Claim, DriveError, RunApi, RunSnapshot, drive};
use maestro_store::Executing;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::client::context;
use crate::client::{Client, escaped, with_query};
use crate::host::world::World;
use crate::host::{shelves, workshop};
use crate::output::error::CommandError;
use crate::server_process::database;

/// A run, as the server tells of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunReply {
    pub(crate) id: String,
    pub(crate) workflow: String,
    pub(crate) waiting: Option<String>,
    pub(crate) workspace: String,
    pub(crate) reviewed: Option<String>,
    pub(crate) news: Vec<News>,
    pub(crate) now: Now,
}

impl RunReply {
    /// What somebody is told of it.
    pub(crate) fn told(self) -> Told {
        Told { run: self.id, news: self.news, now: self.now }
    }

    /// What is known of the files, where a review wants to know.
    pub(crate) fn seen(&self) -> Seen {
        let reviewed = matches!(&self.now, Now::Directive { directive } if directive.round.review.is_some());
        if !reviewed || self.workspace.is_empty() {
            return Seen::default();
        }
        changes::seen(Path::new(&self.workspace), self.reviewed.as_deref())
    }
}

/// The way to runs. A session that nobody has registered cannot speak for itself yet, and may walk through the workflow
/// that registers it all the same.
pub(crate) fn client(world: &World) -> Result<Client, CommandError> {
    let client = Client::open(world)?;
    let Some(session) = context::session(world) else { return Ok(client) };
    match client.get::<Json>(&format!("/api/sessions/{}", escaped(session))) {
        Err(error) if error.is_not_found() => Ok(client.for_person()),
        _ => Ok(client),
    }
}

/// The project that a run belongs to, where there is one.
pub(crate) fn project(client: &Client, world: &World) -> Option<String> {
    let known = context::project(client, world).or_else(|_| context::project_of_unknown(client, world));
    known.ok().map(|project| project.id)
}

/// The run whose id begins so.
pub(crate) fn named(client: &Client, id: &str) -> Result<Json, CommandError> {
    let hint = "run `maestro loop status` for the runs and their IDs";
    let begins = |run: &Json| run["id"].as_str().is_some_and(|known| !id.is_empty() && known.starts_with(id));
    let mut found: Vec<Json> = client.list("/api/runs")?.into_iter().filter(begins).collect();
    // A run that is part of another is seldom meant.
    if found.len() > 1 {
        found.retain(|run| run["parentRun"].is_null());
    }
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(CommandError::not_found(format!("unknown run `{id}`")).hint(hint)),
        many => Err(CommandError::invalid(format!("{many} runs start with `{id}`")).hint(hint)),
    }
}

/// Whether nothing more happens in a run.
pub(crate) fn is_over(run: &Json) -> bool {
    matches!(run["status"].as_str(), Some("completed" | "failed" | "cancelled"))
}

/// What happened in a run, all of it, oldest first.
pub(crate) fn events(client: &Client, run: &str) -> Result<Vec<Json>, CommandError> {
    let mut all: Vec<Json> = Vec::new();
    loop {
        let since = all.last().and_then(|event| event["seq"].as_i64()).unwrap_or_default().to_string();
        let page = with_query("/api/events", &[("runId", Some(run)), ("since", Some(&since))]);
        let more: Vec<Json> = client.get(&page)?;
        if more.is_empty() {
            return Ok(all);
        }
        all.extend(more);
    }
}

/// Where a run stands.
pub(crate) fn get(client: &Client, id: &str) -> Result<RunReply, CommandError> {
    client.get(&path(id, "")?)
}

/// Tells a run of something.
pub(crate) fn tell(client: &Client, id: &str, what: &str, body: &Json) -> Result<RunReply, CommandError> {
    client.post(&path(id, what)?, body)
}

/// The place of a run.
pub(crate) fn path(id: &str, what: &str) -> Result<String, CommandError> {
    let wrong = |_| {
        CommandError::invalid(format!("`{id}` is not a run ID"))
            .hint("run `maestro workflow runs` for the runs and their IDs")
    };
    let id: RunId = id.parse().map_err(wrong)?;
    Ok(if what.is_empty() { format!("/api/runs/{id}") } else { format!("/api/runs/{id}/{what}") })
}

/// A run with what it was started with.
pub(crate) fn state(client: &Client, id: &str) -> Result<(Run, Pinned), CommandError> {
    let state: StateReply = client.get(&format!("{}?pinned=true", path(id, "state")?))?;
    Ok((state.run, Pinned { main: state.workflow, definitions: state.definitions.unwrap_or_default() }))
}

/// The run after everything was executed that is ordered now.
pub(crate) fn driven(client: &Client, reply: RunReply, world: &World) -> Result<RunReply, CommandError> {
    if !matches!(reply.now, Now::Busy { .. }) {
        return Ok(reply);
    }
    let id: RunId = reply.id.parse().map_err(|_| CommandError::server("the server sent an invalid run ID"))?;
    let workshop = workshop::of(world, &shelves::once(world))?;
    client.wait(drive(&HttpRunApi { client }, id, &workshop)).map_err(refused)?;
    // What happened since somebody last said something is told with it, all of it.
    get(client, &reply.id)
}

fn refused(error: DriveError<CommandError>) -> CommandError {
    match error {
        DriveError::Api(error) => error,
        DriveError::NotAllowed { ref workflow, .. } => {
            let hint = format!("run `maestro trust {workflow}` to review and allow it, then `maestro workflow next`");
            CommandError::forbidden(error.to_string()).hint(hint)
        }
        DriveError::Forged(_) | DriveError::Unsound(_) => {
            CommandError::server(error.to_string()).hint("run `maestro db check`")
        }
        DriveError::Unable(ref cause) => CommandError::io("cannot execute commands here", cause),
    }
}

/// The API, to whoever drives a run.
struct HttpRunApi<'c> {
    client: &'c Client,
}

#[derive(Deserialize)]
struct StateReply {
    workflow: String,
    hash: String,
    executor: Option<Executing>,
    run: Run,
    definitions: Option<BTreeMap<String, PinnedText>>,
}

impl RunApi for HttpRunApi<'_> {
    type Error = CommandError;

    async fn snapshot(&self, id: RunId) -> Result<RunSnapshot, CommandError> {
        let state: StateReply = self.client.ask_for(&format!("/api/runs/{id}/state")).await?;
        let StateReply { workflow, hash, executor, run, .. } = state;
        Ok(RunSnapshot { workflow, hash, run, executor, now: database::clock()() })
    }

    async fn definitions(&self, id: RunId) -> Result<BTreeMap<String, PinnedText>, CommandError> {
        let state: StateReply = self.client.ask_for(&format!("/api/runs/{id}/state?pinned=true")).await?;
        Ok(state.definitions.unwrap_or_default())
    }

    async fn started(&self, id: RunId, ticket: &Ticket, by: &str, seconds: u32) -> Result<Claim, CommandError> {
        let body = json!({ "ticket": ticket, "by": by, "seconds": seconds });
        heard(self.client.send_to::<Json>(&format!("/api/runs/{id}/started"), &body).await)
    }

    async fn finished(&self, id: RunId, ticket: &Ticket, finish: Finish) -> Result<(), CommandError> {
        let body = json!({ "ticket": ticket, "finish": finish });
        // Somebody may have cancelled the run, or given us up, while it was executed.
        heard(self.client.send_to::<Json>(&format!("/api/runs/{id}/finished"), &body).await).map(|_| ())
    }

    async fn lost(&self, id: RunId, ticket: &Ticket, by: &str) -> Result<(), CommandError> {
        let body = json!({ "ticket": ticket, "by": by });
        heard(self.client.send_to::<Json>(&format!("/api/runs/{id}/lost"), &body).await).map(|_| ())
    }
}

/// Whether a run took what it was told; that it did not is no failure of whoever drives it.
fn heard(answer: Result<Json, CommandError>) -> Result<Claim, CommandError> {
    match answer {
        Ok(_) => Ok(Claim::Granted),
        Err(error) if error.is_refusal() => Ok(Claim::Denied),
        Err(error) => Err(error),
    }
}
