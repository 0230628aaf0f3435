//! Commits that an agent made in its own git directory: only their messages are read.
//!
//! The directory is the agent's to write, so none of its settings count: its objects are read through a directory of ours
//! that names them, only if they are plain files, and nothing of them is taken over. What cannot be read so is no message.

use std::fs;
use std::io;
use std::path::Path;

use super::caller::GitCaller;
use super::folder::RealFolder;
use super::guarded::GuardedRepository;
use super::history;

/// The entry of a worktree by which git finds its directory.
pub(super) const DOT_GIT: &str = ".git";
/// The file in an agent's git directory with the messages of commits that were folded before.
const MESSAGES: &str = "maestro-messages";
/// How many commits are read.
const MOST: &str = "20";
/// How many bytes of a list of references or of messages are read.
const MAX_BYTES: u64 = 1024 * 1024;
/// How many objects an agent may have made.
const MAX_OBJECTS: usize = 20_000;
/// How deep its objects are: `pack/name` and `ab/cdef`.
const OBJECT_DEPTH: usize = 1;
/// What stands between messages.
const END: char = '\0';

/// The messages of the commits that agents made since the last one of ours, oldest first.
pub(crate) async fn messages<C: GitCaller>(git: &C, repository: &GuardedRepository) -> Result<Vec<String>, C::Error> {
    let (mut found, theirs) = look(repository).unwrap_or_else(|error| {
        tracing::warn!("the agent's commits cannot be read: {error}");
        (Vec::new(), None)
    });
    let Some(theirs) = theirs else { return Ok(found) };
    let ours = history::head(git, repository).await?;
    if ours.as_deref() == Some(&theirs) {
        return Ok(found);
    }
    let reader = match reader(repository) {
        Ok(reader) => reader,
        Err(error) => {
            tracing::warn!("the agent's commits cannot be read: {error}");
            return Ok(found);
        }
    };
    let place = format!("--git-dir={}", reader.path().display());
    let before = ours.map(|ours| format!("^{ours}"));
    let mut words = vec![place.as_str(), "log", "--reverse", "--max-count", MOST, "--format=%B%x00", &theirs];
    words.extend(before.as_deref());
    words.push("--");
    if let Ok(log) = git.text(&words).await {
        let new = log.split(END).map(str::trim).filter(|message| !message.is_empty()).map(str::to_owned);
        found.extend(new.filter(|message| !found.contains(message)).collect::<Vec<_>>());
    }
    Ok(found)
}

/// The messages that were kept, and the commit that is checked out there.
fn look(repository: &GuardedRepository) -> io::Result<(Vec<String>, Option<String>)> {
    let Some(folder) = open(repository)? else { return Ok((Vec::new(), None)) };
    let is_readable = is_plain(repository, &folder)?;
    Ok((kept(&folder)?, head(&folder)?.filter(|_| is_readable)))
}

/// The objects besides its own that an agent's directory reads.
pub(super) fn alternates(repository: &GuardedRepository) -> String {
    format!("{}\n", repository.dirs.shared.join("objects").display())
}

/// Whether all objects there are files, and no others are named: a pipe would make git wait for ever.
fn is_plain(repository: &GuardedRepository, folder: &RealFolder) -> io::Result<bool> {
    let objects = folder.child("objects")?;
    let named = objects.child("info")?.read("alternates", MAX_BYTES)?.unwrap_or_default();
    if named != alternates(repository).as_bytes() {
        return Ok(false);
    }
    let mut left = MAX_OBJECTS;
    holds_files(&repository.dirs.root.join(DOT_GIT).join("objects"), OBJECT_DEPTH, &mut left)
}

/// Whether a directory holds only files, down to a depth, and not too many.
fn holds_files(place: &Path, depth: usize, left: &mut usize) -> io::Result<bool> {
    for entry in fs::read_dir(place)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        *left = left.saturating_sub(1);
        let holds = match depth.checked_sub(1) {
            Some(depth) if kind.is_dir() => holds_files(&entry.path(), depth, left)?,
            _ => kind.is_file(),
        };
        if !holds || *left == 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether an agent committed since its directory was made.
pub(super) fn is_ahead(repository: &GuardedRepository) -> io::Result<bool> {
    let Some(folder) = open(repository)? else { return Ok(false) };
    Ok(head(&folder)?.is_some_and(|theirs| repository.dirs.head().is_some_and(|ours| ours != theirs)))
}

/// Keeps messages in a new directory of an agent.
pub(super) fn keep(to: &RealFolder, messages: &[String]) -> io::Result<()> {
    if messages.is_empty() { Ok(()) } else { to.write(MESSAGES, messages.join("\0").as_bytes()) }
}

fn kept(folder: &RealFolder) -> io::Result<Vec<String>> {
    let text = folder.read(MESSAGES, MAX_BYTES)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    Ok(text.split(END).map(str::trim).filter(|message| !message.is_empty()).map(str::to_owned).collect())
}

/// The agent's git directory in a worktree of ours.
fn open(repository: &GuardedRepository) -> io::Result<Option<RealFolder>> {
    if repository.dirs.tree_name().is_none() {
        return Ok(None);
    }
    let root = RealFolder::open(&repository.dirs.root)?;
    match root.kind(DOT_GIT)? {
        Some(kind) if kind.is_dir() => root.child(DOT_GIT).map(Some),
        _ => Ok(None),
    }
}

/// The commit that is checked out there.
fn head(folder: &RealFolder) -> io::Result<Option<String>> {
    let text = |bytes: Option<Vec<u8>>| String::from_utf8_lossy(&bytes.unwrap_or_default()).trim().to_owned();
    let head = text(folder.read("HEAD", MAX_BYTES)?);
    let Some(name) = head.strip_prefix("ref: ") else { return Ok(Some(head).filter(|head| is_commit(head))) };
    let parts: Vec<&str> = name.split('/').collect();
    let is_plain = |part: &&str| !part.is_empty() && !part.starts_with('.');
    let Some((file, folders)) = parts.split_last().filter(|_| parts.iter().all(is_plain)) else { return Ok(None) };
    if let Some(loose) = descend(folder, folders)?.map(|last| last.read(file, MAX_BYTES)).transpose()?.flatten() {
        return Ok(Some(text(Some(loose))).filter(|commit| is_commit(commit)));
    }
    let packed = text(folder.read("packed-refs", MAX_BYTES)?);
    let found = packed.lines().filter_map(|line| line.split_once(' ')).find(|(_, reference)| *reference == name);
    Ok(found.map(|(commit, _)| commit.to_owned()).filter(|commit| is_commit(commit)))
}

/// A directory below another one; nothing where it is missing.
fn descend(folder: &RealFolder, names: &[&str]) -> io::Result<Option<RealFolder>> {
    let Some((first, rest)) = names.split_first() else { return folder.child(".").map(Some) };
    match folder.child(first) {
        Ok(next) => descend(&next, rest),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A git directory of ours that reads the objects of the agent's and of the user's.
fn reader(repository: &GuardedRepository) -> io::Result<tempfile::TempDir> {
    let place = tempfile::Builder::new().prefix("agent-log-").tempdir_in(&repository.git_dir)?;
    let at = |name: &str| place.path().join(name);
    let config = repository.agent_config().map_err(|error| io::Error::other(error.to_string()))?;
    fs::write(at("config"), config)?;
    fs::write(at("HEAD"), "ref: refs/heads/none\n")?;
    fs::create_dir_all(at("refs"))?;
    fs::create_dir_all(at("objects/info"))?;
    let (theirs, users) = (repository.dirs.root.join(DOT_GIT).join("objects"), repository.dirs.shared.join("objects"));
    fs::write(at("objects/info/alternates"), format!("{}\n{}\n", theirs.display(), users.display()))?;
    Ok(place)
}
