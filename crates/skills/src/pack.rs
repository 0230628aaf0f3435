//! Skill packs that are copied to the user's data directory, and the files to write for that.
//!
//! A pack becomes a directory that is named after its contents and never changed; a link of a fixed name is
//! swapped onto it. So readers see the old pack or the new one, whole, and what left the pack is gone. This
//! module only says what to write.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rust_embed::RustEmbed;
use sha2::{Digest, Sha256};

use crate::format::SkillFiles;
use crate::text;

/// How much a workspace's pack may hold.
const MAX_PACK_BYTES: u64 = 64 * 1024 * 1024;
/// How many files a workspace's pack may hold.
const MAX_PACK_FILES: usize = 10_000;
/// How deep a workspace's pack may nest.
const MAX_PACK_DEPTH: usize = 8;

#[derive(RustEmbed)]
#[folder = "../../skills"]
struct EmbeddedFiles;

/// A file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileWrite {
    /// Where, relative to the directory being made.
    pub path: PathBuf,
    /// What.
    pub bytes: Vec<u8>,
    /// Whether it may be run.
    pub executable: bool,
}

/// Skills that belong together and are copied together.
#[derive(Debug)]
pub struct SkillPack {
    name: String,
    digest: String,
    files: Vec<PackFile>,
    left_out: Vec<PathBuf>,
}

/// A file of a pack. What comes with Maestro was hashed when it was compiled, and is copied only when it is written.
#[derive(Debug)]
struct PackFile {
    path: PathBuf,
    contents: Cow<'static, [u8]>,
    hash: [u8; 32],
    executable: bool,
}

impl PackFile {
    fn into_write(self) -> FileWrite {
        FileWrite { path: self.path, bytes: self.contents.into_owned(), executable: self.executable }
    }
}

/// Why a pack is not up to date.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// A file or directory of the pack could not be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The copy could not be written.
    #[error("cannot write to {}", path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The pack is too large to copy.
    #[error("{} holds more than 64 MiB, 10,000 files or 8 levels", path.display())]
    TooLarge {
        /// The pack's directory.
        path: PathBuf,
    },
    /// The pack's directory is a link that leaves the project.
    #[error("{} leads out of the project", path.display())]
    Outside {
        /// The pack's directory.
        path: PathBuf,
    },
    /// Something else is where the link should be.
    #[error("{} exists and was not made by Maestro", path.display())]
    Occupied {
        /// Where.
        path: PathBuf,
    },
}

/// What must be done to bring a pack up to date.
#[derive(Debug, PartialEq, Eq)]
pub struct SyncPlan {
    /// The directory that holds the packs.
    pub sync_dir: PathBuf,
    /// The link's name in it.
    pub link: String,
    /// The name of the directory that the link should point to.
    pub target: String,
    /// The files of that directory.
    pub files: Vec<FileWrite>,
    /// Names of directories that earlier versions of this pack left behind.
    pub stale: Vec<String>,
}

impl SkillPack {
    /// The pack that comes with Maestro.
    pub fn builtin() -> Self {
        let mut paths: Vec<_> = EmbeddedFiles::iter().collect();
        paths.sort();
        let files = paths
            .iter()
            .filter_map(|path| {
                let file = EmbeddedFiles::get(path)?;
                let hash = file.metadata.sha256_hash();
                Some(PackFile { path: path.as_ref().into(), contents: file.data, hash, executable: false })
            })
            .collect();
        Self::of("builtin".to_owned(), files, Vec::new())
    }

    /// The pack of a workspace, if the directory exists. Links are left out, and a directory that is in the
    /// project by name only is refused: a checkout must not have other people's files copied.
    pub fn workspace(dir: &Path, project: &Path) -> Result<Option<Self>, PackError> {
        let (Ok(real), Ok(real_project)) = (dir.canonicalize(), project.canonicalize()) else { return Ok(None) };
        if !real.is_dir() {
            return Ok(None);
        }
        if dir.starts_with(project) && !real.starts_with(&real_project) {
            return Err(PackError::Outside { path: dir.to_owned() });
        }
        let mut reader = PackReader { root: dir, files: Vec::new(), left_out: Vec::new(), bytes: 0 };
        reader.read(dir, 0)?;
        reader.files.sort_by(|a, b| a.path.cmp(&b.path));
        reader.left_out.sort();
        // Workspaces share one data directory, so the name distinguishes them.
        let place = hex(&Sha256::digest(dir.as_os_str().as_encoded_bytes()), 12);
        Ok(Some(Self::of(format!("workspace-{place}"), reader.files, reader.left_out)))
    }

    /// What is in the pack's directory but no file, and so not in the copy.
    pub fn left_out(&self) -> &[PathBuf] {
        &self.left_out
    }

    fn of(name: String, files: Vec<PackFile>, left_out: Vec<PathBuf>) -> Self {
        let mut hash = Sha256::new();
        for file in &files {
            let path = file.path.as_os_str().as_encoded_bytes();
            hash.update((path.len() as u64).to_le_bytes());
            hash.update(path);
            hash.update([u8::from(file.executable)]);
            hash.update(file.hash);
        }
        let digest = hex(&hash.finalize(), 16);
        Self { name, digest, files, left_out }
    }

    /// The files of one of its skills, relative to that skill's folder.
    pub fn skill_files(&self, name: &str) -> Vec<FileWrite> {
        let of_skill = |file: &PackFile| {
            let path = file.path.strip_prefix(name).ok()?.to_owned();
            Some(FileWrite { path, bytes: file.contents.to_vec(), executable: file.executable })
        };
        self.files.iter().filter_map(of_skill).collect()
    }

    /// What a file of the pack that comes with Maestro holds, without taking all of it apart.
    pub fn builtin_file(path: &str) -> Option<Cow<'static, [u8]>> {
        EmbeddedFiles::get(path).map(|file| file.data)
    }

    /// The directories of its skills, without looking at the disk.
    pub fn skill_names(&self) -> Vec<&str> {
        let is_lead = |file: &&PackFile| {
            file.path.components().count() == 2
                && file.path.file_name().is_some_and(|name| SkillFiles::is_form(&name.to_string_lossy()))
        };
        let mut names: Vec<&str> =
            self.files.iter().filter(is_lead).filter_map(|file| file.path.parent()?.to_str()).collect();
        names.dedup();
        names
    }

    /// Where the pack can be read once it is synced.
    pub fn directory(&self, sync_dir: &Path) -> PathBuf {
        sync_dir.join(&self.name)
    }

    /// What must be written to bring the copy up to date; nothing when it is.
    pub fn plan(self, sync_dir: &Path) -> Result<Option<SyncPlan>, PackError> {
        let link = sync_dir.join(&self.name);
        let target = format!(".{}-{}", self.name, self.digest);
        let prefix = format!(".{}-", self.name);
        match fs::read_link(&link) {
            Ok(current) if current == Path::new(&target) && sync_dir.join(&target).is_dir() => return Ok(None),
            Ok(current) if current.to_string_lossy().starts_with(&prefix) => {}
            Err(_) if link.symlink_metadata().is_err() => {}
            Ok(_) | Err(_) => return Err(PackError::Occupied { path: link }),
        }
        let mut stale = stale_copies(sync_dir, &prefix);
        stale.retain(|name| *name != target);
        stale.sort_unstable();
        let files = self.files.into_iter().map(PackFile::into_write).collect();
        Ok(Some(SyncPlan { sync_dir: sync_dir.to_owned(), link: self.name, target, files, stale }))
    }
}

/// The copies of a pack that were made before. Those that cannot be listed stay where they are.
fn stale_copies(sync_dir: &Path, prefix: &str) -> Vec<String> {
    let listed = fs::read_dir(sync_dir).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    match listed {
        Ok(entries) => {
            let names = entries.iter().filter_map(|entry| entry.file_name().into_string().ok());
            names.filter(|name| name.starts_with(prefix)).collect()
        }
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(path = %sync_dir.display(), "old copies of skills cannot be listed: {error}");
            }
            Vec::new()
        }
    }
}

struct PackReader<'a> {
    root: &'a Path,
    files: Vec<PackFile>,
    left_out: Vec<PathBuf>,
    bytes: u64,
}

impl PackReader<'_> {
    fn read(&mut self, dir: &Path, depth: usize) -> Result<(), PackError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| PackError::Read { path, source }
        };
        for entry in fs::read_dir(dir).map_err(failed(dir))? {
            let path = entry.map_err(failed(dir))?.path();
            let metadata = path.symlink_metadata().map_err(failed(&path))?;
            if metadata.is_dir() {
                if depth >= MAX_PACK_DEPTH {
                    return Err(PackError::TooLarge { path: self.root.to_owned() });
                }
                self.read(&path, depth + 1)?;
                continue;
            }
            if !metadata.is_file() {
                self.left_out.push(path);
                continue;
            }
            self.bytes += metadata.len();
            if self.bytes > MAX_PACK_BYTES || self.files.len() >= MAX_PACK_FILES {
                return Err(PackError::TooLarge { path: self.root.to_owned() });
            }
            // A file that grows meanwhile is no reason to read without end.
            let bytes = text::read_bounded(&path, metadata.len()).map_err(failed(&path))?.bytes;
            let relative = path.strip_prefix(self.root).unwrap_or(&path).to_owned();
            let hash = Sha256::digest(&bytes).into();
            let executable = is_executable(&metadata);
            self.files.push(PackFile { path: relative, contents: bytes.into(), hash, executable });
        }
        Ok(())
    }
}

#[cfg(unix)]
fn is_executable(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    false
}

/// The first `digits` of some bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8], digits: usize) -> String {
    bytes.iter().take(digits / 2).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
