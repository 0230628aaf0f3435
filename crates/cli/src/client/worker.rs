//! Session of the caller, its reports and its updates, for all commands of a worker.

use std::fmt::Write as _;

use maestro_core::notice::{self, Notice};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::client::context;
use crate::client::wire;
use crate::client::{Client, escaped};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::screen::clean;

/// What a report is answered with.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Answer {
    pub(crate) session_id: String,
    pub(crate) session_status: String,
    pub(crate) notices: Vec<Json>,
    pub(crate) changes: Vec<String>,
    pub(crate) notice_cursor: i64,
}

impl Answer {
    /// What to say of a report: of a cancelled session's, that it came too late. Any other session works again by it.
    pub(crate) fn unless_ended<'a>(&self, said: &'a str) -> &'a str {
        if self.session_status == "stopped" { "Recorded. Your session has ended, so nothing changes." } else { said }
    }

    /// The same without what is said about a task that the session itself has just made.
    pub(crate) fn without(mut self, task: &str) -> Self {
        self.notices.retain(|notice| notice["task"] != task);
        if let Ok(notices) = self.notices.iter().map(Notice::deserialize).collect::<Result<Vec<_>, _>>() {
            self.changes = notice::in_words(&notices);
        }
        self
    }
}

/// A session, or the task it is known by.
pub(crate) enum Speaker {
    Session(String),
    Task(String),
}

impl Speaker {
    /// Who speaks, by the environment: a session, or at least a task.
    pub(crate) fn of(world: &World) -> Result<Self, CommandError> {
        Self::maybe(world).ok_or_else(|| {
            CommandError::no_context("no session or task set")
                .hint("set MAESTRO_SESSION_ID or MAESTRO_TASK_ID; sessions that Maestro starts have both")
        })
    }

    /// The same, or nobody: then a person is speaking.
    pub(crate) fn maybe(world: &World) -> Option<Self> {
        match context::session(world) {
            Some(session) => Some(Self::Session(session.to_owned())),
            None => context::tasks(world).into_iter().next().map(Self::Task),
        }
    }

    /// Where its reports go.
    fn reports(&self) -> String {
        match self {
            Self::Session(id) => format!("/api/sessions/{}/reports", escaped(id)),
            Self::Task(id) => format!("/api/tasks/{}/reports", escaped(id)),
        }
    }

    /// Says something; the answer as it came, and taken apart.
    pub(crate) fn say(&self, client: &Client, body: &Json) -> Result<(Json, Answer), CommandError> {
        let mut whole: Json = client.post(&self.reports(), body)?;
        let answer = wire::read(&whole)?;
        whole["subcommand"] = body["kind"].clone();
        Ok((whole, answer))
    }

    /// Gives a sign of life, and so finds out which session it is and what it has not heard.
    pub(crate) fn beat(&self, client: &Client) -> Result<Answer, CommandError> {
        Ok(self.say(client, &json!({ "kind": "progress" }))?.1)
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
    let (whole, answer) = speaker.say(&client, body)?;
    if world.json {
        return Ok(confirmed(client, &answer, format!("{whole}\n")));
    }
    let said = answer.unless_ended(said);
    Ok(told(client, &answer, format!("{said}\n"), world))
}

/// The text, then what the session has not heard; heard, once it is printed.
pub(crate) fn told(client: Client, answer: &Answer, mut text: String, world: &World) -> Reply {
    for change in &answer.changes {
        let _ = writeln!(text, "{} {}", world.paint.warning("!"), clean(change));
    }
    confirmed(client, answer, text)
}

/// The text of any command; if a session gave it, also what the session has not heard.
pub(crate) fn with_news(client: Client, text: String, world: &World) -> Reply {
    // The command itself went well, so what goes wrong here must not spoil it; the news stay for the next one.
    match context::session(world).map(|id| Speaker::Session(id.to_owned()).beat(&client)) {
        Some(Ok(answer)) => told(client, &answer, text, world),
        _ => Reply::text(text),
    }
}

/// Prints first and confirms then, so that nothing counts as heard that was not.
pub(crate) fn confirmed(client: Client, answer: &Answer, text: String) -> Reply {
    if answer.notice_cursor == 0 {
        return Reply::text(text);
    }
    let path = format!("/api/sessions/{}/notices/confirm", escaped(&answer.session_id));
    let body = json!({ "noticeCursor": answer.notice_cursor, "how": "reply to a command" });
    Reply::stream(move |out| {
        out.write_all(text.as_bytes())?;
        out.flush()?;
        // What is not confirmed is told again.
        let _ = client.post::<Json>(&path, &body);
        Ok(())
    })
}
