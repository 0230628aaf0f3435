//! Do the built-ins do what they say, once, however often they are asked?

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use maestro_core::workflow::definition::BuiltinCommand;
use maestro_core::workflow::run::{CommandExit, CommandSpec, Ticket};
use maestro_engine::{ExecutionEnv, Host, HostError, Limits, TrustedCommands};
use serde_json::{Value as Json, json};

use super::{Place, executor, exited, runtime};

/// A host with these checks, at the beginning of time.
struct CheckingHost {
    checks: Vec<String>,
}

impl Host for CheckingHost {
    fn now(&self) -> i64 {
        0
    }

    fn checks(&self, _: &Path) -> Result<TrustedCommands, HostError> {
        Ok(self.checks.clone().into())
    }
}

impl Place {
    /// Makes the workspace a repository with one commit.
    pub(crate) fn repository(&self) {
        let config = "[user]\n\tname = A\n\temail = a@example.com\n[init]\n\tdefaultBranch = main\n";
        fs::write(self.path("home/.gitconfig"), config).unwrap();
        self.git(&["init", "--quiet"]);
        fs::write(self.workspace().join("a"), "first\n").unwrap();
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", "first"]);
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(arguments).current_dir(self.workspace()).env("HOME", self.path("home"));
        let output = git.output().unwrap();
        assert!(output.status.success(), "{arguments:?} {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn builtin(
        &self,
        builtin: BuiltinCommand,
        arguments: &[(&str, &str)],
        ticket: &str,
        checks: &[&str],
    ) -> CommandExit {
        let checks = checks.iter().map(|check| (*check).to_owned()).collect();
        let machine = Arc::new(self.machine(CheckingHost { checks }));
        let env = ExecutionEnv { machine, ..self.env() };
        let arguments = arguments.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let order = CommandSpec::Builtin { builtin, arguments };
        let executor = executor(env);
        runtime().block_on(executor.execute(&order, &Ticket::quoted(ticket), Limits::default())).finish
    }

    /// What a built-in answers that goes well.
    pub(crate) fn done(&self, builtin: BuiltinCommand, arguments: &[(&str, &str)], ticket: &str) -> Json {
        match self.builtin(builtin, arguments, ticket, &[]) {
            CommandExit::Exited { code: 0, output } => serde_json::from_str(&output).unwrap(),
            other => panic!("{builtin:?}: {other:?}"),
        }
    }

    pub(crate) fn failed(&self, builtin: BuiltinCommand, arguments: &[(&str, &str)]) -> String {
        match self.builtin(builtin, arguments, "t#1.n", &[]) {
            CommandExit::Failed(reason) => reason,
            other => panic!("{builtin:?}: {other:?}"),
        }
    }
}

#[test]
fn what_changed_is_committed_once_for_each_ticket() {
    let place = Place::new();
    place.repository();
    // A hook of the repository's is never run.
    let hook = place.workspace().join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\ntouch \"$PWD/hooked\"\nexit 1\n").unwrap();
    Command::new("chmod").arg("+x").arg(&hook).status().unwrap();
    let commit = |ticket: &str| place.done(BuiltinCommand::GitCommit, &[("message", "Change\n\nWhy: because")], ticket);

    let nothing = commit("c#1.a");
    assert_eq!(nothing["changed"], json!(false));
    fs::write(place.workspace().join("b"), "new\n").unwrap();
    let made = commit("c#1.a");
    assert_eq!(made["changed"], json!(true));
    assert_eq!(place.git(&["log", "-1", "--format=%(trailers:key=Maestro-Task,valueonly)"]), "run-1/c#1.a");
    // A crash right after it: the same visit makes no other commit, whatever changed since.
    fs::write(place.workspace().join("c"), "later\n").unwrap();
    assert_eq!(commit("c#1.a"), json!({ "commit": made["commit"], "changed": false, "left": "" }));
    assert_eq!(commit("c#2.b")["changed"], json!(true));
    assert_eq!(place.git(&["rev-list", "--count", "HEAD"]), "3");
    assert!(!place.workspace().join("hooked").exists());
    assert_eq!(place.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_diff_shows_what_changed_and_what_is_new() {
    let place = Place::new();
    place.repository();
    fs::write(place.workspace().join("a"), "second\n").unwrap();
    fs::write(place.workspace().join("ü b"), "").unwrap();
    let CommandExit::Exited { code: 0, output } = place.builtin(BuiltinCommand::GitDiff, &[], "t#1.n", &[]) else {
        panic!()
    };
    assert!(output.contains("-first\n+second\n") && output.ends_with("new and not known to git: ü b\n"), "{output}");
    assert_eq!(place.failed(BuiltinCommand::GitDiff, &[("base", "--output=owned")]), "git knows no `--output=owned`");
    assert!(!place.workspace().join("owned").exists());
}

#[test]
fn without_a_repository_git_says_so() {
    let place = Place::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let executor = executor(ExecutionEnv { workspace: elsewhere.path().to_owned(), ..place.env() });
    for builtin in [BuiltinCommand::GitDiff, BuiltinCommand::GitCommit, BuiltinCommand::WorktreeOpen] {
        let arguments = ["message", "name"].map(|name| (name.to_owned(), "x".to_owned()));
        let order = CommandSpec::Builtin { builtin, arguments: arguments.into() };
        let ticket = Ticket::quoted("t#1.n");
        let finish = runtime().block_on(executor.execute(&order, &ticket, Limits::default())).finish;
        assert!(
            matches!(&finish, CommandExit::Failed(reason) if reason.contains("not a git repository")),
            "{finish:?}"
        );
    }
}

#[test]
fn a_worktree_is_opened_merged_and_closed_as_often_as_asked() {
    let place = Place::new();
    place.repository();
    let open = || place.done(BuiltinCommand::WorktreeOpen, &[("name", "task-1")], "o#1.a");
    let path = place.workspace().join(".maestro/worktrees/task-1");
    let expected = |changed: bool| json!({ "path": path, "branch": "maestro/task-1", "changed": changed });
    let opened = |changed: bool| {
        let mut opened = expected(changed);
        opened["copied"] = json!(0);
        opened["left_out"] = json!("");
        opened
    };
    assert_eq!((open(), open()), (opened(true), opened(false)));
    assert_eq!(place.git(&["status", "--porcelain"]), "", "worktrees are not part of the project");

    fs::write(path.join("a"), "theirs\n").unwrap();
    let close = || place.builtin(BuiltinCommand::WorktreeClose, &[("name", "task-1")], "x#1.a", &[]);
    assert!(matches!(close(), CommandExit::Failed(reason) if reason.contains("contains modified or untracked files")));
    let commit = [("message", "theirs"), ("in", path.to_str().unwrap())];
    place.done(BuiltinCommand::GitCommit, &commit, "c#1.a");
    let merge = || place.done(BuiltinCommand::GitMerge, &[("branch", "maestro/task-1")], "m#1.a")["changed"].clone();
    assert_eq!((merge(), merge()), (json!(true), json!(false)));
    assert_eq!(fs::read_to_string(place.workspace().join("a")).unwrap(), "theirs\n");
    let closed = |changed: bool| exited(0, &expected(changed).to_string());
    assert_eq!((close(), close()), (closed(true), closed(false)));
    // What is gone by hand is opened again, on the branch that stayed.
    open();
    fs::remove_dir_all(&path).unwrap();
    assert_eq!(open(), opened(true));
    for name in ["../up", "-x", ".hidden", "a/b", "a..b", "x.lock", ""] {
        assert!(place.failed(BuiltinCommand::WorktreeOpen, &[("name", name)]).contains("name"), "{name}");
    }
}

#[test]
fn a_worktree_that_is_not_what_it_was_is_told_of_and_left_alone() {
    let place = Place::new();
    fs::write(place.path("home/.gitconfig"), "[user]\n\tname = A\n\temail = a@example.com\n").unwrap();
    place.git(&["init", "--quiet"]);
    let open = [("name", "task-1")];
    assert!(place.failed(BuiltinCommand::WorktreeOpen, &open).contains("this repository has no commits"));
    place.repository();
    // What is not committed yet is no obstacle.
    fs::write(place.workspace().join("a"), "dirty\n").unwrap();
    let path = place.workspace().join(".maestro/worktrees/task-1");
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("somebodys"), "").unwrap();
    assert!(
        place
            .failed(BuiltinCommand::WorktreeOpen, &open)
            .contains("is not a worktree of this repository; move it away")
    );
    assert!(path.join("somebodys").exists());
    fs::remove_dir_all(&path).unwrap();
    place.done(BuiltinCommand::WorktreeOpen, &open, "o#1.a");
    // What is checked out is decided by the repository, and not by what lies in the worktree.
    place.git(&["-C", path.to_str().unwrap(), "switch", "--quiet", "-c", "mine"]);
    fs::write(path.join("a"), "theirs\n").unwrap();
    let there = [("in", path.to_str().unwrap()), ("message", "x")];
    assert_eq!(place.done(BuiltinCommand::GitCommit, &there, "c#1.a")["changed"], json!(true));
    assert_eq!(place.git(&["show", "maestro/task-1:a"]), "theirs");
    place.git(&["--git-dir=.git/worktrees/task-1", "symbolic-ref", "HEAD", "refs/heads/mine"]);
    for (builtin, arguments) in [
        (BuiltinCommand::WorktreeOpen, &open[..]),
        (BuiltinCommand::WorktreeSetup, &there[..1]),
        (BuiltinCommand::GitCommit, &there),
    ] {
        let said = place.failed(builtin, arguments);
        assert!(
            said.contains("is on `mine` now") && said.contains("symbolic-ref HEAD refs/heads/maestro/task-1"),
            "{builtin:?}: {said}"
        );
    }
    fs::remove_dir_all(&path).unwrap();
    let said = place.failed(BuiltinCommand::GitCommit, &[("in", ".maestro/worktrees/task-1"), ("message", "x")]);
    assert!(said.contains("is gone") && said.contains("git worktree add"), "{said}");
}

#[test]
fn a_merge_puts_nothing_in_place_of_what_git_ignores() {
    let place = Place::new();
    place.repository();
    fs::write(place.workspace().join(".gitignore"), "*.env\n").unwrap();
    place.git(&["add", "--all"]);
    place.git(&["commit", "--quiet", "-m", "ignore"]);
    place.git(&["checkout", "--quiet", "-b", "other"]);
    fs::write(place.workspace().join("x.env"), "theirs\n").unwrap();
    fs::create_dir(place.workspace().join("y.env")).unwrap();
    // One is new, one was there by another name, and one is below what is a file here.
    place.git(&["mv", "a", "z.env"]);
    fs::write(place.workspace().join("y.env/deep"), "theirs\n").unwrap();
    place.git(&["add", "--force", "--all"]);
    place.git(&["commit", "--quiet", "-m", "theirs"]);
    place.git(&["checkout", "--quiet", "main"]);
    for name in ["x.env", "y.env", "z.env"] {
        let own = place.workspace().join(name);
        fs::write(&own, "mine\n").unwrap();
        let said = place.failed(BuiltinCommand::GitMerge, &[("branch", "other")]);
        assert!(said.contains(&format!("would overwrite files here that git does not track: {name};")), "{said}");
        assert_eq!(fs::read_to_string(&own).unwrap(), "mine\n");
        fs::remove_file(&own).unwrap();
    }
    assert_eq!(place.done(BuiltinCommand::GitMerge, &[("branch", "other")], "m#1.a")["changed"], json!(true));
    assert_eq!(place.git(&["status", "--porcelain"]), "");
    assert!(!place.workspace().join("a").exists());
}

#[test]
fn a_merge_that_contradicts_leaves_everything_as_it_was() {
    let place = Place::new();
    place.repository();
    place.git(&["checkout", "--quiet", "-b", "other"]);
    fs::write(place.workspace().join("a"), "other\n").unwrap();
    place.git(&["commit", "--quiet", "--all", "-m", "other"]);
    place.git(&["checkout", "--quiet", "main"]);
    fs::write(place.workspace().join("a"), "main\n").unwrap();
    place.git(&["commit", "--quiet", "--all", "-m", "main"]);
    let reason = "merge conflict with `other` in a";
    assert_eq!(place.failed(BuiltinCommand::GitMerge, &[("branch", "other")]), reason);
    assert_eq!(place.git(&["status", "--porcelain"]), "");
    // A merge of the user's own is left to the user.
    Command::new("git").args(["merge", "other"]).current_dir(place.workspace()).output().unwrap();
    let left = place.done(BuiltinCommand::GitCommit, &[("message", "x")], "c#1.a");
    assert_eq!((&left["commit"], &left["left"]), (&Json::Null, &json!("a merge has unresolved conflicts")));
    let said = place.failed(BuiltinCommand::GitMerge, &[("branch", "other")]);
    assert_eq!(said, "a merge is in progress here; finish or abort it first");
    assert_eq!(place.git(&["status", "--porcelain"]), "UU a");
}

#[test]
fn a_merge_moves_the_branch_only_if_the_checks_pass_on_the_merged_tree() {
    let place = Place::new();
    place.repository();
    let add = |name: &str| {
        fs::write(place.workspace().join(name), name).unwrap();
        place.git(&["add", name]);
        place.git(&["commit", "--quiet", "-m", name]);
    };
    place.git(&["checkout", "--quiet", "-b", "other"]);
    add("theirs");
    place.git(&["checkout", "--quiet", "main"]);
    add("ours");
    let before = (place.git(&["for-each-ref"]), place.git(&["rev-parse", "HEAD"]));
    let merge = |check: &str| place.builtin(BuiltinCommand::GitMerge, &[("branch", "other")], "m#1.a", &[check]);
    let red = merge("ls ours theirs absent");
    assert!(matches!(&red, CommandExit::Failed(reason) if reason.contains("the checks fail on the merge")), "{red:?}");
    assert_eq!((place.git(&["for-each-ref"]), place.git(&["rev-parse", "HEAD"])), before);
    assert!(!place.workspace().join("theirs").exists());
    let green = merge("ls ours theirs");
    assert!(matches!(&green, CommandExit::Exited { code: 0, .. }), "{green:?}");
    assert!(place.workspace().join("theirs").exists());
    assert!(!place.git(&["for-each-ref"]).contains("merge-"), "nothing is left of the check");
}

#[test]
fn checks_are_run_one_after_the_other_until_one_fails() {
    let place = Place::new();
    let verify = |checks: &[&str]| place.builtin(BuiltinCommand::Verify, &[], "v#1.a", checks);
    assert!(matches!(verify(&[]), CommandExit::Failed(reason) if reason.starts_with("no checks are configured; ")));
    let green = verify(&["true", "touch 'a b'"]);
    let CommandExit::Exited { code: 0, output } = &green else { panic!("{green:?}") };
    let said: Json = serde_json::from_str(output).unwrap();
    assert_eq!(said["checks"], json!(["true", "touch 'a b'"]));
    let told = said["told"].as_str().unwrap();
    assert!(told.starts_with("`true` ") && told.contains(" s, `touch 'a b'` "), "each with its duration: {told}");
    assert!(place.workspace().join("a b").exists());
    let red = verify(&["true", "ls no-such-file", "touch never"]);
    assert!(
        matches!(&red, CommandExit::Failed(reason)
        if reason.starts_with("`ls no-such-file` exited with 2:\n") && reason.contains("No such file")),
        "{red:?}"
    );
    assert!(!place.workspace().join("never").exists());
    assert_eq!(
        verify(&["no-such-program"]),
        CommandExit::Failed("`no-such-program`: `no-such-program` not found on PATH".into())
    );
}

#[test]
fn what_reads_reads_the_workspace_only() {
    let place = Place::new();
    fs::write(place.workspace().join("PLAN.md"), "# Plan\n\n- [x] a\n- [ ] b with `rust`\n").unwrap();
    let next = place.done(BuiltinCommand::PlanNext, &[("plan", "PLAN.md")], "p#1.a");
    assert_eq!(
        (&next["label"], &next["line_number"], &next["done"]),
        (&json!("b with `rust`"), &json!(4), &json!(false))
    );
    let tick = [("plan", "PLAN.md"), ("line", "4"), ("text", "b with `rust`")];
    assert_eq!(place.done(BuiltinCommand::PlanTick, &tick, "p#1.a")["changed"], json!(true));
    assert_eq!(place.done(BuiltinCommand::PlanNext, &[("plan", "PLAN.md")], "p#1.a")["done"], json!(true));
    let text = |builtin, arguments: &[(&str, &str)]| place.builtin(builtin, arguments, "t#1.n", &[]);
    assert_eq!(text(BuiltinCommand::Now, &[]), exited(0, "1970-01-01T00:00:00Z"));
    assert_eq!(text(BuiltinCommand::Exists, &[("path", "PLAN.md")]), exited(0, "true"));
    assert_eq!(text(BuiltinCommand::Glob, &[("pattern", "*")]), exited(0, "PLAN.md"));
    assert_eq!(place.failed(BuiltinCommand::ReadFile, &[("path", "../home")]), "`../home` lies outside the workspace");
    assert_eq!(place.failed(BuiltinCommand::ReadFile, &[]), "`read_file` needs `path`");
    assert_eq!(place.failed(BuiltinCommand::SkillsSelect, &[("task", "x")]), "no skills here");
}

/// A host whose clock waits until the runtime has done something else.
struct WaitingHost {
    heartbeat: Mutex<mpsc::Receiver<()>>,
}

impl Host for WaitingHost {
    fn now(&self) -> i64 {
        self.heartbeat.lock().unwrap().recv_timeout(Duration::from_mins(1)).expect("the runtime goes on");
        0
    }
}

#[test]
fn a_built_in_that_waits_does_not_hold_up_the_runtime() {
    let place = Place::new();
    let (beat, heartbeat) = mpsc::channel();
    let machine = Arc::new(place.machine(WaitingHost { heartbeat: Mutex::new(heartbeat) }));
    let executor = executor(ExecutionEnv { machine, ..place.env() });
    let order = CommandSpec::Builtin { builtin: BuiltinCommand::Now, arguments: [].into() };
    let ticket = Ticket::quoted("t#1.n");
    let (executed, ()) = runtime().block_on(async {
        tokio::join!(executor.execute(&order, &ticket, Limits::default()), async { beat.send(()).unwrap() })
    });
    assert_eq!(executed.finish, exited(0, "1970-01-01T00:00:00Z"));
}
