//! Drawer of one task: what it is, what belongs to it, and what was said about it.

use std::collections::BTreeMap;

use maestro_core::excerpt::ellipsize;
use maestro_core::id::ProjectId;
use maestro_core::session::TimelineEntry;
use maestro_core::task::TaskPriority;
use maestro_core::task_text::TaskText;
use maestro_core::work_state::{WorkState, session_state, task_state};
use maestro_core::{Session, Task};
use maestro_store::TaskColumn;
use serde::Serialize;

use super::card;
use super::query::TaskDrawer;
use crate::page::badge::StateBadge;
use crate::page::cards::{TITLE, WORDS, worker_name};
use crate::page::links;
use crate::page::text::DisplayText;

/// How many characters of a description are shown.
const DESCRIPTION: usize = 20_000;
/// How many lines of the timeline are shown, the latest ones.
const LINES: usize = 50;

/// A task with all that belongs to it.
#[derive(Debug, Serialize)]
pub(super) struct DrawerView {
    pub(super) task: String,
    pub(super) title: String,
    pub(super) state: StateBadge,
    project: String,
    project_id: String,
    /// The same without cuts, for its form.
    full_title: String,
    description: DisplayText,
    full_description: String,
    acceptance: DisplayText,
    full_acceptance: String,
    /// The plan that it belongs to, and its screen.
    plan: String,
    plan_href: String,
    priority: &'static str,
    priorities: [&'static str; 4],
    model: Option<String>,
    skills: Vec<String>,
    parent: Option<TaskLink>,
    dependencies: Vec<TaskLink>,
    /// The tasks that it can depend on.
    choices: Vec<TaskLink>,
    /// The tasks that it can be a part of.
    parents: Vec<TaskLink>,
    subtasks: Vec<TaskLink>,
    done: usize,
    sessions: Vec<SessionLine>,
    /// The agent that receives a new subtask with its next report.
    listener: Option<String>,
    lines: Vec<SaidLine>,
    columns: Vec<MoveChoice>,
    created_at: i64,
    revision: i64,
}

/// A task as a link.
#[derive(Debug, Serialize)]
struct TaskLink {
    id: String,
    title: String,
    state: StateBadge,
    chosen: bool,
}

/// A session of a task.
#[derive(Debug, Serialize)]
struct SessionLine {
    session: String,
    who: String,
    state: StateBadge,
    words: Option<String>,
    at: i64,
}

/// A line of the timeline.
#[derive(Debug, Serialize)]
struct SaidLine {
    at: i64,
    who: String,
    text: DisplayText,
}

/// A column that a task can be moved to.
#[derive(Debug, Serialize)]
struct MoveChoice {
    word: &'static str,
    label: &'static str,
    key: &'static str,
    here: bool,
}

impl DrawerView {
    pub(super) fn new(open: &TaskDrawer, names: &BTreeMap<ProjectId, String>) -> Self {
        let task = &open.task;
        let text = TaskText::parse(&task.description);
        let state = task_state(task);
        let alive = open.sessions.iter().map(|(session, _)| session).find(|session| !session.status.is_over());
        let skip = open.lines.len().saturating_sub(LINES);
        Self {
            task: task.id.to_string(),
            title: ellipsize(&task.title, TITLE),
            state: StateBadge::from(state),
            project: names.get(&task.project).map(|name| ellipsize(name, TITLE)).unwrap_or_default(),
            project_id: task.project.to_string(),
            full_title: task.title.clone(),
            description: DisplayText::exactly(&text.body, DESCRIPTION),
            acceptance: DisplayText::exactly(&text.acceptance, DESCRIPTION),
            plan_href: links::plan(&task.project.to_string(), &text.plan, ""),
            full_description: text.body,
            full_acceptance: text.acceptance,
            plan: text.plan,
            priority: task.priority.as_str(),
            priorities: TaskPriority::ALL.map(card::priority),
            model: task.model.clone(),
            skills: task.skills.clone(),
            parent: open.parent.as_ref().map(|parent| link(parent, false)),
            dependencies: open.dependencies.iter().map(|task| link(task, false)).collect(),
            choices: choices(open),
            parents: parents(open),
            subtasks: open.subtasks.iter().map(|task| link(task, false)).collect(),
            done: open.subtasks.iter().filter(|task| task.status.is_closed()).count(),
            sessions: open.sessions.iter().map(session_line).collect(),
            listener: alive.map(worker_name),
            lines: open.lines.iter().skip(skip).map(said_line).collect(),
            columns: moves(state, task),
            created_at: task.created_at,
            revision: task.revision,
        }
    }
}

fn link(task: &Task, chosen: bool) -> TaskLink {
    let (id, title) = (task.id.to_string(), ellipsize(&task.title, TITLE));
    TaskLink { id, title, state: StateBadge::from(task_state(task)), chosen }
}

fn choices(open: &TaskDrawer) -> Vec<TaskLink> {
    let others = open.others.iter().filter(|other| other.id != open.task.id && !other.status.is_closed());
    let foreign = open.dependencies.iter().filter(|task| open.others.iter().all(|other| other.id != task.id));
    others.chain(foreign).map(|task| link(task, open.task.dependencies.contains(&task.id))).collect()
}

/// Its parent, and every other task that is no part of it.
fn parents(open: &TaskDrawer) -> Vec<TaskLink> {
    let is_other = |other: &&Task| other.id != open.task.id && other.parent.as_ref() != Some(&open.task.id);
    let others = open.others.iter().filter(is_other).filter(|other| !other.status.is_closed());
    let foreign = open.parent.iter().filter(|parent| open.others.iter().all(|other| other.id != parent.id));
    let is_chosen = |task: &Task| open.task.parent.as_ref() == Some(&task.id);
    others.chain(foreign).map(|task| link(task, is_chosen(task))).collect()
}

fn session_line((session, words): &(Session, Option<TimelineEntry>)) -> SessionLine {
    SessionLine {
        session: session.id.to_string(),
        who: worker_name(session),
        state: StateBadge::from(session_state(session.status, session.needs_input.is_some())),
        words: words.as_ref().map(|line| ellipsize(&line.message, WORDS)),
        at: session.completed_at.unwrap_or(session.last_activity),
    }
}

fn said_line((session, line): &(Session, TimelineEntry)) -> SaidLine {
    SaidLine { at: line.at, who: worker_name(session), text: DisplayText::printed(&line.message, WORDS) }
}

fn moves(state: WorkState, task: &Task) -> Vec<MoveChoice> {
    let here = if task.status.is_closed() { TaskColumn::Done } else { card::column_of(state) };
    let label = |group| match group {
        TaskColumn::Queued => ("queued", "q"),
        TaskColumn::Working => ("working", "w"),
        TaskColumn::Waiting => ("waiting for you", "y"),
        TaskColumn::Ready => ("ready", "r"),
        TaskColumn::Done => ("done", "d"),
    };
    let choice = |group: TaskColumn| {
        let (label, key) = label(group);
        MoveChoice { word: card::word(group), label, key, here: group == here }
    };
    TaskColumn::ALL.map(choice).into()
}
