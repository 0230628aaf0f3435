//! Tests of what is told of one task.

use super::super::plan_item;

const PLAN: &str = "\
---
owner: ada
---
# Totals

Goal: people export what they see.

## Rules

- No new dependency.

## Export

Totals are in `totals.rs`.

1. [x] Collect the totals
2. [ ] Write them
   Both forms share one writer.

   - [x] as text
   - [ ] as CSV

     One row for each month:

     ```csv
     month,total


     2026-01,7
     ```

     Accept when:
     - the header is there
     - [ ] a test reads it back
   - [ ] as JSON
   - must be fast

Ask Ada about the columns.

## Later

- [ ] as CSV
";

#[test]
fn the_whole_item_is_told_with_what_encloses_it_and_how_the_plan_begins() {
    let item = plan_item(PLAN, 21, "as CSV").unwrap();
    insta::assert_snapshot!(item.describe("docs/PLAN.md"));
}

#[test]
fn a_task_is_found_at_its_line_or_by_its_words() {
    assert_eq!(plan_item(PLAN, 42, "as  CSV").map(|item| item.line_number), Some(42));
    assert_eq!(plan_item(PLAN, 7, "as CSV").map(|item| item.line_number), Some(21));
    assert_eq!(plan_item(PLAN, 21, "as XML"), None);
    let later = plan_item(PLAN, 42, "as CSV").unwrap();
    assert_eq!((later.text.as_str(), later.above), ("- [ ] as CSV", vec!["## Later".to_owned()]));
}

#[test]
fn a_plan_of_one_line_says_nothing_twice() {
    let item = plan_item("- [ ] Do it\n- [ ] Do more\n", 1, "Do it").unwrap();
    assert_eq!(item.describe("PLAN.md"), "It is line 1 of `PLAN.md`.\n");
}

#[test]
fn long_parts_are_cut_and_the_cut_is_told() {
    let long = "word ".repeat(10_000);
    let plan = format!("# {long}\n\n- [ ] Do it\n\n  {long}\n");
    let told = plan_item(&plan, 3, "Do it").unwrap().describe("PLAN.md");
    assert_eq!(told.matches("more characters of this are in `PLAN.md`]").count(), 2, "{told}");
    assert!(told.chars().count() < 21_000, "{}", told.chars().count());
}

proptest::proptest! {
    #[test]
    fn no_plan_is_too_odd(text in "(?s)[-*#>` \\[\\]xa0-9.\n\r\t~é]{0,200}") {
        for task in super::parse_plan(&text).tasks {
            let item = plan_item(&text, task.line_number, &task.label);
            proptest::prop_assert!(item.is_some_and(|item| item.line_number == task.line_number));
        }
    }
}

#[test]
fn a_task_asks_for_the_skills_that_the_tasks_around_it_ask_for() {
    let plan = "# Cart\n\nMail ada@example.org.\n\n## API @heading\n\n- [ ] JSON @json-style\n  - [ ] lines (skills: lines)\n    - [ ] deep @deep\n  - [ ] other @other\n";
    let hints = |line, label| plan_item(plan, line, label).unwrap().skill_hints();
    assert_eq!(hints(9, "deep @deep"), ["deep", "lines", "json-style"]);
    assert_eq!(hints(10, "other @other"), ["other", "json-style"]);
}
