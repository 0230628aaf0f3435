//! Does a whole plan come out as it should, and is each task found where the plan has it by then?

use std::fs;

use serde_json::{Value as Json, json};

use super::{Repository, assert_done, count, goes_on_until, is_over, run_of, sessions, simple, simple_ones, state};
use crate::waiting::wait_until;

/// What begins, says so, and waits until it may end.
const GATE: &str = "echo $$ >> HOME/begun; while [ ! -e HOME/go ]; do sleep 0.02; done; echo x > f1.txt\n";

#[test]
fn a_plan_is_worked_through_with_failed_reviews_and_a_crash_on_the_way() {
    let repository = Repository::with(&[]);
    let mut tasks = simple_ones(count("MAESTRO_LOOP_TASKS", 6));
    tasks[1] = "Add a file f2.txt that says it fails its first review".to_owned();
    tasks[3] = "Add a file f4.txt that says this one fails its first review".to_owned();
    let dies_once = "if [ ! -e HOME/died ]; then touch HOME/died; kill -9 $PPID; fi; echo 3 > f3.txt\n";
    tasks[2] = repository.script("dies", dies_once);
    repository.write_plan("PLAN.md", &tasks);
    repository.commit_all();
    let before = repository.git(&["rev-parse", "main"]);
    let mut server = repository.sandbox.serve();
    let run = repository.begin("");
    let ended = goes_on_until(&server, &run, is_over);
    assert_eq!(ended["status"], "completed", "{ended:#}");
    assert!(repository.mark("died").exists());
    let branch = Repository::branch(&run);
    // The plan itself was committed twice before.
    let mut commits = repository.commits(&branch);
    assert_eq!(commits.remove(0).subject, "begin");
    let said: Vec<&String> = commits.iter().map(|commit| &commit.subject).collect();
    assert_eq!(said, tasks.iter().collect::<Vec<_>>());
    for (number, commit) in commits.iter().enumerate() {
        assert_eq!(commit.files, ["PLAN.md".to_owned(), format!("f{}.txt", number + 1)], "{commit:?}");
        assert!(commit.ticket.starts_with(&format!("{run}/")), "{commit:?}");
        let then = repository.file(&format!("{branch}~{}", tasks.len() - 1 - number), "PLAN.md");
        assert_eq!(then.matches("- [x]").count(), number + 1, "{then}");
    }
    assert_eq!(repository.git(&["rev-parse", "main"]), before, "nothing happens outside the worktree");
    let all = sessions(&server, &run);
    // Two for each task, and two more for each review that failed; who crashed goes on in the same session.
    assert_eq!(all.len(), 2 * tasks.len() + 4);
    for session in &all {
        let spawn = server.get(&format!("/api/sessions/{}/spawn", session["id"].as_str().unwrap()));
        assert_eq!(spawn["state"], "done", "{spawn:#}");
    }
    repository.nothing_left(Some(&server));
    server.end();
    assert_eq!(repository.sandbox.maestro("db check").code, 0);
}

#[test]
fn a_loop_needs_no_server_and_a_second_one_follows_at_once() {
    // 10: the first run leaves nothing behind that the second would stumble over.
    let tasks = simple_ones(2);
    let repository = Repository::with(&tasks);
    let mut runs = Vec::new();
    for _ in 0..2 {
        let worked = repository.work("");
        assert_eq!(worked.code, 0, "{worked}");
        repository.nothing_left(None);
        assert_eq!(repository.git(&["status", "--porcelain"]), "");
        runs.push(run_of(&worked));
    }
    for run in &runs {
        assert_done(&repository, run, &Repository::branch(run), &tasks);
    }
    assert_ne!(runs[0], runs[1]);
}

#[test]
fn a_task_is_found_where_it_stands_by_then_and_the_loop_stops_where_it_is_gone() {
    for (edited, status) in [("- [ ] GATE\n", "completed"), ("- [ ] Something else\n", "failed")] {
        let repository = Repository::with(&[]);
        let gate = repository.script("gate", GATE);
        repository.write_plan("PLAN.md", &[gate.clone(), simple(2)]);
        repository.commit_all();
        let server = repository.sandbox.serve();
        let run = repository.begin("--no-review --once");
        wait_until("it works", || repository.mark("begun").exists());
        let plan = format!(".maestro/worktrees/loop-{run}/PLAN.md");
        let text = fs::read_to_string(repository.sandbox.path(&plan)).unwrap();
        let line = format!("- [ ] {gate}\n");
        let moved = format!("One more line.\n\n- [x] What was done long ago\n{}", edited.replace("GATE", &gate));
        repository.sandbox.write(&plan, text.replace(&line, &moved));
        repository.set("go");
        let ended = goes_on_until(&server, &run, is_over);
        assert_eq!(ended["status"], status, "{ended:#}");
        let commits = repository.commits(&Repository::branch(&run));
        if status == "completed" {
            assert_eq!(commits.last().unwrap().subject, gate);
            let then = repository.file(&Repository::branch(&run), "PLAN.md");
            assert!(then.contains(&format!("- [x] {gate}\n")), "{then}");
        } else {
            assert_eq!(commits.last().unwrap().subject, "begin", "nothing is committed");
            let message = ended["message"].as_str().unwrap();
            assert!(message.starts_with(&format!("Stopped at: {gate}\nNo progress: ")), "{ended:#}");
            assert!(message.contains("PLAN.md was changed: tasks are missing that were there before: "), "{ended:#}");
            let log = repository.sandbox.maestro_with(&["loop", "log", &run]);
            assert!(log.stdout().contains("tasks are missing that were there before"), "{log}");
        }
    }
}

#[test]
fn a_session_that_is_cancelled_ends_its_task_and_not_in_silence() {
    let repository = Repository::with(&[]);
    let gate = repository.script("gate", GATE);
    repository.write_plan("PLAN.md", &[gate]);
    repository.commit_all();
    let server = repository.sandbox.serve();
    let run = repository.begin("");
    wait_until("it works", || repository.mark("begun").exists());
    let session = sessions(&server, &run)[0]["id"].as_str().unwrap().to_owned();
    server.make(&format!("/api/sessions/{session}/cancel"), &json!({}));
    let ended = goes_on_until(&server, &run, is_over);
    assert_eq!(ended["next"]["finished"]["outcome"], "blocked", "{ended:#}");
    assert!(ended["message"].as_str().unwrap().contains("\nThe agent did not complete the task: "), "{ended:#}");
    assert_eq!(state(&server, &run)["status"], "failed");
    assert_eq!(repository.commits(&Repository::branch(&run)).len(), 1, "only the plan");
    let (status, _) = server.ask("POST", &format!("/api/runs/{run}/cancel"), None, Some(&json!({})));
    assert_eq!(status, 409, "it is over already");
}

#[test]
fn who_works_and_who_reviews_get_the_whole_item() {
    let repository = Repository::with(&[]);
    let task =
        repository.script("writes", "maestro info > HOME/info; maestro info --json > HOME/info.json; echo x > a.txt\n");
    let plan = format!(
        "# Totals\n\nGoal: people export what they see.\n\n## Export\n\n- [ ] Everything\n  Both share one writer.\n\n  \
         - [ ] {task}\n\n    One row for each month:\n\n    ```csv\n    month,total\n    ```\n\n    Accept when:\n    \
         - the header is there\n"
    );
    repository.sandbox.write("docs/PLAN.md", plan);
    repository.commit_all();
    let done = repository.sandbox.maestro("loop docs/PLAN.md --agent demo --permission all --once");
    assert_eq!(done.code, 0, "{done}");
    let prompts = repository.prompts();
    let parts = [
        "Goal: people export what they see.",
        "Both share one writer.",
        "month,total",
        "the header is there",
        "line 10 of `docs/PLAN.md`",
    ];
    assert_eq!(prompts.len(), 2);
    for (prompt, part) in prompts.iter().flat_map(|prompt| parts.iter().map(move |part| (prompt, part))) {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    let info = fs::read_to_string(repository.mark("info")).unwrap();
    for part in parts {
        assert!(info.contains(part), "{part}: {info}");
    }
    let info: Json = serde_json::from_str(&fs::read_to_string(repository.mark("info.json")).unwrap()).unwrap();
    assert_eq!(
        (&info["planTask"]["plan"], &info["planTask"]["line"]),
        (&json!("docs/PLAN.md"), &json!(10)),
        "{info:#}"
    );
}
