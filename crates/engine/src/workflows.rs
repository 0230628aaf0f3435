//! Definitions of workflows, and the texts that a run pins.

mod source;

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use maestro_core::closest_word;
use maestro_core::workflow::definition::ResourceSource;
use maestro_core::workflow::pinned_definition::{MAX_PINNED, PinnedDefinition, PinnedText, sources};
use maestro_core::workflow::{
    CalleeSignature, CodingTool, LoadEnvironment, Name, RunDefinition, Workflow, WorkflowFinding, load_workflow,
};
use maestro_skills::{
    Catalogue, CatalogueEntry, FileContents, Skill, SkillPack, SkillSource, instructions, read_bounded,
};

use crate::{command_workflow, conventions, instructions_workflow};
use source::{DefinitionScope, WorkflowOrigin};

pub use source::WorkflowSource;
pub(crate) use source::pack_text;

/// The largest definition; the loader reports one byte more.
const MAX_BYTES: u64 = 1024 * 1024 + 1;

/// Why a workflow cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    /// No workflow has that name.
    #[error("there is no workflow `{name}`")]
    NotFound {
        /// The name.
        name: String,
        /// The closest existing name.
        close: Option<String>,
    },
    /// No workflow exists at that path.
    #[error("there is no workflow at `{}`", .0.display())]
    NoneAt(
        /// The path.
        PathBuf,
    ),
    /// It has errors.
    #[error("the workflow `{name}` has errors")]
    Unsound {
        /// Its name.
        name: String,
        /// Its file.
        path: PathBuf,
        /// The findings, one line each.
        findings: Vec<String>,
    },
    /// One of its files cannot be read.
    #[error("`{}` cannot be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// One of its files is not text.
    #[error("`{}` is not UTF-8 text", .0.display())]
    NotText(
        /// The file.
        PathBuf,
    ),
    /// Its texts are too large to be stored.
    #[error(
        "the workflow `{name}` with everything it reaches has {bytes} bytes, more than the {MAX_PINNED} a run can store"
    )]
    TooLarge {
        /// Its name.
        name: String,
        /// The size in bytes.
        bytes: usize,
    },
}

/// A loaded definition.
#[derive(Debug)]
pub struct LoadedWorkflow {
    /// Its file.
    pub source: WorkflowSource,
    /// The source.
    pub text: String,
    /// The parsed workflow, if it has no errors.
    pub workflow: Option<Workflow>,
    /// The findings.
    pub findings: Vec<WorkflowFinding>,
}

impl LoadedWorkflow {
    /// Whether a list of workflows includes it.
    pub fn is_listed(&self) -> bool {
        matches!(self.source.part, WorkflowOrigin::Main | WorkflowOrigin::Instructions)
            || self.workflow.as_ref().is_some_and(|workflow| workflow.listed)
    }

    /// Whether it can be started.
    pub fn is_sound(&self) -> bool {
        self.workflow.is_some()
    }

    /// Whether it executes a command of a `skill.json`.
    pub fn is_made_of_command(&self) -> bool {
        self.source.part == WorkflowOrigin::Command
    }

    /// Whether it follows a skill's instructions, because the skill has no definition.
    pub fn is_made_of_instructions(&self) -> bool {
        self.source.part == WorkflowOrigin::Instructions
    }
}

/// All definitions that are found.
pub struct WorkflowIndex<'c> {
    catalogue: &'c Catalogue,
    /// The base of relative paths, and of a workspace's conventions.
    directory: &'c Path,
    tool: Option<&'c CodingTool>,
    sources: Vec<WorkflowSource>,
}

impl<'c> WorkflowIndex<'c> {
    /// The definitions of the skills in a catalogue.
    pub fn of(catalogue: &'c Catalogue, directory: &'c Path) -> Self {
        let sources = catalogue.skills.iter().flat_map(|entry| WorkflowSource::all_of(entry.skill())).collect();
        Self { catalogue, directory, tool: None, sources }
    }

    /// The same, for a given tool.
    #[must_use]
    pub fn for_tool(mut self, tool: &'c CodingTool) -> Self {
        self.tool = Some(tool);
        self
    }

    /// The definitions at given paths.
    pub fn at(&self, paths: &[PathBuf]) -> Result<Vec<WorkflowSource>, DefinitionError> {
        let mut found = Vec::new();
        for path in paths {
            let full = self.directory.join(path);
            let before = found.len();
            if full.is_dir() {
                found.extend(WorkflowSource::in_folder(path, &full));
            } else if full.is_file() {
                found.push(WorkflowSource::at(path));
            }
            let named = || self.sources.iter().filter(|source| path.to_str() == Some(source.name.as_str()));
            if found.len() == before {
                found.extend(named().cloned());
            }
            if found.len() == before {
                return Err(DefinitionError::NoneAt(path.clone()));
            }
        }
        Ok(found)
    }

    /// Every definition of the catalogue.
    pub fn all(&self) -> &[WorkflowSource] {
        &self.sources
    }

    /// The definition with this name or alias, valid or not. A skill without one is followed in one step.
    pub fn find(&self, name: &str) -> Result<LoadedWorkflow, DefinitionError> {
        if let Some(source) = self.sources.iter().find(|source| source.name == name) {
            return self.load(source);
        }
        for source in &self.sources {
            let loaded = self.load(source)?;
            if loaded.workflow.as_ref().is_some_and(|workflow| workflow.aliases.iter().any(|alias| alias == name)) {
                return Ok(loaded);
            }
        }
        if let Some(skill) = self.skill(name) {
            return self.load(&WorkflowSource::of_instructions(skill));
        }
        let known = self.sources.iter().map(|source| source.name.as_str());
        let close = closest_word::closest(name, known).map(str::to_owned);
        Err(DefinitionError::NotFound { name: name.to_owned(), close })
    }

    /// A definition that a definition of this scope names.
    fn find_in(&self, name: &str, scope: DefinitionScope) -> Result<LoadedWorkflow, DefinitionError> {
        match scope {
            DefinitionScope::Catalogue => self.find(name),
            DefinitionScope::Pack => self.find_builtin(name),
        }
    }

    /// The definition of this name that came with the program, whatever the catalogue has in its place.
    pub fn find_builtin(&self, name: &str) -> Result<LoadedWorkflow, DefinitionError> {
        let source = WorkflowSource::in_pack(name, &self.pack_folder(name));
        self.load(&source.ok_or_else(|| DefinitionError::NotFound { name: name.to_owned(), close: None })?)
    }

    /// Where the copy of a built-in skill is; only texts for agents name it.
    fn pack_folder(&self, name: &str) -> PathBuf {
        let id = name.split('/').next().unwrap_or_default();
        let shadowed = self.catalogue.shadowed.iter().map(|shadowed| &shadowed.skill);
        let mut all = self.catalogue.skills.iter().chain(shadowed);
        let found = all.find(|entry| entry.id() == id && entry.heading().source == SkillSource::Builtin);
        found.map_or_else(|| PathBuf::from(format!("builtin/{id}")), CatalogueEntry::path)
    }

    fn skill(&self, id: &str) -> Option<&Skill> {
        self.catalogue.skills.iter().map(CatalogueEntry::skill).find(|skill| skill.id.as_str() == id)
    }

    /// A valid definition with everything it calls.
    pub fn definition(&self, name: &str) -> Result<RunDefinition, DefinitionError> {
        let pinned = self.pinned(name)?;
        let path = || self.sources.iter().find(|source| source.name == name).map(|source| source.path.clone());
        pinned.definition().map_err(|unsound| DefinitionError::Unsound {
            path: path().unwrap_or_else(|| PathBuf::from(&unsound.0)),
            name: unsound.0,
            findings: Vec::new(),
        })
    }

    /// The texts to store with a run: the workflow and everything it reaches.
    pub fn pinned(&self, name: &str) -> Result<PinnedDefinition, DefinitionError> {
        self.pin(self.find(name)?.source.name, DefinitionScope::Catalogue)
    }

    /// The same of a workflow that came with the program. Nothing of the catalogue or the workspace takes part.
    pub fn pinned_builtin(&self, name: &str) -> Result<PinnedDefinition, DefinitionError> {
        self.pin(name.to_owned(), DefinitionScope::Pack)
    }

    fn pin(&self, main: String, scope: DefinitionScope) -> Result<PinnedDefinition, DefinitionError> {
        let mut definitions: BTreeMap<String, PinnedText> = BTreeMap::new();
        let mut scopes: BTreeMap<String, DefinitionScope> = BTreeMap::new();
        let mut open = vec![(main.clone(), scope)];
        while let Some((name, scope)) = open.pop() {
            // One name means one definition in a run: where a built-in names it, the built-in one.
            match scopes.get(&name) {
                Some(known) if *known == scope || *known == DefinitionScope::Pack => continue,
                _ => {}
            }
            let loaded = self.find_in(&name, scope)?;
            let Some(workflow) = &loaded.workflow else {
                let errors = loaded.findings.iter().filter(|finding| finding.is_error());
                let findings = errors.map(|finding| format!("{finding}; {}", finding.help)).collect();
                return Err(DefinitionError::Unsound { name, path: loaded.source.path, findings });
            };
            let own = loaded.source.scope;
            open.extend(CalleeSignature::of(workflow).calls.into_iter().map(|name| (name, own)));
            scopes.insert(name.clone(), if scope == DefinitionScope::Pack { scope } else { own });
            let folder = self.directory.join(&loaded.source.folder).to_string_lossy().into_owned();
            let resources = self.resources(workflow, &loaded.source)?;
            definitions.insert(name, PinnedText { text: loaded.text, folder, resources });
        }
        let pinned = PinnedDefinition { main: main.clone(), definitions };
        match pinned.size() {
            bytes if bytes > MAX_PINNED => Err(DefinitionError::TooLarge { name: main, bytes }),
            _ => Ok(pinned),
        }
    }

    fn resources(
        &self,
        workflow: &Workflow,
        source: &WorkflowSource,
    ) -> Result<BTreeMap<Name, String>, DefinitionError> {
        let mut texts = BTreeMap::new();
        for (name, resource) in sources(workflow) {
            let text = match resource {
                ResourceSource::File(_) if source.part == WorkflowOrigin::Instructions => self.instructions(source)?,
                ResourceSource::File(file) if source.scope == DefinitionScope::Pack => {
                    pack_file(source, file).ok_or_else(|| DefinitionError::NotText(PathBuf::from(file)))?
                }
                ResourceSource::File(file) => text_at(&self.directory.join(&source.folder).join(file))?,
                ResourceSource::Convention(convention) => match self.convention_file(convention, source.scope) {
                    Some(file) => text_at(&file)?,
                    None => conventions::builtin(convention).unwrap_or_default().to_owned(),
                },
            };
            texts.insert(name.clone(), text);
        }
        Ok(texts)
    }

    /// Loads a definition and resolves its references.
    pub fn load(&self, source: &WorkflowSource) -> Result<LoadedWorkflow, DefinitionError> {
        let text = self.text(source)?;
        let folder = self.directory.join(&source.folder);
        let has_file = |path: &str| match source.scope {
            DefinitionScope::Pack => pack_file(source, path).is_some(),
            DefinitionScope::Catalogue => source.part == WorkflowOrigin::Instructions || lies_inside(&folder, path),
        };
        let has_convention =
            |name: &str| self.convention_file(name, source.scope).is_some() || conventions::builtin(name).is_some();
        let surroundings = LoadEnvironment {
            file_exists: &has_file,
            convention_exists: &has_convention,
            callee: &|name| self.callee(name, source.scope),
            tool: self.tool,
        };
        let (workflow, findings) = load_workflow(&text, &surroundings);
        Ok(LoadedWorkflow { source: source.clone(), text, workflow, findings })
    }

    fn text(&self, source: &WorkflowSource) -> Result<String, DefinitionError> {
        if source.scope == DefinitionScope::Pack {
            return pack_text(&source.name).ok_or_else(|| DefinitionError::NotText(source.path.clone()));
        }
        match source.part {
            WorkflowOrigin::Main | WorkflowOrigin::Beside => text_at(&self.directory.join(&source.path)),
            WorkflowOrigin::Instructions => {
                Ok(self.skill(&source.name).map(instructions_workflow::definition).unwrap_or_default())
            }
            WorkflowOrigin::Command => Ok(self.command(source).unwrap_or_default()),
        }
    }

    fn command(&self, source: &WorkflowSource) -> Option<String> {
        let skill = self.skill(source.name.split_once('/')?.0)?;
        let command = skill.commands.iter().find(|command| command_workflow::name(skill, command) == source.name)?;
        command_workflow::definition(skill, command)
    }

    fn instructions(&self, source: &WorkflowSource) -> Result<String, DefinitionError> {
        let Some(skill) = self.skill(&source.name) else { return Ok(String::new()) };
        let unreadable = |source| DefinitionError::Unreadable { path: skill.path.clone(), source };
        let FileContents { bytes, .. } = instructions(skill).map_err(unreadable)?;
        String::from_utf8(bytes).map_err(|_| DefinitionError::NotText(skill.path.clone()))
    }

    /// The description of a workflow for callers. One with errors is included.
    fn callee(&self, name: &str, scope: DefinitionScope) -> Option<CalleeSignature> {
        let text = match scope {
            DefinitionScope::Pack => pack_text(name)?,
            DefinitionScope::Catalogue => self.text(self.sources.iter().find(|source| source.name == name)?).ok()?,
        };
        let anything = LoadEnvironment {
            file_exists: &|_| true,
            convention_exists: &|_| true,
            callee: &|_| Some(CalleeSignature::anything()),
            tool: None,
        };
        Some(load_workflow(&text, &anything).0.as_ref().map(CalleeSignature::of).unwrap_or_default())
    }

    fn convention_file(&self, name: &str, scope: DefinitionScope) -> Option<PathBuf> {
        if scope == DefinitionScope::Pack {
            return None;
        }
        let mut files = conventions::FOLDERS.iter().map(|folder| format!("{folder}/{name}.md"));
        files.find(|file| lies_inside(self.directory, file)).map(|file| self.directory.join(file))
    }
}

/// A file of a built-in skill, as it is within this program.
fn pack_file(source: &WorkflowSource, file: &str) -> Option<String> {
    let plain = file.strip_prefix("./").unwrap_or(file);
    let bytes = SkillPack::builtin_file(&format!("{}/{plain}", source.skill_name()))?;
    str::from_utf8(&bytes).ok().map(str::to_owned)
}

fn text_at(path: &Path) -> Result<String, DefinitionError> {
    let contents = read_bounded(path, MAX_BYTES)
        .map_err(|source| DefinitionError::Unreadable { path: path.to_owned(), source })?;
    String::from_utf8(contents.bytes).map_err(|_| DefinitionError::NotText(path.to_owned()))
}

/// Whether this file exists in a folder, and neither its spelling nor a link leads out of it: a file named by a
/// definition is shown to an agent, and a foreign folder must not choose among the user's own files.
fn lies_inside(folder: &Path, file: &str) -> bool {
    let plain = Path::new(file).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let real = || Some((folder.canonicalize().ok()?, folder.join(file).canonicalize().ok()?));
    plain && real().is_some_and(|(folder, file)| file.starts_with(folder) && file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_only_there_if_neither_its_spelling_nor_a_link_leads_out() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("skill");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("own.md"), "mine").unwrap();
        std::fs::write(outer.path().join("secret"), "theirs").unwrap();
        std::os::unix::fs::symlink(outer.path().join("secret"), folder.join("link.md")).unwrap();
        assert!(lies_inside(&folder, "own.md") && lies_inside(&folder, "./own.md"));
        for out in ["../secret", "link.md", "missing.md", ".", "/etc/hostname"] {
            assert!(!lies_inside(&folder, out), "{out}");
        }
    }
}
