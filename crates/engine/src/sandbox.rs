//! Sandbox of a program: where it may write, and what it can see.
//!
//! It writes to its workspace, to temporary files of its own and to what it was given besides; sealed paths stay out of
//! reach even below one of those, and hidden ones out of sight. Where the kernel permits it, the program gets a file
//! system, processes and terminals of its own, with Landlock inside; otherwise Landlock alone, and its gaps are named.

mod gaps;
#[cfg(target_os = "linux")]
mod landlock_rules;
#[cfg(target_os = "linux")]
mod mount_plan;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
pub(crate) mod namespaces;
#[cfg(target_os = "linux")]
mod neighbors;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use maestro_core::network_host::NetworkHost;
use serde::{Deserialize, Serialize};

use crate::git::GitDirs;
pub use gaps::{SandboxGap, SandboxLayer, SandboxReport};

/// How many entries of a directory are listed to leave one of them out.
const MAX_ENTRIES: usize = 10_000;

/// Devices a program may write to: they store nothing.
const DEVICES: [&str; 8] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"];
/// Where temporary files go.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Where a program may write, and what it can see.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WritePolicy {
    /// Files and directories with their contents. Paths that do not exist when the program starts are left out.
    pub writable: Vec<PathBuf>,
    /// Sealed paths.
    pub sealed: Vec<PathBuf>,
    /// Parts of writable places that are only read. Mounts can do that; Landlock alone cannot, since then nothing new could
    /// be made beside them.
    #[serde(default)]
    pub read_only: Vec<PathBuf>,
    /// Places out of sight.
    #[serde(default)]
    pub hidden: Vec<PathBuf>,
    /// What can be read below hidden places nevertheless, and the sockets it may connect to.
    #[serde(default)]
    pub visible: Vec<PathBuf>,
    /// Its own directory for temporary files, in place of the shared ones.
    #[serde(default)]
    pub scratch: Option<PathBuf>,
    /// What it reaches over the network.
    #[serde(default)]
    pub network: NetworkAccess,
    /// What it may use.
    #[serde(default)]
    pub resources: ResourceLimits,
    /// What confines it.
    #[serde(default)]
    pub confinement: ConfinementMode,
}

/// What a program reaches over the network.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkAccess {
    /// Everything.
    #[default]
    All,
    /// Nothing but itself.
    None,
    /// Itself, and these hosts by a proxy.
    Hosts(Vec<NetworkHost>),
}

/// Limits of what a program uses, with all its descendants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Its memory, in MiB.
    pub memory_mib: Option<u64>,
    /// Its processes.
    pub processes: Option<u64>,
}

impl ResourceLimits {
    /// Whether anything is limited.
    pub(crate) fn is_any(self) -> bool {
        self != Self::default()
    }
}

/// What is used to confine a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfinementMode {
    /// Namespaces where they work, else Landlock.
    #[default]
    Auto,
    /// Namespaces; without them it does not start.
    Namespaces,
    /// Landlock alone.
    Landlock,
}

/// How the user wants programs to be confined.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SandboxSettings {
    /// What is used to confine them.
    pub confinement: ConfinementMode,
    /// What agents reach over the network.
    pub network: NetworkAccess,
    /// What agents may use.
    pub resources: ResourceLimits,
    /// Further variables that agents get of the user's environment; `*` at the end stands for any rest.
    pub agent_env: Vec<String>,
    /// Other places with Maestro's data, such as a database elsewhere.
    pub hidden: Vec<PathBuf>,
}

/// A program to confine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SandboxedProgram<'a> {
    /// Its file.
    pub(crate) program: &'a Path,
    /// Its working directory.
    pub(crate) cwd: &'a Path,
    /// Its environment.
    pub(crate) env: &'a BTreeMap<String, String>,
    /// What it may do.
    pub(crate) policy: &'a WritePolicy,
}

/// Why a program could not be sandboxed although the kernel supports it.
#[derive(Debug, thiserror::Error)]
#[error("cannot restrict the program: {0}")]
pub(crate) struct SandboxError(String);

impl SandboxError {
    fn of(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

impl WritePolicy {
    /// Paths for every program: its workspace and temporary files. The repository of a worktree is not among them: an
    /// agent there has a git directory of its own.
    pub fn default_policy(workspace: &Path, temporary: Option<&Path>) -> Self {
        let mut writable: Vec<PathBuf> = DEVICES.iter().chain(&TEMPORARY).map(PathBuf::from).collect();
        writable.push(workspace.to_owned());
        writable.extend(temporary.map(Path::to_owned));
        let scratch = temporary.map(Path::to_owned);
        let repository = repository_in(workspace);
        let read_only = repository.iter().flat_map(|directory| settings_of_git(directory)).collect();
        // A mount of its own cannot be moved away to put another repository in its place.
        writable.extend(repository);
        Self { writable, read_only, scratch, visible: repository_outside(workspace), ..Self::default() }
    }

    /// Also allows this path.
    #[must_use]
    pub fn allow(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.writable.extend(paths);
        self
    }

    /// Also allows the whole repository of the workspace.
    pub(crate) fn with_repository(mut self, workspace: &Path) -> Self {
        if let Some(git) = GitDirs::of(workspace) {
            self.sealed.retain(|path| !path.starts_with(&git.shared));
            self.read_only.clear();
            self.writable.push(git.shared);
        }
        self
    }

    /// The same, but the workspace is only read, with everything in it.
    #[must_use]
    pub(crate) fn read_only_workspace(mut self, workspace: &Path) -> Self {
        self.writable.retain(|path| path == workspace || !path.starts_with(workspace));
        self.seal(workspace.to_owned())
    }

    /// Also seals this path.
    #[must_use]
    pub fn seal(mut self, path: PathBuf) -> Self {
        self.sealed.push(path);
        self
    }

    /// Also puts this path out of sight.
    #[must_use]
    pub fn hide(mut self, path: PathBuf) -> Self {
        self.sealed.push(path.clone());
        self.hidden.push(path);
        self
    }

    /// Also puts all data of ours out of sight, but for our programs, skills and where our server is.
    #[must_use]
    pub(crate) fn hide_data(mut self, home: &Path, settings: &SandboxSettings) -> Self {
        self.confinement = settings.confinement;
        let shown = ["bin", "skills", "address"].map(|name| home.join(name));
        settings.hidden.iter().cloned().fold(self.hide(home.to_owned()), Self::hide).show(shown)
    }

    /// With the network and the resources of agents.
    #[must_use]
    pub(crate) fn for_agent(mut self, settings: &SandboxSettings) -> Self {
        self.network = settings.network.clone();
        self.resources = settings.resources;
        self
    }

    /// Also shows these paths, wherever they are.
    #[must_use]
    pub fn show(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.visible.extend(paths);
        self
    }

    /// The paths to grant: none of them contains a sealed one.
    fn grants(&self) -> io::Result<Vec<PathBuf>> {
        let mut grants = Vec::new();
        for path in self.writable.iter().filter_map(|path| path.canonicalize().ok()) {
            around(path, &self.sealed, &mut grants)?;
        }
        Ok(grants)
    }

    /// Restricts this process and everything it starts with Landlock alone, for good.
    #[cfg(target_os = "linux")]
    pub(crate) fn apply(&self) -> Result<SandboxReport, SandboxError> {
        let enforced = landlock_rules::restrict(self, landlock_rules::HiddenPlaces::Forbid)?;
        rustix::thread::set_no_new_privs(true).map_err(SandboxError::of)?;
        let layer = if enforced.contains(&SandboxGap::Writes) { SandboxLayer::None } else { SandboxLayer::Landlock };
        let mut gaps = enforced;
        gaps.extend([
            SandboxGap::FileAttributes,
            SandboxGap::Terminals,
            SandboxGap::TemporaryFiles,
            SandboxGap::Processes,
            SandboxGap::Repository,
            SandboxGap::Resources,
        ]);
        gaps.extend((self.network != NetworkAccess::All).then_some(SandboxGap::Network));
        gaps.sort_unstable();
        Ok(SandboxReport { layer, gaps, reason: None })
    }

    /// Restricts this process, which is in its namespaces already, and everything it starts, for good.
    #[cfg(target_os = "linux")]
    pub(crate) fn apply_inside(&self) -> Result<SandboxReport, SandboxError> {
        let enforced = landlock_rules::restrict(self, landlock_rules::HiddenPlaces::Covered)?;
        rustix::thread::set_no_new_privs(true).map_err(SandboxError::of)?;
        // Mounts and process numbers keep what Landlock would: all but sockets without a place.
        let mut gaps: Vec<SandboxGap> =
            enforced.into_iter().filter(|gap| *gap == SandboxGap::AbstractSockets).collect();
        gaps.push(SandboxGap::Resources);
        Ok(SandboxReport { layer: SandboxLayer::Namespaces, gaps, reason: None })
    }

    /// Not supported on this platform.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn apply(&self) -> Result<SandboxReport, SandboxError> {
        self.grants().map_err(SandboxError::of)?;
        Ok(SandboxReport { layer: SandboxLayer::None, gaps: vec![SandboxGap::Writes], reason: None })
    }
}

/// Whether the kernel supports sandboxing at all.
#[cfg(target_os = "linux")]
pub(crate) fn is_supported() -> bool {
    landlock_rules::is_supported()
}

/// Not supported on this platform.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_supported() -> bool {
    false
}

/// A path, or the entries around what is cut out of it.
fn around(path: PathBuf, cut: &[PathBuf], grants: &mut Vec<PathBuf>) -> io::Result<()> {
    let cut: Vec<PathBuf> = cut.iter().map(|path| resolve(path)).collect();
    grant_around(path, &cut, grants)
}

/// What is inside a workspace of the repository that it belongs to.
fn repository_in(workspace: &Path) -> Vec<PathBuf> {
    let Some(git) = GitDirs::of(workspace) else { return Vec::new() };
    let workspace = resolve(workspace);
    [git.own, git.shared].into_iter().filter(|path| path.starts_with(&workspace)).collect()
}

/// What git reads outside of a workspace: for a worktree of ours, whose agents have a git directory of their own, the
/// repository's objects.
fn repository_outside(workspace: &Path) -> Vec<PathBuf> {
    let Some(git) = GitDirs::of(workspace) else { return Vec::new() };
    let workspace = resolve(workspace);
    let read = if git.tree_name().is_some() { vec![git.shared.join("objects")] } else { vec![git.own, git.shared] };
    read.into_iter().filter(|path| !path.starts_with(&workspace)).collect()
}

/// What decides in a git directory which programs the user's own git runs. Where hooks could still be added, because
/// there is no directory for them, it is all of it.
fn settings_of_git(directory: &Path) -> Vec<PathBuf> {
    if !directory.join("hooks").is_dir() {
        return vec![directory.to_owned()];
    }
    let settings = ["config", "config.worktree", "hooks", "info", "modules", "worktrees", "maestro"];
    settings.into_iter().map(|name| directory.join(name)).filter(|path| path.exists()).collect()
}

/// The real path; a missing file is located by its directory.
fn resolve(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => resolve(parent).join(name),
        _ => path.to_owned(),
    })
}

/// Grants a directory, or its entries where one of them is sealed. A grant always includes everything below it, so a
/// directory that contains a sealed path cannot be granted itself: no new entry can be created right there.
fn grant_around(path: PathBuf, sealed: &[PathBuf], grants: &mut Vec<PathBuf>) -> io::Result<()> {
    if !sealed.iter().any(|sealed| sealed.starts_with(&path)) {
        grants.push(path);
        return Ok(());
    }
    if sealed.contains(&path) {
        return Ok(());
    }
    for (count, entry) in path.read_dir()?.enumerate() {
        let entry = entry?;
        if count >= MAX_ENTRIES {
            let shown = path.display();
            return Err(io::Error::other(format!("{shown} has more than {MAX_ENTRIES} entries, one of them sealed")));
        }
        // A link may lead to a sealed path.
        if !entry.file_type()?.is_symlink() {
            grant_around(entry.path(), sealed, grants)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_sealed_is_cut_out_of_what_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for path in ["work/a", "work/home/.maestro/run", "work/home/docs"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("work/home/.maestro"), root.join("work/link")).unwrap();
        let policy = WritePolicy { writable: vec![root.join("work"), root.join("absent")], ..WritePolicy::default() };
        assert_eq!(policy.grants().unwrap(), [root.join("work")]);
        let mut grants = policy.seal(root.join("work/home/.maestro")).grants().unwrap();
        grants.sort();
        assert_eq!(grants, [root.join("work/a"), root.join("work/home/docs")]);
    }

    #[test]
    fn what_is_sealed_and_absent_is_sealed_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("other")).unwrap();
        let policy =
            WritePolicy { writable: vec![root.clone()], sealed: vec![root.join("later/on")], ..WritePolicy::default() };
        assert_eq!(policy.grants().unwrap(), [root.join("other")]);
    }
}
