//! Last words of the sessions of a task, and why it is blocked.

use std::fmt::Write as _;

use maestro_api::sessions::{self, SessionBody, TimelineBody};
use maestro_api::tasks::TaskBody;
use maestro_core::report::ReportKind;
use maestro_core::session::SessionStatus;
use maestro_core::task::TaskStatus;
use serde::Serialize;

use crate::client::CliClient;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::screen::clean;

/// What the sessions of a task said last.
#[derive(Debug)]
pub(super) struct TaskVoices {
    /// Why it is blocked, in the words of the session that said so last.
    pub(super) blocked_reason: Option<String>,
    /// One for each session.
    pub(super) last_words: Vec<SessionVoice>,
}

/// The last words of a session.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionVoice {
    session_id: String,
    name: String,
    status: SessionStatus,
    message: Option<String>,
    at: Option<i64>,
}

impl TaskVoices {
    pub(super) fn of(task: &TaskBody, client: &CliClient) -> CommandResult<Self> {
        let mut found = Vec::new();
        for id in &task.session_ids {
            match client.call(sessions::get(id)) {
                Ok(session) => found.push(session),
                // It was deleted meanwhile.
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        let blocked = task.status == TaskStatus::Blocked;
        let blocked_reason = if blocked { reason(task, &found) } else { None };
        Ok(Self { blocked_reason, last_words: found.into_iter().map(|session| voice(task, session)).collect() })
    }

    /// A line each.
    pub(super) fn describe(&self, world: &World) -> String {
        let mut text = String::new();
        if let Some(reason) = &self.blocked_reason {
            let _ = writeln!(text, "  {} {}", world.paint.error("blocked:"), clean(reason));
        }
        for SessionVoice { session_id, name, status, message, .. } in &self.last_words {
            let said = message.as_deref().map(|said| format!(": {}", clean(said))).unwrap_or_default();
            let _ = writeln!(text, "  session {} {} ({status}){said}", clean(session_id), clean(name));
        }
        text
    }
}

fn is_about(task: &TaskBody, line: &TimelineBody) -> bool {
    line.task_id.as_ref().is_none_or(|about| *about == task.id)
}

/// The last report that something blocks the task.
fn reason(task: &TaskBody, sessions: &[SessionBody]) -> Option<String> {
    let stops = [ReportKind::Blocked, ReportKind::Error].map(|kind| kind.entry_kind().as_str().to_owned());
    let lines = sessions.iter().flat_map(|session| &session.timeline);
    let stops = lines.filter(|line| is_about(task, line) && stops.contains(&line.kind));
    stops.max_by_key(|line| line.timestamp).map(|line| line.message.clone())
}

fn voice(task: &TaskBody, session: SessionBody) -> SessionVoice {
    let last = session.timeline.iter().rev().find(|line| is_about(task, line) && !line.message.trim().is_empty());
    SessionVoice {
        message: last.map(|line| line.message.clone()),
        at: last.map(|line| line.timestamp),
        session_id: session.id,
        name: session.name,
        status: session.status,
    }
}
