//! Is what cannot be begun refused before there is a run, a worktree or a branch?

use insta::assert_snapshot;
use serde_json::json;

use super::{ON, PLAN, git, repository};
use crate::sandbox::{Output, Sandbox};

/// Tries to work through a plan, which is refused and leaves nothing.
fn refused(sandbox: &Sandbox, words: &str) -> Output {
    // Our git looks at a repository through a directory of its own.
    let ours = sandbox.path(".git/maestro");
    let files = || {
        let tree = sandbox.tree();
        tree.keys().filter(|path| path.starts_with(sandbox.project()) && !path.starts_with(&ours)).count()
    };
    let before = files();
    let output = sandbox.maestro(&format!("loop {words}"));
    assert_ne!(output.code, 0, "{output}");
    assert_eq!(git(sandbox, &["branch", "--format=%(refname:short)"]), "main\n");
    assert_eq!(sandbox.maestro("loop status --json").json(), json!([]), "{output}");
    assert_eq!(before, files(), "{output}");
    output
}

#[test]
fn a_plan_whose_changes_are_not_committed_is_not_in_the_worktree() {
    let sandbox = repository(&[("PLAN.md", PLAN)]);
    sandbox.write("PLAN.md", format!("{PLAN}- [ ] Add a file c.txt that says three\n"));
    assert_snapshot!(refused(&sandbox, "PLAN.md --agent demo"), @"
    $ maestro loop PLAN.md --agent demo
    --- stderr
    error: PLAN.md has uncommitted changes, and a worktree only has the last commit
    hint: commit them with `git add PLAN.md && git commit`, or stash them with `git stash`
    --- exit 1
    ");
    git(&sandbox, &["add", "PLAN.md"]);
    assert!(refused(&sandbox, "PLAN.md --agent demo").stderr().contains("uncommitted changes"));
    // One that was never committed is not there either, once git knows of it.
    git(&sandbox, &["reset", "--quiet", "--hard"]);
    sandbox.write("NEW.md", PLAN);
    git(&sandbox, &["add", "NEW.md"]);
    assert!(refused(&sandbox, "NEW.md --agent demo").stderr().contains("NEW.md has uncommitted changes"));
    git(&sandbox, &["reset", "--quiet"]);
    let worked = sandbox.maestro("loop NEW.md --agent demo --no-review");
    assert_eq!(worked.code, 0, "one that git does not know is read where it is: {worked}");
}

#[test]
fn what_is_no_plan_and_who_is_no_agent_is_said_at_once() {
    let sandbox = repository(&[("PLAN.md", PLAN), (".maestro/config.toml", ON)]);
    sandbox.write("binary", [0xff, 0xfe, 0x00]);
    sandbox.write("large.md", "- [ ] x\n".repeat(2 * 1024 * 1024 + 1));
    git(&sandbox, &["add", "--all"]);
    git(&sandbox, &["commit", "--quiet", "--message", "more"]);
    for (words, said) in [
        (".", "is a directory, not a plan"),
        ("binary", "is not UTF-8 text"),
        ("large.md", "is larger than 16 MiB"),
        ("PLAN.md --agent dmeo", "unknown agent `dmeo`"),
        ("PLAN.md --agent demo --reviewer nobody", "unknown agent `nobody`"),
        ("PLAN.md --agent demo --detach", "no server running to continue the work"),
    ] {
        let output = refused(&sandbox, words);
        assert!(output.stderr().contains(said), "{words}: {output}");
    }
}
