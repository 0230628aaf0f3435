//! Built-in steps, which need no external program; one file for each kind.
//!
//! What reads needs no consent. What writes can be done again: it looks first whether it was done.

mod checks;
mod claims;
mod copies;
mod excluded;
mod files;
mod git;
mod landing;
mod locks;
mod moment;
mod plans;
mod rebase_journal;
mod repo_lock;
mod setup;
mod worktrees;

use std::collections::BTreeMap;
use std::path::Path;

use maestro_core::StepKind;
use maestro_core::event::RunId;
use maestro_core::plan::skill_hints;
use maestro_core::workflow::definition::Builtin;
use maestro_core::workflow::run::{Finish, Ticket};
use maestro_skills::{Selector, TaskNeeds};
use uuid::Uuid;

use crate::execute::{Executor, Limits};
use crate::host::{Freshness, Host, HostError, ProjectSkills};

/// Why something was not done.
#[derive(Debug, PartialEq, Eq)]
enum BuiltinError {
    Failed(String),
    TimedOut,
}

impl From<String> for BuiltinError {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

impl From<HostError> for BuiltinError {
    fn from(error: HostError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Which time a task is picked, and how many were asked for; 0 means all there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Turn {
    visit: u32,
    most: u32,
}

/// One thing to be done, with all it needs.
#[derive(Clone, Copy)]
struct Job<'a> {
    executor: &'a Executor,
    builtin: Builtin,
    arguments: &'a BTreeMap<String, String>,
    ticket: &'a Ticket,
    limits: Limits,
}

/// Executes it, and returns the result.
pub(crate) async fn perform(
    executor: &Executor,
    builtin: Builtin,
    arguments: &BTreeMap<String, String>,
    ticket: &Ticket,
    limits: Limits,
) -> Finish {
    let executor = match elsewhere(executor, arguments) {
        Ok(executor) => executor,
        Err(reason) => return Finish::Failed(reason),
    };
    match (Job { executor: &executor, builtin, arguments, ticket, limits }).done().await {
        Ok(output) => Finish::Exited { code: 0, output },
        Err(BuiltinError::Failed(reason)) => Finish::Failed(reason),
        Err(BuiltinError::TimedOut) => Finish::TimedOut,
    }
}

/// Where it is to be done: in the workspace, or in a directory below it that `in` names.
fn elsewhere(executor: &Executor, arguments: &BTreeMap<String, String>) -> Result<Executor, String> {
    let Some(place) = arguments.get("in").map(String::as_str).filter(|place| !place.trim().is_empty()) else {
        return Ok(executor.clone());
    };
    let found = files::inside(&executor.env().workspace, place)?.filter(|path| path.is_dir());
    found.map(|path| executor.at(path)).ok_or_else(|| worktrees::gone(&executor.env().workspace, place))
}

impl Job<'_> {
    async fn done(&self) -> Result<String, BuiltinError> {
        let env = self.executor.env();
        Ok(match self.builtin {
            Builtin::Glob => self.executor.files(self.needed("pattern")?).await?.join("\n"),
            Builtin::Now => moment::written(env.machine.host.now(), self.given("format").unwrap_or("iso"))?,
            Builtin::ReadFile => files::read(&env.workspace, self.needed("path")?)?,
            Builtin::Exists => files::exists(&env.workspace, self.needed("path")?)?.to_string(),
            Builtin::PlanNext => plans::next(&env.workspace, self.needed("plan")?, self.turn()?)?.to_string(),
            Builtin::PlanTick => {
                let _alone = self.alone().await?;
                self.tick().await?.to_string()
            }
            Builtin::PlanTake => self.take_task().await?.to_string(),
            Builtin::SkillsSelect => self.select_skills(self.needed("task")?).await?,
            Builtin::SkillsSync => env.ask_host(Host::sync_packs).await?.to_string(),
            Builtin::GitDiff => self.diff().await?,
            Builtin::GitCommit => self.commit().await?.to_string(),
            Builtin::GitCatchUp => self.catch_up().await?.to_string(),
            Builtin::GitLand => self.land().await?.to_string(),
            Builtin::GitMerge => self.merge().await?.to_string(),
            Builtin::BranchOpen => self.open_branch().await?.to_string(),
            Builtin::WorktreeOpen => self.open_worktree().await?.to_string(),
            Builtin::WorktreeSetup => self.set_up_worktree().await?.to_string(),
            Builtin::WorktreeClose => self.close_worktree().await?.to_string(),
            Builtin::Verify => self.verify().await?.to_string(),
        })
    }

    /// An argument that says something.
    fn given(&self, name: &str) -> Option<&str> {
        self.arguments.get(name).map(String::as_str).filter(|value| !value.trim().is_empty())
    }

    /// An argument that must say something.
    fn needed(&self, name: &str) -> Result<&str, String> {
        self.given(name).ok_or_else(|| format!("`{}` needs `{name}`", self.builtin.word()))
    }

    /// The line of a task.
    fn line(&self) -> Result<usize, String> {
        let line = self.needed("line")?;
        line.parse().map_err(|_| format!("`{line}` is no number of a line"))
    }

    /// How many tasks were asked for, where it is not all of them.
    fn most(&self) -> Result<Option<u32>, String> {
        let Some(most) = self.given("most") else { return Ok(None) };
        let most: u32 = most.trim().parse().map_err(|_| format!("`{most}` is no number of tasks"))?;
        Ok(Some(most).filter(|most| *most > 0))
    }

    /// Each visit of the step picks a task.
    fn turn(&self) -> Result<Turn, String> {
        Ok(Turn { visit: self.ticket.visit(), most: self.most()?.unwrap_or_default() })
    }

    async fn select_skills(&self, task: &str) -> Result<String, BuiltinError> {
        let env = self.executor.env();
        let run = Uuid::parse_str(&env.run).unwrap_or_else(|_| Uuid::now_v7());
        let label = task.trim().to_owned();
        let select = move |host: &dyn Host, workspace: &Path| {
            let ProjectSkills { catalogue, settings } = host.skills(Some(workspace), Freshness::Kept)?;
            let hints = skill_hints(&label);
            let most = settings.skills_max_selected_impl.value.into();
            let needs = TaskNeeds { label: &label, hints: &hints, step: StepKind::Implementation, most };
            Ok(Selector::for_task(catalogue, &label).select(RunId::new(run), needs).record)
        };
        serde_json::to_string(&env.ask_host(select).await?).map_err(|error| error.to_string().into())
    }
}
