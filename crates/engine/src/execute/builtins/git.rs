//! Built-in steps that show, commit and merge what changed.

use std::fmt::Write as _;
use std::path::Path;

use maestro_core::excerpt::ellipsize;
use maestro_core::hidden_chars::remove_hidden;
use maestro_core::workflow::run::CommandExit;
use serde_json::{Value as Json, json};

use super::merge_check::CommitVerdict;
use super::{BuiltinCall, BuiltinError};
use crate::execute::{Limits, SandboxReach};
use crate::git::history::{self, MergeKind, MergeObstacle};
use crate::git::snapshot::{self, SnapshotScope};
use crate::git::{
    self, CommitSigning, Git, GitCaller, GitCommand, GitDirs, GitOutput, GuardedRepository, TRAILER, agent_commits,
    agent_dir,
};
use crate::host::Host;

/// How much of the message of a folded commit is kept.
const FOLDED_CHARS: usize = 2_000;
/// How many commits of a task are named in the message of its own.
const MOST_SUBJECTS: &str = "20";
/// Among how many commits one that was made already is looked for.
const LOOK_BACK: &str = "1000";
/// How many bytes of a list of files are read.
pub(super) const MAX_LIST: usize = 64 * 1024 * 1024;

impl BuiltinCall<'_> {
    /// What changed since a commit, or since the last one; files that git does not know yet by their names.
    pub(super) async fn diff(&self) -> Result<String, BuiltinError> {
        let base = if let Some(base) = self.argument("base") {
            self.commit_of(base).await?
        } else {
            let empty = self.repository()?.objects.empty_tree();
            self.head().await?.unwrap_or_else(|| empty.to_owned())
        };
        let mut diff = self.git(&["diff", "--no-ext-diff", "--no-textconv", "--no-color", &base, "--"]).await?;
        let unknown = self.git(&["ls-files", "--others", "--exclude-standard"]).await?;
        for name in unknown.lines() {
            let _ = writeln!(diff, "new and not known to git: {name}");
        }
        Ok(diff)
    }

    /// The branch and the commit that are checked out; no branch where `HEAD` names a commit.
    pub(super) async fn checked_out(&self) -> Result<Json, BuiltinError> {
        let dirs = self.repository()?.dirs;
        let head = match dirs.tree_name() {
            Some(_) => dirs.head_name(),
            None => dirs.head_file().and_then(|head| head.strip_prefix("ref: ").map(str::to_owned)).unwrap_or_default(),
        };
        let branch = head.strip_prefix("refs/heads/").unwrap_or_default();
        Ok(json!({ "branch": branch, "commit": self.head().await?.unwrap_or_default() }))
    }

    /// The subjects of the commits that were made since one, oldest first, each with its short name.
    async fn subjects_since(&self, since: &str) -> Result<Vec<String>, BuiltinError> {
        let (since, head) = (self.commit_of(since).await?, self.head().await?.unwrap_or_default());
        let range = format!("{since}..{head}");
        let log = self.git(&["log", "--reverse", "-n", MOST_SUBJECTS, "--format=%h %s", &range, "--"]).await?;
        Ok(log.lines().map(|line| remove_hidden(line).into_owned()).collect())
    }

    /// Commits all that changed, once for each visit of the step.
    pub(super) async fn commit(&self) -> Result<Json, BuiltinError> {
        let message = self.required_argument("message")?;
        self.check_branch()?;
        let said = |commit: Option<String>, changed: bool| json!({ "commit": commit, "changed": changed });
        let ticket = self.commit_trailer();
        if let Some(made) = self.commit_for_ticket(&ticket).await? {
            return Ok(said(Some(made), false));
        }
        let joined = match self.argument("merges") {
            Some(commit) => self.not_merged_yet(commit).await?,
            None => None,
        };
        // What agents leave behind on their own account is no work, in place as well.
        self.exclude(&self.executor.env().ask_host(Host::worktree_files).await?)?;
        let repository = self.repository()?;
        if !self.git(&["ls-files", "--unmerged", "-z"]).await?.is_empty() {
            return Err(BuiltinError::Left("a merge has unresolved conflicts".to_owned()));
        }
        history::check_idle(&repository).map_err(BuiltinError::Left)?;
        self.check_filters().await?;
        let head = self.head().await?;
        let mut tree = snapshot::write_tree(&self.with_long_output(), &repository, SnapshotScope::Everything).await?;
        let base = self.tree_of(head.as_deref(), &repository).await?;
        if joined.is_none() && tree == base {
            return Ok(said(head, false));
        }
        self.check_left_conflicts(&base, &tree).await?;
        if self.run_pre_commit(&repository).await? {
            tree = snapshot::write_tree(&self.with_long_output(), &repository, SnapshotScope::Everything).await?;
        }
        let folded = agent_commits::messages(&self.with_long_output(), &repository).await?;
        let mut message = with_messages(message, &folded);
        if let Some(since) = self.argument("since") {
            message = with_earlier_commits(&message, &self.subjects_since(since).await?);
        }
        let message = self.run_commit_msg(&repository, clean_message(&message)).await?;
        let message = format!("{}\n\n{TRAILER}: {ticket}", clean_message(&message));
        let parents: Vec<&str> = head.iter().chain(&joined).map(String::as_str).collect();
        let made = self.commit_tree(&tree, &parents, &message).await?;
        history::move_head(self, &repository, &made, head.as_deref()).await?;
        agent_dir::renew_committed(&self.with_long_output(), &repository).await?;
        Ok(said(Some(made), true))
    }

    /// A commit that is to be merged, as long as what is checked out does not contain it.
    async fn not_merged_yet(&self, name: &str) -> Result<Option<String>, BuiltinError> {
        let (commit, head) = (self.commit_of(name).await?, self.head().await?.unwrap_or_default());
        let is_there = self.holds(&["merge-base", "--is-ancestor", &commit, &head]).await?;
        Ok(Some(commit).filter(|_| !is_there))
    }

    /// The tree of a commit; that without files where there is none.
    pub(super) async fn tree_of(
        &self,
        commit: Option<&str>,
        repository: &GuardedRepository,
    ) -> Result<String, BuiltinError> {
        match commit {
            Some(commit) => {
                Ok(self.git(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")]).await?.trim().to_owned())
            }
            None => Ok(repository.objects.empty_tree().to_owned()),
        }
    }

    /// Makes a commit that nothing knows yet.
    pub(super) async fn commit_tree(
        &self,
        tree: &str,
        parents: &[&str],
        message: &str,
    ) -> Result<String, BuiltinError> {
        let parents = parents.iter().flat_map(|parent| ["-p", *parent]);
        let words: Vec<&str> = [tree].into_iter().chain(parents).chain(["-m", message]).collect();
        self.make_commit(&words).await
    }

    /// Refuses files that a program of the repository would have to filter.
    pub(super) async fn check_filters(&self) -> Result<(), BuiltinError> {
        let workspace = self.executor.env().workspace.clone();
        let looked = tokio::task::spawn_blocking(move || Git::at(&workspace).check_filters()).await;
        looked.map_err(|error| error.to_string())?.map_err(|error| BuiltinError::Failed(error.to_string()))
    }

    /// Makes a signed commit: with the user's own rights, since keys and their agents are out of the sandbox's reach.
    async fn sign_commit(&self, arguments: &[&str]) -> Result<String, BuiltinError> {
        let workspace = self.executor.env().workspace.clone();
        let words: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        let sign = move || {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            git::wait(Git::at(&workspace).with_signing(CommitSigning::Signed).make_commit(&words))
        };
        let signed = tokio::time::timeout(self.limits.time, tokio::task::spawn_blocking(sign)).await;
        let signed = signed.map_err(|_| BuiltinError::TimedOut)?.map_err(|error| error.to_string())?;
        signed.map_err(|error| BuiltinError::Failed(format!("the commit cannot be signed: {error}")))
    }

    /// Merges a branch into the one that is checked out, if the checks pass on the result; what was merged stays so.
    pub(super) async fn merge(&self) -> Result<Json, BuiltinError> {
        let branch = self.required_argument("branch")?;
        let mut alone = self.lock_repo().await?;
        let ours = self.head().await?;
        let theirs = self.commit_of(branch).await?;
        let repository = self.repository()?;
        let call = self.with_long_output();
        let prepared = history::prepare(&call, &repository, &theirs, &format!("Merge {branch}")).await?;
        let prepared = prepared.map_err(|obstacle| merge_obstacle(branch, &obstacle))?;
        // Without changes on the other side it is the tree that the checks saw already.
        if prepared.kind == MergeKind::Combined {
            // Others need not wait for the checks, which take the lock for their worktree themselves.
            drop(alone);
            if let CommitVerdict::Failed(reason) = self.check_commit(&prepared.commit).await {
                return Err(BuiltinError::Failed(format!("the checks fail on the merge: {reason}")));
            }
            alone = self.lock_repo().await?;
            if self.head().await? != ours {
                let moved = "the branch moved while the checks ran on the merge; merge again";
                return Err(BuiltinError::Failed(moved.to_owned()));
            }
        }
        let _alone = alone;
        history::apply(&call, &repository, &prepared).await?;
        Ok(json!({ "commit": prepared.commit, "changed": prepared.kind != MergeKind::Nothing }))
    }

    /// What the commit that is made for this order is known by.
    pub(super) fn commit_trailer(&self) -> String {
        format!("{}/{}", self.executor.env().run, self.visit.as_str())
    }

    /// The commit that was made for a ticket.
    pub(super) async fn commit_for_ticket(&self, ticket: &str) -> Result<Option<String>, BuiltinError> {
        let Some(head) = self.head().await? else { return Ok(None) };
        let format = format!("--format=%H %(trailers:key={TRAILER},valueonly,separator=%x20)");
        let log = self.git(&["log", "-n", LOOK_BACK, &format, &head, "--"]).await?;
        let made = log.lines().filter_map(|line| line.split_once(' ')).find(|(_, tickets)| tickets.trim() == ticket);
        Ok(made.map(|(commit, _)| commit.to_owned()))
    }

    /// The commit that is checked out; nothing before the first one.
    pub(super) async fn head(&self) -> Result<Option<String>, BuiltinError> {
        // Git is asked only where it is not plain to see, since each call costs.
        if let Some(head) = GitDirs::of(&self.executor.env().workspace).and_then(|places| places.head()) {
            return Ok(Some(head));
        }
        history::head(self, &self.repository()?).await
    }

    /// The commit that a name stands for; no name is an option.
    pub(super) async fn commit_of(&self, name: &str) -> Result<String, BuiltinError> {
        let name_here = if name == "HEAD" { self.repository()?.dirs.head_name() } else { name.to_owned() };
        let asked = format!("{name_here}^{{commit}}");
        let found = self.call(&["rev-parse", "--verify", "--quiet", "--end-of-options", &asked], &[0, 1, 128]).await?;
        match found.code {
            0 => Ok(found.text.trim().to_owned()),
            _ => Err(BuiltinError::Failed(format!("git knows no `{name}`"))),
        }
    }

    /// The repository of the workspace.
    pub(super) fn repository(&self) -> Result<GuardedRepository, BuiltinError> {
        GuardedRepository::of(&self.executor.env().workspace).map_err(|error| BuiltinError::Failed(error.to_string()))
    }

    /// The same call, with room for the names of many files.
    pub(super) fn with_long_output(&self) -> Self {
        BuiltinCall { limits: Limits { output: MAX_LIST, ..self.limits }, ..*self }
    }

    /// Calls git in the workspace, and returns what it printed.
    pub(super) async fn git(&self, arguments: &[&str]) -> Result<String, BuiltinError> {
        self.text(arguments).await
    }

    /// Calls git in the workspace, and returns how that ended.
    async fn start_git(&self, index: Option<&Path>, arguments: &[&str]) -> CommandExit {
        let call = match GitCommand::compose(&self.executor.env().workspace, index, arguments) {
            Ok(call) => call,
            Err(error) => return CommandExit::Failed(error.to_string()),
        };
        self.clear_locks().await;
        let variables = call.variables.into_iter().collect();
        self.executor.run("git", call.arguments, &variables, SandboxReach::Repository, self.limits).await.finish
    }
}

impl GitCaller for BuiltinCall<'_> {
    type Error = BuiltinError;

    async fn make_commit(&self, arguments: &[&str]) -> Result<String, BuiltinError> {
        match self.executor.env().ask_host(Host::git_programs).await?.signing {
            CommitSigning::Signed => self.sign_commit(arguments).await,
            CommitSigning::Unsigned => Ok(self.git(&[&["commit-tree"], arguments].concat()).await?.trim().to_owned()),
        }
    }

    async fn call(&self, arguments: &[&str], codes: &[i32]) -> Result<GitOutput, BuiltinError> {
        git_output(self.start_git(None, arguments).await, arguments, codes)
    }

    async fn text_with_index(&self, index: &Path, arguments: &[&str]) -> Result<String, BuiltinError> {
        git_output(self.start_git(Some(index), arguments).await, arguments, &[0]).map(|output| output.text)
    }
}

/// What git printed, if it exited with one of these codes.
fn git_output(exit: CommandExit, arguments: &[&str], codes: &[i32]) -> Result<GitOutput, BuiltinError> {
    let what = git::subcommand(arguments).unwrap_or_default();
    match exit {
        CommandExit::Exited { code, output } if codes.contains(&code) => Ok(GitOutput { code, text: output }),
        CommandExit::Exited { code, output } => Err(BuiltinError::Failed(match output.trim() {
            "" => format!("`git {what}` exited with {code}"),
            output => format!("`git {what}`: {output}"),
        })),
        CommandExit::Failed(reason) => Err(BuiltinError::Failed(reason)),
        CommandExit::TimedOut => Err(BuiltinError::TimedOut),
    }
}

/// A message with those of the commits that are folded into its commit: a single one as it is, several as a list. None of
/// them can pass for a trailer of ours.
fn with_messages(message: &str, folded: &[String]) -> String {
    let plain = |text: &str| {
        let is_trailer = |line: &&str| line.trim_start().to_lowercase().starts_with(&TRAILER.to_lowercase());
        let lines: Vec<&str> = text.lines().filter(|line| !is_trailer(line)).collect();
        ellipsize(remove_hidden(&lines.join("\n")).trim(), FOLDED_CHARS)
    };
    let folded: Vec<String> = folded.iter().map(|text| plain(text)).filter(|text| !text.is_empty()).collect();
    match folded.as_slice() {
        [] => message.to_owned(),
        [only] if only.lines().next() == message.lines().next() => only.clone(),
        [only] => format!("{message}\n\n{only}"),
        several => {
            let subject = |text: &String| format!("- {}", text.lines().next().unwrap_or_default());
            format!("{message}\n\n{}", several.iter().map(subject).collect::<Vec<_>>().join("\n"))
        }
    }
}

/// A message with the commits that belong to the same task and were made before its own.
fn with_earlier_commits(message: &str, subjects: &[String]) -> String {
    if subjects.is_empty() {
        return message.to_owned();
    }
    let list: Vec<String> = subjects.iter().map(|subject| format!("- {subject}")).collect();
    format!("{message}\n\nCommitted while it was done:\n{}", list.join("\n"))
}

/// Why a branch is not merged.
fn merge_obstacle(branch: &str, obstacle: &MergeObstacle) -> String {
    match obstacle {
        MergeObstacle::Conflict(files) => format!("merge conflict with `{branch}` in {}", files.join(", ")),
        MergeObstacle::Overwrites(files) => format!(
            "`{branch}` would overwrite files here that git does not track: {}; move them away",
            files.join(", ")
        ),
    }
}

/// A message as git would keep it: no blanks at ends of lines, no empty lines around it or in a row.
fn clean_message(message: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in message.trim().lines().map(str::trim_end) {
        if !line.is_empty() || lines.last().is_some_and(|last| !last.is_empty()) {
            lines.push(line);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_messages_follow_the_task_and_forge_no_trailer() {
        let folded = |messages: &[&str]| {
            with_messages("Add totals", &messages.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(folded(&[]), "Add totals");
        assert_eq!(folded(&["wip: sums\n\nBy month.\n\nMaestro-Task: r/1"]), "Add totals\n\nwip: sums\n\nBy month.");
        assert_eq!(folded(&["Add totals\n\nBy month."]), "Add totals\n\nBy month.");
        assert_eq!(folded(&["one\n\nmore", "two"]), "Add totals\n\n- one\n- two");
    }
}
