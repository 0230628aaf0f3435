//! Directory handle that follows no links.
//!
//! What is below a repository or a worktree may have been replaced by a link since it was made. Every step from one
//! directory to the next is made on a handle, and a link in the way is an error.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, mkdirat, openat, readlinkat, renameat, statat, symlinkat};
use rustix::io::Errno;

/// A directory that was reached without a link below the path it was opened at.
#[derive(Debug)]
pub(crate) struct RealFolder(OwnedFd);

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl RealFolder {
    /// The directory at a path whose parents are trusted.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::open(path, FOLDER | OFlags::RDONLY, Mode::empty())?))
    }

    /// A directory in this one.
    pub(crate) fn child(&self, name: &str) -> io::Result<Self> {
        Ok(Self(openat(&self.0, name, FOLDER | OFlags::RDONLY, Mode::empty())?))
    }

    /// A directory in this one, which is made if it is missing.
    pub(crate) fn make(&self, name: &str) -> io::Result<Self> {
        match mkdirat(&self.0, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
            Ok(()) | Err(Errno::EXIST) => self.child(name),
            Err(error) => Err(error.into()),
        }
    }

    /// The contents of a file in this one, unless it is missing or longer than `limit`.
    pub(crate) fn read(&self, name: &str, limit: u64) -> io::Result<Option<Vec<u8>>> {
        // A pipe must not make us wait for its writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.0, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(None),
            file => file?,
        };
        let found = fstat(&file)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
            return Err(io::Error::other(format!("`{name}` is not a file")));
        }
        let mut bytes = Vec::new();
        File::from(file).take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(io::Error::other(format!("`{name}` has more than {limit} bytes")));
        }
        Ok(Some(bytes))
    }

    /// Adds to the end of a file in this one, which is made if it is missing.
    pub(crate) fn append(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.0, name, flags, Mode::from_raw_mode(0o666))?;
        if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
            return Err(io::Error::other(format!("`{name}` is not a file")));
        }
        File::from(file).write_all(bytes)
    }

    /// Makes a file in this one have these contents, in one step.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let limit = bytes.len() as u64;
        if self.read(name, limit).is_ok_and(|found| found.as_deref() == Some(bytes)) {
            return Ok(());
        }
        let new = format!("{name}.{}.new", uuid::Uuid::now_v7());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.0, new.as_str(), flags, Mode::from_raw_mode(0o666))?);
        file.write_all(bytes)?;
        Ok(renameat(&self.0, new.as_str(), &self.0, name)?)
    }

    /// Makes an entry of this one a link of ours, in one step.
    pub(crate) fn link(&self, name: &str, target: &Path) -> io::Result<()> {
        let target_bytes = target.as_os_str().as_encoded_bytes();
        if readlinkat(&self.0, name, Vec::new()).is_ok_and(|found| found.as_bytes() == target_bytes) {
            return Ok(());
        }
        let new = format!("{name}.{}.new", uuid::Uuid::now_v7());
        symlinkat(target, &self.0, new.as_str())?;
        Ok(renameat(&self.0, new.as_str(), &self.0, name)?)
    }

    /// What an entry of this one is, links not followed; nothing where there is none.
    pub(crate) fn kind(&self, name: &str) -> io::Result<Option<FileType>> {
        match statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(FileType::from_raw_mode(found.st_mode))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Moves an entry of this one to another directory.
    pub(crate) fn move_entry(&self, name: &str, to: &Self, new_name: &str) -> io::Result<()> {
        Ok(renameat(&self.0, name, &to.0, new_name)?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_link_is_followed_to_read_or_to_write() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir(root.join("real")).unwrap();
        fs::write(root.join("victim"), "mine\n").unwrap();
        symlink("../victim", root.join("real/exclude")).unwrap();
        symlink("real", root.join("linked")).unwrap();
        let folder = RealFolder::open(root).unwrap();
        assert!(folder.child("linked").is_err() && folder.make("linked").is_err());
        let real = folder.child("real").unwrap();
        assert!(real.read("exclude", 100).is_err());
        assert!(real.append("exclude", b"x").is_err());
        assert_eq!(real.kind("exclude").unwrap(), Some(FileType::Symlink));
        real.write("exclude", b"ours").unwrap();
        assert_eq!(fs::read_to_string(root.join("victim")).unwrap(), "mine\n");
        assert_eq!(real.read("exclude", 100).unwrap().as_deref(), Some(&b"ours"[..]));
        assert_eq!(real.read("missing", 100).unwrap(), None);
        assert!(real.read("exclude", 3).is_err());
    }

    #[test]
    fn a_link_of_ours_leads_where_it_should() {
        let dir = tempfile::tempdir().unwrap();
        let folder = RealFolder::open(dir.path()).unwrap();
        for target in ["/r/objects", "/r/objects", "/moved/objects"] {
            folder.link("objects", Path::new(target)).unwrap();
            assert_eq!(fs::read_link(dir.path().join("objects")).unwrap(), Path::new(target));
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
