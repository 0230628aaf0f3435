//! Plan of the mounts that make up a program's own file system.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{DEVICES, SandboxedProgram, TEMPORARY, neighbors, resolve};

/// What is mounted somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MountSource {
    /// What is there already, writable.
    Writable,
    /// What is there already, for reading.
    ReadOnly,
    /// Another directory, writable.
    Directory(PathBuf),
    /// An empty directory in memory, writable.
    Memory,
    /// An empty directory.
    Nothing,
    /// Nothing, in place of a file or socket.
    NoFile,
    /// Terminals of its own.
    Terminals,
}

impl MountSource {
    /// Whether it takes what is there out of sight.
    fn covers(&self) -> bool {
        !matches!(self, Self::Writable | Self::ReadOnly)
    }
}

/// What is mounted where; a directory comes before what is in it.
pub(super) type MountPlan = BTreeMap<PathBuf, MountSource>;

/// The plan for a program. Every path in it is real.
pub(super) fn plan(program: &SandboxedProgram<'_>) -> MountPlan {
    let policy = program.policy;
    let mut plan = MountPlan::new();
    add_own_places(program, &mut plan);
    let writable = policy.writable.iter().filter(|path| is_ordinary(path) || *path == program.cwd);
    for path in writable.filter_map(|path| path.canonicalize().ok()) {
        plan.insert(path, MountSource::Writable);
    }
    for path in policy.sealed.iter().chain(&policy.read_only).filter_map(|path| path.canonicalize().ok()) {
        if nearest(&plan, &path) == Some(&MountSource::Writable) || plan.contains_key(&path) {
            plan.insert(path, MountSource::ReadOnly);
        }
    }
    let hidden = policy.hidden.iter().map(PathBuf::as_path).chain(neighbors::PLACES.iter().map(Path::new));
    for path in hidden.filter_map(|path| path.canonicalize().ok()) {
        let nothing = if path.is_dir() { MountSource::Nothing } else { MountSource::NoFile };
        plan.insert(path, nothing);
    }
    for path in visible(program) {
        show(&mut plan, &path);
    }
    let own_socket = program.env.get("MAESTRO_SOCKET").map(|path| resolve(Path::new(path)));
    for socket in neighbors::bound_sockets() {
        let place = resolve(&socket);
        let open = matches!(nearest(&plan, &place), Some(MountSource::Writable | MountSource::Nothing));
        let is_given =
            own_socket.as_ref() == Some(&place) || policy.visible.iter().any(|path| place.starts_with(resolve(path)));
        if !open && !is_given {
            plan.entry(place).or_insert(MountSource::NoFile);
        }
    }
    plan
}

/// Temporary files and terminals of its own.
fn add_own_places(program: &SandboxedProgram<'_>, plan: &mut MountPlan) {
    for place in TEMPORARY.iter().filter_map(|place| Path::new(place).canonicalize().ok()) {
        // A program that works right there shares it.
        if program.cwd != place {
            let scratch = program.policy.scratch.clone().filter(|_| !place.starts_with("/dev"));
            plan.insert(place, scratch.map_or(MountSource::Memory, MountSource::Directory));
        }
    }
    if Path::new("/dev/pts").is_dir() {
        plan.insert("/dev/pts".into(), MountSource::Terminals);
    }
}

/// Whether a writable path is neither a device nor one of the shared places for temporary files.
fn is_ordinary(path: &Path) -> bool {
    !DEVICES.iter().chain(&TEMPORARY).any(|other| path == Path::new(other))
}

/// What a program needs to see wherever it is: its own file, those it starts, its working and home directories.
fn visible(program: &SandboxedProgram<'_>) -> Vec<PathBuf> {
    let on_path = program.env.get("PATH").map(String::as_str).unwrap_or_default().split(':').map(PathBuf::from);
    let real = program.program.canonicalize().ok();
    // Our program, and the socket by which it calls us.
    let ours = ["MAESTRO_BIN", "MAESTRO_SOCKET"].map(|name| program.env.get(name).map(Path::new));
    let files = [Some(program.program), real.as_deref()].into_iter().chain(ours).flatten();
    let beside = files.filter_map(Path::parent).map(Path::to_owned);
    let home = program.env.get("HOME").map(PathBuf::from);
    let given = program.policy.visible.iter().cloned().chain([program.cwd.to_owned()]).chain(home);
    let all = given.chain(on_path).chain(beside).filter(|path| path.is_absolute());
    all.filter_map(|path| path.canonicalize().ok()).collect()
}

/// Shows a path that something above it covers.
fn show(plan: &mut MountPlan, path: &Path) {
    if !plan.contains_key(path) && nearest(plan, path).is_some_and(MountSource::covers) {
        plan.insert(path.to_owned(), MountSource::ReadOnly);
    }
}

/// The mount a path is in, apart from its own.
fn nearest<'p>(plan: &'p MountPlan, path: &Path) -> Option<&'p MountSource> {
    path.ancestors().skip(1).find_map(|above| plan.get(above))
}
