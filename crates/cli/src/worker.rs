//! Which session speaks, and what does it hear? What all commands of a worker have in common.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::client::Client;
use crate::error::CommandError;
use crate::reply::Reply;
use crate::screen::clean;
use crate::world::World;

/// What a report is answered with.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Answer {
    pub(crate) session_id: String,
    pub(crate) changes: Vec<String>,
    pub(crate) notice_cursor: i64,
}

/// A session, or the task it is known by.
pub(crate) enum Speaker {
    Session(String),
    Task(String),
}

impl Speaker {
    /// Who speaks, by the environment: a session, or at least a task.
    pub(crate) fn of(world: &World) -> Result<Self, CommandError> {
        if let Some(session) = world.variable("MAESTRO_SESSION_ID") {
            return Ok(Self::Session(session.to_owned()));
        }
        let first = world.variable("MAESTRO_TASK_IDS").and_then(|ids| ids.split(',').next());
        match world.variable("MAESTRO_TASK_ID").or(first) {
            Some(task) => Ok(Self::Task(task.to_owned())),
            None => Err(CommandError::no_context("nothing says which session or task this is about")
                .hint("set MAESTRO_SESSION_ID or MAESTRO_TASK_ID; sessions that Maestro starts have both")),
        }
    }

    /// Where its reports go.
    pub(crate) fn reports(&self) -> String {
        match self {
            Self::Session(id) => format!("/api/sessions/{id}/reports"),
            Self::Task(id) => format!("/api/tasks/{id}/reports"),
        }
    }
}

/// Sends a report, prints what came of it, and confirms what was heard.
pub(crate) fn report(
    client: Client,
    speaker: &Speaker,
    body: &Json,
    said: &str,
    world: &World,
) -> Result<Reply, CommandError> {
    let whole: Json = client.post(&speaker.reports(), body)?;
    let answer: Answer = serde_json::from_value(whole.clone())
        .map_err(|error| CommandError::server(format!("the answer cannot be understood: {error}")))?;
    let mut text = String::new();
    if world.json {
        let _ = writeln!(text, "{whole}");
    } else {
        let _ = writeln!(text, "{said}");
        for change in &answer.changes {
            let _ = writeln!(text, "{} {}", world.paint.warning("!"), clean(change));
        }
    }
    Ok(heard(client, &answer, text))
}

/// Prints first and confirms then, so that nothing counts as heard that was not.
fn heard(client: Client, answer: &Answer, text: String) -> Reply {
    if answer.notice_cursor == 0 {
        return Reply::text(text);
    }
    let path = format!("/api/sessions/{}/notices/confirm", answer.session_id);
    let body = json!({ "noticeCursor": answer.notice_cursor, "how": "reply to a command" });
    Reply::stream(move |out| {
        out.write_all(text.as_bytes())?;
        out.flush()?;
        // What is not confirmed is told again.
        let _ = client.post::<Json>(&path, &body);
        Ok(())
    })
}
