//! Commits and merges that we make, without git's own commands for them: those run hooks and enter submodules.

use std::fs;
use std::io::{self, Write as _};

use super::caller::GitCaller;
use super::guarded::{GuardedRepository, RefStorage};
use super::{split_names, ticked_plans};

/// How many names git gets at once.
const AT_ONCE: usize = 200;
/// What git keeps beside the index while something is under way.
const UNDER_WAY: [(&str, &str); 5] = [
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
];

/// A tree that was made of two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MergedTree {
    /// The tree.
    pub(crate) tree: String,
    /// The files in which both versions stand.
    pub(crate) conflicts: Vec<String>,
}

/// Refuses to go on while the user has a merge or the like under way.
pub(crate) fn check_idle(repository: &GuardedRepository) -> Result<(), String> {
    let is_there = |name: &str| repository.dirs.own.join(name).symlink_metadata().is_ok();
    match UNDER_WAY.iter().find(|(name, _)| is_there(name)) {
        Some((_, what)) => Err(format!("{what} is in progress here; finish or abort it first")),
        None => Ok(()),
    }
}

/// The commit that is checked out; nothing before the first one.
pub(crate) async fn head<C: GitCaller>(git: &C, repository: &GuardedRepository) -> Result<Option<String>, C::Error> {
    let asked = format!("{}^{{commit}}", repository.dirs.head_name());
    let found = git.call(&["rev-parse", "--verify", "--quiet", &asked], &[0, 1]).await?;
    Ok(Some(found.text.trim().to_owned()).filter(|_| found.code == 0))
}

/// The tree of two commits. Files are compared by git's own means, and by drivers of the user's own config; a plan in which
/// one side only ticked boxes is no conflict.
pub(crate) async fn merge_trees<C: GitCaller>(
    git: &C,
    repository: &GuardedRepository,
    ours: &str,
    theirs: &str,
) -> Result<MergedTree, C::Error> {
    // One says that there are conflicts.
    let words = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs];
    let merged = git.call(&words, &[0, 1]).await?;
    let mut names = split_names(&merged.text).map(str::to_owned);
    let is_name = |tree: &String| tree.len() >= 40 && tree.bytes().all(|byte| byte.is_ascii_hexdigit());
    let tree = names.next().filter(is_name).ok_or_else(|| format!("`git merge-tree`: {}", merged.text.trim()))?;
    let merged = MergedTree { tree, conflicts: names.collect() };
    ticked_plans::resolve(git, repository, merged, ours, theirs).await
}

/// Makes what is checked out another commit, if it still is the one that it was.
pub(crate) async fn move_head<C: GitCaller>(
    git: &C,
    repository: &GuardedRepository,
    new: &str,
    old: Option<&str>,
) -> Result<(), C::Error> {
    let dirs = &repository.dirs;
    let is_detached = dirs.tree_name().is_none()
        && repository.refs == RefStorage::Files
        && !dirs.head_file().is_some_and(|head| head.starts_with("ref: "));
    if is_detached {
        return detach_at(repository, new, old).map_err(|error| format!("`HEAD` cannot be written: {error}").into());
    }
    git.text(&["update-ref", &dirs.head_name(), new, old.unwrap_or_default()]).await?;
    Ok(())
}

/// Writes a commit where a branch is named else, as git does it: with a lock.
fn detach_at(repository: &GuardedRepository, new: &str, old: Option<&str>) -> io::Result<()> {
    let (file, lock) = (repository.dirs.own.join("HEAD"), repository.dirs.own.join("HEAD.lock"));
    let mut locked = fs::File::create_new(&lock)?;
    let mut write = || {
        if repository.dirs.head_file().as_deref() != old {
            return Err(io::Error::other("another commit was checked out meanwhile"));
        }
        locked.write_all(format!("{new}\n").as_bytes())?;
        fs::rename(&lock, &file)
    };
    write().inspect_err(|_| {
        let _ = fs::remove_file(&lock);
    })
}

/// A merge that is made and not checked out yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PreparedMerge {
    /// The commit that is checked out.
    pub(crate) head: String,
    /// The commit that would be.
    pub(crate) commit: String,
    /// How that came about.
    pub(crate) kind: MergeKind,
}

/// How a merge comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeKind {
    /// Everything is there already.
    Nothing,
    /// Nothing else happened meanwhile: the tree is that of the branch.
    FastForward,
    /// Both sides changed: the tree is new.
    Combined,
}

/// Why two commits cannot be merged. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MergeObstacle {
    /// Both sides changed the same in these files.
    Conflict(Vec<String>),
    /// Files would be overwritten that git does not track.
    Overwrites(Vec<String>),
}

/// Makes the merge of a commit with the one that is checked out. Nothing that anybody sees changes.
pub(crate) async fn prepare<C: GitCaller>(
    git: &C,
    repository: &GuardedRepository,
    theirs: &str,
    message: &str,
) -> Result<Result<PreparedMerge, MergeObstacle>, C::Error> {
    let head = head(git, repository).await?.ok_or_else(|| "this repository has no commits".to_owned())?;
    if git.holds(&["merge-base", "--is-ancestor", theirs, &head]).await? {
        return Ok(Ok(PreparedMerge { commit: head.clone(), head, kind: MergeKind::Nothing }));
    }
    check_idle(repository)?;
    let (commit, kind) = if git.holds(&["merge-base", "--is-ancestor", &head, theirs]).await? {
        (theirs.to_owned(), MergeKind::FastForward)
    } else {
        let MergedTree { tree, conflicts } = merge_trees(git, repository, &head, theirs).await?;
        if !conflicts.is_empty() {
            return Ok(Err(MergeObstacle::Conflict(conflicts)));
        }
        (git.make_commit(&[&tree, "-p", &head, "-p", theirs, "-m", message]).await?, MergeKind::Combined)
    };
    let files = overwritten(git, repository, &head, &commit).await?;
    if !files.is_empty() {
        return Ok(Err(MergeObstacle::Overwrites(files)));
    }
    Ok(Ok(PreparedMerge { head, commit, kind }))
}

/// Checks a prepared merge out, if what is checked out is still what it was made for.
pub(crate) async fn apply<C: GitCaller>(
    git: &C,
    repository: &GuardedRepository,
    merge: &PreparedMerge,
) -> Result<(), C::Error> {
    let PreparedMerge { head, commit, kind } = merge;
    if *kind == MergeKind::Nothing {
        return Ok(());
    }
    check_idle(repository)?;
    if self::head(git, repository).await?.as_ref() != Some(head) {
        return Err("another commit was checked out meanwhile; merge again".to_owned().into());
    }
    git.call(&["update-index", "-q", "--refresh", "--ignore-submodules"], &[0, 1]).await?;
    git.text(&["read-tree", "-m", "-u", head, commit]).await?;
    move_head(git, repository, commit, Some(head)).await
}

/// The files that git does not track and that the step from one commit to another would write over. Git itself takes
/// ignored ones for worthless.
async fn overwritten<C: GitCaller>(
    git: &C,
    repository: &GuardedRepository,
    from: &str,
    to: &str,
) -> Result<Vec<String>, C::Error> {
    let root = &repository.dirs.root;
    let words = ["diff-tree", "-r", "--no-renames", "--diff-filter=A", "--name-only", "-z", from, to];
    let added = git.text(&words).await?;
    let is_there = |name: &str| root.join(name).symlink_metadata().is_ok();
    // A file may also be in place of a directory.
    let blocked = |name: &str| {
        let parents = name.match_indices('/').map(|(at, _)| &name[..at]);
        let is_file = |name: &&str| root.join(name).symlink_metadata().is_ok_and(|found| !found.is_dir());
        parents.clone().find(is_file).map(str::to_owned).or_else(|| is_there(name).then(|| name.to_owned()))
    };
    let mut names: Vec<String> = split_names(&added).filter_map(blocked).collect();
    names.dedup();
    let mut files = Vec::new();
    let shown = root.to_string_lossy();
    for some in names.chunks(AT_ONCE) {
        let some: Vec<&str> = some.iter().map(String::as_str).collect();
        // Without patterns, so that ignored ones are among them.
        let words = [&["-C", &shown, "ls-files", "--others", "-z", "--"][..], &some].concat();
        files.extend(split_names(&git.text(&words).await?).map(str::to_owned));
    }
    Ok(files)
}
