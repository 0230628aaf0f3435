//! The commands of the README and of docs, executed as printed, in order, in a fresh home for each page.
//!
//! A comment before each console block says what happens to it:
//!
//! - `<!-- run -->`: each command runs to its end and must succeed.
//! - `<!-- background -->`: each command is started, and ended with the test.
//! - `<!-- not run: reason -->`: the commands are only shown.
//!
//! `<!-- file PATH -->` before a block of another language writes it. `<!-- setup: COMMAND -->` on a line of its own runs
//! a command that the page does not show. In a command, `TASK`, `SESSION`, `RUN` and `TICKET` stand for the first id of
//! that kind in the latest output that has one.

mod reader;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use self::reader::{PagePart, PageReader, commands, parts};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");

fn follow(page: &str) {
    let mut reader = PageReader::new();
    for part in parts(&fs::read_to_string(Path::new(ROOT).join(page)).unwrap()) {
        reader.follow(page, &part);
    }
}

/// A test for each page that has console blocks.
macro_rules! pages {
    ($($name:ident: $page:literal,)*) => {
        const PAGES: &[&str] = &[$($page),*];
        $(#[test]
        fn $name() {
            follow($page);
        })*
    };
}

pages! {
    every_command_of_the_readme_works: "README.md",
    every_command_about_agents_works: "docs/agents.md",
    every_command_about_connections_works: "docs/connect.md",
    every_answer_works: "docs/how-do-i.md",
    every_command_about_installing_works: "docs/install.md",
    every_command_about_the_loop_works: "docs/loop.md",
    every_command_about_the_server_works: "docs/server.md",
    every_command_about_sessions_works: "docs/sessions.md",
    every_command_about_workflows_works: "docs/workflows.md",
    the_tutorial_works: "docs/tutorial.md",
    the_guide_to_agents_works: "docs/guides/agents.md",
    the_guide_to_editors_works: "docs/guides/editors.md",
    the_guide_to_moving_works: "docs/guides/moving.md",
    the_guide_to_plans_works: "docs/guides/plans.md",
    the_guide_to_security_works: "docs/guides/security.md",
    the_guide_to_skills_works: "docs/guides/skills.md",
    the_guide_to_a_teams_server_works: "docs/guides/team-server.md",
    the_guide_to_workflows_works: "docs/guides/workflows.md",
}

/// The Markdown files of the repository's root and of docs, without the generated reference.
fn all_pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in ["", "docs", "docs/guides"] {
        let entries = fs::read_dir(Path::new(ROOT).join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        found.extend(
            names
                .map(|name| Path::new(folder).join(name))
                .filter(|path| path.extension().is_some_and(|end| end == "md")),
        );
    }
    found.sort();
    found
}

#[test]
fn every_page_with_commands_is_followed() {
    let followed: BTreeSet<PathBuf> = PAGES.iter().map(PathBuf::from).collect();
    let with_commands = all_pages().into_iter().filter(|page| {
        let text = fs::read_to_string(Path::new(ROOT).join(page)).unwrap();
        parts(&text).iter().any(|part| matches!(part, PagePart::Block { language, .. } if language == "console"))
    });
    assert_eq!(with_commands.collect::<BTreeSet<_>>(), followed);
}

/// The anchor of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

fn has_anchor(page: &Path, wanted: &str) -> bool {
    let text = fs::read_to_string(page).unwrap();
    let headings = text.lines().filter_map(|line| line.strip_prefix('#'));
    headings.map(|line| line.trim_start_matches('#')).any(|heading| anchor(heading) == wanted)
}

/// A page without its blocks and code, in which brackets are no links.
fn prose(text: &str) -> String {
    let outside = text.split("\n```").step_by(2).collect::<Vec<_>>().join("\n");
    outside.split('`').step_by(2).collect()
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    for page in all_pages() {
        let path = Path::new(ROOT).join(&page);
        let text = prose(&fs::read_to_string(&path).unwrap());
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.with_file_name(file) };
            assert!(target.exists(), "{}: {link} leads nowhere", page.display());
            assert!(heading.is_empty() || has_anchor(&target, heading), "{}: {link} is no heading", page.display());
        }
    }
}

#[test]
fn a_block_has_the_mark_right_before_it() {
    let found = parts("<!-- run -->\n```console\n$ a  # b\n```\n\n<!-- setup: c -->\n\n```\nd\n```\n");
    let block = |line, mark: Option<&str>, language: &str, text: &str| PagePart::Block {
        line,
        mark: mark.map(str::to_owned),
        language: language.to_owned(),
        text: text.to_owned(),
    };
    let expected = [
        block(2, Some("run"), "console", "$ a  # b\n"),
        PagePart::Comment { line: 6, text: "setup: c".to_owned() },
        block(8, None, "", "d\n"),
    ];
    assert_eq!(found, expected);
    assert_eq!(commands("$ a  # b\nout\n"), ["a"]);
}
