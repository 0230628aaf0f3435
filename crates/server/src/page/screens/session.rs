//! Screen of one session: its state, its transcript, and what it was given.

mod entry;
mod groups;
pub(super) mod query;
mod view;

use axum::http::Uri;
use maestro_core::id::SessionId;
use serde::Deserialize;
use serde_json::json;

use self::query::SessionScreenQuery;
use self::view::SessionView;
use crate::app::AppState;
use crate::error::ApiError;
use crate::page::agent_totals::AgentTotals;
use crate::page::fragments::{ScreenPage, ScreenRenderer};

/// A session, or what it did before a place in its transcript.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::page) struct SessionAddress {
    session: SessionId,
    before: Option<i64>,
}

#[derive(Deserialize)]
struct TranscriptQuery {
    before: Option<i64>,
}

impl SessionAddress {
    pub(super) fn parse(session: &str, uri: &Uri) -> Result<Self, ApiError> {
        let TranscriptQuery { before } = super::query(uri)?;
        let session = session.parse().map_err(|error| ApiError::field("id", error))?;
        Ok(Self { session, before })
    }

    pub(super) fn address(&self) -> String {
        let Self { session, before } = self;
        before.map_or_else(|| format!("/sessions/{session}"), |before| format!("/sessions/{session}?before={before}"))
    }

    pub(super) async fn render(&self, app: &AppState, screen: &mut ScreenRenderer<'_>) -> Result<ScreenPage, ApiError> {
        let account = screen.kept::<AgentTotals>().cloned().unwrap_or_default();
        let Self { session, before } = self.clone();
        let sight = app.store.read(SessionScreenQuery { session, at: screen.now(), before, account }).await?;
        let view = SessionView::new(&sight);
        screen.keep(sight.account);
        screen.part("about", "session/about.html", json!({ "it": view.about }))?;
        screen.part("facts", "session/facts.html", json!({ "it": view.facts }))?;
        screen.part("talk", "session/talk.html", json!({ "it": view.talk }))?;
        screen.part("older", "session/older.html", json!({ "session": view.session, "before": view.older }))?;
        screen.note("transcript-note", view.note)?;
        let question = view.question.iter().map(|question| (question.id.as_str(), question));
        screen.list("question", "cards/wait.html", question)?;
        screen.list("asks", "cards/permission.html", view.asks.iter().map(|ask| (ask.id.as_str(), ask)))?;
        screen.list("transcript", "session/entry.html", view.entries.iter().map(|entry| (entry.id.as_str(), entry)))?;
        Ok(ScreenPage {
            template: "session/session.html",
            title: Some(view.about.title),
            rail: None,
            styles: &["session.css"],
            scripts: &["session.js"],
            keys: &[
                ("a A d", "allow once, always in this run, deny"),
                ("s", "write a message"),
                ("p", "pause, resume"),
            ],
            live: !view.past,
            data: json!({ "session": view.session, "past": view.past }),
        })
    }
}
