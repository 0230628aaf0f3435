//! Git, called as a program: the one place that composes its command lines.
//!
//! No call runs a program that a repository names. Git sees each repository through a directory of ours
//! (`GuardedRepository`) with a config that we wrote; hooks, monitors, submodules, signatures and pagers are off. What
//! the user's own config names stays: filters such as that of LFS, transports, credentials. Built-in steps run the same
//! command lines inside the sandbox (`builtins/git.rs`); everything else here runs with the user's own rights.

pub(crate) mod agent_commits;
pub(crate) mod agent_dir;
mod caller;
mod fetch;
mod filters;
mod folder;
mod guarded;
pub(crate) mod history;
mod local_config;
pub(crate) mod patch_check;
mod places;
pub(crate) mod snapshot;
mod ticked_plans;
pub(crate) mod worktree_dir;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

pub(crate) use caller::{GitCaller, GitOutput, wait};
pub use fetch::fetch_snapshot;
pub(crate) use folder::RealFolder;
pub(crate) use guarded::GuardedRepository;
pub(crate) use places::GitDirs;
pub use places::RepositoryError;

/// The line of a commit's message that says for what it was made: a run, and one of its tickets.
pub(crate) const TRAILER: &str = "Maestro-Task";

/// Settings of every git call.
const SETTINGS: [&str; 23] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.quotePath=false",
    "core.pager=cat",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
    "diff.ignoreSubmodules=all",
    "fetch.recurseSubmodules=false",
    "push.recurseSubmodules=no",
    "commit.gpgSign=false",
    "push.gpgSign=false",
    "log.showSignature=false",
    "merge.verifySignatures=false",
    "rerere.enabled=false",
    // Any other transport is a program that an address names.
    "protocol.allow=never",
    "protocol.file.allow=always",
    "protocol.git.allow=always",
    "protocol.http.allow=always",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
];

/// The variables of every call: no prompts, no editor, English messages, and a name is a name and no pattern.
const VARIABLES: [(&str, &str); 5] = [
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("LC_ALL", "C"),
];

/// Variables of git's that a call has from our own environment: they are the user's.
const USER_VARIABLES: [&str; 13] = [
    "GIT_ASKPASS",
    "GIT_AUTHOR_DATE",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_DATE",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
];

/// A call of git: its arguments, and its variables besides those of the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitCommand {
    pub(crate) arguments: Vec<String>,
    pub(crate) variables: Vec<(String, String)>,
}

impl GitCommand {
    /// A call in a workspace, with its index or another one.
    pub(crate) fn compose(workspace: &Path, index: Option<&Path>, arguments: &[&str]) -> Result<Self, RepositoryError> {
        let repository = GuardedRepository::of(workspace)?;
        let index = index.map_or_else(|| repository.index(), Path::to_owned);
        let mut words = vec!["--no-pager".to_owned()];
        words.extend(SETTINGS.iter().flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()]));
        words.push(format!("--git-dir={}", repository.git_dir.display()));
        words.push(format!("--work-tree={}", repository.dirs.root.display()));
        words.extend(arguments.iter().map(|word| (*word).to_owned()));
        let mut variables: Vec<(String, String)> =
            VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        variables.push(("GIT_INDEX_FILE".to_owned(), index.display().to_string()));
        Ok(Self { arguments: words, variables })
    }
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
    /// There is no repository in which our git works.
    #[error("{0}")]
    NoRepository(#[from] RepositoryError),
    /// Its answer is of no use.
    #[error("{0}")]
    Unusable(
        /// Why.
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
        match subcommand(&self.arguments) {
            Some(what) => write!(f, "`git {what}`: {}", self.reason),
            None => write!(f, "{}", self.reason),
        }
    }
}

impl std::error::Error for GitError {}

/// The command that arguments are about.
pub(crate) fn subcommand<T: AsRef<str>>(arguments: &[T]) -> Option<&str> {
    let at = if arguments.first().is_some_and(|first| first.as_ref() == "-C") { 2 } else { 0 };
    arguments.get(at).map(AsRef::as_ref)
}

impl From<String> for GitError {
    fn from(reason: String) -> Self {
        Self { arguments: Vec::new(), reason: GitFailure::Unusable(reason) }
    }
}

/// Git in a workspace.
#[derive(Debug, Clone, Copy)]
pub struct Git<'a> {
    workspace: &'a Path,
    index: Option<&'a Path>,
    signing: CommitSigning,
}

/// Whether commits are signed, with the key and the program of the user's own git config.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CommitSigning {
    /// They are not.
    #[default]
    Unsigned,
    /// They are.
    Signed,
}

impl From<bool> for CommitSigning {
    fn from(signed: bool) -> Self {
        if signed { Self::Signed } else { Self::Unsigned }
    }
}

impl<'a> Git<'a> {
    /// Git in this workspace.
    pub fn at(workspace: &'a Path) -> Self {
        Self { workspace, index: None, signing: CommitSigning::Unsigned }
    }

    /// The same, with another file as its index.
    pub(crate) fn with_index(self, index: &'a Path) -> Self {
        Self { index: Some(index), ..self }
    }

    /// The same, with commits signed or not.
    pub(crate) fn with_signing(self, signing: CommitSigning) -> Self {
        Self { signing, ..self }
    }

    /// Calls git, and returns what it printed.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String, GitError> {
        self.run_for(arguments, &[0]).map(|output| output.text)
    }

    /// Calls git with a file as its input, and returns what it printed.
    fn run_with(&self, arguments: &[&str], input: File) -> Result<String, GitError> {
        named(arguments, self.start(arguments, &[0], Stdio::from(input))).map(|output| output.text)
    }

    /// Calls git, and returns what it printed if it exits with one of these codes.
    fn run_for(&self, arguments: &[&str], codes: &[i32]) -> Result<GitOutput, GitError> {
        named(arguments, self.start(arguments, codes, Stdio::null()))
    }

    fn start(&self, arguments: &[&str], codes: &[i32], input: Stdio) -> Result<GitOutput, GitFailure> {
        let call = GitCommand::compose(self.workspace, self.index, arguments)?;
        execute(&call, self.workspace, codes, input)
    }

    /// Variables with which another program's own calls of git read our config of the repository, and not its own.
    pub fn guarded_variables(&self) -> Result<Vec<(String, String)>, RepositoryError> {
        let repository = GuardedRepository::of(self.workspace)?;
        let mut variables = vec![
            ("GIT_DIR".to_owned(), repository.git_dir.display().to_string()),
            ("GIT_WORK_TREE".to_owned(), repository.dirs.root.display().to_string()),
            ("GIT_INDEX_FILE".to_owned(), repository.index().display().to_string()),
            ("GIT_CONFIG_COUNT".to_owned(), SETTINGS.len().to_string()),
        ];
        for (number, (name, value)) in SETTINGS.iter().filter_map(|setting| setting.split_once('=')).enumerate() {
            variables.push((format!("GIT_CONFIG_KEY_{number}"), name.to_owned()));
            variables.push((format!("GIT_CONFIG_VALUE_{number}"), value.to_owned()));
        }
        Ok(variables)
    }

    /// Whether the workspace belongs to a repository in which our git works.
    pub fn check_repository(&self) -> Result<(), RepositoryError> {
        GuardedRepository::of(self.workspace).map(|_| ())
    }

    /// Whether the repository has a commit to start from.
    pub fn has_commits(&self) -> Result<bool, GitError> {
        let head = self.repository()?.dirs.head_name();
        let words = ["rev-parse", "--verify", "--quiet", &format!("{head}^{{commit}}")];
        self.run_for(&words, &[0, 1]).map(|output| output.code == 0)
    }

    /// Whether git knows whose name commits get here.
    pub fn has_identity(&self) -> Result<bool, GitError> {
        for who in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
            if self.run_for(&["var", who], &[0, 128])?.code != 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The repository of the workspace.
    pub(crate) fn repository(&self) -> Result<GuardedRepository, GitError> {
        let failed = |error| GitError { arguments: Vec::new(), reason: GitFailure::NoRepository(error) };
        GuardedRepository::of(self.workspace).map_err(failed)
    }

    /// Whether the user's own git config says that commits are signed.
    pub fn is_signing_configured(&self) -> bool {
        let words = ["config", "--global", "--type=bool", "--get", "commit.gpgSign"];
        self.run(&words).is_ok_and(|value| value.trim() == "true")
    }

    /// Tries to sign something that no branch gets, within a time.
    pub fn check_signing(&self, patience: Duration) -> Result<(), String> {
        let workspace = self.workspace.to_owned();
        let (done, signed) = mpsc::channel();
        let sign = move || {
            let git = Git::at(&workspace).with_signing(CommitSigning::Signed);
            let made = git.repository().and_then(|repository| {
                wait(git.make_commit(&[repository.objects.empty_tree(), "-m", "Check of the signature"]))
            });
            // The receiver may have given up.
            let _ = done.send(made.map(drop).map_err(|error| error.to_string()));
        };
        std::thread::spawn(sign);
        let late = || format!("it took longer than {} s; it may wait for a passphrase", patience.as_secs());
        signed.recv_timeout(patience).unwrap_or_else(|_| Err(late()))
    }

    /// The hooks of the repository that a commit of the user's runs.
    pub fn commit_hooks(&self) -> Vec<&'static str> {
        let Some(dirs) = GitDirs::of(self.workspace) else { return Vec::new() };
        ["pre-commit", "commit-msg"].into_iter().filter(|name| dirs.shared.join("hooks").join(name).is_file()).collect()
    }

    /// Whether a file belongs to the repository.
    pub fn is_tracked(&self, file: &str) -> bool {
        self.run(&["ls-files", "--error-unmatch", "--", file]).is_ok()
    }

    /// Whether a file is as in the last commit.
    pub fn is_unchanged(&self, file: &str) -> bool {
        let Ok(repository) = self.repository() else { return false };
        let head = repository.dirs.head_name();
        self.run(&["diff", "--quiet", "--no-ext-diff", "--no-textconv", &head, "--", file]).is_ok()
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
        let repository = self.repository()?;
        // It fails where something has changed, and that is asked next, or where the user's git holds the lock.
        self.run_for(&["update-index", "-q", "--refresh", "--ignore-submodules"], &[0, 1, 128])?;
        let head = self.resolve(&repository.dirs.head_name());
        let head = head.unwrap_or_else(|_| repository.objects.empty_tree().to_owned());
        let changed = ["diff-index", "--name-only", "--no-renames", "--ignore-submodules=all", "-z", &head, "--"];
        let mut files = self.names(&changed)?;
        if untracked == UntrackedFiles::Listed {
            let root = Git { workspace: &repository.dirs.root, ..*self };
            files.extend(root.names(&["ls-files", "--others", "--exclude-standard", "-z"])?);
        }
        files.sort();
        Ok(files)
    }

    /// The names that a command prints with `-z`.
    pub(crate) fn names(&self, arguments: &[&str]) -> Result<Vec<String>, GitError> {
        Ok(split_names(&self.run(arguments)?).map(str::to_owned).collect())
    }
}

impl GitCaller for Git<'_> {
    type Error = GitError;

    fn call(&self, arguments: &[&str], codes: &[i32]) -> impl Future<Output = Result<GitOutput, GitError>> + Send {
        std::future::ready(self.run_for(arguments, codes))
    }

    fn text_with_index(
        &self,
        index: &Path,
        arguments: &[&str],
    ) -> impl Future<Output = Result<String, GitError>> + Send {
        std::future::ready(self.with_index(index).run(arguments))
    }

    fn make_commit(&self, arguments: &[&str]) -> impl Future<Output = Result<String, GitError>> + Send {
        let start = match self.signing {
            CommitSigning::Unsigned => &["commit-tree"][..],
            CommitSigning::Signed => &["commit-tree", "-S"],
        };
        std::future::ready(self.run(&[start, arguments].concat()).map(|made| made.trim().to_owned()))
    }
}

/// A result with what git was asked for.
fn named<T>(arguments: &[&str], result: Result<T, GitFailure>) -> Result<T, GitError> {
    result.map_err(|reason| GitError { arguments: arguments.iter().map(|word| (*word).to_owned()).collect(), reason })
}

/// Calls git with the user's variables and none of a program's around us.
fn execute(call: &GitCommand, directory: &Path, codes: &[i32], input: Stdio) -> Result<GitOutput, GitFailure> {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("GIT_") && !USER_VARIABLES.contains(&name.as_ref()) {
            command.env_remove(name.as_ref());
        }
    }
    let variables = call.variables.iter().map(|(name, value)| (name, value));
    let output = command.args(&call.arguments).envs(variables).current_dir(directory).stdin(input).output()?;
    if let Some(code) = output.status.code().filter(|code| codes.contains(code)) {
        return Ok(GitOutput { code, text: String::from_utf8_lossy(&output.stdout).into_owned() });
    }
    let output = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).trim().to_owned();
    Err(GitFailure::Exited { output })
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

    /// Makes a directory a repository, and git in it.
    pub(super) fn repository(directory: &Path) -> Git<'_> {
        let made = Command::new("git").args(["init", "--quiet"]).current_dir(directory).status();
        assert!(made.unwrap().success());
        Git::at(directory)
    }

    #[test]
    fn an_error_names_the_command_and_what_git_said() {
        let directory = tempfile::tempdir().unwrap();
        let git = Git::at(directory.path());
        assert!(git.check_repository().is_err());
        let error = git.run(&["rev-parse", "--verify", "HEAD"]).unwrap_err();
        assert!(error.to_string().starts_with("`git rev-parse`: not a git repository: "), "{error}");
        let error = repository(directory.path()).run(&["rev-parse", "--verify", "HEAD"]).unwrap_err();
        assert_eq!(error.arguments, ["rev-parse", "--verify", "HEAD"]);
        assert!(error.to_string().starts_with("`git rev-parse`: fatal: "), "{error}");
    }

    #[test]
    fn a_name_with_a_pattern_in_it_is_one_file() {
        let directory = tempfile::tempdir().unwrap();
        let git = repository(directory.path());
        for file in ["a", "[a]"] {
            std::fs::write(directory.path().join(file), "x").unwrap();
        }
        git.run(&["add", "--", "a"]).unwrap();
        assert!(git.is_tracked("a"));
        assert!(!git.is_tracked("[a]"));
        assert_eq!(git.uncommitted(UntrackedFiles::LeftOut).unwrap(), ["a"]);
        assert_eq!(git.uncommitted(UntrackedFiles::Listed).unwrap(), ["[a]", "a"]);
    }

    #[test]
    fn what_a_repository_configures_is_not_run() {
        let directory = tempfile::tempdir().unwrap();
        let git = repository(directory.path());
        let ran = directory.path().join("ran");
        let evil = format!("touch {}; cat", ran.display());
        let config = format!(
            "[core]\n\tfsmonitor = \"{evil}\"\n\tpager = \"{evil}\"\n[filter \"own\"]\n\tclean = \"{evil}\"\n\
             [diff \"own\"]\n\ttextconv = \"{evil}\"\n[diff]\n\texternal = \"{evil}\"\n[include]\n\tpath = more\n"
        );
        std::fs::write(directory.path().join(".git/config"), config).unwrap();
        std::fs::write(directory.path().join(".gitattributes"), "* filter=own diff=own\n").unwrap();
        std::fs::write(directory.path().join("a"), "x").unwrap();
        git.run(&["add", "--all"]).unwrap();
        let tree = git.run(&["write-tree"]).unwrap();
        git.run(&["diff", "--no-ext-diff", "--no-textconv", tree.trim(), "--"]).unwrap();
        assert!(!ran.exists());
    }
}
