//! Box to talk to the agent of a run, and cards for what the run waits for.

use std::sync::LazyLock;

use maestro_api::waiting::WaitingBody;
use maestro_core::agent::{AgentCatalogue, ReportAbility};
use maestro_core::workflow::run::{PersonItemKind, RunDriver};
use maestro_store::PermissionRequest;
use serde::Serialize;

use super::mapper::RunMapper;
use crate::page::cards::{
    DetailLevel, LastPrompt, PermissionCard, WaitingCard, next_step_view, prompt_view, question, run_question,
    worker_name,
};

/// The box.
#[derive(Debug, Serialize)]
pub(super) struct TalkBox {
    /// Where it is sent.
    action: String,
    /// The session that receives it at once.
    session: Option<String>,
    /// Whether it can wait for the next step.
    can_wait: bool,
    /// Whether the agent receives nothing before its turn ends.
    is_deaf: bool,
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
    /// A message for the agent that begins next.
    NextStep,
    /// More work on what the run left.
    Revision,
    /// Nothing: the run waits for no one who could read it.
    None,
}

impl RunMapper<'_> {
    /// The box.
    pub(super) fn talk(&self, can_revise: bool) -> TalkBox {
        let listening = self.focus().filter(|focus| !focus.session.status.is_over());
        let can_wait = self.overview.as_ref().is_some_and(|run| {
            let is_ours = run.record.about.driver == RunDriver::Server;
            is_ours && !run.record.run.is_over()
        });
        let kind = match listening {
            Some(_) => TalkKind::Message,
            None if self.is_over() && can_revise => TalkKind::Revision,
            None if can_wait => TalkKind::NextStep,
            None => TalkKind::None,
        };
        let base = self.subject.form_path();
        TalkBox {
            action: match (kind, listening) {
                (TalkKind::Message, Some(focus)) if !can_wait => {
                    format!("/page/sessions/{}/messages", focus.session.id)
                }
                (TalkKind::Message | TalkKind::NextStep, _) => format!("{base}/say"),
                _ => format!("{base}/revise"),
            },
            session: listening.map(|focus| focus.session.id.to_string()),
            can_wait,
            is_deaf: listening.is_some_and(|focus| is_deaf(focus.session.agent.as_deref())),
            who: self.focus().map_or_else(|| "the agent".to_owned(), |focus| worker_name(&focus.session)),
            told: self.last_words(),
            kind,
        }
    }

    /// What a person said last, to the agent at work or to that of the next step.
    fn last_words(&self) -> Option<LastPrompt> {
        let told = self.focus().and_then(|focus| focus.told.as_ref()).map(prompt_view);
        let mut items = self.overview.iter().flat_map(|run| &run.record.run.person_items);
        let waits = items.rfind(|item| item.kind == PersonItemKind::Message).map(next_step_view);
        told.into_iter().chain(waits).max_by_key(|words| words.at)
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

    /// What waits for a person because of this run.
    pub(super) fn own_waits<'w>(&self, waits: &'w [WaitingBody]) -> impl Iterator<Item = &'w WaitingBody> {
        let id = self.subject.id();
        waits.iter().filter(move |item| item.session_id.is_none() && item.run_id.as_deref() == Some(&id))
    }

    /// What the run itself asks.
    pub(super) fn run_questions(&self, waits: &[WaitingBody]) -> Vec<WaitingCard> {
        let own = self.own_waits(waits);
        let agent = self.overview.as_ref().and_then(|run| run.agent());
        own.map(|item| run_question(item, agent)).collect()
    }
}

/// Whether an agent can run nothing, and so receives nothing while it works.
fn is_deaf(agent: Option<&str>) -> bool {
    static BUILTIN: LazyLock<AgentCatalogue> = LazyLock::new(AgentCatalogue::builtin);
    let known = agent.and_then(|agent| BUILTIN.find(agent).ok());
    known.is_some_and(|agent| agent.reporting == ReportAbility::Unable)
}

/// A permission request, in full.
pub(super) fn permission_card(asked: &PermissionRequest, session: &maestro_core::Session) -> PermissionCard {
    PermissionCard::of(asked, worker_name(session), DetailLevel::Full)
}
