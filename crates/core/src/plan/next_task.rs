//! Selection of the next task. Walks the parsed tasks once; it never reads Markdown and never decides
//! what is set aside, since the parser has already said so.

use super::{Plan, PlanTask, TaskSelection, free_tasks};

/// Picks the next task: the first pending one in document order, except that a parent waits for
/// its pending descendants. `None` means that nothing is left to do.
#[must_use]
pub fn select_task(plan: &Plan) -> Option<TaskSelection> {
    let mut tasks = plan.tasks.iter();
    let mut chosen = tasks.find(|task| task.is_pending())?;
    // A task's descendants are the deeper tasks that follow it without a break, so one pass that
    // moves down to each pending descendant ends at the one with none of its own.
    for task in tasks {
        if task.depth <= chosen.depth {
            break;
        }
        if task.is_pending() {
            chosen = task;
        }
    }
    Some(TaskSelection::from(chosen))
}

/// Tasks that were set aside while a plan is worked through, each by its label; a label that is there twice stands for
/// the first two tasks that say it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SetAsideTasks(Vec<String>);

impl SetAsideTasks {
    /// The tasks in a text, a line each.
    #[must_use]
    pub fn of(lines: &str) -> Self {
        Self(lines.lines().map(one_line).filter(|label| !label.is_empty()).collect())
    }

    /// The next task that is not set aside and comes after none that is.
    #[must_use]
    pub fn select_task(&self, plan: &Plan) -> Option<TaskSelection> {
        if self.0.is_empty() {
            return select_task(plan);
        }
        free_tasks(plan).into_iter().find(|task| !self.contains(plan, task.line_number))
    }

    /// The labels of the open tasks that wait for those that are set aside.
    #[must_use]
    pub fn waiting(&self, plan: &Plan) -> Vec<String> {
        let open = plan.tasks.iter().filter(|task| task.is_pending());
        let waiting = open.filter(|task| !self.contains(plan, task.line_number));
        waiting.map(|task| task.label.clone()).collect()
    }

    /// Whether the task at a line is one of them.
    #[must_use]
    pub fn contains(&self, plan: &Plan, line: usize) -> bool {
        let Some(task) = plan.tasks.iter().find(|task| task.line_number == line) else { return false };
        let label = one_line(&task.label);
        let above = plan.tasks.iter().filter(|other| other.line_number < line && other.is_pending());
        let above = above.filter(|other| one_line(&other.label) == label).count();
        self.0.iter().filter(|aside| **aside == label).count() > above
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl From<&PlanTask> for TaskSelection {
    fn from(task: &PlanTask) -> Self {
        Self {
            label: task.label.clone(),
            line_number: task.line_number,
            section: task.section.clone(),
            skill_hints: task.skill_hints.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::parse_plan;

    #[test]
    fn what_does_not_come_after_a_task_that_is_set_aside_goes_on() {
        let plan = parse_plan(
            "# Plan\n\n- [ ] a\n  - [ ] a child\n- [ ] b\n- [ ] same\n- [ ] same\n\n1. [ ] one\n2. [ ] two\n\n## Then\n\n- [ ] last\n",
        );
        let next = |aside: &str| SetAsideTasks::of(aside).select_task(&plan).map(|task| (task.label, task.line_number));
        assert_eq!(next(""), Some(("a child".to_owned(), 4)));
        assert_eq!(next("a child\n"), Some(("b".to_owned(), 5)), "its parent waits for it");
        assert_eq!(next("a child\nb\nsame\n"), Some(("same".to_owned(), 7)));
        assert_eq!(next("a child\nb\nsame\nsame\n"), Some(("one".to_owned(), 9)));
        let all = "a child\nb\nsame\nsame\none\n";
        assert_eq!(next(all), None);
        assert_eq!(SetAsideTasks::of(all).waiting(&plan), ["a", "two", "last"]);
    }
}
