//! Pull request for a run's branch: made by `gh` if it is installed, else a text to copy.

use std::fmt::Write as _;
use std::path::Path;

use maestro_engine::branches::BranchError;
use maestro_engine::user_program::{ProgramError, UserProgram};
use serde_json::json;

use super::{RunWork, branch_error};
use crate::args::BranchArgs;
use crate::host::agents;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::{clean, clean_lines};

pub(crate) fn propose(args: &BranchArgs, world: &World) -> CommandResult {
    let left = RunWork::of(&args.id, world)?;
    left.require_over()?;
    let told = |error: BranchError| branch_error(&error, "try again");
    let commits = left.branch.commits().map_err(told)?;
    if commits.is_empty() {
        return Err(CommandError::refused("no commits to propose")
            .hint(format!("run `maestro diff {}` to see its state", left.id())));
    }
    let (title, body) = (title(&commits), body(&commits, &left.id()));
    let mut url = None;
    if let Some(gh) = agents::program("gh", world) {
        let into = left.branch.target().map_err(told)?;
        if left.branch.push().map_err(told)?.is_some() {
            url = Some(create(&gh, &left, &into, &title, &body)?);
        }
    }
    if world.json {
        return left.json(&json!({ "title": title, "body": body, "url": url, "commits": commits }));
    }
    if let Some(url) = url {
        return Ok(CommandOutput::text(format!("{}\n", clean(&url))));
    }
    let branch = clean(&left.branch.branch);
    let text = format!("Branch: {branch}\nTitle: {}\n\n{}", clean(&title), clean_lines(&body));
    let notes =
        format!("No pull request created: `gh` or a remote is missing. Push with `git push origin {branch}`.\n");
    Ok(CommandOutput::text(text).with_notes(notes))
}

fn title(commits: &[String]) -> String {
    match commits {
        [only] => only.clone(),
        [first, others @ ..] => format!("{first}, and {} more", others.len()),
        [] => String::new(),
    }
}

fn body(commits: &[String], run: &str) -> String {
    let mut text = String::new();
    for commit in commits {
        let _ = writeln!(text, "- {commit}");
    }
    let _ = writeln!(text, "\nMaestro run {run}");
    text
}

/// Has `gh` make the pull request, and returns its address.
fn create(gh: &Path, left: &RunWork, into: &str, title: &str, body: &str) -> CommandResult<String> {
    let words = ["pr", "create", "--head", &left.branch.branch, "--base", into, "--title", title, "--body", body];
    let guarded = left.branch.guarded_variables().map_err(|error| branch_error(&error, "try again"))?;
    let gh = UserProgram::new(gh).args(words).current_dir(&left.branch.workspace).env("GH_PROMPT_DISABLED", "1");
    match guarded.into_iter().fold(gh, |gh, (name, value)| gh.env(name, value)).output() {
        Ok(url) => Ok(url.trim().to_owned()),
        Err(ProgramError::NotStarted { error, .. }) => Err(CommandError::io("cannot start `gh`", &error)),
        Err(ProgramError::Failed { stderr, .. }) => Err(CommandError::refused(format!("`gh pr create`: {stderr}"))
            .hint("the branch was pushed; run `gh auth status` to check your login")),
    }
}
