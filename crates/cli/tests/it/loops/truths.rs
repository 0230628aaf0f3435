//! Is a task done as its commit and its box say?

use std::fs;

use super::{Repository, run_of};

#[test]
fn an_agents_own_commits_are_folded_into_the_tasks_and_seen_by_the_reviewer() {
    let repository = Repository::with(&[]);
    let commits = "echo x > a.txt; git add a.txt; git commit --quiet --message 'Write a'; echo y > b.txt\n";
    let task = repository.script("commits", commits);
    let looks = "cat > $TMPDIR/prompt; git status --short > HOME/seen\n\
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
    assert_eq!(seen, "?? a.txt\n?? b.txt\n", "what was committed is work to be reviewed");
    let branch = Repository::branch(&run_of(&worked));
    let mut commits = repository.commits(&branch);
    let made = commits.pop().unwrap();
    assert_eq!(
        (made.subject.as_str(), made.files),
        (task.as_str(), ["PLAN.md", "a.txt", "b.txt"].map(str::to_owned).into())
    );
    assert_eq!(commits.pop().unwrap().subject, "begin", "there is one commit of the task");
    let message = repository.git(&["log", "-1", "--format=%B", &branch]);
    assert!(message.contains("\n\nWrite a\n\nMaestro-Task: "), "the agent's own message is kept: {message}");
}

/// A repository with a task, which an agent does in the user's files by a script, and where it can commit.
fn in_place(script: &str) -> (Repository, String) {
    let repository = Repository::with(&[]);
    fs::create_dir_all(repository.sandbox.path(".git/hooks")).unwrap();
    let task = repository.script("works", script);
    repository.write_plan("PLAN.md", std::slice::from_ref(&task));
    repository.commit_all();
    (repository, task)
}

#[test]
fn in_place_an_agents_commits_stay_and_are_reviewed_with_the_rest() {
    let (repository, task) =
        in_place("echo x > a.txt; git add a.txt; git commit --quiet --message 'Write a'; echo y > b.txt\n");
    let start = repository.git(&["rev-parse", "HEAD"]);
    let worked = repository.work("--in-place");
    assert_eq!(worked.code, 0, "{worked}");
    let prompts = repository.prompts();
    let review = prompts.last().unwrap();
    assert!(review.contains(&format!("## since\n\n{start}")), "{review}");
    assert!(!review.contains("## unchanged"), "what is committed is a change: {review}");
    let subjects = repository.git(&["log", "--format=%s", &format!("{}..main", start.trim())]);
    assert_eq!(subjects, format!("{task}\nWrite a\n"), "the user may have committed, too, so nothing is rewritten");
    let message = repository.git(&["log", "-1", "--format=%b", "main"]);
    assert!(message.starts_with("Committed while it was done:\n- "), "{message}");
    assert!(message.contains(" Write a\n\nMaestro-Task: "), "{message}");
}

#[test]
fn in_place_another_branch_is_a_finding_for_the_agent() {
    let script = "if [ -e HOME/first ]; then git switch --quiet main; else touch HOME/first; git switch --quiet --create other; fi\n\
                  echo x >> a.txt\n";
    let (repository, task) = in_place(script);
    let worked = repository.work("--in-place --no-review");
    assert_eq!(worked.code, 0, "{worked}");
    let prompts = repository.prompts();
    assert!(prompts.last().unwrap().contains("The branch `main` is not checked out any more."), "{prompts:#?}");
    let made = repository.commits("main").pop().unwrap();
    assert_eq!((made.subject, made.files), (task, vec!["PLAN.md".to_owned(), "a.txt".to_owned()]));
    assert_eq!(repository.git(&["rev-parse", "other"]), repository.git(&["rev-parse", "main~1"]));
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

#[test]
fn what_an_agent_reports_reaches_the_reviewer_and_whoever_continues_its_work() {
    let repository = Repository::with(&["Add a file f1.txt that says it fails its first review".to_owned()]);
    let worked = repository.work("");
    assert_eq!(worked.code, 0, "{worked}");
    let prompts = repository.prompts();
    let [first, review, again, last] = prompts.as_slice() else { panic!("{} prompts", prompts.len()) };
    let part = |prompt: &str, name: &str| {
        let text = prompt.split_once(&format!("\n## {name}\n\n"))?.1;
        Some(text.split("\n\n").next().unwrap_or_default().to_owned())
    };
    assert_eq!((part(first, "reported_before"), part(first, "findings")), (None, None));
    let reported = part(review, "reported").unwrap();
    assert!(!reported.is_empty() && part(review, "found_before").is_none(), "{review}");
    assert_eq!(part(again, "reported_before").as_ref(), Some(&reported), "{again}");
    assert_eq!(part(last, "found_before"), part(again, "findings"), "{last}");
    assert!(part(last, "reported").is_some(), "{last}");
}
