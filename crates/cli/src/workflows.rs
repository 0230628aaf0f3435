//! Where are the definitions of workflows, and what do they say?

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use maestro_core::workflow::{Callee, Definition, Finding, Surroundings, Workflow, load};
use maestro_skills::{Catalogue, read_bounded};

use crate::error::CommandError;
use crate::world::World;

/// How large a definition may be; one byte more is told by the loader.
const MAX_BYTES: u64 = 1024 * 1024 + 1;
/// The names a skill's own definition may have.
const FILES: [&str; 2] = ["workflow.yaml", "skill.yaml"];
/// The conventions that need no file.
const CONVENTIONS: [&str; 6] = ["structural", "temporal", "severity", "intent-markers", "documentation", "diff-format"];

/// A definition's file.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// The name it is started by.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// The skill's folder.
    folder: PathBuf,
    /// Whether it lies beside the main definition of its skill.
    beside: bool,
}

/// A definition as it was read.
pub(crate) struct Loaded {
    pub(crate) source: Source,
    pub(crate) text: String,
    pub(crate) workflow: Option<Workflow>,
    pub(crate) findings: Vec<Finding>,
}

impl Loaded {
    /// Whether a list of workflows names it.
    pub(crate) fn is_listed(&self) -> bool {
        !self.source.beside || self.workflow.as_ref().is_some_and(|workflow| workflow.listed)
    }

    pub(crate) fn is_sound(&self) -> bool {
        self.workflow.is_some()
    }
}

/// All definitions that are found.
pub(crate) struct Workflows<'w> {
    world: &'w World,
    sources: Vec<Source>,
}

impl<'w> Workflows<'w> {
    /// Those of the skills in a catalogue.
    pub(crate) fn of(catalogue: &Catalogue, world: &'w World) -> Self {
        let mut sources = Vec::new();
        for entry in &catalogue.skills {
            let skill = entry.skill();
            let id = skill.id.as_str();
            if let Some(file) = &skill.workflow {
                let (path, folder) = (skill.path.join(file), skill.path.clone());
                sources.push(Source { name: id.to_owned(), path, folder, beside: false });
            }
            sources.extend(beside(id, &skill.path));
        }
        Self { world, sources }
    }

    /// Those at paths that were named.
    pub(crate) fn at(&self, paths: &[PathBuf]) -> Result<Vec<Source>, CommandError> {
        let mut found = Vec::new();
        for path in paths {
            let full = self.world.places.working_dir.join(path);
            let before = found.len();
            if full.is_dir() {
                found.extend(in_folder(path));
            } else if full.is_file() {
                found.push(named(path));
            }
            if found.len() == before {
                return Err(CommandError::not_found(format!("there is no workflow at `{}`", path.display()))
                    .hint("name a YAML file, or a skill folder with `workflow.yaml`"));
            }
        }
        Ok(found)
    }

    pub(crate) fn all(&self) -> Vec<Source> {
        self.sources.clone()
    }

    /// The definition of this name or alias, sound or not.
    pub(crate) fn find(&self, name: &str) -> Result<Loaded, CommandError> {
        if let Some(source) = self.sources.iter().find(|source| source.name == name) {
            return self.load(source);
        }
        let mut known = Vec::new();
        for source in &self.sources {
            let loaded = self.load(source)?;
            if loaded.workflow.as_ref().is_some_and(|workflow| workflow.aliases.iter().any(|alias| alias == name)) {
                return Ok(loaded);
            }
            known.push(source.name.as_str());
        }
        let error = CommandError::not_found(format!("there is no workflow `{name}`"));
        Err(match maestro_core::suggest::closest(name, known) {
            Some(close) => error.hint(format!("did you mean `{close}`?")),
            None => error.hint("`maestro workflow list` shows every workflow"),
        })
    }

    /// A sound definition with everything it calls.
    pub(crate) fn definition(&self, name: &str) -> Result<Definition, CommandError> {
        let main = self.sound(name)?;
        let mut callees = BTreeMap::new();
        let mut open = Callee::of(&main).calls;
        while let Some(name) = open.pop() {
            if name != main.name && !callees.contains_key(&name) {
                let callee = self.sound(&name)?;
                open.extend(Callee::of(&callee).calls);
                callees.insert(name, callee);
            }
        }
        Ok(Definition { main, callees })
    }

    fn sound(&self, name: &str) -> Result<Workflow, CommandError> {
        let loaded = self.find(name)?;
        let path = loaded.source.path.display().to_string();
        loaded.workflow.ok_or_else(|| {
            CommandError::invalid(format!("the workflow `{name}` has errors"))
                .hint(format!("`maestro workflow check {path}` shows them"))
        })
    }

    /// Reads a definition, with what it refers to looked up.
    pub(crate) fn load(&self, source: &Source) -> Result<Loaded, CommandError> {
        let text = self.text(source)?;
        let folder = self.world.places.working_dir.join(&source.folder);
        let surroundings = Surroundings {
            file_exists: &|path| stays_inside(path) && folder.join(path).is_file(),
            convention_exists: &|name| self.has_convention(name),
            callee: &|name| self.callee(name),
            tool: None,
        };
        let (workflow, findings) = load(&text, &surroundings);
        Ok(Loaded { source: source.clone(), text, workflow, findings })
    }

    fn text(&self, source: &Source) -> Result<String, CommandError> {
        let shown = source.path.display();
        let contents = read_bounded(&self.world.places.working_dir.join(&source.path), MAX_BYTES)
            .map_err(|error| CommandError::io(format!("`{shown}` cannot be read"), &error).hint("check the file"))?;
        String::from_utf8(contents.bytes)
            .map_err(|_| CommandError::invalid(format!("`{shown}` is not UTF-8 text")).hint("save it as UTF-8"))
    }

    /// What a caller needs to know of a workflow. One with errors of its own is there all the same.
    fn callee(&self, name: &str) -> Option<Callee> {
        let source = self.sources.iter().find(|source| source.name == name)?;
        let text = self.text(source).ok()?;
        let anything = Surroundings {
            file_exists: &|_| true,
            convention_exists: &|_| true,
            callee: &|_| Some(Callee::anything()),
            tool: None,
        };
        Some(load(&text, &anything).0.as_ref().map(Callee::of).unwrap_or_default())
    }

    fn has_convention(&self, name: &str) -> bool {
        let file = format!("{name}.md");
        let folders = [".maestro/conventions", ".claude/conventions"];
        let here = &self.world.places.working_dir;
        let kept = stays_inside(&file) && folders.iter().any(|folder| here.join(folder).join(&file).is_file());
        kept || CONVENTIONS.contains(&name)
    }
}

/// Whether a path cannot leave the folder it begins in by its spelling.
fn stays_inside(path: &str) -> bool {
    Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// The definitions of a skill folder that was named.
fn in_folder(folder: &Path) -> Vec<Source> {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let main = FILES.iter().map(|file| folder.join(file)).find(|path| path.is_file());
    let main = main.map(|path| Source { name: name.clone(), path, folder: folder.to_owned(), beside: false });
    main.into_iter().chain(beside(&name, folder)).collect()
}

/// A definition that was named.
fn named(path: &Path) -> Source {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let parent = path.parent().unwrap_or(Path::new(""));
    let beside = parent.file_name().is_some_and(|name| name == "workflows");
    let folder = if beside { parent.parent().unwrap_or(parent) } else { parent };
    Source { name: stem, path: path.to_owned(), folder: folder.to_owned(), beside }
}

/// The definitions beside a skill's own, in the order of their names.
fn beside(skill: &str, folder: &Path) -> Vec<Source> {
    let Ok(entries) = folder.join("workflows").read_dir() else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    let source = |path: PathBuf| {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Source { name: format!("{skill}/{stem}"), path, folder: folder.to_owned(), beside: true }
    };
    paths.into_iter().map(source).collect()
}
