//! Where can a program write? Skipped with a notice where the kernel has no landlock.

use std::fs;

use maestro_core::workflow::run::CommandExit;
use maestro_engine::Limits;
use maestro_engine::sandbox::{SandboxGap, SandboxReport, WritePolicy};

use super::{Place, exited, program, shell};

/// Whether the kernel keeps programs in bounds here.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn confined(place: &Place) -> bool {
    let executed = place.execute(&shell(":", &[]), Limits::default());
    assert_eq!(executed.finish, exited(0, ""));
    let confined = executed.sandbox.as_ref().is_some_and(SandboxReport::limits_writes);
    if !confined {
        eprintln!("skipped: this kernel confines nothing ({:?})", executed.sandbox);
    }
    confined
}

fn write_to(place: &Place, path: &str) -> bool {
    let path = place.path(path);
    let finish = place.execute(&shell("echo x > \"$TO\"", &[("TO", &path.display().to_string())]), Limits::default());
    matches!(finish.finish, CommandExit::Exited { code: 0, .. }) && path.exists()
}

/// Whether what is beside the workspace is among the temporary files that all programs share here.
fn is_temporary(place: &Place) -> bool {
    let outside = place.path("outside");
    let writable = WritePolicy::default_policy(&place.workspace(), None).writable;
    let shares = place.execute(&shell(":", &[]), Limits::default()).sandbox.unwrap();
    shares.gaps.contains(&SandboxGap::TemporaryFiles)
        && writable.iter().filter_map(|path| path.canonicalize().ok()).any(|path| outside.starts_with(path))
}

#[test]
fn a_program_writes_to_its_workspace_and_nowhere_else() {
    let place = Place::new();
    if !confined(&place) {
        return;
    }
    fs::write(place.path("outside/there"), "untouched").unwrap();
    fs::write(place.home().join("maestro.db"), "data").unwrap();
    assert!(write_to(&place, "work/inside"));
    assert_eq!(place.shell("echo x > \"$TMPDIR/temporary\""), exited(0, ""));
    let temporary = is_temporary(&place);
    assert_eq!(write_to(&place, "outside/new"), temporary);
    assert_eq!(write_to(&place, "outside/there"), temporary);
    assert!(!write_to(&place, "home/.maestro/new"));
    assert!(!write_to(&place, "home/.maestro/maestro.db"));
    assert_eq!(place.shell("echo x > /dev/null"), exited(0, ""));
    for attempt in [
        "cat ../home/.maestro/maestro.db",
        "rm -rf ../home/.maestro/bin",
        "ln ../home/.maestro/maestro.db stolen && echo x > stolen",
        "ln -s ../home/.maestro link && echo x > link/maestro.db",
        "mv ../home/.maestro moved",
        ": > ../home/.maestro/maestro.db",
        "(setsid sh -c 'echo x > ../home/.maestro/new') && [ -e ../home/.maestro/new ]",
    ] {
        let finish = place.shell(attempt);
        assert!(!matches!(finish, CommandExit::Exited { code: 0, .. }), "{attempt}: {finish:?}");
    }
    assert_eq!(fs::read_to_string(place.home().join("maestro.db")).unwrap(), "data");
}

#[test]
fn our_own_program_reaches_our_data() {
    let place = Place::new();
    let database = place.home().join("maestro.db");
    let write = program("maestro", &["write", database.to_str().unwrap()]);
    assert_eq!(place.execute(&write, Limits::default()).finish, exited(0, ""));
    assert!(database.exists());
}

#[test]
fn the_repository_of_a_linked_workspace_is_out_of_reach() {
    let place = Place::new();
    if !confined(&place) || is_temporary(&place) {
        return;
    }
    let git = |dir: &str, args: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
        let done = std::process::Command::new("git").args(identity).args(args).current_dir(place.path(dir)).output();
        assert!(done.as_ref().unwrap().status.success(), "{args:?} {done:?}");
    };
    git("outside", &["init", "-q"]);
    git("outside", &["commit", "-q", "--allow-empty", "-m", "first"]);
    fs::remove_dir(place.workspace()).unwrap();
    git("outside", &["worktree", "add", "-q", "../work"]);
    assert!(matches!(place.shell("git log --format=%s"), CommandExit::Exited { code: 0, .. }));
    for attempt in ["echo x > file; git add file", "git commit --allow-empty -m x", "git branch other"] {
        let finish = place.shell(attempt);
        assert!(!matches!(finish, CommandExit::Exited { code: 0, .. }), "{attempt}: {finish:?}");
    }
    for file in ["config", "hooks/pre-commit", "refs/heads/x", "worktrees/work/HEAD", "../new"] {
        let to = place.path("outside/.git").join(file).display().to_string();
        let finish = place.execute(&shell("echo x >> \"$TO\"", &[("TO", &to)]), Limits::default()).finish;
        assert!(!matches!(finish, CommandExit::Exited { code: 0, .. }), "{file}: {finish:?}");
    }
}
