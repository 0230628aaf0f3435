//! Folders that were created for a file, and their removal.

use std::cmp::Reverse;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Creates a folder and its parents, and returns the new ones. If one fails, none is created.
pub(super) fn make(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
    let mut made = Vec::new();
    for folder in missing.into_iter().rev() {
        match fs::create_dir(folder) {
            Ok(()) => made.push(folder.to_owned()),
            // Another process was faster, so it is theirs.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                remove_empty(made);
                return Err(error);
            }
        }
    }
    Ok(made)
}

/// Removes folders, the innermost first. A folder that is not empty stays.
pub(super) fn remove_empty(mut folders: Vec<PathBuf>) {
    folders.sort_by_key(|folder| Reverse(folder.components().count()));
    for folder in folders {
        // A folder that cannot be removed does no harm.
        let _ = fs::remove_dir(folder);
    }
}
