//! Configuration files, and the settings they add up to.

use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use maestro_core::settings::{ConfigText, SettingsLayer};
use maestro_core::{Problem, ProblemCode, ProblemSeverity, Settings};
use maestro_skills::{MAX_TEXT_BYTES, read_bounded};
use serde::Serialize;

use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;

/// The settings, and the problems found on the way.
#[derive(Debug)]
pub(crate) struct LoadedConfig {
    pub(crate) settings: Settings,
    pub(crate) problems: Vec<Problem>,
    pub(crate) files: Vec<ConfigFile>,
}

/// A place of a configuration file.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ConfigFile {
    #[serde(serialize_with = "maestro_core::problem::lossy")]
    pub(crate) path: PathBuf,
    pub(crate) exists: bool,
}

/// Reads every layer. Problems are returned, not raised: `doctor` shows them.
pub(crate) fn load(world: &World) -> LoadedConfig {
    let mut problems = Vec::new();
    let mut files = Vec::new();
    let mut layers = Vec::new();
    let mut read = |path: PathBuf, layer: fn(ConfigText) -> SettingsLayer| {
        let text = read_text(&path, &mut problems);
        files.push(ConfigFile { path: path.clone(), exists: text.is_some() });
        layers.extend(text.map(|text| layer(ConfigText { path, text })));
    };
    read(world.user_config.clone(), SettingsLayer::User);
    read(world.places.project.join(".loop/config"), SettingsLayer::LoopConfig);
    read(project_file(world), SettingsLayer::Project);
    layers.push(SettingsLayer::Environment(world.variables.clone()));
    layers.push(SettingsLayer::Flags(world.flags.clone()));
    let (settings, found) = Settings::from_layers(&world.places, &layers);
    problems.extend(found);
    LoadedConfig { settings, problems, files }
}

/// The settings, or all their problems as one error.
pub(crate) fn settings(world: &World) -> CommandResult<Settings> {
    let loaded = load(world);
    let errors: Vec<&Problem> =
        loaded.problems.iter().filter(|problem| problem.severity == ProblemSeverity::Error).collect();
    if errors.is_empty() { Ok(loaded.settings) } else { Err(CommandError::config(&errors)) }
}

/// Where this project's configuration is, or would be: the nearest one up to the project's root.
pub(crate) fn project_file(world: &World) -> PathBuf {
    nearest(world, ".maestro/config.toml")
}

/// Where a project's file is, or would be: the nearest one up to the project's root.
pub(crate) fn nearest(world: &World, name: &str) -> PathBuf {
    let file = |dir: &Path| dir.join(name);
    world
        .places
        .working_dir
        .ancestors()
        .take_while(|dir| dir.starts_with(&world.places.project))
        .map(file)
        .find(|path| path.exists())
        .unwrap_or_else(|| file(&world.places.project))
}

/// The text of a configuration file, if it exists; a file that cannot be read is a problem.
pub(crate) fn read_text(path: &Path, problems: &mut Vec<Problem>) -> Option<String> {
    let mut refuse = |message: String| {
        let help = "fix or remove the file";
        problems.push(Problem::new(ProblemCode::ConfigInvalid, ProblemSeverity::Error, path, message, help));
        None
    };
    if path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo()) {
        return refuse("not a regular file".to_owned());
    }
    let contents = match read_bounded(path, MAX_TEXT_BYTES) {
        Ok(contents) => contents,
        // A directory of that name, e.g. the home's `.maestro`, has no configuration either.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => return None,
        Err(error) => return refuse(format!("cannot read the file: {error}")),
    };
    if contents.cut {
        return refuse(format!("the file is larger than {MAX_TEXT_BYTES} bytes"));
    }
    match String::from_utf8(contents.bytes) {
        Ok(text) => Some(text),
        Err(_) => refuse("the file is not UTF-8 text".to_owned()),
    }
}
