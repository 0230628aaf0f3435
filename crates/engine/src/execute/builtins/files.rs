//! Built-in step that reads a file of the workspace.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use maestro_skills::read_bounded;

/// How many bytes of a file are read.
const MAX_BYTES: u64 = 64 * 1024;

/// A file's text, cut with a mark where it is too long.
pub(super) fn read(workspace: &Path, path: &str) -> Result<String, String> {
    let file = inside(workspace, path)?.ok_or_else(|| format!("there is no file `{path}`"))?;
    let found = file.metadata().map_err(|error| format!("`{path}` cannot be read: {error}"))?;
    if !found.is_file() {
        return Err(format!("`{path}` is no file"));
    }
    let contents = read_bounded(&file, MAX_BYTES).map_err(|error| format!("`{path}` cannot be read: {error}"))?;
    let mut text = String::from_utf8_lossy(&contents.bytes).into_owned();
    if contents.cut {
        let more = found.len().saturating_sub(MAX_BYTES);
        let _ = write!(text, "\n[{more} more bytes were cut]\n");
    }
    Ok(text)
}

/// Whether something is there.
pub(super) fn exists(workspace: &Path, path: &str) -> Result<bool, String> {
    Ok(inside(workspace, path)?.is_some())
}

/// Where a path of the workspace really leads; nothing where nothing is there. No link leads out.
pub(super) fn inside(workspace: &Path, path: &str) -> Result<Option<PathBuf>, String> {
    let cannot = |error: io::Error| format!("`{path}` cannot be found: {error}");
    let root = workspace.canonicalize().map_err(cannot)?;
    match fs::canonicalize(root.join(path)) {
        Ok(real) if real.starts_with(&root) => Ok(Some(real)),
        Ok(_) => Err(format!("`{path}` lies outside the workspace")),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(cannot(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_inside_the_workspace_only() {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join("work");
        fs::create_dir(&work).unwrap();
        fs::write(dir.path().join("secret"), "s").unwrap();
        fs::write(work.join("a"), b"x\xff\n").unwrap();
        fs::write(work.join("large"), "y".repeat(70_000)).unwrap();
        std::os::unix::fs::symlink("../secret", work.join("link")).unwrap();
        assert_eq!(read(&work, "a").as_deref(), Ok("x\u{fffd}\n"));
        assert_eq!(read(&work, &work.join("a").display().to_string()).as_deref(), Ok("x\u{fffd}\n"));
        assert!(read(&work, "large").unwrap().ends_with("y\n[4464 more bytes were cut]\n"));
        for outside in ["link", "../secret", "/etc/passwd"] {
            assert_eq!(read(&work, outside), Err(format!("`{outside}` lies outside the workspace")));
        }
        assert_eq!(read(&work, "."), Err("`.` is no file".to_owned()));
        assert_eq!((exists(&work, "a"), exists(&work, "b"), exists(&work, "a/b")), (Ok(true), Ok(false), Ok(false)));
    }
}
