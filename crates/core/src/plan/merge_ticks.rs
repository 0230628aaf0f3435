//! Merges of plans in which one side did nothing but tick boxes.

use super::plan_edit::with_box;
use super::{Plan, PlanTask, PlanTaskStatus, parse_plan};
use crate::excerpt::one_line;

/// The merge of two plans with a common base, if one of them only has ticks that the base has not: the other one with
/// those ticks. Nothing where both changed more than that, or where a ticked task is not found in the other plan.
#[must_use]
pub fn merge_ticks(base: &str, ours: &str, theirs: &str) -> Option<String> {
    let with_ticks_of = |ticked: &str, text: &str| with_ticks(text, &ticks(base, ticked)?);
    with_ticks_of(theirs, ours).or_else(|| with_ticks_of(ours, theirs))
}

/// A task as it is found again in another text of its plan.
#[derive(Debug, PartialEq, Eq)]
struct TaskKey {
    label: String,
    section: Option<String>,
    /// How many tasks of the same words are above it in its section.
    earlier: usize,
}

impl TaskKey {
    fn of(plan: &Plan, task: &PlanTask) -> Self {
        let (label, section) = (one_line(&task.label), task.section.clone());
        let is_equal = |other: &&PlanTask| one_line(&other.label) == label && other.section == section;
        let above = plan.tasks.iter().take_while(|other| other.line_number < task.line_number);
        let earlier = above.filter(is_equal).count();
        Self { label, section, earlier }
    }

    /// The task that it is in another text: in its section, or else the only one with its words.
    fn find<'a>(&self, plan: &'a Plan) -> Option<&'a PlanTask> {
        let mut equal: Vec<&PlanTask> = plan.tasks.iter().filter(|task| one_line(&task.label) == self.label).collect();
        match equal.iter().find(|task| Self::of(plan, task) == *self) {
            Some(same) => Some(same),
            None => equal.pop().filter(|_| equal.is_empty()),
        }
    }
}

/// The tasks that are ticked in a plan and open in its base, if nothing else differs.
fn ticks(base: &str, ticked: &str) -> Option<Vec<TaskKey>> {
    let (before, after) = (parse_plan(base), parse_plan(ticked));
    let mut text = base.to_owned();
    let mut keys = Vec::new();
    for (old, new) in before.tasks.iter().zip(&after.tasks) {
        if old.status == PlanTaskStatus::Open && new.status == PlanTaskStatus::Done {
            text = with_box(&text, old, "[x]").ok()?;
            keys.push(TaskKey::of(&before, old));
        }
    }
    (text == ticked).then_some(keys)
}

/// A plan with these tasks ticked.
fn with_ticks(text: &str, keys: &[TaskKey]) -> Option<String> {
    let mut text = text.to_owned();
    for key in keys {
        let plan = parse_plan(&text);
        let task = key.find(&plan)?;
        if task.status == PlanTaskStatus::Open {
            text = with_box(&text, task, "[x]").ok()?;
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "# Goal\n\n- [ ] one\n- [ ] two\n- [ ] three\n";

    #[test]
    fn ticks_join_what_the_other_side_wrote() {
        let ticked = "# Goal\n\n- [x] one\n- [x] two\n- [ ] three\n";
        let written = "# Goal\n\nBy Friday.\n\n- [ ] two\n- [ ] one\n- [ ] three, and more\n- [ ] four\n";
        let merged = "# Goal\n\nBy Friday.\n\n- [x] two\n- [x] one\n- [ ] three, and more\n- [ ] four\n";
        assert_eq!(merge_ticks(BASE, written, ticked).as_deref(), Some(merged));
        assert_eq!(merge_ticks(BASE, ticked, written).as_deref(), Some(merged));
        let also = "# Goal\n\n- [ ] one\n- [x] two\n- [x] three\n";
        assert_eq!(merge_ticks(BASE, also, ticked).unwrap(), BASE.replace("[ ]", "[x]"));
    }

    #[test]
    fn a_ticked_task_that_is_not_found_again_is_a_conflict() {
        let ticked = BASE.replace("[ ] two", "[x] two");
        for other in [BASE.replace("two", "2"), BASE.replace("- [ ] two\n", "")] {
            assert_eq!(merge_ticks(BASE, &other, &ticked), None, "{other}");
        }
        let both_wrote = BASE.replace("[ ] two", "[x] two").replace("three", "3");
        assert_eq!(merge_ticks(BASE, &BASE.replace("one", "1"), &both_wrote), None);
    }

    #[test]
    fn tasks_of_the_same_words_are_told_apart_by_their_sections() {
        let base = "## A\n\n- [ ] test it\n- [ ] test it\n\n## B\n\n- [ ] test it\n";
        let ticked = "## A\n\n- [ ] test it\n- [x] test it\n\n## B\n\n- [x] test it\n";
        let written = "## B\n\n- [ ] test it\n\n## A\n\n- [ ] new\n- [ ] test it\n- [ ] test it\n";
        let merged = "## B\n\n- [x] test it\n\n## A\n\n- [ ] new\n- [ ] test it\n- [x] test it\n";
        assert_eq!(merge_ticks(base, written, ticked).as_deref(), Some(merged));
        let renamed = written.replace("## A", "## C");
        assert_eq!(merge_ticks(base, &renamed, ticked), None);
    }
}
