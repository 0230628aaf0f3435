//! Record of changes to the settings of other tools, so that they can be undone byte for byte.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use maestro_core::connect::{CreatedParents, FileUndo};
use maestro_skills::read_bounded;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::host::files;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;

/// Maximum size of the file.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Record of every changed file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ConnectionFile {
    #[serde(skip)]
    path: PathBuf,
    files: Vec<ConnectedFile>,
    /// The folders that were created for files.
    #[serde(default)]
    folders: Vec<PathBuf>,
}

/// Record of one changed file.
#[derive(Debug, Serialize, Deserialize)]
struct ConnectedFile {
    path: PathBuf,
    /// What undoes the changes, the first one first.
    undos: Vec<FileUndo>,
    /// What was created in it, the outermost first.
    #[serde(default)]
    around: Vec<CreatedParents>,
}

/// The record under a lock: two writers at once would lose each other's entries.
pub(crate) struct ConnectionLedger {
    connections: ConnectionFile,
    /// Held as long as this lives.
    _lock: File,
}

impl ConnectionFile {
    pub(crate) fn load(world: &World) -> CommandResult<Self> {
        let path = file_path(world);
        let damaged = |why: String| {
            CommandError::invalid(format!("cannot read {}: {why}", world.display_path(&path)))
                .hint("remove the file; you can still disconnect, but created folders stay")
        };
        let contents = match read_bounded(&path, MAX_BYTES) {
            Ok(contents) if contents.cut => return Err(damaged("larger than 16 MiB".to_owned())),
            Ok(contents) => contents.bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self { path, ..Self::default() }),
            Err(error) => return Err(damaged(error.to_string())),
        };
        let known: Self = serde_json::from_slice(&contents).map_err(|error| damaged(error.to_string()))?;
        Ok(Self { path, ..known })
    }

    /// What undoes the changes of a file, the first one first.
    pub(crate) fn undos(&self, file: &Path) -> &[FileUndo] {
        self.files.iter().find(|known| known.path == file).map_or(&[], |known| &known.undos)
    }

    /// What was created in a file, the outermost first.
    pub(crate) fn created_parents(&self, file: &Path) -> &[CreatedParents] {
        self.files.iter().find(|known| known.path == file).map_or(&[], |known| &known.around)
    }

    /// Whether Maestro created a file or folder.
    pub(crate) fn contains(&self, path: &Path) -> bool {
        self.files.iter().any(|known| known.path == path) || self.folders.iter().any(|made| made == path)
    }

    /// The changed files below a directory.
    pub(crate) fn below(&self, directory: &Path) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|known| known.path.as_path()).filter(move |path| path.starts_with(directory))
    }

    fn keep(&self) -> CommandResult<()> {
        let bytes = serde_json::to_vec(self).map_err(|error| unwritable(&self.path, &error))?;
        files::write_private(&self.path, &bytes).map_err(|error| unwritable(&self.path, &error))
    }
}

impl ConnectionLedger {
    /// The current record, once no other process changes it.
    pub(crate) fn open(world: &World) -> CommandResult<Self> {
        let path = file_path(world);
        let lock = || {
            files::own_directory(&world.maestro_home)?;
            let lock = File::create(path.with_extension("lock"))?;
            flock(&lock, FlockOperation::LockExclusive)?;
            Ok(lock)
        };
        let lock = lock().map_err(|error: io::Error| unwritable(&path, &error))?;
        Ok(Self { connections: ConnectionFile::load(world)?, _lock: lock })
    }

    /// What undoes the changes of a file, the first one first.
    pub(crate) fn undos(&self, file: &Path) -> &[FileUndo] {
        self.connections.undos(file)
    }

    /// Records a change, and what was created in the file for it.
    pub(crate) fn add(&mut self, file: &Path, undo: FileUndo, around: &[CreatedParents]) -> CommandResult<()> {
        let files = &mut self.connections.files;
        match files.iter_mut().find(|known| known.path == file) {
            Some(known) => {
                known.undos.push(undo);
                let fresh: Vec<CreatedParents> =
                    around.iter().filter(|made| !known.around.contains(made)).cloned().collect();
                known.around.extend(fresh);
            }
            None => files.push(ConnectedFile { path: file.to_owned(), undos: vec![undo], around: around.to_vec() }),
        }
        self.connections.keep()
    }

    /// Records folders that were created for a file.
    pub(crate) fn add_folders(&mut self, made: Vec<PathBuf>) -> CommandResult<()> {
        if made.is_empty() {
            return Ok(());
        }
        self.connections.folders.extend(made);
        self.connections.keep()
    }

    /// Forgets a restored file, and returns the folders that were created for it and no other.
    pub(crate) fn forget(&mut self, file: &Path) -> CommandResult<Vec<PathBuf>> {
        let ConnectionFile { files, folders, .. } = &mut self.connections;
        files.retain(|known| known.path != file);
        let is_free = |folder: &mut PathBuf| !files.iter().any(|known| known.path.starts_with(&*folder));
        let free = folders.extract_if(.., is_free).collect();
        self.connections.keep()?;
        Ok(free)
    }
}

fn file_path(world: &World) -> PathBuf {
    world.maestro_home.join("connections.json")
}

fn unwritable(path: &Path, error: &(dyn std::error::Error + 'static)) -> CommandError {
    CommandError::io(format!("cannot write {}", path.display()), error)
        .hint("check its permissions; nothing was connected")
}
