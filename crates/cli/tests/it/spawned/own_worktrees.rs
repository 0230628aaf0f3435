//! Where does a session work, and how does its work get into the project?

use std::process::Command;

use serde_json::json;

use super::{Follows, Stage, sandbox};

/// A server whose project is a git repository with a commit.
fn repository() -> Stage {
    let sandbox = sandbox(Follows::Prompt);
    sandbox.write("~/.gitconfig", "[user]\nname = Ada\nemail = ada@example.org\n");
    sandbox.write("README.md", "# Shop\n");
    let stage = Stage::of(sandbox, &[]);
    git(&stage, &["init", "--quiet", "--initial-branch=main"]);
    git(&stage, &["add", "--all"]);
    git(&stage, &["commit", "--quiet", "--message=begin"]);
    stage
}

fn git(stage: &Stage, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.env("HOME", stage.sandbox.home()).env_remove("XDG_CONFIG_HOME").current_dir(stage.sandbox.project());
    let said = command.args(words).output().unwrap();
    assert!(said.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap()
}

#[test]
fn a_session_works_in_a_worktree_of_its_own_and_its_work_is_merged() {
    let stage = repository();
    let task = stage.task("Add a file a.txt that says one");
    let spawned = stage.sandbox.maestro(&format!("session spawn --task {task} --agent demo"));
    let session = spawned.id();
    assert!(spawned.stdout().contains(&format!("works in .maestro/worktrees/{session};")), "{spawned}");
    stage.sandbox.write("other.txt", "somebody else's");
    let start = stage.settled(&session);
    assert_eq!(start["outcome"]["changedFiles"], json!(["a.txt"]), "only what it changed: {start:#}");
    assert!(!stage.sandbox.path("a.txt").exists(), "the checkout stays as it is");
    let overview = stage.sandbox.maestro("").stdout();
    assert!(overview.contains("ready: Add a file a.txt that says one (`maestro diff "), "{overview}");
    let shown = stage.sandbox.maestro(&format!("show {session}")).stdout();
    assert!(shown.contains(&format!("  work: 1 commit on maestro/{session}\n  next: `maestro diff ")), "{shown}");
    let diff = stage.sandbox.maestro(&format!("diff {session}"));
    assert!(diff.stdout().contains("+++ b/a.txt") && !diff.stdout().contains("other.txt"), "{diff}");
    let merged = stage.sandbox.maestro(&format!("merge {session}"));
    assert_eq!(merged.code, 0, "{merged}");
    assert!(stage.sandbox.path("a.txt").exists());
    assert!(stage.sandbox.maestro("").stdout().contains("nothing waits for you"));
    assert!(!stage.sandbox.maestro(&format!("show {session}")).stdout().contains("next:"));
    let log = git(&stage, &["log", "--format=%s", "main"]);
    assert!(log.contains("Add a file a.txt that says one\n"), "{log}");
    assert_eq!(git(&stage, &["branch", "--format=%(refname:short)"]), "main\n");
    assert_eq!(stage.sandbox.maestro(&format!("diff {session}")).code, 1, "its branch is gone");
}

/// The part of an id that short ids are made of.
fn random_part(id: &str) -> &str {
    id.rsplit('_').next().unwrap()
}

#[test]
fn short_ids_of_a_session_and_of_its_task_mean_its_work() {
    let stage = repository();
    let task = stage.task("Add a file a.txt that says one");
    let session = stage.spawn(&task, "");
    stage.settled(&session);
    let whole = stage.sandbox.maestro(&format!("diff {session}")).stdout();
    for id in [random_part(&session), &task, random_part(&task)] {
        let diff = stage.sandbox.maestro(&format!("diff {id}"));
        assert_eq!((diff.code, diff.stdout()), (0, whole.clone()), "{id}: {diff}");
    }
    let listed = stage.sandbox.maestro("task list --all");
    assert!(!listed.stdout().contains(&task) && listed.stdout().contains(&random_part(&task)[..4]), "{listed}");
    let projects = stage.sandbox.maestro("project list").stdout();
    assert!(!projects.contains(&stage.project) && projects.contains(&random_part(&stage.project)[..4]), "{projects}");

    stage.sandbox.write("a.txt", "two\n");
    git(&stage, &["add", "--all"]);
    git(&stage, &["commit", "--quiet", "--message=other"]);
    for words in ["", " --fix"] {
        let refused = stage.sandbox.maestro(&format!("merge {}{words}", random_part(&session)));
        let way = format!("`git merge maestro/{session}`");
        assert!(refused.code == 1 && refused.stderr().contains(&way), "{refused}");
        assert!(!refused.stderr().contains("have an agent"), "{refused}");
    }
    assert_eq!(stage.sandbox.maestro(&format!("discard {} --yes", random_part(&task))).code, 0);
}

#[test]
fn a_session_that_is_not_wanted_is_discarded_once_it_has_ended() {
    let stage = repository();
    let task = stage.task("Add a file a.txt that says one");
    let session = stage.spawn(&task, "");
    stage.settled(&session);
    let discarded = stage.sandbox.maestro(&format!("discard {session} --yes --json"));
    assert_eq!((discarded.code, &discarded.json()["session"]), (0, &json!(session)), "{discarded}");
    assert_eq!(git(&stage, &["branch", "--format=%(refname:short)"]), "main\n");
}

#[test]
fn in_place_and_without_git_it_works_in_the_checkout() {
    let stage = repository();
    let session = stage.spawn(&stage.task("Add a file a.txt that says one"), "--in-place");
    stage.settled(&session);
    assert!(stage.sandbox.path("a.txt").exists());
    let body = json!({
        "projectId": stage.project, "taskIds": [stage.task("Add a file b.txt that says two")], "agent": "demo",
        "worktree": false,
    });
    let spawned = stage.server.make("/api/sessions/spawn", &body);
    stage.settled(spawned["sessionId"].as_str().unwrap());
    assert!(stage.sandbox.path("b.txt").exists());

    let stage = Stage::prompted();
    let task = stage.task("Add a file a.txt that says one");
    let spawned = stage.sandbox.maestro(&format!("session spawn --task {task} --agent demo"));
    let notice = "not a git repository; the session works in the project's directory";
    assert!(spawned.stdout().contains(notice), "{spawned}");
    stage.settled(&spawned.id());
    assert!(stage.sandbox.path("a.txt").exists());
}
