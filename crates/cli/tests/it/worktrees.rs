//! Can work begin in a loop's worktree, and what becomes of it: shown, merged, proposed or discarded?

mod checked_merges;
mod merging;
mod proposals;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use crate::sandbox::{Output, Sandbox};

/// A repository with a plan whose only task adds a file.
struct Shop {
    sandbox: Sandbox,
}

impl Shop {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        // Programs of the sandbox come before those of this machine.
        let path = format!("{}:{}", sandbox.home().join("bin").display(), std::env::var("PATH").unwrap());
        let shop = Self { sandbox: sandbox.with_variable("PATH", &path) };
        let config = "[user]\n\tname = A\n\temail = a@example.com\n[init]\n\tdefaultBranch = main\n";
        shop.sandbox.write("~/.gitconfig", config);
        shop.sandbox.write("PLAN.md", "# Plan\n\n- [ ] Add a file made.txt that says made\n");
        shop.sandbox.write(".gitignore", ".env\nkept/\n.maestro/config.toml\n");
        shop.git(&["init", "--quiet"]);
        shop.git(&["add", "--all"]);
        shop.git(&["commit", "--quiet", "-m", "first"]);
        shop
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(arguments).current_dir(self.sandbox.project()).env("HOME", self.sandbox.home());
        let output = git.output().unwrap();
        assert!(output.status.success(), "{arguments:?} {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Works through the plan without a review, and returns the run and what was printed.
    fn worked(&self, words: &str) -> (String, Output) {
        let output = self.sandbox.maestro(&format!("loop PLAN.md --agent demo --no-review {words}"));
        let runs = self.sandbox.maestro("loop status --json").json();
        (runs.as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned(), output)
    }

    fn tree(&self, run: &str) -> PathBuf {
        self.sandbox.path(&format!(".maestro/worktrees/loop-{run}"))
    }
}

#[test]
fn a_worktree_gets_the_ignored_files_that_are_named_and_is_made_ready() {
    let shop = Shop::new();
    shop.sandbox.write(".env", "KEY=1\n");
    shop.sandbox.write("kept/deep/a", "a\n");
    shop.sandbox.write("notes", "not ignored\n");
    shop.sandbox.write(".worktreeinclude", "# local\n.env\nnotes\n");
    shop.sandbox.write(".maestro/config.toml", "worktree_copy = [\"kept/\"]\nworktree_setup = [\"cp .env ready\"]\n");

    // The config is not committed either, and its checks count in the worktree all the same.
    let config = fs::read_to_string(shop.sandbox.path(".maestro/config.toml")).unwrap();
    shop.sandbox.write(
        ".maestro/config.toml",
        format!(
            "{config}verify = [\"ls ready\", \"mkdir -p tests/__pycache__\", \
         \"cp ready tests/__pycache__/a.pyc\"]\n"
        ),
    );
    assert_eq!(shop.sandbox.maestro("trust --config --yes").code, 0);
    let (run, output) = shop.worked("");
    assert_eq!(output.code, 0, "{output}");
    let tree = shop.tree(&run);
    assert_eq!(fs::read_to_string(tree.join("ready")).unwrap(), "KEY=1\n");
    assert_eq!(fs::read_to_string(tree.join("kept/deep/a")).unwrap(), "a\n");
    assert!(!tree.join("notes").exists());
    let log = shop.sandbox.maestro(&format!("workflow log {run} --json")).stdout();
    assert!(log.contains("notes: git does not ignore it"), "{log}");
    let exclude = fs::read_to_string(shop.sandbox.path(".git/info/exclude")).unwrap();
    assert!(exclude.contains(".maestro/worktrees/\n") && exclude.contains(".aider*\n"), "{exclude}");
    // Neither secrets, nor our own places, nor what checks leave behind are committed.
    assert!(tree.join("tests/__pycache__/a.pyc").exists());
    let committed = shop.git(&["ls-tree", "-r", "--name-only", &format!("maestro/loop-{run}")]);
    assert_eq!(committed, ".gitignore\nPLAN.md\nmade.txt\nready");
}

#[test]
fn commits_are_signed_by_the_users_setting_and_with_the_users_program() {
    let shop = Shop::new();
    let signer = "#!/bin/sh\ncat > /dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\necho signed-by-the-user\n";
    let evil = format!("#!/bin/sh\ntouch {}\n", shop.sandbox.path("~/ran").display());
    for (name, text) in [("~/signer", signer), ("~/evil", &evil)] {
        shop.sandbox.write(name, text);
        fs::set_permissions(shop.sandbox.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = |name: &str| shop.sandbox.path(name).display().to_string();
    shop.git(&["config", "--global", "user.signingKey", "ada"]);
    shop.git(&["config", "--global", "gpg.program", &path("~/signer")]);
    shop.git(&["config", "gpg.program", &path("~/evil")]);
    let (run, output) = shop.worked("");
    assert_eq!(output.code, 0, "{output}");
    let commit = |run: &str| shop.git(&["cat-file", "commit", &format!("maestro/loop-{run}")]);
    assert!(!commit(&run).contains("gpgsig"), "only where it is set");
    assert_eq!(shop.sandbox.maestro(&format!("discard {run} --yes")).code, 0);

    shop.sandbox.write("~/.config/maestro/config.toml", "git_sign = true\n");
    let (run, output) = shop.worked("");
    assert_eq!(output.code, 0, "{output}");
    assert!(commit(&run).contains("gpgsig signed-by-the-user"), "{}", commit(&run));
    assert!(!shop.sandbox.path("~/ran").exists(), "the repository names no program for it");
}

#[test]
fn showing_merging_and_discarding_run_nothing_that_the_repository_names() {
    let shop = Shop::new();
    let runs = [shop.worked("").0, shop.worked("").0];
    let evil = format!("#!/bin/sh\necho $0 >> {}\ncat\n", shop.sandbox.path("~/ran").display());
    let hooks = ["post-merge", "post-checkout", "reference-transaction", "post-index-change", "pre-merge-commit"];
    for name in hooks.map(|name| format!(".git/hooks/{name}")).into_iter().chain(["~/evil".to_owned()]) {
        shop.sandbox.write(&name, &evil);
        fs::set_permissions(shop.sandbox.path(&name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let program = shop.sandbox.path("~/evil").display().to_string();
    shop.sandbox.write(".git/info/attributes", "*.txt diff=own merge=own\n");
    for name in
        ["core.fsmonitor", "core.pager", "diff.external", "diff.own.textconv", "merge.own.driver", "gpg.program"]
    {
        shop.git(&["config", name, &program]);
    }
    shop.git(&["config", "commit.gpgSign", "true"]);
    for command in [format!("diff {}", runs[0]), format!("merge {}", runs[0]), format!("discard {} --yes", runs[1])] {
        let done = shop.sandbox.maestro(&command);
        assert_eq!(done.code, 0, "{done}");
        assert!(!shop.sandbox.path("~/ran").exists(), "{command}");
    }
    assert!(shop.sandbox.path("made.txt").exists());
}

#[test]
fn a_worktree_that_cannot_be_made_ready_ends_the_run_before_any_agent_starts() {
    let shop = Shop::new();
    shop.sandbox.write("~/.config/maestro/config.toml", "worktree_setup = [\"ls no-such-file\"]\n");
    let (_, output) = shop.worked("");
    assert_eq!(output.code, 1, "{output}");
    assert!(output.stdout().contains("`ls no-such-file` exited with 2"), "{output}");
    assert_eq!(shop.sandbox.maestro("session list --json").json(), json!([]));
}

#[test]
fn what_a_run_did_is_shown_proposed_and_merged() {
    let shop = Shop::new();
    let (run, output) = shop.worked("");
    assert_eq!(output.code, 0, "{output}");
    let short = &run[..30];
    let diff = shop.sandbox.maestro(&format!("diff {short}"));
    assert!(diff.stdout().contains("+made\n") && diff.stdout().contains("+- [x] Add a file"), "{diff}");
    let told = shop.sandbox.maestro(&format!("diff {run} --json")).json();
    assert_eq!((&told["files"], &told["uncommitted"]), (&json!(["PLAN.md", "made.txt"]), &json!([])));
    let proposed = shop.sandbox.maestro(&format!("pr {run} --json")).json();
    assert_eq!((&proposed["url"], &proposed["title"]), (&json!(null), &json!("Add a file made.txt that says made")));
    let session = shop.sandbox.maestro_as(&[("MAESTRO_SESSION_ID", "sess_x")], &["merge", &run]);
    assert_eq!(session.code, 4, "{session}");

    let branch = format!("maestro/loop-{run}");
    let merged = shop.sandbox.maestro(&format!("merge {run} --json")).json();
    assert_eq!((&merged["merged"], &merged["into"]), (&json!(true), &json!("main")));
    assert_eq!(fs::read_to_string(shop.sandbox.path("made.txt")).unwrap().trim(), "made");
    assert!(!shop.tree(&run).exists());
    assert_eq!(shop.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main", "{branch} is gone");
    assert_eq!(shop.sandbox.maestro(&format!("merge {run}")).code, 1);
    assert_eq!(shop.sandbox.maestro("diff 0000").code, 2);
}

#[test]
fn only_what_we_made_is_discarded_and_only_with_consent() {
    let shop = Shop::new();
    let (run, _) = shop.worked("");
    shop.sandbox.write(&format!(".maestro/worktrees/loop-{run}/loose"), "");
    let asked = shop.sandbox.maestro(&format!("discard {run}"));
    assert_eq!(asked.code, 1, "{asked}");
    assert!(asked.stderr().contains("confirmation required"), "{asked}");
    let loose = shop.sandbox.maestro(&format!("merge {run}"));
    assert!(loose.stderr().contains("not committed: loose"), "{loose}");
    let (branch, mark) = (format!("maestro/loop-{run}"), format!("refs/maestro/base/loop-{run}"));
    let base = shop.git(&["rev-parse", &mark]);
    shop.git(&["update-ref", "-d", &mark]);
    let theirs = shop.sandbox.maestro(&format!("discard {run} --yes"));
    assert!(theirs.stderr().contains("was not made by Maestro"), "{theirs}");
    assert!(shop.tree(&run).join("loose").exists());
    shop.git(&["update-ref", &mark, &base]);
    // Whatever an agent switched to in its worktree: what counts is what the repository says.
    shop.git(&["-C", shop.tree(&run).to_str().unwrap(), "switch", "--quiet", "-c", "agents"]);
    shop.git(&["branch", "mine"]);
    let own = format!("--git-dir=.git/worktrees/loop-{run}");
    shop.git(&[&own, "symbolic-ref", "HEAD", "refs/heads/mine"]);
    let elsewhere = shop.sandbox.maestro(&format!("discard {run} --yes"));
    assert!(elsewhere.stderr().contains("is not on `maestro/loop-"), "{elsewhere}");
    shop.git(&[&own, "symbolic-ref", "HEAD", &format!("refs/heads/{branch}")]);
    let gone = shop.sandbox.maestro(&format!("discard {run} --yes --json")).json();
    assert_eq!((&gone["discarded"], &gone["uncommitted"]), (&json!(true), &json!(["loose"])));
    assert!(!shop.tree(&run).exists());
    assert_eq!(shop.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main\nrefs/heads/mine");
}

#[test]
fn nothing_is_merged_or_discarded_while_the_run_goes_on() {
    let shop = Shop::new();
    let started = shop.sandbox.maestro("workflow start plan-loop --param plan=PLAN.md --format json");
    let runs = shop.sandbox.maestro("workflow runs --all --json").json();
    let run = runs[0]["id"].as_str().unwrap_or_else(|| panic!("{started}")).to_owned();
    assert!(shop.tree(&run).join("PLAN.md").exists(), "{started}");
    for words in [format!("merge {run}"), format!("discard {run} --yes")] {
        let refused = shop.sandbox.maestro(&words);
        assert!(refused.stderr().contains("is still active"), "{refused}");
    }
    assert!(shop.tree(&run).exists());
    assert_eq!(shop.sandbox.maestro(&format!("diff {run}")).code, 0);
}
