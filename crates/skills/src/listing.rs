//! What is in a directory, without asking about each entry?

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;

/// What an entry is, as the directory itself says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    Link,
    /// A pipe, a socket, a device: nothing to read.
    Other,
}

/// An entry of a directory.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: OsString,
    pub(crate) kind: Kind,
}

/// The entries of a directory, in no particular order.
pub(crate) fn list(dir: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let kind = if kind.is_dir() {
            Kind::Directory
        } else if kind.is_symlink() {
            Kind::Link
        } else if kind.is_file() {
            Kind::File
        } else {
            Kind::Other
        };
        entries.push(Entry { name: entry.file_name(), kind });
    }
    Ok(entries)
}
