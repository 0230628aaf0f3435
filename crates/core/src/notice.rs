//! Notices for an agent about changes since its last call.

use serde::{Deserialize, Serialize};

use crate::id::{MessageId, TaskId};

/// Something that changed for a session, reported in the reply to its next call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Notice {
    /// A subtask was added below one of its tasks.
    SubtaskAdded {
        /// The subtask.
        task: TaskId,
        /// Its title.
        title: String,
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

impl Notice {
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

/// The notices in words, one line each; many of a kind become a number.
pub fn in_words(notices: &[Notice]) -> Vec<String> {
    let mut lines = Vec::new();
    let added: Vec<&str> = notices.iter().filter_map(added_title).collect();
    if !added.is_empty() {
        let noun = if added.len() == 1 { "subtask" } else { "subtasks" };
        lines.push(format!("{} new {noun}: {}", added.len(), added.join("; ")));
    }
    lines.extend(notices.iter().filter_map(other_words));
    lines
}

fn added_title(notice: &Notice) -> Option<&str> {
    match notice {
        Notice::SubtaskAdded { title, .. } => Some(title),
        _ => None,
    }
}

fn other_words(notice: &Notice) -> Option<String> {
    Some(match notice {
        Notice::SubtaskAdded { .. } => return None,
        Notice::TaskChanged { title, fields, .. } => format!("changed ({}): {title}", fields.join(", ")),
        Notice::TaskDeleted { title, .. } => format!("deleted: {title}"),
        Notice::TaskAssigned { title, .. } => format!("a task was added to your session: {title}"),
        Notice::TaskUnassigned { title, .. } => format!("a task was taken from your session: {title}"),
        Notice::Paused => "paused: stop after what you are doing, and wait".to_owned(),
        Notice::Resumed => "resumed: continue".to_owned(),
        Notice::Cancelled => "cancelled: stop now".to_owned(),
        // The user's own messages are signed `you`, which an agent would take for itself.
        Notice::Message { from, text, .. } if from == "you" => format!("the user says: {text}"),
        Notice::Message { from, text, .. } => format!("{from} says: {text}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;

    #[test]
    fn many_subtasks_are_one_line() {
        let added = |title: &str| Notice::SubtaskAdded { task: TaskId::make(1, 1), title: title.into() };
        let notices = [added("fix the tests"), Notice::Paused, added("write the docs")];
        assert_eq!(
            in_words(&notices),
            ["2 new subtasks: fix the tests; write the docs", "paused: stop after what you are doing, and wait"]
        );
        assert!(in_words(&[]).is_empty());
    }
}
