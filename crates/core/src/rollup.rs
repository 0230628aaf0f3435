//! The status of a task, from the reports of its sessions and the status of its subtasks.
//!
//! The policy, in the order in which it is asked:
//!
//! 1. What a person closed stays closed.
//! 2. A session works on it or asks about it: in progress.
//! 3. A session is blocked: blocked.
//! 4. All who said something completed it: done, once no subtask is open; until then in progress.
//! 5. Some completed it and others failed: in review.
//! 6. All failed: blocked.
//! 7. No session reported: the subtasks decide. All closed and one of them completed: done; one in progress: in
//!    progress. All sessions skipped it, or have not come to it yet: it is open again.

use serde::Serialize;

use crate::session::TaskSessionStatus;
use crate::task::TaskStatus;

/// What a task becomes when its work is done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub enum DoneStatus {
    /// It is completed.
    #[default]
    #[serde(rename = "completed")]
    Complete,
    /// It waits for a review.
    #[serde(rename = "in_review")]
    Review,
}

impl DoneStatus {
    fn status(self) -> TaskStatus {
        match self {
            Self::Complete => TaskStatus::Completed,
            Self::Review => TaskStatus::InReview,
        }
    }
}

/// The status that follows for a task.
pub fn roll_up(
    task: TaskStatus,
    pairs: &[TaskSessionStatus],
    subtasks: &[TaskStatus],
    when_done: DoneStatus,
) -> TaskStatus {
    if task.is_closed() {
        return task;
    }
    let says = |status: TaskSessionStatus| pairs.contains(&status);
    if says(TaskSessionStatus::Working) || says(TaskSessionStatus::NeedsInput) {
        return TaskStatus::InProgress;
    }
    if says(TaskSessionStatus::Blocked) {
        return TaskStatus::Blocked;
    }
    match (says(TaskSessionStatus::Completed), says(TaskSessionStatus::Failed)) {
        (true, false) if says(TaskSessionStatus::Queued) || !all_closed(subtasks) => TaskStatus::InProgress,
        (true, false) => when_done.status(),
        (true, true) => TaskStatus::InReview,
        (false, true) => TaskStatus::Blocked,
        (false, false) => from_subtasks(task, pairs, subtasks, when_done),
    }
}

fn from_subtasks(
    task: TaskStatus,
    pairs: &[TaskSessionStatus],
    subtasks: &[TaskStatus],
    when_done: DoneStatus,
) -> TaskStatus {
    if all_closed(subtasks) && subtasks.contains(&TaskStatus::Completed) {
        return when_done.status();
    }
    if subtasks.iter().any(|status| matches!(status, TaskStatus::InProgress | TaskStatus::InReview)) {
        return TaskStatus::InProgress;
    }
    let inactive =
        |status: &TaskSessionStatus| matches!(status, TaskSessionStatus::Skipped | TaskSessionStatus::Queued);
    let left = !pairs.is_empty() && pairs.iter().all(inactive);
    if left && task == TaskStatus::InProgress { TaskStatus::Todo } else { task }
}

fn all_closed(subtasks: &[TaskStatus]) -> bool {
    subtasks.iter().all(|status| status.is_closed())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use TaskSessionStatus as P;
    use TaskStatus as T;

    #[test]
    fn the_policy_reads_like_its_list() {
        let cases: &[(T, &[P], &[T], T)] = &[
            (T::Cancelled, &[P::Working], &[], T::Cancelled),
            (T::Todo, &[P::Working], &[], T::InProgress),
            (T::Blocked, &[P::Working, P::Blocked], &[], T::InProgress),
            (T::InProgress, &[P::NeedsInput], &[], T::InProgress),
            (T::InProgress, &[P::Completed, P::Blocked], &[], T::Blocked),
            (T::InProgress, &[P::Completed], &[T::Todo], T::InProgress),
            (T::InProgress, &[P::Completed], &[T::Completed, T::Cancelled], T::Completed),
            (T::InProgress, &[P::Completed, P::Queued], &[], T::InProgress),
            (T::InProgress, &[P::Completed, P::Skipped], &[], T::Completed),
            (T::InProgress, &[P::Completed, P::Failed], &[], T::InReview),
            (T::InProgress, &[P::Failed, P::Skipped], &[], T::Blocked),
            (T::InProgress, &[P::Skipped], &[], T::Todo),
            (T::InProgress, &[P::Queued], &[], T::Todo),
            (T::InProgress, &[P::Skipped, P::Queued], &[], T::Todo),
            (T::Todo, &[], &[T::Completed, T::Todo], T::Todo),
            (T::Todo, &[], &[T::Completed, T::InProgress], T::InProgress),
            (T::Todo, &[], &[T::Completed, T::Completed], T::Completed),
            (T::Todo, &[], &[T::Cancelled], T::Todo),
            (T::Todo, &[P::Queued], &[], T::Todo),
        ];
        for (task, pairs, subtasks, expected) in cases {
            assert_eq!(
                roll_up(*task, pairs, subtasks, DoneStatus::Complete),
                *expected,
                "{task} {pairs:?} {subtasks:?}"
            );
        }
        assert_eq!(roll_up(T::InProgress, &[P::Completed], &[], DoneStatus::Review), T::InReview);
    }

    proptest! {
        #[test]
        fn asking_twice_changes_nothing_more(
            task in proptest::sample::select(T::ALL.to_vec()),
            pairs in proptest::collection::vec(proptest::sample::select(P::ALL.to_vec()), 0..4),
            subtasks in proptest::collection::vec(proptest::sample::select(T::ALL.to_vec()), 0..4),
        ) {
            let once = roll_up(task, &pairs, &subtasks, DoneStatus::Complete);
            prop_assert_eq!(roll_up(once, &pairs, &subtasks, DoneStatus::Complete), once);
        }

        #[test]
        fn nothing_stays_in_progress_when_everybody_is_gone(
            pairs in proptest::collection::vec(
                proptest::sample::select(vec![P::Skipped, P::Failed, P::Completed, P::Blocked]), 1..4),
        ) {
            prop_assert_ne!(roll_up(T::InProgress, &pairs, &[], DoneStatus::Complete), T::InProgress);
        }
    }
}
