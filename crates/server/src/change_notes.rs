//! Notes on changes that were made a moment ago, so that open pages can say by whom.

use std::sync::{Mutex, PoisonError};

use axum::http::Method;
use serde::Serialize;

/// How long a note is kept, in milliseconds; a page shows it for less.
const KEPT: i64 = 10_000;
/// How many are kept.
const MOST: usize = 64;

/// A change of a task, a session or a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ChangeNote {
    /// Its number, which it gets when it is kept.
    pub(crate) number: u64,
    /// The id of what changed.
    pub(crate) subject: String,
    /// What was done to it.
    pub(crate) words: &'static str,
    /// Who did it.
    pub(crate) who: String,
    /// The page that did it, which needs no telling who that was.
    pub(crate) page: Option<String>,
    /// When.
    #[serde(skip)]
    pub(crate) at: i64,
}

/// The changes of the last moments, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct ChangeNotes(Mutex<NoteLedger>);

#[derive(Debug, Default)]
struct NoteLedger {
    next: u64,
    notes: Vec<ChangeNote>,
}

impl ChangeNotes {
    /// Those that are still kept.
    pub(crate) fn recent(&self, now: i64) -> Vec<ChangeNote> {
        let ledger = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ledger.notes.iter().filter(|note| now - note.at < KEPT).cloned().collect()
    }

    /// Keeps a note. Returns its number.
    pub(crate) fn keep(&self, note: ChangeNote) -> u64 {
        let mut ledger = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ledger.notes.retain(|old| note.at - old.at < KEPT);
        if ledger.notes.len() >= MOST {
            ledger.notes.remove(0);
        }
        ledger.next += 1;
        let number = ledger.next;
        ledger.notes.push(ChangeNote { number, ..note });
        number
    }

    /// Removes the note of a change that failed.
    pub(crate) fn remove(&self, number: u64) {
        let mut ledger = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ledger.notes.retain(|note| note.number != number);
    }
}

/// What a request changes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RequestedChange<'p> {
    /// The id of what changes.
    pub(crate) subject: &'p str,
    /// What is done to it.
    pub(crate) words: &'static str,
    /// Whether it takes so long that it is noted only when it is done.
    pub(crate) is_slow: bool,
}

/// Reads from the address of a request what it changes; nothing for one that pages need not explain.
pub(crate) fn requested_change<'p>(method: &Method, path: &'p str) -> Option<RequestedChange<'p>> {
    let mut parts = path.trim_start_matches('/').split('/');
    let _place = parts.next().filter(|place| ["api", "page"].contains(place))?;
    let kind = parts.next().filter(|kind| ["tasks", "sessions", "runs"].contains(kind))?;
    let subject = parts.next().filter(|id| !id.is_empty())?;
    let act = parts.next();
    if parts.next().is_some() {
        return None;
    }
    let words = match (method.as_str(), act) {
        ("PATCH", None) => "changed",
        ("DELETE", None) | ("POST", Some("delete")) => "deleted",
        ("POST", Some("edit")) => "edited",
        ("POST", Some("move")) => "moved",
        ("POST", Some("pause")) => "paused",
        ("POST", Some("resume")) => "resumed",
        ("POST", Some("cancel")) => "canceled",
        ("POST", Some("reopen")) if kind == "tasks" => "reopened",
        ("POST", Some("reopen" | "retry")) => "retried",
        ("POST", Some("comment" | "items")) if kind == "runs" => "commented on",
        ("POST", Some("merge")) => "merged",
        ("POST", Some("propose")) => "proposed",
        ("POST", Some("discard")) => "discarded",
        ("POST", Some("landed")) => "closed",
        _ => return None,
    };
    let is_slow = matches!(words, "merged" | "proposed" | "discarded");
    Some(RequestedChange { subject, words, is_slow })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words<'p>(method: &Method, path: &'p str) -> Option<(&'p str, &'static str)> {
        requested_change(method, path).map(|change| (change.subject, change.words))
    }

    #[test]
    fn what_people_see_change_is_explained() {
        assert_eq!(words(&Method::PATCH, "/api/tasks/t1"), Some(("t1", "changed")));
        assert_eq!(words(&Method::DELETE, "/api/tasks/t1"), Some(("t1", "deleted")));
        assert_eq!(words(&Method::POST, "/page/tasks/t1/move"), Some(("t1", "moved")));
        assert_eq!(words(&Method::POST, "/api/runs/r1/cancel"), Some(("r1", "canceled")));
        assert_eq!(words(&Method::POST, "/page/sessions/s1/pause"), Some(("s1", "paused")));
    }

    #[test]
    fn reports_and_reads_are_not() {
        for path in ["/api/sessions/s1/reports", "/api/tasks", "/api/runs/r1/report", "/page/plans/edit", "/mcp"] {
            assert_eq!(words(&Method::POST, path), None, "{path}");
        }
        assert_eq!(words(&Method::GET, "/api/tasks/t1"), None);
        assert_eq!(words(&Method::POST, "/api/sessions/s1/permissions/cancel"), None);
    }

    #[test]
    fn notes_are_numbered_expire_and_are_bounded() {
        let notes = ChangeNotes::default();
        let note = |subject: &str, at| ChangeNote {
            number: 0,
            subject: subject.to_owned(),
            words: "moved",
            who: "codex".to_owned(),
            page: None,
            at,
        };
        let first = notes.keep(note("a", 0));
        assert!(notes.keep(note("b", 1)) > first);
        notes.remove(first);
        let subjects = |now| notes.recent(now).into_iter().map(|note| note.subject).collect::<Vec<_>>();
        assert_eq!(subjects(5), ["b"]);
        assert!(subjects(KEPT + 1).is_empty());
        for _ in 0..2 * MOST {
            notes.keep(note("c", 2));
        }
        assert_eq!(notes.recent(3).len(), MOST);
    }
}
