//! How much of a skill's text goes into a prompt, and into which place of a file goes the block?

use maestro_core::ProblemSeverity;
use maestro_skills::render::{BodyPart, BodyTruncation, LoadedBody, ReferenceMode, body, with_block};
use proptest::prelude::*;

use crate::world::{World, found, link, write};

const HEADER: &str = "---\nname: long\ndescription: d\n---\n";

/// The text of a skill whose `SKILL.md` is this.
fn text_of(world: &World, text: &str, references: ReferenceMode, most: usize) -> LoadedBody {
    write(world.skills("long/SKILL.md"), text);
    let catalogue = world.load();
    body(found(&catalogue, "long"), BodyPart::File, references, most).unwrap()
}

fn trailer(world: &World, rest: &[&str]) -> String {
    let paths: Vec<String> = rest.iter().map(|path| world.skills("long").join(path).display().to_string()).collect();
    format!("\n\n[Content truncated...]\nThe rest is in {}", paths.join(" and "))
}

#[test]
fn a_text_within_the_limit_is_untouched() {
    let world = World::new();
    let text = format!("{HEADER}\n# Ünïcode\n\nText. \n\n");
    let chars = text.chars().count();
    let read = text_of(&world, &text, ReferenceMode::Include, chars);
    assert_eq!(read, LoadedBody { text, ..LoadedBody::default() });
}

#[test]
fn a_long_text_is_cut_before_a_heading_and_names_the_file_with_the_rest() {
    let world = World::new();
    let kept = format!("{HEADER}\n# One\n\nSome text of the first section.");
    let text = format!("{kept}\n\n# Two\n\nThe second section goes on for longer than there is room.\n");
    let read = text_of(&world, &text, ReferenceMode::Leave, 90);
    assert_eq!(read.text, format!("{kept}{}", trailer(&world, &["SKILL.md"])));
    let (original_chars, kept_chars) = (text.chars().count(), kept.chars().count());
    assert_eq!(read.truncated, Some(BodyTruncation { original_chars, kept_chars }));
    assert_eq!(read.problems, []);
}

#[test]
fn blank_lines_at_the_end_are_no_loss() {
    let world = World::new();
    let read = text_of(&world, &format!("{HEADER}Body.\n\n\n\n"), ReferenceMode::Leave, HEADER.len() + 6);
    assert_eq!((read.text, read.truncated), (format!("{HEADER}Body."), None));
}

#[test]
fn references_are_appended_in_order_and_a_bad_one_spoils_no_other() {
    let world = World::new();
    let dir = world.skills("long/references");
    write(dir.join("b.md"), "Second.\n");
    write(dir.join("a.md"), "First.\n");
    write(dir.join("latin.md"), b"caf\xe9");
    write(dir.join("notes.txt"), "no Markdown");
    write(dir.join("deeper/c.md"), "not at the top");
    write(world.home("secret.md"), "secret");
    link(world.home("secret.md"), dir.join("secret.md"));
    let text = format!("{HEADER}Body.\n");
    let read = text_of(&world, &text, ReferenceMode::Include, 20_000);
    assert_eq!(
        read.text,
        format!("{text}\n\n---\n\n## References\n\n### a.md\n\nFirst.\n\n\n---\n\n### b.md\n\nSecond.\n")
    );
    let problems: Vec<String> = read
        .problems
        .iter()
        .map(|problem| {
            assert_eq!(problem.severity, ProblemSeverity::Warning);
            format!("{} {}", problem.code, world.relative(&problem.path))
        })
        .collect();
    assert_eq!(
        problems,
        [
            "file-not-utf8 work/app/.claude/skills/long/references/latin.md",
            "link-outside work/app/.claude/skills/long/references/secret.md",
        ]
    );
    assert_eq!(text_of(&world, &text, ReferenceMode::Leave, 20_000).text, text);
}

#[test]
fn references_that_lie_outside_the_skill_are_not_read() {
    let world = World::new();
    write(world.home("docs/a.md"), "secret");
    link(world.home("docs"), world.skills("long/references"));
    let read = text_of(&world, &format!("{HEADER}Body.\n"), ReferenceMode::Include, 20_000);
    assert_eq!(read.text, format!("{HEADER}Body.\n"));
    assert_eq!(read.problems.len(), 1);
    assert!(read.problems[0].message.ends_with("outside the skill; it is ignored"), "{:?}", read.problems);
}

#[test]
fn the_note_names_every_place_where_something_is_missing() {
    let world = World::new();
    write(world.skills("long/references/a.md"), "A reference with some words.\n".repeat(10));
    let text = format!("{HEADER}{}", "A line of the body.\n".repeat(10));
    let in_references = text_of(&world, &text, ReferenceMode::Include, text.len() + 100);
    assert!(in_references.text.ends_with(&trailer(&world, &["references"])), "{}", in_references.text);
    let in_text = text_of(&world, &text, ReferenceMode::Include, 100);
    assert!(in_text.text.ends_with(&trailer(&world, &["SKILL.md", "references"])), "{}", in_text.text);
}

#[test]
fn references_larger_than_a_mebibyte_together_are_left_out_with_a_problem() {
    let world = World::new();
    write(world.skills("long/references/a.md"), "x".repeat(1024 * 1024 - 10));
    write(world.skills("long/references/b.md"), "y".repeat(11));
    write(world.skills("long/references/c.md"), "z".repeat(10));
    let read = text_of(&world, &format!("{HEADER}Body.\n"), ReferenceMode::Include, 5_000_000);
    assert!(read.text.contains("### a.md") && !read.text.contains("### b.md") && read.text.contains("### c.md"));
    assert_eq!(read.problems.len(), 1);
    assert!(read.problems[0].path.ends_with("references/b.md"));
}

#[test]
fn a_text_of_which_not_all_was_read_says_so() {
    let world = World::new();
    let text = format!("{HEADER}{}", "ä line\n".repeat(200_000));
    let read = text_of(&world, &text, ReferenceMode::Leave, 10_000_000);
    assert!(read.text.ends_with(&trailer(&world, &["SKILL.md"])));
    assert!(read.truncated.is_some());
    assert_eq!(read.problems.len(), 1, "too large, and nothing about its last character");
}

#[test]
fn commands_that_a_text_does_not_mention_are_listed_below_it() {
    let world = World::new();
    write(world.skills("linear/SKILL.md"), "---\nname: linear\ndescription: d\n---\n\nFirst `find_ticket`.\n");
    let commands = r#"[
        {"name": "find_ticket", "description": "Find a ticket."},
        {"name": "move_ticket", "description": "Move a ticket.", "parameters": {"id": "String: Which one"}}
    ]"#;
    write(
        world.skills("linear/skill.json"),
        format!(r#"{{"name": "linear", "description": "d", "commands": {commands}}}"#),
    );
    let catalogue = world.load();
    let read = body(found(&catalogue, "linear"), BodyPart::Body, ReferenceMode::Leave, 1_000).unwrap();
    insta::assert_snapshot!(read.text, @"
    First `find_ticket`.

    ## Commands

    - `move_ticket`: Move a ticket.
      - `id` (string, required): Which one
    ");
}

#[test]
fn a_text_that_is_not_utf8_is_used_as_far_as_it_is_text() {
    let world = World::new();
    write(world.skills("latin/SKILL.md"), b"---\nname: latin\ndescription: d\n---\ncaf\xe9\n");
    let catalogue = world.load();
    let read = body(found(&catalogue, "latin"), BodyPart::Body, ReferenceMode::Leave, 100).unwrap();
    assert_eq!(read.text, "caf\u{fffd}");
    assert_eq!(read.problems.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_body_is_never_longer_than_its_limit_and_the_note(
        parts in proptest::collection::vec("(# h\n|```\n|\n\n|wörd |日本|\r\n){0,12}", 0..6), most in 0_usize..200,
    ) {
        let world = World::new();
        let text = format!("{HEADER}{}", parts.concat());
        let read = text_of(&world, &text, ReferenceMode::Leave, most);
        let chars = read.text.chars().count();
        match read.truncated {
            None => prop_assert!(chars <= most && text.trim_end() == read.text.trim_end()),
            Some(cut) => {
                prop_assert!(cut.kept_chars <= most);
                prop_assert_eq!(cut.original_chars, text.chars().count());
                prop_assert_eq!(chars, cut.kept_chars + trailer(&world, &["SKILL.md"]).chars().count());
            }
        }
        if text.chars().count() <= most {
            prop_assert_eq!(read.text, text);
        }
    }
}

const BLOCK: &str = "<skills_system priority=\"1\">\n\n<!-- SKILLS_TABLE_START -->\nnew $& $1\n<!-- SKILLS_TABLE_END -->\n\n</skills_system>";

/// The file with the block in it, after seeing that doing it again changes nothing.
fn synced(old: &str) -> String {
    let new = with_block(Some(old), "AGENTS", BLOCK);
    assert_eq!(with_block(Some(&new), "AGENTS", BLOCK), new);
    new
}

#[test]
fn a_new_file_begins_with_its_title() {
    assert_eq!(with_block(None, "CLAUDE", BLOCK), format!("# CLAUDE\n\n{BLOCK}\n"));
    assert_eq!(synced(""), format!("{BLOCK}\n"));
}

#[test]
fn the_block_takes_the_place_of_the_one_before() {
    assert_eq!(synced("a\n<skills_system>old</skills_system>b\n"), format!("a\n{BLOCK}b\n"));
    assert_eq!(synced("a\n\n<skills_system priority=\"1\"\n>\n</skills_system>"), format!("a\n\n{BLOCK}"));
}

#[test]
fn between_marks_only_the_table_is_replaced() {
    let old = "a\n<!-- SKILLS_TABLE_START -->\nold\n<!-- SKILLS_TABLE_END -->\nb\n";
    assert_eq!(synced(old), old.replace("old", "new $& $1"));
}

#[test]
fn a_block_that_is_only_talked_about_stays() {
    let prose = "The `<skills_system>` block is made by a tool, see <skills_systematic> and `</skills_system>`.";
    assert_eq!(synced(&format!("{prose}\n")), format!("{prose}\n\n{BLOCK}\n"));
    let opened = "A lonely <skills_system> tag.";
    assert_eq!(synced(opened), format!("{opened}\n\n{BLOCK}\n"));
    assert_eq!(synced("</skills_system>"), format!("</skills_system>\n\n{BLOCK}\n"));
}

#[test]
fn a_file_with_windows_line_ends_keeps_them() {
    let block = BLOCK.replace('\n', "\r\n");
    assert_eq!(synced("# A\r\n\r\ntext\r\n"), format!("# A\r\n\r\ntext\r\n\r\n{block}\r\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn writing_the_block_twice_is_writing_it_once(
        old in "(<skills_system|>|</skills_system>|<!-- SKILLS_TABLE_START -->|<!-- SKILLS_TABLE_END -->|`| |x|\r?\n){0,14}",
    ) {
        let new = with_block(Some(&old), "AGENTS", BLOCK);
        prop_assert!(new.replace("\r\n", "\n").contains("new $& $1"));
        prop_assert_eq!(with_block(Some(&new), "AGENTS", BLOCK), new);
    }
}
