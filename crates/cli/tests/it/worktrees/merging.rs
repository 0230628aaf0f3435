//! What stands in the way of a merge, is it said with the way on, and is nothing changed by it?

use std::fs;

use super::Shop;

/// A shop whose plan was worked through, and the run.
fn worked() -> (Shop, String) {
    let shop = Shop::new();
    let (run, output) = shop.worked("");
    assert_eq!(output.code, 0, "{output}");
    (shop, run)
}

/// Tries to merge, which is refused, and returns what was said. Nothing is any different afterwards.
fn refused(shop: &Shop, run: &str) -> String {
    let state = || {
        let refs = shop.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
        (refs, shop.git(&["status", "--porcelain"]), shop.git(&["rev-parse", "HEAD"]))
    };
    let before = state();
    let output = shop.sandbox.maestro(&format!("merge {run}"));
    assert_eq!((output.code, output.stdout().as_str()), (1, ""), "{output}");
    assert_eq!(state(), before);
    shop.sandbox.normal(&output.stderr())
}

#[test]
fn what_is_not_committed_here_is_named_and_can_be_put_away() {
    let (shop, run) = worked();
    shop.sandbox.write(".gitignore", ".maestro/config.toml\nother\n");
    insta::assert_snapshot!(refused(&shop, &run), @"
    error: `[PROJECT]` has changes that are not committed: .gitignore
    hint: commit them, or stash them with `git -C [PROJECT] stash --include-untracked`, then merge again
    ");
    shop.git(&["stash", "--include-untracked", "--quiet"]);
    assert_eq!(shop.sandbox.maestro(&format!("merge {run}")).code, 0);
}

#[test]
fn where_both_sides_changed_the_same_git_merges_by_hand() {
    let (shop, run) = worked();
    shop.sandbox.write("made.txt", "mine\n");
    shop.git(&["add", "made.txt"]);
    shop.git(&["commit", "--quiet", "-m", "mine"]);
    insta::assert_snapshot!(refused(&shop, &run), @"
    error: merge conflict between `maestro/loop-[RUN-1]` and `main` in made.txt
    hint: nothing was merged; run `maestro merge [RUN-1] --fix` to have an agent resolve the conflict
    hint: or run `git merge maestro/loop-[RUN-1]` and resolve the conflicts, then `maestro discard`
    ");
    assert!(shop.tree(&run).exists());
    // The way on is one.
    let branch = format!("maestro/loop-{run}");
    shop.git(&["merge", "--quiet", "-X", "ours", "--no-edit", &branch]);
    assert_eq!(shop.sandbox.maestro(&format!("discard {run} --yes")).code, 0);
    assert_eq!(fs::read_to_string(shop.sandbox.path("made.txt")).unwrap(), "mine\n");
}

#[test]
fn a_file_that_git_does_not_know_is_not_overwritten() {
    let (shop, run) = worked();
    shop.sandbox.write("made.txt", "mine\n");
    let said = refused(&shop, &run);
    insta::assert_snapshot!(said, @"
    error: a merge would overwrite files that git does not track in `[PROJECT]`: made.txt
    hint: nothing was merged; move them away, then merge again
    ");
    assert_eq!(fs::read_to_string(shop.sandbox.path("made.txt")).unwrap(), "mine\n");
}

#[test]
fn a_file_that_git_ignores_is_not_overwritten_either() {
    let (shop, run) = worked();
    shop.sandbox.write(".git/info/exclude", "made.txt\n.maestro/worktrees/\n");
    shop.sandbox.write("made.txt", "mine\n");
    insta::assert_snapshot!(refused(&shop, &run), @"
    error: a merge would overwrite files that git does not track in `[PROJECT]`: made.txt
    hint: nothing was merged; move them away, then merge again
    ");
    // Also where both sides have moved on.
    shop.sandbox.write("other.txt", "");
    shop.git(&["add", "other.txt"]);
    shop.git(&["commit", "--quiet", "-m", "other"]);
    assert!(refused(&shop, &run).contains("made.txt"));
    assert_eq!(fs::read_to_string(shop.sandbox.path("made.txt")).unwrap(), "mine\n");
    fs::remove_file(shop.sandbox.path("made.txt")).unwrap();
    assert_eq!(shop.sandbox.maestro(&format!("merge {run}")).code, 0);
}

#[test]
fn what_is_merged_is_removed_also_with_submodules() {
    let shop = Shop::new();
    let commit = shop.git(&["rev-parse", "HEAD"]);
    fs::create_dir(shop.sandbox.path("part")).unwrap();
    shop.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},part")]);
    shop.git(&["commit", "--quiet", "-m", "a part of its own"]);
    let (run, output) = shop.worked("");
    assert_eq!(output.code, 0, "{output}");
    let merged = shop.sandbox.maestro(&format!("merge {run}"));
    assert_eq!(merged.code, 0, "{merged}");
    assert!(!shop.tree(&run).exists());
    assert_eq!(shop.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
}

#[test]
fn where_nothing_was_committed_there_is_nothing_to_merge() {
    let shop = Shop::new();
    shop.sandbox.write("PLAN.md", "- [x] Done\n");
    shop.git(&["commit", "--quiet", "--all", "-m", "done"]);
    let (run, _) = shop.worked("");
    let merged = shop.sandbox.maestro(&format!("merge {run}"));
    let said = format!("No commits on maestro/loop-{run}; nothing to merge; removed its worktree and branch.\n");
    assert_eq!(merged.stdout(), said);
}

#[test]
fn without_a_branch_on_either_side_nothing_is_merged() {
    let (shop, run) = worked();
    shop.git(&["checkout", "--quiet", "--detach"]);
    insta::assert_snapshot!(refused(&shop, &run), @"
    error: no branch is checked out in `[PROJECT]`
    hint: run `git switch BRANCH`
    ");
    shop.git(&["checkout", "--quiet", "main"]);
    fs::remove_dir_all(shop.tree(&run)).unwrap();
    shop.git(&["worktree", "prune"]);
    shop.git(&["branch", "--quiet", "-D", &format!("maestro/loop-{run}")]);
    insta::assert_snapshot!(refused(&shop, &run), @"
    error: already merged or discarded
    hint: merged and discarded runs have no branch, nor have runs with `--in-place`; find a branch deleted by hand with `git fsck --lost-found`
    ");
}

#[test]
fn a_worktree_that_is_gone_costs_nothing_that_was_committed() {
    let (shop, run) = worked();
    fs::remove_dir_all(shop.tree(&run)).unwrap();
    let merged = shop.sandbox.maestro(&format!("merge {run}"));
    assert_eq!(merged.code, 0, "{merged}");
    assert!(shop.sandbox.path("made.txt").exists());
    assert_eq!(shop.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    assert!(!shop.git(&["worktree", "list"]).contains("prunable"));
}
