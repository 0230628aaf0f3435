//! What is in a directory, without asking about each entry?
//!
//! A directory is opened once; its entries and its files are then reached through that handle.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, openat};

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

/// A directory that is open.
#[derive(Debug)]
pub(crate) struct Directory<'a> {
    path: &'a Path,
    handle: Dir,
}

impl<'a> Directory<'a> {
    pub(crate) fn open(path: &'a Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = Dir::new(openat(CWD, path, flags, Mode::empty())?)?;
        Ok(Self { path, handle })
    }

    pub(crate) fn path(&self) -> &'a Path {
        self.path
    }

    pub(crate) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// The entries, in no particular order.
    pub(crate) fn entries(&mut self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        while let Some(entry) = self.handle.read() {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::RegularFile => Kind::File,
                FileType::Directory => Kind::Directory,
                FileType::Symlink => Kind::Link,
                FileType::Unknown => kind_by_asking(&self.path.join(name)),
                _ => Kind::Other,
            };
            entries.push(Entry { name: name.to_owned(), kind });
        }
        Ok(entries)
    }

    /// A file in this directory, open for reading. A pipe that took its place is not waited for.
    pub(crate) fn open_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        Ok(File::from(openat(self.handle.fd()?, name, flags, Mode::empty())?))
    }
}

/// Some file systems do not keep the kind of an entry in the directory.
fn kind_by_asking(path: &Path) -> Kind {
    match path.symlink_metadata().map(|metadata| metadata.file_type()) {
        Ok(kind) if kind.is_file() => Kind::File,
        Ok(kind) if kind.is_dir() => Kind::Directory,
        Ok(kind) if kind.is_symlink() => Kind::Link,
        _ => Kind::Other,
    }
}
