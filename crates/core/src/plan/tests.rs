//! Tests of tasks, nesting and selection, with their helpers.

mod items;
mod properties;
mod syntax;

use super::{Plan, PlanTaskStatus, SetAsideReason, free_tasks, parse_plan, select_task};

fn labels(text: &str) -> Vec<String> {
    let tasks = parse_plan(text).tasks;
    tasks.into_iter().map(|task| task.label).collect()
}

fn next(text: &str) -> Option<String> {
    select_task(&parse_plan(text)).map(|task| task.label)
}

fn hints(label: &str) -> Vec<String> {
    let plan = parse_plan(&format!("- [ ] {label}\n"));
    assert_eq!(plan.tasks.len(), 1, "one task in {label:?}");
    plan.tasks.into_iter().flat_map(|t| t.skill_hints).collect()
}

/// The status of the only task, if there is one.
fn status(text: &str) -> Option<PlanTaskStatus> {
    let plan = parse_plan(text);
    assert!(plan.tasks.len() <= 1, "{text:?}");
    plan.tasks.first().map(|task| task.status)
}

fn set_aside(plan: &Plan, label: &str) -> Option<SetAsideReason> {
    let task = plan.tasks.iter().find(|task| task.label == label);
    task.expect(label).set_aside
}

#[test]
fn every_bullet_and_any_legal_spacing_makes_a_task() {
    for line in [
        "- [ ] a",
        "* [ ] a",
        "+ [ ] a",
        "1. [ ] a",
        "1) [ ] a",
        "123456789. [ ] a",
        "-   [ ] a",
        "-\t[ ] a",
        "   - [ ] a",
        "- [ ]\ta",
        "- [ ]    a",
        "- [ ] a   ",
        "- [ ] a\r\n",
        "-\n  [ ] a",
        "- [ ]\n  a",
        "- [ ]\u{a0}a",
        "\u{feff}- [ ] a",
        "- - [ ] a",
        "- [ ] a\n  ---\n",
    ] {
        assert_eq!(labels(line), ["a"], "{line:?}");
        assert_eq!(status(line), Some(PlanTaskStatus::Open), "{line:?}");
    }
}

#[test]
fn each_mark_has_its_status() {
    for (mark, expected) in [
        ("[ ]", PlanTaskStatus::Open),
        ("[x]", PlanTaskStatus::Done),
        ("[X]", PlanTaskStatus::Done),
        ("[R]", PlanTaskStatus::Reviewed),
        ("[~]", PlanTaskStatus::Deferred),
        ("[ ]?", PlanTaskStatus::Optional),
        ("[x]?", PlanTaskStatus::Done),
        ("[~]?", PlanTaskStatus::Deferred),
        ("[-]", PlanTaskStatus::Other('-')),
        ("[/]", PlanTaskStatus::Other('/')),
        ("[>]", PlanTaskStatus::Other('>')),
        ("[!]", PlanTaskStatus::Other('!')),
    ] {
        assert_eq!(status(&format!("- {mark} a")), Some(expected), "{mark}");
    }
}

#[test]
fn a_mark_is_a_mark_even_when_it_is_defined_as_a_link() {
    let plan = parse_plan("- [x] a @pdf\n\n[x]: https://example.com\n");
    assert_eq!(plan.tasks[0].status, PlanTaskStatus::Done);
    assert_eq!(plan.tasks[0].label, "a @pdf");
    assert_eq!(plan.tasks[0].skill_hints, ["pdf"]);
}

#[test]
fn other_brackets_are_ordinary_text_without_a_finding() {
    for line in [
        "- [text](url)",
        "- [x](url)",
        "- [](url)",
        "- [ ](url)",
        "- [a] reference",
        "- [1] footnote",
        "- [r] lower case",
        "- [é] accent",
        "- [text] and more",
        "- [x]: https://example.com",
        "- [R]eboot",
        "- []byte is a slice",
        "- \\[ ] escaped",
        "- `[ ]` code",
        "- # [ ] heading",
        "- [ unclosed",
        "- [\n  ] two lines",
        "[ ] no bullet",
        "-[ ] no space",
        "text - [ ] not at the start",
    ] {
        let plan = parse_plan(line);
        assert_eq!(plan, Plan::default(), "{line:?}");
    }
}

#[test]
fn a_box_that_looks_like_a_mistake_is_reported_with_its_place() {
    for line in [
        "- []",
        "- [] a",
        "- []? a",
        "- [  ] a",
        "- [  ]a",
        "- [\t] a",
        "- [\u{a0}] a",
        "- [ x] a",
        "- [x ] a",
        "- [ ]a",
        "- [ ]?a",
        "- [x]a",
        "- [ ]",
        "- [ ]   ",
        "- [x]",
        "- [ ]?",
        "- [ ] <!-- nothing -->",
        "- [ ]\n\n  a",
    ] {
        let plan = parse_plan(&format!("text\n\n  {line}"));
        assert!(plan.tasks.is_empty(), "{line:?}");
        assert_eq!(plan.findings.len(), 1, "{line:?}");
        let finding = &plan.findings[0];
        assert_eq!((finding.line_number, finding.column), (3, 5), "{line:?}");
        assert!(!finding.message.is_empty() && !finding.help.is_empty());
    }
}

#[test]
fn findings_do_not_hide_the_tasks_around_them() {
    let plan = parse_plan("- [ ] a\n- [] b\n- [ ] c\n");
    assert_eq!(labels("- [ ] a\n- [] b\n- [ ] c\n"), ["a", "c"]);
    assert_eq!(plan.findings[0].line_number, 2);
}

#[test]
fn children_know_their_parent_and_depth() {
    let plan = parse_plan("- [ ] a\n  - [x] b\n    1. [ ] c\n  - plain\n    - [ ] d\n- plain\n  - [ ] e\n");
    let found: Vec<_> =
        plan.tasks.iter().map(|t| (t.label.as_str(), t.depth, t.parent, t.line_number, t.column)).collect();
    assert_eq!(
        found,
        [
            ("a", 0, None, 1, 3),
            ("b", 1, Some(0), 2, 5),
            ("c", 2, Some(1), 3, 8),
            ("d", 1, Some(0), 5, 7),
            ("e", 0, None, 7, 5),
        ]
    );
}

#[test]
fn line_numbers_hold_with_a_byte_order_mark_and_windows_line_ends() {
    let plan = parse_plan("\u{feff}- [x] a\r\n\r\n# T\r\n\r\n- [ ] b\r\n  more\r\n- [ ] c\r\n");
    let lines: Vec<_> = plan.tasks.iter().map(|t| (t.line_number, t.column)).collect();
    assert_eq!(lines, [(1, 3), (5, 3), (7, 3)]);
    assert_eq!(plan.tasks[1].label, "b more");
}

#[test]
fn selection_follows_document_order_and_parents_wait() {
    for (text, expected) in [
        ("", None),
        ("- [x] a\n- [R] b\n- [~] c\n- [-] d\n- [ ]? e\n", None),
        ("- [x] a\n- [ ] b\n- [ ] c\n", Some("b")),
        ("- [ ] a\n  - [ ] b\n  - [ ] c\n", Some("b")),
        ("- [ ] a\n  - [x] b\n  - [ ] c\n", Some("c")),
        ("- [ ] a\n  - [x] b\n  - [R] c\n- [ ] d\n", Some("a")),
        ("- [ ] a\n  - [ ] b\n    - [ ] c\n", Some("c")),
        ("- [ ] a\n  - [x] b\n    - [ ] c\n  - [ ] d\n", Some("c")),
        ("- [ ] a\n  - plain\n    - [ ] b\n", Some("b")),
        // A done parent does not finish its children.
        ("- [x] a\n  - [ ] b\n", Some("b")),
        ("- [-] a\n  - [ ] b\n", Some("b")),
        // An optional or deferred parent takes its descendants along, and no task waits for them.
        ("- [ ]? a\n  - [ ] b\n    - [ ] c\n- [ ] d\n", Some("d")),
        ("- [~] a\n  - [x] b\n    - [ ] c\n", None),
        ("- [ ] a\n  - [ ]? b\n    - [ ] c\n", Some("a")),
    ] {
        assert_eq!(next(text).as_deref(), expected, "{text:?}");
    }
}

#[test]
fn tasks_below_an_optional_or_deferred_parent_say_so() {
    let plan = parse_plan("- [ ]? a\n  - [ ] b\n- [~] c\n  - [x] d\n    - [ ] e\n");
    assert_eq!(set_aside(&plan, "a"), None);
    assert_eq!(set_aside(&plan, "b"), Some(SetAsideReason::UnderOptionalParent));
    assert_eq!(set_aside(&plan, "d"), None);
    assert_eq!(set_aside(&plan, "e"), Some(SetAsideReason::UnderDeferredParent));
}

#[test]
fn a_selection_serializes_with_exactly_its_four_keys() {
    let selection = select_task(&parse_plan("## S\n- [ ] use @pdf\n")).expect("a task");
    assert_eq!(
        serde_json::to_string(&selection).expect("JSON"),
        r#"{"label":"use @pdf","line_number":2,"section":"S","skill_hints":["pdf"]}"#
    );
}

#[test]
fn statuses_and_reasons_serialize_in_snake_case() {
    let json = |value| serde_json::to_string(&value).expect("JSON");
    assert_eq!(json(PlanTaskStatus::Open), r#""open""#);
    assert_eq!(json(PlanTaskStatus::Other('-')), r#"{"other":"-"}"#);
    let reason = serde_json::to_string(&SetAsideReason::ManualQaSection).expect("JSON");
    assert_eq!(reason, r#""manual_qa_section""#);
}

fn free(text: &str) -> Vec<String> {
    free_tasks(&parse_plan(text)).into_iter().map(|task| task.label).collect()
}

#[test]
fn items_of_a_plain_list_can_be_worked_on_at_the_same_time() {
    assert_eq!(free("- [ ] a\n- [x] b\n- [ ] c\n- [~] d\n- [ ] e\n"), ["a", "c", "e"]);
    assert_eq!(free("- [ ] a\n\ntext\n\n- [ ] b\n"), ["a", "b"]);
}

#[test]
fn numbers_headings_and_nesting_put_tasks_in_order() {
    assert_eq!(free("1. [x] a\n2. [ ] b\n3. [ ] c\n"), ["b"]);
    assert_eq!(free("- [ ] a\n  - [ ] a1\n  - [ ] a2\n- [ ] b\n"), ["a1", "a2", "b"]);
    assert_eq!(free("- [ ] a\n  1. [ ] a1\n  2. [ ] a2\n- [ ] b\n"), ["a1", "b"]);
    assert_eq!(free("1. [x] a\n   - [ ] a1\n2. [ ] b\n   - [ ] b1\n"), ["a1"], "a task below the first item is open");
    assert_eq!(free("## One\n- [ ] a\n- [ ] b\n## Two\n- [ ] c\n"), ["a", "b"]);
    assert_eq!(free("## One\n- [x] a\n## Two\n- [ ] c\n- [ ] d\n"), ["c", "d"]);
    assert_eq!(free("## Checklist\n- [ ] not ours\n## Two\n- [ ] c\n"), ["c"], "what is set aside holds nothing up");
}

#[test]
fn a_description_below_a_short_title_is_no_part_of_the_label() {
    assert_eq!(labels("- [ ] Add a discount\n  It is on the whole total.\n  Round half up.\n"), ["Add a discount"]);
    assert_eq!(labels("- [ ] Add a discount\r\n  It is on the whole total.\r\n"), ["Add a discount"]);
    assert_eq!(labels("- [ ] Add a discount\n  on the whole total\n"), ["Add a discount on the whole total"]);
    assert_eq!(
        labels("- [ ] Add a discount\\\n  It is on the whole total.\n"),
        ["Add a discount"],
        "after a hard break"
    );
    assert_eq!(labels("- [ ] Add <!-- or\n  Not --> a discount\n"), ["Add a discount"]);
    let long = "Let the cart refuse whatever is not in stock (skills: errors)";
    for introduced in ["Done when: a test shows it.", "**Done when:** a test shows it.", "Note: not `round()`."] {
        let label = format!("{long}\n  {introduced}\n  More.");
        assert_eq!(labels(&format!("- [ ] {label}\n")), [long], "a line with a heading of its own");
    }
    let wrapped = "Let the upload refuse files above the limit of the plan of\n  Ben and of everybody else";
    assert_eq!(labels(&format!("- [ ] {wrapped}\n")), [wrapped.replace("\n ", "")], "its author wraps lines");
}

#[test]
fn a_last_line_that_introduces_a_list_is_no_part_of_the_label() {
    assert_eq!(labels("- [ ] Add totals\n  Acceptance:\n  - ends with a newline\n"), ["Add totals"]);
    assert_eq!(labels("- [ ] Add totals\n  **Acceptance criteria:**\n  - a\n"), ["Add totals"]);
    assert_eq!(labels("- [ ] Add a file\n  that says this:\n  - a\n"), ["Add a file that says this:"]);
    assert_eq!(labels("- [ ] Acceptance:\n  - a\n"), ["Acceptance:"]);
}
