//! Cards for everything that waits for a person, oldest first and each once.

use std::collections::HashMap;

use maestro_api::waiting::WaitingBody;
use maestro_core::Session;
use maestro_core::waiting::WaitingKind;
use maestro_store::PermissionRequest;
use serde_json::{Value as Json, json};

use super::mapper::{OverviewMapper, shown};
use super::query::BlockedTask;
use crate::page::badge::{StateBadge, state};
use crate::page::cards::{
    DetailLevel, PermissionCard, QUESTION, TITLE, WaitingCard, question, run_question, worker_name,
};
use crate::page::consents::ConsentView;
use crate::page::links;

const BLOCKER: StateBadge = state("waits", "?", "blocker");

/// A card: since when, its id, its template, and what it shows.
pub(super) struct NowCard {
    since: i64,
    pub(super) id: String,
    pub(super) template: &'static str,
    pub(super) shows: Json,
}

impl OverviewMapper<'_> {
    /// The cards, oldest first.
    pub(super) fn cards(&self, waiting: &[WaitingBody], consents: &HashMap<String, ConsentView>) -> Vec<NowCard> {
        let asking = self.seen.asking.items.iter().map(|session| self.question_card(session));
        // What a session asks about is one card.
        let unasked = |blocked: &&BlockedTask| {
            let session = blocked.session.as_ref();
            session.is_none_or(|session| session.status.is_over() || session.needs_input.is_none())
        };
        let blockers = self.seen.blocked.iter().filter(unasked).map(|blocked| self.blocker(blocked));
        let is_plain = |item: &&WaitingBody| item.session_id.is_none() && consent_of(item, consents).is_none();
        let of_runs = waiting.iter().filter(is_plain).filter_map(|item| self.run_card(item));
        let agree = waiting.iter().filter_map(|item| self.consent_card(item, consent_of(item, consents)?));
        let wait = |card: WaitingCard| NowCard {
            since: card.since,
            id: card.id.clone(),
            template: "cards/wait.html",
            shows: json!({ "it": card }),
        };
        let ask = |(asked, session): &(PermissionRequest, Session)| {
            let mut card = PermissionCard::of(asked, worker_name(session), DetailLevel::Glance);
            card.work = Some(self.title(session));
            card.project = self.project(Some(&session.project));
            let (since, id) = (card.since, card.id.clone());
            NowCard { since, id, template: "cards/permission.html", shows: json!({ "it": card }) }
        };
        let asks = self.seen.questions.items.iter().map(ask);
        let mut cards: Vec<NowCard> =
            asking.chain(blockers).chain(of_runs).map(wait).chain(asks).chain(agree).collect();
        cards.sort_by_key(|card| card.since);
        cards
    }

    /// What a run would execute, with what changed since that was allowed.
    fn consent_card(&self, item: &WaitingBody, view: &ConsentView) -> Option<NowCard> {
        let plain = self.run_card(item)?;
        let (id, since, shows) = (plain.id, item.since, view.card(&plain.title, item.since));
        Some(NowCard { since, id, template: "cards/consent.html", shows })
    }

    fn question_card(&self, session: &Session) -> WaitingCard {
        let since = self.asks_since(session);
        let told = self.last_prompt(&session.id, since);
        let (title, project) = (self.title(session), self.project(Some(&session.project)));
        let card = question(session, since, told);
        let is_stuck = self.seen.blocked.iter().any(|blocked| blocked.is_by(session));
        WaitingCard { title, project, state: if is_stuck { BLOCKER } else { card.state }, ..card }
    }

    fn blocker(&self, blocked: &BlockedTask) -> WaitingCard {
        let BlockedTask { task, session, why } = blocked;
        let since = why.as_ref().map_or(task.updated_at, |line| line.at);
        let listens = session.as_ref().filter(|session| !session.status.is_over());
        let words = match (why, session) {
            (Some(line), _) => shown(&line.message, QUESTION),
            (None, Some(session)) if session.status.is_over() => self.end_reason(session),
            (None, Some(_)) => "No reason given.".to_owned(),
            (None, None) => "Marked as blocked; no session works on it.".to_owned(),
        };
        WaitingCard {
            id: format!("block-{}", task.id),
            state: BLOCKER,
            who: session.as_ref().map(worker_name),
            title: shown(&task.title, TITLE),
            href: Some(match session {
                Some(session) => format!("/sessions/{}", session.id),
                None => format!("/work?task={}", task.id),
            }),
            project: self.project(Some(&task.project)),
            text: words,
            since,
            session: listens.map(|session| session.id.to_string()),
            task: Some(task.id.to_string()).filter(|_| listens.is_none()),
            told: listens.and_then(|session| self.last_prompt(&session.id, since)),
            ..WaitingCard::default()
        }
    }

    /// What a run itself asks: a question of its workflow, a decision at a gate, or consent.
    fn run_card(&self, item: &WaitingBody) -> Option<WaitingCard> {
        let id = item.run_id.as_ref()?;
        let run = self.runs.iter().find(|run| run.record.id.to_string() == *id);
        Some(WaitingCard {
            title: run.map_or_else(|| shown(&item.name, TITLE), |run| self.run_title(run)),
            href: Some(links::run(id, None)),
            project: run.and_then(|run| self.project(run.record.about.project.as_ref())),
            ..run_question(item, run.and_then(|run| run.agent()))
        })
    }
}

/// The question that a run waits with, where it is about consent and could be read.
fn consent_of<'c>(item: &WaitingBody, consents: &'c HashMap<String, ConsentView>) -> Option<&'c ConsentView> {
    let is_consent = item.kind == WaitingKind::Consent && item.ticket.is_none();
    item.run_id.as_ref().filter(|_| is_consent).and_then(|run| consents.get(run))
}
