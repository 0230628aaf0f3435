//! Where is kept what was read of skills, so that the next command need not read it again?

use std::io;
use std::path::{Path, PathBuf};

use maestro_core::{Code, Problem, Settings, Severity};
use maestro_skills::{Edit, Memory};

use crate::host::files;
use crate::host::world::World;

/// What a root must come to before keeping it saves more than it costs: about fifty skills.
const WORTH_KEEPING: usize = 16 * 1024;

/// How many roots are remembered; beyond that, those written longest ago are forgotten.
const MOST_FILES: usize = 64;

/// What earlier commands kept, unless the settings want none of it.
pub(crate) fn memory(world: &World, settings: &Settings) -> Option<Memory> {
    settings.skills_index.value.then(|| Memory::on_disk(directory(world), world.program.clone()))
}

/// Keeps what a command read. That it cannot be kept is worth knowing at most: nothing depends on it.
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
        format!("what was read of skills could not be kept: {error}"),
        "make the directory writable, or set skills_index = false",
    )
}
