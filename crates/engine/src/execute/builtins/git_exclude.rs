//! Entries in the repository's exclude file for what must stay out of commits.
//!
//! The repository's own exclude file is added to, and nothing in it is ever changed: it belongs to the user.

use std::io;

use super::{BuiltinCall, BuiltinError};
use crate::git::{GitDirs, RealFolder};
use crate::host::WorktreeFiles;
use crate::worktrees::PLACE;

/// The file of patterns.
const FILE: &str = "exclude";
/// How large it may be.
const MAX_BYTES: u64 = 8 * 1024 * 1024;
/// What interpreters, checkers and file browsers write beside the sources by themselves. A check alone would otherwise put them
/// into a commit where a project has no `.gitignore` yet. Only names that are never committed on purpose.
const TOOL_CACHES: [&str; 5] = ["__pycache__/", ".pytest_cache/", ".mypy_cache/", ".ruff_cache/", ".DS_Store"];

impl BuiltinCall<'_> {
    /// Keeps worktrees, and what agents and tools leave behind, out of what is committed.
    pub(super) fn exclude(&self, files: &WorktreeFiles) -> Result<(), BuiltinError> {
        // Not what git says: a workspace may point anywhere, and this is written by ourselves.
        let places = GitDirs::locate(&self.executor.env().workspace).map_err(|error| error.to_string())?;
        let leaves = files.leftovers.iter().filter(|pattern| is_plain(pattern)).cloned();
        let caches = TOOL_CACHES.map(str::to_owned);
        let lines: Vec<String> = std::iter::once(format!("{PLACE}/")).chain(caches).chain(leaves).collect();
        let added = RealFolder::open(&places.shared).and_then(|shared| add(&shared.make("info")?, &lines));
        let file = places.shared.join("info/exclude");
        added.map_err(|error| BuiltinError::Failed(format!("`{}` cannot be written: {error}", file.display())))
    }
}

/// Whether a pattern is one line that takes something out, and not everything.
fn is_plain(pattern: &str) -> bool {
    let says_something = pattern.chars().any(char::is_alphanumeric);
    says_something && !pattern.starts_with(['!', '#']) && !pattern.chars().any(char::is_control)
}

/// Adds lines to the file of patterns in a directory.
fn add(info: &RealFolder, lines: &[String]) -> io::Result<()> {
    let text = info.read(FILE, MAX_BYTES)?.unwrap_or_default();
    let known = String::from_utf8_lossy(&text);
    let mut missing: Vec<&str> = Vec::new();
    for line in lines {
        if !known.lines().any(|known| known.trim() == line) && !missing.contains(&line.as_str()) {
            missing.push(line);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let gap = if known.is_empty() || known.ends_with('\n') { "" } else { "\n" };
    info.append(FILE, format!("{gap}{}\n", missing.join("\n")).as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lines_are_added_once_and_what_was_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (info, file) = (RealFolder::open(dir.path()).unwrap(), dir.path().join("exclude"));
        let lines = [".maestro/worktrees/", ".aider*", ".aider*"].map(str::to_owned);
        add(&info, &lines).unwrap();
        add(&info, &lines).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), ".maestro/worktrees/\n.aider*\n");
        fs::write(&file, b"caf\xe9\n.aider*").unwrap();
        add(&info, &lines).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"caf\xe9\n.aider*\n.maestro/worktrees/\n");
    }

    #[test]
    fn no_pattern_takes_out_everything_or_takes_something_back() {
        for bad in ["*", "/", "!x", "# x", "a\nb", ""] {
            assert!(!is_plain(bad), "{bad:?}");
        }
        assert!(is_plain(".aider*"));
    }
}
