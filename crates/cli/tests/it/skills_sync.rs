//! `maestro skills sync`: the table of skills in a file that agents read.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use insta::assert_snapshot;
use serde_json::json;

use crate::sandbox::Sandbox;

/// Two skills and nothing else, in a repository.
fn two_skills() -> Sandbox {
    let sandbox = Sandbox::new().with_variable("MAESTRO_SKILLS_BUILTIN", "false");
    sandbox.write(".git/HEAD", "ref: refs/heads/main\n");
    sandbox.skill(".claude/skills", "changelog", "Writes the changelog for $& and $1.");
    sandbox.skill("~/.claude/skills", "sql", "Writes SQL. Use it for queries.");
    sandbox
}

fn agents_md(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.path("AGENTS.md")).unwrap()
}

#[test]
fn a_new_file_has_a_title_and_the_table_that_prompt_prints() {
    let sandbox = two_skills();
    assert_snapshot!(sandbox.maestro("skills sync"), @"
    $ maestro skills sync
    Wrote 2 skills to AGENTS.md.
    ");
    let block = sandbox.maestro("skills prompt").stdout();
    assert_eq!(agents_md(&sandbox), format!("# AGENTS\n\n{block}"));
}

#[test]
fn a_second_run_changes_nothing_and_a_description_cannot_repeat_the_block() {
    let sandbox = two_skills();
    sandbox.write("AGENTS.md", "# Ours\n\nBe brief.\n\n\n");
    sandbox.maestro("skills sync");
    let first = agents_md(&sandbox);
    assert!(first.starts_with("# Ours\n\nBe brief.\n\n<skills_system priority=\"1\">\n"), "{first}");
    assert!(first.contains("for $&amp; and $1."));
    let inode = |sandbox: &Sandbox| fs::metadata(sandbox.path("AGENTS.md")).unwrap().ino();
    let before = inode(&sandbox);
    assert_snapshot!(sandbox.maestro("skills sync"), @"
    $ maestro skills sync
    AGENTS.md is up to date: 2 skills.
    ");
    assert_eq!(agents_md(&sandbox), first);
    assert_eq!(inode(&sandbox), before, "what is right is not written again");
}

#[test]
fn the_old_block_is_replaced_and_everything_around_it_stays() {
    let sandbox = two_skills();
    sandbox.write("AGENTS.md", "top\n<skills_system priority=\"1\">\nold\n</skills_system>\nbottom");
    sandbox.maestro("skills sync");
    let text = agents_md(&sandbox);
    assert!(text.starts_with("top\n<skills_system priority=\"1\">\n") && text.ends_with("\n</skills_system>\nbottom"));
    assert!(!text.contains("old"));
    fs::remove_dir_all(sandbox.path(".claude")).unwrap();
    fs::remove_dir_all(sandbox.path("~/.claude")).unwrap();
    sandbox.maestro("skills sync");
    assert!(!agents_md(&sandbox).contains("<skill>"), "what is gone is not listed any longer");
}

#[test]
fn check_fails_when_something_would_change_and_writes_nothing() {
    let sandbox = two_skills();
    let before = sandbox.tree();
    assert_snapshot!(sandbox.maestro("skills sync --check"), @"
    $ maestro skills sync --check
    AGENTS.md is out of date. Run `maestro skills sync` to update it.
    --- exit 1
    ");
    assert_eq!(sandbox.tree(), before);
    sandbox.maestro("skills sync");
    assert_snapshot!(sandbox.maestro("skills sync --check"), @"
    $ maestro skills sync --check
    AGENTS.md is up to date: 2 skills.
    ");
    sandbox.skill(".claude/skills", "new", "A new one.");
    assert_eq!(sandbox.maestro("skills sync --check").code, 1);
}

#[test]
fn programs_are_told_what_was_done() {
    let sandbox = two_skills();
    let told = sandbox.maestro("skills sync --json --output CLAUDE.md").json();
    let path = sandbox.path("CLAUDE.md");
    let expected = json!({
        "path": path.to_str(), "changed": true, "written": true, "skills": 2, "cut": [], "left_out": [],
    });
    assert_eq!(told, expected);
    assert!(fs::read_to_string(path).unwrap().starts_with("# CLAUDE\n\n"));
    let check = sandbox.maestro("skills sync --check --json");
    assert_eq!(
        (check.code, check.json()["changed"].clone(), check.json()["written"].clone()),
        (1, json!(true), json!(false))
    );
}

#[test]
fn a_file_keeps_its_mode_and_one_that_is_protected_is_left_alone() {
    let sandbox = two_skills();
    let mode = |sandbox: &Sandbox| fs::metadata(sandbox.path("AGENTS.md")).unwrap().permissions().mode() & 0o777;
    sandbox.write("AGENTS.md", "text\n");
    fs::set_permissions(sandbox.path("AGENTS.md"), fs::Permissions::from_mode(0o660)).unwrap();
    sandbox.maestro("skills sync");
    assert_eq!(mode(&sandbox), 0o660);
    sandbox.write("AGENTS.md", "text\n");
    fs::set_permissions(sandbox.path("AGENTS.md"), fs::Permissions::from_mode(0o444)).unwrap();
    assert_snapshot!(sandbox.maestro("skills sync"), @"
    $ maestro skills sync
    --- stderr
    error: cannot write `AGENTS.md`
      because write-protected
    hint: check the permissions of the file and its directory
    --- exit 1
    ");
    assert_eq!(agents_md(&sandbox), "text\n");
}

#[test]
fn a_link_inside_the_project_stays_a_link() {
    let sandbox = two_skills();
    sandbox.write("docs/agents.md", "text\n");
    symlink("docs/agents.md", sandbox.path("AGENTS.md")).unwrap();
    assert_eq!(sandbox.maestro("skills sync").code, 0);
    assert!(sandbox.path("AGENTS.md").is_symlink());
    assert!(fs::read_to_string(sandbox.path("docs/agents.md")).unwrap().contains("<skills_system"));
}

#[test]
fn a_link_out_of_the_project_is_refused() {
    let sandbox = two_skills();
    sandbox.write("~/notes.md", "mine\n");
    fs::create_dir(sandbox.path("~/dir")).unwrap();
    symlink(sandbox.path("~/notes.md"), sandbox.path("AGENTS.md")).unwrap();
    symlink(sandbox.path("~/dir"), sandbox.path("dir")).unwrap();
    symlink(sandbox.path("~/fresh.md"), sandbox.path("FRESH.md")).unwrap();
    symlink(".git/HEAD", sandbox.path("HEAD.md")).unwrap();
    let before = sandbox.tree();
    assert_snapshot!(sandbox.maestro("skills sync"), @"
    $ maestro skills sync
    --- stderr
    error: `AGENTS.md` leads to [HOME]/notes.md, outside the project
    hint: replace the link with a file, or pass the absolute path of its target
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro("skills sync --output dir/AGENTS.md"), @"
    $ maestro skills sync --output dir/AGENTS.md
    --- stderr
    error: `dir/AGENTS.md` leads to [HOME]/dir/AGENTS.md, outside the project
    hint: replace the link with a file, or pass the absolute path of its target
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro("skills sync --output FRESH.md"), @"
    $ maestro skills sync --output FRESH.md
    --- stderr
    error: cannot write `FRESH.md`
      because No such file or directory (os error 2)
    hint: its directory must exist, and a link must lead to a file
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro("skills sync --output HEAD.md"), @"
    $ maestro skills sync --output HEAD.md
    --- stderr
    error: `HEAD.md` leads to [PROJECT]/.git/HEAD, which is not a Markdown file
    hint: replace the link with a file
    --- exit 1
    ");
    assert_eq!(sandbox.maestro("skills sync --output ../other.md").code, 1);
    assert_eq!(sandbox.tree(), before);
}

#[test]
fn what_cannot_take_a_table_is_an_error_and_stays_as_it_is() {
    let sandbox = two_skills();
    sandbox.write("LATIN.md", b"caf\xe9\n");
    fs::create_dir(sandbox.path("dir.md")).unwrap();
    let before = sandbox.tree();
    assert_snapshot!(sandbox.maestro("skills sync --output AGENTS.txt"), @"
    $ maestro skills sync --output AGENTS.txt
    --- stderr
    error: `AGENTS.txt` is not a Markdown file
    hint: pass a file that ends in .md; the default is AGENTS.md
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro("skills sync --output LATIN.md"), @"
    $ maestro skills sync --output LATIN.md
    --- stderr
    error: `LATIN.md` is not UTF-8 text; not changed
    hint: save it as UTF-8, for example: iconv -f latin1 -t utf-8 OLD > NEW
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro("skills sync --output dir.md"), @"
    $ maestro skills sync --output dir.md
    --- stderr
    error: cannot read `dir.md`
      because is a directory
    hint: pass another file
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro("skills sync --output missing/AGENTS.md"), @"
    $ maestro skills sync --output missing/AGENTS.md
    --- stderr
    error: cannot write `missing/AGENTS.md`
      because No such file or directory (os error 2)
    hint: its directory must exist, and a link must lead to a file
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro("skills sync --set skills_budget_tokens=10"), @"
    $ maestro skills sync --set skills_budget_tokens=10
    --- stderr
    error: no skill fits into 10 tokens
    hint: raise skills_budget_tokens, for example: --set skills_budget_tokens=4000
    --- exit 1
    ");
    assert_eq!(sandbox.tree(), before);
}

#[test]
fn an_absolute_path_outside_the_project_is_the_users_own_choice() {
    let sandbox = two_skills();
    let path = sandbox.path("~/AGENTS.md");
    assert_eq!(sandbox.maestro_with(&["skills", "sync", "--output", path.to_str().unwrap()]).code, 0);
    assert!(path.exists());
}

#[test]
fn without_skills_no_file_is_made() {
    let sandbox = Sandbox::new().with_variable("MAESTRO_SKILLS_BUILTIN", "false");
    let before = sandbox.tree();
    assert_snapshot!(sandbox.maestro("skills sync"), @"
    $ maestro skills sync
    No skills to write to AGENTS.md.
    ");
    assert_eq!(sandbox.tree(), before);
}
