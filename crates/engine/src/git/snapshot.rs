//! Tree of the files of a workspace, made with an index and without looking into any repository among them.
//!
//! `git add` would ask each nested repository, and each submodule, for its state, with a config that an agent may have
//! written. Here files are listed and added one by one. A repository among them is a directory like any other, and its
//! `.git` is left out; a submodule stays at the commit it was at.

use std::path::Path;

use super::caller::GitCaller;
use super::guarded::GuardedRepository;
use super::split_names;

/// How many names git gets at once.
const AT_ONCE: usize = 200;
/// How deep repositories may be nested.
const MAX_NESTED: usize = 16;
/// The name of an entry by which git takes a nested repository for a directory.
const PLACEHOLDER: &str = ".maestro-placeholder";

/// The files that a snapshot is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SnapshotScope {
    /// All of the repository.
    Everything,
    /// Those in the workspace.
    Workspace,
}

/// Entries of the index whose files changed.
#[derive(Debug, Default, PartialEq, Eq)]
struct ChangedEntries {
    removed: Vec<String>,
    modified: Vec<String>,
}

/// Files that git does not know.
struct UnknownFiles {
    files: Vec<String>,
    /// Entries that were made in the index to list those in nested repositories.
    placeholders: Vec<String>,
}

/// Makes the index what the files are, and returns the tree.
pub(crate) async fn write_tree<C: GitCaller>(
    git: &C,
    repository: &GuardedRepository,
    scope: SnapshotScope,
) -> Result<String, C::Error> {
    let root = repository.dirs.root.to_string_lossy().into_owned();
    let place = match scope {
        SnapshotScope::Everything => &["-C", root.as_str()][..],
        SnapshotScope::Workspace => &[],
    };
    let changed = ["diff-files", "--name-status", "--no-renames", "--ignore-submodules=all", "-z", "--", "."];
    let changed = complete(git.text(&[place, &changed[..]].concat()).await?)?;
    let changed = ChangedEntries::new(&changed, &repository.dirs.root);
    // First, since files in a directory are not listed while a file of its name is in the index.
    update_index(git, &root, &["--force-remove"], &changed.removed).await?;
    let unknown = list_unknown(git, repository, &root, place).await?;
    let add = ["--add", "--remove", "--replace"];
    update_index(git, &root, &add, &[changed.modified, unknown.files].concat()).await?;
    update_index(git, &root, &["--force-remove"], &unknown.placeholders).await?;
    Ok(git.text(&["write-tree"]).await?.trim().to_owned())
}

/// Updates entries of the index, so many at once.
async fn update_index<C: GitCaller>(git: &C, root: &str, words: &[&str], names: &[String]) -> Result<(), C::Error> {
    for some in names.chunks(AT_ONCE) {
        let names: Vec<&str> = some.iter().map(String::as_str).collect();
        git.text(&[&["-C", root, "update-index"], words, &["--"], &names].concat()).await?;
    }
    Ok(())
}

/// The files that git does not know and does not ignore, those in nested repositories included.
async fn list_unknown<C: GitCaller>(
    git: &C,
    repository: &GuardedRepository,
    root: &str,
    place: &[&str],
) -> Result<UnknownFiles, C::Error> {
    let unknown = ["ls-files", "--others", "--exclude-standard", "--full-name", "-z"];
    let mut placeholders = Vec::new();
    for _ in 0..MAX_NESTED {
        let list = complete(git.text(&[place, &unknown[..]].concat()).await?)?;
        let (nested, files): (Vec<String>, Vec<String>) =
            split_names(&list).map(str::to_owned).partition(|name| name.ends_with('/'));
        if nested.is_empty() {
            return Ok(UnknownFiles { files, placeholders });
        }
        // With a file of it in the index, git lists the others as those of any directory.
        for some in nested.chunks(AT_ONCE) {
            let entry = |name: &String| format!("100644,{},{name}{PLACEHOLDER}", repository.objects.empty_blob());
            let entries: Vec<String> = some.iter().map(entry).collect();
            let options = entries.iter().flat_map(|entry| ["--cacheinfo", entry.as_str()]);
            let words: Vec<&str> =
                ["-C", root, "update-index", "--add", "--replace"].into_iter().chain(options).collect();
            git.text(&words).await?;
        }
        placeholders.extend(nested.iter().map(|name| format!("{name}{PLACEHOLDER}")));
    }
    Err(format!("more than {MAX_NESTED} repositories are nested in each other").into())
}

/// A list of names, unless some are missing or cannot be passed on.
fn complete(list: String) -> Result<String, String> {
    if !list.is_empty() && !list.ends_with('\0') {
        return Err("too many files have changed".to_owned());
    }
    match list.split('\0').find(|name| name.contains(char::REPLACEMENT_CHARACTER)) {
        Some(name) => Err(format!("the name of the file `{name}` is not UTF-8; rename it or ignore it")),
        None => Ok(list),
    }
}

impl ChangedEntries {
    fn new(changed: &str, root: &Path) -> Self {
        let mut entries = Self::default();
        let mut fields = split_names(changed);
        while let (Some(state), Some(name)) = (fields.next(), fields.next()) {
            // A directory in place of a file would be taken for a submodule. Its files are among those not known.
            if state == "D" || root.join(name).symlink_metadata().is_ok_and(|found| found.is_dir()) {
                entries.removed.push(name.to_owned());
            } else {
                entries.modified.push(name.to_owned());
            }
        }
        entries
    }
}
