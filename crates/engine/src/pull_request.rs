//! Pull requests for branches of runs, made by `gh`.

use std::fmt::Write as _;
use std::path::Path;

use crate::branches::{BranchError, RunBranch};
use crate::user_program::{ProgramError, UserProgram};

/// Why there is no pull request.
#[derive(Debug, thiserror::Error)]
pub enum PullRequestError {
    /// The branch has nothing.
    #[error("no commits to propose")]
    Nothing,
    /// The project is fetched from nowhere.
    #[error("no pull request: the project has no remote")]
    NoRemote,
    /// Something is the matter with the branch.
    #[error(transparent)]
    Branch(#[from] BranchError),
    /// `gh` did not do it.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

/// The title of a pull request with these commits.
pub fn title(commits: &[String]) -> String {
    match commits {
        [only] => only.clone(),
        [first, others @ ..] => format!("{first}, and {} more", others.len()),
        [] => String::new(),
    }
}

/// Its text.
pub fn body(commits: &[String], run: &str) -> String {
    let mut text = String::new();
    for commit in commits {
        let _ = writeln!(text, "- {commit}");
    }
    let _ = writeln!(text, "\nMaestro run {run}");
    text
}

/// Pushes a branch and makes a pull request of it; returns its address.
pub fn create(branch: &RunBranch, gh: &Path, run: &str) -> Result<String, PullRequestError> {
    let commits = branch.commits()?;
    if commits.is_empty() {
        return Err(PullRequestError::Nothing);
    }
    let into = branch.target()?;
    branch.push()?.ok_or(PullRequestError::NoRemote)?;
    let (title, body) = (title(&commits), body(&commits, run));
    let words = ["pr", "create", "--head", &branch.branch, "--base", &into, "--title", &title, "--body", &body];
    let gh = UserProgram::new(gh).args(words).current_dir(&branch.workspace).env("GH_PROMPT_DISABLED", "1");
    let guarded = branch.guarded_variables()?;
    let url = guarded.into_iter().fold(gh, |gh, (name, value)| gh.env(name, value)).output()?;
    Ok(url.trim().to_owned())
}
