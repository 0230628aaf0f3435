//! Git directory of ours, by which our own git calls see a repository.
//!
//! It leads to the objects and references of the repository and has a config that we wrote, so that git never reads the
//! repository's own: nothing in there can name a program for us to run. It lies inside the repository, where no agent
//! may write.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::folder::RealFolder;
use super::local_config::{ConfigUser, LocalConfig};
use super::places::{GitDirs, RepositoryError};
use crate::worktrees;

/// How many bytes of a config, or of a list of patterns, are read.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// What of the repository is reached by links of ours.
const LINKED: [&str; 3] = ["objects", "packed-refs", "refs"];
/// The same, where the repository has it.
const LINKED_IF_THERE: [&str; 3] = ["lfs", "reftable", "shallow"];
/// Lists of patterns that are copied. Others in `info` mean nothing to a call of ours.
const COPIED_INFO: [&str; 2] = ["attributes", "sparse-checkout"];

/// How a repository stores its references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RefStorage {
    /// One file for each, or all in one.
    Files,
    /// A table that only git itself can write.
    Table,
}

/// The length of the names of a repository's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectFormat {
    /// SHA-1.
    Sha1,
    /// SHA-256.
    Sha256,
}

impl ObjectFormat {
    /// The name of the tree without files.
    pub(crate) fn empty_tree(self) -> &'static str {
        match self {
            Self::Sha1 => "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
            Self::Sha256 => "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
        }
    }

    /// The name of the empty file.
    pub(crate) fn empty_blob(self) -> &'static str {
        match self {
            Self::Sha1 => "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
            Self::Sha256 => "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
        }
    }
}

/// A repository as our git calls see it.
#[derive(Debug, Clone)]
pub(crate) struct GuardedRepository {
    /// Where it really is.
    pub(crate) dirs: GitDirs,
    /// The git directory of ours.
    pub(crate) git_dir: PathBuf,
    /// How it stores references.
    pub(crate) refs: RefStorage,
    /// How it names objects.
    pub(crate) objects: ObjectFormat,
    config: LocalConfig,
}

impl GuardedRepository {
    /// The repository of a workspace, with its directory of ours up to date.
    pub(crate) fn of(workspace: &Path) -> Result<Self, RepositoryError> {
        let dirs = GitDirs::locate(workspace)?;
        let git_dir = dirs.shared.join("maestro/git").join(directory_name(&dirs));
        let shared = dirs.open_shared()?;
        let failed = |error| RepositoryError::Io { path: git_dir.clone(), error };
        let config = read_config(&dirs, &shared).map_err(failed)?;
        let refs = match config.value("extensions.refstorage") {
            None | Some("files") => RefStorage::Files,
            Some("reftable") => RefStorage::Table,
            Some(other) => return Err(RepositoryError::Unsupported(format!("references stored as `{other}`"))),
        };
        if refs == RefStorage::Table && dirs.own != dirs.shared && dirs.tree_name().is_none() {
            let what = "a linked worktree of a repository with a reftable; use its main checkout";
            return Err(RepositoryError::Unsupported(format!("Maestro does not support {what}")));
        }
        let objects = match config.value("extensions.objectformat") {
            Some("sha256") => ObjectFormat::Sha256,
            _ => ObjectFormat::Sha1,
        };
        let repository = Self { git_dir: git_dir.clone(), refs, objects, config, dirs };
        repository.update(&shared, &repository.config.guarded(ConfigUser::Ourselves)?).map_err(failed)?;
        Ok(repository)
    }

    /// The file that is the index of the workspace.
    pub(crate) fn index(&self) -> PathBuf {
        self.dirs.own.join("index")
    }

    /// The filters that only the repository's own config defines.
    pub(super) fn local_filters(&self) -> impl Iterator<Item = &str> {
        self.config.filters()
    }

    /// The config for a git directory that an agent uses.
    pub(super) fn agent_config(&self) -> Result<String, RepositoryError> {
        Ok(self.config.guarded(ConfigUser::Agent)?)
    }

    /// The patterns of files that stay out of commits.
    pub(super) fn excludes(&self) -> io::Result<Vec<u8>> {
        let shared = RealFolder::open(&self.dirs.shared)?;
        let mut text = read_info(&shared, "exclude")?;
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        // The project may be anywhere in the repository.
        text.extend_from_slice(format!("**/{}/\n", worktrees::PLACE).as_bytes());
        Ok(text)
    }

    fn update(&self, shared: &RealFolder, config: &str) -> io::Result<()> {
        let all = shared.make("maestro")?.make("git")?;
        let ours = all.make(&directory_name(&self.dirs))?;
        for name in LINKED {
            ours.link(name, &self.dirs.shared.join(name))?;
        }
        for name in LINKED_IF_THERE {
            if let Some(FileType::RegularFile | FileType::Directory) = shared.kind(name)? {
                ours.link(name, &self.dirs.shared.join(name))?;
            }
        }
        ours.write("config", config.as_bytes())?;
        let mut head = self.dirs.head_file().unwrap_or_default();
        if head.is_empty() || head.contains(char::is_control) {
            return Err(io::Error::other("the repository has no valid `HEAD`"));
        }
        let _ = writeln!(head);
        ours.write("HEAD", head.as_bytes())?;
        let info = ours.make("info")?;
        for name in COPIED_INFO {
            info.write(name, &read_info(shared, name)?)?;
        }
        info.write("exclude", &self.excludes()?)
    }
}

/// The name of the directory of ours for a workspace.
fn directory_name(dirs: &GitDirs) -> String {
    let linked = || dirs.own.file_name().map(|name| format!("linked-{}", name.to_string_lossy()));
    match dirs.tree_name() {
        Some(name) => format!("tree-{name}"),
        None if dirs.own == dirs.shared => "checkout".to_owned(),
        None => linked().unwrap_or_else(|| "linked".to_owned()),
    }
}

/// The repository's own config, and that of its main checkout, which says what is checked out of it.
fn read_config(dirs: &GitDirs, shared: &RealFolder) -> io::Result<LocalConfig> {
    let parse = |bytes: Option<Vec<u8>>| LocalConfig::parse(&String::from_utf8_lossy(&bytes.unwrap_or_default()));
    let config = parse(shared.read("config", MAX_BYTES)?);
    if config.value("extensions.worktreeconfig").is_none_or(|value| value == "false") {
        return Ok(config);
    }
    let own = if dirs.tree_name().is_some() { &dirs.shared } else { &dirs.own };
    Ok(config.and(parse(RealFolder::open(own)?.read("config.worktree", MAX_BYTES)?)))
}

fn read_info(shared: &RealFolder, name: &str) -> io::Result<Vec<u8>> {
    if shared.kind("info")?.is_none() {
        return Ok(Vec::new());
    }
    Ok(shared.child("info")?.read(name, MAX_BYTES)?.unwrap_or_default())
}
