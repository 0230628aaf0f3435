//! Directory listing without a system call for each entry.
//!
//! A root is opened once. Its directories are reached through that handle, and their files through theirs: short
//! paths, looked up where they are, cost the kernel half of what long ones do.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, fstat, openat, statat};

use crate::file_stamp::FileStamp;

/// What an entry is, as the directory itself says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    File,
    Directory,
    Link,
    /// A pipe, a socket, a device: nothing to read.
    Other,
}

/// A directory that is open.
#[derive(Debug)]
pub(crate) struct OpenDirectory<'p> {
    path: &'p Path,
    handle: OwnedFd,
    stamp: FileStamp,
}

/// A file that is open and not read yet.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) file: File,
    pub(crate) stamp: FileStamp,
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl<'p> OpenDirectory<'p> {
    pub(crate) fn open(path: &'p Path) -> io::Result<Self> {
        Self::of(path, openat(CWD, path, DIRECTORY, Mode::empty())?)
    }

    /// A directory below this one, whose whole path is `path`.
    pub(crate) fn open_below<'c>(&self, relative: &Path, path: &'c Path) -> io::Result<OpenDirectory<'c>> {
        OpenDirectory::of(path, openat(&self.handle, relative, DIRECTORY, Mode::empty())?)
    }

    fn of(path: &'p Path, handle: OwnedFd) -> io::Result<Self> {
        let stamp = fstat(&handle)?.into();
        Ok(Self { path, handle, stamp })
    }

    /// What it was like before anything in it was looked at.
    pub(crate) fn stamp(&self) -> FileStamp {
        self.stamp
    }

    /// What a directory below this one is like, links followed; nothing is between it and itself.
    pub(crate) fn stamp_of_directory(&self, relative: &Path) -> io::Result<FileStamp> {
        if relative.as_os_str().is_empty() {
            return Ok(self.stamp);
        }
        Ok(statat(&self.handle, relative, AtFlags::empty())?.into())
    }

    /// What a file below this directory is like, a link being one itself.
    pub(crate) fn stamp_of_file(&self, relative: &Path) -> io::Result<FileStamp> {
        Ok(statat(&self.handle, relative, AtFlags::SYMLINK_NOFOLLOW)?.into())
    }

    pub(crate) fn path(&self) -> &'p Path {
        self.path
    }

    pub(crate) fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// Shows every entry to `see`, in no particular order.
    pub(crate) fn for_each_entry(&self, mut see: impl FnMut(&OsStr, FileKind)) -> io::Result<()> {
        each_entry(&self.handle, |name, kind| {
            let name = OsStr::from_bytes(name);
            if name != "." && name != ".." {
                see(name, kind_of(kind, || self.join(name)));
            }
        })
    }

    /// A file in this directory, open for reading. A pipe that took its place is not waited for.
    pub(crate) fn open_file(&self, name: &str) -> io::Result<OpenFile> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let handle = openat(&self.handle, name, flags, Mode::empty())?;
        let stamp = fstat(&handle)?.into();
        Ok(OpenFile { file: handle.into(), stamp })
    }
}

/// Asks the kernel directly: its answer needs no copy of its own.
#[cfg(target_os = "linux")]
fn each_entry(handle: &OwnedFd, mut see: impl FnMut(&[u8], FileType)) -> io::Result<()> {
    use std::mem::MaybeUninit;
    let mut buffer = [MaybeUninit::uninit(); 8192];
    let mut entries = rustix::fs::RawDir::new(handle.as_fd(), &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        see(entry.file_name().to_bytes(), entry.file_type());
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn each_entry(handle: &OwnedFd, mut see: impl FnMut(&[u8], FileType)) -> io::Result<()> {
    for entry in rustix::fs::Dir::read_from(handle.as_fd())? {
        let entry = entry?;
        see(entry.file_name().to_bytes(), entry.file_type());
    }
    Ok(())
}

fn kind_of(kind: FileType, path: impl Fn() -> PathBuf) -> FileKind {
    match kind {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Link,
        FileType::Unknown => kind_by_stat(&path()),
        _ => FileKind::Other,
    }
}

/// Some file systems do not keep the kind of an entry in the directory.
fn kind_by_stat(path: &Path) -> FileKind {
    match path.symlink_metadata().map(|metadata| metadata.file_type()) {
        Ok(kind) if kind.is_file() => FileKind::File,
        Ok(kind) if kind.is_dir() => FileKind::Directory,
        Ok(kind) if kind.is_symlink() => FileKind::Link,
        _ => FileKind::Other,
    }
}
