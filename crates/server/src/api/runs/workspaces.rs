//! Workspaces of runs: where a session's runs may work.

use std::path::{Path, PathBuf};

use maestro_api::runs::NewRun;
use maestro_core::agent::spawn::SpawnSpec;
use maestro_core::id::ProjectId;
use maestro_store::{ProjectById, SpawnBySession};

use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;

/// The directory that a new run works in: the one it names, or its project's.
pub(super) async fn of_run(app: &AppState, run: &NewRun, project: Option<&ProjectId>) -> Result<String, ApiError> {
    match (&run.workspace, project) {
        (Some(directory), _) if Path::new(directory).is_absolute() => Ok(directory.clone()),
        (Some(_), _) => Err(ApiError::field("workspace", "must be an absolute path")),
        (None, Some(id)) => Ok(app.store.read(ProjectById(id.clone())).await?.working_dir),
        // What a caller found itself it also knows where to execute.
        (None, None) if run.pinned.is_some() || run.workflow.is_none() => Ok(String::new()),
        (None, None) => Err(ApiError::invalid("workspace: the directory to work in is required, or a projectId")),
    }
}

/// Refuses a session, or a program with a token for one project, that would let a run work outside of its own places:
/// the project's directory, and the session's workspace.
pub(super) async fn check(app: &AppState, caller: &Caller, workspace: &str) -> Result<(), ApiError> {
    let Some(project) = caller.project() else { return Ok(()) };
    // What a caller executes itself, it executes with its own rights.
    if workspace.is_empty() {
        return Ok(());
    }
    let mut places = vec![PathBuf::from(app.store.read(ProjectById(project.clone())).await?.working_dir)];
    if let Some(session) = caller.session_id()
        && let Some(spawn) = app.store.read(SpawnBySession(session.clone())).await?
        && let Ok(spec) = serde_json::from_value::<SpawnSpec>(spawn.spec)
    {
        places.push(PathBuf::from(spec.workspace));
    }
    let (wanted, shown) = (PathBuf::from(workspace), workspace.to_owned());
    let inside = tokio::task::spawn_blocking(move || places.iter().any(|place| contains(place, &wanted))).await;
    match inside {
        Ok(true) => Ok(()),
        _ => {
            Err(ApiError::forbidden(format!("{shown} is neither the project's directory nor this session's workspace")))
        }
    }
}

/// Whether a directory is another one or below it, whatever links are on the way.
fn contains(place: &Path, wanted: &Path) -> bool {
    match (place.canonicalize(), wanted.canonicalize()) {
        (Ok(place), Ok(wanted)) => wanted.starts_with(place),
        // Directories that do not exist here belong to another machine: only the names can be compared.
        _ => place == wanted,
    }
}
