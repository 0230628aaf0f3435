//! Claims of tasks by several runs that work through the same plan.
//!
//! A run that claims a task creates a file with its name in the repository, which only one can create. It stays: other
//! runs do not retry a task that a run stopped at.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use maestro_core::plan::{self, Plan, TaskSelection};
use maestro_skills::read_bounded;
use maestro_store::hash_secret;
use serde_json::{Value as Json, json};
use tokio::time::Instant;

use super::aside_records::AsideRecords;
use super::plans::{PLAN_BYTES, one_line, text};
use super::{BuiltinCall, BuiltinError};
use crate::execute::Limits;
use crate::git::GitDirs;
use crate::worktrees;

/// How long to wait for other runs before this run is informed.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often the plan is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(200);
/// How long a run's name may be.
const MAX_NAME: u64 = 256;

/// What there is to do for a run.
enum TaskPick {
    /// This one, of so many that are open.
    Task(TaskSelection, usize),
    /// No more were asked for.
    Enough,
    /// Every task is done.
    Done,
    /// What is left waits for what others do; so many are open.
    Later(usize),
    /// What is left was stopped at, or comes after that; in words.
    Stuck(String),
}

impl BuiltinCall<'_> {
    /// Claims a task that the plan allows now and that no other run has; waits a while where one may become available
    /// soon.
    pub(super) async fn take_task(&self) -> Result<Json, BuiltinError> {
        let until = Instant::now() + PATIENCE;
        loop {
            let said = match self.find_task().await? {
                TaskPick::Later(_) if Instant::now() < until => {
                    tokio::time::sleep(LOOK).await;
                    continue;
                }
                TaskPick::Task(task, open) => json!({
                    "done": false, "later": false, "enough": false, "label": task.label, "line_number": task.line_number,
                    "section": task.section.unwrap_or_default(), "skill_hints": task.skill_hints, "open": open,
                    "boxes": true, "endless": false,
                }),
                TaskPick::Stuck(told) => return Err(BuiltinError::Failed(told)),
                found => json!({
                    "done": matches!(found, TaskPick::Done), "later": matches!(found, TaskPick::Later(_)),
                    "enough": matches!(found, TaskPick::Enough), "label": "", "line_number": 0, "section": "",
                    "skill_hints": [], "open": if let TaskPick::Later(open) = found { open } else { 0 }, "boxes": true,
                    "endless": false,
                }),
            };
            return Ok(said);
        }
    }

    async fn find_task(&self) -> Result<TaskPick, BuiltinError> {
        let env = self.executor.env();
        let path = self.required_argument("plan")?;
        let text = self.shared_plan(path).await?;
        let plan = plan::parse_plan(&text);
        if plan.tasks.is_empty() && !text.trim().is_empty() {
            return Err(BuiltinError::Failed(format!(
                "`{path}` has no boxes, so its tasks cannot run in parallel; leave out `-j`"
            )));
        }
        let claims = self.claims()?;
        let free = plan::free_tasks(&plan);
        let open = plan.tasks.iter().filter(|task| task.is_pending()).count();
        let unknown = |error| BuiltinError::Failed(format!("the claim to a task cannot be read: {error}"));
        // What this run took before it was interrupted is its own still.
        let aside = self.aside_records("among")?;
        let is_aside = |task: &TaskSelection| aside.tasks().contains(&plan, task.line_number);
        for task in free.iter().filter(|task| !is_aside(task)) {
            if claims.of(&plan, task).holder().map_err(unknown)?.as_deref() == Some(&env.run) {
                return Ok(TaskPick::Task(task.clone(), open));
            }
        }
        if claims.is_limit_reached(self.task_limit()?) {
            return Ok(TaskPick::Enough);
        }
        for task in &free {
            let cannot = |error| BuiltinError::Failed(format!("a task cannot be taken: {error}"));
            if claims.of(&plan, task).take(&env.run).map_err(cannot)? {
                return Ok(TaskPick::Task(task.clone(), open));
            }
        }
        if free.is_empty() {
            return Ok(TaskPick::Done);
        }
        for task in &free {
            if let Some(holder) = claims.of(&plan, task).holder().map_err(unknown)?.filter(|_| !is_aside(task))
                && env.machine.host.is_active(holder).await
            {
                return Ok(TaskPick::Later(open));
            }
        }
        Ok(TaskPick::Stuck(explain_stuck(&plan, &free, &aside)))
    }

    /// The plan as the branch has it that all work for; one that git does not know as it lies there.
    async fn shared_plan(&self, path: &str) -> Result<String, BuiltinError> {
        let branch = worktrees::branch(self.worktree_name("among")?);
        let limits = Limits { output: PLAN_BYTES, ..self.limits };
        match (BuiltinCall { limits, ..*self }).git(&["cat-file", "blob", &format!("refs/heads/{branch}:{path}")]).await
        {
            Ok(text) => Ok(text),
            Err(_) => Ok(text(&self.executor.env().workspace, path)?.1),
        }
    }

    fn claims(&self) -> Result<PlanClaims, BuiltinError> {
        let among = self.worktree_name("among")?;
        let places = GitDirs::of(&self.executor.env().workspace);
        let shared = places.ok_or_else(|| "its repository cannot be found".to_owned())?.shared;
        Ok(PlanClaims(worktrees::claims_dir(&shared, among)))
    }
}

/// Why no task can start: those that were set aside with their reasons, those that other runs stopped at, and what comes
/// after them.
fn explain_stuck(plan: &Plan, free: &[TaskSelection], aside: &AsideRecords) -> String {
    let is_aside = |task: &&TaskSelection| aside.tasks().contains(plan, task.line_number);
    let stopped: Vec<&str> = free.iter().filter(|task| !is_aside(task)).map(|task| task.label.as_str()).collect();
    match (stopped.as_slice(), aside.explain(plan)) {
        ([], Some(explained)) => explained,
        (stopped, explained) => {
            let stopped = format!("the remaining tasks are stopped: {}", stopped.join("; "));
            explained.map_or(stopped.clone(), |explained| format!("{stopped}\n{explained}"))
        }
    }
}

/// What was taken of a plan.
struct PlanClaims(PathBuf);

impl PlanClaims {
    /// The claim to a task, which is known by what it says and by how many above it say the same.
    fn of(&self, plan: &Plan, task: &TaskSelection) -> TaskClaim {
        let label = one_line(&task.label);
        let above = plan.tasks.iter().filter(|other| other.line_number < task.line_number);
        let nth = above.filter(|other| one_line(&other.label) == label).count();
        TaskClaim(self.0.join(hash_secret(format!("{nth} {label}").as_bytes())))
    }

    /// Whether as many were taken as were asked for.
    fn is_limit_reached(&self, most: Option<u32>) -> bool {
        let taken = fs::read_dir(&self.0).map_or(0, |entries| entries.flatten().filter(is_claim).count());
        most.is_some_and(|most| taken >= most as usize)
    }
}

/// Whether it is a claim, and not what one is about to become.
fn is_claim(entry: &fs::DirEntry) -> bool {
    !entry.file_name().to_string_lossy().starts_with('.')
}

/// The claim to one task.
struct TaskClaim(PathBuf);

impl TaskClaim {
    /// The run that has it; nothing where none does.
    fn holder(&self) -> io::Result<Option<String>> {
        match read_bounded(&self.0, MAX_NAME) {
            Ok(read) => String::from_utf8(read.bytes).map(Some).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Claims it, unless another run has it.
    fn take(&self, run: &str) -> io::Result<bool> {
        let folder = self.0.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder)?;
        // Complete or not at all: a crash half-way leaves nothing that counts.
        let mut file = tempfile::Builder::new().prefix(".").tempfile_in(folder)?;
        file.write_all(run.as_bytes())?;
        match file.persist_noclobber(&self.0) {
            Ok(_) => Ok(true),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error.error),
        }
    }
}
