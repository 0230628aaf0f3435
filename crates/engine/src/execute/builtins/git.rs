//! Built-in steps that show, commit and merge what changed.

use std::fmt::Write as _;

use maestro_core::workflow::run::CommandExit;
use serde_json::{Value as Json, json};

use super::{BuiltinCall, BuiltinError};
use crate::execute::SandboxReach;
use crate::git::{self, GitDirs};
use crate::host::Host;

/// What a repository without a commit is compared with.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/// The line of a commit's message that says for what it was made.
const TRAILER: &str = "Maestro-Task";
/// How many files git is asked about at once.
const AT_ONCE: usize = 200;
/// Among how many commits one that was made already is looked for.
const LOOK_BACK: &str = "1000";

impl BuiltinCall<'_> {
    /// What changed since a commit, or since the last one; files that git does not know yet by their names.
    pub(super) async fn diff(&self) -> Result<String, BuiltinError> {
        let base = match self.argument("base") {
            Some(base) => self.commit_of(base).await?,
            None => self.head().await?.unwrap_or_else(|| EMPTY_TREE.to_owned()),
        };
        let mut diff = self.git(&["diff", "--no-ext-diff", "--no-textconv", "--no-color", &base, "--"]).await?;
        let unknown = self.git(&["ls-files", "--others", "--exclude-standard"]).await?;
        for name in unknown.lines() {
            let _ = writeln!(diff, "new and not known to git: {name}");
        }
        Ok(diff)
    }

    /// Commits all that changed, once for each visit of the step.
    pub(super) async fn commit(&self) -> Result<Json, BuiltinError> {
        let message = self.required_argument("message")?;
        self.check_branch().await?;
        let said = |commit: Option<String>, changed: bool| json!({ "commit": commit, "changed": changed });
        let ticket = self.commit_trailer();
        if let Some(made) = self.commit_for_ticket(&ticket).await? {
            return Ok(said(Some(made), false));
        }
        let env = self.executor.env();
        // What agents leave behind on their own account is no work, in place as well.
        self.exclude(&env.ask_host(Host::worktree_files).await?)?;
        // Each call of git costs time, and this one answers two questions.
        let status = self.git(&["status", "--porcelain", "--no-renames", "--ignore-submodules=dirty", "-z"]).await?;
        let mut letters = git::split_names(&status).filter_map(|entry| entry.get(..2));
        if letters.any(|state| matches!(state, "DD" | "AU" | "UD" | "UA" | "DU" | "AA" | "UU")) {
            return Err(BuiltinError::Failed("a merge has unresolved conflicts".to_owned()));
        }
        if status.is_empty() {
            return Ok(said(self.head().await?, false));
        }
        self.git(&["add", "--all"]).await?;
        let trailer = format!("--trailer={TRAILER}: {ticket}");
        self.git(&["commit", "--quiet", "--no-verify", &format!("--message={message}"), &trailer]).await?;
        Ok(said(self.head().await?, true))
    }

    /// Merges a branch into the one that is checked out; what was merged stays so.
    pub(super) async fn merge(&self) -> Result<Json, BuiltinError> {
        let branch = self.required_argument("branch")?;
        let theirs = self.commit_of(branch).await?;
        // We may have died in the middle of this very merge.
        if self.git(&["rev-parse", "--verify", "--quiet", "MERGE_HEAD"]).await.is_ok_and(|head| head.trim() == theirs) {
            self.git(&["merge", "--abort"]).await?;
        }
        let said = |commit: Option<String>, changed: bool| json!({ "commit": commit, "changed": changed });
        let before = self.head().await?;
        if self.git(&["merge-base", "--is-ancestor", &theirs, "HEAD"]).await.is_ok() {
            return Ok(said(before, false));
        }
        self.check_ignored_files(branch, &theirs).await?;
        let message = format!("Merge {branch}");
        let merged = self.git(&["merge", "--quiet", "--no-edit", "--no-verify", "-m", &message, &theirs]).await;
        let Err(undone) = merged else { return Ok(said(self.head().await?, true)) };
        // Where git cannot list conflicts, its first error says why.
        let conflicts = self.git(&["diff", "--name-only", "--diff-filter=U"]).await.unwrap_or_default();
        let conflicts: Vec<&str> = conflicts.lines().collect();
        if conflicts.is_empty() {
            return Err(undone);
        }
        self.git(&["merge", "--abort"]).await?;
        Err(BuiltinError::Failed(format!("merge conflict with `{branch}` in {}", conflicts.join(", "))))
    }

    /// Refuses a merge that would put its files in place of ignored ones of the user's: git takes those for worthless.
    async fn check_ignored_files(&self, branch: &str, theirs: &str) -> Result<(), BuiltinError> {
        let added =
            self.git(&["diff", "--name-only", "--diff-filter=A", "-z", &format!("HEAD...{theirs}"), "--"]).await?;
        let is_there = |name: &&str| self.executor.env().workspace.join(name).symlink_metadata().is_ok();
        let there: Vec<&str> = git::split_names(&added).filter(is_there).collect();
        let mut files: Vec<String> = Vec::new();
        for some in there.chunks(AT_ONCE) {
            let ignored =
                ["--literal-pathspecs", "ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--"];
            let names = self.git(&[&ignored[..], some].concat()).await?;
            files.extend(git::split_names(&names).map(str::to_owned));
        }
        if files.is_empty() {
            return Ok(());
        }
        Err(BuiltinError::Failed(format!(
            "`{branch}` would overwrite files here that git ignores: {}; move them away",
            files.join(", ")
        )))
    }

    /// What the commit that is made for this order is known by.
    pub(super) fn commit_trailer(&self) -> String {
        format!("{}/{}", self.executor.env().run, self.ticket.as_str())
    }

    /// The commit that was made for a ticket.
    pub(super) async fn commit_for_ticket(&self, ticket: &str) -> Result<Option<String>, BuiltinError> {
        let format = format!("--format=%H %(trailers:key={TRAILER},valueonly,separator=%x20)");
        let log = match self.git(&["log", "-n", LOOK_BACK, &format]).await {
            Err(BuiltinError::Failed(_)) if self.head().await?.is_none() => return Ok(None),
            log => log?,
        };
        let made = log.lines().filter_map(|line| line.split_once(' ')).find(|(_, tickets)| tickets.trim() == ticket);
        Ok(made.map(|(commit, _)| commit.to_owned()))
    }

    /// The commit that is checked out; nothing before the first one.
    pub(super) async fn head(&self) -> Result<Option<String>, BuiltinError> {
        // Git is asked only where it is not plain to see, since each call costs.
        if let Some(head) = GitDirs::of(&self.executor.env().workspace).and_then(|places| places.head()) {
            return Ok(Some(head));
        }
        match self.git(&["rev-parse", "--verify", "--quiet", "HEAD"]).await {
            Ok(head) => Ok(Some(head.trim().to_owned())),
            // Another call finds out whether this is a repository at all.
            Err(BuiltinError::Failed(_)) => self.git(&["rev-parse", "--git-dir"]).await.map(|_| None),
            Err(undone) => Err(undone),
        }
    }

    /// The commit that a name stands for; no name is an option.
    pub(super) async fn commit_of(&self, name: &str) -> Result<String, BuiltinError> {
        let asked = format!("{name}^{{commit}}");
        let found = self.git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &asked]).await;
        match found {
            Ok(commit) => Ok(commit.trim().to_owned()),
            Err(BuiltinError::Failed(_)) => {
                self.git(&["rev-parse", "--git-dir"]).await?;
                Err(BuiltinError::Failed(format!("git knows no `{name}`")))
            }
            Err(undone) => Err(undone),
        }
    }

    /// Calls git in the workspace, and returns what it printed.
    pub(super) async fn git(&self, arguments: &[&str]) -> Result<String, BuiltinError> {
        match self.call_git(arguments).await {
            CommandExit::Exited { code: 0, output } => Ok(output),
            other => Err(Self::git_error(arguments, other)),
        }
    }

    /// Calls git in the workspace, and returns how that ended.
    pub(super) async fn call_git(&self, arguments: &[&str]) -> CommandExit {
        let words = match git::command_line(&self.executor.env().workspace, arguments) {
            Ok(words) => words,
            Err(error) => return CommandExit::Failed(error.to_string()),
        };
        let variables = git::ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned()));
        self.clear_locks().await;
        self.executor.run("git", words, &variables.into(), SandboxReach::Repository, self.limits).await.finish
    }

    /// What is said of a call of git that ended like this.
    pub(super) fn git_error(arguments: &[&str], finish: CommandExit) -> BuiltinError {
        let what = arguments.first().copied().unwrap_or_default();
        match finish {
            CommandExit::Exited { code, output } => BuiltinError::Failed(match output.trim() {
                "" => format!("`git {what}` exited with {code}"),
                output => format!("`git {what}`: {output}"),
            }),
            CommandExit::Failed(reason) => BuiltinError::Failed(reason),
            CommandExit::TimedOut => BuiltinError::TimedOut,
        }
    }
}
