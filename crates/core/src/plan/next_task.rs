//! Selection of the next task. Walks the parsed tasks once; it never reads Markdown and never decides
//! what is set aside, since the parser has already said so.

use super::{Plan, PlanTask, TaskSelection};

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
