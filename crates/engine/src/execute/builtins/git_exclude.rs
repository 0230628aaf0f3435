//! Entries in the repository's exclude file for what must stay out of commits.
//!
//! The repository's own exclude file is added to, and nothing in it is ever changed: it belongs to the user.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::{BuiltinCall, BuiltinError};
use crate::git::GitDirs;
use crate::host::WorktreeFiles;
use crate::worktrees::PLACE;

impl BuiltinCall<'_> {
    /// Keeps worktrees, and what agents leave behind, out of what is committed.
    pub(super) fn exclude(&self, files: &WorktreeFiles) -> Result<(), BuiltinError> {
        // Not what git says: a workspace may point anywhere, and this is written by ourselves.
        let places = GitDirs::of(&self.executor.env().workspace);
        let file = places.ok_or_else(|| "its repository cannot be found".to_owned())?.shared.join("info/exclude");
        let leaves = files.leftovers.iter().filter(|pattern| is_plain(pattern)).cloned();
        let lines: Vec<String> = std::iter::once(format!("{PLACE}/")).chain(leaves).collect();
        add(&file, &lines)
            .map_err(|error| BuiltinError::Failed(format!("`{}` cannot be written: {error}", file.display())))
    }
}

/// Whether a pattern is one line that takes something out, and not everything.
fn is_plain(pattern: &str) -> bool {
    let says_something = pattern.chars().any(char::is_alphanumeric);
    says_something && !pattern.starts_with(['!', '#']) && !pattern.chars().any(char::is_control)
}

fn add(file: &Path, lines: &[String]) -> io::Result<()> {
    let text = match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        text => text?,
    };
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
    fs::create_dir_all(file.parent().unwrap_or(Path::new("/")))?;
    let gap = if known.is_empty() || known.ends_with('\n') { "" } else { "\n" };
    let added = format!("{gap}{}\n", missing.join("\n"));
    fs::OpenOptions::new().create(true).append(true).open(file)?.write_all(added.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_added_once_and_what_was_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("info/exclude");
        let lines = [".maestro/worktrees/", ".aider*", ".aider*"].map(str::to_owned);
        add(&file, &lines).unwrap();
        add(&file, &lines).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), ".maestro/worktrees/\n.aider*\n");
        fs::write(&file, b"caf\xe9\n.aider*").unwrap();
        add(&file, &lines).unwrap();
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
