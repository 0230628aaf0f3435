//! Choice of the next task in a plan without boxes, and its mark.

use super::action::{DemoAction, parse_sentence};

/// The suffix of a task that is done.
const DONE: &str = " (done)";

/// A task that was chosen.
#[derive(Debug, PartialEq)]
pub(super) struct ChosenTask {
    /// What to do.
    pub(super) act: DemoAction,
    /// The task, as the plan words it.
    pub(super) task: String,
    /// The plan with the task marked as done.
    pub(super) marked: String,
}

/// The first unmarked line with an action.
pub(super) fn next_task(plan: &str) -> Option<ChosenTask> {
    let lines: Vec<&str> = plan.lines().collect();
    let mut open = lines.iter().enumerate().filter(|(_, line)| !line.trim_end().ends_with(DONE));
    let (at, act) = open.find_map(|(at, line)| Some((at, parse_sentence(line)?)))?;
    let task = lines[at].trim().trim_start_matches(['-', '*', ' ']).to_owned();
    let mark = |(number, line): (usize, &&str)| match number {
        number if number == at => format!("{}{DONE}", line.trim_end()),
        _ => (*line).to_owned(),
    };
    let marked: Vec<String> = lines.iter().enumerate().map(mark).collect();
    Some(ChosenTask { act, task, marked: marked.join("\n") })
}

/// The last task that was done, by the marks.
pub(super) fn last_done(plan: &str) -> Option<DemoAction> {
    plan.lines().rev().find_map(|line| parse_sentence(line.trim_end().strip_suffix(DONE)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_after_the_other_is_done_and_marked() {
        let plan = "# Letters\n\nSome words.\n- Add a file a that says x\n- Say y\n";
        let add = DemoAction::Add { file: "a".to_owned(), text: "x".to_owned() };
        let first = next_task(plan).unwrap();
        assert_eq!((&first.act, first.task.as_str()), (&add, "Add a file a that says x"));
        assert_eq!(first.marked, "# Letters\n\nSome words.\n- Add a file a that says x (done)\n- Say y");
        let second = next_task(&first.marked).unwrap();
        assert_eq!(second.task, "Say y");
        assert_eq!((next_task(&second.marked), last_done(plan)), (None, None));
        assert_eq!(last_done(&first.marked), Some(add));
    }
}
