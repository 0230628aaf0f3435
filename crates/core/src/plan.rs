//! Markdown plans: reads one into tasks and picks the next; it never opens a
//! file, never changes the plan, and never fails on what someone wrote in it.
//!
//! A task is a list item (`-`, `*`, `+`, `1.` or `1)`) whose text opens with a box:
//!
//! | box                     | status               |
//! |-------------------------|----------------------|
//! | `[ ]`                   | [`PlanTaskStatus::Open`]     |
//! | `[x]`, `[X]`            | [`PlanTaskStatus::Done`]     |
//! | `[R]`                   | [`PlanTaskStatus::Reviewed`] |
//! | `[~]`                   | [`PlanTaskStatus::Deferred`] |
//! | `[ ]?`                  | [`PlanTaskStatus::Optional`] |
//! | `[-]` `[/]` `[>]` `[!]` | [`PlanTaskStatus::Other`]    |
//!
//! Any other bracketed text is ordinary Markdown. A box that looks like a slip of the pen, such
//! as `[]`, is no task either, but it is reported as a [`PlanFinding`] so that it is not lost.

mod checkbox;
mod lead_paragraph;
mod merge_ticks;
mod next_task;
mod parallel_tasks;
mod plan_draft;
mod plan_edit;
mod plan_item;
mod plan_parser;
mod plan_source;
mod sections;
mod skill_hints;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub use merge_ticks::merge_ticks;
pub use next_task::{SetAsideTasks, select_task};
pub use parallel_tasks::free_tasks;
pub use plan_draft::{find_plan, tasks_without_criteria};
pub use plan_edit::{PlanEdit, PlanEditError, edit_plan};
pub use plan_item::{PlanItem, plan_item};
pub use plan_parser::parse_plan;

/// The skills that a task's text asks for by name, each once, in order.
///
/// The same rules as in a plan: what stands in code, an address or a package's name is no hint.
#[must_use]
pub fn skill_hints(label: &str) -> Vec<String> {
    let line = label.split_whitespace().collect::<Vec<_>>().join(" ");
    let plan = parse_plan(&format!("- [ ] {line}"));
    plan.tasks.into_iter().next().map(|task| task.skill_hints).unwrap_or_default()
}

/// A plan, as read from its Markdown text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Every task, in document order; a parent comes before its children.
    pub tasks: Vec<PlanTask>,
    /// Places that look like a mistake, in document order.
    pub findings: Vec<PlanFinding>,
}

/// One list item with a box.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanTask {
    /// The item's first paragraph as written, on one line, without the box and HTML comments.
    pub label: String,
    /// The 1-based line of the box. Lines end at `\n`, as they do for [`str::lines`].
    pub line_number: usize,
    /// The 1-based column, in bytes, of the box's `[`; a byte order mark does not count.
    pub column: usize,
    /// The text of the nearest heading above, if there is one.
    pub section: Option<String>,
    /// What the box says.
    pub status: PlanTaskStatus,
    /// How many tasks enclose this one; list items without a box do not count.
    pub depth: usize,
    /// The enclosing task, as an index into [`Plan::tasks`].
    pub parent: Option<usize>,
    /// The skills that the text asks for, each once, in the order of their first mention.
    pub skill_hints: Vec<String>,
    /// Why this task is never selected although it is open; `None` for any other status.
    pub set_aside: Option<SetAsideReason>,
    /// How many headings stand above it.
    #[serde(skip)]
    sections_above: usize,
    /// The numbered list that it is an item of, among all of the plan.
    #[serde(skip)]
    numbered_list: Option<usize>,
}

impl PlanTask {
    /// Whether this task is still to be done: open, and not set aside.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        self.status == PlanTaskStatus::Open && self.set_aside.is_none()
    }
}

/// What a task's box says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanTaskStatus {
    /// `[ ]`: to be done.
    Open,
    /// `[x]` or `[X]`: done.
    Done,
    /// `[R]`: done and reviewed.
    Reviewed,
    /// `[~]`: put off.
    Deferred,
    /// `[ ]?`: may be done, but is never selected.
    Optional,
    /// One of `[-]`, `[/]`, `[>]` and `[!]`, whose meaning is left to the author.
    Other(char),
}

/// Why an open task is not selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SetAsideReason {
    /// A heading above it contains "verification".
    VerificationSection,
    /// A heading above it contains "checklist".
    ChecklistSection,
    /// A heading above it starts with "manual qa".
    ManualQaSection,
    /// A task that encloses it is optional.
    UnderOptionalParent,
    /// A task that encloses it is deferred.
    UnderDeferredParent,
}

/// A place in the plan that looks like a mistake. Nothing fails because of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanFinding {
    /// The 1-based line, counted as for [`PlanTask::line_number`].
    pub line_number: usize,
    /// The 1-based column, counted as for [`PlanTask::column`].
    pub column: usize,
    /// What is wrong.
    pub message: &'static str,
    /// What to write instead.
    pub help: &'static str,
}

/// The task to work on next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskSelection {
    /// See [`PlanTask::label`].
    pub label: String,
    /// See [`PlanTask::line_number`].
    pub line_number: usize,
    /// See [`PlanTask::section`].
    pub section: Option<String>,
    /// See [`PlanTask::skill_hints`].
    pub skill_hints: Vec<String>,
}
