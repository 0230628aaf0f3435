//! Work that waits for a person, according to a running server.

use maestro_api::runs::{self, RunQuery, RunSummary};
use maestro_api::sessions::{self, SessionBody, SessionQuery};
use maestro_api::spawns::{self, PermissionBody, PermissionQuery};
use maestro_api::tasks::{self, TaskQuery, TaskSummary};
use maestro_core::workflow::run::Waiting as WaitingFor;
use serde::Serialize;

use crate::client::{Client, Target};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::server_process::database;

/// What a glance at the server tells.
pub(crate) enum Glance {
    /// It runs, and this waits.
    Running {
        /// Where it answers.
        url: String,
        /// What waits, oldest first.
        waiting: Vec<Waiting>,
    },
    /// It runs, and cannot say what waits.
    Failed {
        /// Where it answers.
        url: String,
        /// Why it cannot.
        why: String,
    },
    /// It does not run; whether something waits stands in the database, which a glance does not open.
    Stored,
    /// It does not run, and nothing was ever stored.
    Nothing,
}

/// Something that waits for a person.
#[derive(Debug, Serialize)]
pub(crate) struct Waiting {
    /// `question`, `permission`, `blocker` or `run`.
    pub(crate) kind: &'static str,
    /// The session, task or run.
    pub(crate) id: String,
    /// What it is called.
    pub(crate) name: String,
    /// What it asks.
    pub(crate) text: String,
}

impl Glance {
    /// Asks the server that runs, if one does.
    pub(crate) fn at(world: &World) -> Self {
        let Some(client) = Client::of_running(world) else {
            let stored = matches!(database::place(world), maestro_store::Place::File(path) if path.exists());
            return if stored { Self::Stored } else { Self::Nothing };
        };
        let Target::Server(url) = client.target() else { return Self::Stored };
        let url = url.to_owned();
        match waiting(&client) {
            Ok(waiting) => Self::Running { url, waiting },
            Err(error) => Self::Failed { url, why: error.message().to_owned() },
        }
    }
}

/// What waits, oldest first.
fn waiting(client: &Client) -> Result<Vec<Waiting>, CommandError> {
    let sessions = client.call(sessions::list(&SessionQuery::alive()))?;
    let permissions = client.call(spawns::permissions(&PermissionQuery::default()))?;
    let blocked = TaskQuery { status: Some("blocked".to_owned()), ..TaskQuery::default() };
    let blocked = client.call(tasks::summaries(&blocked))?;
    let running = RunQuery { status: Some("running".to_owned()), ..RunQuery::default() };
    let running = client.call(runs::list(&running))?;
    let mut waiting: Vec<Waiting> = sessions.iter().filter_map(question).collect();
    waiting.extend(permissions.iter().map(permission));
    waiting.extend(blocked.iter().map(blocker));
    waiting.extend(running.iter().filter_map(run));
    Ok(waiting)
}

/// A run whose next word is the user's.
fn run(run: &RunSummary) -> Option<Waiting> {
    let wants = match run.waiting? {
        WaitingFor::User => "asks",
        WaitingFor::Consent => "asks for the result of",
        WaitingFor::Agent | WaitingFor::Subagents => return None,
    };
    let text = format!("{wants} `{}`", run.step.as_deref().unwrap_or_default());
    Some(Waiting { kind: "run", id: run.id.clone(), name: run.workflow.clone(), text })
}

fn question(session: &SessionBody) -> Option<Waiting> {
    let text = session.needs_input.as_ref()?.message.clone();
    Some(Waiting { kind: "question", id: session.id.clone(), name: session.name.clone(), text })
}

/// Something an agent may not do before a person allows it.
fn permission(asked: &PermissionBody) -> Waiting {
    let text = format!("allow: {}", asked.title);
    Waiting { kind: "permission", id: asked.session_id.clone(), name: "an agent".to_owned(), text }
}

fn blocker(task: &TaskSummary) -> Waiting {
    Waiting { kind: "blocker", id: task.id.clone(), name: task.title.clone(), text: "blocked".to_owned() }
}
