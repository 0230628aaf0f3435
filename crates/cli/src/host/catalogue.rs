//! How does a command get the catalogue? Settings, packs and roots put together, with a progress bar if it takes long.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use indicatif::ProgressBar;
use maestro_core::{Problem, Settings};
use maestro_skills::{Catalogue, Root, search_order};

use crate::host::index;
use crate::host::packs;
use crate::host::world::World;
use crate::output::error::CommandError;

/// How long a scan may take before a person is shown that something happens.
const PATIENCE: Duration = Duration::from_millis(500);

/// The catalogue as the settings or `--dir` want it.
pub(crate) fn load(world: &World, dirs: &[PathBuf], settings: &Settings) -> Result<Catalogue, CommandError> {
    let mut problems = Vec::new();
    let roots = if dirs.is_empty() {
        let mut roots = search_order(settings, &world.places);
        if settings.skills_builtin.value {
            roots.extend(packs::sync_builtin(settings, &world.spare_dir, &mut problems).map(Root::builtin));
        }
        roots
    } else {
        given(world, dirs)?
    };
    Ok(search(world, settings, &roots, problems))
}

/// The directories named on the command line; each must be one.
pub(crate) fn given(world: &World, dirs: &[PathBuf]) -> Result<Vec<Root>, CommandError> {
    dirs.iter()
        .map(|dir| {
            let path = world.places.working_dir.join(dir);
            if path.is_dir() {
                // A tidy path: what is printed should not contain the `..` that were typed.
                let path = path.canonicalize().unwrap_or(path);
                return Ok(Root::given(path, &world.places));
            }
            let (dir, exists) = (dir.display(), path.exists());
            let what =
                if exists { format!("`{dir}` is not a directory") } else { format!("there is no directory `{dir}`") };
            Err(CommandError::not_found(what).hint("--dir takes a directory that holds skill folders"))
        })
        .collect()
}

/// Looks through the roots, showing progress to a person who waits.
pub(crate) fn search(world: &World, settings: &Settings, roots: &[Root], problems: Vec<Problem>) -> Catalogue {
    search_and_keep(world, settings, roots, problems).0
}

/// The same, and what came of keeping it for the next command.
pub(crate) fn search_and_keep(
    world: &World,
    settings: &Settings,
    roots: &[Root],
    problems: Vec<Problem>,
) -> (Catalogue, Result<(), Problem>) {
    // This thread works too instead of waiting for others. Without that all is the same, with one thread more.
    let _ = rayon::ThreadPoolBuilder::new().use_current_thread().build_global();
    let found = AtomicUsize::new(0);
    let memory = index::memory(world, settings);
    let (mut catalogue, edits) = thread::scope(|scope| {
        let (done, finished) = mpsc::channel();
        if world.terminals.stderr {
            let found = &found;
            scope.spawn(move || show_progress(found, &finished));
        }
        let validation = settings.skills_validation.value;
        let loaded = match &memory {
            Some(memory) => Catalogue::load_with(memory, roots, &world.places, validation, &found),
            None => (Catalogue::load(roots, &world.places, validation, &found), Vec::new()),
        };
        drop(done);
        loaded
    });
    catalogue.problems.splice(0..0, problems);
    (catalogue, index::keep(world, &edits))
}

/// Shows how many skills were found so far, from when it takes long until the work is done.
fn show_progress(found: &AtomicUsize, finished: &mpsc::Receiver<()>) {
    // The channel carries nothing: it is closed when the work is done.
    let still_running = |patience| finished.recv_timeout(patience) == Err(mpsc::RecvTimeoutError::Timeout);
    if !still_running(PATIENCE) {
        return;
    }
    let bar = ProgressBar::new_spinner();
    while still_running(Duration::from_millis(100)) {
        bar.set_message(format!("reading skills: {}", found.load(Ordering::Relaxed)));
        bar.tick();
    }
    bar.finish_and_clear();
}
