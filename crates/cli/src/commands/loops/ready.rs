//! What must be so before anything is worked on?

use maestro_core::Settings;
use maestro_engine::branches;
use maestro_engine::trust::Trust;

use crate::args::WorkArgs;
use crate::error::CommandError;
use crate::screen::clean;
use crate::world::World;

/// How many files are named that are in the way.
const NAMED: usize = 5;

/// Makes sure that somebody allowed what the project's settings would run.
pub(super) fn allowed(work: &WorkArgs, settings: &Settings, world: &World) -> Result<(), CommandError> {
    let (verify, setup) = (&settings.verify, &settings.worktree_setup);
    let trust = Trust::load(&world.maestro_home).ok();
    let refused = |what: &str| {
        Err(CommandError::invalid(format!("{what} of this project were allowed by nobody"))
            .hint("`maestro trust --config` shows them, and asks"))
    };
    if !verify.value.is_empty() && !trust.as_ref().is_some_and(|trust| trust.allows_checks(verify)) {
        return refused("the checks");
    }
    let sets_up = !work.in_place && !setup.value.is_empty();
    if sets_up && !trust.is_some_and(|trust| trust.allows_setup(setup)) {
        return refused("the commands that make a worktree ready (`worktree_setup`)");
    }
    Ok(())
}

/// Makes sure that what is committed for a task in place is that task's work and nothing else.
pub(super) fn nothing_uncommitted(world: &World) -> Result<(), CommandError> {
    let files = branches::uncommitted(&world.places.project)
        .map_err(|error| CommandError::refused(error.to_string()).hint("git's own words say what is the matter"))?;
    if files.is_empty() {
        return Ok(());
    }
    let mut named: Vec<String> = files.iter().take(NAMED).map(|file| clean(file).into_owned()).collect();
    if files.len() > NAMED {
        named.push(format!("and {} more", files.len() - NAMED));
    }
    Err(CommandError::refused(format!("there are changes here that are not committed: {}", named.join(", ")))
        .hint("they would get into the first task's commit: commit them, or put them away with `git stash -u`")
        .hint("without `--in-place` it works in a worktree, where they are no obstacle"))
}
