//! Git directory of an agent: what git uses when an agent calls it in a worktree of ours.
//!
//! It is a repository of its own that reads the objects of the user's and writes its own. An agent can commit, stash and
//! branch there as it likes, and nothing of that reaches the user's repository: what counts is the files. It lies in the
//! worktree, where the agent may write, so we replace it as a whole and read nothing of it but the messages of commits
//! (`agent_commits.rs`).

use std::fs;
use std::io;
use std::path::Path;

use super::agent_commits::{self, DOT_GIT};
use super::caller::{GitCaller, wait};
use super::folder::RealFolder;
use super::guarded::GuardedRepository;
use super::{Git, GitError};
use crate::worktrees;

/// How many bytes of an index or of a list are copied.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;

/// Whether a worktree of ours has such a directory.
pub(crate) fn is_there(tree: &Path) -> bool {
    tree.join(DOT_GIT).symlink_metadata().is_ok_and(|found| found.is_dir())
}

/// Makes sure that a worktree of ours has one, in which nothing is committed yet: what another agent committed there is work
/// that is not committed, and seen as such.
pub(crate) fn ensure(workspace: &Path) -> Result<(), GitError> {
    let Some(tree) = worktrees::enclosing(workspace) else { return Ok(()) };
    let git = Git::at(tree);
    let repository = git.repository()?;
    let is_ahead = agent_commits::is_ahead(&repository).unwrap_or(true);
    if is_there(tree) && !is_ahead { Ok(()) } else { wait(renew(&git, &repository)) }
}

/// Gives a worktree of ours a new one, in which the branch is where it is now and nothing is committed since; the messages
/// of what was committed in the old one are kept.
pub(crate) async fn renew<C: GitCaller>(git: &C, repository: &GuardedRepository) -> Result<(), C::Error> {
    let messages = agent_commits::messages(git, repository).await?;
    replace(git, repository, &messages).await
}

/// The same after a commit of ours, which has the messages.
pub(crate) async fn renew_committed<C: GitCaller>(git: &C, repository: &GuardedRepository) -> Result<(), C::Error> {
    replace(git, repository, &[]).await
}

async fn replace<C: GitCaller>(git: &C, repository: &GuardedRepository, messages: &[String]) -> Result<(), C::Error> {
    let Some(name) = repository.dirs.tree_name() else { return Ok(()) };
    let format = "--format=%(objectname) %(refname)";
    let references = git.text(&["for-each-ref", format, "refs/heads", "refs/remotes", "refs/tags"]).await?;
    let write = || -> io::Result<()> {
        let project = worktrees::project_of(&repository.dirs.root).unwrap_or(&repository.dirs.root);
        let trees = RealFolder::open(project)?.child(".maestro")?.child("worktrees")?;
        remove_leftovers(&project.join(worktrees::PLACE), name);
        let new = format!("{}{}", prefix(name), uuid::Uuid::now_v7());
        let folder = trees.make(&new)?;
        fill(&folder, repository, name, &references)?;
        agent_commits::keep(&folder, messages)?;
        let tree = trees.child(name)?;
        if tree.kind(DOT_GIT)?.is_some() {
            tree.move_entry(DOT_GIT, &trees, &format!("{new}-old"))?;
        }
        trees.move_entry(&new, &tree, DOT_GIT)?;
        remove_leftovers(&project.join(worktrees::PLACE), name);
        Ok(())
    };
    write().map_err(|error| format!("the worktree's git directory cannot be written: {error}").into())
}

/// Writes such a directory.
fn fill(to: &RealFolder, repository: &GuardedRepository, name: &str, references: &str) -> io::Result<()> {
    let config = repository.agent_config().map_err(|error| io::Error::other(error.to_string()))?;
    to.write("config", config.as_bytes())?;
    to.write("HEAD", format!("ref: refs/heads/{}\n", worktrees::branch(name)).as_bytes())?;
    to.write("packed-refs", references.as_bytes())?;
    let refs = to.make("refs")?;
    refs.make("heads")?;
    refs.make("tags")?;
    let objects = to.make("objects")?;
    objects.make("pack")?;
    objects.make("info")?.write("alternates", agent_commits::alternates(repository).as_bytes())?;
    let info = to.make("info")?;
    let ours = RealFolder::open(&repository.git_dir)?;
    for file in ["exclude", "attributes", "sparse-checkout"] {
        info.write(file, &ours.child("info")?.read(file, MAX_BYTES)?.unwrap_or_default())?;
    }
    if let Some(index) = RealFolder::open(&repository.dirs.own)?.read("index", MAX_BYTES)? {
        to.write("index", &index)?;
    }
    if let Some(shallow) = RealFolder::open(&repository.dirs.shared)?.read("shallow", MAX_BYTES)? {
        to.write("shallow", &shallow)?;
    }
    Ok(())
}

/// The beginning of the names of directories on the way in or out.
fn prefix(name: &str) -> String {
    format!(".git-{name}-")
}

/// Removes what replaced directories left beside the worktrees.
pub(super) fn remove_leftovers(places: &Path, name: &str) {
    for entry in fs::read_dir(places).into_iter().flatten().flatten() {
        // Another worktree's name may begin with this one's.
        let file = entry.file_name();
        let rest = file.to_str().and_then(|file| file.strip_prefix(&prefix(name))).unwrap_or_default();
        if uuid::Uuid::try_parse(rest.trim_end_matches("-old")).is_err() {
            continue;
        }
        // What cannot be removed is tried again next time.
        let _ = match entry.file_type() {
            Ok(kind) if kind.is_dir() => fs::remove_dir_all(entry.path()),
            _ => fs::remove_file(entry.path()),
        };
    }
}
