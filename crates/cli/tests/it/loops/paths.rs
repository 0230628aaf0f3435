//! Is the plan that is meant the one that is worked through, wherever somebody stands and wherever it lies?

use std::fs;

use super::{Repository, assert_done, run_of, simple_ones};

#[test]
fn a_path_is_meant_from_where_one_stands() {
    // 6: a server whose directory is another one reads the plan in the worktree all the same.
    let tasks = simple_ones(2);
    let repository = Repository::with(&[]);
    repository.write_plan("docs/deep/PLAN.md", &tasks);
    repository.write_plan("docs/PLAN.md", &["Add a file no.txt that says the wrong plan".to_owned()]);
    repository.commit_all();
    let words = ["loop", "deep/../deep/PLAN.md", "--agent", "demo", "--permission", "all", "--no-review"];
    let worked = repository.sandbox.maestro_in("docs", &words);
    assert_eq!(worked.code, 0, "{worked}");
    let branch = Repository::branch(&run_of(&worked));
    let done = repository.commits(&branch);
    assert_eq!(done.len(), 3, "{done:?}");
    assert_eq!(done[1].files, ["docs/deep/PLAN.md", "f1.txt"]);
    assert_eq!(done[2].files, ["docs/deep/PLAN.md", "f2.txt"]);
    assert!(!repository.file(&branch, "docs/deep/PLAN.md").contains("- [ ]"));
    let here = fs::read_to_string(repository.sandbox.path("docs/deep/PLAN.md")).unwrap();
    assert_eq!(here.matches("- [ ]").count(), 2, "the plan outside the worktree is nobody's business yet");
}

#[test]
fn a_plan_that_git_does_not_know_is_ticked_where_it_lies() {
    let repository = Repository::with(&[]);
    repository.sandbox.write(".gitignore", "MINE.md\n");
    repository.commit_all();
    repository.write_plan("MINE.md", &simple_ones(2));
    let worked = repository.sandbox.maestro("loop MINE.md --agent demo --permission all --no-review");
    assert_eq!(worked.code, 0, "{worked}");
    let here = fs::read_to_string(repository.sandbox.path("MINE.md")).unwrap();
    assert_eq!((here.matches("- [x]").count(), here.matches("- [ ]").count()), (2, 0), "{here}");
    let files: Vec<Vec<String>> = repository
        .commits(&Repository::branch(&run_of(&worked)))
        .into_iter()
        .skip(1)
        .map(|commit| commit.files)
        .collect();
    assert_eq!(files, [["f1.txt"], ["f2.txt"]]);
}

#[test]
fn work_in_place_is_committed_where_one_is() {
    let tasks = simple_ones(2);
    let repository = Repository::with(&tasks);
    let worked = repository.work("--in-place");
    assert_eq!(worked.code, 0, "{worked}");
    assert_done(&repository, &run_of(&worked), "main", &tasks);
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}

#[test]
fn in_place_only_the_tasks_work_and_the_tick_are_committed() {
    let repository = Repository::with(&[]);
    repository.git(&["rm", "--quiet", "-r", ".maestro"]);
    // An agent that leaves its own files behind.
    let task = repository.script("leaves", "echo 1 > f1.txt; echo mine > .aider.chat.history.md\n");
    repository.write_plan("PLAN.md", std::slice::from_ref(&task));
    repository.commit_all();
    let worked = repository.work("--in-place --no-review");
    assert_eq!(worked.code, 0, "{worked}");
    assert!(worked.stdout().contains("note: skills are off here; run `maestro init` to turn them on"), "{worked}");
    let made = repository.commits("main").pop().unwrap();
    assert_eq!((made.subject, made.files), (task, vec!["PLAN.md".to_owned(), "f1.txt".to_owned()]));
    assert!(repository.sandbox.path(".aider.chat.history.md").exists());
    assert_eq!(repository.git(&["status", "--porcelain"]), "", "nothing else was written");
}

#[test]
fn in_place_what_somebody_else_did_not_commit_is_in_the_way() {
    let repository = Repository::with(&simple_ones(1));
    repository.sandbox.write("PLAN.md", "- [ ] Add a file f1.txt that says 1\n");
    repository.sandbox.write("notes/todo.txt", "mine");
    let refused = repository.work("--in-place --no-review");
    assert_eq!(refused.code, 1, "{refused}");
    let said = refused.stderr();
    assert!(
        said.contains("uncommitted changes: PLAN.md, notes/todo.txt\n") && said.contains("`git stash -u`"),
        "{refused}"
    );
    assert_eq!(repository.commits("main").len(), 0);
    repository.git(&["checkout", "--quiet", "PLAN.md"]);
    assert_eq!(repository.work("--no-review").code, 0, "a worktree is not disturbed by what else is there");
}

#[test]
fn the_skills_of_a_prompt_can_be_read_in_its_worktree_also_where_they_are_not_committed() {
    let repository = Repository::with(&[]);
    repository.sandbox.write(".gitignore", ".claude/\n");
    let skill = "---\nname: money\ndescription: Amounts of money.\n---\nRound half up.\n";
    repository.sandbox.write(".claude/skills/money/SKILL.md", skill);
    repository.write_plan("PLAN.md", &["Add a file f.txt that says x @money".to_owned()]);
    repository.commit_all();
    let worked = repository.work("--no-review");
    assert_eq!(worked.code, 0, "{worked}");
    let tree = format!(".maestro/worktrees/loop-{}", run_of(&worked));
    let read = repository.sandbox.maestro_in(&tree, &["skills", "read", "money"]).stdout();
    let base = format!("Base directory: {}", repository.sandbox.path(".claude/skills/money").display());
    for text in [&repository.prompts()[0], &read] {
        assert!(text.contains("Round half up.") && text.contains(&base), "{text}");
    }
    let listed = repository.sandbox.maestro_in(&tree, &["skills", "list"]).stdout();
    assert_eq!(listed.matches("money ").count(), 1, "{listed}");
}
