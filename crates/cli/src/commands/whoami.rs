//! `maestro whoami`: role, session, project and server of the caller.

use std::fmt::Write as _;

use maestro_api::sessions::{self, SessionBody, SessionQuery};
use maestro_api::tasks;
use maestro_core::SessionRole;
use maestro_core::session::Approach;
use serde_json::{Value as Json, json};

use crate::client::context;
use crate::client::permissions::{CommandRight, RULES};
use crate::client::{CliClient, ClientTarget};
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::{clean, clean_path, pad};

/// Who speaks.
pub(crate) struct CallerIdentity {
    /// The own session, if there is one.
    pub(crate) session: Option<SessionBody>,
    /// What the session may do; a person may do everything.
    pub(crate) role: Option<SessionRole>,
}

impl CallerIdentity {
    pub(crate) fn of(client: &CliClient, world: &World) -> CommandResult<Self> {
        let id = match (context::session(world), context::tasks(world).first()) {
            (Some(id), _) => Some(id.to_owned()),
            (None, Some(task)) => latest_session(task, client)?,
            (None, None) => return Ok(Self { session: None, role: None }),
        };
        let session = id.map(|id| client.call(sessions::get(&id))).transpose()?;
        let named = || world.variable("MAESTRO_ROLE").and_then(|role| role.parse().ok());
        // A caller that has a task works on it.
        let role = session.as_ref().map(|session| session.role).or_else(named).unwrap_or(SessionRole::Worker);
        Ok(Self { session, role: Some(role) })
    }

    pub(crate) fn has_queue(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.strategy == Approach::Queue)
    }

    /// The word for the role.
    pub(crate) fn word(&self) -> &'static str {
        self.role.map_or("person", SessionRole::as_str)
    }

    /// The commands that may be used, each with the bounds of its use.
    pub(crate) fn allowed(&self) -> Vec<(&'static str, CommandRight)> {
        let rights = RULES.iter().map(|rule| (rule.command, rule.right(self.role, self.has_queue())));
        rights.filter(|(_, right)| *right != CommandRight::No).collect()
    }
}

/// The youngest session at work on a task.
fn latest_session(task: &str, client: &CliClient) -> CommandResult<Option<String>> {
    client.call(tasks::get(task))?;
    let query = SessionQuery { task_id: Some(task.to_owned()), ..SessionQuery::alive() };
    Ok(client.list(sessions::summaries(&query))?.pop().map(|session| session.id))
}

pub(crate) fn run(world: &World) -> CommandResult {
    let client = CliClient::open(world)?;
    let me = CallerIdentity::of(&client, world)?;
    let project = match &me.session {
        Some(session) => Some(session.project_id.clone()),
        // Nowhere is a place too: who asks may be about to make the first project.
        None => context::project(&client, world).ok().map(|project| project.id),
    };
    let tasks = match &me.session {
        Some(session) => session.task_ids.clone(),
        None => context::tasks(world),
    };
    if world.json {
        return CommandOutput::json(&as_json(&me, project.as_deref(), &tasks, client.target()));
    }
    let mut text = String::new();
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(text, "{} {value}", world.paint.dim(&pad(name, 9)));
    };
    row("role", me.word());
    if let Some(session) = &me.session {
        row("session", &format!("{}  {}, {}", clean(&session.id), session.status, clean(&session.name)));
        row("strategy", session.strategy.as_str());
    }
    row("project", &project.map_or("none here".to_owned(), |project| clean(&project).into_owned()));
    row("tasks", &if tasks.is_empty() { "none".to_owned() } else { clean(&tasks.join(", ")).into_owned() });
    match client.target() {
        ClientTarget::Server(url) => row("server", &clean_path(url)),
        ClientTarget::Database(place) => row("database", &format!("{} (no server)", clean_path(place))),
    }
    let names: Vec<&str> = me.allowed().into_iter().map(|(command, _)| command).collect();
    row("commands", &names.join(", "));
    Ok(CommandOutput::text(text))
}

fn as_json(me: &CallerIdentity, project: Option<&str>, tasks: &[String], target: ClientTarget<'_>) -> Json {
    let (server, database) = match target {
        ClientTarget::Server(url) => (Some(url), None),
        ClientTarget::Database(place) => (None, Some(place)),
    };
    let session = me.session.as_ref();
    json!({
        "role": me.word(),
        "sessionId": session.map(|session| &session.id),
        "sessionStatus": session.map(|session| &session.status),
        "strategy": session.map(|session| &session.strategy),
        "projectId": project,
        "taskIds": tasks,
        "server": server,
        "database": database,
        "commands": me.allowed().into_iter().map(|(command, _)| command).collect::<Vec<_>>(),
    })
}
