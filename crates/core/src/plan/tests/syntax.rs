//! Tests of the Markdown syntax of plans: code, comments, labels,
//! sections and hints; it never tests which task comes first, except to see what is hidden.

use super::{hints, labels, next, set_aside};
use crate::plan::{SetAsideReason, parse_plan};

#[test]
fn code_comments_html_and_quotes_hold_no_tasks() {
    for text in [
        "```\n- [ ] a\n```\n",
        "~~~\n- [ ] a\n~~~\n",
        "~~~\n```\n- [ ] a\n~~~\n",
        "````\n```\n- [ ] a\n```\n- [ ] b\n````\n",
        "```\n- [ ] unclosed\n",
        "    - [ ] a\n",
        "-     [ ] a\n",
        "<!--\n- [ ] a\n\n- [ ] b\n-->\n",
        "<!-- - [ ] a -->\n",
        "<div>\n- [ ] a\n</div>\n",
        "> - [ ] a\n",
        "- > - [ ] a\n",
        "> ## S\n> - [ ] a\n",
        "- x\n\n  ```\n  - [ ] a\n  ```\n",
        "---\ntodos: all\nlist:\n- [ ] a\n---\n",
    ] {
        assert_eq!(labels(text), Vec::<String>::new(), "{text:?}");
    }
}

#[test]
fn tasks_after_code_comments_html_and_quotes_are_seen() {
    for text in [
        "````\n```\n- [ ] a\n```\n````\n- [ ] z\n",
        "<!-- a -->\n- [ ] z\n",
        "<details>\n\n- [ ] z\n\n</details>\n",
        "> - [ ] a\n\n- [ ] z\n",
        "---\ntitle: Verification\n---\n- [ ] z\n",
        "---\n- [ ] z\n---\n",
        "---\n\n- [ ] z\n",
    ] {
        assert_eq!(labels(text), ["z"], "{text:?}");
    }
}

#[test]
fn a_label_is_the_raw_first_paragraph_on_one_line() {
    for (text, label) in [
        ("- [ ] use `a  b` and [c](d)\n", "use `a  b` and [c](d)"),
        ("- [ ] one\n  two\n     three\n", "one two three"),
        ("- [ ] one\nlazy\n", "one lazy"),
        ("- [ ] one\r\n  two\r\n", "one two"),
        ("- [ ] one  \n  two\\\n  three\n", "one two three"),
        ("- [ ] one\n\n  second paragraph\n", "one"),
        ("- [ ] one\n  - plain child\n", "one"),
        ("- [ ] one\n  ```\n  code\n  ```\n  more\n", "one"),
        ("- [ ] one\n  <!-- c -->\n  more\n", "one"),
        ("- [ ] a <!-- c --> b\n", "a b"),
        ("- [ ] a<!-- c -->b\n", "ab"),
        ("- [ ] a <!-- c\n  d --> b\n", "a b"),
        ("- [ ] a <!-- c\n  d -->b\n", "a b"),
        ("- [ ] <!-- c --> a <!-- d -->\n", "a"),
        ("- [ ] a `<!-- kept -->`\n", "a `<!-- kept -->`"),
        ("- [ ] a <b>bold</b>\n", "a <b>bold</b>"),
        ("- [ ] **a** _b_ \\* &amp;\n", "**a** _b_ \\* &amp;"),
        ("- [ ] # 1 [ ] ?\n", "# 1 [ ] ?"),
        ("- [ ] naïve 日本語 🎉\n", "naïve 日本語 🎉"),
    ] {
        assert_eq!(labels(text), [label], "{text:?}");
    }
}

#[test]
fn the_section_is_the_plain_text_of_the_nearest_heading() {
    for (text, section) in [
        ("- [ ] a\n", None),
        ("# Title\n- [ ] a\n", Some("Title")),
        ("# Title\n## S\n### T\n- [ ] a\n", Some("T")),
        ("S\n---\n- [ ] a\n", Some("S")),
        ("Two\nlines\n===\n- [ ] a\n", Some("Two lines")),
        ("## **B** `c` [l](u) &amp; <i>x</i> ##\n- [ ] a\n", Some("B c l & x")),
        ("## S\n##\n- [ ] a\n", None),
        ("## S\n> ## Quoted\n\n- [ ] a\n", Some("S")),
        ("## S\n- ## In a list\n- [ ] a\n", Some("S")),
        ("---\nkey: value\n---\n- [ ] a\n", None),
    ] {
        let plan = parse_plan(text);
        assert_eq!(plan.tasks[0].section.as_deref(), section, "{text:?}");
    }
}

#[test]
fn a_section_that_is_set_aside_reaches_to_the_next_heading_of_its_level() {
    for (text, expected) in [
        ("## Verification\n- [ ] a\n", None),
        ("### Verification\n- [ ] a\n", None),
        ("Verification\n---\n- [ ] a\n", None),
        ("## Final VERIFICATION steps\n- [ ] a\n", None),
        ("## Implementation Checklist\n- [ ] a\n", None),
        ("## Manual QA (phone)\n- [ ] a\n", None),
        ("## Notes on manual QA\n- [ ] a\n", Some("a")),
        ("## **Manual** QA\n- [ ] a\n", None),
        ("## Verification\n### Sub\n- [ ] a\n## Next\n- [ ] b\n", Some("b")),
        ("### Verification\n- [ ] a\n### Next\n- [ ] b\n", Some("b")),
        ("### Verification\n- [ ] a\n## Next\n- [ ] b\n", Some("b")),
        ("## Verification\n- [ ] a\n# Part two\n- [ ] b\n", Some("b")),
        ("# One\n## Verification\n- [ ] a\n# Two\n- [ ] b\n", Some("b")),
        ("# Release checklist\n- [ ] a\n", Some("a")),
        ("# Release checklist\n## Build\n- [ ] a\n", Some("a")),
        ("# Checklist\n## Build\n- [ ] a\n# Two\n- [ ] b\n", Some("b")),
        ("## Notes\n- [ ] a\n", Some("a")),
        ("## Blockers\n- [ ] a\n", Some("a")),
    ] {
        assert_eq!(next(text).as_deref(), expected, "{text:?}");
    }
}

#[test]
fn a_task_that_is_set_aside_by_a_heading_says_which_kind() {
    let plan = parse_plan("## Verification\n- [ ] a\n- [x] b\n## Checklist\n### Sub\n- [ ] c\n## Manual QA\n- [ ] d\n");
    assert_eq!(set_aside(&plan, "a"), Some(SetAsideReason::VerificationSection));
    assert_eq!(set_aside(&plan, "b"), None);
    assert_eq!(set_aside(&plan, "c"), Some(SetAsideReason::ChecklistSection));
    assert_eq!(set_aside(&plan, "d"), Some(SetAsideReason::ManualQaSection));
}

#[test]
fn mentions_in_ordinary_text_are_hints() {
    for (label, expected) in [
        ("use @pdf now", vec!["pdf"]),
        ("@pdf", vec!["pdf"]),
        ("@pdf, (@docx) @a.", vec!["pdf", "docx", "a"]),
        ("@pdf: \"@x\" @y! @z's", vec!["pdf", "x", "y", "z"]),
        ("@b @a @b", vec!["b", "a"]),
        ("@a-1-b", vec!["a-1-b"]),
        ("**@a** _@b_ [@c](u)", vec!["a", "b", "c"]),
        ("one\n  two @pdf", vec!["pdf"]),
        ("one @a\\\n  @b", vec!["a", "b"]),
        ("see https://example.com then @pdf", vec!["pdf"]),
        ("@pdf...", vec!["pdf"]),
        ("\\\\@pdf", vec!["pdf"]),
    ] {
        assert_eq!(hints(label), expected, "{label:?}");
    }
}

#[test]
fn addresses_packages_code_and_urls_are_no_hints() {
    for label in [
        "bob@example.com",
        "bob.@x b_@x b%@x b+@x b-@x é@x",
        "first_last@example",
        "@types/node",
        "src/@types",
        "@pdf@1.2",
        "@pdf- x",
        "@-pdf",
        "@a--b",
        "@pdf_tool @pdfTool @pdf.js @Pdf @pdfé",
        "@ x",
        "`@pdf` and ``a ` @pdf``",
        "[a](https://x/@pdf) ![b](@pdf)",
        "<https://example.com/@pdf> <bob@pdf.example> <urn:x:@pdf>",
        "https://example.com/@pdf https://example.com?by=@pdf",
        "<!-- @pdf --> x <i title=\"@pdf\">",
        "\\@pdf &#64;pdf",
        "x\n\n  second @pdf",
        "x\n  - child @pdf",
    ] {
        assert_eq!(hints(label), Vec::<String>::new(), "{label:?}");
    }
}

#[test]
fn a_name_has_at_most_sixty_four_characters() {
    let longest = "a".repeat(64);
    assert_eq!(hints(&format!("@{longest} x")), [longest.as_str()]);
    assert!(hints(&format!("@{longest}a x")).is_empty());
    assert!(hints(&format!("(skill: {longest}a)")).is_empty());
}

#[test]
fn a_list_of_skills_in_brackets_is_a_hint() {
    for (label, expected) in [
        ("x (skill: a)", vec!["a"]),
        ("x (skills: a, b)", vec!["a", "b"]),
        ("x (Skill:a,b) (SKILLS : c )", vec!["a", "b", "c"]),
        ("@b (skills: a, b)", vec!["b", "a"]),
        ("x (skills: a,\n  b)", vec!["a", "b"]),
        ("x (skills: `a`, **b**, @c, D)", vec!["a", "b", "c", "D"]),
        ("x (skills: Foo Bar, -c, )", vec!["Foo Bar", "-c"]),
        ("x `(skill: a)`", vec![]),
        ("x (skill: a", vec![]),
        ("x (skill: a (skill: b)", vec!["b"]),
        ("x (skillset: a) (skill a)", vec![]),
        ("x skill: a", vec![]),
    ] {
        assert_eq!(hints(label), expected, "{label:?}");
    }
}

#[test]
fn the_usual_traps_are_read_as_their_author_meant_them() {
    assert_eq!(labels("* [ ] a\n\n+ [ ] b\n\n1. [ ] c\n"), ["a", "b", "c"]);
    assert_eq!(next("- [x] a\n  - [ ] b\n").as_deref(), Some("b"));
    assert_eq!(next("- [ ] a\n  - [ ] b\n").as_deref(), Some("b"));
    assert_eq!(next("### Verification\n- [ ] a\n"), None);
    let part_two = "## Verification\n- [ ] a\n\n# Part two\n- [ ] b\n";
    assert_eq!(next(part_two).as_deref(), Some("b"));
    assert_eq!(next("## Implementation Checklist\n- [ ] a\n"), None);
    assert_eq!(next("~~~\n- [ ] a\n~~~\n<!--\n- [ ] b\n-->\n"), None);
    assert_eq!(next("````md\n```\n- [ ] a\n```\n- [ ] b\n````\n"), None);
    let addresses = "mail bob@example.com about @types/node and @media";
    assert_eq!(hints(addresses), ["media"]);
    assert_eq!(hints("build it\n  with @pdf"), ["pdf"]);
    assert_eq!(next("## Notes\n- [ ] a\n").as_deref(), Some("a"));
}

#[test]
fn a_heading_on_the_top_level_after_the_work_is_a_section_and_no_title() {
    let plan = parse_plan("## Work\n- [ ] a\n# Verification\n- [ ] b\n");
    assert_eq!(set_aside(&plan, "a"), None);
    assert_eq!(set_aside(&plan, "b"), Some(SetAsideReason::VerificationSection));
}

#[test]
fn a_box_with_a_mark_nobody_knows_is_pointed_out() {
    let plan = parse_plan("- [✓] done, surely\n- [ ] open\n");
    assert_eq!(plan.tasks.len(), 1);
    assert_eq!(plan.findings[0].help, "write `[x]` for done and `[ ]` for open");
}
