//! What can be done without a program of somebody else's? One file for each kind of thing.
//!
//! What reads needs no consent. What writes can be done again: it looks first whether it was done.

mod checks;
mod files;
mod git;
mod moment;
mod plans;
mod worktrees;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use maestro_core::event::RunId;
use maestro_core::plan::skill_hints;
use maestro_core::workflow::definition::Builtin;
use maestro_core::workflow::run::{Finish, Ticket};
use maestro_core::{SkillSelection, StepKind};
use maestro_skills::{Catalogue, Selector, TaskNeeds};
use serde_json::Value as Json;
use uuid::Uuid;

use crate::execute::{Executor, Limits};

/// What whoever runs a workflow knows and can do, and an executor cannot find out by itself.
#[derive(Clone)]
pub struct Abilities {
    /// What time it is, in milliseconds.
    pub now: Arc<dyn Fn() -> i64 + Send + Sync>,
    /// The skills there are, or why they cannot be known.
    pub catalogue: Arc<dyn Fn() -> Result<Arc<Catalogue>, String> + Send + Sync>,
    /// How many skills a task gets at most.
    pub most_skills: usize,
    /// Brings the copies of skill packs up to date, and says what it did.
    pub sync: Arc<dyn Fn() -> Result<Json, String> + Send + Sync>,
    /// The configured checks, or why they may not be run.
    pub checks: Arc<dyn Fn() -> Result<Vec<String>, String> + Send + Sync>,
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
            catalogue: Arc::new(|| Err("no skills are known here".to_owned())),
            most_skills: 2,
            sync: Arc::new(|| Err("there is nothing to copy here".to_owned())),
            checks: Arc::new(|| Ok(Vec::new())),
        }
    }
}

impl fmt::Debug for Abilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Abilities").field("most_skills", &self.most_skills).finish_non_exhaustive()
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

/// One thing to be done, with all it needs.
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
    match (Job { executor, builtin, arguments, ticket, limits }).done().await {
        Ok(output) => Finish::Exited { code: 0, output },
        Err(Undone::Failed(reason)) => Finish::Failed(reason),
        Err(Undone::TimedOut) => Finish::TimedOut,
    }
}

impl Job<'_> {
    async fn done(&self) -> Result<String, Undone> {
        let site = self.executor.site();
        Ok(match self.builtin {
            Builtin::Glob => self.executor.files(self.needed("pattern")?).await?.join("\n"),
            Builtin::Now => moment::written((site.abilities.now)(), self.given("format").unwrap_or("iso"))?,
            Builtin::ReadFile => files::read(&site.workspace, self.needed("path")?)?,
            Builtin::Exists => files::exists(&site.workspace, self.needed("path")?)?.to_string(),
            Builtin::PlanNext => plans::next(&site.workspace, self.needed("plan")?)?.to_string(),
            Builtin::PlanTick => {
                let line = self.needed("line")?;
                let line = line.parse().map_err(|_| format!("`{line}` is no number of a line"))?;
                plans::tick(&site.workspace, self.needed("plan")?, line, self.needed("text")?)?.to_string()
            }
            Builtin::SkillsSelect => self.skills(self.needed("task")?).await?,
            Builtin::SkillsSync => {
                let sync = Arc::clone(&site.abilities.sync);
                aside(move || sync()).await?.to_string()
            }
            Builtin::GitDiff => self.diff().await?,
            Builtin::GitCommit => self.commit().await?.to_string(),
            Builtin::GitMerge => self.merge().await?.to_string(),
            Builtin::WorktreeOpen => self.open_worktree().await?.to_string(),
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

    async fn skills(&self, task: &str) -> Result<String, Undone> {
        let abilities = self.executor.site().abilities.clone();
        let run = Uuid::parse_str(&self.executor.site().run).unwrap_or_else(|_| Uuid::now_v7());
        let task = task.trim().to_owned();
        let record = aside(move || select(&abilities, RunId::new(run), &task)).await?;
        serde_json::to_string(&record).map_err(|error| Undone::Failed(error.to_string()))
    }
}

fn select(abilities: &Abilities, run: RunId, task: &str) -> Result<SkillSelection, String> {
    let selector = Selector::for_task((abilities.catalogue)()?, task);
    let hints = skill_hints(task);
    let needs = TaskNeeds { label: task, hints: &hints, step: StepKind::Implementation, most: abilities.most_skills };
    Ok(selector.select(run, needs).record)
}

/// Does something that waits for the disk where it holds nobody up.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, Undone> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done?),
        Err(error) => Err(Undone::Failed(error.to_string())),
    }
}
