//! Stored index of skills, so that the next command need not read them again.

use std::io;
use std::path::{Path, PathBuf};

use maestro_core::{Code, Problem, Settings, Severity};
use maestro_skills::{Edit, Memory};

use crate::host::files;
use crate::host::world::World;

/// Size of a root from which storing it saves more than it costs: about fifty skills.
const WORTH_KEEPING: usize = 16 * 1024;

/// Number of roots that are stored; beyond that, the oldest are removed.
const MOST_FILES: usize = 64;

/// The stored index, unless the settings turn it off.
pub(crate) fn memory(world: &World, settings: &Settings) -> Option<Memory> {
    settings.skills_index.value.then(|| Memory::on_disk(directory(world), world.program.clone()))
}

/// Stores what a command read. A failure is only a note: nothing depends on it.
pub(crate) fn keep(world: &World, edits: &[Edit]) -> Result<(), Problem> {
    let directory = directory(world);
    let worthy: Vec<&Edit> = edits.iter().filter(|edit| edit.bytes.len() >= WORTH_KEEPING).collect();
    if worthy.is_empty() {
        return Ok(());
    }
    let written = worthy.iter().try_for_each(|edit| files::keep_private(&directory.join(&edit.path), &edit.bytes));
    written.and_then(|()| files::forget_oldest(&directory, MOST_FILES)).map_err(|error| not_kept(&directory, &error))
}

fn directory(world: &World) -> PathBuf {
    world.cache.join("index")
}

fn not_kept(directory: &Path, error: &io::Error) -> Problem {
    Problem::new(
        Code::IndexNotKept,
        Severity::Info,
        directory,
        format!("cannot store the skill index: {error}"),
        "make the directory writable, or set skills_index = false",
    )
}
