//! Is what a run did proposed to others, with `gh` and without?

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::json;

use super::Shop;

const TITLE: &str = "Add a file made.txt that says made";

/// A shop whose plan was worked through, and the run; what it fetches from is a repository beside it.
fn with_remote() -> (Shop, String) {
    let shop = Shop::new();
    let remote = shop.sandbox.path("~/remote.git");
    shop.git(&["init", "--quiet", "--bare", remote.to_str().unwrap()]);
    shop.git(&["remote", "add", "origin", remote.to_str().unwrap()]);
    let (run, output) = shop.worked("");
    assert_eq!(output.code, 0, "{output}");
    (shop, run)
}

/// A `gh` that writes down what it was given, a line each, and then does something.
fn install_gh(shop: &Shop, then: &str) {
    let heard = shop.sandbox.path("~/heard");
    let text = format!("#!/bin/sh\nfor word in \"$@\"; do echo \"$word\"; done > {}\n{then}\n", heard.display());
    shop.sandbox.write("~/bin/gh", text);
    fs::set_permissions(shop.sandbox.path("~/bin/gh"), fs::Permissions::from_mode(0o755)).unwrap();
}

fn at_the_remote(shop: &Shop) -> String {
    let remote = shop.sandbox.path("~/remote.git");
    shop.git(&["-C", remote.to_str().unwrap(), "for-each-ref", "--format=%(refname:short)"])
}

#[test]
fn gh_makes_a_pull_request_of_what_was_pushed() {
    let (shop, run) = with_remote();
    install_gh(&shop, "echo https://example.org/shop/pull/7");
    let made = shop.sandbox.maestro(&format!("pr {run}"));
    assert_eq!((made.code, made.stdout().as_str()), (0, "https://example.org/shop/pull/7\n"), "{made}");
    let branch = format!("maestro/loop-{run}");
    assert_eq!(at_the_remote(&shop), branch);
    let heard = fs::read_to_string(shop.sandbox.path("~/heard")).unwrap();
    let words = format!("pr\ncreate\n--head\n{branch}\n--base\nmain\n--title\n{TITLE}\n--body\n- {TITLE}\n");
    assert_eq!(heard, format!("{words}\nMaestro run {run}\n\n"));
    assert!(shop.tree(&run).exists(), "it stays until it is merged");
}

/// A program in the user's home that leaves a mark when it is run.
fn install_evil(shop: &Shop) -> String {
    let evil = shop.sandbox.path("~/evil");
    fs::write(&evil, format!("#!/bin/sh\ntouch {}\n", shop.sandbox.path("~/ran").display())).unwrap();
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
    evil.display().to_string()
}

#[test]
fn what_gh_asks_git_runs_nothing_that_the_repository_names() {
    let (shop, run) = with_remote();
    let evil = install_evil(&shop);
    for name in ["core.fsmonitor", "core.pager", "core.sshCommand", "diff.external"] {
        shop.git(&["config", name, &evil]);
    }
    install_gh(
        &shop,
        "git remote get-url origin > ~/remote && git status && git diff HEAD && echo https://example.org/7",
    );
    let made = shop.sandbox.maestro(&format!("pr {run}"));
    assert_eq!(made.code, 0, "{made}");
    assert!(fs::read_to_string(shop.sandbox.path("~/remote")).unwrap().ends_with("remote.git\n"), "it finds its way");
    assert!(!shop.sandbox.path("~/ran").exists());
}

#[test]
fn nothing_is_pushed_to_a_repository_inside_of_the_project() {
    let shop = Shop::new();
    let evil = install_evil(&shop);
    let (run, output) = shop.worked("");
    assert_eq!(output.code, 0, "{output}");
    shop.git(&["init", "--quiet", "--bare", "inner.git"]);
    fs::copy(evil, shop.sandbox.path("inner.git/hooks/pre-receive")).unwrap();
    install_gh(&shop, "exit 0");
    let inner = shop.sandbox.path("inner.git").display().to_string();
    for address in ["inner.git", "./inner.git", &inner, &format!("file://{inner}")] {
        shop.git(&["config", "remote.origin.url", address]);
        let refused = shop.sandbox.maestro(&format!("pr {run}"));
        assert_eq!(refused.code, 1, "{address}: {refused}");
        assert!(refused.stderr().contains("the remote `origin` is inside the project"), "{refused}");
    }
    assert!(!shop.sandbox.path("~/ran").exists() && !shop.sandbox.path("~/heard").exists());
}

#[test]
fn a_gh_that_refuses_is_told_with_what_was_done_already() {
    let (shop, run) = with_remote();
    install_gh(&shop, "echo 'you are not logged in' >&2; exit 4");
    let refused = shop.sandbox.maestro(&format!("pr {run}"));
    assert_eq!(refused.code, 1, "{refused}");
    insta::assert_snapshot!(refused.stderr(), @"
    error: `gh pr create`: you are not logged in
    hint: the branch was pushed; run `gh auth status` to check your login
    ");
    assert_eq!(at_the_remote(&shop), format!("maestro/loop-{run}"));
}

#[test]
fn without_gh_the_branch_and_the_text_are_printed_and_nothing_is_sent() {
    let (shop, run) = with_remote();
    // This machine may have one: git is all there is.
    let places = std::env::var_os("PATH").unwrap();
    let git = std::env::split_paths(&places).map(|dir| dir.join("git")).find(|git| git.is_file());
    symlink(git.unwrap(), shop.sandbox.path("~/bin/git")).unwrap();
    let path = shop.sandbox.path("~/bin").display().to_string();
    let words = shop.sandbox.maestro_as(&[("PATH", &path)], &["pr", &run]);
    let shown = shop.sandbox.normal(&format!("{}--- stderr\n{}", words.stdout(), words.stderr()));
    insta::assert_snapshot!(shown, @"
    Branch: maestro/loop-[RUN-1]
    Title: Add a file made.txt that says made

    - Add a file made.txt that says made

    Maestro run [RUN-1]
    --- stderr
    No pull request created: `gh` not found on PATH. Install it, or push with `git push origin maestro/loop-[RUN-1]`.
    ");
    let told = shop.sandbox.maestro_as(&[("PATH", &path)], &["pr", &run, "--json"]).json();
    assert_eq!((&told["url"], &told["title"]), (&json!(null), &json!(TITLE)));
    assert_eq!(at_the_remote(&shop), "");
}

#[test]
fn what_was_not_committed_cannot_be_proposed() {
    let shop = Shop::new();
    shop.sandbox.write("~/.config/maestro/config.toml", "worktree_setup = [\"ls no-such-file\"]\n");
    let (run, _) = shop.worked("");
    install_gh(&shop, "exit 0");
    let refused = shop.sandbox.maestro(&format!("pr {run}"));
    assert!(refused.stderr().contains("no commits to propose"), "{refused}");
    assert!(!shop.sandbox.path("~/heard").exists());
}
