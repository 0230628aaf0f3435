//! Work that waits for a person, according to a running server.

use maestro_api::runs::{self, RunQuery, RunSummary};
use maestro_api::sessions::{self, SessionBody, SessionQuery};
use maestro_api::spawns::{self, PermissionBody, PermissionQuery};
use maestro_api::tasks::{self, TaskQuery, TaskSummary};
use maestro_core::workflow::run::AwaitedParty as WaitingFor;
use serde::Serialize;

use crate::client::{CliClient, ClientTarget};
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::server_process::database;

/// What a glance at the server tells.
pub(crate) enum ServerGlance {
    /// It runs, and this waits.
    Running {
        /// Where it answers.
        url: String,
        /// What waits, oldest first.
        waiting: Vec<WaitingItem>,
    },
    /// What waits is not known.
    Failed {
        /// Where the server should answer, if that is known.
        url: Option<String>,
        /// Why it is not known.
        why: String,
    },
    /// It does not run; whether something waits stands in the database, which a glance does not open.
    Stored,
    /// It does not run, and nothing was ever stored.
    Nothing,
}

/// Something that waits for a person.
#[derive(Debug, Serialize)]
pub(crate) struct WaitingItem {
    /// `question`, `permission`, `blocker` or `run`.
    pub(crate) kind: &'static str,
    /// The session, task or run.
    pub(crate) id: String,
    /// What it is called.
    pub(crate) name: String,
    /// What it asks.
    pub(crate) text: String,
}

impl ServerGlance {
    /// Asks the server that runs, if one does.
    pub(crate) fn at(world: &World) -> Self {
        let client = match CliClient::connect_running(world) {
            Ok(Some(client)) => client,
            Ok(None) => {
                let place = database::database_url(world);
                let stored = matches!(place, maestro_store::DatabaseLocation::File(path) if path.exists());
                return if stored { Self::Stored } else { Self::Nothing };
            }
            Err(error) => return Self::Failed { url: None, why: error.message().to_owned() },
        };
        let ClientTarget::Server(url) = client.target() else { return Self::Stored };
        let url = url.to_owned();
        match waiting(&client) {
            Ok(waiting) => Self::Running { url, waiting },
            Err(error) => Self::Failed { url: Some(url), why: error.message().to_owned() },
        }
    }
}

/// What waits, oldest first.
fn waiting(client: &CliClient) -> CommandResult<Vec<WaitingItem>> {
    let sessions = client.call(sessions::list(&SessionQuery::alive()))?;
    let permissions = client.call(spawns::permissions(&PermissionQuery::default()))?;
    let blocked = TaskQuery { status: Some("blocked".to_owned()), ..TaskQuery::default() };
    let blocked = client.call(tasks::summaries(&blocked))?;
    let running = RunQuery { status: Some("running".to_owned()), ..RunQuery::default() };
    let running = client.call(runs::list(&running))?;
    let mut waiting: Vec<WaitingItem> = sessions.iter().filter_map(question).collect();
    waiting.extend(permissions.iter().map(permission));
    waiting.extend(blocked.iter().map(blocker));
    waiting.extend(running.iter().filter_map(run));
    Ok(waiting)
}

/// A run whose next word is the user's.
fn run(run: &RunSummary) -> Option<WaitingItem> {
    let wants = match run.waiting? {
        WaitingFor::User => "asks",
        WaitingFor::Consent => "asks for the result of",
        WaitingFor::Agent | WaitingFor::Subagents => return None,
    };
    let text = format!("{wants} `{}`", run.step.as_deref().unwrap_or_default());
    Some(WaitingItem { kind: "run", id: run.id.clone(), name: run.workflow.clone(), text })
}

fn question(session: &SessionBody) -> Option<WaitingItem> {
    let text = session.needs_input.as_ref()?.message.clone();
    Some(WaitingItem { kind: "question", id: session.id.clone(), name: session.name.clone(), text })
}

/// Something an agent may not do before a person allows it.
fn permission(asked: &PermissionBody) -> WaitingItem {
    let text = format!("allow: {}", asked.title);
    WaitingItem { kind: "permission", id: asked.session_id.clone(), name: "an agent".to_owned(), text }
}

fn blocker(task: &TaskSummary) -> WaitingItem {
    WaitingItem { kind: "blocker", id: task.id.clone(), name: task.title.clone(), text: "blocked".to_owned() }
}
