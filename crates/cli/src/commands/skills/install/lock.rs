//! `skills-lock.json`: where the skills of a project come from. The `skills` CLI reads and writes the same file.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use maestro_skills::{FileWrite, name_fault};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use sha2::{Digest as _, Sha256};

use crate::host::files;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::output::screen::clean;

const FILE: &str = "skills-lock.json";

/// The file, with what others keep in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct SkillLock {
    version: u32,
    #[serde(default)]
    pub(super) skills: BTreeMap<String, LockedSkill>,
    #[serde(flatten)]
    more: Map<String, Json>,
}

/// Where a skill comes from, and what it contained.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LockedSkill {
    /// `owner/repo`, a git address, a folder or an archive.
    pub(super) source: String,
    /// `github`, `git` or `local`.
    pub(super) source_type: String,
    /// The branch or tag that was asked for.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub(super) reference: Option<String>,
    /// The skill's leading file in its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) skill_path: Option<String>,
    /// The commit that it was taken from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) commit: Option<String>,
    /// The hash of its files.
    pub(super) computed_hash: String,
    #[serde(flatten)]
    pub(super) more: Map<String, Json>,
}

impl SkillLock {
    pub(super) fn read(project: &Path) -> CommandResult<Self> {
        let path = project.join(FILE);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { version: 1, skills: BTreeMap::new(), more: Map::new() });
            }
            Err(error) => return Err(CommandError::io(format!("cannot read {FILE}"), &error)),
        };
        let lock: Self = serde_json::from_str(&text).map_err(|error| {
            CommandError::invalid(format!("{FILE} cannot be read")).because(&error).hint("fix or delete the file")
        })?;
        // The file comes with the project, and a name becomes a folder's.
        match lock.skills.keys().find(|name| name_fault(name).is_some()) {
            Some(name) => Err(CommandError::invalid(format!("{FILE} names a skill `{}`", clean(name)))
                .hint("a skill's name has small letters, digits and hyphens only: remove the entry")),
            None => Ok(lock),
        }
    }

    pub(super) fn write(&self, project: &Path) -> CommandResult<()> {
        let path = project.join(FILE);
        let failed =
            |error: &(dyn std::error::Error + 'static)| CommandError::io(format!("cannot write {FILE}"), error);
        let text = serde_json::to_string_pretty(self).map_err(|error| failed(&error))? + "\n";
        let written = if path.exists() { files::replace(&path, &text) } else { files::create(&path, &text) };
        written.map_err(|error| failed(&error))
    }
}

/// The hash of a skill's files as the `skills` CLI computes it: paths and contents, in the order of its language.
pub(super) fn content_hash(contents: &[FileWrite]) -> String {
    let mut named: Vec<(String, &FileWrite)> =
        contents.iter().map(|file| (file.path.to_string_lossy().into_owned(), file)).collect();
    named.sort_by(|(one, _), (other, _)| compare(one, other));
    let mut hash = Sha256::new();
    for (path, file) in named {
        hash.update(path.as_bytes());
        hash.update(&file.bytes);
    }
    hash.finalize().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The order of characters in the Unicode collation: marks, digits, letters whatever their case.
const MARKS: &str = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

fn weight(letter: char) -> (u32, u32) {
    match MARKS.find(letter) {
        Some(position) => (0, u32::try_from(position).unwrap_or_default()),
        None if letter.is_ascii_digit() => (1, u32::from(letter)),
        None => (2, u32::from(letter.to_ascii_lowercase())),
    }
}

/// Paths as JavaScript's `localeCompare` orders them, for ASCII; where only the case differs, small letters come first.
fn compare(one: &str, other: &str) -> Ordering {
    let case = |text: &str| text.chars().map(|letter| letter.is_ascii_uppercase()).collect::<Vec<_>>();
    one.chars().map(weight).cmp(other.chars().map(weight)).then_with(|| case(one).cmp(&case(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_ordered_as_the_other_program_orders_them() {
        let mut paths = [
            "SKILL.md",
            "scripts/b.py",
            "README.md",
            "references/a.md",
            "_x",
            "0.txt",
            "scripts-old/a",
            "a.md",
            "A.md",
        ];
        paths.sort_by(|one, other| compare(one, other));
        let expected = [
            "_x",
            "0.txt",
            "a.md",
            "A.md",
            "README.md",
            "references/a.md",
            "scripts-old/a",
            "scripts/b.py",
            "SKILL.md",
        ];
        assert_eq!(paths, expected);
    }

    #[test]
    fn what_others_keep_in_the_file_stays() {
        let text = r#"{"version":1,"skills":{"pdf":{"source":"a/b","sourceType":"github","computedHash":"x","pluginName":"p"}},"note":1}"#;
        let lock: SkillLock = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&lock).unwrap(), text);
    }
}
