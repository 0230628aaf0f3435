//! Is a task done as its commit and its box say?

use std::fs;

use super::{Repository, run_of};

#[test]
fn an_agents_own_commits_are_folded_into_the_tasks_and_seen_by_the_reviewer() {
    let repository = Repository::with(&[]);
    let commits = "echo x > a.txt; git add a.txt; git commit --quiet --message 'Write a'; echo y > b.txt\n";
    let task = repository.script("commits", commits);
    let looks = "cat > $TMPDIR/prompt; ls > HOME/seen\n\
                 pass=$(sed -n 's/^- .\\(maestro workflow report .* --outcome pass .*\\).$/\\1/p' $TMPDIR/prompt)\n\
                 echo '{\"findings\": \"\"}' | sh -c \"$pass\"; maestro complete looked\n";
    repository.script("looks", looks);
    let (marks, looks) = (repository.sandbox.path(super::MARKS), repository.sandbox.path("~/looks"));
    let agent = format!(
        "[looker]\ntitle = \"Looks\"\nwrites = [{marks:?}]\n[looker.text]\nprograms = [\"sh\"]\nargs = [{looks:?}]\n\
         prompt = \"stdin\"\nformat = \"text\"\n"
    );
    repository.sandbox.write("~/.config/maestro/agents.toml", agent);
    repository.write_plan("PLAN.md", std::slice::from_ref(&task));
    repository.commit_all();
    let worked = repository.work("--reviewer looker");
    assert_eq!(worked.code, 0, "{worked}");
    let seen = fs::read_to_string(repository.mark("seen")).unwrap();
    assert!(seen.contains("a.txt") && seen.contains("b.txt"), "what was committed is work to be reviewed: {seen}");
    let branch = Repository::branch(&run_of(&worked));
    let mut commits = repository.commits(&branch);
    let made = commits.pop().unwrap();
    assert_eq!(
        (made.subject.as_str(), made.files),
        (task.as_str(), ["PLAN.md", "a.txt", "b.txt"].map(str::to_owned).into())
    );
    assert_eq!(commits.pop().unwrap().subject, "begin", "there is one commit of the task");
}

#[test]
fn a_task_that_changed_nothing_is_ticked_only_with_a_reason() {
    let repository = Repository::with(&["Say that it is done".to_owned()]);
    let unseen = repository.work("--no-review");
    assert_ne!(unseen.code, 0, "{unseen}");
    assert!(unseen.to_string().contains("No file changed, and no review said why none had to."), "{unseen}");
    let branch = Repository::branch(&run_of(&unseen));
    assert!(repository.file(&branch, "PLAN.md").contains("- [ ]"), "an agent's word alone ticks nothing");
    let repository = Repository::with(&["Say that it is done".to_owned()]);
    let reviewed = repository.work("");
    assert_eq!(reviewed.code, 0, "{reviewed}");
    let prompts = repository.prompts();
    let review = prompts.last().unwrap();
    assert!(review.contains("## unchanged\n\nThe agent changed no file."), "{review}");
    let branch = Repository::branch(&run_of(&reviewed));
    assert!(repository.file(&branch, "PLAN.md").contains("- [x]"));
}

#[test]
fn the_gate_runs_the_checks_that_the_project_shows() {
    let repository = Repository::with(&["Add a file a.txt that says one".to_owned()]);
    repository.sandbox.write(".maestro/config.toml", "verify = [\"ls missing.txt\"]\n");
    repository.commit_all();
    let set = repository.sandbox.maestro_with(&["config", "set", "--project", "verify", "[\"ls a.txt\"]"]);
    assert_eq!(set.code, 0, "{set}");
    assert_eq!(repository.sandbox.maestro("config get verify").stdout(), "[\"ls a.txt\"]\n");
    assert!(!repository.sandbox.path("~/.config/maestro/config.toml").exists(), "the user's own settings stay");
    assert_eq!(repository.sandbox.maestro("trust --config --yes").code, 0);
    let worked = repository.work("--no-review --yes");
    assert_eq!(worked.code, 0, "not those of the commit that the worktree has: {worked}");
}
