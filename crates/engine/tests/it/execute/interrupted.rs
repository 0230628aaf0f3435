//! Is anything lost when we were killed in the middle of what several runs share, or of what git was just writing?

use std::fs;
use std::path::{Path, PathBuf};

use maestro_core::workflow::definition::BuiltinCommand;
use maestro_core::workflow::run::CommandExit;
use serde_json::json;

use super::Place;

/// A repository with a branch that two worktrees work for.
fn shared() -> (Place, PathBuf, PathBuf) {
    let place = Place::new();
    place.repository();
    place.done(BuiltinCommand::BranchOpen, &[("name", "all")], "o#1.a");
    for lane in ["one-lane", "two-lane"] {
        place.done(BuiltinCommand::WorktreeOpen, &[("name", lane), ("base", "maestro/all")], "o#2.a");
    }
    let path = |name: &str| place.workspace().join(".maestro/worktrees").join(name);
    let (one, two) = (path("one-lane"), path("two-lane"));
    (place, one, two)
}

fn catch_up(place: &Place, lane: &Path, ticket: &str) -> CommandExit {
    place.builtin(BuiltinCommand::GitCatchUp, &[("onto", "all"), ("in", lane.to_str().unwrap())], ticket, &[])
}

fn land(place: &Place, lane: &Path, ticket: &str) -> serde_json::Value {
    let arguments = [("onto", "all"), ("message", "done"), ("in", lane.to_str().unwrap())];
    place.done(BuiltinCommand::GitLand, &arguments, ticket)["landed"].clone()
}

#[test]
fn a_lock_that_a_killed_git_left_in_a_worktree_of_ours_is_no_obstacle() {
    let place = Place::new();
    place.repository();
    place.done(BuiltinCommand::WorktreeOpen, &[("name", "task-1")], "o#1.a");
    let path = place.workspace().join(".maestro/worktrees/task-1");
    fs::write(path.join("new"), "work\n").unwrap();
    let git = place.workspace().join(".git");
    for lock in ["worktrees/task-1/index.lock", "worktrees/task-1/HEAD.lock", "refs/heads/maestro/task-1.lock"] {
        fs::write(git.join(lock), "").unwrap();
    }
    let arguments = [("message", "x"), ("in", path.to_str().unwrap())];
    assert_eq!(place.done(BuiltinCommand::GitCommit, &arguments, "c#1.a")["changed"], json!(true));
    assert_eq!(place.git(&["show", "maestro/task-1:new"]), "work");
    // The user's own repository is the user's.
    fs::write(git.join("index.lock"), "").unwrap();
    fs::write(place.workspace().join("a"), "changed\n").unwrap();
    assert!(place.failed(BuiltinCommand::GitCommit, &[("message", "x")]).contains("index.lock"));
}

#[test]
fn a_worktree_that_was_not_made_to_its_end_is_made_again() {
    let place = Place::new();
    place.repository();
    place.done(BuiltinCommand::WorktreeOpen, &[("name", "task-1")], "o#1.a");
    let path = place.workspace().join(".maestro/worktrees/task-1");
    let locked = place.workspace().join(".git/worktrees/task-1/locked");
    for half in ["its files", "its directory"] {
        fs::write(&locked, "initializing").unwrap();
        if half == "its files" {
            fs::remove_file(path.join("a")).unwrap();
        } else {
            fs::remove_dir_all(&path).unwrap();
        }
        let opened = place.done(BuiltinCommand::WorktreeOpen, &[("name", "task-1")], "o#1.a");
        assert_eq!(opened["changed"], json!(true), "{half}");
        assert!(path.join("a").exists() && !locked.exists(), "{half}");
    }
    // Whoever locked it on purpose has reasons.
    fs::write(&locked, "on a stick").unwrap();
    assert_eq!(place.done(BuiltinCommand::WorktreeOpen, &[("name", "task-1")], "o#1.a")["changed"], json!(false));
}

#[test]
fn work_that_was_being_put_elsewhere_is_there_again() {
    let (place, one, two) = shared();
    fs::write(one.join("one"), "1\n").unwrap();
    assert_eq!(land(&place, &one, "l#1.a"), json!(true));
    fs::write(two.join("two"), "2\n").unwrap();
    // As if we had died when the work was kept and the files were the other branch's already.
    // As the user's own git sees it, and not as an agent's does.
    let there = ["--git-dir=.git/worktrees/two-lane", "--work-tree=.maestro/worktrees/two-lane"];
    place.git(&[&there[..], &["add", "--all"]].concat());
    let tree = place.git(&[&there[..], &["write-tree"]].concat());
    let kept = place.git(&["commit-tree", tree.trim(), "-p", "maestro/two-lane", "-m", "kept"]);
    fs::create_dir_all(place.workspace().join(".git/maestro/kept")).unwrap();
    let onto = place.git(&["rev-parse", "maestro/all"]);
    let note = json!({ "kept": kept.trim(), "onto": onto.trim(), "ticket": "x", "there": null });
    fs::write(place.workspace().join(".git/maestro/kept/two-lane"), note.to_string()).unwrap();
    place.git(&[&there[..], &["reset", "--quiet", "--hard", "maestro/all"]].concat());
    assert!(!two.join("two").exists());
    assert!(matches!(catch_up(&place, &two, "c#1.a"), CommandExit::Exited { code: 0, .. }));
    assert_eq!(fs::read_to_string(two.join("two")).unwrap(), "2\n");
    assert_eq!(fs::read_to_string(two.join("one")).unwrap(), "1\n");
    assert_eq!(land(&place, &two, "l#2.a"), json!(true));
    assert_eq!(land(&place, &two, "l#2.a"), json!(true), "once more is nothing more");
    assert_eq!(place.git(&["log", "--format=%s", "maestro/all"]).lines().filter(|line| *line == "done").count(), 2);
}

#[test]
fn a_commit_that_came_too_late_is_work_again() {
    let (place, one, two) = shared();
    fs::write(two.join("two"), "2\n").unwrap();
    // As if we had died between the commit and moving the branch, and another run had been faster then.
    let arguments = [("message", "done"), ("in", two.to_str().unwrap())];
    place.done(BuiltinCommand::GitCommit, &arguments, "l#2.a");
    fs::write(one.join("one"), "1\n").unwrap();
    assert_eq!(land(&place, &one, "l#1.a"), json!(true));
    assert_eq!(land(&place, &two, "l#2.a"), json!(false));
    assert_eq!(fs::read_to_string(two.join("two")).unwrap(), "2\n");
    assert!(matches!(catch_up(&place, &two, "c#1.a"), CommandExit::Exited { code: 0, .. }));
    assert_eq!(land(&place, &two, "l#2.a"), json!(true));
    assert_eq!(place.git(&["show", "maestro/all:one", "maestro/all:two"]), "1\n2");
}

#[test]
fn two_versions_stay_in_the_files_until_somebody_made_one_of_them() {
    let (place, one, two) = shared();
    fs::write(one.join("a"), "one\n").unwrap();
    fs::write(two.join("a"), "two\n").unwrap();
    assert_eq!(land(&place, &one, "l#1.a"), json!(true));
    let refused = |ticket: &str, why: &str| {
        let finish = catch_up(&place, &two, ticket);
        assert!(matches!(&finish, CommandExit::Failed(reason) if reason.contains(why)), "{ticket}: {finish:?}");
    };
    refused("c#1.a", "another task changed the same: a.");
    refused("c#1.a", "another task changed the same: a.");
    let both = fs::read_to_string(two.join("a")).unwrap();
    assert!(both.contains("<<<<<<<") && both.contains("one\n") && both.contains("two\n"), "{both}");
    // Neither the others' next commit nor another name hides it.
    fs::write(one.join("b"), "more\n").unwrap();
    assert_eq!(land(&place, &one, "l#3.a"), json!(true));
    fs::rename(two.join("a"), two.join("moved")).unwrap();
    refused("c#2.a", "conflict markers are left in moved");
    // What merely looks like it is nobody's conflict.
    fs::rename(two.join("moved"), two.join("a")).unwrap();
    fs::write(two.join("a"), "one and two\n=======\n").unwrap();
    assert!(matches!(catch_up(&place, &two, "c#3.a"), CommandExit::Exited { code: 0, .. }));
    assert_eq!(land(&place, &two, "l#2.a"), json!(true));
    assert_eq!(place.git(&["show", "maestro/all:a"]), "one and two\n=======");
}

#[test]
fn what_came_of_putting_work_elsewhere_is_told_again_to_whoever_did_not_hear_it() {
    let (place, one, two) = shared();
    fs::write(one.join("one"), "1\n").unwrap();
    assert_eq!(land(&place, &one, "l#1.a"), json!(true));
    fs::write(two.join("two"), "2\n").unwrap();
    let arguments = [("onto", "all"), ("in", two.to_str().unwrap())];
    for _ in 0..2 {
        assert_eq!(place.done(BuiltinCommand::GitCatchUp, &arguments, "c#1.a")["changed"], json!(true));
    }
    assert_eq!(place.done(BuiltinCommand::GitCatchUp, &arguments, "c#2.a")["changed"], json!(false));
}

#[test]
fn nothing_that_an_agent_put_into_its_worktree_is_believed_or_run() {
    let place = Place::new();
    place.repository();
    place.done(BuiltinCommand::WorktreeOpen, &[("name", "task-1")], "o#1.a");
    let path = place.workspace().join(".maestro/worktrees/task-1");
    fs::remove_dir_all(path.join(".git")).unwrap();
    let told = |words: &[&str]| {
        let mut git = std::process::Command::new("git");
        assert!(git.args(words).current_dir(&path).env("HOME", place.path("home")).status().unwrap().success());
    };
    told(&["init", "--quiet"]);
    let ran = place.path("home/ran");
    told(&["config", "filter.own.clean", &format!("sh -c 'touch {}; cat'", ran.display())]);
    fs::write(path.join(".gitattributes"), "* filter=own\n").unwrap();
    fs::write(path.join("new"), "work\n").unwrap();
    fs::write(place.workspace().join("mine"), "the user's\n").unwrap();
    assert!(maestro_engine::git_changes::tree_hash(&path).is_some());
    let arguments = [("message", "x"), ("in", path.to_str().unwrap())];
    assert_eq!(place.done(BuiltinCommand::GitCommit, &arguments, "c#1.a")["changed"], json!(true));
    assert!(!ran.exists(), "a program of the agent's own was run");
    assert_eq!(place.git(&["show", "maestro/task-1:new"]), "work");
    // Where nothing is left at all, it is still that worktree and not the project around it.
    fs::remove_dir_all(path.join(".git")).unwrap();
    fs::write(path.join("newer"), "work\n").unwrap();
    assert_eq!(place.done(BuiltinCommand::GitCommit, &arguments, "c#2.a")["changed"], json!(true));
    assert_eq!(place.git(&["show", "maestro/task-1:newer"]), "work");
    assert_eq!(place.git(&["log", "--format=%s", "main"]), "first");
}

#[test]
fn a_tick_that_was_not_committed_contradicts_nobody() {
    let place = Place::new();
    place.repository();
    fs::write(place.workspace().join("PLAN.md"), "- [ ] one\n- [ ] two\n").unwrap();
    place.git(&["add", "--all"]);
    place.git(&["commit", "--quiet", "-m", "plan"]);
    place.done(BuiltinCommand::BranchOpen, &[("name", "all")], "o#1.a");
    let open = |name: &str| {
        place.done(BuiltinCommand::WorktreeOpen, &[("name", name), ("base", "maestro/all")], "o#2.a");
        place.workspace().join(".maestro/worktrees").join(name)
    };
    let (one, two) = (open("one-lane"), open("two-lane"));
    let land = |lane: &Path, line: &str, text: &str, ticket: &str| {
        let plan = [("plan", "PLAN.md"), ("line", line), ("text", text)];
        let arguments = [&plan[..], &[("onto", "all"), ("message", text), ("in", lane.to_str().unwrap())]].concat();
        place.done(BuiltinCommand::GitLand, &arguments, ticket)["landed"].clone()
    };
    fs::write(two.join("two"), "2\n").unwrap();
    // As if we had died when it was ticked and not committed.
    fs::write(two.join("PLAN.md"), "- [ ] one\n- [x] two\n").unwrap();
    fs::write(one.join("one"), "1\n").unwrap();
    assert_eq!(land(&one, "1", "one", "l#1.a"), json!(true));
    assert_eq!(land(&two, "2", "two", "l#2.a"), json!(false));
    let arguments = [("onto", "all"), ("plan", "PLAN.md"), ("in", two.to_str().unwrap())];
    place.done(BuiltinCommand::GitCatchUp, &arguments, "c#1.a");
    assert_eq!(land(&two, "2", "two", "l#2.a"), json!(true));
    assert_eq!(place.git(&["show", "maestro/all:PLAN.md"]), "- [x] one\n- [x] two");
}
