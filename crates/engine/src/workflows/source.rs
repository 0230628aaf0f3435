//! Sources of workflow definitions: the folders of skills, or a given path.

use std::path::{Path, PathBuf};

use maestro_skills::{Skill, SkillCommand, SkillPack, SkillSource};

use crate::command_workflow;

/// The file names of a skill's own definition.
const FILES: [&str; 2] = ["workflow.yaml", "skill.yaml"];
/// The file in which a skill declares commands.
const COMMANDS: &str = "skill.json";

/// A definition's file.
#[derive(Debug, Clone)]
pub struct WorkflowSource {
    /// The name that starts it.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// The skill's folder.
    pub(super) folder: PathBuf,
    /// Its role in its skill.
    pub(super) part: WorkflowOrigin,
    /// Where its text, its callees and its conventions come from.
    pub(super) scope: DefinitionScope,
}

/// Where a definition finds what it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DefinitionScope {
    /// In the pack within this program, and nowhere else: no project replaces a part of a built-in.
    Pack,
    /// In the catalogue and the workspace.
    Catalogue,
}

/// A definition's role in its skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkflowOrigin {
    /// The skill's own.
    Main,
    /// Another one beside the skill's own.
    Beside,
    /// The skill has instructions only; following them is the one step.
    Instructions,
    /// It executes a command that the skill declares.
    Command,
}

impl WorkflowSource {
    /// Every definition of a skill.
    pub(super) fn all_of(skill: &Skill) -> Vec<Self> {
        let (id, folder) = (skill.id.as_str(), skill.path.clone());
        let main = skill.workflow.as_ref().map(|file| folder.join(file));
        let main = main.map(|path| Self::part(id, path, &folder, WorkflowOrigin::Main));
        let mut sources: Vec<Self> = main.into_iter().chain(sibling_definitions(id, &folder)).collect();
        for source in &mut sources {
            if skill.source == SkillSource::Builtin && pack_text(&source.name).is_some() {
                source.scope = DefinitionScope::Pack;
            }
        }
        // A file of the same name takes precedence.
        for own in skill.commands.iter().filter_map(|command| Self::of_command(skill, command)) {
            if !sources.iter().any(|source| source.name == own.name) {
                sources.push(own);
            }
        }
        sources
    }

    /// The one that follows a skill's instructions.
    pub(super) fn of_instructions(skill: &Skill) -> Self {
        Self::part(skill.id.as_str(), skill.path.clone(), &skill.path, WorkflowOrigin::Instructions)
    }

    /// A definition of the pack within this program, with the folder of its skill on disk.
    pub(super) fn in_pack(name: &str, folder: &Path) -> Option<Self> {
        pack_text(name)?;
        let (part, file) = match name.split_once('/') {
            Some((_, other)) => (WorkflowOrigin::Beside, format!("workflows/{other}.yaml")),
            None => (WorkflowOrigin::Main, FILES[0].to_owned()),
        };
        let source = Self::part(name, folder.join(file), folder, part);
        Some(Self { scope: DefinitionScope::Pack, ..source })
    }

    fn part(name: &str, path: PathBuf, folder: &Path, part: WorkflowOrigin) -> Self {
        Self { name: name.to_owned(), path, folder: folder.to_owned(), part, scope: DefinitionScope::Catalogue }
    }

    /// The skill that it belongs to.
    pub(super) fn skill_name(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    /// The definition of a command, if it can be executed.
    fn of_command(skill: &Skill, command: &SkillCommand) -> Option<Self> {
        command.run.as_ref()?;
        let name = command_workflow::name(skill, command);
        Some(Self::part(&name, skill.path.join(COMMANDS), &skill.path, WorkflowOrigin::Command))
    }

    /// The definitions of a given skill folder.
    pub(super) fn in_folder(folder: &Path, full: &Path) -> Vec<Self> {
        let name = full.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let main = FILES.iter().find(|file| full.join(file).is_file()).map(|file| folder.join(file));
        let main = main.map(|path| Self::part(&name, path, folder, WorkflowOrigin::Main));
        main.into_iter().chain(sibling_definitions(&name, folder)).collect()
    }

    /// A given definition.
    pub(super) fn at(path: &Path) -> Self {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let parent = path.parent().unwrap_or(Path::new(""));
        let part = if parent.file_name().is_some_and(|name| name == "workflows") {
            WorkflowOrigin::Beside
        } else {
            WorkflowOrigin::Main
        };
        let folder = if part == WorkflowOrigin::Beside { parent.parent().unwrap_or(parent) } else { parent };
        Self::part(&stem, path.to_owned(), folder, part)
    }
}

/// The text of a definition in the pack within this program.
pub(crate) fn pack_text(name: &str) -> Option<String> {
    let file = |path: &str| {
        let bytes = SkillPack::builtin_file(path)?;
        str::from_utf8(&bytes).ok().map(str::to_owned)
    };
    match name.split_once('/') {
        Some((skill, other)) => file(&format!("{skill}/workflows/{other}.yaml")),
        None => FILES.iter().find_map(|name_of_file| file(&format!("{name}/{name_of_file}"))),
    }
}

/// The definitions beside a skill's own, sorted by name.
fn sibling_definitions(skill: &str, folder: &Path) -> Vec<WorkflowSource> {
    let Ok(entries) = folder.join("workflows").read_dir() else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    let source = |path: PathBuf| {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        WorkflowSource::part(&format!("{skill}/{stem}"), path, folder, WorkflowOrigin::Beside)
    };
    paths.into_iter().map(source).collect()
}
