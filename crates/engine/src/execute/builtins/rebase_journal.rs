//! Journal of a rebase, written before each irreversible step, so that a crash loses neither the work nor its result.
//!
//! A file and not a git reference: a crash while writing one of those leaves a lock that blocks every other process.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use maestro_skills::read_bounded;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::{BuiltinCall, BuiltinError};
use crate::git::GitDirs;
use crate::worktrees;

/// How large such a note may be.
const MAX_BYTES: u64 = 1024 * 1024;

/// Work that is put elsewhere, or was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RebaseRecord {
    /// The commit that holds the work, which nothing else knows.
    pub(super) kept: String,
    /// The commit that it is put on top of.
    pub(super) onto: String,
    /// For which visit of which step.
    pub(super) ticket: String,
    /// Where both contradicted each other, once it is there.
    pub(super) there: Option<Vec<String>>,
    /// Which task changed which of these files meanwhile, in words.
    #[serde(default)]
    pub(super) others: Vec<String>,
}

impl RebaseRecord {
    /// What is said of it once it is there.
    pub(super) fn to_json(&self) -> Result<Json, BuiltinError> {
        match self.there.as_deref().unwrap_or_default() {
            [] => Ok(json!({ "changed": true })),
            files => Err(BuiltinError::Failed(format!(
                "meanwhile another task changed the same: {}. {}Where a file has lines of `<<<<<<<` and `>>>>>>>` now, both \
                 versions stand between them: make one of them that does what both were meant to do, and remove those \
                 lines. Where it has none, one task removed or renamed what the other changed: see to it that both are done",
                files.join(", "),
                self.others.iter().fold(String::new(), |text, other| text + other + ". "),
            ))),
        }
    }

    pub(super) fn write(&self, note: &Path) -> Result<(), BuiltinError> {
        let cannot =
            |error: io::Error| BuiltinError::Failed(format!("`{}` cannot be written: {error}", note.display()));
        let folder = note.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(cannot)?;
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(cannot)?;
        file.write_all(json!(self).to_string().as_bytes()).map_err(cannot)?;
        file.persist(note).map_err(|error| cannot(error.error))?;
        Ok(())
    }
}

impl BuiltinCall<'_> {
    /// What was last written down of this worktree's work, and where.
    pub(super) fn last_rebase(&self) -> Result<(PathBuf, Option<RebaseRecord>), BuiltinError> {
        let workspace = &self.executor.env().workspace;
        let name = worktrees::name_of(workspace).zip(GitDirs::of(workspace));
        let (name, places) = name.ok_or_else(|| BuiltinError::Failed("this is no worktree of ours".to_owned()))?;
        let note = places.shared.join("maestro").join("kept").join(name);
        match read_bounded(&note, MAX_BYTES) {
            Ok(text) => {
                let read = serde_json::from_slice(&text.bytes);
                let read = read.map_err(|error| format!("`{}` cannot be understood: {error}", note.display()))?;
                Ok((note, Some(read)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((note, None)),
            Err(error) => Err(BuiltinError::Failed(format!("`{}` cannot be read: {error}", note.display()))),
        }
    }
}
