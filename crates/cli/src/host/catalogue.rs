//! The skill catalogue of a command: settings, packs and roots, with a progress bar if it takes long.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use indicatif::ProgressBar;
use maestro_core::{Problem, Settings};
use maestro_engine::worktrees;
use maestro_skills::{Catalogue, SkillRoot, search_order};

use crate::host::packs;
use crate::host::skill_index;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;

/// How long a scan may take before progress is shown.
const PATIENCE: Duration = Duration::from_millis(500);

/// The catalogue according to the settings or `--dir`.
pub(crate) fn load(world: &World, dirs: &[PathBuf], settings: &Settings) -> CommandResult<Catalogue> {
    Ok(load_and_store(world, dirs, settings)?.0)
}

/// The same, and the result of storing the index for the next command.
pub(crate) fn load_and_store(
    world: &World,
    dirs: &[PathBuf],
    settings: &Settings,
) -> CommandResult<(Catalogue, Result<(), Problem>)> {
    let mut problems = Vec::new();
    let world = &with_project_of_worktree(world);
    let roots = if dirs.is_empty() {
        let mut roots = search_order(settings, &world.places);
        if settings.skills_builtin.value {
            roots.extend(packs::sync_builtin(settings, &world.spare_dir, &mut problems).map(SkillRoot::builtin));
        }
        roots
    } else {
        given_roots(world, dirs)?
    };
    Ok(search_and_store(world, settings, &roots, problems))
}

/// The world of a command in a worktree of ours with the project around it: a session there has the project's skills,
/// whether they are committed or not, behind those that the worktree itself has.
fn with_project_of_worktree(world: &World) -> Cow<'_, World> {
    let tree = worktrees::enclosing(&world.places.working_dir).filter(|tree| world.places.project == **tree);
    let Some(project) = tree.and_then(worktrees::project_of) else { return Cow::Borrowed(world) };
    let mut world = world.clone();
    project.clone_into(&mut world.places.project);
    Cow::Owned(world)
}

/// The directories named on the command line; each must be one.
fn given_roots(world: &World, dirs: &[PathBuf]) -> CommandResult<Vec<SkillRoot>> {
    dirs.iter()
        .map(|dir| {
            let path = world.places.working_dir.join(dir);
            if path.is_dir() {
                // A normalized path: output should not contain the `..` that were typed.
                let path = path.canonicalize().unwrap_or(path);
                return Ok(SkillRoot::given(path, &world.places));
            }
            let (dir, exists) = (dir.display(), path.exists());
            let what =
                if exists { format!("`{dir}` is not a directory") } else { format!("directory `{dir}` not found") };
            Err(CommandError::not_found(what).hint("pass a directory that contains skill folders"))
        })
        .collect()
}

/// Scans the roots, shows progress on a terminal, and stores the index for the next command.
fn search_and_store(
    world: &World,
    settings: &Settings,
    roots: &[SkillRoot],
    problems: Vec<Problem>,
) -> (Catalogue, Result<(), Problem>) {
    // This thread works too instead of waiting for others. If that fails, there is just one thread more.
    let _ = rayon::ThreadPoolBuilder::new().use_current_thread().build_global();
    let found = AtomicUsize::new(0);
    let memory = skill_index::load_store(world, settings);
    let text = |found: usize| format!("reading skills: {found}");
    let (mut catalogue, edits) = with_progress(world, &found, text, || {
        let validation = settings.skills_validation.value;
        match &memory {
            Some(memory) => Catalogue::load_with(memory, roots, &world.places, validation, &found),
            None => (Catalogue::load(roots, &world.places, validation, &found), Vec::new()),
        }
    });
    catalogue.problems.splice(0..0, problems);
    (catalogue, skill_index::save(world, &edits))
}

/// Does some work, and shows on a terminal how far it is once it takes long.
pub(super) fn with_progress<T>(
    world: &World,
    done: &AtomicUsize,
    text: impl Fn(usize) -> String + Sync,
    work: impl FnOnce() -> T,
) -> T {
    thread::scope(|scope| {
        let (end, finished) = mpsc::channel::<()>();
        if world.terminals.stderr {
            let text = &text;
            scope.spawn(move || show_progress(done, text, &finished));
        }
        let result = work();
        drop(end);
        result
    })
}

/// Shows how much is done so far, once it takes long, until the work is done.
fn show_progress(done: &AtomicUsize, text: &dyn Fn(usize) -> String, finished: &mpsc::Receiver<()>) {
    // The channel carries nothing: it is closed when the work is done.
    let still_running = |patience| finished.recv_timeout(patience) == Err(mpsc::RecvTimeoutError::Timeout);
    if !still_running(PATIENCE) {
        return;
    }
    let bar = ProgressBar::new_spinner();
    while still_running(Duration::from_millis(100)) {
        bar.set_message(text(done.load(Ordering::Relaxed)));
        bar.tick();
    }
    bar.finish_and_clear();
}
