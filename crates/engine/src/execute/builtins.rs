//! Built-in steps, which need no external program; one file for each kind.
//!
//! All of a built-in runs on a thread of its own, so it may read files between its awaits.
//! What reads needs no consent. What writes can be done again: it looks first whether it was done.

mod aside_records;
mod checks;
mod claims;
mod conflicts;
mod files;
mod git;
mod git_exclude;
mod git_hooks;
mod landing;
mod merge_check;
mod milestones;
mod plans;
mod rebase_journal;
mod repo_lock;
mod set_aside;
mod setup;
mod stale_locks;
mod timestamp;
mod worktree_files;
mod worktrees;

use std::collections::BTreeMap;
use std::path::Path;

use maestro_core::StepKind;
use maestro_core::event::RunId;
use maestro_core::plan::skill_hints;
use maestro_core::workflow::definition::BuiltinCommand;
use maestro_core::workflow::run::{CommandExit, Ticket};
use maestro_skills::{SkillSelector, TaskNeeds};
use serde_json::{Value as Json, json};
use uuid::Uuid;

use crate::blocking;
use crate::execute::{Executor, Limits};
use crate::host::{Freshness, Host, HostError, ProjectSkills};

/// The text of a plan below a workspace; no link leads out of it.
pub(crate) fn plan_text(workspace: &Path, path: &str) -> Result<String, String> {
    plans::text(workspace, path).map(|(_, text)| text)
}

/// Why something was not done.
#[derive(Debug, PartialEq, Eq)]
enum BuiltinError {
    Failed(String),
    /// An agent left something behind that it can remove, and the work cannot be committed before.
    Left(String),
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
struct PickTurn {
    visit: u32,
    most: u32,
}

/// One thing to be done, with all it needs.
#[derive(Clone, Copy)]
struct BuiltinCall<'a> {
    executor: &'a Executor,
    builtin: BuiltinCommand,
    arguments: &'a BTreeMap<String, String>,
    /// The visit of a step that it is done for, the same before and after a crash.
    visit: &'a Ticket,
    limits: Limits,
}

pub use merge_check::CommitVerdict;

/// Runs the project's checks on a commit that is checked out nowhere yet.
pub(crate) async fn check_commit(executor: &Executor, commit: &str, limits: Limits) -> CommitVerdict {
    let (executor, commit) = (executor.clone(), commit.to_owned());
    let checked = blocking::drive(move || async move {
        let (arguments, visit) = (BTreeMap::new(), Ticket::quoted("merge#1"));
        let builtin = BuiltinCommand::Verify;
        let call = BuiltinCall { executor: &executor, builtin, arguments: &arguments, visit: &visit, limits };
        call.check_commit(&commit).await
    });
    checked.await
}

/// Executes it, and returns the result.
pub(crate) async fn perform(
    executor: &Executor,
    builtin: BuiltinCommand,
    arguments: &BTreeMap<String, String>,
    visit: &Ticket,
    limits: Limits,
) -> CommandExit {
    let (executor, arguments, visit) = (executor.clone(), arguments.clone(), visit.clone());
    let done = blocking::drive(move || async move {
        let executor = executor_in(&executor, &arguments)?;
        BuiltinCall { executor: &executor, builtin, arguments: &arguments, visit: &visit, limits }.run().await
    });
    match done.await {
        Ok(output) => CommandExit::Exited { code: 0, output },
        Err(BuiltinError::Failed(reason) | BuiltinError::Left(reason)) => CommandExit::Failed(reason),
        Err(BuiltinError::TimedOut) => CommandExit::TimedOut,
    }
}

/// A result in which `left` says what an agent left behind, if that is why there is no other one.
fn with_left(result: Result<Json, BuiltinError>, none: Json) -> Result<String, BuiltinError> {
    let (mut said, left) = match result {
        Err(BuiltinError::Left(reason)) => (none, reason),
        result => (result?, String::new()),
    };
    said["left"] = json!(left);
    Ok(said.to_string())
}

/// Where it is to be done: in the workspace, or in a directory below it that `in` names.
fn executor_in(executor: &Executor, arguments: &BTreeMap<String, String>) -> Result<Executor, String> {
    let Some(place) = arguments.get("in").map(String::as_str).filter(|place| !place.trim().is_empty()) else {
        return Ok(executor.clone());
    };
    let found = files::inside(&executor.env().workspace, place)?.filter(|path| path.is_dir());
    found.map(|path| executor.at(path)).ok_or_else(|| worktrees::missing_message(&executor.env().workspace, place))
}

impl BuiltinCall<'_> {
    async fn run(&self) -> Result<String, BuiltinError> {
        let env = self.executor.env();
        Ok(match self.builtin {
            BuiltinCommand::Glob => self.executor.files(self.required_argument("pattern")?).await?.join("\n"),
            BuiltinCommand::Now => {
                timestamp::format_time(env.machine.host.now(), self.argument("format").unwrap_or("iso"))?
            }
            BuiltinCommand::ReadFile => files::read(&env.workspace, self.required_argument("path")?)?,
            BuiltinCommand::Exists => files::exists(&env.workspace, self.required_argument("path")?)?.to_string(),
            BuiltinCommand::PlanNext => {
                let aside = self.aside_records("aside")?;
                plans::next(&env.workspace, self.required_argument("plan")?, self.pick_turn()?, &aside)?.to_string()
            }
            BuiltinCommand::PlanTick => {
                let _alone = self.lock_repo().await?;
                self.tick().await?.to_string()
            }
            BuiltinCommand::PlanTake => self.take_task().await?.to_string(),
            BuiltinCommand::SkillsSelect => self.select_skills(self.required_argument("task")?).await?,
            BuiltinCommand::SkillsSync => env.ask_host(Host::sync_packs).await?.to_string(),
            BuiltinCommand::GitDiff => self.diff().await?,
            BuiltinCommand::GitHead => self.checked_out().await?.to_string(),
            BuiltinCommand::GitTree => self.tree_now().await?,
            BuiltinCommand::PlanOutline => self.outline().await?.to_string(),
            BuiltinCommand::PlanWave => self.wave()?.to_string(),
            BuiltinCommand::PlanChanges => self.plan_changes().await?.to_string(),
            BuiltinCommand::PlanCoverage => self.coverage().await?.to_string(),
            BuiltinCommand::GitCommit => with_left(self.commit().await, json!({ "commit": null, "changed": false }))?,
            BuiltinCommand::GitCatchUp => self.catch_up().await?.to_string(),
            BuiltinCommand::GitLand => with_left(self.land().await, json!({ "landed": false, "commit": "" }))?,
            BuiltinCommand::GitSetAside => self.set_aside().await?.to_string(),
            BuiltinCommand::GitMerge => self.merge().await?.to_string(),
            BuiltinCommand::BranchOpen => self.open_branch().await?.to_string(),
            BuiltinCommand::WorktreeOpen => self.open_worktree().await?.to_string(),
            BuiltinCommand::WorktreeSetup => self.set_up_worktree().await?.to_string(),
            BuiltinCommand::WorktreeClose => self.close_worktree().await?.to_string(),
            BuiltinCommand::Verify => self.verify().await?.to_string(),
        })
    }

    /// An argument that says something.
    fn argument(&self, name: &str) -> Option<&str> {
        self.arguments.get(name).map(String::as_str).filter(|value| !value.trim().is_empty())
    }

    /// An argument that must say something.
    fn required_argument(&self, name: &str) -> Result<&str, String> {
        self.argument(name).ok_or_else(|| format!("`{}` needs `{name}`", self.builtin.word()))
    }

    /// The line of a task.
    fn line(&self) -> Result<usize, String> {
        let line = self.required_argument("line")?;
        line.parse().map_err(|_| format!("`{line}` is no number of a line"))
    }

    /// How many tasks were asked for, where it is not all of them.
    fn task_limit(&self) -> Result<Option<u32>, String> {
        let Some(most) = self.argument("most") else { return Ok(None) };
        let most: u32 = most.trim().parse().map_err(|_| format!("`{most}` is no number of tasks"))?;
        Ok(Some(most).filter(|most| *most > 0))
    }

    /// Each visit of the step picks a task.
    fn pick_turn(&self) -> Result<PickTurn, String> {
        Ok(PickTurn { visit: self.visit.visit(), most: self.task_limit()?.unwrap_or_default() })
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
            Ok(SkillSelector::for_task(catalogue, &label).select(RunId::new(run), needs).record)
        };
        serde_json::to_string(&env.ask_host(select).await?).map_err(|error| error.to_string().into())
    }
}
