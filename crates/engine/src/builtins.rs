//! What can be done without a program of somebody else's? One file for each kind of thing.
//!
//! What reads needs no consent. What writes can be done again: it looks first whether it was done.

mod alone;
mod checks;
mod claims;
mod copies;
mod excluded;
mod files;
mod git;
mod landing;
mod locks;
mod moment;
mod moves;
mod plans;
mod setup;
mod worktrees;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use maestro_core::StepKind;
use maestro_core::event::RunId;
use maestro_core::plan::skill_hints;
use maestro_core::workflow::definition::Builtin;
use maestro_core::workflow::run::{Finish, Ticket};
use maestro_skills::{Catalogue, PromptLimits, Selector, TaskNeeds};
use serde_json::Value as Json;
use uuid::Uuid;

use crate::execute::{Executor, Limits};

/// What whoever runs a workflow knows and can do, and an executor cannot find out by itself. What depends on where
/// it is asked for is told the workspace.
#[derive(Clone)]
pub struct Abilities {
    /// What time it is, in milliseconds.
    pub now: Arc<dyn Fn() -> i64 + Send + Sync>,
    /// The skills there are, or why they cannot be known.
    pub skills: Ability<Skills>,
    /// Brings the copies of skill packs up to date, and says what it did.
    pub sync: Ability<Json>,
    /// The configured checks, or why they may not be run.
    pub checks: Ability<Vec<String>>,
    /// What a new worktree is furnished with.
    pub furnishing: Ability<Furnishing>,
    /// What makes a worktree ready, or why it may not be run.
    pub setup: Ability<Vec<String>>,
    /// Whether a run is not over yet.
    pub at_work: AtWork,
}

/// What a worktree of a project gets besides what is committed, and what stays out of commits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Furnishing {
    /// Patterns of ignored files that are copied.
    pub copy: Vec<String>,
    /// Patterns of files that agents leave behind and that are no work.
    pub leaves: Vec<String>,
}

/// Something that can be known or done in a workspace.
pub type Ability<T> = Arc<dyn Fn(&Path) -> Result<T, String> + Send + Sync>;

/// Something that can be asked of a run, by whoever knows where runs are kept.
pub type AtWork = Arc<dyn Fn(String) -> Pin<Box<dyn Future<Output = bool> + Send>> + Send + Sync>;

/// The skills that a task can get.
pub struct Skills {
    /// All there are.
    pub catalogue: Arc<Catalogue>,
    /// Whether agents that are started get any, where nobody says.
    pub enabled: bool,
    /// How many a task gets at most.
    pub most: usize,
    /// How many a review gets at most.
    pub most_review: usize,
    /// How much of them a prompt holds.
    pub limits: PromptLimits,
}

impl Default for Abilities {
    /// The time, and nothing else.
    fn default() -> Self {
        let now = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        };
        Self {
            now: Arc::new(now),
            skills: Arc::new(|_| Err("no skills are known here".to_owned())),
            sync: Arc::new(|_| Err("there is nothing to copy here".to_owned())),
            checks: Arc::new(|_| Ok(Vec::new())),
            furnishing: Arc::new(|_| Ok(Furnishing::default())),
            setup: Arc::new(|_| Ok(Vec::new())),
            at_work: Arc::new(|_| Box::pin(std::future::ready(false))),
        }
    }
}

impl fmt::Debug for Abilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Abilities").finish_non_exhaustive()
    }
}

/// Why something was not done.
#[derive(Debug, PartialEq, Eq)]
enum Undone {
    Failed(String),
    TimedOut,
}

impl From<String> for Undone {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
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

/// Does it, and says what came of it.
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
        Err(Undone::Failed(reason)) => Finish::Failed(reason),
        Err(Undone::TimedOut) => Finish::TimedOut,
    }
}

/// Where it is to be done: in the workspace, or in a directory below it that `in` names.
fn elsewhere(executor: &Executor, arguments: &BTreeMap<String, String>) -> Result<Executor, String> {
    let Some(place) = arguments.get("in").map(String::as_str).filter(|place| !place.trim().is_empty()) else {
        return Ok(executor.clone());
    };
    let found = files::inside(&executor.site().workspace, place)?.filter(|path| path.is_dir());
    found.map(|path| executor.at(path)).ok_or_else(|| worktrees::gone(&executor.site().workspace, place))
}

impl Job<'_> {
    async fn done(&self) -> Result<String, Undone> {
        let site = self.executor.site();
        Ok(match self.builtin {
            Builtin::Glob => self.executor.files(self.needed("pattern")?).await?.join("\n"),
            Builtin::Now => moment::written((site.abilities.now)(), self.given("format").unwrap_or("iso"))?,
            Builtin::ReadFile => files::read(&site.workspace, self.needed("path")?)?,
            Builtin::Exists => files::exists(&site.workspace, self.needed("path")?)?.to_string(),
            Builtin::PlanNext => plans::next(&site.workspace, self.needed("plan")?, self.turn()?)?.to_string(),
            Builtin::PlanTick => {
                let _alone = self.alone().await?;
                self.tick().await?.to_string()
            }
            Builtin::PlanTake => self.take_task().await?.to_string(),
            Builtin::SkillsSelect => self.skills(self.needed("task")?)?,
            Builtin::SkillsSync => (site.abilities.sync)(&site.workspace)?.to_string(),
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

    fn skills(&self, task: &str) -> Result<String, String> {
        let site = self.executor.site();
        let run = Uuid::parse_str(&site.run).unwrap_or_else(|_| Uuid::now_v7());
        let Skills { catalogue, most, .. } = (site.abilities.skills)(&site.workspace)?;
        let label = task.trim();
        let hints = skill_hints(label);
        let needs = TaskNeeds { label, hints: &hints, step: StepKind::Implementation, most };
        let selection = Selector::for_task(catalogue, label).select(RunId::new(run), needs);
        serde_json::to_string(&selection.record).map_err(|error| error.to_string())
    }
}
