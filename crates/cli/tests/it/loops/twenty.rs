//! Is a long plan done rightly although reviews fail and the server crashes on the way, and is nothing left of it?
//!
//! `MAESTRO_LOOP_TASKS` says how long; `bench/loop.py plan` does the same with twenty tasks.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Repository, assert_done, count, goes_on_until, is_over, sessions, simple_ones};
use crate::waiting::wait_until;

#[test]
fn a_plan_comes_out_right_with_two_failed_reviews_and_a_killed_server_and_leaves_nothing() {
    let mut tasks = simple_ones(count("MAESTRO_LOOP_TASKS", 6).max(5));
    let repository = Repository::with(&[]);
    tasks[1] = "Add a file f2.txt that says it fails its first review".to_owned();
    tasks[4] = "Add a file f5.txt that says this one fails its first review".to_owned();
    let waits = "touch HOME/begun; while [ ! -e HOME/go ]; do sleep 0.02; done; echo number 3 > f3.txt\n";
    tasks[2] = repository.script("waits", waits);
    repository.write_plan("PLAN.md", &tasks);
    repository.git(&["add", "--all"]);
    repository.git(&["commit", "--quiet", "--amend", "--message=begin"]);
    let mut server = repository.sandbox.serve();
    let run = repository.begin("");
    wait_until("the third task is at work", || repository.mark("begun").exists());
    server.kill();
    repository.nothing_left(None);
    repository.set("go");

    server = repository.sandbox.serve();
    let ended = goes_on_until(&server, &run, is_over);
    assert_eq!(ended["status"], "completed", "{ended:#}");
    assert_done(&repository, &run, &Repository::branch(&run), &tasks);
    // Two for each task, and two more for each review that failed; who worked when the server died goes on.
    assert_eq!(sessions(&server, &run).len(), 2 * tasks.len() + 4);
    repository.nothing_left(Some(&server));
    server.end();
    repository.nothing_left(None);

    let worktree = repository.sandbox.project().join(format!(".maestro/worktrees/loop-{run}"));
    assert_eq!(worktrees(&repository), [repository.sandbox.project(), worktree.clone()]);
    assert_eq!(repository.git(&["-C", worktree.to_str().unwrap(), "status", "--porcelain"]), "");
    assert_eq!(repository.git(&["status", "--porcelain"]), "", "the user's own files are as they were");
    assert_eq!(locks(&repository.sandbox.project().join(".git")), Vec::<PathBuf>::new());
    let merged = repository.sandbox.maestro(&format!("merge {run}"));
    assert_eq!(merged.code, 0, "{merged}");
    assert_eq!(worktrees(&repository), [repository.sandbox.project()]);
    assert!(!worktree.exists());
    assert!(!repository.file("main", "PLAN.md").contains("- [ ]"));
    assert_eq!(repository.sandbox.maestro("db check").code, 0);
}

fn worktrees(repository: &Repository) -> Vec<PathBuf> {
    let listed = repository.git(&["worktree", "list", "--porcelain"]);
    listed.lines().filter_map(|line| line.strip_prefix("worktree ")).map(PathBuf::from).collect()
}

/// Files with which git keeps others out while it writes.
fn locks(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(locks(&path));
        } else if path.extension().is_some_and(|end| end == "lock") {
            found.push(path);
        }
    }
    found
}
