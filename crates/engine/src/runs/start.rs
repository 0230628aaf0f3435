//! Starts of runs, with their inputs.

use std::path::PathBuf;

use maestro_core::agent::RunRights;
use maestro_core::id::{ProjectId, SessionId, TaskId};
use maestro_core::workflow::pinned_definition::PinnedDefinition;
use maestro_core::workflow::run::InputRefusal;
use maestro_core::workflow::value_type::InvalidValue;
use maestro_store::{Driver, IdempotencyKey, RunOrigin};
use serde_json::{Map, Value as Json};

use super::{RunEngine, RunError, RunKeeping, RunLocation, RunView};
use crate::blocking;

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
    /// The agent that does the steps which start no session of their own.
    pub agent: Option<String>,
}

impl RunStart {
    /// Refuses parameters that name a file which is not there, where the workflow needs it.
    async fn check_files(&self) -> Result<(), RunError> {
        let definition = self.pinned.definition()?;
        let needed = definition.main.params.iter().filter(|param| param.exists).filter_map(|param| {
            let given = self.params.get(param.name.as_str()).or(param.default.as_ref())?;
            let path = given.as_str().filter(|path| !path.trim().is_empty())?;
            Some((param.name.to_string(), path.to_owned()))
        });
        let (needed, workspace): (Vec<_>, _) = (needed.collect(), PathBuf::from(&self.workspace));
        let look = move || needed.into_iter().find(|(_, path)| !workspace.join(path).is_file());
        match blocking::run(look).await {
            None => Ok(()),
            Some((name, path)) => {
                let reason = InvalidValue(format!("there is no file `{path}` in {}", self.workspace));
                Err(RunError::CannotStart(InputRefusal::Value { name, reason }))
            }
        }
    }

    /// What only one run may work through at a time: a plan, or a single task, in a directory.
    fn work_key(&self) -> Option<String> {
        let text = |name: &str| self.params.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
        // A run that joins another one works beside it.
        if self.driver != Driver::Server || text("lead").is_some() {
            return None;
        }
        let work = text("only").map(|task| format!("task\n{task}"));
        let work = work.or_else(|| text("plan").map(|plan| format!("plan\n{plan}")))?;
        Some(format!("{}\n{work}", self.workspace))
    }
}

impl RunEngine {
    /// Starts a run.
    pub async fn start(&self, start: RunStart, now: i64, once: Option<IdempotencyKey>) -> Result<RunView, RunError> {
        start.pinned.check_start()?;
        if start.driver == Driver::Server && start.project.is_none() {
            let definition = start.pinned.definition()?;
            let started = definition.session_step().or(start.agent.as_ref().map(|_| &definition.main.start));
            started.map_or(Ok(()), |step| Err(RunError::NoProject(step.clone())))?;
        }
        start.check_files().await?;
        let host = self.host.clone().filter(|_| start.driver == Driver::Server);
        let kept = RunKeeping { host, work_key: start.work_key(), once };
        let about = RunOrigin {
            workflow: start.pinned.main.clone(),
            project: start.project,
            task: start.task,
            session: start.session,
            parent: None,
            driver: start.driver,
            rights: start.rights,
        };
        let context =
            RunLocation { workspace: start.workspace, tool: start.tool, agent: start.agent.unwrap_or_default() };
        self.begin(&start.pinned, about, start.params, context, kept, now).await
    }
}
