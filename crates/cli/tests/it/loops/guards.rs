//! Does work get past its gates by a way that nobody thought of?

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use super::{Repository, goes_on_until, is_over, run_of, simple_ones, state, steer};
use crate::waiting::wait_until;

#[test]
fn what_a_review_itself_changes_is_not_committed_as_if_it_had_been_looked_at() {
    let repository = Repository::with(&[]);
    let tasks = simple_ones(1);
    repository.write_plan("PLAN.md", &tasks);
    repository.commit_all();
    // The first session does the task; the second, which is to look, adds a file once.
    let acts = [
        "{\"do\":\"run\",\"command\":\"echo x >> MARKS/times; if [ $(wc -l < MARKS/times) -eq 2 ]; then echo no > sneaky.txt; fi\"}",
        "{\"do\":\"prompt\"}",
        "{\"do\":\"report\",\"words\":[\"complete\",\"done\"]}",
    ];
    let marks = repository.mark("times");
    fs::create_dir_all(marks.parent().unwrap()).unwrap();
    let acts = acts.join("\n").replace("MARKS", &marks.parent().unwrap().display().to_string());
    let repository = repository.acting(&acts);
    let worked = repository.work("");
    let prompts = repository.prompts();
    let told = prompts.iter().filter(|prompt| prompt.contains("The review itself changed files")).count();
    assert!(told >= 1 && prompts.len() >= 4, "{worked} {prompts:#?}");
    assert!(worked.stdout().contains("review: fail"), "{worked}");
}

#[test]
fn an_agent_that_ticks_others_boxes_does_not_make_their_tasks_vanish() {
    let repository = Repository::with(&[]);
    let mut tasks = simple_ones(3);
    tasks[0] = repository.script("greedy", "echo 1 > f1.txt; sed -i 's/\\[ \\]/[x]/' PLAN.md\n");
    repository.write_plan("PLAN.md", &tasks);
    repository.commit_all();
    let worked = repository.work("--no-review");
    assert_eq!(worked.code, 1, "{worked}");
    assert!(worked.stdout().contains("boxes were ticked that belong to other tasks"), "{worked}");
    assert_eq!(repository.commits(&Repository::branch(&run_of(&worked))).len(), 1, "only the plan");
}

#[test]
fn a_worktree_that_was_removed_while_a_loop_stood_still_is_named_with_the_way_back() {
    let repository = Repository::with(&[]);
    let task =
        repository.script("waits", "touch HOME/begun; while [ ! -e HOME/go ]; do sleep 0.02; done; echo 1 > f1.txt\n");
    let tasks = [vec![task], simple_ones(1)].concat();
    repository.write_plan("PLAN.md", &tasks);
    repository.commit_all();
    let server = repository.sandbox.serve();
    let run = repository.begin("--no-review");
    wait_until("it works", || repository.mark("begun").exists());
    steer(&server, &run, "pause");
    repository.set("go");
    wait_until("its agent is done", || super::sessions(&server, &run)[0]["status"] == "completed");
    fs::remove_dir_all(repository.sandbox.path(&format!(".maestro/worktrees/loop-{run}"))).unwrap();
    steer(&server, &run, "resume");
    let ended = goes_on_until(&server, &run, is_over);
    let message = ended["message"].as_str().unwrap();
    assert!(message.contains("is gone") && message.contains("git worktree add"), "{message}");
    assert_eq!(state(&server, &run)["next"]["finished"]["outcome"], "blocked");
}

#[test]
fn the_skills_of_a_loops_agents_are_counted_and_written_down() {
    let repository = Repository::with(&["Add a file letter.txt that says a letter to customers @letters".to_owned()]);
    let skill = "---\nname: letters\ndescription: Use when writing a letter to customers.\n---\nBe polite.\n";
    repository.sandbox.write(".agent/skills/letters/SKILL.md", skill);
    repository.commit_all();
    let mut server = repository.sandbox.command();
    let mut server = server
        .env("MAESTRO_AUTH_TOKEN", crate::served::TOKEN)
        .args(["up", "--port", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.trim().rsplit(' ').next().unwrap().to_owned();
    let worked = repository.work("--no-review");
    let metrics = crate::served::text(&url, "/metrics");
    assert_eq!(worked.code, 0, "{worked}");
    server.kill().unwrap();
    let written = std::io::read_to_string(server.stderr.take().unwrap()).unwrap();
    server.wait().unwrap();
    assert!(written.contains("info: skill letters ("), "{written}");
    assert!(written.contains(" skills found"), "{written}");
    let counted = |name: &str| metrics.lines().any(|line| line.starts_with(name) && !line.ends_with(" 0"));
    assert!(counted("skills_discovered_total") && counted("skills_selected_total"), "{metrics}");
}
