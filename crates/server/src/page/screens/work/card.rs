//! Cards of tasks and runs, in columns by how they stand.

use maestro_core::excerpt::ellipsize;
use maestro_core::session::SessionStatus;
use maestro_core::task::{TaskPriority, TaskStatus};
use maestro_core::work_state::{WorkState, task_state};
use maestro_core::{Session, Task};
use maestro_store::TaskColumn;
use serde::Serialize;
use serde_json::{Value as Json, json};

use super::query::WorkScreenSnapshot;
use super::run_card::{CardPhase, card_of_run, phases};
use crate::api::RunWithState;
use crate::error::ApiError;
use crate::page::badge::{StateBadge, WAITING, WORKING};
use crate::page::cards::{TITLE, worker_name};

/// A column of cards.
#[derive(Debug)]
pub(super) struct ColumnView {
    pub(super) group: TaskColumn,
    pub(super) word: &'static str,
    /// The id of its list.
    pub(super) list: &'static str,
    pub(super) cards: Vec<CardView>,
    pub(super) total: i64,
}

/// A task or a run.
#[derive(Debug, Clone, Serialize)]
pub(super) struct CardView {
    pub(super) id: String,
    /// The id of its task; nothing for a run.
    pub(super) task: Option<String>,
    pub(super) title: String,
    /// Where it leads, if not to its drawer.
    pub(super) href: Option<String>,
    pub(super) project: Option<String>,
    pub(super) priority: &'static str,
    /// Where it comes from, if not from a card.
    pub(super) origin: Option<String>,
    /// Its state, where the column does not say it.
    pub(super) state: Option<StateBadge>,
    pub(super) reason: Option<String>,
    pub(super) subtasks: Option<(i64, i64)>,
    pub(super) agents: Vec<AgentChip>,
    pub(super) phases: Vec<CardPhase>,
    pub(super) round: Option<u32>,
    pub(super) since: i64,
    /// Whether its time counts while it is shown.
    pub(super) runs: bool,
}

/// An agent that works on a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct AgentChip {
    pub(super) name: String,
    pub(super) state: StateBadge,
    pub(super) session: String,
}

/// The word of a column in addresses and ids.
pub(super) fn word(group: TaskColumn) -> &'static str {
    match group {
        TaskColumn::Queued => "queued",
        TaskColumn::Working => "working",
        TaskColumn::Waiting => "waiting",
        TaskColumn::Ready => "ready",
        TaskColumn::Done => "done",
    }
}

/// The column of a word.
pub(super) fn group_of(text: &str) -> Result<TaskColumn, ApiError> {
    let group = TaskColumn::ALL.into_iter().find(|group| word(*group) == text);
    group.ok_or_else(|| ApiError::field("column", "must be queued, working, waiting, ready or done"))
}

/// The status that a task gets in a column.
pub(super) fn status_of(group: TaskColumn) -> TaskStatus {
    match group {
        TaskColumn::Queued => TaskStatus::Todo,
        TaskColumn::Working => TaskStatus::InProgress,
        TaskColumn::Waiting => TaskStatus::Blocked,
        TaskColumn::Ready => TaskStatus::InReview,
        TaskColumn::Done => TaskStatus::Completed,
    }
}

/// The column of a state.
pub(super) fn column_of(state: WorkState) -> TaskColumn {
    match state {
        WorkState::Queued => TaskColumn::Queued,
        WorkState::Working | WorkState::Paused => TaskColumn::Working,
        WorkState::Waiting | WorkState::Stopped => TaskColumn::Waiting,
        WorkState::Ready => TaskColumn::Ready,
        WorkState::Merged | WorkState::Discarded | WorkState::Skipped => TaskColumn::Done,
    }
}

impl ColumnView {
    fn new(group: TaskColumn) -> Self {
        let list = match group {
            TaskColumn::Queued => "col-queued",
            TaskColumn::Working => "col-working",
            TaskColumn::Waiting => "col-waiting",
            TaskColumn::Ready => "col-ready",
            TaskColumn::Done => "col-done",
        };
        Self { group, word: word(group), list, cards: Vec::new(), total: 0 }
    }

    /// What the page shows around its cards.
    pub(super) fn head(&self) -> Json {
        let (tone, glyph, label, key) = match self.group {
            TaskColumn::Queued => ("rest", "○", "queued", "q"),
            TaskColumn::Working => ("working", "●", "working", "w"),
            TaskColumn::Waiting => ("waits", "?", "waiting for you", "y"),
            TaskColumn::Ready => ("good", "✓", "ready", "r"),
            TaskColumn::Done => ("plain", "–", "done", "d"),
        };
        json!({ "word": self.word, "list": self.list, "tone": tone, "glyph": glyph, "label": label, "key": key,
            "total": self.total })
    }
}

/// The cards in their columns: tasks in their order, then the runs that belong to no task, then the boxes of plans.
pub(super) fn columns(
    seen: &WorkScreenSnapshot,
    runs: &[RunWithState],
    boxes: Vec<CardView>,
    limit: i64,
) -> Vec<ColumnView> {
    let mut columns: Vec<ColumnView> = seen.groups.iter().map(|(group, _)| ColumnView::new(*group)).collect();
    for (group, list) in &seen.groups {
        for task in &list.items {
            // A session's permission request is no part of its task's status.
            let asks = *group == TaskColumn::Working && asks_permission(seen, task);
            let to = if asks { TaskColumn::Waiting } else { *group };
            let card = card_of_task(seen, runs, task, to);
            place(&mut columns, to, card);
        }
        let rest = list.total - i64::try_from(list.items.len()).unwrap_or(0);
        if let Some(column) = columns.iter_mut().find(|column| column.group == *group) {
            column.total += rest;
        }
    }
    for run in runs.iter().filter(|run| run.record.about.task.is_none()) {
        place(
            &mut columns,
            column_of(run.stands.state),
            card_of_run(run, project(seen, run.record.about.project.as_ref())),
        );
    }
    for card in boxes {
        place(&mut columns, TaskColumn::Queued, card);
    }
    for column in &mut columns {
        column.cards.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    columns
}

fn place(columns: &mut [ColumnView], group: TaskColumn, card: CardView) {
    let Some(column) = columns.iter_mut().find(|column| column.group == group) else { return };
    // A card's id changes with its column, so that it leaves one list and enters the other.
    let id = format!("{}-{}", card.id, column.word);
    column.cards.push(CardView { id, ..card });
    column.total += 1;
}

fn asks_permission(seen: &WorkScreenSnapshot, task: &Task) -> bool {
    let sessions = seen.sessions.get(&task.id).map(Vec::as_slice).unwrap_or_default();
    sessions.iter().any(|session| seen.asking.contains(&session.id))
}

/// The name of a project, where there are several.
fn project(seen: &WorkScreenSnapshot, id: Option<&maestro_core::id::ProjectId>) -> Option<String> {
    let name = id.and_then(|id| seen.names.get(id)).filter(|_| seen.names.len() > 1)?;
    Some(ellipsize(name, TITLE))
}

pub(super) fn priority(priority: TaskPriority) -> &'static str {
    priority.as_str()
}

fn card_of_task(seen: &WorkScreenSnapshot, runs: &[RunWithState], task: &Task, group: TaskColumn) -> CardView {
    let run = runs.iter().find(|run| run.record.about.task.as_ref() == Some(&task.id) && run.stands.state.is_live());
    let sessions = seen.sessions.get(&task.id).map(Vec::as_slice).unwrap_or_default();
    let paused = !sessions.is_empty() && sessions.iter().all(|session| session.status == SessionStatus::Paused);
    let state = if paused { WorkState::Paused } else { task_state(task) };
    let shown = matches!(
        (group, state),
        (TaskColumn::Working, WorkState::Paused) | (TaskColumn::Done, WorkState::Discarded | WorkState::Skipped)
    );
    let (phases, round) = run.map(phases).unwrap_or_default();
    let waits = sessions.iter().find_map(|session| session.needs_input.as_deref());
    CardView {
        id: format!("card-{}", task.id),
        task: Some(task.id.to_string()),
        title: ellipsize(&task.title, TITLE),
        href: None,
        project: project(seen, Some(&task.project)),
        priority: priority(task.priority),
        origin: None,
        state: shown.then(|| StateBadge::from(state)),
        reason: waits.filter(|_| group == TaskColumn::Waiting).map(|words| ellipsize(words, TITLE)),
        subtasks: seen.subtasks.get(&task.id).map(|count| (count.done, count.all)),
        agents: sessions.iter().map(|session| chip(session, seen.asking.contains(&session.id))).collect(),
        phases,
        round,
        since: match group {
            TaskColumn::Working => task.started_at.unwrap_or(task.updated_at),
            TaskColumn::Done => task.completed_at.unwrap_or(task.updated_at),
            TaskColumn::Waiting | TaskColumn::Ready => task.updated_at,
            TaskColumn::Queued => task.created_at,
        },
        runs: group == TaskColumn::Working && !paused,
    }
}

/// An agent, and whether it works.
pub(super) fn chip(session: &Session, asks: bool) -> AgentChip {
    let state = match session.status {
        SessionStatus::Working if asks || session.needs_input.is_some() => WAITING,
        SessionStatus::Working => WORKING,
        status => StateBadge::from(maestro_core::work_state::session_state(status, session.needs_input.is_some())),
    };
    AgentChip { name: worker_name(session), state, session: session.id.to_string() }
}
