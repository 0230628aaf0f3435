//! Copies of ignored files that a worktree needs, such as secrets and local settings.
//!
//! Git itself decides what matches, so the patterns mean what they mean in `.gitignore`. A file that git would commit
//! is not copied: it would get into the commits made there. Nothing is overwritten and no link is followed.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::{Component, Path};

use rustix::fs::OFlags;

use super::{BuiltinCall, BuiltinError};
use crate::execute::Limits;
use crate::host::WorktreeFiles;
use crate::worktrees::PLACE;

/// The file that names them, at the root.
const NAMED_IN: &str = ".worktreeinclude";
/// How many files are copied at most.
const MAX_FILES: usize = 20_000;
/// How many bytes are copied at most.
const MAX_BYTES: u64 = 512 * 1024 * 1024;
/// How many bytes of git's list are read.
const MAX_LIST: usize = 8 * 1024 * 1024;
/// How many of those that were left out are named.
const MAX_NAMED: usize = 20;

/// The result of copying.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CopiedFiles {
    /// How many were copied.
    pub(super) copied: usize,
    left_out: Vec<String>,
    more_left_out: usize,
    bytes: u64,
}

/// Why a file was not copied.
#[derive(Debug, thiserror::Error)]
enum CopySkipReason {
    #[error("git does not ignore it, so it would be committed; ignore it first")]
    NotIgnored,
    #[error("it is a repository of its own")]
    Repository,
    #[error("it is a link that leads elsewhere")]
    Link,
    #[error("it is no file")]
    NoFile,
    #[error("a link is in its place")]
    Blocked,
    #[error("more than {MAX_FILES} files would be copied; `worktree_setup` can create them")]
    TooMany,
    #[error("more than {} MiB would be copied; `worktree_setup` can create them", MAX_BYTES / 1024 / 1024)]
    TooLarge,
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl CopiedFiles {
    /// What was left out and why, a line each.
    pub(super) fn skipped_report(&self) -> String {
        let mut lines = self.left_out.clone();
        if self.more_left_out > 0 {
            lines.push(format!("and {} more", self.more_left_out));
        }
        lines.join("\n")
    }

    fn skip(&mut self, name: &str, why: &dyn std::fmt::Display) {
        if self.left_out.len() < MAX_NAMED {
            let short: String = name.chars().take(200).collect();
            self.left_out.push(format!("{short}: {why}"));
        } else {
            self.more_left_out += 1;
        }
    }

    /// These, and copies of more files; those that cannot be copied are left out.
    fn with_files(mut self, wanted: &[String], from: &Path, to: &Path) -> Self {
        for name in wanted {
            if let Err(why) = self.copy(name, from, to) {
                self.skip(name, &why);
            }
        }
        self
    }

    /// Copies one file from one root to the same place below another, unless something is there.
    fn copy(&mut self, name: &str, from: &Path, to: &Path) -> Result<(), CopySkipReason> {
        if name.ends_with('/') {
            return Err(CopySkipReason::Repository);
        }
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        let (source, target) = (from.join(name), to.join(name));
        if !Path::new(name).components().all(plain) {
            return Err(CopySkipReason::NoFile);
        }
        let found = source.symlink_metadata()?;
        if target.symlink_metadata().is_ok() {
            return Ok(());
        }
        if self.copied >= MAX_FILES {
            return Err(CopySkipReason::TooMany);
        }
        if self.bytes.saturating_add(found.len()) > MAX_BYTES {
            return Err(CopySkipReason::TooLarge);
        }
        if found.is_symlink() {
            let leads = fs::read_link(&source)?;
            if leads.is_absolute() || !source.canonicalize().is_ok_and(|real| real.starts_with(from)) {
                return Err(CopySkipReason::Link);
            }
            directories(name, to)?;
            symlink(leads, target)?;
        } else if found.is_file() {
            if !source.parent().is_some_and(|dir| dir.canonicalize().is_ok_and(|real| real.starts_with(from))) {
                return Err(CopySkipReason::Link);
            }
            let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
            let mut read = OpenOptions::new().read(true).custom_flags(flags).open(&source)?;
            directories(name, to)?;
            let mut write = File::create_new(&target)?;
            write.set_permissions(fs::Permissions::from_mode(found.mode() & 0o777))?;
            if let Err(error) = io::copy(&mut read, &mut write) {
                // Half a file is worse than none.
                let _ = fs::remove_file(&target);
                return Err(error.into());
            }
        } else {
            return Err(CopySkipReason::NoFile);
        }
        self.copied += 1;
        self.bytes += found.len();
        Ok(())
    }
}

/// Makes the directories that a file is in; a link on the way would lead somewhere else.
fn directories(name: &str, root: &Path) -> Result<(), CopySkipReason> {
    let mut dir = root.to_owned();
    for part in Path::new(name).parent().into_iter().flat_map(Path::components) {
        dir.push(part);
        match dir.symlink_metadata() {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(CopySkipReason::Blocked),
            Err(_) => fs::create_dir(&dir)?,
        }
    }
    Ok(())
}

/// The names in a list of git's, and whether it is whole.
fn names(list: &str) -> (Vec<&str>, bool) {
    let whole = list.is_empty() || list.ends_with('\0');
    let mut names: Vec<&str> = list.split('\0').filter(|name| !name.is_empty()).collect();
    if !whole {
        names.pop();
    }
    (names, whole)
}

impl BuiltinCall<'_> {
    /// Copies what a worktree needs from the workspace into it.
    pub(super) async fn copy_into(&self, tree: &Path, files: &WorktreeFiles) -> Result<CopiedFiles, BuiltinError> {
        let mut copies = CopiedFiles::default();
        let root = &self.executor.env().workspace;
        let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
        let mut list = vec!["ls-files".to_owned(), "--others".to_owned(), "--ignored".to_owned(), "-z".to_owned()];
        if root.join(NAMED_IN).symlink_metadata().is_ok_and(|found| found.is_file()) {
            list.push(format!("--exclude-from={NAMED_IN}"));
        }
        list.extend(files.copy.iter().map(|pattern| format!("--exclude={pattern}")));
        if list.len() == 4 {
            return Ok(copies);
        }
        let long = BuiltinCall { limits: Limits { output: MAX_LIST, ..self.limits }, ..*self };
        let matching = long.git(&list.iter().map(String::as_str).collect::<Vec<_>>()).await?;
        let unknown = long.git(&["ls-files", "--others", "--exclude-standard", "-z"]).await?;
        let prefix = self.git(&["rev-parse", "--show-prefix"]).await?;
        let tree = tree.join(prefix.trim_end_matches('\n'));
        let ((matching, all), (unknown, known)) = (names(&matching), names(&unknown));
        if !all || !known {
            copies.skip("everything", &"there are too many files that git does not know");
            return Ok(copies);
        }
        let unknown: BTreeSet<&str> = unknown.into_iter().collect();
        let mut wanted = Vec::new();
        for name in matching.into_iter().filter(|name| !Path::new(name).starts_with(PLACE)) {
            if unknown.contains(name) {
                copies.skip(name, &CopySkipReason::NotIgnored);
            } else {
                wanted.push(name.to_owned());
            }
        }
        Ok(copies.with_files(&wanted, &root, &tree))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct CopyTrees {
        _dir: tempfile::TempDir,
        from: std::path::PathBuf,
        to: std::path::PathBuf,
    }

    fn trees() -> CopyTrees {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (from, to) = (root.join("from"), root.join("to"));
        fs::create_dir_all(from.join("a/b")).unwrap();
        fs::create_dir(&to).unwrap();
        fs::write(root.join("secret"), "s").unwrap();
        CopyTrees { _dir: dir, from, to }
    }

    #[test]
    fn a_file_keeps_its_place_and_its_mode_and_nothing_is_overwritten() {
        let CopyTrees { from, to, .. } = &trees();
        fs::write(from.join("a/b/.env"), "KEY=1").unwrap();
        fs::set_permissions(from.join("a/b/.env"), fs::Permissions::from_mode(0o600)).unwrap();
        let mut copies = CopiedFiles::default();
        copies.copy("a/b/.env", from, to).unwrap();
        assert_eq!(fs::read_to_string(to.join("a/b/.env")).unwrap(), "KEY=1");
        assert_eq!(to.join("a/b/.env").metadata().unwrap().mode() & 0o777, 0o600);
        fs::write(to.join("a/b/.env"), "KEY=2").unwrap();
        copies.copy("a/b/.env", from, to).unwrap();
        assert_eq!(fs::read_to_string(to.join("a/b/.env")).unwrap(), "KEY=2");
        assert_eq!((copies.copied, copies.bytes), (1, 5));
    }

    #[test]
    fn no_link_leads_out_on_either_side() {
        let CopyTrees { from, to, .. } = &trees();
        fs::write(from.join("a/x"), "x").unwrap();
        symlink("../secret", from.join("out")).unwrap();
        symlink(from.join("a/x"), from.join("whole")).unwrap();
        symlink("a/x", from.join("in")).unwrap();
        symlink("..", to.join("a")).unwrap();
        let mut copies = CopiedFiles::default();
        for name in ["out", "whole"] {
            assert!(matches!(copies.copy(name, from, to), Err(CopySkipReason::Link)), "{name}");
        }
        copies.copy("in", from, to).unwrap();
        assert_eq!(fs::read_link(to.join("in")).unwrap(), Path::new("a/x"));
        assert!(matches!(copies.copy("a/x", from, to), Err(CopySkipReason::Blocked)));
        for name in ["../secret", "/etc/passwd", "a/../../secret"] {
            assert!(matches!(copies.copy(name, from, to), Err(CopySkipReason::NoFile)), "{name}");
        }
        assert!(!to.parent().unwrap().join("x").exists());
    }

    #[test]
    fn bounds_are_kept_and_what_was_left_out_is_said() {
        let CopyTrees { from, to, .. } = &trees();
        fs::write(from.join("a/x"), "x").unwrap();
        let mut full = CopiedFiles { copied: MAX_FILES, ..CopiedFiles::default() };
        assert!(matches!(full.copy("a/x", from, to), Err(CopySkipReason::TooMany)));
        let mut full = CopiedFiles { bytes: MAX_BYTES, ..CopiedFiles::default() };
        assert!(matches!(full.copy("a/x", from, to), Err(CopySkipReason::TooLarge)));
        assert!(matches!(full.copy("sub/", from, to), Err(CopySkipReason::Repository)));
        for number in 0..MAX_NAMED + 2 {
            full.skip(&number.to_string(), &CopySkipReason::Link);
        }
        let said = full.skipped_report();
        assert!(said.starts_with("0: it is a link") && said.ends_with("\nand 2 more"), "{said}");
        assert_eq!(names("a\0b\0"), (vec!["a", "b"], true));
        assert_eq!(names("a\0b\n[3 more bytes were cut]\n"), (vec!["a"], false));
    }
}
