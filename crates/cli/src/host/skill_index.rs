//! Stored index of skills, so that the next command need not read them again.

use std::io;
use std::path::{Path, PathBuf};

use maestro_core::{Problem, ProblemCode, ProblemSeverity, Settings};
use maestro_skills::{FileWrite, IndexStore};

use crate::host::files;
use crate::host::world::World;

/// Size of a root from which storing it saves more than it costs: about a dozen skills, so also those that come with Maestro.
const WORTH_KEEPING: usize = 4 * 1024;

/// Number of roots that are stored; beyond that, the oldest are removed.
const MOST_FILES: usize = 64;

/// The stored index, unless the settings turn it off.
pub(crate) fn load_store(world: &World, settings: &Settings) -> Option<IndexStore> {
    settings.skills_index.value.then(|| IndexStore::on_disk(directory(world), world.program.clone()))
}

/// Stores what a command read. A failure is only a note: nothing depends on it.
pub(crate) fn save(world: &World, edits: &[FileWrite]) -> Result<(), Problem> {
    let directory = directory(world);
    let worthy: Vec<&FileWrite> = edits.iter().filter(|edit| edit.bytes.len() >= WORTH_KEEPING).collect();
    if worthy.is_empty() {
        return Ok(());
    }
    let written = worthy.iter().try_for_each(|edit| files::write_private(&directory.join(&edit.path), &edit.bytes));
    written
        .and_then(|()| files::remove_oldest(&directory, MOST_FILES))
        .map_err(|error| save_problem(&directory, &error))
}

fn directory(world: &World) -> PathBuf {
    world.cache.join("index")
}

fn save_problem(directory: &Path, error: &io::Error) -> Problem {
    Problem::new(
        ProblemCode::IndexNotKept,
        ProblemSeverity::Info,
        directory,
        format!("cannot store the skill index: {error}"),
        "make the directory writable, or set skills_index = false",
    )
}
