//! Worktrees of ours: made and removed without git's own commands for them, which read the repository's config.

use std::fs;
use std::io;
use std::path::Path;

use rustix::fs::FileType;

use super::agent_dir;
use super::folder::RealFolder;
use super::guarded::{GuardedRepository, RefStorage};
use super::places::GitDirs;
use crate::worktrees;

/// What a worktree is locked with until it is complete, as git does it.
const INITIALIZING: &str = "initializing";

/// Makes the directory of a worktree, and has the repository of a project know it as git does. It is not complete before
/// [`complete`].
pub(crate) fn register(project: &GuardedRepository, name: &str, tree: &Path) -> io::Result<()> {
    // A link on the way would lead elsewhere.
    RealFolder::open(project_of(tree)?)?.make(".maestro")?.make("worktrees")?.make(name)?;
    let shared = RealFolder::open(&project.dirs.shared)?;
    let all = match project.refs {
        RefStorage::Files => shared.make("worktrees")?,
        RefStorage::Table => shared.make("maestro")?.make("trees")?,
    };
    let own = all.make(name)?;
    own.write("locked", INITIALIZING.as_bytes())?;
    own.write("commondir", b"../..\n")?;
    own.write("HEAD", format!("ref: refs/heads/{}\n", worktrees::branch(name)).as_bytes())?;
    own.write("gitdir", format!("{}\n", tree.join(".git").display()).as_bytes())?;
    Ok(())
}

/// Notes that a worktree is complete.
pub(crate) fn complete(dirs: &GitDirs) -> io::Result<()> {
    fs::remove_file(dirs.own.join("locked"))
}

/// Whether making a worktree was interrupted: then it cannot have any work in it yet.
pub(crate) fn is_incomplete(project: &GitDirs, name: &str) -> bool {
    let locked = |own: &Path| fs::read_to_string(own.join("locked")).is_ok_and(|why| why.trim() == INITIALIZING);
    GitDirs::worktree_dirs(&project.shared, name).iter().any(|own| locked(own))
}

/// Removes a worktree of ours with all that is in it, and what the repository keeps of it.
pub(crate) fn remove(project: &GitDirs, name: &str, tree: &Path) -> io::Result<()> {
    let place = project_of(tree)?;
    let trees = RealFolder::open(place).and_then(|place| place.child(".maestro")?.child("worktrees"));
    match trees.and_then(|trees| trees.kind(name)) {
        Ok(Some(FileType::Directory)) => fs::remove_dir_all(tree)?,
        Ok(Some(_)) => return Err(io::Error::other(format!("`{}` is not a directory", tree.display()))),
        Ok(None) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    agent_dir::remove_leftovers(&place.join(worktrees::PLACE), name);
    forget(project, name)
}

/// Removes what a repository keeps of a worktree that is gone.
pub(crate) fn forget(project: &GitDirs, name: &str) -> io::Result<()> {
    let [own, other] = GitDirs::worktree_dirs(&project.shared, name);
    for directory in [own, other, project.shared.join("maestro/git").join(format!("tree-{name}"))] {
        match fs::remove_dir_all(&directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    // As git does it: the last one takes the directory along.
    let _ = fs::remove_dir(project.shared.join("worktrees"));
    Ok(())
}

fn project_of(tree: &Path) -> io::Result<&Path> {
    worktrees::project_of(tree).ok_or_else(|| io::Error::other("it is not a worktree of ours"))
}
