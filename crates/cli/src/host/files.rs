//! Files and directories written in one step, so that no reader sees half of one.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use maestro_skills::{FileWrite, SyncPlan};

/// Writes a new file in one step. An existing file is left alone, and that is an error.
pub(crate) fn create(path: &Path, text: &str) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir)?;
    let mut temporary = tempfile::Builder::new().permissions(readable()).tempfile_in(dir)?;
    temporary.write_all(text.as_bytes())?;
    temporary.as_file().sync_all()?;
    temporary.persist_noclobber(path).map(drop).map_err(|error| error.error)
}

/// Replaces a file in one step. It keeps its permissions.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let permissions = fs::metadata(path)?.permissions();
    if permissions.readonly() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "write-protected"));
    }
    let mut temporary = tempfile::Builder::new().tempfile_in(path.parent().unwrap_or(Path::new(".")))?;
    temporary.write_all(text.as_bytes())?;
    temporary.as_file().set_permissions(permissions)?;
    temporary.as_file().sync_all()?;
    temporary.persist(path).map(drop).map_err(|error| error.error)
}

/// Replaces a file that only the user may read, in one step.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir)?;
    // Such a file is for its owner alone, and surviving a power cut is not worth the wait.
    let mut temporary = tempfile::NamedTempFile::new_in(dir)?;
    temporary.write_all(bytes)?;
    temporary.persist(path).map(drop).map_err(|error| error.error)
}

/// Removes the oldest files of a directory, except the newest ones. Another process may do the same at the same
/// time, and a file that stays costs only space.
pub(crate) fn remove_oldest(directory: &Path, most: usize) -> io::Result<()> {
    let mut files: Vec<(SystemTime, PathBuf)> = fs::read_dir(directory)?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
        })
        .collect();
    files.sort_unstable();
    let superfluous = files.len().saturating_sub(most);
    files.iter().take(superfluous).for_each(|(_, path)| drop(fs::remove_file(path)));
    Ok(())
}

/// Creates a directory and its parents; new ones are for their owner only.
pub(crate) fn own_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Whether a new file would really be below a directory, whatever links are in its path.
pub(crate) fn stays_inside(path: &Path, directory: &Path) -> bool {
    let real = path.ancestors().skip(1).find_map(|above| above.canonicalize().ok());
    real.zip(directory.canonicalize().ok()).is_some_and(|(real, directory)| real.starts_with(directory))
}

/// Creates a directory that only its owner may use, or takes an existing one like that.
#[cfg(unix)]
pub(crate) fn private_directory(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
    match fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let found = path.symlink_metadata()?;
            let parent = path.parent().unwrap_or(Path::new("/"));
            let own = tempfile::tempfile_in(parent)?.metadata()?.uid();
            let is_ours = found.is_dir() && found.uid() == own && found.permissions().mode() & 0o777 == 0o700;
            if is_ours { Ok(()) } else { Err(io::Error::other("it belongs to another user")) }
        }
        done => done,
    }
}

/// Applies the changes of a pack: the new directory first, then the link, then the leftovers.
pub(crate) fn sync(plan: &SyncPlan) -> io::Result<()> {
    fs::create_dir_all(&plan.sync_dir)?;
    let target = plan.sync_dir.join(&plan.target);
    if !target.is_dir() {
        let fresh = tempfile::Builder::new().prefix(".new-").tempdir_in(&plan.sync_dir)?;
        for edit in &plan.files {
            write_file(fresh.path(), edit)?;
        }
        allow_reading(fresh.path())?;
        match fs::rename(fresh.path(), &target) {
            Ok(()) => drop(fresh.keep()),
            // Another process was faster, with the same contents under the same name.
            Err(_) if target.is_dir() => {}
            Err(error) => return Err(error),
        }
    }
    swap_link(plan)?;
    for name in &plan.stale {
        // A leftover costs only space; the next sync tries again.
        let _ = fs::remove_dir_all(plan.sync_dir.join(name));
    }
    Ok(())
}

/// Writes a new directory in one step. An existing one is left alone, and that is an error.
pub(crate) fn create_directory(path: &Path, contents: &[FileWrite]) -> io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent)?;
    let fresh = tempfile::Builder::new().prefix(".new-").tempdir_in(parent)?;
    for edit in contents {
        write_file(fresh.path(), edit)?;
    }
    allow_reading(fresh.path())?;
    fs::rename(fresh.path(), path)?;
    drop(fresh.keep());
    Ok(())
}

fn write_file(dir: &Path, edit: &FileWrite) -> io::Result<()> {
    let path: PathBuf = dir.join(&edit.path);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(&path, &edit.bytes)?;
    if edit.executable { allow_running(&path) } else { Ok(()) }
}

#[cfg(unix)]
fn readable() -> fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    fs::Permissions::from_mode(0o644)
}

#[cfg(unix)]
fn allow_reading(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755))
}

#[cfg(unix)]
fn allow_running(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// Replaces the old link in a single step.
#[cfg(unix)]
fn swap_link(plan: &SyncPlan) -> io::Result<()> {
    let scratch = tempfile::Builder::new().prefix(".link-").tempdir_in(&plan.sync_dir)?;
    let fresh = scratch.path().join("link");
    std::os::unix::fs::symlink(&plan.target, &fresh)?;
    fs::rename(&fresh, plan.sync_dir.join(&plan.link))
}
