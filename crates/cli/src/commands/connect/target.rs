//! Settings file of a tool: its location, its text, and how it is changed.

use std::io;
use std::path::{Path, PathBuf};

use maestro_core::connect::{BaseDir, ConnectableTool, SettingsLocation, SettingsScope, find_server_command};
use maestro_skills::read_bounded;

use super::folders;
use crate::host::connections::ConnectionFile;
use crate::host::files;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::output::screen::clean_path;

/// Maximum size of a settings file; Claude Code's grows with every project.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// What others put into the directory of a tool, whether it is installed or not: installers of skills, and Antigravity into
/// that of Gemini CLI.
const FOREIGN: &[&str] = &["skills", "antigravity", "antigravity-cli", "config"];
/// Suffix of the backup beside a changed file.
const BACKUP: &str = ".before-maestro";

/// A file of a tool.
pub(crate) struct ToolSettingsFile {
    /// Its real path, behind links.
    pub(crate) path: PathBuf,
    /// Its path as people know it.
    pub(super) shown: String,
    /// Its text, if it exists.
    pub(crate) text: Option<String>,
}

/// Base directory of a tool's files.
pub(super) fn directory(base: BaseDir, world: &World) -> PathBuf {
    let home = &world.places.home;
    // The directory of Maestro's settings leads to those of others.
    let config = world.user_config.ancestors().nth(2).map_or_else(|| home.join(".config"), Path::to_owned);
    let set = |name: &str| world.variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    match base {
        BaseDir::Home => home.clone(),
        BaseDir::Config => config,
        BaseDir::VsCodeUser if cfg!(target_os = "macos") => home.join("Library/Application Support/Code/User"),
        BaseDir::VsCodeUser => config.join("Code/User"),
        BaseDir::ClaudeConfig => set("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.clone()),
        BaseDir::ClaudeSettings => set("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.join(".claude")),
        BaseDir::CodexHome => set("CODEX_HOME").unwrap_or_else(|| home.join(".codex")),
        BaseDir::CopilotHome => set("COPILOT_HOME").unwrap_or_else(|| home.join(".copilot")),
        BaseDir::ClaudeDesktop if cfg!(target_os = "macos") => home.join("Library/Application Support/Claude"),
        BaseDir::ClaudeDesktop => config.join("Claude"),
        BaseDir::Project => world.places.project.clone(),
    }
}

/// Whether a tool is installed: its program, its settings, or any file of its own beside them.
pub(super) fn is_installed(client: ConnectableTool, connections: &ConnectionFile, world: &World) -> bool {
    let is_installed = world.program_dirs.iter().any(|dir| dir.is_absolute() && dir.join(client.program()).is_file());
    let locations = [client.servers_file(SettingsScope::User), client.hooks_file(SettingsScope::User)];
    let has_settings = locations.into_iter().flatten().any(|location| {
        let paths: Vec<PathBuf> = paths(location, world).collect();
        let own = paths.first().and_then(|path| path.parent()).filter(|dir| *dir != world.places.home);
        paths.iter().any(|path| path.exists()) || own.is_some_and(|dir| holds_more(dir, connections))
    });
    is_installed || has_settings
}

/// Whether a folder holds anything that is not Maestro's.
fn holds_more(folder: &Path, connections: &ConnectionFile) -> bool {
    let is_foreign = |path: &Path| path.file_name().is_some_and(|name| FOREIGN.iter().any(|foreign| name == *foreign));
    let is_more =
        |path: PathBuf| !connections.contains(&path) && !path.to_string_lossy().ends_with(BACKUP) && !is_foreign(&path);
    folder.read_dir().is_ok_and(|mut entries| entries.any(|entry| entry.is_ok_and(|entry| is_more(entry.path()))))
}

/// Possible paths of a file.
fn paths(location: SettingsLocation, world: &World) -> impl Iterator<Item = PathBuf> {
    let directory = directory(location.base, world);
    location.names.iter().map(move |name| directory.join(name))
}

impl ToolSettingsFile {
    /// The existing files, of all possible names; if there is none, the one to create.
    pub(crate) fn all(location: SettingsLocation, world: &World) -> CommandResult<Vec<Self>> {
        let mut there: Vec<PathBuf> = paths(location, world).filter(|path| path.symlink_metadata().is_ok()).collect();
        if there.is_empty() {
            there.extend(paths(location, world).next());
        }
        there.iter().map(|path| Self::at(path, location.base, world)).collect()
    }

    /// The files that mention Maestro; if none does, the one to change.
    pub(super) fn with_maestro(
        client: ConnectableTool,
        location: SettingsLocation,
        world: &World,
    ) -> CommandResult<Vec<Self>> {
        let names_it = |target: &Self| {
            let text = target.text.as_deref();
            text.is_some_and(|text| find_server_command(text, location.format, client).is_some())
        };
        let mut all = Self::all(location, world)?;
        if all.iter().any(names_it) {
            all.retain(names_it);
        } else {
            all.truncate(1);
        }
        Ok(all)
    }

    /// The file at a path.
    pub(super) fn at(path: &Path, base: BaseDir, world: &World) -> CommandResult<Self> {
        let shown = world.display_path(path);
        let path = resolve_links(path, base, &shown, world)?;
        let refuse =
            |why: &str| Err(CommandError::invalid(format!("{shown} {why}")).hint("check the file; it was not changed"));
        let text = match read_bounded(&path, MAX_BYTES) {
            Ok(contents) if contents.cut => return refuse("is larger than 16 MiB"),
            Ok(contents) => match String::from_utf8(contents.bytes) {
                Ok(text) => Some(text),
                Err(_) => return refuse("is not UTF-8 text"),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(CommandError::io(format!("cannot read {shown}"), &error)
                    .hint("check that it is a file you may read"));
            }
        };
        Ok(Self { path, shown, text })
    }

    /// Writes the file in one step, with a backup beside it, and returns the created folders.
    pub(super) fn write(&self, text: &str) -> CommandResult<Vec<PathBuf>> {
        match &self.text {
            None => {
                self.check()?;
                self.make(text).map_err(|error| self.unwritable(&error))
            }
            Some(old) => self.change(text, old).map(|()| Vec::new()),
        }
    }

    /// Writes the file in one step, with an old text as backup beside it.
    pub(super) fn change(&self, text: &str, old: &str) -> CommandResult<()> {
        self.check()?;
        let is_kept = read_bounded(&self.backup(), MAX_BYTES).is_ok_and(|kept| kept.bytes == old.as_bytes());
        let written = self.write_backup(old).and_then(|()| files::replace(&self.path, text));
        if written.is_err() && !is_kept {
            // An unchanged file needs no backup; the reason it was not changed is the error to return.
            let _ = self.remove_backup(old);
        }
        written.map_err(|error| self.unwritable(&error))
    }

    /// Restores the text from before Maestro, and removes the backup if it is the same.
    pub(super) fn restore(&self, text: &str) -> CommandResult<()> {
        self.check()?;
        files::replace(&self.path, text).map_err(|error| self.unwritable(&error))?;
        self.remove_backup(text).map_err(|error| self.unwritable(&error))
    }

    /// Removes a file that Maestro created.
    pub(super) fn remove(&self) -> CommandResult<()> {
        self.check()?;
        std::fs::remove_file(&self.path).map_err(|error| self.unwritable(&error))
    }

    /// Path of the backup.
    pub(super) fn backup(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(BACKUP);
        PathBuf::from(name)
    }

    /// Fails if the file changed since it was read: tools write theirs at any time, and none of that
    /// may be lost.
    fn check(&self) -> CommandResult<()> {
        let now = match read_bounded(&self.path, MAX_BYTES) {
            Ok(contents) => Some(contents.bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(self.unwritable(&error)),
        };
        if now.as_deref() == self.text.as_deref().map(str::as_bytes) {
            return Ok(());
        }
        Err(CommandError::refused(format!("{} changed while it was being edited", self.shown))
            .hint("run the command again; the file was not changed"))
    }

    fn make(&self, text: &str) -> io::Result<Vec<PathBuf>> {
        let made = folders::make(self.path.parent().unwrap_or(Path::new("/")))?;
        match files::create(&self.path, text) {
            Ok(()) => Ok(made),
            Err(error) => {
                folders::remove_empty(made);
                Err(error)
            }
        }
    }

    fn write_backup(&self, old: &str) -> io::Result<()> {
        // Settings may hold secrets: the backup is for their owner alone.
        files::write_private(&self.backup(), old.as_bytes())
    }

    fn remove_backup(&self, text: &str) -> io::Result<()> {
        match read_bounded(&self.backup(), MAX_BYTES) {
            Ok(kept) if kept.bytes == text.as_bytes() => std::fs::remove_file(self.backup()),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn unwritable(&self, error: &io::Error) -> CommandError {
        CommandError::io(format!("cannot write {}", self.shown), error)
            .hint("check the permissions of the file and its directory; it was not changed")
    }
}

/// The real path of a file. A user may keep theirs elsewhere; a project's must not lead out of it.
fn resolve_links(path: &Path, base: BaseDir, shown: &str, world: &World) -> CommandResult<PathBuf> {
    if base == BaseDir::Project && !is_inside(path, &world.places.project) {
        return Err(CommandError::invalid(format!("{} leads out of the project", clean_path(shown)))
            .hint("replace the link with a file; Maestro does not write through it"));
    }
    if !path.is_symlink() {
        return Ok(path.to_owned());
    }
    path.canonicalize()
        .map_err(|error| CommandError::io(format!("{shown} is a broken link"), &error).hint("fix or remove the link"))
}

fn is_inside(path: &Path, project: &Path) -> bool {
    match (path.canonicalize(), project.canonicalize()) {
        (Ok(real), Ok(project)) => real.starts_with(project),
        _ => !path.is_symlink() && files::stays_inside(path, project),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    type Way = fn(&ToolSettingsFile) -> CommandResult<()>;

    /// A file that said something when it was read.
    fn read(directory: &Path, text: Option<&str>) -> ToolSettingsFile {
        let path = directory.join("settings.json");
        if let Some(text) = text {
            fs::write(&path, text).unwrap();
        }
        ToolSettingsFile { shown: path.display().to_string(), path, text: text.map(str::to_owned) }
    }

    #[test]
    fn what_a_tool_wrote_since_its_file_was_read_is_never_lost() {
        let directory = tempfile::tempdir().unwrap();
        let ways: [Way; 3] = [
            |target| target.write("{\"maestro\": 1}").map(drop),
            |target| target.restore("{\"maestro\": 1}"),
            ToolSettingsFile::remove,
        ];
        for way in ways {
            let target = read(directory.path(), Some("{}"));
            fs::write(&target.path, "{\"theirs\": 1}").unwrap();
            assert!(way(&target).unwrap_err().message().ends_with("changed while it was being edited"));
            assert_eq!(fs::read_to_string(&target.path).unwrap(), "{\"theirs\": 1}");
            assert!(!target.backup().exists());
        }
    }

    #[test]
    fn a_file_that_came_or_went_since_it_was_looked_for_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let target = read(directory.path(), None);
        fs::write(&target.path, "{}").unwrap();
        assert!(target.write("{\"maestro\": 1}").is_err());
        assert_eq!(fs::read_to_string(&target.path).unwrap(), "{}");
        let target = read(directory.path(), Some("{}"));
        fs::remove_file(&target.path).unwrap();
        assert!(target.write("{\"maestro\": 1}").is_err());
        assert!(!target.path.exists() && !target.backup().exists());
    }
}
