//! Plugins of Claude Code that bring skills, as its own list of them says.
//!
//! The list names each plugin with its marketplace and where it lies. A plugin that the user disabled, or installed for
//! another project, is left out. Only these small files are read here; nothing of a plugin is executed.

use std::path::{Component, Path, PathBuf};

use serde_json::Value as Json;

use crate::text::read_bounded;

/// The most that is read of a list or a plugin's description.
const MAX_BYTES: u64 = 1024 * 1024;
/// How many plugins are looked at.
const MOST: usize = 256;

/// A plugin that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InstalledPlugin {
    pub(crate) name: String,
    pub(crate) marketplace: String,
    /// Where its skills are.
    pub(crate) skills: Vec<PathBuf>,
}

/// The files that say which plugins are installed and which of them are disabled, for plugins in `directory`.
pub(crate) fn list_files(directory: &Path) -> [PathBuf; 2] {
    let above = directory.parent().unwrap_or(directory);
    [directory.join("installed_plugins.json"), above.join("settings.json")]
}

/// The plugins listed in `directory` that count in `project`, by name. Where there is no list, there are none.
pub(crate) fn installed(directory: &Path, project: &Path) -> Vec<InstalledPlugin> {
    let [list, settings] = list_files(directory);
    let Some(list) = read_json(&list) else { return Vec::new() };
    let Some(listed) = list.get("plugins").and_then(Json::as_object) else { return Vec::new() };
    let settings = read_json(&settings);
    let is_disabled = |key: &str| {
        let enabled = settings.as_ref().and_then(|settings| settings.get("enabledPlugins")?.get(key)?.as_bool());
        enabled == Some(false)
    };
    let mut plugins: Vec<InstalledPlugin> = listed
        .iter()
        .filter(|(key, _)| !is_disabled(key))
        .filter_map(|(key, places)| {
            let (name, marketplace) = key.rsplit_once('@')?;
            let skills = skill_dirs(&place_for(places, project)?);
            Some(InstalledPlugin { name: name.to_owned(), marketplace: marketplace.to_owned(), skills })
        })
        .take(MOST)
        .collect();
    plugins.sort_by(|a, b| (&a.name, &a.marketplace).cmp(&(&b.name, &b.marketplace)));
    plugins
}

/// Where a plugin lies for this project: its own place there before the user's. The list once had one place, now several.
fn place_for(places: &Json, project: &Path) -> Option<PathBuf> {
    let places = places.as_array().map_or(std::slice::from_ref(places), Vec::as_slice);
    let of_project = |place: &&Json| place.get("projectPath").and_then(Json::as_str).map(Path::new) == Some(project);
    let of_user = |place: &&Json| place.get("projectPath").is_none();
    let place = places.iter().find(of_project).or_else(|| places.iter().rev().find(of_user))?;
    let path = PathBuf::from(place.get("installPath")?.as_str()?);
    path.is_absolute().then_some(path)
}

/// The directories of a plugin's skills: `skills`, and what its description names besides, as long as that is inside.
fn skill_dirs(plugin: &Path) -> Vec<PathBuf> {
    let description = read_json(&plugin.join(".claude-plugin/plugin.json"));
    let named = match description.as_ref().and_then(|description| description.get("skills")) {
        Some(Json::String(path)) => vec![path.as_str()],
        Some(Json::Array(paths)) => paths.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    };
    let is_inside =
        |path: &&str| Path::new(path).components().all(|part| matches!(part, Component::CurDir | Component::Normal(_)));
    let named = named.into_iter().filter(is_inside).map(|path| plugin.join(path.trim_start_matches("./")));
    let mut dirs = vec![plugin.join("skills")];
    for dir in named {
        if !dirs.contains(&dir) {
            dirs.push(dir);
        }
    }
    dirs
}

fn read_json(path: &Path) -> Option<Json> {
    let contents = read_bounded(path, MAX_BYTES).ok().filter(|contents| !contents.cut)?;
    serde_json::from_slice(&contents.bytes).ok()
}
