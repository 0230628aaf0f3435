//! How does a command get the catalogue? Settings, packs and roots put together, with a progress bar if it takes long.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use maestro_core::{Problem, Settings};
use maestro_skills::{Catalogue, Root, search_order};

use crate::config;
use crate::error::CommandError;
use crate::packs;
use crate::world::World;

/// How long a scan may take before a person is shown that something happens.
const PATIENCE: Duration = Duration::from_millis(500);

/// The catalogue as the settings or `--dir` want it.
pub(crate) fn load(world: &World, dirs: &[PathBuf]) -> Result<Catalogue, CommandError> {
    let settings = config::settings(world)?;
    let mut problems = Vec::new();
    let roots = if dirs.is_empty() {
        let mut roots = search_order(&settings, &world.places);
        if settings.skills_builtin.value {
            roots.extend(packs::sync_builtin(&settings, &mut problems).map(Root::builtin));
        }
        roots
    } else {
        given(world, dirs)?
    };
    Ok(search(world, &settings, &roots, problems))
}

/// The directories named on the command line; each must be one.
fn given(world: &World, dirs: &[PathBuf]) -> Result<Vec<Root>, CommandError> {
    dirs.iter()
        .map(|dir| {
            let path = world.places.working_dir.join(dir);
            if path.is_dir() {
                // A tidy path: what is printed should not contain the `..` that were typed.
                let path = path.canonicalize().unwrap_or(path);
                return Ok(Root::given(path, &world.places));
            }
            let what = if path.exists() { "is not a directory" } else { "does not exist" };
            Err(CommandError::not_found(format!("{} {what}", dir.display()))
                .hint("--dir takes a directory that holds skill folders"))
        })
        .collect()
}

/// Looks through the roots, showing progress to a person who waits.
pub(crate) fn search(world: &World, settings: &Settings, roots: &[Root], problems: Vec<Problem>) -> Catalogue {
    let progress = AtomicUsize::new(0);
    let load = || Catalogue::load(roots, &world.places, settings.skills_validation.value, &progress);
    let mut catalogue = if world.stderr_is_terminal { while_watched(&progress, load) } else { load() };
    catalogue.problems.splice(0..0, problems);
    catalogue
}

fn while_watched(progress: &AtomicUsize, load: impl FnOnce() -> Catalogue + Send) -> Catalogue {
    thread::scope(|scope| {
        let (done, finished) = mpsc::channel::<()>();
        let loading = scope.spawn(move || {
            let catalogue = load();
            drop(done);
            catalogue
        });
        // The channel carries nothing: it is closed when the work is done.
        if finished.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            let bar = ProgressBar::new_spinner();
            bar.set_style(ProgressStyle::default_spinner());
            while finished.recv_timeout(Duration::from_millis(100)) == Err(mpsc::RecvTimeoutError::Timeout) {
                bar.set_message(format!("reading skills: {}", progress.load(Ordering::Relaxed)));
                bar.tick();
            }
            bar.finish_and_clear();
        }
        match loading.join() {
            Ok(catalogue) => catalogue,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
