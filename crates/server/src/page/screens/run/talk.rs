//! Box to talk to the agent of a run, and cards for what the run waits for.

use maestro_api::waiting::WaitingBody;
use maestro_core::excerpt::ellipsize;
use maestro_core::waiting::WaitingKind;
use maestro_store::PermissionRequest;
use serde::Serialize;

use super::mapper::RunMapper;
use crate::page::badge::state;
use crate::page::cards::{
    CardOption, DetailLevel, LastPrompt, PermissionCard, QUESTION, TITLE, WaitingCard, prompt_view, question,
    worker_name,
};
use crate::page::text::DisplayText;

/// How many options are buttons.
const MOST_OPTIONS: usize = 20;

/// The box.
#[derive(Debug, Serialize)]
pub(super) struct TalkBox {
    /// Where it is sent.
    action: String,
    who: String,
    told: Option<LastPrompt>,
    kind: TalkKind,
}

/// What a sentence becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TalkKind {
    /// A message for the agent that works.
    Message,
    /// More work on what the run left.
    Revision,
    /// Nothing: the run waits for no one who could read it.
    None,
}

impl RunMapper<'_> {
    /// The box.
    pub(super) fn talk(&self, can_revise: bool) -> TalkBox {
        let listening = self.focus().filter(|focus| !focus.session.status.is_over());
        let kind = match listening {
            Some(_) => TalkKind::Message,
            None if self.is_over() && can_revise => TalkKind::Revision,
            None => TalkKind::None,
        };
        let focus = self.focus();
        TalkBox {
            action: match (kind, listening) {
                (TalkKind::Message, Some(focus)) => format!("/page/sessions/{}/messages", focus.session.id),
                _ => format!("{}/revise", self.subject.form_path()),
            },
            who: focus.map_or_else(|| "the agent".to_owned(), |focus| worker_name(&focus.session)),
            told: focus.and_then(|focus| focus.told.as_ref()).map(prompt_view),
            kind,
        }
    }

    /// The question of its session to a person, until it continues.
    pub(super) fn session_question(&self) -> Option<WaitingCard> {
        let focus = self.focus().filter(|focus| !focus.session.status.is_over())?;
        focus.session.needs_input.as_ref()?;
        let asked = focus.words.as_ref().filter(|line| line.kind.as_str() == "needs_input");
        let since = asked.map_or(focus.session.last_activity, |line| line.at);
        let told = focus.told.as_ref().filter(|told| told.created_at >= since).map(prompt_view);
        Some(question(&focus.session, since, told))
    }

    /// What the run itself asks.
    pub(super) fn run_questions(&self, waits: &[WaitingBody]) -> Vec<WaitingCard> {
        let id = self.subject.id();
        let own = waits.iter().filter(|item| item.session_id.is_none() && item.run_id.as_deref() == Some(&id));
        own.map(|item| self.run_question(item)).collect()
    }

    fn run_question(&self, item: &WaitingBody) -> WaitingCard {
        let (text, command) = match (item.kind, &item.ticket) {
            (WaitingKind::Consent, None) => split_command(&item.text),
            _ => (item.text.clone(), None),
        };
        let agent = self.overview.as_ref().and_then(|run| run.agent());
        WaitingCard {
            id: format!("wait-{}", item.id),
            state: state("waits", "?", item.kind.label()),
            who: agent.map(|agent| ellipsize(agent, TITLE)),
            text: DisplayText::exactly(&text, QUESTION).text,
            since: item.since,
            run: item.run_id.clone(),
            ticket: item.ticket.clone(),
            options: CardOption::of(item, MOST_OPTIONS),
            command,
            ..WaitingCard::default()
        }
    }
}

/// A permission request, in full.
pub(super) fn permission_card(asked: &PermissionRequest, session: &maestro_core::Session) -> PermissionCard {
    PermissionCard::of(asked, worker_name(session), DetailLevel::Full)
}

/// A hint with the command that it names.
fn split_command(text: &str) -> (String, Option<String>) {
    let mut parts = text.split('`');
    match (parts.next(), parts.next()) {
        (Some(words), Some(command)) => {
            (words.trim_end_matches("allow it with ").trim_end_matches("; ").to_owned(), Some(command.to_owned()))
        }
        _ => (text.to_owned(), None),
    }
}
