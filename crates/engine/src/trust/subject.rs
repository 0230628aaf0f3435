//! Subject of a consent: every text that a workflow reaches, and every file of the skill folders that it may execute.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use maestro_core::workflow::Workflow;
use maestro_core::workflow::executions::{SkillDirUse, list_executions, skill_dir_use};
use maestro_core::workflow::pinned_definition::{PinnedDefinition, PinnedText};
use maestro_skills::SkillPack;
use sha2::{Digest, Sha256};

use super::folder::{FolderBounds, FolderSnapshot};
use crate::runs;

/// Why a workflow cannot be trusted: what it would execute is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CoverageError {
    /// A path in it may lead out of the skill's folder.
    #[error("`{written}` in `{workflow}` may lead out of the skill's folder, or to what git keeps there")]
    Left {
        /// The workflow.
        workflow: String,
        /// The path, as written.
        written: String,
    },
    /// The folder has too many files.
    #[error("`{}` has more than {most} files and directories, too many to look at before every command", folder.display())]
    TooMany {
        /// The folder.
        folder: PathBuf,
        /// How many it may have.
        most: usize,
    },
    /// The folder's files are too large.
    #[error("the files in `{}` have more than {} MiB, too many to look at before every command", folder.display(), most / 1024 / 1024)]
    TooLarge {
        /// The folder.
        folder: PathBuf,
        /// How many bytes they may have.
        most: u64,
    },
    /// Something in the folder, or all of it, cannot be read.
    #[error("`{}` cannot be read: {reason}", path.display())]
    Unreadable {
        /// What.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Something in the folder is neither a file nor a directory.
    #[error("`{}` is neither a file nor a directory", .0.display())]
    NoFile(
        /// What.
        PathBuf,
    ),
    /// A link leads to a directory elsewhere.
    #[error("`{}` is a link to a directory outside the skill's folder", .0.display())]
    LinkOut(
        /// The link.
        PathBuf,
    ),
}

/// The folders of skills as they are now. Each is read once, however many workflows belong to it.
#[derive(Debug, Default)]
pub struct FolderCache {
    read: BTreeMap<PathBuf, Result<FolderSnapshot, CoverageError>>,
}

impl FolderCache {
    /// The subject of trust in a workflow.
    pub fn subject(&mut self, definitions: &BTreeMap<String, PinnedText>) -> Result<ConsentSubject<'_>, CoverageError> {
        let paths = own_folders(definitions)?;
        for path in &paths {
            let known = self.read.entry(path.clone());
            known.or_insert_with(|| FolderSnapshot::read(path, FolderBounds::USUAL)).as_ref().map_err(Clone::clone)?;
        }
        let folders: Vec<&FolderSnapshot> =
            paths.iter().filter_map(|path| self.read.get(path)?.as_ref().ok()).collect();
        let texts = runs::hash(definitions);
        let hash = if folders.is_empty() { texts } else { with_folders(&texts, &folders) };
        Ok(ConsentSubject { hash, folders })
    }
}

/// The subject of trust in a workflow: every text it reaches, and the contents of the folders whose files it may
/// execute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsentSubject<'f> {
    /// The hash of all that. Without folders it equals the hash in a run.
    pub hash: String,
    /// Those folders.
    pub folders: Vec<&'f FolderSnapshot>,
}

fn with_folders(texts: &str, folders: &[&FolderSnapshot]) -> String {
    let mut hasher = Sha256::new();
    hasher.update("folders");
    hasher.update(texts);
    for folder in folders {
        let path = folder.path.to_string_lossy();
        hasher.update(path.len().to_le_bytes());
        hasher.update(path.as_bytes());
        hasher.update(folder.hash());
    }
    hex(&hasher.finalize())
}

/// The subject of trust in a project's configuration: its checks.
pub fn config_hash(verify: &[String]) -> String {
    commands_hash("config", verify)
}

/// The subject of trust in the setup of a project's worktrees.
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

/// The subject of trust in the agents that a project describes: every byte of the file.
pub fn agents_hash(text: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update("agents");
    hasher.update(text);
    hex(&hasher.finalize())
}

/// Whether definitions need consent: they would execute something, and they are not built in word for word.
pub fn needs_consent(definitions: &BTreeMap<String, PinnedText>) -> bool {
    let is_built_in = |name: &str, text: &str| {
        let files = match name.split_once('/') {
            Some((skill, other)) => vec![format!("{skill}/workflows/{other}.yaml")],
            None => vec![format!("{name}/workflow.yaml"), format!("{name}/skill.yaml")],
        };
        files.iter().any(|file| SkillPack::builtin_file(file).is_some_and(|built_in| *built_in == *text.as_bytes()))
    };
    let executes =
        |name: &str, kept: &PinnedText| parse_own(name, kept).is_none_or(|main| !list_executions(&main).is_empty());
    let foreign = definitions.iter().any(|(name, kept)| !is_built_in(name, &kept.text) && executes(name, kept));
    // A built-in text says which file is executed, not what is in it.
    foreign || !own_folders(definitions).is_ok_and(|folders| folders.is_empty())
}

/// One definition by itself; nothing where it is not valid.
fn parse_own(name: &str, kept: &PinnedText) -> Option<Workflow> {
    let pinned =
        PinnedDefinition { main: name.to_owned(), definitions: BTreeMap::from([(name.to_owned(), kept.clone())]) };
    pinned.definition().ok().map(|definition| definition.main)
}

/// The folders of skills from which definitions may execute files. Where none executes anything there are none,
/// whatever the definitions say about them.
fn own_folders(definitions: &BTreeMap<String, PinnedText>) -> Result<BTreeSet<PathBuf>, CoverageError> {
    let sound = definitions.iter().filter_map(|(name, kept)| Some((name, kept, parse_own(name, kept)?)));
    let sound: Vec<(&String, &PinnedText, Workflow)> = sound.collect();
    let mut folders = BTreeSet::new();
    if sound.iter().all(|(.., workflow)| list_executions(workflow).is_empty()) {
        return Ok(folders);
    }
    for (name, kept, workflow) in &sound {
        match skill_dir_use(workflow) {
            SkillDirUse::Unused => {}
            SkillDirUse::Used => drop(folders.insert(Path::new(&kept.folder).to_owned())),
            SkillDirUse::Left(written) => {
                return Err(CoverageError::Left { workflow: (*name).clone(), written: written.to_owned() });
            }
        }
    }
    Ok(folders)
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
    use super::*;

    fn hash(definitions: &BTreeMap<String, PinnedText>) -> Result<String, CoverageError> {
        FolderCache::default().subject(definitions).map(|subject| subject.hash)
    }

    #[test]
    fn what_came_with_the_program_or_executes_nothing_needs_no_consent() {
        let kept = |text: &str| PinnedText { text: text.into(), folder: "/s".into(), resources: BTreeMap::new() };
        let built_in = SkillPack::builtin_file("session-start/workflow.yaml").unwrap();
        let text = str::from_utf8(&built_in).unwrap();
        let name = "session-start".to_owned();
        let changed = text.replacen("maestro", "rm", 1);
        assert!(!needs_consent(&BTreeMap::from([(name.clone(), kept(text))])));
        assert!(needs_consent(&BTreeMap::from([(name.clone(), kept(&changed))])));
        assert!(needs_consent(&BTreeMap::from([("other".to_owned(), kept(text))])));
        let told = "name: a\ndescription: Says.\nsteps:\n  - {id: one, type: agent, next: {ok: end, fail: end}}\n";
        assert!(!needs_consent(&BTreeMap::from([("a".to_owned(), kept(told)), (name, kept(text))])));
    }

    /// A definition with one command, of a skill in a folder.
    fn of(folder: &Path, command: &str) -> BTreeMap<String, PinnedText> {
        let command = serde_json::Value::from(command);
        let text = format!("name: a\ndescription: Does.\nsteps:\n  - {{id: one, type: command, command: {command}}}\n");
        let kept = PinnedText { text, folder: folder.display().to_string(), resources: BTreeMap::new() };
        BTreeMap::from([("a".to_owned(), kept)])
    }

    #[test]
    fn without_files_of_the_skill_it_is_what_a_run_is_kept_by() {
        let plain = of(Path::new("/absent"), "ls -l");
        assert!(needs_consent(&plain));
        assert_eq!(hash(&plain), Ok(runs::hash(&plain)));
        assert_ne!(config_hash(&["a b".into()]), config_hash(&["a".into(), "b".into()]));
    }

    #[test]
    fn however_the_folder_is_named_its_contents_are_part_of_what_is_trusted() {
        let commands = [
            "{skill_dir}/run.sh",
            "sh {skill_dir}//run.sh",
            "sh {skill_dir}/./run.sh",
            "sh '{skill_dir}/run{{.sh'",
            "make -C {skill_dir}",
            "bash --rcfile={skill_dir}/run.sh",
        ];
        for command in commands {
            let dir = tempfile::tempdir().unwrap();
            let own = of(dir.path(), command);
            assert!(needs_consent(&own), "{command}");
            let mut hashes = vec![Ok(runs::hash(&own)), hash(&own)];
            for (file, text) in [("run.sh", ""), ("run.sh", "rm -rf /"), ("run{.sh", ""), ("neighbour.sh", "")] {
                std::fs::write(dir.path().join(file), text).unwrap();
                hashes.push(hash(&own));
            }
            let different: BTreeSet<&String> = hashes.iter().map(|hash| hash.as_ref().unwrap()).collect();
            assert_eq!(different.len(), hashes.len(), "{command}: {hashes:?}");
        }
    }

    #[test]
    fn a_path_that_may_lead_out_of_the_folder_cannot_be_allowed() {
        let dir = tempfile::tempdir().unwrap();
        let own = of(dir.path(), "sh {skill_dir}/a/../run.sh");
        assert!(needs_consent(&own));
        let left = CoverageError::Left { workflow: "a".into(), written: "{skill_dir}/a/../run.sh".into() };
        assert_eq!(hash(&own), Err(left));
    }
}
