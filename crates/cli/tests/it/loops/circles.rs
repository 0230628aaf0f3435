//! Is work noticed that gets nowhere, before it has used up all its tries?

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::{Repository, run_of};
use crate::sandbox::Output;

/// A repository with a check, and one task: each time it is done, the script counts in `times` and does its work.
fn checked(check: &str, work: &str) -> Repository {
    let repository = Repository::with(&[]);
    repository.sandbox.write("check.sh", format!("#!/bin/sh\n{check}\n"));
    fs::set_permissions(repository.sandbox.path("check.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    repository.sandbox.write(".maestro/config.toml", "verify = [\"./check.sh\"]\n");
    let task = repository.script("work", &format!("echo once >> HOME/times\nn=$(wc -l < HOME/times)\n{work}\n"));
    repository.write_plan("PLAN.md", &[task]);
    repository.commit_all();
    assert_eq!(repository.sandbox.maestro("trust --config --yes").code, 0);
    repository
}

fn times(repository: &Repository) -> usize {
    fs::read_to_string(repository.mark("times")).unwrap().lines().count()
}

fn assert_stuck(repository: &Repository, stopped: &Output, after: usize, why: &str) {
    assert_eq!(stopped.code, 1, "{stopped}");
    let told = stopped.stdout();
    let told = &told[told.rfind("stopped at: ").unwrap()..];
    assert!(told.contains("No progress: ") && told.contains(why), "{told}");
    assert!(told.contains("the answer is wrong"), "what was found last is told: {told}");
    assert_eq!(times(repository), after, "{stopped}");
    assert_eq!(repository.commits(&Repository::branch(&run_of(stopped))).len(), 1, "only the plan");
}

#[test]
fn an_agent_that_changes_nothing_although_it_should_is_not_asked_again() {
    let repository = checked("echo the answer is wrong; exit 1", "echo same > f1.txt");
    let stopped = repository.work("--yes");
    assert_stuck(&repository, &stopped, 2, "the agent made no changes in response to the findings.");
    let status = repository.sandbox.maestro("loop status");
    assert!(status.stdout().contains("No progress: "), "{status}");
}

#[test]
fn work_that_comes_back_to_where_it_was_goes_in_circles() {
    let repository = checked("echo the answer is wrong: $(cat f1.txt); exit 1", "echo $((n % 2)) > f1.txt");
    let stopped = repository.work("--yes");
    assert_stuck(&repository, &stopped, 3, "all files are the same as after round 1.");
}

#[test]
fn what_is_wrong_word_for_word_for_the_third_time_costs_no_fourth_try() {
    let repository = checked("echo the answer is wrong; exit 1", "echo $n >> f1.txt");
    let stopped = repository.work("--yes");
    assert_stuck(&repository, &stopped, 3, "the same findings came up for the third time.");
}

#[test]
fn work_that_gets_somewhere_has_all_its_tries() {
    let check = "test $(wc -l < f1.txt) -ge 5 && exit 0; echo there are $(wc -l < f1.txt) lines; exit 1";
    let repository = checked(check, "echo $n >> f1.txt");
    let worked = repository.work("--no-review --yes");
    assert_eq!(worked.code, 0, "{worked}");
    assert_eq!(times(&repository), 5);
    assert_eq!(repository.commits(&Repository::branch(&run_of(&worked))).len(), 2);
}
