//! `maestro whoami`: role, session, project and server of the caller.

use std::fmt::Write as _;

use maestro_api::sessions::{self, SessionBody, SessionQuery};
use maestro_api::tasks;
use maestro_core::Role;
use maestro_core::session::Approach;
use serde_json::{Value as Json, json};

use crate::client::context;
use crate::client::permissions::{RULES, Right};
use crate::client::{Client, Target};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::screen::{clean, clean_path, pad};

/// Who speaks.
pub(crate) struct Me {
    /// The own session, if there is one.
    pub(crate) session: Option<SessionBody>,
    /// What the session may do; a person may do everything.
    pub(crate) role: Option<Role>,
}

impl Me {
    pub(crate) fn of(client: &Client, world: &World) -> Result<Self, CommandError> {
        let id = match (context::session(world), context::tasks(world).first()) {
            (Some(id), _) => Some(id.to_owned()),
            (None, Some(task)) => at_work_on(task, client)?,
            (None, None) => return Ok(Self { session: None, role: None }),
        };
        let session = id.map(|id| client.call(sessions::get(&id))).transpose()?;
        let named = || world.variable("MAESTRO_ROLE").and_then(|role| role.parse().ok());
        // A caller that has a task works on it.
        let role = session.as_ref().map(|session| session.role).or_else(named).unwrap_or(Role::Worker);
        Ok(Self { session, role: Some(role) })
    }

    pub(crate) fn has_queue(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.strategy == Approach::Queue)
    }

    /// The word for the role.
    pub(crate) fn word(&self) -> &'static str {
        self.role.map_or("person", Role::as_str)
    }

    /// The commands that may be used, each with the bounds of its use.
    pub(crate) fn allowed(&self) -> Vec<(&'static str, Right)> {
        let rights = RULES.iter().map(|rule| (rule.command, rule.right(self.role, self.has_queue())));
        rights.filter(|(_, right)| *right != Right::No).collect()
    }
}

/// The youngest session at work on a task.
fn at_work_on(task: &str, client: &Client) -> Result<Option<String>, CommandError> {
    client.call(tasks::get(task))?;
    let query = SessionQuery { task_id: Some(task.to_owned()), ..SessionQuery::alive() };
    Ok(client.list(sessions::summaries(&query))?.pop().map(|session| session.id))
}

pub(crate) fn run(world: &World) -> Result<Reply, CommandError> {
    let client = Client::open(world)?;
    let me = Me::of(&client, world)?;
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
        return Reply::json(&as_json(&me, project.as_deref(), &tasks, client.target()));
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
        Target::Server(url) => row("server", &clean_path(url)),
        Target::Database(place) => row("database", &format!("{} (no server)", clean_path(place))),
    }
    let names: Vec<&str> = me.allowed().into_iter().map(|(command, _)| command).collect();
    row("commands", &names.join(", "));
    Ok(Reply::text(text))
}

fn as_json(me: &Me, project: Option<&str>, tasks: &[String], target: Target<'_>) -> Json {
    let (server, database) = match target {
        Target::Server(url) => (Some(url), None),
        Target::Database(place) => (None, Some(place)),
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
