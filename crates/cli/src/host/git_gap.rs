//! What git lacks before a run can commit here: the program, a repository, a commit, or the user's name.

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

/// Whether the project lies in a repository, without asking git.
pub(crate) fn has_repository(world: &World) -> bool {
    world.places.project.ancestors().any(|folder| folder.join(".git").exists())
}
