//! Copies of the skill packs where agents can read them.

use std::path::{Path, PathBuf};

use maestro_core::{Problem, ProblemCode, ProblemSeverity, Settings};
use maestro_skills::{PackError, SkillPack, SyncPlan};

use crate::host::files;

const BUILTIN: &str = "the built-in skill pack";
const WORKSPACE: &str = "the workspace's skill pack";

/// Copies the pack that comes with Maestro, unless the copy is up to date.
///
/// Returns the directory to read it from, if there is one.
pub(crate) fn sync_builtin(settings: &Settings, spare: &Path, problems: &mut Vec<Problem>) -> Option<PathBuf> {
    let pack = SkillPack::builtin();
    let directory = pack.directory(&settings.skills_sync_dir.value);
    // An older copy is better than none; a directory of another origin is not a copy.
    let is_copy = sync_pack(pack, BUILTIN, settings, problems).is_some() || directory.is_symlink();
    if is_copy && directory.is_dir() {
        return Some(directory);
    }
    // Where nothing can be written permanently, as in many containers, agents still need files to read.
    let pack = SkillPack::builtin();
    let directory = pack.directory(spare);
    let sync = |plan: Option<SyncPlan>| plan.map_or(Ok(()), |plan| files::sync(&plan));
    let made = files::private_directory(spare).is_ok() && pack.plan(spare).is_ok_and(|plan| sync(plan).is_ok());
    (made && directory.is_dir()).then_some(directory)
}

/// Copies the workspace's own pack. If that fails, the pack is read where it is.
pub(crate) fn sync_workspace(settings: &Settings, project: &Path, problems: &mut Vec<Problem>) -> Option<SyncedPack> {
    match SkillPack::workspace(&settings.skills_builtin_dir.value, project) {
        Ok(Some(pack)) => {
            let directory = pack.directory(&settings.skills_sync_dir.value);
            problems.extend(pack.left_out().iter().map(|path| left_out_problem(path)));
            let state = sync_pack(pack, WORKSPACE, settings, problems)?;
            Some(SyncedPack { directory, state })
        }
        Ok(None) => None,
        Err(error) => {
            problems.push(not_synced(WORKSPACE, settings, &error));
            None
        }
    }
}

/// A pack where agents can read it.
pub(crate) struct SyncedPack {
    /// Its directory.
    pub(crate) directory: PathBuf,
    /// What was done for it.
    pub(crate) state: SyncState,
}

/// What was done for a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SyncState {
    /// It was copied.
    Copied,
    /// The copy was up to date.
    Current,
}

fn sync_pack(pack: SkillPack, which: &str, settings: &Settings, problems: &mut Vec<Problem>) -> Option<SyncState> {
    let sync_dir = &settings.skills_sync_dir.value;
    let done = pack.plan(sync_dir).and_then(|plan| match plan {
        Some(plan) => files::sync(&plan)
            .map(|()| SyncState::Copied)
            .map_err(|source| PackError::Write { path: sync_dir.clone(), source }),
        None => Ok(SyncState::Current),
    });
    done.map_err(|error| problems.push(not_synced(which, settings, &error))).ok()
}

fn left_out_problem(path: &Path) -> Problem {
    Problem::new(
        ProblemCode::PackNotSynced,
        ProblemSeverity::Warning,
        path,
        "not a regular file; left out of the copy of the pack",
        "put the file itself into the pack",
    )
}

fn not_synced(which: &str, settings: &Settings, error: &PackError) -> Problem {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    Problem::new(
        ProblemCode::PackNotSynced,
        ProblemSeverity::Warning,
        &settings.skills_sync_dir.value,
        format!("cannot copy {which}: {error}{cause}"),
        match error {
            PackError::Read { .. } => "check its permissions",
            PackError::Write { .. } => "make the directory writable, or set skills_sync_dir to another one",
            PackError::Outside { .. } => "move the pack into the project, or set its directory in your own config.toml",
            PackError::TooLarge { .. } => "make the pack smaller, or set skills_builtin_dir to another directory",
            PackError::Occupied { .. } => "move it away, or set skills_sync_dir to another directory",
        },
    )
}
