//! Plans among the conflicts of a merge: while an agent's side ticks boxes, a user writes tasks next to them.

use std::path::Path;

use maestro_core::plan::merge_ticks;

use super::caller::GitCaller;
use super::guarded::GuardedRepository;
use super::history::MergedTree;

/// The same merge without the conflicts of plans in which one side only ticked boxes.
pub(super) async fn resolve<C: GitCaller>(
    git: &C,
    repository: &GuardedRepository,
    merged: MergedTree,
    ours: &str,
    theirs: &str,
) -> Result<MergedTree, C::Error> {
    let (mut conflicts, mut plans) = (Vec::new(), Vec::new());
    for file in merged.conflicts {
        match merge_plan(git, ours, theirs, &file).await? {
            Some(text) => plans.push((file, text)),
            None => conflicts.push(file),
        }
    }
    if plans.is_empty() {
        return Ok(MergedTree { tree: merged.tree, conflicts });
    }
    let cannot = |error: std::io::Error| format!("the merged plan cannot be written: {error}");
    // Where no agent can write.
    let scratch = tempfile::Builder::new().prefix("plans-").tempdir_in(&repository.git_dir).map_err(cannot)?;
    let (index, file) = (scratch.path().join("index"), scratch.path().join("plan"));
    git.text_with_index(&index, &["read-tree", &merged.tree]).await?;
    for (name, text) in &plans {
        std::fs::write(&file, text).map_err(cannot)?;
        let entry = entry(git, &merged.tree, name, &file).await?;
        git.text_with_index(&index, &["update-index", "--cacheinfo", &entry]).await?;
    }
    let tree = git.text_with_index(&index, &["write-tree"]).await?.trim().to_owned();
    Ok(MergedTree { tree, conflicts })
}

/// The entry of an index for a file with another text, and with the mode that it has in a tree.
async fn entry<C: GitCaller>(git: &C, tree: &str, name: &str, text: &Path) -> Result<String, C::Error> {
    let listed = git.text(&["ls-tree", "--full-tree", "-z", tree, "--", name]).await?;
    let mode = listed.split(' ').next().unwrap_or_default();
    let blob = git.text(&["hash-object", "-w", "--no-filters", "--", &text.to_string_lossy()]).await?;
    Ok(format!("{mode},{},{name}", blob.trim()))
}

/// The text of a plan that one side only ticked; nothing for any other file.
async fn merge_plan<C: GitCaller>(git: &C, ours: &str, theirs: &str, file: &str) -> Result<Option<String>, C::Error> {
    if !Path::new(file).extension().is_some_and(|end| end.eq_ignore_ascii_case("md") || end == "markdown") {
        return Ok(None);
    }
    let base = git.call(&["merge-base", ours, theirs], &[0, 1]).await?;
    let mut texts = Vec::new();
    for commit in [base.text.trim(), ours, theirs] {
        let found = git.call(&["cat-file", "blob", &format!("{commit}:{file}")], &[0, 128]).await?;
        if found.code != 0 {
            return Ok(None);
        }
        texts.push(found.text);
    }
    let [base, ours, theirs] = texts.as_slice() else { return Ok(None) };
    Ok(merge_ticks(base, ours, theirs))
}
