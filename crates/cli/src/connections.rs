//! What was changed in the settings of other tools? Kept so that it can be undone, byte for byte.

use std::io;
use std::path::{Path, PathBuf};

use maestro_core::connect::Undo;
use maestro_skills::read_bounded;
use serde::{Deserialize, Serialize};

use crate::error::CommandError;
use crate::files;
use crate::world::World;

/// How large the file may be.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// What is remembered of every file that was changed.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Connections {
    #[serde(skip)]
    path: PathBuf,
    files: Vec<Remembered>,
}

/// What is remembered of one file.
#[derive(Debug, Serialize, Deserialize)]
struct Remembered {
    path: PathBuf,
    /// What undoes the changes, the first one first.
    undos: Vec<Undo>,
}

impl Connections {
    pub(crate) fn load(world: &World) -> Result<Self, CommandError> {
        let path = world.maestro_home.join("connections.json");
        let damaged = |why: String| {
            CommandError::invalid(format!("{} cannot be read: {why}", world.short(&path)))
                .hint("remove the file; connections can still be undone, but what they made around them stays")
        };
        let contents = match read_bounded(&path, MAX_BYTES) {
            Ok(contents) if contents.cut => return Err(damaged("it is larger than 16 MiB".to_owned())),
            Ok(contents) => contents.bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self { path, files: Vec::new() }),
            Err(error) => return Err(damaged(error.to_string())),
        };
        let known: Self = serde_json::from_slice(&contents).map_err(|error| damaged(error.to_string()))?;
        Ok(Self { path, ..known })
    }

    /// What undoes the changes of a file, the first one first.
    pub(crate) fn undos(&self, file: &Path) -> &[Undo] {
        self.files.iter().find(|known| known.path == file).map_or(&[], |known| &known.undos)
    }

    /// The files below a directory that were changed.
    pub(crate) fn below(&self, directory: &Path) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|known| known.path.as_path()).filter(move |path| path.starts_with(directory))
    }

    /// Remembers one change more.
    pub(crate) fn add(&mut self, file: &Path, undo: Undo) -> Result<(), CommandError> {
        match self.files.iter_mut().find(|known| known.path == file) {
            Some(known) => known.undos.push(undo),
            None => self.files.push(Remembered { path: file.to_owned(), undos: vec![undo] }),
        }
        self.keep()
    }

    /// Forgets a file, which is as it was.
    pub(crate) fn forget(&mut self, file: &Path) -> Result<(), CommandError> {
        self.files.retain(|known| known.path != file);
        self.keep()
    }

    fn keep(&self) -> Result<(), CommandError> {
        let unwritable = |error: &dyn std::error::Error| {
            CommandError::io(format!("{} cannot be written", self.path.display()), error)
                .hint("check that you may write there; nothing was connected")
        };
        let bytes = serde_json::to_vec(self).map_err(|error| unwritable(&error))?;
        files::keep_private(&self.path, &bytes).map_err(|error| unwritable(&error))
    }
}
