//! `maestro merge`: the checks run on the merged tree, and the branch moves only if they pass.

use std::path::Path;

use maestro_core::landing::LandingKind;
use maestro_engine::ExecutionEnv;
use maestro_engine::branches::{BranchError, BranchMerge, RunBranch};
use maestro_engine::checked_merge::{self, CheckPolicy, CheckedMergeError, MergeCheck};
use maestro_engine::git::CommitSigning;
use serde_json::json;

use super::owner::WorkOwner;
use super::{LaneBranch, RunWork, branch_error, require_person};
use crate::args::MergeArgs;
use crate::client::CliClient;
use crate::commands::loops;
use crate::commands::loops::listing::PlanLoop;
use crate::host::cli_host::CliHost;
use crate::host::config;
use crate::host::runtime;
use crate::host::world::World;
use crate::output::command_output::{self, CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::{clean, count, fit};

/// How many columns the words of a task get.
const WORDS: usize = 40;

pub(crate) fn merge(args: &MergeArgs, world: &World) -> CommandResult {
    require_person(world)?;
    let id = named_or_ready("merge", args.id.as_deref(), world)?;
    let mut left = RunWork::of(&id, world)?;
    left.require_over()?;
    let signing = config::settings(world)?.git_sign.value.into();
    if args.all {
        let message = format!("Work of {} {} that was not committed", left.owner.kind(), left.owner.id());
        let committed = left.branch.commit_rest(&message, signing);
        left.branch = committed.map_err(|error| merge_error(&error, &left.owner, &id))?;
    }
    let (merge, checks) = match prepare(&left, signing, args, world) {
        Err(obstacle) if args.fix && is_fixable(&obstacle) => {
            fix(&left, &obstacle, args, world)?;
            left = RunWork::of(&id, world)?;
            prepare(&left, signing, args, world).map_err(|error| merge_error(&error, &left.owner, &id))?
        }
        prepared => prepared.map_err(|error| merge_error(&error, &left.owner, &id))?,
    };
    finish(&left, &merge, &checks, world)
}

/// The run that a command means: the named one, else the only one that ended well and left commits.
pub(super) fn named_or_ready(command: &str, id: Option<&str>, world: &World) -> CommandResult<String> {
    if let Some(id) = id {
        return Ok(id.to_owned());
    }
    let client = CliClient::open(world)?;
    let mut ready: Vec<PlanLoop> = Vec::new();
    for run in PlanLoop::all(&client, world)?.into_iter().filter(PlanLoop::is_ready) {
        let branch = RunBranch::of_run(Path::new(&run.lead.workspace), run.id());
        if branch.is_ok_and(|branch| branch.head != branch.base) {
            ready.push(run);
        }
    }
    match ready.as_slice() {
        [only] => Ok(only.id().to_owned()),
        [] => Err(CommandError::not_found("no run is ready to merge").hint(format!(
            "run `maestro loop status` for the runs of this project; pass an ID to {command} a stopped one"
        ))),
        several => Err(CommandError::invalid(format!("{} runs are ready to merge", several.len()))
            .hint(several.iter().map(|run| way_to_run(command, run, &client)).collect::<Vec<_>>().join(" or "))),
    }
}

/// The command with the ID of a run, and what it worked on.
fn way_to_run(command: &str, run: &PlanLoop, client: &CliClient) -> String {
    let what = run.plan().or(run.task()).unwrap_or("a run");
    format!("`maestro {command} {}` ({})", clean(client.short_ids().shorten(run.id())), fit(&clean(what), WORDS))
}

/// Makes the merge, and runs the checks on its tree unless they ran on it before.
fn prepare(
    left: &RunWork,
    signing: CommitSigning,
    args: &MergeArgs,
    world: &World,
) -> Result<(BranchMerge, MergeCheck), BranchError> {
    let policy = match (args.no_check, has_checked(left)) {
        (true, _) => CheckPolicy::Skip,
        (false, true) => CheckPolicy::UnlessPassedBefore,
        (false, false) => CheckPolicy::Run,
    };
    let env = || {
        Ok(ExecutionEnv {
            machine: CliHost::reading(world).execution().map_err(|error| error.message().to_owned())?,
            workspace: left.branch.workspace.clone(),
            folders: Vec::new(),
            run: left.owner.id().to_owned(),
            socket: None,
        })
    };
    let red = |reason: String| {
        let into = left.branch.target().unwrap_or_default();
        BranchError::RedMerge { branch: left.branch.branch.clone(), into, reason }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| red(format!("cannot start the runtime: {error}")))?;
    let prepared = runtime::wait(&runtime, checked_merge::prepare(&left.branch, signing, policy, env));
    prepared.map_err(|error| match error {
        CheckedMergeError::Branch(error) => error,
        CheckedMergeError::NoExecution(reason) => red(reason),
    })
}

/// Moves the checked-out branch, and removes what was merged.
fn finish(left: &RunWork, merge: &BranchMerge, checks: &MergeCheck, world: &World) -> CommandResult {
    let id = left.owner.id();
    let told = |error: BranchError| merge_error(&error, &left.owner, id);
    let commits = left.branch.commits().map_err(told)?;
    let (landed, unfinished) = left.lanes();
    left.branch.finish_merge(merge).map_err(told)?;
    left.record_landing(LandingKind::Merged, Some(&merge.into), world);
    for lane in landed {
        lane.branch.discard().map_err(told)?;
    }
    if world.json {
        let unfinished: Vec<&str> = unfinished.iter().map(|lane| lane.branch.branch.as_str()).collect();
        let checks: &[String] = if let MergeCheck::Passed(checks) = checks { checks } else { &[] };
        return left.json(&json!({
            "merged": true, "into": merge.into, "commits": commits, "unfinished": unfinished, "checks": checks,
        }));
    }
    let (branch, into) = (clean(&left.branch.branch), clean(&merge.into));
    let merged = match commits.len() {
        0 => format!("No commits on {branch}; nothing to merge"),
        many => format!("Merged {} of {branch} into {into}", count(many, "commit", "commits")),
    };
    let checked = match checks {
        MergeCheck::Passed(checks) => format!("Checks passed on the merge: {}\n", clean(&checks.join(", "))),
        MergeCheck::Before | MergeCheck::None => String::new(),
    };
    let unfinished: String = unfinished.into_iter().map(LaneBranch::describe).collect();
    Ok(CommandOutput::text(format!("{checked}{merged}; removed its worktree and branch.\n{unfinished}")))
}

/// Whether an agent can do something about it.
fn is_fixable(obstacle: &BranchError) -> bool {
    matches!(obstacle, BranchError::Conflict { .. } | BranchError::RedMerge { .. })
}

/// Has an agent bring the branch up to date with the checked-out one, in the run's own worktree.
fn fix(left: &RunWork, obstacle: &BranchError, args: &MergeArgs, world: &World) -> CommandResult<()> {
    if !world.json {
        command_output::show(&format!("{}\n", clean_message(obstacle)))?;
    }
    match left.owner.as_run() {
        Some(run) => loops::fix_merge(run, obstacle, args.agent.as_deref(), world),
        None => Err(CommandError::refused("`--fix` works for runs, and this is a session")
            .hint(merge_by_hand(&left.branch.branch, &clean(left.owner.id())))),
    }
}

/// The way to merge without an agent.
fn merge_by_hand(branch: &str, id: &str) -> String {
    format!("run `git merge {}`, fix and commit the result, then run `maestro discard {id}`", clean(branch))
}

/// Whether the last commit passed the checks before it was made.
fn has_checked(left: &RunWork) -> bool {
    left.owner.as_run().is_some_and(|run| run.has_checked(left.branch.last_ticket().as_deref()))
}

fn clean_message(obstacle: &BranchError) -> String {
    let message = obstacle.to_string();
    let lines: Vec<String> = message.lines().map(|line| clean(line).into_owned()).collect();
    lines.join("\n")
}

/// Why it was not merged, and the way on.
fn merge_error(error: &BranchError, owner: &WorkOwner, id: &str) -> CommandError {
    let id = clean(id);
    match error {
        BranchError::Conflict { branch, .. } | BranchError::RedMerge { branch, .. } if owner.as_run().is_none() => {
            CommandError::refused(error.to_string()).hint(format!("nothing was merged; {}", merge_by_hand(branch, &id)))
        }
        BranchError::Conflict { .. } => CommandError::refused(error.to_string())
            .hint(format!("nothing was merged; run `maestro merge {id} --fix` to have an agent resolve the conflict"))
            .hint(super::by_hand(error)),
        BranchError::RedMerge { .. } => CommandError::refused(error.to_string())
            .hint(format!("nothing was merged; run `maestro merge {id} --fix` to have an agent fix it"))
            .hint("or pass `--no-check` to merge it as it is"),
        _ => branch_error(error, "merge again"),
    }
}
