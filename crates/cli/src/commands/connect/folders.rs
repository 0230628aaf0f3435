//! Which folders were made for a file, and how do they go with it?

use std::cmp::Reverse;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Makes a folder and those above it, and says which ones were not there. If one cannot be made, none is.
pub(super) fn make(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let missing: Vec<&Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
    let mut made = Vec::new();
    for folder in missing.into_iter().rev() {
        match fs::create_dir(folder) {
            Ok(()) => made.push(folder.to_owned()),
            // Somebody else was faster, so it is theirs.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                remove_empty(made);
                return Err(error);
            }
        }
    }
    Ok(made)
}

/// Removes folders, the innermost first. One that somebody put something into stays.
pub(super) fn remove_empty(mut folders: Vec<PathBuf>) {
    folders.sort_by_key(|folder| Reverse(folder.components().count()));
    for folder in folders {
        // What cannot be removed is in nobody's way.
        let _ = fs::remove_dir(folder);
    }
}
