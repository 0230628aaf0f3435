//! Git, called as a program: the one place that composes its command lines.
//!
//! Hooks and monitors are off: what a repository brings is not run by us. A worktree of ours is named by its place in the
//! repository, so that nothing that lies in it is believed. Built-in steps run the same command lines inside the sandbox
//! (`builtins/git.rs`); everything here runs with the user's own rights.

mod places;

use std::fmt;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

pub(crate) use places::{GitDirs, MissingWorktree};

/// The first arguments of every git call.
const SAFE: [&str; 10] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "core.quotePath=false",
];

/// The variables of every call: no prompts, no editor, English messages.
pub(crate) const ENVIRONMENT: [(&str, &str); 3] =
    [("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", "true"), ("LC_ALL", "C")];

/// The arguments of a call of git in a workspace.
pub(crate) fn command_line(workspace: &Path, arguments: &[&str]) -> Result<Vec<String>, MissingWorktree> {
    let place = GitDirs::arguments(workspace)?;
    let words = SAFE.iter().chain(arguments).map(|word| (*word).to_owned());
    let mut words: Vec<String> = words.collect();
    words.splice(SAFE.len()..SAFE.len(), place);
    Ok(words)
}

/// A call of git that failed.
#[derive(Debug)]
pub struct GitError {
    /// What git was asked for.
    pub arguments: Vec<String>,
    /// Why it failed.
    pub reason: GitFailure,
}

/// Why a call of git failed.
#[derive(Debug, thiserror::Error)]
pub enum GitFailure {
    /// It cannot be started.
    #[error("cannot be started: {0}")]
    NotStarted(#[from] io::Error),
    /// The directory is no worktree any more.
    #[error("{0}")]
    NoWorktree(
        /// Which directory.
        String,
    ),
    /// It exited with an error.
    #[error("{output}")]
    Exited {
        /// What it printed, standard error last.
        output: String,
    },
}

impl fmt::Display for GitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.arguments.first().map(String::as_str).unwrap_or_default();
        write!(f, "`git {what}`: {}", self.reason)
    }
}

impl std::error::Error for GitError {}

/// Git in a workspace.
#[derive(Debug, Clone, Copy)]
pub struct Git<'a> {
    workspace: &'a Path,
    index: Option<&'a Path>,
}

impl<'a> Git<'a> {
    /// Git in this workspace.
    pub fn at(workspace: &'a Path) -> Self {
        Self { workspace, index: None }
    }

    /// The same, with another file as its index.
    pub(crate) fn with_index(self, index: &'a Path) -> Self {
        Self { index: Some(index), ..self }
    }

    /// Calls git, and returns what it printed.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String, GitError> {
        self.call(arguments)
            .map_err(|reason| GitError { arguments: arguments.iter().map(|word| (*word).to_owned()).collect(), reason })
    }

    fn call(&self, arguments: &[&str]) -> Result<String, GitFailure> {
        let words =
            command_line(self.workspace, arguments).map_err(|error| GitFailure::NoWorktree(error.to_string()))?;
        let mut command = Command::new("git");
        command.args(words).current_dir(self.workspace).stdin(Stdio::null()).envs(ENVIRONMENT);
        // A name is a name, and no pattern.
        command.env("GIT_LITERAL_PATHSPECS", "1");
        if let Some(index) = self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        let output = command.output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let output = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).trim().to_owned();
        Err(GitFailure::Exited { output })
    }

    /// Whether the workspace belongs to a repository.
    pub fn is_repository(&self) -> bool {
        self.run(&["rev-parse", "--git-dir"]).is_ok()
    }

    /// Whether a file belongs to the repository.
    pub fn is_tracked(&self, file: &str) -> bool {
        self.run(&["ls-files", "--error-unmatch", "--", file]).is_ok()
    }

    /// Whether a file is as in the last commit.
    pub fn is_unchanged(&self, file: &str) -> bool {
        self.run(&["diff", "--quiet", "HEAD", "--", file]).is_ok()
    }

    /// The branch that is checked out; nothing where none is.
    pub(crate) fn current_branch(&self) -> Option<String> {
        self.run(&["symbolic-ref", "--quiet", "--short", "HEAD"]).ok().map(|branch| branch.trim().to_owned())
    }

    /// The object that a name stands for.
    pub(crate) fn resolve(&self, name: &str) -> Result<String, GitError> {
        self.run(&["rev-parse", "--verify", "--quiet", name]).map(|object| object.trim().to_owned())
    }

    /// The files that are not committed.
    pub(crate) fn uncommitted(&self, untracked: UntrackedFiles) -> Result<Vec<String>, GitError> {
        let untracked = match untracked {
            UntrackedFiles::Listed => "--untracked-files=all",
            UntrackedFiles::LeftOut => "--untracked-files=no",
        };
        let status = self.run(&["status", "--porcelain", "--no-renames", untracked])?;
        Ok(status.lines().filter_map(|line| line.get(3..)).map(str::to_owned).collect())
    }

    /// The names that a command prints with `-z`.
    pub(crate) fn names(&self, arguments: &[&str]) -> Result<Vec<String>, GitError> {
        Ok(split_names(&self.run(arguments)?).map(str::to_owned).collect())
    }
}

/// Whether files count that git does not know yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UntrackedFiles {
    Listed,
    LeftOut,
}

/// The names of an output that was asked for with `-z`.
pub(crate) fn split_names(output: &str) -> impl Iterator<Item = &str> {
    output.split('\0').filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_command_and_what_git_said() {
        let directory = tempfile::tempdir().unwrap();
        let git = Git::at(directory.path());
        assert!(!git.is_repository());
        let error = git.run(&["rev-parse", "--verify", "HEAD"]).unwrap_err();
        assert_eq!(error.arguments, ["rev-parse", "--verify", "HEAD"]);
        assert!(matches!(&error.reason, GitFailure::Exited { output } if output.contains("not a git repository")));
        assert!(error.to_string().starts_with("`git rev-parse`: fatal: not a git repository"), "{error}");
    }

    #[test]
    fn a_name_with_a_pattern_in_it_is_one_file() {
        let directory = tempfile::tempdir().unwrap();
        let git = Git::at(directory.path());
        git.run(&["init", "--quiet"]).unwrap();
        for file in ["a", "[a]"] {
            std::fs::write(directory.path().join(file), "x").unwrap();
        }
        git.run(&["add", "--", "a"]).unwrap();
        assert!(git.is_tracked("a"));
        assert!(!git.is_tracked("[a]"));
        assert_eq!(git.uncommitted(UntrackedFiles::LeftOut).unwrap(), ["a"]);
        assert_eq!(git.uncommitted(UntrackedFiles::Listed).unwrap(), ["a", "[a]"]);
    }
}
