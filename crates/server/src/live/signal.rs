//! Meaning of a line of the log for clients of the original: one of its fourteen events, or nothing.

use maestro_store::EventRow;

/// Every event that a WebSocket carries.
pub(crate) const EVENTS: [&str; 14] = [
    "project:created",
    "project:updated",
    "project:deleted",
    "task:created",
    "task:updated",
    "task:deleted",
    "task:session_added",
    "task:session_removed",
    "session:created",
    "session:updated",
    "session:deleted",
    "session:task_added",
    "session:task_removed",
    "session:spawn",
];

/// The subject of an event.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum SignalSubject {
    Project(String),
    Task(String),
    Session(String),
    Pair { task: String, session: String },
}

/// An event for clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientSignal {
    /// One of [`EVENTS`].
    pub(crate) name: &'static str,
    pub(crate) subject: SignalSubject,
    pub(crate) project: Option<String>,
    /// The last line of the log that it covers.
    pub(crate) own: i64,
    /// A client that has this event has everything up to here.
    pub(crate) seq: i64,
}

impl ClientSignal {
    /// The meaning of a line of the log; skills, hand-offs and runs have events elsewhere.
    pub(crate) fn of(row: &EventRow) -> Option<Self> {
        let name = name_of(&row.kind)?;
        let (project, task, session) = (row.project.clone(), row.task.clone(), row.session.clone());
        let subject = match name.split_once(':')? {
            (_, "session_added" | "session_removed" | "task_added" | "task_removed") => {
                SignalSubject::Pair { task: task?, session: session? }
            }
            ("project", _) => SignalSubject::Project(project.clone()?),
            ("task", _) => SignalSubject::Task(task?),
            _ => SignalSubject::Session(session?),
        };
        Some(Self { name, subject, project, own: row.seq, seq: row.seq })
    }

    /// Whether it carries the current state of something, so that a later event of the same kind replaces it.
    pub(crate) fn is_update(&self) -> bool {
        self.name.ends_with(":updated")
    }

    pub(crate) fn is_deletion(&self) -> bool {
        self.name.ends_with(":deleted")
    }
}

/// The event's name. Messages and actions of a session count as changes of the session.
fn name_of(kind: &str) -> Option<&'static str> {
    if kind == "timeline:added" || kind == "session:event" || kind.starts_with("message:") || kind.starts_with("queue:")
    {
        return Some("session:updated");
    }
    EVENTS.into_iter().find(|name| *name == kind)
}
