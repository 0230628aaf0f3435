//! Changes of a plan's text: a task's words, its box, or a new task. Everything else stays as it was written.

use super::{Plan, PlanTask, PlanTaskStatus, parse_plan};
use crate::excerpt::one_line;

/// The longest label that is written.
const LONGEST: usize = 8000;

/// A change of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanEdit {
    /// Another label for the task at a line.
    Rename {
        /// The line.
        line: usize,
        /// The label.
        label: String,
    },
    /// A new open task behind the one at a line, at its depth; without a line, at the end of the plan.
    Add {
        /// The line.
        after: Option<usize>,
        /// The label.
        label: String,
    },
    /// The task at a line is put off: no loop picks it.
    Defer {
        /// The line.
        line: usize,
    },
    /// The task at a line is to be done again.
    Reopen {
        /// The line.
        line: usize,
    },
}

/// Why a plan is not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanEditError {
    /// There is no task at that line.
    #[error("there is no task in line {0}")]
    NoTask(usize),
    /// The label is empty or too long.
    #[error("a task needs 1 to {LONGEST} characters")]
    Label,
    /// The changed text would not read as intended.
    #[error("this would change more of the plan than the task")]
    Unclear,
}

/// The text of a plan with a change. It is read again before it is returned: only what was asked for differs.
pub fn edit_plan(text: &str, edit: &PlanEdit) -> Result<String, PlanEditError> {
    let plan = parse_plan(text);
    let changed = match edit {
        PlanEdit::Rename { line, label } => {
            let (task, label) = (task_at(&plan, *line)?, checked_label(label)?);
            let changed = rename(text, task, &label, "")?;
            let is_whole = is_as_intended(&plan, &parse_plan(&changed), edit);
            // A description below a title that is long now would be read as its next line.
            if is_whole { changed } else { rename(text, task, &label, line_break(text))? }
        }
        PlanEdit::Add { after, label } => add(text, &plan, *after, &checked_label(label)?)?,
        PlanEdit::Defer { line } => with_box(text, task_at(&plan, *line)?, "[~]")?,
        PlanEdit::Reopen { line } => with_box(text, task_at(&plan, *line)?, "[ ]")?,
    };
    if is_as_intended(&plan, &parse_plan(&changed), edit) { Ok(changed) } else { Err(PlanEditError::Unclear) }
}

fn task_at(plan: &Plan, line: usize) -> Result<&PlanTask, PlanEditError> {
    plan.tasks.iter().find(|task| task.line_number == line).ok_or(PlanEditError::NoTask(line))
}

fn checked_label(label: &str) -> Result<String, PlanEditError> {
    let label = one_line(label);
    let fits = !label.is_empty() && label.chars().count() <= LONGEST;
    if fits { Ok(label) } else { Err(PlanEditError::Label) }
}

/// Where a line begins.
fn line_start(text: &str, line: usize) -> usize {
    text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum()
}

/// Where a task's box begins; its column does not count a byte order mark.
fn box_start(text: &str, task: &PlanTask) -> usize {
    let mark = if task.line_number == 1 && text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    line_start(text, task.line_number) + mark + task.column - 1
}

/// How many lines a task's label takes.
fn label_lines(text: &str, task: &PlanTask) -> usize {
    let wanted = one_line(&task.label);
    let mut found = String::new();
    for (index, line) in text.get(box_start(text, task)..).unwrap_or_default().lines().enumerate() {
        let words =
            if index == 0 { line.split_once(']').map_or(line, |(_, rest)| rest).trim_start_matches('?') } else { line };
        found = one_line(&format!("{found} {words}"));
        if found == wanted {
            return index + 1;
        }
        if !wanted.starts_with(&found) {
            break;
        }
    }
    1
}

/// What ends a line of the plan.
fn line_break(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

fn rename(text: &str, task: &PlanTask, label: &str, gap: &str) -> Result<String, PlanEditError> {
    let start = box_start(text, task);
    let rest = text.get(start..).ok_or(PlanEditError::Unclear)?;
    let mark = rest.find(']').map(|end| end + 1).ok_or(PlanEditError::Unclear)?;
    let mark = if rest.get(mark..).is_some_and(|rest| rest.starts_with('?')) { mark + 1 } else { mark };
    let length: usize = rest.split_inclusive('\n').take(label_lines(text, task)).map(str::len).sum();
    let (old, after) = rest.split_at_checked(length).ok_or(PlanEditError::Unclear)?;
    let end = if old.ends_with("\r\n") {
        "\r\n"
    } else if old.ends_with('\n') {
        "\n"
    } else {
        ""
    };
    let (before, mark) = (text.get(..start).unwrap_or_default(), rest.get(..mark).unwrap_or_default());
    Ok(format!("{before}{mark} {label}{end}{gap}{after}"))
}

pub(super) fn with_box(text: &str, task: &PlanTask, mark: &str) -> Result<String, PlanEditError> {
    let start = box_start(text, task);
    let rest = text.get(start..).ok_or(PlanEditError::Unclear)?;
    let end = rest.find(']').map(|end| end + 1).ok_or(PlanEditError::Unclear)?;
    let end = if task.status == PlanTaskStatus::Optional { end + 1 } else { end };
    Ok(format!("{}{mark}{}", text.get(..start).unwrap_or_default(), rest.get(end..).unwrap_or_default()))
}

fn add(text: &str, plan: &Plan, after: Option<usize>, label: &str) -> Result<String, PlanEditError> {
    let newline = line_break(text);
    let last = match after {
        Some(line) => Some(task_at(plan, line)?),
        None => plan.tasks.iter().rfind(|task| task.depth == 0),
    };
    let Some(task) = last else {
        let gap = if text.trim().is_empty() { "" } else { newline };
        return Ok(format!("{}{newline}{gap}- [ ] {label}{newline}", text.trim_end()).trim_start().to_owned());
    };
    let start = line_start(text, task.line_number);
    let lead = text.get(start..box_start(text, task)).ok_or(PlanEditError::Unclear)?.trim_start_matches('\u{feff}');
    let index = plan.tasks.iter().position(|other| other.line_number == task.line_number).unwrap_or(0);
    // Behind what belongs to it: its subtasks and its further paragraphs, up to the next line that is not indented more.
    let indent = lead.chars().take_while(|c| c.is_whitespace()).count();
    let below = plan.tasks.iter().skip(index + 1).take_while(|other| other.depth > task.depth).last();
    let from =
        below.map_or(task.line_number + label_lines(text, task), |other| other.line_number + label_lines(text, other));
    let mut end = line_start(text, from);
    for line in text.get(end..).unwrap_or_default().split_inclusive('\n') {
        let belongs = !line.trim().is_empty() && line.chars().take_while(|c| c.is_whitespace()).count() > indent;
        if !belongs {
            break;
        }
        end += line.len();
    }
    let (before, behind) = text.split_at_checked(end).ok_or(PlanEditError::Unclear)?;
    let gap = if before.ends_with('\n') { "" } else { newline };
    let lead = next_number(lead);
    Ok(format!("{before}{gap}{lead}[ ] {label}{newline}{behind}"))
}

/// The start of the next item of a list: `2. ` after `1. `, the same mark after a bullet.
fn next_number(lead: &str) -> String {
    let digits: String = lead.chars().filter(char::is_ascii_digit).collect();
    match digits.parse::<u64>() {
        Ok(number) => lead.replacen(&digits, &(number + 1).to_string(), 1),
        Err(_) => lead.to_owned(),
    }
}

/// Whether two readings of a plan differ only by what was asked for.
fn is_as_intended(before: &Plan, after: &Plan, edit: &PlanEdit) -> bool {
    let seen = |task: &PlanTask| (one_line(&task.label), task.status, task.depth);
    let old: Vec<_> = before.tasks.iter().map(seen).collect();
    let new: Vec<_> = after.tasks.iter().map(seen).collect();
    let others = |line: usize| before.tasks.iter().position(|task| task.line_number == line);
    match edit {
        PlanEdit::Add { label, .. } => {
            let label = one_line(label);
            let added = new.iter().enumerate().any(|(index, task)| {
                let rest = new.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, task)| task);
                task.0 == label && task.1 == PlanTaskStatus::Open && rest.eq(old.iter())
            });
            new.len() == old.len() + 1 && added
        }
        PlanEdit::Rename { line, label } => {
            let Some(at) = others(*line) else { return false };
            let same = |(index, (one, other)): (usize, (&(String, _, _), &(String, _, _)))| {
                if index == at {
                    other.0 == one_line(label) && (one.1, one.2) == (other.1, other.2)
                } else {
                    one == other
                }
            };
            old.len() == new.len() && old.iter().zip(&new).enumerate().all(same)
        }
        PlanEdit::Defer { line } | PlanEdit::Reopen { line } => {
            let Some(at) = others(*line) else { return false };
            let same = |(index, (one, other)): (usize, (&(String, _, _), &(String, _, _)))| {
                (&one.0, one.2) == (&other.0, other.2) && (index == at || one.1 == other.1)
            };
            old.len() == new.len() && old.iter().zip(&new).enumerate().all(same)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "# Goal\n\n- [ ] first\n  more about it\n- [x] second **bold**\n  over two lines\n  - [ ] inner\n\n    its paragraph\n- [ ]? maybe\n\n1. [ ] one\n";

    fn rename(line: usize, label: &str) -> Result<String, PlanEditError> {
        edit_plan(PLAN, &PlanEdit::Rename { line, label: label.to_owned() })
    }

    #[test]
    fn a_task_gets_other_words_and_nothing_else_changes() {
        assert_eq!(rename(5, "other").unwrap(), PLAN.replace("second **bold**\n  over two lines", "other"));
        assert_eq!(rename(7, " in\nner 2 ").unwrap(), PLAN.replace("- [ ] inner", "- [ ] in ner 2"));
        assert_eq!(rename(10, "perhaps").unwrap(), PLAN.replace("- [ ]? maybe", "- [ ]? perhaps"));
        assert_eq!(rename(4, "x"), Err(PlanEditError::NoTask(4)));
        assert_eq!(rename(3, " \n"), Err(PlanEditError::Label));
        let crlf = "- [ ] a\r\n- [ ] b\r\n";
        assert_eq!(
            edit_plan(crlf, &PlanEdit::Rename { line: 1, label: "c".into() }).unwrap(),
            "- [ ] c\r\n- [ ] b\r\n"
        );
    }

    #[test]
    fn a_description_stays_one_below_whatever_title() {
        let plan = "- [ ] Add a discount\n  It is on the whole total.\n- [ ] next\n";
        let rename = |label: &str| edit_plan(plan, &PlanEdit::Rename { line: 1, label: label.to_owned() }).unwrap();
        assert_eq!(rename("Give a discount"), plan.replace("Add", "Give"));
        let long = "Give a discount of ten percent on every total that is above ten euros";
        assert_eq!(rename(long), format!("- [ ] {long}\n\n  It is on the whole total.\n- [ ] next\n"));
    }

    #[test]
    fn a_new_task_comes_behind_all_that_belongs_to_the_one_before() {
        let add = |text: &str, after| edit_plan(text, &PlanEdit::Add { after, label: "new".to_owned() }).unwrap();
        assert_eq!(
            add("- [ ] a\n  - [ ] b\n    more\n- [ ] c\n", Some(1)),
            "- [ ] a\n  - [ ] b\n    more\n- [ ] new\n- [ ] c\n"
        );
        assert_eq!(add("- [ ] a\n  - [ ] b\n", Some(2)), "- [ ] a\n  - [ ] b\n  - [ ] new\n");
        assert_eq!(add("1. [ ] a\n\nEnd.\n", None), "1. [ ] a\n2. [ ] new\n\nEnd.\n");
        assert_eq!(add("- [ ] a", None), "- [ ] a\n- [ ] new\n");
        assert_eq!(add("# Plan\n", None), "# Plan\n\n- [ ] new\n");
        assert_eq!(add("", None), "- [ ] new\n");
    }

    #[test]
    fn a_box_is_put_off_and_opened_again() {
        let put_off = edit_plan(PLAN, &PlanEdit::Defer { line: 7 }).unwrap();
        assert_eq!(put_off, PLAN.replace("- [ ] inner", "- [~] inner"));
        assert_eq!(edit_plan(&put_off, &PlanEdit::Reopen { line: 7 }).unwrap(), PLAN);
    }

    #[test]
    fn a_label_never_becomes_other_items() {
        for label in ["x <!--", "`"] {
            let edited = rename(3, label);
            assert!(edited.is_err() || parse_plan(&edited.unwrap()).tasks.len() == parse_plan(PLAN).tasks.len());
        }
    }
}
