//! What becomes of a plan that has no boxes, and who says that it is done?

use std::fs;

use super::{Repository, assert_done, run_of, simple_ones};

const PROMISE: &str = "<promise>COMPLETE</promise>";

/// A repository whose plan is prose.
fn prose(plan: &str) -> Repository {
    let repository = Repository::with(&[]);
    repository.sandbox.write("PLAN.md", plan);
    repository.commit_all();
    repository
}

fn subjects(repository: &Repository, branch: &str) -> Vec<String> {
    // The plan itself was committed before.
    repository.commits(branch).into_iter().skip(1).map(|commit| commit.subject).collect()
}

#[test]
fn of_a_plan_without_boxes_the_agent_chooses_marks_and_says_when_nothing_is_left() {
    let plan = "# Letters\n\nFirst this:\n\nAdd a file f1.txt that says one\n\nAnd then:\n\n\
                1. Add a file f2.txt that says this one fails its first review\n";
    let repository = prose(plan);
    let worked = repository.work("");
    assert_eq!(worked.code, 0, "{worked}");
    assert!(worked.stdout().contains("ready: Every task of PLAN.md is done."), "{worked}");
    let branch = Repository::branch(&run_of(&worked));
    let commits = repository.commits(&branch);
    assert_eq!(
        subjects(&repository, &branch),
        ["Add a file f1.txt that says one", "1. Add a file f2.txt that says this one fails its first review"]
    );
    assert_eq!((&commits[1].files, &commits[2].files), (&pair("f1.txt"), &pair("f2.txt")));
    let then = repository.file(&branch, "PLAN.md");
    assert_eq!(then.matches("(done)").count(), 2, "{then}");
    assert_eq!(repository.file(&branch, "f2.txt"), "this one fails its first review.\n", "the finding is fixed");
    let prompts = repository.prompts();
    let reviews: Vec<&String> = prompts.iter().filter(|prompt| prompt.contains("## Your verdict")).collect();
    assert_eq!((prompts.len(), reviews.len()), (7, 3), "where nothing was done, nothing is reviewed");
    assert!(reviews[0].contains("> Add a file f1.txt that says one"), "{}", reviews[0]);
    assert!(reviews[2].contains("> 1. Add a file f2.txt"), "what is mended is still that task: {}", reviews[2]);
    for prompt in prompts.iter().filter(|prompt| !prompt.contains("## Your verdict")) {
        assert!(prompt.contains(PROMISE) && prompt.contains("Read PLAN.md."), "{prompt}");
        assert!(!prompt.contains("Do not touch the checklist"), "{prompt}");
    }
}

fn pair(file: &str) -> Vec<String> {
    vec!["PLAN.md".to_owned(), file.to_owned()]
}

#[test]
fn what_a_tool_prints_is_no_promise_and_words_in_pieces_are() {
    let repository = prose("Add a file f1.txt that says one\n");
    let (first, rest) = PROMISE.split_at(11);
    let acts = format!(
        "{{\"do\":\"run\",\"command\":\"echo x >> f1.txt; if [ $(wc -l < f1.txt) -lt 3 ]; then echo '{PROMISE}'; fi\"}}\n\
         {{\"do\":\"say\",\"text\":\"Here is a part: {first}\"}}\n{{\"do\":\"report\",\"words\":[\"complete\",\"One more line\"]}}\n"
    );
    let repository = repository.acting(&acts);
    let worked = repository.work("--no-review --max-tasks 2");
    assert_eq!(worked.code, 0, "{worked}");
    assert!(worked.stdout().contains("The requested number of tasks is done"), "{worked}");
    let branch = Repository::branch(&run_of(&worked));
    assert_eq!(subjects(&repository, &branch), ["One more line", "One more line"]);
    // What was done with the promise is checked and committed like all other work.
    let said = format!(
        "{acts}{{\"do\":\"say\",\"text\":\"All is done.\\n{first}\"}}\n{{\"do\":\"say\",\"text\":\"{rest}\"}}\n"
    );
    repository.sandbox.write("~/acts", said);
    let worked = repository.work("--no-review");
    assert_eq!(worked.code, 0, "{worked}");
    assert!(worked.stdout().contains("ready: Every task of PLAN.md is done."), "{worked}");
    assert_eq!(subjects(&repository, &Repository::branch(&run_of(&worked))), ["One more line"]);
}

#[test]
fn where_there_are_boxes_they_decide_and_not_what_is_said() {
    let tasks = simple_ones(3);
    let repository = Repository::with(&tasks);
    let acts = [
        format!("{{\"do\":\"say\",\"text\":\"{PROMISE}\"}}"),
        "{\"do\":\"prompt\"}".to_owned(),
        format!("{{\"do\":\"report\",\"words\":[\"complete\",\"{PROMISE}\"]}}"),
        format!("{{\"do\":\"say\",\"text\":\"{PROMISE}\"}}"),
    ];
    let repository = repository.acting(&acts.join("\n"));
    let worked = repository.work("--no-review --in-place");
    assert_eq!(worked.code, 0, "{worked}");
    assert_done(&repository, &run_of(&worked), "main", &tasks);
}

#[test]
fn a_plan_that_no_agent_could_mark_stops_before_one_is_started() {
    let repository = Repository::with(&[]);
    repository.sandbox.write(".gitignore", "MINE.md\n");
    repository.commit_all();
    repository.sandbox.write("MINE.md", "Add a file f1.txt that says one\n");
    let stopped = repository.sandbox.maestro("loop MINE.md --agent demo --permission all");
    assert_eq!(stopped.code, 1, "{stopped}");
    assert!(stopped.stdout().contains("Commit it, add boxes, or use `--in-place`."), "{stopped}");
    assert!(repository.prompts().is_empty());
    let worked = repository.sandbox.maestro("loop MINE.md --agent demo --permission all --no-review --in-place");
    assert_eq!(worked.code, 0, "{worked}");
    let here = fs::read_to_string(repository.sandbox.path("MINE.md")).unwrap();
    assert_eq!(here, "Add a file f1.txt that says one (done)\n");
}
