//! Files of a skill besides its text.
//!
//! They are listed and never read. Links are not followed, and the listing has an end however large the folder is.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use crate::directory::{FileKind, OpenDirectory};
use crate::scan::IGNORED;
use crate::skill::Skill;

/// How many files are named.
const MOST_FILES: usize = 50;
/// How many entries are looked at.
const MOST_ENTRIES: usize = 5_000;
/// How deep.
const MOST_LEVELS: usize = 6;

/// The files of a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkillResources {
    /// Their paths below the skill's directory, sorted.
    pub files: Vec<PathBuf>,
    /// How many more there are.
    pub omitted: usize,
    /// Whether the folder has more than was listed.
    pub incomplete: bool,
}

impl SkillResources {
    /// What is said about files that are not named.
    pub(super) fn more(&self) -> Option<String> {
        let noun = if self.omitted == 1 { "file" } else { "files" };
        match (self.omitted, self.incomplete) {
            (0, false) => None,
            (0, true) => Some("… and more files".to_owned()),
            (count, false) => Some(format!("… and {count} more {noun}")),
            (count, true) => Some(format!("… and at least {count} more {noun}")),
        }
    }
}

/// Lists the files of a skill, without the one its text is in. A directory that cannot be read has none.
pub fn resources(skill: &Skill) -> SkillResources {
    let mut found = SkillResources::default();
    let mut level = vec![PathBuf::new()];
    let looked_at = Cell::new(0);
    let is_text = |path: &Path| {
        path.to_str().is_some_and(|name| name == skill.file || skill.instructions.as_deref() == Some(name))
    };
    for _ in 0..MOST_LEVELS {
        let mut below = Vec::new();
        for relative in level.into_iter().take_while(|_| looked_at.get() <= MOST_ENTRIES) {
            let directory = skill.path.join(&relative);
            let listed = OpenDirectory::open(&directory).and_then(|open| {
                open.for_each_entry(|name, kind| {
                    looked_at.set(looked_at.get() + 1);
                    if looked_at.get() > MOST_ENTRIES {
                        return;
                    }
                    let path = relative.join(name);
                    match kind {
                        FileKind::File if !is_text(&path) => found.files.push(path),
                        FileKind::Directory if !IGNORED.iter().any(|&ignored| name == ignored) => below.push(path),
                        _ => {}
                    }
                })
            });
            if let Err(error) = listed {
                // What could be listed before the failure is still there.
                tracing::warn!(path = %directory.display(), "the files of a skill cannot all be listed: {error}");
            }
        }
        level = below;
    }
    found.incomplete = looked_at.get() > MOST_ENTRIES || !level.is_empty();
    found.files.sort();
    found.omitted = found.files.len().saturating_sub(MOST_FILES);
    found.files.truncate(MOST_FILES);
    found
}
