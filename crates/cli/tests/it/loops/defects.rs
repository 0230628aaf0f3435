//! What goes wrong in another loop does not in this one.
//!
//! Twelve faults were found there. Those that need a test of their own have it here or in `seen.rs`; the others are part of
//! something larger:
//!
//! | fault | tested by |
//! |---|---|
//! | 1 a directory is deleted to make room | [`what_lies_where_the_worktree_would_be_is_never_deleted`] |
//! | 2 a check that prints much hangs for ever | `checks::what_a_red_check_said_is_told_to_whoever_mends_it` |
//! | 3 a character at a bound in bytes ends a task | [`characters_of_several_bytes_are_cut_nowhere`] |
//! | 4 nobody goes on after pause and resume | `steering::a_paused_run_lets_its_agent_finish_and_goes_on_when_it_may` |
//! | 5 the reviewer is told of the next task | [`each_task_is_reviewed_the_last_one_too_and_by_somebody_who_is_told_of_it_alone`] |
//! | 6 a path is meant from where the server is | `paths::a_path_is_meant_from_where_one_stands` |
//! | 7 nothing is seen while a step runs | `seen::what_an_agent_says_is_printed_while_its_step_runs` and the next one |
//! | 8 who listens early hears nothing | `seen::a_stream_that_was_opened_before_the_first_event_gets_every_one` |
//! | 9 an agent outlives the server | `steering::a_server_that_is_told_to_end_takes_the_loops_agent_with_it_and_the_next_one_goes_on` |
//! | 10 a second run stumbles over the first | `plans::a_loop_needs_no_server_and_a_second_one_follows_at_once` |
//! | 11 many skills do not fit into an argument | [`a_prompt_beside_four_hundred_skills_reaches_the_agent`] |
//! | 12 a reviewer that fails is asked for ever | [`a_reviewer_that_says_nothing_is_not_asked_for_ever`] |

use std::fs;
use std::os::unix::fs::symlink;

use super::{Repository, run_of, sessions, simple_ones};

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
    assert!(worked.stdout().contains("stopped at: "), "{worked}");
    assert!(repository.prompts().len() <= 5, "{}", repository.prompts().len());
    assert_eq!(repository.commits(&Repository::branch(&run_of(&worked))).len(), 0);
    repository.nothing_left(None);
}

/// The loop with a worktree of a name that is known before it begins.
fn workflow_with_worktree(name: &str) -> String {
    let text = include_str!("../../../../../skills/plan-loop/workflow.yaml");
    let own = text.replace("name: plan-loop", "name: own-loop").replace("loop-{run}", name);
    assert!(own.contains(&format!("name: \"{name}\"")), "{own}");
    own
}

#[test]
fn what_lies_where_the_worktree_would_be_is_never_deleted() {
    // 1: a directory that is no worktree on the run's branch is removed with all that is in it.
    let repository = Repository::with(&simple_ones(1));
    repository.sandbox.write(".claude/skills/own-loop/workflow.yaml", workflow_with_worktree("taken"));
    repository.sandbox.write(".gitignore", "secret\n");
    repository.sandbox.write("secret", "ignored, and nowhere else");
    repository.commit_all();
    let allowed = repository.sandbox.maestro("trust own-loop --yes");
    assert_eq!(allowed.code, 0, "{allowed}");
    let place = repository.sandbox.path(".maestro/worktrees/taken");
    let stops = |what: &str| {
        let worked = repository.work("--workflow own-loop");
        assert_eq!(worked.code, 1, "{what}: {worked}");
        let text = worked.stdout();
        assert!(text.contains("Could not open a worktree: ") && text.contains("move it away"), "{what}: {worked}");
        for file in ["PLAN.md", "secret", ".git/HEAD"] {
            assert!(repository.sandbox.path(file).exists(), "{what}: {file}");
        }
    };
    repository.sandbox.write(".maestro/worktrees/taken/deep/mine", "mine");
    stops("a directory");
    assert_eq!(fs::read_to_string(place.join("deep/mine")).unwrap(), "mine");
    fs::remove_dir_all(&place).unwrap();
    // The path that wiped a whole repository was the repository itself.
    symlink(repository.sandbox.project(), &place).unwrap();
    stops("a link to the repository");
    fs::remove_file(&place).unwrap();
    fs::create_dir(&place).unwrap();
    repository.git(&["init", "--quiet", place.to_str().unwrap()]);
    stops("a repository of its own");
    assert!(place.join(".git/HEAD").exists());
    fs::remove_dir_all(&place).unwrap();
    let worked = repository.work("--workflow own-loop");
    assert_eq!(worked.code, 0, "nothing is in the way any more: {worked}");
}

#[test]
fn characters_of_several_bytes_are_cut_nowhere() {
    // 3: one at a bound that is counted in bytes ends a task of the program, and the run stands still for ever.
    let repository = Repository::with(&[]);
    // Whatever the bound and whatever stands before: in one of these it is inside of a character.
    let tasks: Vec<String> = (0..4)
        .map(|shift| format!("Add a file f{}.txt that says {}{}", shift + 1, "x".repeat(shift), "👩é日".repeat(700)))
        .collect();
    let floods = repository.script("floods", "printf x; yes 日本語 | head -c 300001; echo 5 > f5.txt\n");
    let tasks: Vec<String> = tasks.into_iter().chain([floods]).collect();
    repository.write_plan("PLAN.md", &tasks);
    repository.commit_all();
    let server = repository.sandbox.serve();
    let worked = repository.work("");
    assert_eq!(worked.code, 0, "{worked}");
    let run = run_of(&worked);
    let said: Vec<String> =
        repository.commits(&Repository::branch(&run)).into_iter().map(|made| made.subject).collect();
    assert_eq!(said[1..], tasks);
    let prompts = repository.prompts();
    assert!(tasks.iter().all(|task| prompts.iter().filter(|prompt| prompt.contains(task.as_str())).count() == 2));
    // Nothing that shows it stumbles over it, either.
    for session in sessions(&server, &run) {
        let id = session["id"].as_str().unwrap();
        let transcript = server.get(&format!("/api/sessions/{id}/transcript?limit=500"));
        assert!(!transcript.as_array().unwrap_or(&Vec::new()).is_empty(), "{transcript}");
        assert_eq!(repository.sandbox.maestro(&format!("show {id} --transcript")).code, 0);
    }
    assert_eq!(repository.sandbox.maestro_with(&["loop", "log", &run]).code, 0);
}
