//! Notices for an agent about changes since its last call.

use serde::{Deserialize, Serialize};

use crate::excerpt::{ellipsize, one_line};
use crate::id::{MessageId, TaskId};

/// How much of a description a notice shows; `maestro info` shows all of it.
const DESCRIPTION_CHARS: usize = 300;

/// Something that changed for a session, reported in the reply to its next call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SessionNotice {
    /// A subtask was added below one of its tasks.
    SubtaskAdded {
        /// The subtask.
        task: TaskId,
        /// Its title.
        title: String,
        /// What is to be done, in full.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        description: String,
    },
    /// One of its tasks, or a subtask, was changed by another actor.
    TaskChanged {
        /// The task.
        task: TaskId,
        /// Its title.
        title: String,
        /// What changed.
        fields: Vec<String>,
    },
    /// One of its tasks, or a subtask, is gone.
    TaskDeleted {
        /// The task.
        task: TaskId,
        /// What it was called.
        title: String,
    },
    /// It got another task.
    TaskAssigned {
        /// The task.
        task: TaskId,
        /// Its title.
        title: String,
    },
    /// A task was taken from it.
    TaskUnassigned {
        /// The task.
        task: TaskId,
        /// Its title.
        title: String,
    },
    /// It should wait.
    Paused,
    /// It may continue.
    Resumed,
    /// It should end.
    Cancelled,
    /// A message arrived.
    Message {
        /// The message.
        id: MessageId,
        /// Who says it.
        from: String,
        /// The words.
        text: String,
    },
}

impl SessionNotice {
    /// The task it is about.
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::SubtaskAdded { task, .. }
            | Self::TaskChanged { task, .. }
            | Self::TaskDeleted { task, .. }
            | Self::TaskAssigned { task, .. }
            | Self::TaskUnassigned { task, .. } => Some(task),
            Self::Paused | Self::Resumed | Self::Cancelled | Self::Message { .. } => None,
        }
    }
}

/// The notices in words, one line each; many of a kind become a number. A pause that was over before it was read is not mentioned.
pub fn describe_notices(notices: &[SessionNotice]) -> Vec<String> {
    let mut lines = Vec::new();
    let last = |wanted: &SessionNotice| notices.iter().rposition(|notice| notice == wanted);
    let over =
        last(&SessionNotice::Paused).zip(last(&SessionNotice::Resumed)).is_some_and(|(began, ended)| began < ended);
    let is_past = |notice: &SessionNotice| over && *notice == SessionNotice::Paused;
    let added: Vec<String> = notices.iter().filter_map(describe_added).collect();
    if !added.is_empty() {
        let noun = if added.len() == 1 { "subtask" } else { "subtasks" };
        lines.push(format!("{} new {noun}: {}", added.len(), added.join("; ")));
    }
    lines.extend(notices.iter().filter(|notice| !is_past(notice)).filter_map(describe_other));
    lines
}

/// A new subtask: its title, its id, and what its description says, on one line.
fn describe_added(notice: &SessionNotice) -> Option<String> {
    let SessionNotice::SubtaskAdded { task, title, description } = notice else { return None };
    Some(match one_line(description).as_str() {
        "" => title.clone(),
        said => format!("{title} ({task}): {}", ellipsize(said, DESCRIPTION_CHARS)),
    })
}

fn describe_other(notice: &SessionNotice) -> Option<String> {
    Some(match notice {
        SessionNotice::SubtaskAdded { .. } => return None,
        SessionNotice::TaskChanged { title, fields, .. } => format!("changed ({}): {title}", fields.join(", ")),
        SessionNotice::TaskDeleted { title, .. } => format!("deleted: {title}"),
        SessionNotice::TaskAssigned { title, .. } => format!("a task was added to your session: {title}"),
        SessionNotice::TaskUnassigned { title, .. } => format!("a task was taken from your session: {title}"),
        SessionNotice::Paused => "paused: stop after what you are doing, and wait".to_owned(),
        SessionNotice::Resumed => "resumed: continue".to_owned(),
        SessionNotice::Cancelled => "cancelled: stop now".to_owned(),
        // The user's own messages are signed `you`, which an agent would take for itself.
        SessionNotice::Message { from, text, .. } if from == "you" => format!("the user says: {text}"),
        SessionNotice::Message { from, text, .. } => format!("{from} says: {text}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::EntityId;

    #[test]
    fn a_pause_that_was_over_before_it_was_read_is_not_mentioned() {
        let (paused, resumed) = (SessionNotice::Paused, SessionNotice::Resumed);
        assert_eq!(describe_notices(&[paused.clone(), resumed.clone()]), ["resumed: continue"]);
        let again = [paused.clone(), resumed, paused];
        assert_eq!(describe_notices(&again).last().unwrap(), "paused: stop after what you are doing, and wait");
    }

    #[test]
    fn many_subtasks_are_one_line() {
        let added = |title: &str| SessionNotice::SubtaskAdded {
            task: TaskId::make(1, 1),
            title: title.into(),
            description: String::new(),
        };
        let notices = [added("fix the tests"), SessionNotice::Paused, added("write the docs")];
        assert_eq!(
            describe_notices(&notices),
            ["2 new subtasks: fix the tests; write the docs", "paused: stop after what you are doing, and wait"]
        );
        assert!(describe_notices(&[]).is_empty());
        let task = TaskId::make(1, 1);
        let (title, description) = ("write the docs".to_owned(), "In `docs/`.\n\nOne page.".to_owned());
        let described = [SessionNotice::SubtaskAdded { task: task.clone(), title, description }];
        assert_eq!(
            describe_notices(&described),
            [format!("1 new subtask: write the docs ({task}): In `docs/`. One page.")]
        );
    }
}
