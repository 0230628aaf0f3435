//! Properties of every text. Property tests and the bounds on time; it never tests
//! what a particular plan means.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::plan::{Plan, free_tasks, parse_plan, select_task};

#[rustfmt::skip]
const TOKENS: &[&str] = &[
    "- ", "* ", "+ ", "1. ", "2) ", "[ ]", "[x]", "[R]", "[~]", "[-]", "[]", "[  ]", "?", " ",
    "  ", "    ", "\t", "\n", "\n", "\n", "\n\n", "\r\n", "\r", "# ", "## ", "### ", "---", "===",
    "Verification", "Checklist", "Manual QA", "```", "````", "~~~", "`", "<!--", "-->", "<div>",
    "> ", "@pdf", "@", "bob@x.org", "(skill: ", "a, b", ")", "[a](b)", "[x]: u", "<u@v.w>", "\\",
    "&#64;", "*", "_", "text", "é", "🎉", "\u{feff}", "\0", "\u{a0}", "- [ ] task\n",
    "  - [ ] child\n", "- [ ]? perhaps\n",
];

fn markdown() -> impl Strategy<Value = String> {
    vec(select(TOKENS), 0..60).prop_map(|tokens| tokens.concat())
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => markdown(),
        1 => any::<String>(),
        1 => vec(any::<char>(), 0..200).prop_map(String::from_iter),
    ]
}

/// The offset of a 1-based line and column.
fn offset(text: &str, line_number: usize, column: usize) -> usize {
    let bom = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let lines = text[bom..].split_inclusive('\n').take(line_number - 1);
    bom + lines.map(str::len).sum::<usize>() + column - 1
}

fn tick_selected(text: &str, plan: &Plan) -> Option<String> {
    let line_number = select_task(plan)?.line_number;
    let task = plan.tasks.iter().filter(|t| t.is_pending());
    let mut task = task.filter(|t| t.line_number == line_number);
    let at = offset(text, line_number, task.next()?.column);
    assert_eq!(&text[at..at + 3], "[ ]");
    Some(format!("{}[x]{}", &text[..at], &text[at + 3..]))
}

fn check(text: &str) -> Result<(), TestCaseError> {
    let plan = parse_plan(text);
    prop_assert_eq!(&plan, &parse_plan(text));
    for (index, task) in plan.tasks.iter().enumerate() {
        let line = text.lines().nth(task.line_number - 1).unwrap_or_default();
        prop_assert!(line.contains('['));
        let at = offset(text, task.line_number, task.column);
        prop_assert!(text[at..].starts_with('['));
        prop_assert!(!task.label.trim().is_empty());
        prop_assert!(!task.label.contains(['\n', '\r']));
        let parent_depth = task.parent.map(|parent| plan.tasks[parent].depth);
        prop_assert!(task.parent.is_none_or(|parent| parent < index));
        prop_assert_eq!(task.depth, parent_depth.map_or(0, |depth| depth + 1));
    }
    for finding in &plan.findings {
        let at = offset(text, finding.line_number, finding.column);
        prop_assert!(text[at..].starts_with('['));
    }
    let mut pending = plan.tasks.iter().filter(|task| task.is_pending());
    let Some(chosen) = select_task(&plan) else {
        prop_assert!(pending.next().is_none());
        return Ok(());
    };
    let is_pending = pending.any(|t| t.line_number == chosen.line_number && t.label == chosen.label);
    prop_assert!(is_pending);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn any_text_gives_a_consistent_plan_without_panic(text in any_text()) {
        check(&text)?;
    }

    #[test]
    fn ticking_the_selected_box_makes_progress_until_nothing_is_left(text in markdown()) {
        let mut text = text;
        let mut plan = parse_plan(&text);
        for _ in 0..=plan.tasks.len() {
            let pending = plan.tasks.iter().filter(|task| task.is_pending()).count();
            let Some(ticked) = tick_selected(&text, &plan) else {
                prop_assert_eq!(pending, 0);
                return Ok(());
            };
            text = ticked;
            let after = parse_plan(&text);
            prop_assert_eq!(after.tasks.len(), plan.tasks.len());
            prop_assert_eq!(after.tasks.iter().filter(|t| t.is_pending()).count(), pending - 1);
            plan = after;
        }
        prop_assert!(false, "tasks remain after every one was ticked");
    }

    #[test]
    fn the_next_task_is_the_first_that_waits_for_no_other(text in markdown()) {
        let plan = parse_plan(&text);
        prop_assert_eq!(select_task(&plan), free_tasks(&plan).into_iter().next());
    }

    #[test]
    fn windows_line_ends_change_nothing(text in markdown()) {
        let unix = text.replace("\r\n", "\n").replace('\r', "");
        prop_assert_eq!(parse_plan(&unix), parse_plan(&unix.replace('\n', "\r\n")));
    }
}

#[test]
fn a_line_end_inside_code_is_one_blank_however_it_is_written() {
    let text = "- [ ] task\n(skill: ```- [ ] task\n[x]: u```2) ";
    assert_eq!(parse_plan(text), parse_plan(&text.replace('\n', "\r\n")));
}

#[test]
fn forty_thousand_lines_keep_their_line_numbers() {
    let task = "- [ ] a task with `code` and [a link](url)\n  by @pdf (skill: a)\n";
    let text = task.repeat(20_000);
    let plan = parse_plan(&format!("# Plan\n\n{text}"));
    assert_eq!(plan.tasks.len(), 20_000);
    assert_eq!(plan.tasks[19_999].line_number, 40_001);
}

#[test]
fn pathological_texts_come_to_an_end() {
    let n = 40_000;
    let steps = (0..1000).flat_map(|i| ["  ".repeat(i), "- [ ] x\n".to_owned()]);
    let steps: String = steps.collect();
    for (name, text) in [
        ("deep then lazy", "- ".repeat(n) + "[ ] x\n" + &"y\n".repeat(n)),
        ("deep quotes", "> ".repeat(n) + "[ ] x\n" + &"y\n".repeat(n)),
        ("numbered", "1. ".repeat(n) + "[ ] x\n" + &"y\n".repeat(n)),
        ("steps then lazy", steps + &"y\n".repeat(n)),
        ("open boxes", "- [\n".repeat(n)),
        ("mentions", "- [ ] ".to_owned() + &"@a".repeat(n)),
        ("lists", "- [ ] ".to_owned() + &"(skill: ".repeat(n)),
        ("comments", "- [ ] ".to_owned() + &"<!-- ".repeat(n)),
        ("brackets", "- [ ] ".to_owned() + &"[".repeat(n)),
        ("carriage returns", "- [ ] x\r".repeat(n)),
        ("long heading", format!("# {}\n", "h".repeat(n)) + &"- [ ] x\n".repeat(n)),
    ] {
        let plan = parse_plan(&text);
        assert!(plan.tasks.len() <= text.lines().count().max(n), "{name}");
    }
}

#[test]
fn a_box_beyond_the_limit_of_nesting_is_reported() {
    let plan = parse_plan(&("- ".repeat(200) + "[ ] x\n- [ ] y\n"));
    assert_eq!(plan.tasks.len(), 1);
    assert_eq!((plan.findings[0].line_number, plan.findings[0].column), (1, 401));
    let plan = parse_plan(&("- ".repeat(100) + "[ ] x\n"));
    assert_eq!(plan.tasks[0].column, 201);
}
