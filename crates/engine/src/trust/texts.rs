//! Texts that a consent covers, kept so that the next question can show what changed since.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use maestro_core::workflow::pinned_definition::PinnedText;
use maestro_skills::read_bounded;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::subject::{ConsentPlace, CoverageError, CoveredCommands, FolderCache, file_hashes};

/// The largest text that is kept whole, and how much is kept of all together, in bytes.
const MAX_TEXT: usize = 128 * 1024;
const MAX_ALL: usize = 2 * 1024 * 1024;
/// How many files of folders are read.
const MAX_FILES: usize = 400;
/// The largest file of kept texts that is read.
const MAX_FILE: u64 = 16 * 1024 * 1024;
/// The directory of all of them, below our data.
const FOLDER: &str = "trusted";

/// What a consent covers, by name, word for word as far as it is text and not too large.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConsentTexts(BTreeMap<String, String>);

/// The subject of trust in a workflow, with its texts, read at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkflowTexts {
    /// The hash of all that.
    pub hash: String,
    /// The files of the project that it covers, with their hashes.
    pub files: BTreeMap<String, String>,
    /// The texts.
    pub texts: ConsentTexts,
}

impl ConsentTexts {
    /// One text.
    pub fn of_text(name: &str, text: &str) -> Self {
        let mut texts = Self::default();
        texts.add(name, text.as_bytes());
        texts
    }

    /// The commands of a setting, and the files that they execute.
    pub fn of_commands(name: &str, covered: &CoveredCommands) -> Self {
        let mut texts = Self::of_text(name, &covered.commands.join("\n"));
        for file in &covered.files {
            texts.add(&file.name, &file.bytes);
        }
        texts
    }

    /// The texts by their names.
    pub fn all(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// Adds a text. What is too large, or no text, is known by its size and hash.
    fn add(&mut self, name: &str, bytes: &[u8]) {
        let kept: usize = self.0.values().map(String::len).sum();
        let text = str::from_utf8(bytes).ok().filter(|text| text.len() <= MAX_TEXT && kept + text.len() <= MAX_ALL);
        let text = text.map_or_else(|| summary(bytes), str::to_owned);
        self.0.insert(name.to_owned(), text);
    }

    /// Keeps them for the consent with this hash.
    pub(super) fn keep(&self, home: &Path, hash: &str) -> io::Result<()> {
        let Some(path) = file(home, hash) else { return Ok(()) };
        let folder = path.parent().unwrap_or(home);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
        temporary.write_all(&serde_json::to_vec(self)?)?;
        temporary.persist(&path).map(drop).map_err(|error| error.error)
    }

    /// Those that were kept for the consent with this hash; nothing where none were, or they cannot be read.
    pub(super) fn kept(home: &Path, hash: &str) -> Option<Self> {
        let contents = read_bounded(&file(home, hash)?, MAX_FILE).ok().filter(|contents| !contents.cut)?;
        serde_json::from_slice(&contents.bytes).ok()
    }
}

impl WorkflowTexts {
    /// Reads what a workflow would execute. The files of folders are read from a copy of exactly what was hashed.
    pub fn read(
        home: &Path,
        place: ConsentPlace<'_>,
        definitions: &BTreeMap<String, PinnedText>,
    ) -> Result<Self, CoverageError> {
        let unreadable =
            |error: io::Error| CoverageError::Unreadable { path: home.to_owned(), reason: error.to_string() };
        let copies = private_folder(home).map_err(unreadable)?;
        let (mut cache, mut places) = (FolderCache::default(), Vec::new());
        let subject = cache.sealed_subject(place, definitions, &mut |folder| {
            let copy = copies.path().join(places.len().to_string());
            places.push((folder.to_owned(), copy.clone()));
            Some(copy)
        })?;
        let mut texts = ConsentTexts::default();
        for (name, kept) in definitions {
            texts.add(&format!("workflow {name}"), kept.text.as_bytes());
            for (resource, text) in &kept.resources {
                texts.add(&format!("workflow {name}, text {resource}"), text.as_bytes());
            }
        }
        for folder in &subject.folders {
            let copy = places.iter().find(|(original, _)| *original == folder.path).map(|(_, copy)| copy);
            for entry in folder.files.iter().take(MAX_FILES) {
                let name = folder.path.file_name().map(PathBuf::from).unwrap_or_default().join(&entry.name);
                // A link has no bytes of its own.
                if let Some(bytes) = copy.and_then(|copy| fs::read(copy.join(&entry.name)).ok()) {
                    texts.add(&name.to_string_lossy(), &bytes);
                }
            }
        }
        for file in &subject.files {
            texts.add(&file.name, &file.bytes);
        }
        Ok(Self { hash: subject.hash.clone(), files: file_hashes(&subject.files), texts })
    }
}

/// A folder for copies below our data, which ends with it.
fn private_folder(home: &Path) -> io::Result<TempDir> {
    let folder = home.join(FOLDER);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    tempfile::Builder::new().prefix("copy-").tempdir_in(folder)
}

fn summary(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes).iter().take(8).fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    format!("({} bytes, not shown; hash {hash})", bytes.len())
}

/// The file of a hash, which is one of ours.
fn file(home: &Path, hash: &str) -> Option<PathBuf> {
    let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| home.join(FOLDER).join(format!("{hash}.json")))
}
