//! `maestro diff|merge|pr|discard`: the branch of a run.

mod pull;

use std::path::Path;

use maestro_engine::branches::{Branch, BranchError};
use serde_json::{Value as Json, json};

use crate::args::{BranchArgs, DiscardArgs};
use crate::client::Client;
use crate::commands::loops::known::Loop;
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::question::{Silence, agreed};
use crate::output::reply::Reply;
use crate::output::screen::{clean, clean_lines, count};

pub(crate) use pull::propose;

/// A run with what it left.
struct Left {
    work: Loop,
    branch: Branch,
    /// What is left of the runs that worked for the branch together.
    lanes: Vec<Lane>,
}

/// The branch of one of several runs.
struct Lane {
    run: String,
    branch: Branch,
}

impl Lane {
    /// A note on unfinished work.
    fn told(&self) -> String {
        let run = clean(&self.run);
        let branch = clean(&self.branch.branch);
        format!(
            "{branch} has unfinished work: merge it with `maestro merge {run}`, or delete it with `maestro discard {run}`\n"
        )
    }
}

impl Left {
    /// What the named run left.
    fn of(id: &str, world: &World) -> Result<Self, CommandError> {
        is_a_person(world)?;
        let work = Loop::named(&Client::open(world)?, id)?;
        let told = |error: BranchError| refused(&error, "go on");
        let workspace = Path::new(&work.lead.workspace);
        let branch = Branch::of_run(workspace, work.id()).map_err(told)?;
        let mut lanes = Vec::new();
        for run in work.ids() {
            let lane = Branch::lane_of(workspace, &run).map_err(told)?.filter(|lane| *lane != branch);
            lanes.extend(lane.map(|branch| Lane { run, branch }));
        }
        Ok(Self { work, branch, lanes })
    }

    fn id(&self) -> String {
        clean(self.work.id()).into_owned()
    }

    /// Checks that no run works there any more.
    fn is_over(&self) -> Result<(), CommandError> {
        let Some(open) = self.work.runs().find(|run| !run.status.is_over()) else { return Ok(()) };
        let (id, open) = (self.id(), clean(&open.id));
        Err(CommandError::refused(format!("run {open} is still active"))
            .hint(format!("wait until it ends, or run `maestro loop cancel {id}`")))
    }

    /// The lanes of which the branch has everything, and those that hold more.
    fn lanes(&self) -> (Vec<&Lane>, Vec<&Lane>) {
        self.lanes.iter().partition(|lane| lane.branch.is_part_of(&self.branch))
    }

    /// JSON for programs, with additions.
    fn json(&self, more: &Json) -> Result<Reply, CommandError> {
        let mut all = json!(self.branch);
        if let Some(all) = all.as_object_mut() {
            all.insert("run".to_owned(), json!(self.work.id()));
            all.extend(more.as_object().cloned().unwrap_or_default());
        }
        Reply::json(&all)
    }
}

/// Agents merge or discard nothing: their work is reviewed first.
fn is_a_person(world: &World) -> Result<(), CommandError> {
    let set = ["MAESTRO_SESSION_ID", "MAESTRO_SESSION_TOKEN"].into_iter().find(|name| world.variable(name).is_some());
    set.map_or(Ok(()), |name| {
        Err(CommandError::forbidden(format!("only a person can do this; {name} is set"))
            .hint("ask the user to run it in their own terminal"))
    })
}

/// Why it was not done, and the way on.
fn refused(error: &BranchError, then: &str) -> CommandError {
    let hint = match error {
        BranchError::None => {
            "merged and discarded runs have no branch, nor have runs with `--in-place`; find a branch \
                              deleted by hand with `git fsck --lost-found`"
                .to_owned()
        }
        BranchError::NotOurs(branch) => format!("run `git branch -D {branch}` to delete it"),
        BranchError::Elsewhere { path, branch } => {
            format!("run `git -C {} switch {branch}`, then {then}", path.display())
        }
        BranchError::Dirty { path, .. } => {
            let path = path.display();
            format!("commit them, or stash them with `git -C {path} stash --include-untracked`, then {then}")
        }
        BranchError::Detached(_) => "run `git switch BRANCH`".to_owned(),
        BranchError::Conflict { branch, .. } => {
            format!("nothing was merged; run `git merge {branch}` and resolve the conflicts, then `maestro discard`")
        }
        BranchError::Ignored { .. } => format!("nothing was merged; move them away, then {then}"),
        BranchError::Git(_) => "see git's message above".to_owned(),
    };
    CommandError::refused(error.to_string()).hint(hint)
}

pub(crate) fn diff(args: &BranchArgs, world: &World) -> Result<Reply, CommandError> {
    let left = Left::of(&args.id, world)?;
    let told = |error: BranchError| refused(&error, "try again");
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
    Ok(Reply::text(clean_lines(&diff)).with_notes(notes))
}

pub(crate) fn merge(args: &BranchArgs, world: &World) -> Result<Reply, CommandError> {
    let left = Left::of(&args.id, world)?;
    left.is_over()?;
    let told = |error: BranchError| refused(&error, "merge again");
    let commits = left.branch.commits().map_err(told)?;
    let (landed, unfinished) = left.lanes();
    let into = left.branch.merge().map_err(told)?;
    for lane in landed {
        lane.branch.discard().map_err(told)?;
    }
    if world.json {
        let unfinished: Vec<&str> = unfinished.iter().map(|lane| lane.branch.branch.as_str()).collect();
        return left.json(&json!({ "merged": true, "into": into, "commits": commits, "unfinished": unfinished }));
    }
    let (branch, into) = (clean(&left.branch.branch), clean(&into));
    let merged = match commits.len() {
        0 => format!("No commits on {branch}; nothing to merge"),
        many => format!("Merged {} of {branch} into {into}", count(many, "commit", "commits")),
    };
    let unfinished: String = unfinished.into_iter().map(Lane::told).collect();
    Ok(Reply::text(format!("{merged}; removed its worktree and branch.\n{unfinished}")))
}

pub(crate) fn discard(args: &DiscardArgs, world: &World) -> Result<Reply, CommandError> {
    let left = Left::of(&args.id, world)?;
    left.is_over()?;
    let told = |error: BranchError| refused(&error, "discard again");
    let commits = left.branch.commits().map_err(told)?;
    let (branch, commits) = (clean(&left.branch.branch), count(commits.len(), "commit", "commits"));
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
        if !agreed(&question, Silence::Refuses)? {
            return Ok(Reply::text("Nothing deleted.\n"));
        }
    }
    for branch in left.lanes.iter().map(|lane| &lane.branch).chain([&left.branch]) {
        branch.discard().map_err(told)?;
    }
    if world.json {
        return left.json(&json!({ "discarded": true }));
    }
    Ok(Reply::text(format!("Deleted {branch} with {commits} (was {}){also}.\n", clean(&left.branch.head))))
}
