//! Paths of files below the agent's working directory.

use std::io;
use std::path::{Component, Path, PathBuf};

/// The path of this file below a directory; its parent directories are created.
pub(super) fn resolve_inside(directory: &Path, name: &str) -> io::Result<PathBuf> {
    let outside = || io::Error::other(format!("`{name}` is not below the directory I work in"));
    let plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if name.is_empty() || !plain {
        return Err(outside());
    }
    let root = directory.canonicalize()?;
    let file = root.join(name);
    let parent = file.parent().ok_or_else(outside)?;
    // An existing path must not lead elsewhere, or everything created below it would, too.
    let there = parent.ancestors().find(|ancestor| ancestor.symlink_metadata().is_ok()).ok_or_else(outside)?;
    let leads_elsewhere = |path: &Path| path.canonicalize().map_or(true, |real| !real.starts_with(&root));
    if leads_elsewhere(there) || (file.symlink_metadata().is_ok() && leads_elsewhere(&file)) {
        return Err(outside());
    }
    std::fs::create_dir_all(parent)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leads_out_of_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join("work");
        std::fs::create_dir(&work).unwrap();
        std::os::unix::fs::symlink(dir.path(), work.join("up")).unwrap();
        std::os::unix::fs::symlink(dir.path().join("secret"), work.join("link")).unwrap();
        for name in ["", "../x", "/etc/x", "a/../../x", "up/x", "up/new/x", "link"] {
            assert!(resolve_inside(&work, name).is_err(), "{name}");
        }
        assert_eq!(resolve_inside(&work, "a/./b.txt").unwrap(), work.canonicalize().unwrap().join("a/b.txt"));
        assert!(work.join("a").is_dir());
    }
}
