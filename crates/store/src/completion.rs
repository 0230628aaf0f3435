//! Conditions of a completed task: what must be finished before, and who speaks for it afterwards.

use maestro_core::id::{SessionId, TaskId};
use maestro_core::session::{EndReason, SessionStatus, TaskSessionStatus};
use maestro_core::step_session::StepSessionMetadata;
use maestro_core::task::{Task, TaskStatus};

use crate::error::StoreError;
use crate::tx::ChangeTx;

/// How many open subtasks are named.
const NAMED: usize = 10;

/// What a report of completion covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CompletionExtent {
    /// The session with all it works on.
    Session,
    /// The tasks that it names.
    NamedTasks,
}

/// Refuses to complete tasks of which parts are open, and a session whose tasks are all blocked or failed.
pub(crate) fn require_finished(
    tx: &mut ChangeTx<'_>,
    extent: CompletionExtent,
    bound: &[(TaskId, Option<TaskSessionStatus>)],
    subjects: &[TaskId],
) -> Result<(), StoreError> {
    if let Some((task, Some(status))) = bound.first().filter(|_| subjects.is_empty())
        && matches!(status, TaskSessionStatus::Blocked | TaskSessionStatus::Failed)
    {
        return Err(StoreError::Rule(format!(
            "you reported that task '{task}' is {status}; once you work on it again, say so with `maestro update \"…\"` \
             and complete it then"
        )));
    }
    let mut open: Vec<String> = Vec::new();
    let at_work = |status| matches!(status, Some(TaskSessionStatus::Working | TaskSessionStatus::NeedsInput));
    let whole = bound.iter().filter(|(task, status)| subjects.contains(task) || at_work(*status));
    let covered: Vec<&TaskId> = match extent {
        CompletionExtent::Session => whole.map(|(task, _)| task).collect(),
        CompletionExtent::NamedTasks => subjects.iter().collect(),
    };
    for task in covered {
        for (id, title, status) in open_below(tx, task)? {
            let line = format!("{title} ({id}, {status})");
            if !subjects.contains(&id) && !open.contains(&line) {
                open.push(line);
            }
        }
    }
    if open.is_empty() {
        return Ok(());
    }
    let noun = if open.len() == 1 { "subtask is" } else { "subtasks are" };
    let more = open.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    Err(StoreError::Rule(format!(
        "not complete: {} {noun} open: {}{more}. Finish each and run `maestro subtask complete ID`, or say why not with \
         `maestro blocked \"…\"`",
        open.len(),
        open.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; "),
    )))
}

/// Refuses to complete a session that must judge the work and has not: once it has ended, another one would have to.
pub(crate) fn require_verdict(tx: &mut ChangeTx<'_>, session: &SessionId) -> Result<(), StoreError> {
    let open = tx.row(
        "SELECT step_sessions.run_id, step_sessions.ticket, sessions.metadata FROM step_sessions \
         JOIN sessions ON sessions.id = step_sessions.session_id \
         WHERE step_sessions.session_id = $1 AND step_sessions.report IS NULL AND step_sessions.settled_at IS NULL",
        &[session.into()],
    )?;
    let Some(mut row) = open else { return Ok(()) };
    let (run, ticket) = (row.text()?, row.text()?);
    let metadata: StepSessionMetadata = row.json()?;
    if metadata.verdicts.is_empty() && !metadata.owes_result {
        return Ok(());
    }
    let is_result = metadata.owes_result || metadata.verdicts.iter().any(|outcome| outcome == "ok");
    let what = if is_result { "result" } else { "verdict" };
    let outcome =
        if metadata.owes_result { String::new() } else { format!("--outcome {} ", metadata.verdicts.join("|")) };
    Err(StoreError::Rule(format!(
        "not complete: your {what} is missing. First run `maestro workflow report {run} --ticket {ticket} {outcome}\
         --result-file -` with a JSON object on its standard input, as \"Your {what}\" in your instructions says",
    )))
}

/// The tasks below one that are neither closed nor waiting for a review.
fn open_below(tx: &mut ChangeTx<'_>, task: &TaskId) -> Result<Vec<(TaskId, String, TaskStatus)>, StoreError> {
    let rows = tx.rows(
        "WITH RECURSIVE down (id) AS ( \
           SELECT id FROM tasks WHERE parent_id = $1 \
           UNION SELECT tasks.id FROM tasks JOIN down ON tasks.parent_id = down.id ) \
         SELECT tasks.id, tasks.title, tasks.status FROM down CROSS JOIN tasks WHERE tasks.id = down.id \
         AND tasks.status NOT IN ('completed', 'cancelled', 'archived', 'in_review') ORDER BY tasks.ord",
        &[task.into()],
    )?;
    rows.into_iter().map(|mut row| Ok((row.parsed()?, row.text()?, row.parsed()?))).collect()
}

/// The last session of a task that stays its speaker: one that was cancelled, or that completed the task as it is.
pub(crate) fn last_speaker(tx: &mut ChangeTx<'_>, task: &Task) -> Result<Option<SessionId>, StoreError> {
    let last = tx.row(
        "SELECT sessions.id, sessions.status, sessions.end_reason FROM sessions \
         JOIN task_sessions ON task_sessions.session_id = sessions.id \
         WHERE task_sessions.task_id = $1 ORDER BY sessions.ord DESC LIMIT 1",
        &[(&task.id).into()],
    )?;
    let Some(mut row) = last else { return Ok(None) };
    let (id, status, end): (SessionId, SessionStatus, Option<EndReason>) =
        (row.parsed()?, row.parsed()?, row.maybe_parsed()?);
    // A task that a person opened again is open to others.
    let is_done = task.status.is_closed() || task.status == TaskStatus::InReview;
    let speaks = end == Some(EndReason::Cancelled) || (status == SessionStatus::Completed && is_done);
    Ok(speaks.then_some(id))
}
