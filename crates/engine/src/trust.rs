//! Consents of the user to execute things.
//!
//! A consent is about contents: a change of one byte of what would be executed needs another one. Consents are kept in
//! a file of the user, which nothing that we start can reach but our own program.

mod covered;
mod folder;
mod question;
mod subject;
mod texts;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use maestro_core::workflow::run::AnswerAuthor;
use maestro_skills::read_bounded;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

pub use covered::CoveredFile;
pub(crate) use covered::{below_folder, runs_files};
pub use folder::{FolderEntry, FolderSnapshot};
pub use question::{ConsentQuestion, ConsentStanding};
pub use subject::{
    CommandsSetting, ConsentPlace, ConsentSubject, CoverageError, CoveredCommands, FolderCache, agents_hash, demo_hash,
    file_hashes, needs_consent, prompt_hash,
};
pub use texts::{ConsentTexts, WorkflowTexts};

/// The version of the file format.
const VERSION: u32 = 2;
/// The version whose consents were for words alone, in any project.
const UNBOUND: u32 = 1;
/// The largest file, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// A consent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    /// The kind of thing.
    pub kind: ConsentKind,
    /// Its name.
    pub name: String,
    /// The hash of what it would execute.
    pub hash: String,
    /// Where it was.
    pub path: PathBuf,
    /// The project it holds for.
    #[serde(default)]
    pub project: PathBuf,
    /// The files of the project that it covers, with their hashes.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// When, in milliseconds.
    pub at: i64,
    /// Who gave it.
    #[serde(default)]
    pub by: AnswerAuthor,
}

maestro_core::word_enum! {
    /// What a consent can be about.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ConsentKind {
        /// A workflow with everything it calls.
        Workflow = "workflow",
        /// The commands of a project's configuration.
        Config = "config",
        /// The agents that a project describes.
        Agents = "agents",
        /// A project's own words for its agents.
        Prompt = "prompt",
    }
}

/// Why consents cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file exists and cannot be read.
    #[error("`{}` cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file does not hold consents.
    #[error("`{}` is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file cannot be written.
    #[error("`{}` cannot be written", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct TrustFile {
    version: u32,
    consents: Vec<Consent>,
}

/// The consents of the user.
#[derive(Debug)]
pub struct TrustStore {
    path: PathBuf,
    consents: Vec<Consent>,
    /// How many consents no longer count, because they were not bound to a project.
    outdated: usize,
}

impl TrustStore {
    /// Loads the consents. Without a file nothing is allowed; a damaged file is an error, not an empty one.
    pub fn load(home: &Path) -> Result<Self, TrustError> {
        let path = home.join("trust.json");
        let (consents, outdated) = read(&path)?;
        Ok(Self { path, consents, outdated })
    }

    /// Why something that was allowed once may have to be allowed again, if so.
    pub fn outdated_note(&self) -> Option<String> {
        let noun = if self.outdated == 1 { "consent" } else { "consents" };
        (self.outdated > 0).then(|| {
            format!(
                "{} {noun} of an earlier version no longer count: they held for any project and did not cover files; \
                 review and allow again what you need",
                self.outdated
            )
        })
    }

    /// The files that changed since something of this kind was last allowed in a project.
    pub fn changed_files(&self, kind: ConsentKind, project: &Path, files: &[CoveredFile]) -> Vec<String> {
        let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
        let of_project = |consent: &&Consent| consent.kind == kind && consent.project == project;
        let now = file_hashes(files);
        let Some(last) = self.consents.iter().rev().filter(of_project).find(|consent| !consent.files.is_empty()) else {
            return Vec::new();
        };
        let names: BTreeSet<&String> = last.files.keys().chain(now.keys()).collect();
        names.into_iter().filter(|name| last.files.get(*name) != now.get(*name)).cloned().collect()
    }

    /// Every consent, oldest first.
    pub fn consents(&self) -> &[Consent] {
        &self.consents
    }

    /// Whether content with this hash may be executed.
    pub fn allows(&self, hash: &str) -> bool {
        self.consents.iter().any(|consent| consent.hash == hash)
    }

    /// Adds a consent, unless it exists.
    pub fn add(&mut self, consent: Consent) -> Result<(), TrustError> {
        self.change(|consents| {
            if !consents.iter().any(|known| known.hash == consent.hash) {
                consents.push(consent);
            }
        })
    }

    /// Removes consents by name, hash or the start of a hash, and returns them.
    pub fn revoke(&mut self, what: &str) -> Result<Vec<Consent>, TrustError> {
        let by_hash = |consent: &Consent| what.len() >= 8 && consent.hash.starts_with(what);
        let mut revoked = Vec::new();
        self.change(|consents| {
            revoked = consents.extract_if(.., |consent| consent.name == what || by_hash(consent)).collect();
        })?;
        Ok(revoked)
    }

    /// Changes the file as it is now, not as it was when loaded, under a lock.
    fn change(&mut self, change: impl FnOnce(&mut Vec<Consent>)) -> Result<(), TrustError> {
        let unwritable = |source| TrustError::Unwritable { path: self.path.clone(), source };
        let dir = self.path.parent().unwrap_or(Path::new("/"));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(unwritable)?;
        let lock = File::create(self.path.with_extension("lock")).map_err(unwritable)?;
        flock(&lock, FlockOperation::LockExclusive).map_err(|error| unwritable(error.into()))?;
        let (mut consents, _) = read(&self.path)?;
        change(&mut consents);
        let kept = TrustFile { version: VERSION, consents };
        let write = || -> io::Result<()> {
            let mut temporary = tempfile::NamedTempFile::new_in(dir)?;
            temporary.write_all(&serde_json::to_vec_pretty(&kept)?)?;
            temporary.as_file().sync_all()?;
            temporary.persist(&self.path).map(drop).map_err(|error| error.error)
        };
        write().map_err(unwritable)?;
        self.consents = kept.consents;
        Ok(())
    }
}

/// The consents that count, and how many do not any more.
fn read(path: &Path) -> Result<(Vec<Consent>, usize), TrustError> {
    let damaged = |reason: String| TrustError::Damaged { path: path.to_owned(), reason };
    let contents = match read_bounded(path, MAX_BYTES) {
        Ok(contents) => contents,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((Vec::new(), 0)),
        Err(source) => return Err(TrustError::Unreadable { path: path.to_owned(), source }),
    };
    if contents.cut {
        return Err(damaged(format!("it has more than {MAX_BYTES} bytes")));
    }
    let kept: TrustFile = serde_json::from_slice(&contents.bytes).map_err(|error| damaged(error.to_string()))?;
    match kept.version {
        VERSION => Ok((kept.consents, 0)),
        UNBOUND => Ok((Vec::new(), kept.consents.len())),
        version => Err(damaged(format!("it has version {version}, but this Maestro supports version {VERSION}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn consent(name: &str, hash: &str) -> Consent {
        let (project, files) = ("/p".into(), BTreeMap::new());
        Consent {
            kind: ConsentKind::Workflow,
            name: name.into(),
            hash: hash.into(),
            path: "/w".into(),
            project,
            files,
            at: 7,
            by: AnswerAuthor::User,
        }
    }

    #[test]
    fn consents_are_kept_for_their_owner_and_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        let mut trust = TrustStore::load(&home).unwrap();
        assert!(!trust.allows("aaaaaaaaaa"));
        trust.add(consent("one", "aaaaaaaaaa")).unwrap();
        // Another process that loaded it before does not undo that.
        let mut other = TrustStore { path: home.join("trust.json"), consents: Vec::new(), outdated: 0 };
        other.add(consent("two", "bbbbbbbbbb")).unwrap();
        other.add(consent("two", "bbbbbbbbbb")).unwrap();
        let mut trust = TrustStore::load(&home).unwrap();
        assert!(trust.allows("aaaaaaaaaa") && trust.allows("bbbbbbbbbb"));
        assert_eq!(trust.consents().len(), 2);
        let mode = fs::metadata(home.join("trust.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(trust.revoke("one").unwrap(), [consent("one", "aaaaaaaaaa")]);
        assert_eq!(trust.revoke("bbbbbbbb").unwrap().len(), 1);
        assert_eq!(trust.revoke("bb").unwrap(), []);
        assert!(TrustStore::load(&home).unwrap().consents().is_empty());
    }

    #[test]
    fn consents_of_an_earlier_version_are_asked_for_again() {
        let dir = tempfile::tempdir().unwrap();
        let old = r#"{"version": 1, "consents": [{"kind": "config", "name": "shop", "hash": "aaaaaaaaaa", "path": "/c", "at": 1}]}"#;
        fs::write(dir.path().join("trust.json"), old).unwrap();
        let mut trust = TrustStore::load(dir.path()).unwrap();
        assert!(!trust.allows("aaaaaaaaaa"));
        assert!(trust.outdated_note().unwrap().starts_with("1 consent of an earlier version no longer count"));
        trust.add(consent("one", "bbbbbbbbbb")).unwrap();
        let trust = TrustStore::load(dir.path()).unwrap();
        assert_eq!((trust.consents().len(), trust.outdated_note()), (1, None));
    }

    #[test]
    fn a_damaged_file_allows_nothing_and_is_not_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trust.json");
        for text in ["", "{}", "{\"version\": 3, \"consents\": []}", &"x".repeat(2_000_000)] {
            fs::write(&path, text).unwrap();
            assert!(matches!(TrustStore::load(dir.path()), Err(TrustError::Damaged { .. })), "{}", text.len());
            let mut trust = TrustStore { path: path.clone(), consents: Vec::new(), outdated: 0 };
            assert!(trust.add(consent("one", "a")).is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }
}
