//! Project, session and task of a command: from its arguments, else from the environment, else from the current
//! directory.

use std::path::{Path, PathBuf};

use maestro_api::projects::{self, ProjectBody};
use maestro_api::{sessions, tasks as task_api};

use crate::client::CliClient;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;

/// The session that the environment names.
pub(crate) fn session(world: &World) -> Option<&str> {
    world.variable("MAESTRO_SESSION_ID").map(str::trim)
}

/// The tasks that the environment names, the main one first.
pub(crate) fn tasks(world: &World) -> Vec<String> {
    let one = world.variable("MAESTRO_TASK_ID");
    let many = world.variable("MAESTRO_TASK_IDS").into_iter().flat_map(|ids| ids.split(','));
    let mut tasks: Vec<String> = Vec::new();
    for id in one.into_iter().chain(many).map(str::trim).filter(|id| !id.is_empty()) {
        if !tasks.iter().any(|known| known == id) {
            tasks.push(id.to_owned());
        }
    }
    tasks
}

/// The task meant: the one named, the environment's first, or the session's only one.
pub(crate) fn task(named: Option<&str>, client: &CliClient, world: &World) -> CommandResult<String> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    if let Some(first) = tasks(world).into_iter().next() {
        return Ok(first);
    }
    let Some(id) = session(world) else {
        return Err(CommandError::no_context("no task set")
            .hint("pass one, or set MAESTRO_TASK_ID; run `maestro task list` for the list"));
    };
    let own = client.call(sessions::get(id))?;
    match own.task_ids.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(CommandError::no_context(format!("session `{id}` has no task"))
            .hint("pass one; run `maestro task list` for the list")),
        many => Err(CommandError::no_context(format!("session `{id}` has {} tasks", many.len()))
            .hint(format!("pass one of {}", many.join(", ")))),
    }
}

/// The project meant, made sure of.
pub(crate) fn project(client: &CliClient, world: &World) -> CommandResult<ProjectBody> {
    let id = match given_project(world) {
        Some(id) => Some(id),
        None => project_of_work(client, world)?,
    };
    project_at(id, client, world)
}

/// The project that something else than the directory names: what was typed, the environment, or the work in it.
pub(crate) fn named_project(client: &CliClient, world: &World) -> Option<String> {
    // A session that is not registered yet has a task, if anything.
    let of_work = || project_of_work(client, world).or_else(|_| project_of_task(client, world)).ok().flatten();
    given_project(world).or_else(of_work)
}

/// The project that was typed, or that the environment names.
fn given_project(world: &World) -> Option<String> {
    world.aim.project.as_deref().or_else(|| world.variable("MAESTRO_PROJECT_ID")).map(str::to_owned)
}

/// The same for a session of the environment that is not registered yet.
pub(crate) fn project_of_unknown(client: &CliClient, world: &World) -> CommandResult<ProjectBody> {
    let id = match given_project(world) {
        Some(id) => Some(id),
        None => project_of_task(client, world)?,
    };
    project_at(id, client, world)
}

fn project_at(id: Option<String>, client: &CliClient, world: &World) -> CommandResult<ProjectBody> {
    match id {
        Some(id) => client.call(projects::get(&id)),
        None => project_of_directory(client, world),
    }
}

/// The project of the session or task that the environment names.
fn project_of_work(client: &CliClient, world: &World) -> CommandResult<Option<String>> {
    if let Some(id) = session(world) {
        let own = client.call(sessions::get(id))?;
        return Ok(Some(own.project_id));
    }
    project_of_task(client, world)
}

/// The project of the task that the environment names.
fn project_of_task(client: &CliClient, world: &World) -> CommandResult<Option<String>> {
    match tasks(world).first() {
        Some(id) => {
            let task = client.call(task_api::get(id))?;
            Ok(Some(task.project_id))
        }
        None => Ok(None),
    }
}

/// The project with the longest directory that holds the current one.
fn project_of_directory(client: &CliClient, world: &World) -> CommandResult<ProjectBody> {
    let here = &world.places.working_dir;
    let nearest = client
        .list(projects::list())?
        .into_iter()
        .filter_map(|project| Some((depth_within(&project, here)?, project)))
        .max_by_key(|(depth, _)| *depth);
    nearest.map(|(_, project)| project).ok_or_else(|| {
        CommandError::no_context(format!("no project for {}", here.display()))
            .hint("run `maestro init` to set this directory up, or pass --project (see `maestro project list`)")
    })
}

/// How deep the project's directory is, if it holds this one.
fn depth_within(project: &ProjectBody, here: &Path) -> Option<usize> {
    let dir = Path::new(&project.working_dir);
    if !dir.is_absolute() {
        return None;
    }
    let real: PathBuf = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    here.starts_with(&real).then(|| real.components().count())
}
