//! A plan inside a longer text, such as an agent's answer, and what its tasks lack.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::{PlanTask, parse_plan, plan_item};

/// How a task says when it is done.
const DONE_WHEN: &str = "done when";

/// The plan in a text: the last code block with tasks, else the text from its first heading or task on. Nothing where
/// there is no task to do.
#[must_use]
pub fn find_plan(text: &str) -> Option<String> {
    let blocks = code_blocks(text);
    let in_block = blocks.into_iter().rev().find(|block| has_tasks(block));
    let plan = in_block.or_else(|| Some(without_preface(text)).filter(|rest| has_tasks(rest)))?;
    Some(format!("{}\n", plan.trim()))
}

/// The open tasks that do not say when they are done, by their lines.
#[must_use]
pub fn tasks_without_criteria(text: &str) -> Vec<PlanTask> {
    let lacks = |task: &PlanTask| {
        let item = plan_item(text, task.line_number, &task.label);
        task.is_pending() && item.is_none_or(|item| !item.text.to_lowercase().contains(DONE_WHEN))
    };
    parse_plan(text).tasks.into_iter().filter(lacks).collect()
}

fn has_tasks(text: &str) -> bool {
    parse_plan(text).tasks.iter().any(PlanTask::is_pending)
}

/// The contents of all code blocks at the top level.
fn code_blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for event in Parser::new_ext(text, Options::empty()) {
        match (event, &mut open) {
            (Event::Start(Tag::CodeBlock(_)), open) => *open = Some(String::new()),
            (Event::Text(more), Some(block)) => block.push_str(&more),
            (Event::End(TagEnd::CodeBlock), open) => blocks.extend(open.take()),
            _ => {}
        }
    }
    blocks
}

/// The text from its first heading or list on: what an agent says before the plan is no part of it.
fn without_preface(text: &str) -> String {
    let begins = |(event, range): (Event<'_>, Range<usize>)| {
        matches!(event, Event::Start(Tag::Heading { .. } | Tag::List(_))).then_some(range.start)
    };
    let start = Parser::new_ext(text, Options::empty()).into_offset_iter().find_map(begins);
    text.get(start.unwrap_or_default()..).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "# Shop\n\n- [ ] Sell\n\n  Done when: `make test` passes.\n";

    #[test]
    fn a_plan_is_found_alone_after_words_and_in_a_block() {
        for answer in [
            PLAN.to_owned(),
            format!("I looked around. Here it is:\n\n{PLAN}"),
            format!("First this:\n\n```sh\nls\n```\n\nThen:\n\n```markdown\n{PLAN}```\n\nShall I begin?\n"),
            format!("````\n{PLAN}````"),
        ] {
            assert_eq!(find_plan(&answer).as_deref(), Some(PLAN), "{answer}");
        }
        assert_eq!(find_plan("- [ ] Sell").as_deref(), Some("- [ ] Sell\n"));
        for answer in ["", "I cannot do this.", "# Shop\n\n- Sell\n", "# Shop\n\n- [x] Sell\n"] {
            assert_eq!(find_plan(answer), None, "{answer}");
        }
    }

    #[test]
    fn tasks_say_when_they_are_done() {
        assert_eq!(tasks_without_criteria(PLAN), []);
        let plan = "- [ ] Sell\n- [x] Buy\n- [ ]? Give away\n- [ ] Lend. Done when it came back.\n";
        let lacking: Vec<usize> = tasks_without_criteria(plan).iter().map(|task| task.line_number).collect();
        assert_eq!(lacking, [1]);
    }
}
