//! Is what was done merged where somebody wants that, and left alone where it cannot be?

use std::fs;

use super::{Repository, run_of, simple_ones};
use crate::waiting::wait_until;

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
fn tasks_that_were_written_next_to_ticked_ones_meanwhile_are_no_conflict() {
    let tasks = simple_ones(2);
    let repository = Repository::with(&tasks);
    let worked = repository.work("--no-review");
    assert_eq!(worked.code, 0, "{worked}");
    repository.write_plan("PLAN.md", &[tasks.clone(), vec!["Add more".to_owned()]].concat());
    repository.git(&["commit", "--quiet", "--all", "--message=more"]);
    let merged = repository.sandbox.maestro(&format!("merge {}", run_of(&worked)));
    assert_eq!(merged.code, 0, "{merged}");
    let plan = fs::read_to_string(repository.sandbox.path("PLAN.md")).unwrap();
    assert_eq!(plan, format!("# Plan\n\n- [x] {}\n- [x] {}\n- [ ] Add more\n", tasks[0], tasks[1]));
    assert!(repository.sandbox.path("f2.txt").exists());
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_loop_that_merges_by_itself_keeps_the_tasks_that_were_written_meanwhile_and_names_them() {
    let repository = Repository::with(&[]);
    let waits = repository
        .script("waits", "echo x > HOME/begun; while [ ! -e HOME/go ]; do sleep 0.02; done; echo x > f.txt\n");
    repository.write_plan("PLAN.md", std::slice::from_ref(&waits));
    repository.commit_all();
    let output = std::thread::scope(|scope| {
        let worked = scope.spawn(|| repository.work("--no-review --merge"));
        wait_until("it works", || repository.mark("begun").exists());
        repository.write_plan("PLAN.md", &[waits.clone(), "Add more".to_owned()]);
        repository.git(&["commit", "--quiet", "--all", "--message=more"]);
        repository.set("go");
        worked.join().unwrap()
    });
    assert_eq!(output.code, 0, "{output}");
    assert!(output.stdout().contains("All tasks are done and merged."), "{output}");
    let plan = fs::read_to_string(repository.sandbox.path("PLAN.md")).unwrap();
    assert_eq!(plan, format!("# Plan\n\n- [x] {waits}\n- [ ] Add more\n"));
    let late = repository.work("--no-review");
    assert_eq!(late.code, 1, "the demo agent cannot do it, but the loop begins with it: {late}");
    assert!(late.stdout().contains("\nAdd more\n"), "{late}");
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
