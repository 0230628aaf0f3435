//! Starts of runs, with their inputs.

use maestro_core::agent::RunRights;
use maestro_core::id::{ProjectId, SessionId, TaskId};
use maestro_core::workflow::pinned_definition::PinnedDefinition;
use maestro_store::{Driver, IdempotencyKey, RunOrigin};
use serde_json::{Map, Value as Json};

use super::{RunEngine, RunError, RunLocation, RunView};

/// The inputs of a new run.
#[derive(Debug, Clone)]
pub struct RunStart {
    /// The workflow and everything it calls.
    pub pinned: PinnedDefinition,
    /// Its parameters.
    pub params: Map<String, Json>,
    /// Its working directory.
    pub workspace: String,
    /// The directory of the calling tool, which determines `{tool}`.
    pub tool: String,
    /// The project.
    pub project: Option<ProjectId>,
    /// The task.
    pub task: Option<TaskId>,
    /// The session that starts it.
    pub session: Option<SessionId>,
    /// Who executes its directives.
    pub driver: Driver,
    /// The most that its agents may do.
    pub rights: RunRights,
}

impl RunEngine {
    /// Starts a run.
    pub async fn start(&self, start: RunStart, now: i64, once: Option<IdempotencyKey>) -> Result<RunView, RunError> {
        start.pinned.check_start()?;
        if start.driver == Driver::Server && start.project.is_none() {
            let definition = start.pinned.definition()?;
            definition.session_step().map_or(Ok(()), |step| Err(RunError::NoProject(step.clone())))?;
        }
        let about = RunOrigin {
            workflow: start.pinned.main.clone(),
            project: start.project,
            task: start.task,
            session: start.session,
            parent: None,
            driver: start.driver,
            rights: start.rights,
        };
        let context = RunLocation { workspace: start.workspace, tool: start.tool };
        self.begin(&start.pinned, about, start.params, context, now, once).await
    }
}
