//! Are several tasks of a plan worked on at once, and do they come out as if they had been done one after another?

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::{Repository, goes_on_until, is_over, run_of, simple_ones, state, steer};
use crate::waiting::wait_until;

/// Waits until so many have begun, so that nobody can be done before all have.
const MEET: &str = "echo x >> HOME/here; while [ $(wc -l < HOME/here) -lt 3 ]; do sleep 0.02; done\n";

#[test]
fn tasks_that_the_plan_does_not_order_are_worked_on_at_the_same_time() {
    let repository = Repository::with(&[]);
    let tasks: Vec<String> = (1..=3)
        .map(|number| repository.script(&format!("task{number}"), &format!("{MEET}echo {number} > f{number}.txt\n")))
        .collect();
    repository.write_plan("PLAN.md", &tasks);
    repository.commit_all();
    let worked = repository.work("-j 3");
    assert_eq!(worked.code, 0, "{worked}");
    let run = run_of(&worked);
    let branch = Repository::branch(&run);
    let mut commits = repository.commits(&branch);
    assert_eq!(commits.remove(0).subject, "begin");
    let mut said: Vec<&String> = commits.iter().map(|commit| &commit.subject).collect();
    said.sort();
    assert_eq!(said, tasks.iter().collect::<Vec<_>>());
    for (number, commit) in commits.iter().enumerate() {
        assert_eq!((commit.files.len(), commit.files[0].as_str()), (2, "PLAN.md"), "{commit:?}");
        let then = repository.file(&format!("{branch}~{}", 2 - number), "PLAN.md");
        assert_eq!(then.matches("- [x]").count(), number + 1, "{then}");
    }
    assert_eq!(repository.git(&["branch", "--list", "--format=%(refname:short)"]), format!("{branch}\nmain\n"));
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1, "only the project");
    let merged = repository.sandbox.maestro(&format!("merge {run}"));
    assert_eq!(merged.code, 0, "{merged}");
    assert!(repository.sandbox.path("f3.txt").exists());
    repository.nothing_left(None);
}

#[test]
fn what_the_plan_orders_is_done_in_that_order() {
    let repository = Repository::with(&[]);
    let tasks = simple_ones(5);
    let [one, two, parent, child, last] = tasks.as_slice() else { panic!() };
    repository.sandbox.write(
        "PLAN.md",
        format!("# Plan\n\n1. [ ] {one}\n2. [ ] {two}\n\n## Then\n\n- [ ] {parent}\n  - [ ] {child}\n- [ ] {last}\n"),
    );
    repository.commit_all();
    let worked = repository.work("-j 4");
    assert_eq!(worked.code, 0, "{worked}");
    let commits = repository.commits(&Repository::branch(&run_of(&worked)));
    let at = |task: &String| commits.iter().position(|commit| commit.subject == *task).unwrap();
    assert!(at(one) < at(two) && at(two) < at(child) && at(child) < at(parent) && at(two) < at(last), "{commits:#?}");
    assert_eq!(commits.len(), 6);
}

#[test]
fn what_contradicts_another_task_is_handed_back_to_an_agent() {
    let repository = Repository::with(&[]);
    repository.sandbox.write("shared.txt", "nothing\n");
    // Both begin from the same state; whoever finds two versions makes one of them.
    let script = |number: u32| {
        format!(
            "if grep -q '<<<<' shared.txt; then echo x >> HOME/solved; \
             sed -i '/^<<<</d; /^====/d; /^>>>>/d' shared.txt; exit; fi\n\
             echo x >> HOME/here; while [ $(wc -l < HOME/here) -lt 2 ]; do sleep 0.02; done\n\
             echo {number} > shared.txt\n"
        )
    };
    let tasks = [repository.script("one", &script(1)), repository.script("two", &script(2))];
    repository.write_plan("PLAN.md", &tasks);
    repository.commit_all();
    let worked = repository.work("-j 2 --no-review");
    assert_eq!(worked.code, 0, "{worked}");
    let branch = Repository::branch(&run_of(&worked));
    let shared = repository.file(&branch, "shared.txt");
    let mut lines: Vec<&str> = shared.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["1", "2"]);
    assert!(repository.mark("solved").exists());
    assert_eq!(repository.commits(&branch).len(), 3);
    let prompts = repository.prompts();
    let told = prompts.iter().find(|prompt| prompt.contains("another task changed the same")).unwrap();
    assert!(told.contains("shared.txt"), "{told}");
    let first = &repository.commits(&branch)[1];
    let other = format!("`shared.txt` was changed by the task \"{}\" (commit ", first.subject);
    assert!(told.contains(&other), "which task it was: {told}");
    let output = worked.stdout();
    let mut labels = output.lines().filter(|line| line.ends_with("  implement"));
    assert!(labels.all(|line| line.starts_with("[1] ") || line.starts_with("[2] ")), "{output}");
}

/// A repository with four tasks, the second of which never passes its check.
fn with_a_bad_task() -> (Repository, Vec<String>) {
    let repository = Repository::with(&[]);
    repository.sandbox.write("check.sh", "#!/bin/sh\ntest ! -e bad.txt\n");
    fs::set_permissions(repository.sandbox.path("check.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    repository.sandbox.write(".maestro/config.toml", "verify = [\"./check.sh\"]\n");
    let mut tasks = simple_ones(4);
    "Add a file bad.txt that says no".clone_into(&mut tasks[1]);
    repository.write_plan("PLAN.md", &tasks);
    repository.commit_all();
    assert_eq!(repository.sandbox.maestro("trust --config --yes").code, 0);
    (repository, tasks)
}

#[test]
fn what_one_stops_at_is_left_alone_and_the_others_go_on() {
    let (repository, tasks) = with_a_bad_task();
    let worked = repository.work("-j 2 --no-review");
    assert_eq!(worked.code, 1, "{worked}");
    let branch = Repository::branch(&run_of(&worked));
    let mut commits = repository.commits(&branch);
    assert_eq!(commits.remove(0).subject, "begin");
    let said: Vec<&String> = commits.iter().map(|commit| &commit.subject).collect();
    assert_eq!(said, [&tasks[0], &tasks[2], &tasks[3]], "{worked}");
    assert!(repository.file(&branch, "PLAN.md").contains("- [ ] Add a file bad.txt"));
    assert!(worked.stdout().contains("are stopped: Add a file bad.txt"), "{worked}");
    let worktrees = repository.git(&["worktree", "list"]);
    let lane = worktrees.lines().find_map(|line| line.split_once("-lane")?.0.split_once("/loop-")).unwrap().1;
    assert_eq!(
        worktrees.matches("-lane]").count(),
        1,
        "what was stopped at is still there to be looked at: {worktrees}"
    );
    // Whoever takes over what was done learns of it.
    let merged = repository.sandbox.maestro(&format!("merge {}", run_of(&worked)));
    let named = format!("maestro/loop-{lane}-lane has unfinished work: merge it with `maestro merge {lane}`");
    assert!(merged.code == 0 && merged.stdout().contains(&named), "{merged}");
    let discarded = repository.sandbox.maestro(&format!("discard {lane} --yes"));
    assert_eq!(discarded.code, 0, "{discarded}");
    assert!(!repository.git(&["worktree", "list"]).contains("-lane"));
}

#[test]
fn who_discards_the_branch_of_all_discards_what_was_not_finished_too() {
    let (repository, _) = with_a_bad_task();
    let run = run_of(&repository.work("-j 2 --no-review"));
    let asked = repository.sandbox.maestro(&format!("discard {run}"));
    assert!(asked.stderr().contains("-lane with unfinished work"), "{asked}");
    let discarded = repository.sandbox.maestro(&format!("discard {run} --yes"));
    assert!(discarded.code == 0 && discarded.stdout().contains("-lane with unfinished work"), "{discarded}");
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1, "only the project");
    assert_eq!(repository.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main\n");
}

#[test]
fn nothing_becomes_of_the_branch_of_all_while_one_of_them_works() {
    let repository = Repository::with(&[]);
    let wait = "echo x >> HOME/here; while [ ! -e HOME/go ]; do sleep 0.02; done; echo x > $1\n";
    let task = repository.script("wait", wait);
    repository.write_plan("PLAN.md", &[format!("{task} one.txt"), format!("{task} two.txt")]);
    repository.commit_all();
    let server = repository.sandbox.serve();
    let run = repository.begin("-j 2 --no-review");
    let here = || fs::read_to_string(repository.mark("here")).unwrap_or_default().lines().count();
    wait_until("both work", || here() == 2);
    steer(&server, &run, "cancel");
    for words in ["merge", "pr", "discard --yes"] {
        let refused = repository.sandbox.maestro(&format!("{words} {run}"));
        assert!(refused.code == 1 && refused.stderr().contains("is still active"), "{refused}");
    }
    repository.set("go");
    let all = server.get("/api/runs");
    for lane in all.as_array().unwrap() {
        goes_on_until(&server, lane["id"].as_str().unwrap(), is_over);
    }
    let merged = repository.sandbox.maestro(&format!("merge {run}"));
    assert_eq!(merged.code, 0, "{merged}");
    let done = ["one.txt", "two.txt"].map(|file| repository.sandbox.path(file).exists());
    assert_eq!(done.iter().filter(|is_there| **is_there).count(), 1, "what the cancelled one had is left to somebody");
    // What the cancelled one had begun holds nothing that is not there.
    assert_eq!(repository.git(&["worktree", "list"]).lines().count(), 1, "only the project: {merged}");
}

#[test]
fn a_killed_server_goes_on_with_all_of_them() {
    let repository = Repository::with(&simple_ones(6));
    let mut server = repository.sandbox.serve();
    let run = repository.begin("-j 3");
    for done in [1, 3] {
        let branch = Repository::branch(&run);
        wait_until("it goes on", || {
            let known = repository.git(&["branch", "--list", &branch]);
            !known.is_empty() && repository.commits(&branch).len() >= done
        });
        server.kill();
        server = repository.sandbox.serve();
    }
    let all = server.get("/api/runs");
    for lane in all.as_array().unwrap() {
        let ended = goes_on_until(&server, lane["id"].as_str().unwrap(), is_over);
        assert_eq!(ended["status"], "completed", "{ended:#} {:#}", server.get("/api/runs"));
    }
    let mut said: Vec<String> =
        repository.commits(&Repository::branch(&run)).into_iter().map(|commit| commit.subject).collect();
    said.sort();
    assert_eq!(said, simple_ones(6));
    assert_eq!(state(&server, &run)["status"], "completed");
    repository.nothing_left(Some(&server));
}

#[test]
fn a_paused_loop_of_several_runs_is_one_thing_that_waits() {
    let repository = Repository::with(&[]);
    let gate = "echo x >> HOME/here; while [ ! -e HOME/go ]; do sleep 0.02; done\n";
    let task = |number: u32| repository.script(&format!("task{number}"), &format!("{gate}echo x > f{number}.txt\n"));
    repository.write_plan("PLAN.md", &[task(1), task(2)]);
    repository.commit_all();
    let server = repository.sandbox.serve();
    let run = repository.begin("-j 2 --no-review");
    let here = repository.mark("here");
    wait_until("both work", || fs::read_to_string(&here).is_ok_and(|marks| marks.lines().count() == 2));
    let working = repository.sandbox.maestro("");
    assert_eq!(working.stdout().matches("working: PLAN.md (").count(), 1, "{working}");
    let status = repository.sandbox.maestro("loop status").stdout();
    assert_eq!(status.lines().filter(|line| line.ends_with("  implement")).count(), 2, "{status}");
    assert_eq!(repository.sandbox.maestro(&format!("loop pause {run}")).code, 0);
    let paused = repository.sandbox.maestro("");
    assert_eq!(paused.stdout().matches("paused: PLAN.md (").count(), 1, "{paused}");
    let shown = paused.stdout();
    let next = shown.lines().skip_while(|line| *line != "Next").nth(1).unwrap();
    let id = next.trim().strip_prefix("maestro loop resume ").unwrap().split(' ').next().unwrap();
    assert_eq!(paused.whole_id(id), run, "the command continues all of it: {paused}");
    repository.set("go");
    assert_eq!(repository.sandbox.maestro(&format!("loop resume {id}")).code, 0);
    goes_on_until(&server, &run, is_over);
    assert!(!repository.file(&Repository::branch(&run), "PLAN.md").contains("- [ ]"));
}
