//! Subject of a consent: every text that a workflow reaches, and every file of the skill folders that it may execute.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use maestro_core::workflow::Workflow;
use maestro_core::workflow::command_words::split_words;
use maestro_core::workflow::executions::{
    ConsentExecution, SkillDirUse, list_executions, list_sessions, skill_dir_use,
};
use maestro_core::workflow::pinned_definition::{PinnedDefinition, PinnedText};
use sha2::{Digest, Sha256};

use super::covered::{CommandWords, CoveredFile, covered_files};
use super::folder::{FolderBounds, FolderSnapshot};
use crate::runs;
use crate::workflows::pack_text;

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

/// Where something is executed: the consent holds for this project only.
#[derive(Debug, Clone, Copy)]
pub struct ConsentPlace<'p> {
    /// The project.
    pub project: &'p Path,
    /// The directory that commands run in: the project, or one of its worktrees.
    pub workspace: &'p Path,
}

impl<'p> ConsentPlace<'p> {
    /// A project, in which commands run.
    pub fn project(project: &'p Path) -> Self {
        Self { project, workspace: project }
    }
}

/// The folders of skills as they are now. Each is read once, however many workflows belong to it.
#[derive(Debug, Default)]
pub struct FolderCache {
    read: BTreeMap<PathBuf, Result<FolderSnapshot, CoverageError>>,
}

impl FolderCache {
    /// The subject of trust in a workflow.
    pub fn subject(
        &mut self,
        place: ConsentPlace<'_>,
        definitions: &BTreeMap<String, PinnedText>,
    ) -> Result<ConsentSubject<'_>, CoverageError> {
        self.sealed_subject(place, definitions, &mut |_| None)
    }

    /// The same, with a copy of each folder where the caller wants one.
    pub fn sealed_subject(
        &mut self,
        place: ConsentPlace<'_>,
        definitions: &BTreeMap<String, PinnedText>,
        copy: &mut dyn FnMut(&Path) -> Option<PathBuf>,
    ) -> Result<ConsentSubject<'_>, CoverageError> {
        let paths = own_folders(definitions)?;
        for path in &paths {
            let read = || FolderSnapshot::read(path, FolderBounds::USUAL, copy(path).as_deref());
            self.read.entry(path.clone()).or_insert_with(read).as_ref().map_err(Clone::clone)?;
        }
        let folders: Vec<&FolderSnapshot> =
            paths.iter().filter_map(|path| self.read.get(path)?.as_ref().ok()).collect();
        let files = covered_files(place.workspace, &literal_commands(definitions))?;
        let mut hasher = SubjectHasher::new("workflow", place.project);
        hasher.add(runs::hash(definitions).as_bytes());
        for folder in &folders {
            hasher.add(folder.path.as_os_str().as_encoded_bytes());
            hasher.add(folder.hash());
        }
        hasher.add_files(&files);
        Ok(ConsentSubject { hash: hasher.finish(), folders, files })
    }
}

/// The subject of trust in a workflow: every text it reaches, the contents of the folders whose files it may execute,
/// and the files of the project that its commands name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsentSubject<'f> {
    /// The hash of all that and of the project.
    pub hash: String,
    /// Those folders.
    pub folders: Vec<&'f FolderSnapshot>,
    /// Those files.
    pub files: Vec<CoveredFile>,
}

/// The words of all commands of definitions, as far as they are written out.
fn literal_commands(definitions: &BTreeMap<String, PinnedText>) -> Vec<CommandWords> {
    let parsed = definitions.iter().filter_map(|(name, kept)| parse_own(name, kept));
    let words = parsed.map(|workflow| {
        let words = |order: ConsentExecution<'_>| CommandWords {
            folder: PathBuf::from(order.literal_cwd().unwrap_or_default()),
            words: order.action.literal_words(),
        };
        list_executions(&workflow).into_iter().map(words).collect::<Vec<_>>()
    });
    words.flatten().collect()
}

/// A hash of things of one kind in one project.
struct SubjectHasher(Sha256);

impl SubjectHasher {
    fn new(kind: &str, project: &Path) -> Self {
        let mut hasher = Self(Sha256::new());
        let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
        hasher.add(kind.as_bytes());
        hasher.add(project.as_os_str().as_encoded_bytes());
        hasher
    }

    fn add(&mut self, part: &[u8]) {
        self.0.update(part.len().to_le_bytes());
        self.0.update(part);
    }

    fn add_files(&mut self, files: &[CoveredFile]) {
        for file in files {
            self.add(file.name.as_bytes());
            self.add(file.hash());
        }
    }

    fn finish(self) -> String {
        hex(&self.0.finalize())
    }
}

/// Commands of a project's settings with the files that they execute, read at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoveredCommands {
    /// The commands.
    pub commands: Vec<String>,
    /// The files.
    pub files: Vec<CoveredFile>,
    /// The hash of all that and of the project.
    pub hash: String,
}

/// Which setting commands come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandsSetting {
    /// `verify`.
    Checks,
    /// `worktree_setup`.
    Setup,
}

impl CommandsSetting {
    fn word(self) -> &'static str {
        match self {
            Self::Checks => "config",
            Self::Setup => "setup",
        }
    }
}

impl CoveredCommands {
    /// Reads the files that commands execute.
    pub fn read(setting: CommandsSetting, place: ConsentPlace<'_>, commands: &[String]) -> Result<Self, CoverageError> {
        let words = commands.iter().map(|command| {
            let words = split_words(command).0.into_iter().filter(|word| !word.glob).map(|word| word.text);
            CommandWords { folder: PathBuf::new(), words: words.collect() }
        });
        let files = covered_files(place.workspace, &words.collect::<Vec<_>>())?;
        let mut hasher = SubjectHasher::new(setting.word(), place.project);
        for command in commands {
            hasher.add(command.as_bytes());
        }
        hasher.add(b"files");
        hasher.add_files(&files);
        Ok(Self { commands: commands.to_vec(), files, hash: hasher.finish() })
    }
}

/// The hash of each covered file, to say later which one changed.
pub fn file_hashes(files: &[CoveredFile]) -> BTreeMap<String, String> {
    files.iter().map(|file| (file.name.clone(), hex(file.hash()))).collect()
}

/// The subject of trust in a project's own words for its agents.
pub fn prompt_hash(project: &Path, words: &str) -> String {
    project_hash("prompt", project, words)
}

/// The subject of trust in a project that enables the demo agent.
pub fn demo_hash(project: &Path) -> String {
    project_hash("demo", project, "")
}

fn project_hash(kind: &str, project: &Path, text: &str) -> String {
    let mut hasher = SubjectHasher::new(kind, project);
    hasher.add(text.as_bytes());
    hasher.finish()
}

/// The subject of trust in the agents that a project describes: every byte of the file.
pub fn agents_hash(project: &Path, text: &str) -> String {
    project_hash("agents", project, text)
}

/// Whether definitions need consent: they would execute something or start agents, and not all of them are built in
/// word for word. A definition that only calls a built-in decides what that one does, so it counts.
pub fn needs_consent(definitions: &BTreeMap<String, PinnedText>) -> bool {
    let is_built_in = |name: &str, kept: &PinnedText| pack_text(name).is_some_and(|built_in| built_in == kept.text);
    let foreign = definitions.iter().any(|(name, kept)| !is_built_in(name, kept));
    let acts = |(name, kept): (&String, &PinnedText)| {
        parse_own(name, kept).is_none_or(|main| !list_executions(&main).is_empty() || !list_sessions(&main).is_empty())
    };
    // A built-in text says which file is executed, not what is in it.
    (foreign && definitions.iter().any(acts)) || !own_folders(definitions).is_ok_and(|folders| folders.is_empty())
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
    use maestro_skills::SkillPack;

    use super::*;

    fn hash(definitions: &BTreeMap<String, PinnedText>) -> Result<String, CoverageError> {
        let place = ConsentPlace::project(Path::new("/nowhere"));
        FolderCache::default().subject(place, definitions).map(|subject| subject.hash)
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
        assert!(!needs_consent(&BTreeMap::from([("a".to_owned(), kept(told))])));
        let both = BTreeMap::from([("a".to_owned(), kept(told)), (name, kept(text))]);
        assert!(needs_consent(&both), "what calls a built-in decides what that does");
        let seated = told.replace("type: agent", "type: agent, session: {permission: all}");
        assert!(needs_consent(&BTreeMap::from([("a".to_owned(), kept(&seated))])), "an agent is as good as a command");
    }

    /// A definition with one command, of a skill in a folder.
    fn of(folder: &Path, command: &str) -> BTreeMap<String, PinnedText> {
        let command = serde_json::Value::from(command);
        let text = format!("name: a\ndescription: Does.\nsteps:\n  - {{id: one, type: command, command: {command}}}\n");
        let kept = PinnedText { text, folder: folder.display().to_string(), resources: BTreeMap::new() };
        BTreeMap::from([("a".to_owned(), kept)])
    }

    #[test]
    fn the_same_words_in_another_project_are_another_subject() {
        let plain = of(Path::new("/absent"), "make test");
        assert!(needs_consent(&plain));
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |project: &Path| {
            let place = ConsentPlace::project(project);
            FolderCache::default().subject(place, &plain).unwrap().hash
        };
        assert_ne!(at(one.path()), at(other.path()));
        let before = at(one.path());
        std::fs::write(one.path().join("Makefile"), "test:\n").unwrap();
        assert_ne!(at(one.path()), before, "the makefile is part of it");
        let checks = |commands: &[&str]| {
            let commands: Vec<String> = commands.iter().map(|&command| command.to_owned()).collect();
            CoveredCommands::read(CommandsSetting::Checks, ConsentPlace::project(one.path()), &commands).unwrap().hash
        };
        assert_ne!(checks(&["a b"]), checks(&["a", "b"]));
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
