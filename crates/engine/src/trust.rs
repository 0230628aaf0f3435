//! What has somebody allowed to be executed?
//!
//! A consent is about contents: whatever changes one byte of what would be executed needs another one. Consents are
//! kept in a file of the user's own, which nothing that we start can reach but our own program.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use maestro_core::settings::Setting;
use maestro_core::workflow::Workflow;
use maestro_core::workflow::orders::orders;
use maestro_core::workflow::pinned::{Pinned, PinnedText};
use maestro_skills::{Pack, read_bounded};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::runs;

/// How the file is written.
const VERSION: u32 = 1;
/// How many bytes it may have.
const MAX_BYTES: u64 = 1024 * 1024;
/// How many bytes of a program of a skill's own are looked at.
const MAX_PROGRAM: u64 = 16 * 1024 * 1024;

/// What somebody consented to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    /// What kind of thing it is.
    pub kind: Kind,
    /// What it is called.
    pub name: String,
    /// The hash of what it would execute.
    pub hash: String,
    /// Where it was.
    pub path: PathBuf,
    /// When, in milliseconds.
    pub at: i64,
}

/// What one can consent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A workflow with everything it reaches.
    Workflow,
    /// What a project's configuration would run.
    Config,
    /// The agents that a project describes.
    Agents,
}

impl Kind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Workflow => "workflow",
            Self::Config => "config",
            Self::Agents => "agents",
        }
    }
}

/// Why consents cannot be known or changed.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file is there and cannot be read.
    #[error("`{}` cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file says something else than consents.
    #[error("`{}` is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// In which way.
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
struct Kept {
    version: u32,
    consents: Vec<Consent>,
}

/// What somebody has allowed.
#[derive(Debug)]
pub struct Trust {
    path: PathBuf,
    consents: Vec<Consent>,
}

impl Trust {
    /// What is known of it. Without a file nothing is allowed; a damaged one is an error and no empty one.
    pub fn load(home: &Path) -> Result<Self, TrustError> {
        let path = home.join("trust.json");
        let consents = read(&path)?;
        Ok(Self { path, consents })
    }

    /// Every consent, the oldest first.
    pub fn consents(&self) -> &[Consent] {
        &self.consents
    }

    /// Whether what has this hash may be executed.
    pub fn allows(&self, hash: &str) -> bool {
        self.consents.iter().any(|consent| consent.hash == hash)
    }

    /// Whether checks may be run: the user's own always, a project's with consent.
    pub fn allows_checks(&self, verify: &Setting<Vec<String>>) -> bool {
        !verify.origin.comes_with_project() || self.allows(&config_hash(&verify.value))
    }

    /// Whether what makes worktrees ready may be run: the user's own always, a project's with consent.
    pub fn allows_setup(&self, setup: &Setting<Vec<String>>) -> bool {
        !setup.origin.comes_with_project() || self.allows(&setup_hash(&setup.value))
    }

    /// Adds a consent, unless it is there.
    pub fn add(&mut self, consent: Consent) -> Result<(), TrustError> {
        self.change(|consents| {
            if !consents.iter().any(|known| known.hash == consent.hash) {
                consents.push(consent);
            }
        })
    }

    /// Takes consents back, by name or hash (or the beginning of one), and returns them.
    pub fn revoke(&mut self, what: &str) -> Result<Vec<Consent>, TrustError> {
        let by_hash = |consent: &Consent| what.len() >= 8 && consent.hash.starts_with(what);
        let mut revoked = Vec::new();
        self.change(|consents| {
            revoked = consents.extract_if(.., |consent| consent.name == what || by_hash(consent)).collect();
        })?;
        Ok(revoked)
    }

    /// Changes the file as it is now, not as it was when it was loaded; nobody else does so meanwhile.
    fn change(&mut self, change: impl FnOnce(&mut Vec<Consent>)) -> Result<(), TrustError> {
        let unwritable = |source| TrustError::Unwritable { path: self.path.clone(), source };
        let dir = self.path.parent().unwrap_or(Path::new("/"));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(unwritable)?;
        let lock = File::create(self.path.with_extension("lock")).map_err(unwritable)?;
        flock(&lock, FlockOperation::LockExclusive).map_err(|error| unwritable(error.into()))?;
        let mut consents = read(&self.path)?;
        change(&mut consents);
        let kept = Kept { version: VERSION, consents };
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

fn read(path: &Path) -> Result<Vec<Consent>, TrustError> {
    let damaged = |reason: String| TrustError::Damaged { path: path.to_owned(), reason };
    let contents = match read_bounded(path, MAX_BYTES) {
        Ok(contents) => contents,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(TrustError::Unreadable { path: path.to_owned(), source }),
    };
    if contents.cut {
        return Err(damaged(format!("it has more than {MAX_BYTES} bytes")));
    }
    let kept: Kept = serde_json::from_slice(&contents.bytes).map_err(|error| damaged(error.to_string()))?;
    match kept.version {
        VERSION => Ok(kept.consents),
        version => Err(damaged(format!("it has version {version}, and this Maestro knows version {VERSION}"))),
    }
}

/// What somebody consents to when they trust a workflow: every text it reaches, and the contents of every file of a
/// skill's folder that it would execute. Without such files it is what a run is kept by.
pub fn hash(definitions: &BTreeMap<String, PinnedText>) -> String {
    let texts = runs::hash(definitions);
    let programs = own_programs(definitions);
    if programs.is_empty() {
        return texts;
    }
    let mut hasher = Sha256::new();
    hasher.update(texts);
    for program in programs {
        let path = program.to_string_lossy();
        hasher.update(path.len().to_le_bytes());
        hasher.update(path.as_bytes());
        // What cannot be read cannot be executed, either; once it can be, the hash is another one.
        let contents = read_bounded(&program, MAX_PROGRAM).ok().filter(|contents| !contents.cut);
        hasher.update([u8::from(contents.is_some())]);
        hasher.update(Sha256::digest(contents.map(|contents| contents.bytes).unwrap_or_default()));
    }
    hex(&hasher.finalize())
}

/// What somebody consents to when they trust a project's configuration: the checks it names.
pub fn config_hash(verify: &[String]) -> String {
    commands_hash("config", verify)
}

/// What somebody consents to when they trust what makes a project's worktrees ready.
pub fn setup_hash(setup: &[String]) -> String {
    commands_hash("setup", setup)
}

fn commands_hash(kind: &str, commands: &[String]) -> String {
    let mut hasher = Sha256::new();
    hasher.update(kind);
    for command in commands {
        hasher.update(command.len().to_le_bytes());
        hasher.update(command.as_bytes());
    }
    hex(&hasher.finalize())
}

/// What somebody consents to when they trust the agents that a project describes: every byte of the file.
pub fn agents_hash(text: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update("agents");
    hasher.update(text);
    hex(&hasher.finalize())
}

/// Whether anybody must consent before definitions are executed: they would execute something, and it did not come with
/// the program, word for word.
pub fn needs_consent(definitions: &BTreeMap<String, PinnedText>) -> bool {
    let is_built_in = |name: &str, text: &str| {
        let files = match name.split_once('/') {
            Some((skill, other)) => vec![format!("{skill}/workflows/{other}.yaml")],
            None => vec![format!("{name}/workflow.yaml"), format!("{name}/skill.yaml")],
        };
        files.iter().any(|file| Pack::builtin_file(file).is_some_and(|built_in| *built_in == *text.as_bytes()))
    };
    let executes = |name: &str, kept: &PinnedText| own(name, kept).is_none_or(|main| !orders(&main).is_empty());
    let foreign = definitions.iter().any(|(name, kept)| !is_built_in(name, &kept.text) && executes(name, kept));
    // A built-in text says which file is executed, not what is in it.
    foreign || !own_programs(definitions).is_empty()
}

/// One definition by itself; nothing where it is no sound one.
fn own(name: &str, kept: &PinnedText) -> Option<Workflow> {
    let pinned = Pinned { main: name.to_owned(), definitions: BTreeMap::from([(name.to_owned(), kept.clone())]) };
    pinned.definition().ok().map(|definition| definition.main)
}

/// The files of skills' folders that definitions would execute, or hand to what they execute, each once.
pub fn own_programs(definitions: &BTreeMap<String, PinnedText>) -> Vec<PathBuf> {
    let mut programs = Vec::new();
    for (name, kept) in definitions {
        let Some(main) = own(name, kept) else { continue };
        let orders = orders(&main);
        let files = orders.iter().flat_map(|order| order.action.own_files());
        programs.extend(files.map(|file| Path::new(&kept.folder).join(file)));
    }
    programs.sort();
    programs.dedup();
    programs
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn consent(name: &str, hash: &str) -> Consent {
        Consent { kind: Kind::Workflow, name: name.into(), hash: hash.into(), path: "/w".into(), at: 7 }
    }

    #[test]
    fn consents_are_kept_for_their_owner_and_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        let mut trust = Trust::load(&home).unwrap();
        assert!(!trust.allows("aaaaaaaaaa"));
        trust.add(consent("one", "aaaaaaaaaa")).unwrap();
        // Somebody else who loaded it before does not undo that.
        let mut other = Trust { path: home.join("trust.json"), consents: Vec::new() };
        other.add(consent("two", "bbbbbbbbbb")).unwrap();
        other.add(consent("two", "bbbbbbbbbb")).unwrap();
        let mut trust = Trust::load(&home).unwrap();
        assert!(trust.allows("aaaaaaaaaa") && trust.allows("bbbbbbbbbb"));
        assert_eq!(trust.consents().len(), 2);
        let mode = fs::metadata(home.join("trust.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(trust.revoke("one").unwrap(), [consent("one", "aaaaaaaaaa")]);
        assert_eq!(trust.revoke("bbbbbbbb").unwrap().len(), 1);
        assert_eq!(trust.revoke("bb").unwrap(), []);
        assert!(Trust::load(&home).unwrap().consents().is_empty());
    }

    #[test]
    fn a_damaged_file_allows_nothing_and_is_not_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trust.json");
        for text in ["", "{}", "{\"version\": 2, \"consents\": []}", &"x".repeat(2_000_000)] {
            fs::write(&path, text).unwrap();
            assert!(matches!(Trust::load(dir.path()), Err(TrustError::Damaged { .. })), "{}", text.len());
            let mut trust = Trust { path: path.clone(), consents: Vec::new() };
            assert!(trust.add(consent("one", "a")).is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn what_came_with_the_program_or_executes_nothing_needs_no_consent() {
        let kept = |text: &str| PinnedText { text: text.into(), folder: "/s".into(), resources: BTreeMap::new() };
        let built_in = Pack::builtin_file("session-start/workflow.yaml").unwrap();
        let text = str::from_utf8(&built_in).unwrap();
        let name = "session-start".to_owned();
        let changed = text.replacen("maestro", "rm", 1);
        assert!(!needs_consent(&BTreeMap::from([(name.clone(), kept(text))])));
        assert!(needs_consent(&BTreeMap::from([(name.clone(), kept(&changed))])));
        assert!(needs_consent(&BTreeMap::from([("other".to_owned(), kept(text))])));
        let told = "name: a\ndescription: Says.\nsteps:\n  - {id: one, type: agent, next: {ok: end, fail: end}}\n";
        assert!(!needs_consent(&BTreeMap::from([("a".to_owned(), kept(told)), (name, kept(text))])));
    }

    #[test]
    fn a_program_of_the_skill_is_part_of_what_is_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let text = |command: &str| {
            let steps = format!("steps:\n  - {{id: one, type: command, command: \"{command}\"}}\n");
            let folder = dir.path().display().to_string();
            let kept = PinnedText {
                text: format!("name: a\ndescription: Does.\n{steps}"),
                folder,
                resources: BTreeMap::new(),
            };
            BTreeMap::from([("a".to_owned(), kept)])
        };
        let plain = text("ls -l");
        assert!(needs_consent(&plain) && needs_consent(&text("{skill_dir}/run.sh")));
        assert_eq!(hash(&plain), runs::hash(&plain));
        let own = text("{skill_dir}/run.sh");
        let absent = hash(&own);
        fs::write(dir.path().join("run.sh"), "").unwrap();
        let empty = hash(&own);
        fs::write(dir.path().join("run.sh"), "rm -rf /").unwrap();
        let hashes = [absent, empty, hash(&own), runs::hash(&own)];
        let mut different = hashes.to_vec();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), 4, "{hashes:?}");
        assert_ne!(config_hash(&["a b".into()]), config_hash(&["a".into(), "b".into()]));
    }
}
