//! Files of Maestro's own in the user's directories, by their names; anything else there belongs to others.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use maestro_store::DatabaseLocation;

use crate::host::agents;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::output::screen::clean_path;
use crate::server_process::database;

/// Names in Maestro's home that Maestro uses. An earlier Maestro has `data` there, and users have `skills`.
const NAMES: [&str; 13] = [
    "address",
    "archive",
    "backups",
    "bin",
    "declined-checks.json",
    "habits",
    "hooks",
    "run",
    "runs",
    "sealed",
    "server.turn",
    "sessions",
    "trusted",
];
/// Beginnings of such names.
const BEGINNINGS: [&str; 4] = ["maestro.db", "maestro.log", "connections.", "trust."];
/// Names in the directory of copied skill packs.
const PACKS: [&str; 4] = ["builtin", ".builtin-", "workspace-", ".workspace-"];

/// What is Maestro's own, and what lies beside it.
pub(super) struct OwnData {
    pub(super) own: Vec<PathBuf>,
    pub(super) foreign: Vec<PathBuf>,
    /// Directories that Maestro made, the innermost first; they go once they are empty.
    folders: Vec<PathBuf>,
}

impl OwnData {
    pub(super) fn find(world: &World) -> Self {
        let (home, data) = (&world.maestro_home, &world.places.data);
        let mut folders = vec![home.join("sessions"), home.clone(), data.join("skills"), data.clone()];
        folders.extend(world.user_config.parent().map(Path::to_owned));
        let mut found = Self { own: Vec::new(), foreign: Vec::new(), folders };
        let is_known = |name: &str| NAMES.contains(&name) || BEGINNINGS.iter().any(|begin| name.starts_with(begin));
        found.sort_entries(&world.maestro_home, &is_known);
        // The sessions of an earlier Maestro are in the same folder as ours.
        let (sessions, earlier) = (world.maestro_home.join("sessions"), world.maestro_home.join("data/sessions"));
        if earlier.is_dir() && found.own.contains(&sessions) {
            found.own.retain(|path| *path != sessions);
            found.sort_entries(&sessions, &|name| !earlier.join(format!("{name}.json")).exists());
        }
        found
            .sort_entries(&world.places.data.join("skills"), &|name| PACKS.iter().any(|begin| name.starts_with(begin)));
        let demo = world.places.home.join(".local/state/maestro-demo");
        for path in [world.user_config.clone(), agents::user_file(world), world.cache.clone(), demo] {
            if path.symlink_metadata().is_ok() {
                found.own.push(path);
            }
        }
        if let DatabaseLocation::File(file) = database::database_url(world)
            && file.exists()
            && !file.starts_with(&world.maestro_home)
        {
            found.foreign.push(file);
        }
        found
    }

    /// Sorts the entries of a directory.
    fn sort_entries(&mut self, directory: &Path, is_own: &dyn Fn(&str) -> bool) {
        let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if is_own(&name) { self.own.push(path) } else { self.foreign.push(path) }
        }
    }

    /// Removes what is Maestro's own, and directories that are empty then.
    pub(super) fn remove(&self) -> CommandResult<()> {
        for path in &self.own {
            remove(path).map_err(|error| {
                let shown = path.to_string_lossy().into_owned();
                CommandError::io(format!("cannot remove {}", clean_path(&shown)), &error)
                    .hint("check its permissions and run `maestro uninstall` again; what was removed stays removed")
            })?;
        }
        for folder in &self.folders {
            // A directory with something of others stays.
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }
}

fn remove(path: &Path) -> io::Result<()> {
    let about = match path.symlink_metadata() {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if about.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}
