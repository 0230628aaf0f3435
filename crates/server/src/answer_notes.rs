//! Notes on answers that were given a moment ago, so that open pages can say by whom.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use maestro_core::RunId;
use maestro_core::agent::PermissionChoiceKind;
use maestro_core::excerpt::ellipsize;
use maestro_core::id::SessionId;
use maestro_store::hash_secret;
use serde::Serialize;

/// How long a note is kept, in milliseconds; the line of an answered card is shown for less.
const KEPT: i64 = 30_000;
/// How many characters of an answer are shown.
const WORDS: usize = 80;

/// What waited for an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AnsweredCard<'a> {
    /// A permission that an agent asked for.
    Permission {
        /// The session.
        session: &'a SessionId,
        /// What the agent calls the question.
        request: &'a str,
    },
    /// A question of a run, or consent to it.
    Run(RunId),
}

impl AnsweredCard<'_> {
    /// The id of its card.
    pub(crate) fn id(self) -> String {
        match self {
            Self::Permission { session, request } => {
                let mut short = hash_secret(request.as_bytes());
                short.truncate(12);
                format!("ask-{session}-{short}")
            }
            Self::Run(run) => format!("wait-{run}"),
        }
    }
}

/// Where an answer came from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AnswerWay<'a> {
    /// An open page, by the name that it gave itself.
    Page(Option<&'a str>),
    /// A request of this caller, in words.
    Api(&'static str),
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct AnswerNote {
    words: String,
    who: &'static str,
    /// The page that sent it, which needs no telling who that was.
    page: Option<String>,
}

/// The answers of the last moments, by the ids of their cards.
#[derive(Debug, Default)]
pub(crate) struct AnswerNotes(Mutex<HashMap<String, (i64, AnswerNote)>>);

impl AnswerNotes {
    /// Keeps an answer that is about to be given: a page that shows its effect finds it here.
    pub(crate) fn keep(&self, card: AnsweredCard<'_>, words: &str, way: AnswerWay<'_>, now: i64) {
        let (who, page) = match way {
            AnswerWay::Page(page) => ("you, on another page", page.map(str::to_owned)),
            AnswerWay::Api(who) => (who, None),
        };
        let note = AnswerNote { words: ellipsize(words, WORDS), who, page };
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.retain(|_, (at, _)| now - *at < KEPT);
        match card {
            // The first answer counts, and there is no second question with this id.
            AnsweredCard::Permission { .. } => drop(notes.entry(card.id()).or_insert((now, note))),
            AnsweredCard::Run(_) => drop(notes.insert(card.id(), (now, note))),
        }
    }

    /// The answer to a card.
    pub(crate) fn of(&self, card: &str) -> Option<AnswerNote> {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.get(card).map(|(_, note)| note.clone())
    }
}

/// An answer to a permission request, in words.
pub(crate) fn permission_words(answer: PermissionChoiceKind) -> &'static str {
    match answer {
        PermissionChoiceKind::AllowOnce => "Allowed once",
        PermissionChoiceKind::AllowAlways => "Allowed in this run",
        PermissionChoiceKind::RejectOnce | PermissionChoiceKind::RejectAlways => "Denied",
    }
}
