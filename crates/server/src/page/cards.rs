//! Cards for what waits for a person, and words that several screens share.

mod permission;
mod run_question;

use maestro_api::waiting::WaitingBody;
use maestro_core::excerpt::ellipsize;
use maestro_core::message::SessionMessage;
use maestro_core::session::{EndReason, SessionStatus};
use maestro_core::workflow::run::{PersonItem, PersonItemState};
use maestro_core::{Session, WorkState};
use serde::Serialize;

use super::badge::{StateBadge, state};
use super::text::DisplayText;

pub(super) use permission::{DetailLevel, PermissionCard, decode};
pub(super) use run_question::run_question;

/// How many characters of a text are shown.
pub(super) const TITLE: usize = 200;
pub(super) const WORDS: usize = 300;
pub(super) const QUESTION: usize = 2000;

const QUESTION_STATE: StateBadge = state("waits", "?", "question");

/// An item that waits for a person.
#[derive(Debug, Default, Serialize)]
pub(super) struct WaitingCard {
    pub(super) id: String,
    pub(super) state: StateBadge,
    pub(super) who: Option<String>,
    pub(super) title: String,
    /// Where its work is shown.
    pub(super) href: Option<String>,
    pub(super) project: Option<String>,
    pub(super) text: String,
    pub(super) since: i64,
    /// The session that receives the answer.
    pub(super) session: Option<String>,
    /// The task that can be reopened, where no session can receive an answer.
    pub(super) task: Option<String>,
    /// The answer that was sent.
    pub(super) told: Option<LastPrompt>,
    /// The run that receives the answer, and the ticket of its question.
    pub(super) run: Option<String>,
    pub(super) ticket: Option<String>,
    /// The answers to choose from; none for a free text.
    pub(super) options: Vec<CardOption>,
    /// The command that helps, where only a command does.
    pub(super) command: Option<String>,
}

/// An answer to choose: what is sent, and what people read.
#[derive(Debug, Clone, Serialize)]
pub(super) struct CardOption {
    value: String,
    title: String,
}

impl CardOption {
    /// The first answers to what waits, each cut to a title.
    pub(super) fn of(item: &WaitingBody, most: usize) -> Vec<Self> {
        let option = |value: &String| {
            let title = item.titles.get(value).unwrap_or(value);
            Self { value: value.clone(), title: ellipsize(title, TITLE) }
        };
        item.options.iter().take(most).map(option).collect()
    }
}

/// The last message sent to a session.
#[derive(Debug, Clone, Serialize)]
pub(super) struct LastPrompt {
    text: String,
    state: &'static str,
    pub(super) at: i64,
}

/// The name of a worker: the agent, a given name, or the role.
pub(crate) fn worker_name(session: &Session) -> String {
    if let Some(agent) = session.agent.as_deref().filter(|agent| !agent.is_empty()) {
        return ellipsize(agent, TITLE);
    }
    let given = !session.name.is_empty() && !session.name.starts_with("Session for ");
    if given && !session.tasks.is_empty() { ellipsize(&session.name, TITLE) } else { session.role.as_str().to_owned() }
}

/// A session's question to a person.
pub(super) fn question(session: &Session, since: i64, told: Option<LastPrompt>) -> WaitingCard {
    WaitingCard {
        id: format!("wait-{}", session.id),
        state: QUESTION_STATE,
        who: Some(worker_name(session)),
        href: Some(format!("/sessions/{}", session.id)),
        text: DisplayText::exactly(session.needs_input.as_deref().unwrap_or_default(), QUESTION).text,
        since,
        session: Some(session.id.to_string()),
        told,
        ..WaitingCard::default()
    }
}

/// Words for the agent of the next step.
pub(super) fn next_step_view(item: &PersonItem) -> LastPrompt {
    let is_queued = item.state == PersonItemState::Queued;
    let state = if is_queued { "queued until the next step" } else { "delivered" };
    LastPrompt { text: ellipsize(&item.text, WORDS), state, at: item.at }
}

pub(super) fn prompt_view(told: &SessionMessage) -> LastPrompt {
    LastPrompt { text: ellipsize(&told.text, WORDS), state: told.state.as_str(), at: told.created_at }
}

/// How a session ended, in the words that the API and the commands use. That it is done is its own claim, so that it is
/// not green.
pub(super) fn end_badge(session: &Session) -> (StateBadge, Option<&'static str>) {
    match (session.status, session.end) {
        (SessionStatus::Completed, _) => (state("plain", "–", WorkState::Ready.label()), None),
        (_, Some(EndReason::Cancelled)) => (state("bad", "✗", "stopped"), Some("canceled")),
        (SessionStatus::Stopped, Some(EndReason::Silence)) => {
            (state("bad", "✗", "stopped"), Some("no activity; its tasks are available again"))
        }
        (_, Some(EndReason::Exited)) => (state("bad", "✗", "stopped"), Some("its program exited")),
        _ => (state("bad", "✗", "stopped"), None),
    }
}
