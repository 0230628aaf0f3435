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
    hint: commit them, or put them away with `git -C [PROJECT] stash --include-untracked`; then merge again
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
    error: `maestro/loop-[RUN-1]` and `main` contradict each other in made.txt
    hint: nothing was merged; `git merge maestro/loop-[RUN-1]` merges by hand, and `maestro discard` removes it afterwards
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
    assert!(said.contains("made.txt") && said.contains("would be overwritten by merge"), "{said}");
    assert_eq!(fs::read_to_string(shop.sandbox.path("made.txt")).unwrap(), "mine\n");
}

#[test]
fn without_a_branch_on_either_side_nothing_is_merged() {
    let (shop, run) = worked();
    shop.git(&["checkout", "--quiet", "--detach"]);
    insta::assert_snapshot!(refused(&shop, &run), @"
    error: no branch is checked out in `[PROJECT]`
    hint: `git switch BRANCH` checks one out
    ");
    shop.git(&["checkout", "--quiet", "main"]);
    shop.git(&["worktree", "remove", shop.tree(&run).to_str().unwrap()]);
    shop.git(&["branch", "--quiet", "-D", &format!("maestro/loop-{run}")]);
    insta::assert_snapshot!(refused(&shop, &run), @"
    error: this run has no branch here
    hint: a run in place has none, and neither has one that was merged or discarded; what somebody deleted by hand is among what `git fsck --lost-found` finds
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
