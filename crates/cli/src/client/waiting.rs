//! Work that waits for a person, according to a running server.

use serde::Serialize;
use serde_json::Value as Json;

use crate::client::{Client, Target};
use crate::host::world::World;
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
        let list = |path: &str| client.get::<Vec<Json>>(path).unwrap_or_default();
        let mut waiting: Vec<Waiting> = list("/api/sessions?active=alive").iter().filter_map(question).collect();
        waiting.extend(list("/api/permissions").iter().map(permission));
        waiting.extend(list("/api/tasks?status=blocked&fields=summary").iter().map(blocker));
        waiting.extend(list("/api/runs?status=running").iter().filter_map(run));
        let url = match client.target() {
            Target::Server(url) => url.to_owned(),
            Target::Database(_) => return Self::Stored,
        };
        Self::Running { url, waiting }
    }
}

/// A run whose next word is the user's.
fn run(run: &Json) -> Option<Waiting> {
    let wants = match run["waiting"].as_str()? {
        "user" => "asks",
        "consent" => "asks for the result of",
        _ => return None,
    };
    let text = format!("{wants} `{}`", word(&run["step"]));
    Some(Waiting { kind: "run", id: word(&run["id"]), name: word(&run["workflow"]), text })
}

fn question(session: &Json) -> Option<Waiting> {
    let text = session["needsInput"]["message"].as_str()?.to_owned();
    Some(Waiting { kind: "question", id: word(&session["id"]), name: word(&session["name"]), text })
}

/// Something an agent may not do before a person allows it.
fn permission(asked: &Json) -> Waiting {
    let text = format!("allow: {}", word(&asked["title"]));
    Waiting { kind: "permission", id: word(&asked["sessionId"]), name: "an agent".to_owned(), text }
}

fn blocker(task: &Json) -> Waiting {
    Waiting { kind: "blocker", id: word(&task["id"]), name: word(&task["title"]), text: "blocked".to_owned() }
}

fn word(value: &Json) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
