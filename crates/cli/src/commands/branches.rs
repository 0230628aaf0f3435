//! `maestro diff|merge|pr|discard`: the branch of a run.

mod merge;
mod owner;
mod pull;
mod session_branch;

use maestro_api::runs::{self as runs_api, RunLandingBody};
use maestro_core::landing::LandingKind;
use maestro_engine::branches::{BranchError, RunBranch};
use maestro_engine::worktrees;
use serde_json::{Value as Json, json};

use crate::args::{BranchArgs, DiscardArgs};
use crate::client::CliClient;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::confirm::{EmptyAnswer, confirm};
use crate::output::error::CommandError;
use crate::output::screen::{clean, clean_lines, count};

pub(crate) use merge::merge;
use owner::WorkOwner;
pub(crate) use pull::propose;
pub(crate) use session_branch::SessionBranch;

/// A run or a session with what it left.
struct RunWork {
    owner: WorkOwner,
    branch: RunBranch,
    /// What is left of the runs that worked for the branch together.
    lanes: Vec<LaneBranch>,
}

/// The branch of one of several runs.
struct LaneBranch {
    run: String,
    branch: RunBranch,
}

impl LaneBranch {
    /// A note on unfinished work.
    fn describe(&self) -> String {
        let run = clean(&self.run);
        let branch = clean(&self.branch.branch);
        format!(
            "{branch} has unfinished work: merge it with `maestro merge {run}`, or delete it with `maestro discard {run}`\n"
        )
    }
}

impl RunWork {
    /// What the named run left.
    fn of(id: &str, world: &World) -> CommandResult<Self> {
        require_person(world)?;
        let owner = WorkOwner::find(&CliClient::open(world)?, id)?;
        let told = |error: BranchError| branch_error(&error, "go on");
        let workspace = owner.workspace();
        let branch = RunBranch::of_run(workspace, owner.id()).map_err(told)?;
        let mut lanes = Vec::new();
        for run in owner.run_ids() {
            let lane = RunBranch::lane_of(workspace, &run).map_err(told)?.filter(|lane| *lane != branch);
            lanes.extend(lane.map(|branch| LaneBranch { run, branch }));
        }
        Ok(Self { owner, branch, lanes })
    }

    fn id(&self) -> String {
        clean(self.owner.id()).into_owned()
    }

    /// Records what became of the result. What was merged is merged, even if that cannot be stored.
    fn record_landing(&self, how: LandingKind, into: Option<&str>, world: &World) {
        let landing = RunLandingBody { how: Some(how.to_string()), into: into.map(str::to_owned) };
        let record = || -> CommandResult<()> {
            let client = CliClient::open(world)?;
            self.owner.run_ids().iter().try_for_each(|run| client.call(runs_api::landed(run, &landing)).map(drop))
        };
        if let Err(error) = record() {
            tracing::warn!(run = self.owner.id(), "what became of its result is not stored: {}", error.message());
        }
    }

    /// Checks that no agent works there any more.
    fn require_over(&self) -> CommandResult<()> {
        self.owner.require_over()
    }

    /// The lanes of which the branch has everything, and those that hold more.
    fn lanes(&self) -> (Vec<&LaneBranch>, Vec<&LaneBranch>) {
        self.lanes.iter().partition(|lane| lane.branch.is_merged_into(&self.branch))
    }

    /// JSON for programs, with additions.
    fn json(&self, more: &Json) -> CommandResult {
        let mut all = json!(self.branch);
        if let Some(all) = all.as_object_mut() {
            all.insert(self.owner.kind().to_owned(), json!(self.owner.id()));
            all.extend(more.as_object().cloned().unwrap_or_default());
        }
        CommandOutput::json(&all)
    }
}

/// Agents merge or discard nothing: their work is reviewed first.
pub(crate) fn require_person(world: &World) -> CommandResult<()> {
    let set = ["MAESTRO_SESSION_ID", "MAESTRO_SESSION_TOKEN"].into_iter().find(|name| world.variable(name).is_some());
    set.map_or(Ok(()), |name| {
        Err(CommandError::forbidden(format!("only a person can do this; {name} is set"))
            .hint("ask the user to run it in their own terminal"))
    })
}

/// The way to resolve a conflict without an agent.
fn by_hand(error: &BranchError) -> String {
    let BranchError::Conflict { branch, .. } = error else { return String::new() };
    format!("or run `git merge {branch}` and resolve the conflicts, then `maestro discard`")
}

/// Why it was not done, and the way on.
pub(crate) fn branch_error(error: &BranchError, then: &str) -> CommandError {
    let hint = match error {
        BranchError::None => {
            "merged and discarded runs have no branch, nor have runs with `--in-place`; find a branch \
                              deleted by hand with `git fsck --lost-found`"
                .to_owned()
        }
        BranchError::NotOurs(branch) => format!("run `git branch -D {branch}` to delete it"),
        BranchError::Elsewhere { path, branch } => {
            let own = format!(".git/worktrees/{}", worktrees::name_of(path).unwrap_or_default());
            format!("run `git --git-dir={own} symbolic-ref HEAD refs/heads/{branch}` in the project, then {then}")
        }
        BranchError::Dirty { path, .. } if worktrees::name_of(path).is_some() => {
            "pass `--all` to commit and merge them too, or remove them".to_owned()
        }
        BranchError::Dirty { path, .. } => {
            let path = path.display();
            format!("commit them, or stash them with `git -C {path} stash --include-untracked`, then {then}")
        }
        BranchError::Detached(_) => "run `git switch BRANCH`".to_owned(),
        BranchError::Conflict { .. } => by_hand(error),
        BranchError::RedMerge { .. } => "nothing was merged; see the output of the checks".to_owned(),
        BranchError::Overwrites { .. } => format!("nothing was merged; move them away, then {then}"),
        BranchError::Repository(_) => "fix that, then try again".to_owned(),
        BranchError::NotRemoved { path, .. } => format!("remove it with `rm -r {}`, then {then}", path.display()),
        BranchError::OwnRemote(_) => {
            "git would run hooks there; name another remote with `git remote set-url`".to_owned()
        }
        BranchError::Git(_) => "see git's message above".to_owned(),
    };
    CommandError::refused(error.to_string()).hint(hint)
}

pub(crate) fn diff(args: &BranchArgs, world: &World) -> CommandResult {
    let left = RunWork::of(&merge::named_or_ready("diff", args.id.as_deref(), world)?, world)?;
    let told = |error: BranchError| branch_error(&error, "try again");
    let diff = left.branch.diff().map_err(told)?;
    if world.json {
        let (files, commits) = (left.branch.files().map_err(told)?, left.branch.commits().map_err(told)?);
        return left.json(&json!({ "commits": commits, "files": files, "diff": diff }));
    }
    let mut notes = String::new();
    if diff.is_empty() {
        notes.push_str("No commits.\n");
    }
    if !left.branch.uncommitted.is_empty() {
        let files: Vec<String> = left.branch.uncommitted.iter().map(|name| clean(name).into_owned()).collect();
        notes = format!("{notes}Uncommitted changes, not shown: {}\n", files.join(", "));
    }
    Ok(CommandOutput::text(clean_lines(&diff)).with_notes(notes))
}

/// How many commits there are.
fn no_or_count(commits: usize) -> String {
    if commits == 0 { "no commits".to_owned() } else { count(commits, "commit", "commits") }
}

pub(crate) fn discard(args: &DiscardArgs, world: &World) -> CommandResult {
    let left = RunWork::of(&args.id, world)?;
    left.require_over()?;
    let told = |error: BranchError| branch_error(&error, "discard again");
    let commits = left.branch.commits().map_err(told)?;
    let (branch, commits) = (clean(&left.branch.branch), no_or_count(commits.len()));
    let files = count(left.branch.uncommitted.len(), "file", "files");
    let (_, unfinished) = left.lanes();
    let also: Vec<String> =
        unfinished.iter().map(|lane| format!(", and {} with unfinished work", clean(&lane.branch.branch))).collect();
    let also = also.concat();
    if !args.yes {
        if !world.terminals.stdin || !world.terminals.stderr {
            return Err(CommandError::invalid(format!(
                "confirmation required to delete {branch} with {commits}{also}"
            ))
            .hint("pass `--yes`"));
        }
        let question = format!("Delete {branch} with {commits} and {files} not committed{also}?");
        if !confirm(&question, EmptyAnswer::Refuses)? {
            return Ok(CommandOutput::text("Nothing deleted.\n"));
        }
    }
    for branch in left.lanes.iter().map(|lane| &lane.branch).chain([&left.branch]) {
        branch.discard().map_err(told)?;
    }
    left.record_landing(LandingKind::Discarded, None, world);
    if world.json {
        return left.json(&json!({ "discarded": true }));
    }
    Ok(CommandOutput::text(format!("Deleted {branch} with {commits} (was {}){also}.\n", clean(&left.branch.head))))
}
