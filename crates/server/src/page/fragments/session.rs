//! Fragments of a session's page.

use minijinja::Error;
use serde_json::json;

use super::{FragmentRenderer, RenderedScreen};
use crate::page::session::AgentTotals;
use crate::page::view::SessionView;

impl RenderedScreen {
    /// Renders what changed in a session since another shot, and reuses the rest.
    pub(in crate::page) fn of_session(
        view: &SessionView,
        account: AgentTotals,
        banner: Option<&str>,
        before: Option<&Self>,
    ) -> Result<Self, Error> {
        let mut shot = Self { account, ..Self::empty(view.seq, view.now, view.waiting) };
        let mut press = FragmentRenderer { shot: &mut shot, before };
        press.banner(banner)?;
        press.part("about", "about.html", json!({ "it": view.about }))?;
        press.part("facts", "facts.html", json!({ "it": view.facts }))?;
        press.part("talk", "talk.html", json!({ "it": view.talk }))?;
        press.part("older", "older.html", json!({ "session": view.session, "before": view.older }))?;
        press.part("transcript-note", "note.html", json!({ "note": view.note }))?;
        let question = view.question.iter().map(|question| (question.id.as_str(), question));
        press.list("question", "wait.html", question)?;
        press.list("asks", "permission.html", view.asks.iter().map(|ask| (ask.id.as_str(), ask)))?;
        press.list("transcript", "entry.html", view.entries.iter().map(|entry| (entry.id.as_str(), entry)))?;
        Ok(shot)
    }
}
