//! Pull request for a run's branch: made by `gh` if it is installed, else a text to copy.

use maestro_engine::branches::BranchError;
use maestro_engine::pull_request::{self, PullRequestError};
use maestro_engine::user_program::ProgramError;
use serde_json::json;

use super::{RunWork, branch_error};
use crate::args::BranchArgs;
use crate::host::agents;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::{clean, clean_lines};

pub(crate) fn propose(args: &BranchArgs, world: &World) -> CommandResult {
    let left = RunWork::of(&super::merge::named_or_ready("pr", args.id.as_deref(), world)?, world)?;
    left.require_over()?;
    let told = |error: BranchError| branch_error(&error, "try again");
    let commits = left.branch.commits().map_err(told)?;
    if commits.is_empty() {
        return Err(CommandError::refused("no commits to propose")
            .hint(format!("run `maestro diff {}` to see its state", left.id())));
    }
    let (title, body) = (pull_request::title(&commits), pull_request::body(&commits, &left.id()));
    let branch = clean(&left.branch.branch);
    let created = match agents::program("gh", world).map(|gh| pull_request::create(&left.branch, &gh, &left.id())) {
        Some(Ok(url)) => Ok(url),
        None => Err(format!("`gh` not found on PATH. Install it, or push with `git push origin {branch}`")),
        Some(Err(PullRequestError::NoRemote)) => Err(format!(
            "this repository has no remote. Add one with `git remote add origin URL` and run `maestro pr {}` again",
            clean(&left.id())
        )),
        Some(Err(error)) => return Err(not_created(error)),
    };
    if world.json {
        return left.json(&json!({ "title": title, "body": body, "url": created.ok(), "commits": commits }));
    }
    let why = match created {
        Ok(url) => return Ok(CommandOutput::text(format!("{}\n", clean(&url)))),
        Err(why) => why,
    };
    let text = format!("Branch: {branch}\nTitle: {}\n\n{}", clean(&title), clean_lines(&body));
    Ok(CommandOutput::text(text).with_notes(format!("No pull request created: {why}.\n")))
}

/// Why there is no pull request, and the way on.
fn not_created(error: PullRequestError) -> CommandError {
    match error {
        PullRequestError::Branch(error) => branch_error(&error, "try again"),
        PullRequestError::Program(ProgramError::NotStarted { error, .. }) => {
            CommandError::io("cannot start `gh`", &error)
        }
        PullRequestError::Program(ProgramError::Failed { stderr, .. }) => {
            CommandError::refused(format!("`gh pr create`: {stderr}"))
                .hint("the branch was pushed; run `gh auth status` to check your login")
        }
        PullRequestError::Nothing | PullRequestError::NoRemote => CommandError::refused(error.to_string()),
    }
}
