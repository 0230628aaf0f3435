//! What goes wrong in other loops does not in this one.

use std::fs;

use super::{Repository, goes_on_until, is_over, run_of, sessions, simple_ones};
use crate::execute::wait_until;

#[test]
fn each_task_is_reviewed_the_last_one_too_and_by_somebody_who_is_told_of_it_alone() {
    // 5: the reviewer hears of the task that was done, not of the next one.
    let tasks = simple_ones(3);
    let repository = Repository::with(&tasks);
    let worked = repository.work("");
    assert_eq!(worked.code, 0, "{worked}");
    let prompts = repository.prompts();
    assert_eq!(prompts.len(), 6);
    for (pair, task) in prompts.chunks(2).zip(&tasks) {
        assert!(!pair[0].contains("## Your verdict") && pair[1].contains("## Your verdict"), "{pair:?}");
        for prompt in pair {
            let named: Vec<&String> = tasks.iter().filter(|task| prompt.contains(task.as_str())).collect();
            assert_eq!(named, [task]);
        }
    }
}

#[test]
fn a_prompt_beside_four_hundred_skills_reaches_the_agent() {
    // 11: what is told does not go through the arguments of a process.
    let repository = Repository::with(&simple_ones(1));
    let long = "works with spreadsheets, and says so at some length ".repeat(8);
    for number in 0..400 {
        repository.sandbox.skill(".agents/skills", &format!("skill-{number}"), &long);
    }
    repository.commit_all();
    let worked = repository.work("");
    assert_eq!(worked.code, 0, "{worked}");
    let prompts = repository.prompts();
    assert!(prompts[0].contains("skill-") && prompts[0].contains("Add a file f1.txt"), "{}", prompts[0]);
}

#[test]
fn a_reviewer_that_says_nothing_is_not_asked_for_ever() {
    // 12: its failures count, and the loop ends.
    let repository = Repository::with(&simple_ones(1));
    let entry = "[mute]\ntitle = \"Mute\"\n\n[mute.text]\nprograms = [\"sh\"]\n\
                 args = [\"-c\", \"cat > /dev/null; exit 3\"]\n";
    repository.sandbox.write("~/.config/maestro/agents.toml", entry);
    let worked = repository.work("--reviewer mute");
    assert_eq!(worked.code, 1, "{worked}");
    assert!(worked.stdout().contains("blocked"), "{worked}");
    assert!(repository.prompts().len() <= 5, "{}", repository.prompts().len());
    assert_eq!(repository.commits(&Repository::branch(&run_of(&worked))).len(), 0);
    repository.nothing_left(None);
}

#[test]
fn what_an_agent_does_is_seen_while_it_does_it_and_all_that_was_before() {
    // 7 and 8: the output is there while the step runs, and events from before somebody listened are delivered.
    let repository = Repository::with(&[]);
    let script = "echo ünd now I wait; while [ ! -e HOME/go ]; do sleep 0.02; done; echo x > f1.txt\n";
    let task = repository.script("speaks", script);
    repository.write_plan("PLAN.md", &[task]);
    repository.commit_all();
    let server = repository.sandbox.serve();
    let run = repository.begin("--no-review");
    wait_until("it works", || !sessions(&server, &run).is_empty());
    let session = sessions(&server, &run)[0]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/sessions/{session}/transcript?limit=500");
    wait_until("its work is seen", || server.get(&path).to_string().contains("speaks"));
    let events = server.get("/api/events?since=0");
    let kinds: Vec<&str> = events.as_array().unwrap().iter().filter_map(|event| event["type"].as_str()).collect();
    assert!(kinds.contains(&"run:called") && kinds.contains(&"session:created"), "{kinds:?}");
    repository.set("go");
    let ended = goes_on_until(&server, &run, is_over);
    assert_eq!(ended["status"], "completed", "{ended:#}");
    let after = server.get("/api/events?since=0");
    assert_eq!(
        &after.as_array().unwrap()[..kinds.len()],
        &events.as_array().unwrap()[..],
        "nothing is lost or changed"
    );
}

#[test]
fn what_lies_where_the_worktree_would_be_is_not_deleted() {
    // 1: no directory of somebody else's is removed to make room.
    let repository = Repository::with(&simple_ones(1));
    repository.sandbox.write(".maestro/worktrees", "mine");
    let worked = repository.work("");
    assert_eq!(worked.code, 1, "{worked}");
    assert!(worked.stdout().contains("A worktree cannot be opened"), "{worked}");
    assert_eq!(fs::read_to_string(repository.sandbox.path(".maestro/worktrees")).unwrap(), "mine");
    assert!(repository.sandbox.path("PLAN.md").exists() && repository.sandbox.path(".git/HEAD").exists());
}
