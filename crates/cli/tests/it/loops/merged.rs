//! Is what was done merged where somebody wants that, and left alone where it cannot be?

use std::fs;

use super::{Repository, run_of, simple_ones};

#[test]
fn what_is_done_is_merged_where_that_is_wanted() {
    let repository = Repository::with(&simple_ones(2));
    let worked = repository.work("--no-review --merge");
    assert_eq!(worked.code, 0, "{worked}");
    assert!(worked.stdout().contains("All tasks are done and merged."), "{worked}");
    assert!(repository.sandbox.path("f2.txt").exists());
    assert!(!fs::read_to_string(repository.sandbox.path("PLAN.md")).unwrap().contains("- [ ]"));
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn what_cannot_be_merged_is_done_all_the_same_and_says_why() {
    let repository = Repository::with(&simple_ones(1));
    repository.sandbox.write("~/.config/maestro/config.toml", "merge_when_done = true\n");
    repository.sandbox.write("f1.txt", "mine\n");
    let worked = repository.work("--no-review");
    assert_eq!(worked.code, 0, "{worked}");
    assert!(worked.stdout().contains("could not be merged: `maestro/loop-"), "{worked}");
    assert!(worked.stdout().contains("would overwrite files here that git does not track: f1.txt"), "{worked}");
    assert_eq!(fs::read_to_string(repository.sandbox.path("f1.txt")).unwrap(), "mine\n");
    assert!(repository.file(&Repository::branch(&run_of(&worked)), "f1.txt").contains("number 1"));
}

#[test]
fn what_several_runs_did_is_merged_once_all_of_it_is_done() {
    let repository = Repository::with(&simple_ones(4));
    let worked = repository.work("--no-review --merge -j 2");
    assert_eq!(worked.code, 0, "{worked}");
    assert!(worked.stdout().contains("All tasks are done and merged."), "{worked}");
    for number in 1..=4 {
        assert!(repository.sandbox.path(&format!("f{number}.txt")).exists(), "{number}: {worked}");
    }
    assert!(!fs::read_to_string(repository.sandbox.path("PLAN.md")).unwrap().contains("- [ ]"));
}
