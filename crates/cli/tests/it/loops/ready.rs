//! Is what cannot work said before anything is created or paid for, and are the right checks run?

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::{Repository, goes_on_until, is_over, run_of, sessions, simple, simple_ones, state, steer};
use crate::sandbox::Sandbox;
use crate::waiting::wait_until;

/// A repository on a machine without any coding agent.
fn without_agents() -> Repository {
    let repository = Repository::with(&simple_ones(1));
    fs::remove_dir_all(repository.sandbox.path(".maestro")).unwrap();
    repository.commit_all();
    let path = format!("{}:/usr/bin:/bin", repository.sandbox.path("~/bin").display());
    Repository { sandbox: repository.sandbox.with_variable("PATH", &path) }
}

/// Puts a program on the `PATH` of such a machine.
fn install(sandbox: &Sandbox, name: &str, text: &str) {
    sandbox.write(&format!("~/bin/{name}"), format!("#!/bin/sh\n{text}\n"));
    fs::set_permissions(sandbox.path(&format!("~/bin/{name}")), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Asserts that nothing was created.
fn assert_untouched(repository: &Repository) {
    assert!(!repository.sandbox.path(".maestro").exists(), "the project is as it was");
    assert!(!repository.sandbox.path("~/.maestro/maestro.db").exists(), "there is no database");
}

#[test]
fn without_an_agent_nothing_is_created() {
    let repository = without_agents();
    let refused = repository.sandbox.maestro("loop PLAN.md");
    assert_eq!(refused.code, 5, "{refused}");
    assert!(refused.stderr().contains("error: no coding agent found"), "{refused}");
    let named = repository.sandbox.maestro("loop PLAN.md --agent codex");
    assert!(named.code == 5 && named.stderr().contains("`codex` or `codex-acp` not found on PATH"), "{named}");
    assert_untouched(&repository);
}

#[test]
fn an_agent_that_does_not_answer_is_not_started() {
    let repository = without_agents();
    install(&repository.sandbox, "codex", "echo it is broken >&2; exit 3");
    let refused = repository.sandbox.maestro("loop PLAN.md");
    assert_eq!(refused.code, 5, "{refused}");
    assert!(refused.stderr().contains("codex exits with code 3"), "{refused}");
    assert_untouched(&repository);
}

#[test]
fn a_key_that_does_not_sign_is_found_before_the_first_commit() {
    let repository = Repository::with(&simple_ones(1));
    repository
        .sandbox
        .write("~/.gitconfig", "[user]\nname = Ada\nemail = ada@example.org\nsigningKey = x\n[gpg]\nprogram = false\n");
    repository.sandbox.write("~/.config/maestro/config.toml", "git_sign = true\n");
    let refused = repository.work("");
    assert_eq!(refused.code, 1, "{refused}");
    assert!(refused.stderr().contains("commits cannot be signed"), "{refused}");
    assert_eq!(repository.prompts().len(), 0);
}

#[test]
fn hooks_submodules_and_limits_that_do_not_bind_are_said() {
    let said = said_before("git_hooks = false\n", "--plan-cost 2");
    assert!(said.contains("note: the repository's hooks do not run (pre-commit); set `git_hooks = true`"), "{said}");
    assert!(said.contains("note: a worktree does not contain the files of submodules"), "{said}");
    assert!(said.contains("note: codex reports no cost, so `--plan-cost` can't bind"), "{said}");
    let said = said_before("git_hooks = true\n", "");
    assert!(said.contains("note: the repository's hooks run before each commit: pre-commit"), "{said}");
    assert!(!said.contains("reports no cost"), "nothing was limited: {said}");
}

/// What a loop with Codex says in a repository with a hook and a submodule.
fn said_before(config: &str, words: &str) -> String {
    let repository = without_agents();
    repository.sandbox.write("~/.config/maestro/config.toml", config);
    let hook = repository.sandbox.path(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nexit 0\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    repository.sandbox.write(".gitmodules", "");
    repository.commit_all();
    // It answers, and fails as soon as it has work.
    install(&repository.sandbox, "codex", "[ \"$1\" = --version ] && echo codex 1.0 && exit 0; exit 3");
    repository.sandbox.maestro(&format!("loop PLAN.md {words}")).stdout()
}

#[test]
fn checks_that_fail_before_any_change_are_said_and_asked_about() {
    let repository = Repository::with(&simple_ones(1));
    repository.sandbox.write("~/.config/maestro/config.toml", "verify = [\"ls f1.txt\"]\n");
    let server = repository.sandbox.serve();
    let begin = || repository.sandbox.maestro("loop PLAN.md --agent demo --no-review --detach").id();
    let run = begin();
    let asked = goes_on_until(&server, &run, |state| state["next"]["directive"]["question"] != json!(null));
    let question = &asked["next"]["directive"]["question"];
    assert!(
        question["prompt"].as_str().unwrap().contains("The checks fail before any change: `ls f1.txt`"),
        "{asked:#}"
    );
    assert_eq!(sessions(&server, &run).len(), 0, "no agent was started");
    let ticket = asked["next"]["directive"]["ticket"].as_str().unwrap();
    let answered = repository.sandbox.maestro_with(&["workflow", "answer", &run, "--ticket", ticket, "go-on"]);
    assert_eq!(answered.code, 0, "{answered}");
    assert_eq!(goes_on_until(&server, &run, is_over)["status"], "completed");

    let second = begin();
    wait_until("it asks", || state(&server, &second)["next"]["directive"]["question"] != json!(null));
    let ticket = state(&server, &second)["next"]["directive"]["ticket"].as_str().unwrap().to_owned();
    repository.sandbox.maestro_with(&["workflow", "answer", &second, "--ticket", &ticket, "stop"]);
    let stopped = goes_on_until(&server, &second, is_over);
    assert_eq!(stopped["status"], "failed", "{stopped:#}");
    let worked = repository.work("--no-review --yes");
    assert_eq!(worked.code, 0, "who said to go on is not asked again: {worked}");
    assert_eq!(repository.commits(&Repository::branch(&second)).len(), 1);
}

#[test]
fn a_run_that_waits_says_what_it_asks_and_goes_on_with_yes() {
    let repository = Repository::with(&simple_ones(1));
    repository.sandbox.write("~/.config/maestro/config.toml", "verify = [\"ls f1.txt\"]\n");
    let server = repository.sandbox.serve();
    let run = repository.begin("--no-review");
    let asked = goes_on_until(&server, &run, |state| state["state"] == "waiting");
    let question = "The checks fail before any change: `ls f1.txt` (your config.toml) exited with 2:";
    assert_eq!(asked["stateReason"], question);
    let status = repository.sandbox.maestro("loop status");
    assert!(status.stdout().contains(&format!("{question}\n  answer with")), "{status}");
    assert!(!status.stdout().contains("base-red"), "{status}");
    let events = repository.sandbox.maestro("events");
    assert!(events.stdout().contains("The checks fail before any change"), "{events}");
    assert!(repository.sandbox.maestro("").stdout().contains("The checks fail before any change"));
    let seen = repository.sandbox.path("~/seen");
    let mut follows = repository.sandbox.command();
    let mut follows = follows.args(["events", "--follow", "--since", "0"]).stdout(File::create(&seen).unwrap()).spawn();
    let is_told = || fs::read_to_string(&seen).unwrap().contains("The checks fail before any change");
    wait_until("the question is told to those who follow", is_told);
    follows.as_mut().unwrap().kill().unwrap();
    follows.unwrap().wait().unwrap();
    steer(&server, &run, "pause");
    assert!(!repository.sandbox.maestro("loop status").stdout().contains("base-red"));
    let unsure = repository.work("--no-review");
    assert!(unsure.stderr().contains(" and `maestro discard ") && unsure.stderr().contains(" --yes`"), "{unsure}");
    let worked = repository.work("--no-review --yes");
    assert_eq!(worked.code, 0, "{worked}");
    assert_eq!(repository.commits(&Repository::branch(&run)).len(), 1);
}

#[test]
fn the_gate_runs_the_checks_of_the_users_project() {
    let repository = Repository::with(&simple_ones(1));
    repository.sandbox.write(".maestro/config.toml", "verify = [\"false\"]\n");
    repository.commit_all();
    // What is committed is what the worktree has.
    let set = repository.sandbox.maestro_with(&["config", "set", "--project", "verify", "[\"true\"]"]);
    assert_eq!(set.code, 0, "{set}");
    assert_eq!(repository.sandbox.maestro("config get verify").stdout().trim(), "[\"true\"]");
    let worked = repository.sandbox.maestro("loop PLAN.md --agent demo --no-review");
    assert_eq!(worked.code, 0, "{worked}");
    assert_eq!(repository.commits(&Repository::branch(&run_of(&worked))).len(), 2);
}

#[test]
fn nobody_works_where_git_does_not_know_whose_commits_they_are() {
    let repository = Repository::with(&[simple(1)]);
    // Without this, git takes the name of the machine where that is long enough.
    repository.sandbox.write("~/.gitconfig", "[user]\nuseConfigOnly = true\n");
    let refused = repository.work("");
    assert_eq!(refused.code, 1, "{refused}");
    assert!(refused.stderr().contains("git does not know your name and e-mail address"), "{refused}");
    assert!(refused.stderr().contains("hint: run `git config --global user.name"), "{refused}");
    assert!(!repository.sandbox.path("~/.maestro/maestro.db").exists(), "nothing was started");
    let doctor = repository.sandbox.maestro("doctor").stdout();
    assert!(doctor.contains("warning[git-not-ready]: git does not know your name"), "{doctor}");
    let proposed = repository.sandbox.maestro("init --dry-run").stdout();
    assert!(proposed.contains("  git      git does not know your name"), "{proposed}");
}

#[test]
fn a_skill_that_nobody_has_is_noticed_before_an_agent_starts() {
    let repository = Repository::with(&[simple(1)]);
    let refused = repository.work("--skills plannr");
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr().contains("error: unknown skill `plannr`\nhint: did you mean `planner`?"), "{refused}");
}
