//! Contents of a skill's folder: one hash of everything, and the names and sizes of its files.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use sha2::{Digest, Sha256};

use super::CoverageError;

/// Git's directory, which changes with every git command.
const GIT: &str = ".git";

/// Limits on the size of a folder.
#[derive(Debug, Clone, Copy)]
pub(super) struct FolderBounds {
    /// How many files, links and directories it may have.
    pub(super) entries: usize,
    /// How many bytes its files may have together.
    pub(super) bytes: u64,
}

impl FolderBounds {
    /// As much as can be read before every command without a noticeable delay.
    pub(super) const USUAL: Self = Self { entries: 10_000, bytes: 256 * 1024 * 1024 };
}

/// A skill's folder as it is now, without git's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderSnapshot {
    /// Where it is.
    pub path: PathBuf,
    /// Its files and links, in the order of their names.
    pub files: Vec<FolderEntry>,
    hash: [u8; 32],
}

/// A file of a folder, or a link in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    /// Its name, relative to the folder.
    pub name: PathBuf,
    /// How many of its bytes count; none of a link that stays in the folder.
    pub size: u64,
}

impl FolderSnapshot {
    /// Reads a folder. One that is too large, or cannot be read completely, has no hash to consent to.
    /// Every byte that counts is copied, if a copy is wanted.
    pub(super) fn read(path: &Path, bounds: FolderBounds, copy: Option<&Path>) -> Result<Self, CoverageError> {
        let root = path.canonicalize().map_err(|error| unreadable(path, &error))?;
        if let Some(copy) = copy {
            fs::create_dir(copy).map_err(|error| unreadable(copy, &error))?;
        }
        let mut reading = FolderReader { path, root, bounds, left: bounds.bytes, hasher: Sha256::new(), copy };
        let mut files = Vec::new();
        for (name, kind) in entries(path, bounds)? {
            let size = reading.add(&name, kind)?;
            files.push(FolderEntry { name, size });
        }
        Ok(Self { path: path.to_owned(), files, hash: reading.hasher.finalize().into() })
    }

    /// The hash of all names and contents.
    pub(super) fn hash(&self) -> &[u8] {
        &self.hash
    }

    /// How many bytes all files have together.
    pub fn size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

/// The type of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FolderEntryKind {
    File,
    Link,
}

/// Every file and link below a folder, sorted by name.
fn entries(folder: &Path, bounds: FolderBounds) -> Result<Vec<(PathBuf, FolderEntryKind)>, CoverageError> {
    let (mut found, mut open, mut seen) = (Vec::new(), vec![PathBuf::new()], 0);
    while let Some(below) = open.pop() {
        let directory = folder.join(&below);
        for entry in directory.read_dir().map_err(|error| unreadable(&directory, &error))? {
            let entry = entry.map_err(|error| unreadable(&directory, &error))?;
            let name = below.join(entry.file_name());
            if name == Path::new(GIT) {
                continue;
            }
            seen += 1;
            if seen > bounds.entries {
                return Err(CoverageError::TooMany { folder: folder.to_owned(), most: bounds.entries });
            }
            let kind = entry.file_type().map_err(|error| unreadable(&entry.path(), &error))?;
            if kind.is_dir() {
                open.push(name);
            } else if kind.is_file() {
                found.push((name, FolderEntryKind::File));
            } else if kind.is_symlink() {
                found.push((name, FolderEntryKind::Link));
            } else {
                return Err(CoverageError::NoFile(entry.path()));
            }
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(found)
}

/// The contents of a folder as far as they were read.
struct FolderReader<'p> {
    path: &'p Path,
    /// The real path of the folder.
    root: PathBuf,
    bounds: FolderBounds,
    /// How many bytes may still come.
    left: u64,
    hasher: Sha256,
    /// Where everything is copied to, if anywhere.
    copy: Option<&'p Path>,
}

impl FolderReader<'_> {
    /// Adds a file or a link, and returns how many bytes of it count.
    fn add(&mut self, name: &Path, kind: FolderEntryKind) -> Result<u64, CoverageError> {
        let path = self.path.join(name);
        match kind {
            FolderEntryKind::File => {
                self.put(b"file", name.as_os_str().as_bytes());
                self.contents(&path, name, OFlags::NOFOLLOW)
            }
            FolderEntryKind::Link => {
                let target = fs::read_link(&path).map_err(|error| unreadable(&path, &error))?;
                self.put(b"link", name.as_os_str().as_bytes());
                self.put(b"to", target.as_os_str().as_bytes());
                self.add_link_target(&path, name)
            }
        }
    }

    /// Adds the target of a link, unless it counts by itself or does not exist.
    fn add_link_target(&mut self, link: &Path, name: &Path) -> Result<u64, CoverageError> {
        let Ok(real) = link.canonicalize() else { return Ok(0) };
        if !real.starts_with(self.root.join(GIT))
            && let Ok(within) = real.strip_prefix(&self.root)
        {
            return self.link_copy(within, name).map(|()| 0);
        }
        if real.is_dir() {
            return Err(CoverageError::LinkOut(link.to_owned()));
        }
        self.put(b"behind", b"");
        self.contents(&real, name, OFlags::empty())
    }

    /// Links the copy of a link's target, which is in the folder.
    fn link_copy(&self, within: &Path, name: &Path) -> Result<(), CoverageError> {
        let Some(copy) = self.copy else { return Ok(()) };
        let (target, link) = (copy.join(within), copy.join(name));
        let linked = make_parent(&link).and_then(|()| std::os::unix::fs::symlink(target, &link));
        linked.map_err(|error| unreadable(&link, &error))
    }

    /// The file that a file of the folder is copied to, if it is copied.
    fn copy_file(&self, name: &Path, original: &fs::Metadata) -> io::Result<Option<File>> {
        let Some(copy) = self.copy.map(|copy| copy.join(name)) else { return Ok(None) };
        make_parent(&copy)?;
        let mode = if original.permissions().mode() & 0o111 == 0 { 0o400 } else { 0o500 };
        fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(copy).map(Some)
    }

    fn contents(&mut self, path: &Path, name: &Path, flags: OFlags) -> Result<u64, CoverageError> {
        let unreadable = |error: io::Error| unreadable(path, &error);
        // A pipe that took the file's place must not block.
        let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| unreadable(error.into()))?;
        let mut file = File::from(file);
        let found = file.metadata().map_err(unreadable)?;
        if !found.is_file() {
            return Err(CoverageError::NoFile(path.to_owned()));
        }
        let mut copy = self.copy_file(name, &found).map_err(unreadable)?;
        let (mut buffer, mut size, mut hasher) = (vec![0; 64 * 1024], 0, Sha256::new());
        loop {
            let read = match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(unreadable(error)),
            };
            size += read as u64;
            if size > self.left {
                return Err(CoverageError::TooLarge { folder: self.path.to_owned(), most: self.bounds.bytes });
            }
            hasher.update(&buffer[..read]);
            if let Some(copy) = &mut copy {
                copy.write_all(&buffer[..read]).map_err(unreadable)?;
            }
        }
        self.left -= size;
        self.hasher.update(hasher.finalize());
        Ok(size)
    }

    fn put(&mut self, what: &[u8], bytes: &[u8]) {
        for bytes in [what, bytes] {
            self.hasher.update((bytes.len() as u64).to_le_bytes());
            self.hasher.update(bytes);
        }
    }
}

fn make_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

fn unreadable(path: &Path, error: &io::Error) -> CoverageError {
    CoverageError::Unreadable { path: path.to_owned(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder with a program, its dependencies, and an unrelated file.
    fn folder() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("skill");
        fs::create_dir_all(folder.join("lib")).unwrap();
        fs::write(folder.join("run.sh"), ". ./lib/part.sh").unwrap();
        fs::write(folder.join("lib/part.sh"), "echo part").unwrap();
        fs::write(dir.path().join("outside.sh"), "echo outside").unwrap();
        (dir, folder)
    }

    fn hash(folder: &Path) -> [u8; 32] {
        FolderSnapshot::read(folder, FolderBounds::USUAL, None).unwrap().hash
    }

    #[test]
    fn every_name_and_every_byte_counts_and_what_git_keeps_does_not() {
        let (_dir, folder) = folder();
        let known = FolderSnapshot::read(&folder, FolderBounds::USUAL, None).unwrap();
        let listed: Vec<_> = known.files.iter().map(|file| (file.name.to_str().unwrap(), file.size)).collect();
        assert_eq!(listed, [("lib/part.sh", 9), ("run.sh", 15)]);
        fs::create_dir(folder.join(".git")).unwrap();
        fs::write(folder.join(".git/index"), "changes by itself").unwrap();
        assert_eq!(hash(&folder), known.hash);
        fs::write(folder.join("lib/part.sh"), "echo evil").unwrap();
        assert_ne!(hash(&folder), known.hash);
        fs::write(folder.join("lib/part.sh"), "echo part").unwrap();
        assert_eq!(hash(&folder), known.hash);
        fs::rename(folder.join("lib/part.sh"), folder.join("lib/other.sh")).unwrap();
        assert_ne!(hash(&folder), known.hash);
    }

    #[test]
    fn a_link_counts_with_what_it_leads_to() {
        let (dir, folder) = folder();
        symlink("run.sh", folder.join("within")).unwrap();
        symlink(dir.path().join("outside.sh"), folder.join("out")).unwrap();
        symlink("absent", folder.join("nowhere")).unwrap();
        let before = hash(&folder);
        fs::write(dir.path().join("outside.sh"), "echo evil").unwrap();
        let after = hash(&folder);
        assert_ne!(after, before);
        fs::remove_file(folder.join("within")).unwrap();
        symlink("lib/part.sh", folder.join("within")).unwrap();
        assert_ne!(hash(&folder), after);
        fs::create_dir(folder.join(".git")).unwrap();
        fs::write(folder.join(".git/x.sh"), "echo one").unwrap();
        symlink(".git/x.sh", folder.join("hidden")).unwrap();
        let hidden = hash(&folder);
        fs::write(folder.join(".git/x.sh"), "echo two").unwrap();
        assert_ne!(hash(&folder), hidden, "what git keeps counts where a link leads to it");
        symlink(dir.path(), folder.join("up")).unwrap();
        assert_eq!(
            FolderSnapshot::read(&folder, FolderBounds::USUAL, None),
            Err(CoverageError::LinkOut(folder.join("up")))
        );
    }

    #[test]
    fn what_is_too_large_or_no_file_has_no_hash() {
        let (_dir, folder) = folder();
        let small = |entries, bytes| FolderSnapshot::read(&folder, FolderBounds { entries, bytes }, None);
        assert!(small(3, 24).is_ok());
        assert_eq!(small(2, 24), Err(CoverageError::TooMany { folder: folder.clone(), most: 2 }));
        assert_eq!(small(3, 23), Err(CoverageError::TooLarge { folder: folder.clone(), most: 23 }));
        let _socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).unwrap();
        assert_eq!(small(9, 99), Err(CoverageError::NoFile(folder.join("socket"))));
        let gone = folder.join("gone");
        assert!(
            matches!(FolderSnapshot::read(&gone, FolderBounds::USUAL, None), Err(CoverageError::Unreadable { path, .. }) if path == gone)
        );
    }
}
