//! Tasks as lists and trees, one line each.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use maestro_api::tasks::TaskBody;
use maestro_core::short_id::ShortIds;
use maestro_core::task::{TaskPriority, TaskStatus};

use crate::host::world::World;
use crate::output::screen::{clean, clean_lines, count, fit};

/// Tasks and their hierarchy.
pub(crate) struct TaskTree {
    tasks: Vec<TaskBody>,
    /// Positions of the children of each task; tasks whose parent is not here count as roots.
    children: HashMap<Option<String>, Vec<usize>>,
}

impl TaskTree {
    pub(crate) fn of(tasks: Vec<TaskBody>) -> Self {
        let known: HashSet<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
        let mut children: HashMap<Option<String>, Vec<usize>> = HashMap::new();
        for (index, task) in tasks.iter().enumerate() {
            let parent = task.parent_id.clone().filter(|parent| known.contains(parent.as_str()));
            children.entry(parent).or_default().push(index);
        }
        Self { tasks, children }
    }

    /// The tasks below a task, or all of them: parents first, each with its depth.
    pub(crate) fn below(&self, root: Option<&str>) -> Vec<(usize, &TaskBody)> {
        let mut found = Vec::new();
        let mut waiting = self.waiting(root, 0);
        while let Some((depth, index)) = waiting.pop() {
            let Some(task) = self.tasks.get(index) else { continue };
            found.push((depth, task));
            waiting.append(&mut self.waiting(Some(&task.id), depth + 1));
        }
        found
    }

    /// The children of a task, the first one last.
    fn waiting(&self, parent: Option<&str>, depth: usize) -> Vec<(usize, usize)> {
        let children = self.children.get(&parent.map(str::to_owned));
        children.into_iter().flatten().rev().map(|index| (depth, *index)).collect()
    }
}

/// Lines for tasks at their depths, with short ids.
pub(crate) fn lines(tasks: &[(usize, &TaskBody)], short: &ShortIds, world: &World) -> String {
    let mut text = String::new();
    for (depth, task) in tasks {
        let blanks = " ".repeat(2 * depth);
        let _ = writeln!(text, "{blanks}{}", line(task, short.shorten(&task.id), blanks.len(), world));
    }
    text
}

/// The same with whole ids, below an indent, each with its description.
pub(crate) fn lines_in_full(tasks: &[(usize, &TaskBody)], indent: usize, world: &World) -> String {
    let mut text = String::new();
    for (depth, task) in tasks {
        let blanks = " ".repeat(indent + 2 * depth);
        let _ = writeln!(text, "{blanks}{}", line(task, &task.id, blanks.len(), world));
        text.push_str(&description(task, blanks.len() + 4, world));
    }
    text
}

/// A task's description, marked as such below an indent.
fn description(task: &TaskBody, indent: usize, world: &World) -> String {
    let mut text = String::new();
    let blanks = " ".repeat(indent);
    for line in clean_lines(task.description.trim_end()).lines() {
        let _ = writeln!(text, "{}", format!("{blanks}{} {line}", world.paint.dim("|")).trim_end());
    }
    text
}

/// A task on one line; cut only to fit the terminal.
fn line(task: &TaskBody, id: &str, indent: usize, world: &World) -> String {
    let title = clean(&task.title);
    let priority = match task.priority {
        TaskPriority::Medium => String::new(),
        other => format!("  {}", world.paint.dim(&format!("({other})"))),
    };
    let room = world.width.map(|width| width.saturating_sub(indent + id.len() + priority.len() + 6).max(20));
    let title = room.map_or(title.clone(), |room| fit(&title, room).into_owned().into());
    format!("{} {}  {title}{priority}", with_mark(task, world), world.paint.dim(&clean(id)))
}

/// The mark of a task, as plans have them.
fn with_mark(task: &TaskBody, world: &World) -> String {
    match task.status {
        TaskStatus::Todo => "[ ]".to_owned(),
        TaskStatus::InProgress => world.paint.warning("[~]"),
        TaskStatus::InReview => world.paint.warning("[?]"),
        TaskStatus::Blocked => world.paint.error("[!]"),
        TaskStatus::Completed => world.paint.good("[x]"),
        TaskStatus::Cancelled | TaskStatus::Archived => "[-]".to_owned(),
    }
}

/// A task in full: title, status, description and subtasks.
pub(crate) fn details(task: &TaskBody, below: &[(usize, &TaskBody)], world: &World) -> String {
    let mut text = format!("{} {}\n", world.paint.dim(&clean(&task.id)), world.paint.strong(&clean(&task.title)));
    let _ = writeln!(text, "  {}, {} priority", task.status, task.priority);
    text.push_str(&description(task, 2, world));
    if !below.is_empty() {
        let done = below.iter().filter(|(_, task)| task.is_closed()).count();
        let _ = writeln!(text, "  {}, {done} closed:", count(below.len(), "subtask", "subtasks"));
        text.push_str(&lines_in_full(below, 4, world));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str, parent: Option<&str>) -> TaskBody {
        TaskBody {
            id: id.to_owned(),
            project_id: "p".to_owned(),
            parent_id: parent.map(str::to_owned),
            title: String::new(),
            description: String::new(),
            status: TaskStatus::Todo,
            state: maestro_core::WorkState::Queued,
            session_status: None,
            priority: TaskPriority::Medium,
            created_at: 0,
            updated_at: 0,
            started_at: None,
            completed_at: None,
            initial_prompt: String::new(),
            session_ids: Vec::new(),
            skill_ids: Vec::new(),
            agent_ids: Vec::new(),
            dependencies: Vec::new(),
            model: None,
            task_session_statuses: std::collections::BTreeMap::new(),
            revision: 0,
        }
    }

    #[test]
    fn parents_come_first_and_strangers_parents_count_as_none() {
        let tree =
            TaskTree::of(vec![task("b", Some("a")), task("a", None), task("c", Some("b")), task("d", Some("gone"))]);
        let shape = |root| tree.below(root).iter().map(|(depth, task)| (*depth, task.id.clone())).collect::<Vec<_>>();
        let at = |depth: usize, id: &str| (depth, id.to_owned());
        assert_eq!(shape(None), [at(0, "a"), at(1, "b"), at(2, "c"), at(0, "d")]);
        assert_eq!(shape(Some("a")), [at(0, "b"), at(1, "c")]);
        assert!(shape(Some("c")).is_empty());
    }
}
