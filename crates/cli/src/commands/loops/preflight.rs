//! Preconditions of work.

use std::path::Path;

use maestro_core::Settings;
use maestro_engine::branches;
use maestro_engine::git::Git;
use maestro_engine::trust::TrustStore;

use crate::args::WorkArgs;
use crate::client::own_server;
use crate::commands::trust::trust_error;
use crate::host::agents;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::output::screen::{clean, clean_path};

/// How many files are named that are in the way.
const NAMED: usize = 5;

/// Checks that the user trusts what the project's settings would run.
pub(super) fn require_consent(work: &WorkArgs, settings: &Settings, world: &World) -> CommandResult<()> {
    let (verify, setup) = (&settings.verify, &settings.worktree_setup);
    let sets_up = !work.in_place && !setup.value.is_empty();
    if verify.value.is_empty() && !sets_up {
        return Ok(());
    }
    let trust = TrustStore::load(&world.maestro_home).map_err(|error| trust_error(&error))?;
    let refused = |what: &str| {
        Err(CommandError::invalid(format!("this project's {what} are not trusted yet"))
            .hint("run `maestro trust --config` to review and allow them"))
    };
    if !verify.value.is_empty() && !trust.allows_checks(verify) {
        return refused("checks");
    }
    if sets_up && !trust.allows_setup(setup) {
        return refused("setup commands (`worktree_setup`)");
    }
    Ok(())
}

/// Makes sure that there are such agents as shall do the work and look at it.
pub(super) fn require_agents(work: &WorkArgs, settings: &Settings, world: &World) -> CommandResult<()> {
    let named = work.agent.iter().chain(&work.reviewer);
    let mut named = named.chain(work.agent.is_none().then_some(&settings.agent.value));
    named.try_for_each(|name| if name.is_empty() { Ok(()) } else { agents::require_agent(name, world) })
}

/// Makes sure that a plan of the repository is in the worktree as it is here.
pub(super) fn require_committed(plan: &str, world: &World) -> CommandResult<()> {
    let project = &world.places.project;
    if !is_tracked(plan, project) || Git::at(project).is_unchanged(plan) {
        return Ok(());
    }
    let plan = clean_path(plan).into_owned();
    Err(CommandError::refused(format!("{plan} has uncommitted changes, and a worktree only has the last commit"))
        .hint(format!("commit them with `git add {plan} && git commit`, or stash them with `git stash`")))
}

/// Whether a plan belongs to the repository.
pub(super) fn is_tracked(plan: &str, project: &Path) -> bool {
    Git::at(project).is_tracked(plan)
}

/// Makes sure that what is done can be committed.
pub(super) fn require_repository(world: &World) -> CommandResult<()> {
    if Git::at(&world.places.project).is_repository() {
        return Ok(());
    }
    Err(CommandError::invalid("not a git repository; the loop commits its work").hint("run `git init`"))
}

/// Makes sure that a server runs that goes on when this command has ended.
pub(super) fn require_server(world: &World) -> CommandResult<()> {
    if own_server::running(world).is_some() {
        return Ok(());
    }
    Err(CommandError::invalid("no server running to continue the work").hint("run `maestro up`"))
}

/// Makes sure that what is committed for a task in place is that task's work and nothing else.
pub(super) fn require_clean(world: &World) -> CommandResult<()> {
    let files = branches::uncommitted(&world.places.project)
        .map_err(|error| CommandError::refused(error.to_string()).hint("see git's message above"))?;
    if files.is_empty() {
        return Ok(());
    }
    let mut named: Vec<String> = files.iter().take(NAMED).map(|file| clean(file).into_owned()).collect();
    if files.len() > NAMED {
        named.push(format!("and {} more", files.len() - NAMED));
    }
    Err(CommandError::refused(format!("uncommitted changes: {}", named.join(", ")))
        .hint("they would become part of the first task's commit: commit them, or stash them with `git stash -u`")
        .hint("or omit `--in-place` to work in a worktree"))
}
