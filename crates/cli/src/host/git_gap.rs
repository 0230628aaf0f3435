//! What git lacks before a run can commit here: the program, a repository, a commit, or the user's name.

use std::fs;

use maestro_engine::git::Git;

use super::agents;
use crate::host::world::World;

/// The first thing that is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GitGap {
    Program,
    Repository,
    Commits,
    Identity,
}

impl GitGap {
    /// Asks git; what it does not say is no gap.
    pub(crate) fn find(world: &World) -> Option<Self> {
        if agents::program("git", world).is_none() {
            return Some(Self::Program);
        }
        if !has_repository(world) {
            return Some(Self::Repository);
        }
        let git = Git::at(&world.places.project);
        if matches!(git.has_identity(), Ok(false)) {
            return Some(Self::Identity);
        }
        matches!(git.has_commits(), Ok(false)).then_some(Self::Commits)
    }

    /// The same as far as files say, for a command that starts no program.
    pub(crate) fn at_a_glance(world: &World) -> Option<Self> {
        if agents::program("git", world).is_none() {
            return Some(Self::Program);
        }
        if !has_repository(world) {
            return Some(Self::Repository);
        }
        let git = world.places.project.join(".git");
        let has_branches = || fs::read_dir(git.join("refs/heads")).is_ok_and(|mut entries| entries.next().is_some());
        // Branches may be packed, or kept in another form; a worktree has a file there.
        let is_elsewhere = !git.is_dir() || ["packed-refs", "reftable"].iter().any(|name| git.join(name).exists());
        (!is_elsewhere && !has_branches()).then_some(Self::Commits)
    }

    /// What is missing, and what that means.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Program => "`git` not found on PATH, and the work of agents is committed",
            Self::Repository => "not a git repository, and the work of agents is committed",
            Self::Commits => "this repository has no commits yet, and a worktree starts from one",
            Self::Identity => "git does not know your name and e-mail address, and every commit has them",
        }
    }

    /// The command that closes it.
    pub(crate) fn hint(self) -> &'static str {
        match self {
            Self::Program => "install git",
            Self::Repository => "run `git init`",
            Self::Commits => "commit first, for example with `git add --all && git commit -m \"Begin\"`",
            Self::Identity => {
                "run `git config --global user.name \"Your Name\"` and `git config --global user.email you@example.com`"
            }
        }
    }
}

/// The user's home directory or the root, if no repository makes a project of it: a project there would contain all
/// others.
pub(crate) fn no_project_here(world: &World) -> Option<&'static str> {
    let here = &world.places.project;
    if here.join(".git").exists() {
        None
    } else if here.parent().is_none() {
        Some("the root directory")
    } else {
        world.places.home.canonicalize().is_ok_and(|home| home == *here).then_some("your home directory")
    }
}

/// Whether the project lies in a repository, without asking git.
pub(crate) fn has_repository(world: &World) -> bool {
    world.places.project.ancestors().any(|folder| folder.join(".git").exists())
}
