//! More work on the branch of a run that is over: review items of a person, or what keeps it from being merged.

use std::path::Path;

use maestro_core::excerpt;
use maestro_engine::branches::{BranchError, RunBranch};
use maestro_engine::worktrees;
use serde_json::{Value as Json, json};

use super::listing::PlanLoop;
use super::{LoopAudience, LoopRequest, LoopTarget, LoopWorkflow, preflight};
use crate::args::{ReviseArgs, WorkArgs};
use crate::client::CliClient;
use crate::commands::branches::{branch_error, require_person};
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::{CommandError, ExitKind};
use crate::output::screen::{clean, clean_path};

/// How much of a person's words becomes the name of the task, and so the message of its commit.
const TASK_CHARS: usize = 500;
/// How many commits are named to the agent.
const COMMITS: usize = 50;

/// More work on the branch of a run.
pub(super) struct RunRevision {
    /// The run.
    pub(super) continues: String,
    goal: RevisionGoal,
    /// What to fix, as a review says it.
    items: String,
}

/// What is done there.
enum RevisionGoal {
    /// The rest of its plan, beginning with the task at which it stopped.
    Plan { path: String, most: usize },
    /// One task.
    Task(String),
    /// The merge of a commit, which is in the worktree already.
    Merge { task: String, commit: String },
}

impl RunRevision {
    pub(super) fn announcement(&self) -> String {
        let run = clean(&self.continues);
        match &self.goal {
            RevisionGoal::Plan { path, .. } => format!("continues {run} with {}", clean_path(path)),
            RevisionGoal::Task(task) | RevisionGoal::Merge { task, .. } => format!("continues {run}: {}", clean(task)),
        }
    }

    /// The parameters of the run that does it.
    pub(super) fn params(&self, workspace: &Path) -> Vec<(&'static str, Json)> {
        let mut params = vec![("continues", json!(self.continues)), ("items", json!(self.items))];
        match &self.goal {
            RevisionGoal::Plan { path, most } => params.extend([
                ("plan", json!(path)),
                ("most", json!(most)),
                ("tracked", json!(preflight::is_tracked(path, workspace))),
            ]),
            RevisionGoal::Task(task) => params.push(("only", json!(task))),
            RevisionGoal::Merge { task, commit } => {
                params.extend([("only", json!(task)), ("merges", json!(commit))]);
            }
        }
        params
    }

    fn run(self, work: &WorkArgs, world: &World) -> CommandResult {
        let (workflow, what) = (LoopWorkflow::Builtin, LoopTarget::Revision(self));
        LoopRequest { workflow, what, jobs: 1, audience: LoopAudience::Owner }.run(work, world)
    }
}

/// `maestro revise`: has an agent change the work of a run that is over.
pub(crate) fn revise(args: &ReviseArgs, world: &World) -> CommandResult {
    require_person(world)?;
    let words = args.text.trim();
    if words.is_empty() {
        return Err(CommandError::invalid("the text is empty").hint("say in quotes what to change"));
    }
    if args.work.in_place {
        return Err(CommandError::invalid("a run is revised in its own worktree").hint("omit `--in-place`"));
    }
    let found = PlanLoop::find(&CliClient::open(world)?, &args.id)?;
    if found.is_active() {
        let id = clean(found.id());
        return Err(CommandError::refused(format!("run {id} is still active"))
            .hint(format!("send its agent a message with `maestro say {id} \"…\"`")));
    }
    let branch = RunBranch::of_run(Path::new(&found.lead.workspace), found.id());
    let branch = branch.map_err(|error| branch_error(&error, "try again"))?;
    let commits = branch.commits().map_err(|error| branch_error(&error, "try again"))?;
    let goal = match (found.is_ready(), found.plan(), found.task()) {
        (false, Some(plan), _) => RevisionGoal::Plan { path: plan.to_owned(), most: found.params().most },
        (false, None, Some(task)) => RevisionGoal::Task(task.to_owned()),
        _ => RevisionGoal::Task(one_line(words)),
    };
    let items = format!("{words}\n{}", work_so_far(&commits));
    let revision = RunRevision { continues: found.id().to_owned(), goal, items };
    revision.run(&as_before(&args.work, &found), &world.at(Path::new(&found.lead.workspace)))
}

/// Has an agent merge the checked-out branch into that of a run, whose worktree gets both.
pub(crate) fn fix_merge(
    run: &PlanLoop,
    obstacle: &BranchError,
    agent: Option<&str>,
    world: &World,
) -> CommandResult<()> {
    let told = |error: BranchError| branch_error(&error, "merge again");
    let world = world.at(Path::new(&run.lead.workspace));
    let branch = RunBranch::of_run(&world.places.project, run.id()).map_err(told)?;
    let into = branch.target().map_err(told)?;
    if branch.worktree.is_none() {
        let hint = worktrees::restore_hint(&worktrees::path(&branch.workspace, &format!("loop-{}", run.id())));
        return Err(hint.into_iter().fold(CommandError::refused("the run has no worktree"), CommandError::hint));
    }
    let (commit, conflicts) = branch.join_target().map_err(told)?;
    let task = format!("Merge {into} into {}", branch.branch);
    let conflicts = match conflicts.as_slice() {
        [] => String::new(),
        files => format!(
            "\nThese files contain both versions between conflict markers: {}. Keep what both sides meant, and leave no marker.",
            files.join(", ")
        ),
    };
    let items = format!(
        "{obstacle}\nThe files here are the merge of {} and {into}, not committed yet.{conflicts}\nFix only what keeps it from being merged.",
        branch.branch
    );
    let goal = RevisionGoal::Merge { task, commit };
    let revision = RunRevision { continues: run.id().to_owned(), goal, items };
    let work = WorkArgs { agent: agent.map(str::to_owned), ..WorkArgs::default() };
    match revision.run(&as_before(&work, run), &world)?.show_now()? {
        ExitKind::Ok => Ok(()),
        _ => Err(CommandError::refused("the agent could not fix it; nothing was merged").hint(format!(
            "run `maestro revise {} \"…\"` to say what to do, or `maestro diff {0}` to see its work",
            clean(run.id())
        ))),
    }
}

/// The options of a command, and where it says nothing, those of the run.
fn as_before(work: &WorkArgs, run: &PlanLoop) -> WorkArgs {
    let before = |said: &Option<String>, before: &str| {
        said.clone().or_else(|| Some(before.to_owned()).filter(|before| !before.is_empty()))
    };
    let params = run.params();
    let is_other_reviewer = work.agent.is_some() || work.reviewer.is_some() || work.model.is_some();
    WorkArgs {
        agent: before(&work.agent, &params.agent),
        reviewer: before(&work.reviewer, if work.agent.is_some() { "" } else { &params.reviewer }),
        permission: before(&work.permission, &params.permission),
        // A model belongs to its agent.
        model: before(&work.model, if work.agent.is_some() { "" } else { &params.model }),
        reviewer_model: before(&work.reviewer_model, if is_other_reviewer { "" } else { &params.reviewer_model }),
        ..work.clone()
    }
}

/// What the agent should know of the branch.
fn work_so_far(commits: &[String]) -> String {
    let shown: Vec<String> = commits.iter().rev().take(COMMITS).map(|commit| format!("- {commit}")).collect();
    if shown.is_empty() {
        return String::new();
    }
    format!("This is about the work on this branch. Its commits, newest first:\n{}", shown.join("\n"))
}

/// Words as the name of a task.
fn one_line(words: &str) -> String {
    excerpt::ellipsize(&excerpt::one_line(words), TASK_CHARS)
}
