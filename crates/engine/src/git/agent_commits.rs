//! Commits that an agent made in its own git directory: only their messages are read.
//!
//! The directory is the agent's to write, so none of its settings count: its objects are read through a directory of ours
//! that names them, and nothing of them is taken over.

use std::fs;
use std::io;

use super::agent_dir::DOT_GIT;
use super::caller::GitCaller;
use super::folder::RealFolder;
use super::guarded::GuardedRepository;
use super::history;

/// The file in an agent's git directory with the messages of commits that were folded before.
const MESSAGES: &str = "maestro-messages";
/// How many commits are read.
const MOST: &str = "20";
/// How many bytes of a list of references or of messages are read.
const MAX_BYTES: u64 = 1024 * 1024;
/// What stands between messages.
const END: char = '\0';

/// The messages of the commits that agents made since the last one of ours, oldest first.
pub(crate) async fn messages<C: GitCaller>(git: &C, repository: &GuardedRepository) -> Result<Vec<String>, C::Error> {
    let unreadable = |error: io::Error| format!("the agent's commits cannot be read: {error}");
    let Some(folder) = open(repository).map_err(unreadable)? else { return Ok(Vec::new()) };
    let mut found = kept(&folder).map_err(unreadable)?;
    let Some(theirs) = head(&folder).map_err(unreadable)? else { return Ok(found) };
    let ours = history::head(git, repository).await?;
    if ours.as_deref() == Some(&theirs) {
        return Ok(found);
    }
    let reader = reader(repository).map_err(unreadable)?;
    let place = format!("--git-dir={}", reader.path().display());
    let before = ours.map(|ours| format!("^{ours}"));
    let mut words = vec![place.as_str(), "log", "--reverse", "--max-count", MOST, "--format=%B%x00", &theirs];
    words.extend(before.as_deref());
    words.push("--");
    // An agent may leave anything there; what git cannot read is no message.
    let log = git.call(&words, &[0, 128]).await?;
    if log.code == 0 {
        let new = log.text.split(END).map(str::trim).filter(|message| !message.is_empty()).map(str::to_owned);
        found.extend(new.filter(|message| !found.contains(message)).collect::<Vec<_>>());
    }
    Ok(found)
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
