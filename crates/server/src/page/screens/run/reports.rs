//! Reports of sessions, as lines of the timeline.

use maestro_core::session::TimelineEntry;
use maestro_store::{DbTx, Query, SpawnBySession, StoreError, TimelineQuery, TimelineRange};

use super::entry::{LineContent, TranscriptLine};
use crate::page::badge::{StateBadge, state};
use crate::page::text::DisplayText;

/// How many are shown.
const SHOWN: i64 = 200;
/// How many characters of one.
const TEXT: usize = 4000;
/// What a session itself reports, beside its transcript.
const OWN: &[&str] = &["progress", "error", "needs_input", "task_blocked", "task_completed"];

/// The latest reports of a session, oldest first. When one that was started here began and ended, its transcript says.
pub(super) fn reports(session: &maestro_core::Session, db: &mut DbTx<'_>) -> Result<Vec<TimelineEntry>, StoreError> {
    let mut found = TimelineQuery { session: session.id.clone(), range: TimelineRange::Last(SHOWN) }.load(db)?.items;
    if SpawnBySession(session.id.clone()).load(db)?.is_some() {
        found.retain(|entry| OWN.contains(&entry.kind.as_str()));
    }
    Ok(found)
}

/// A report as a line of the timeline.
pub(super) fn report_line(entry: &TimelineEntry, since: i64) -> TranscriptLine {
    // The badge says that it started; the message says it once more.
    let is_start = matches!(entry.kind.as_str(), "session_started" | "task_started");
    let text = if is_start { DisplayText::default() } else { DisplayText::printed(&entry.message, TEXT) };
    let did = if entry.kind.as_str() == "progress" {
        LineContent::Said { text, torn: false }
    } else {
        LineContent::Line { state: report_badge(entry.kind.as_str()), about: text.text, text: None }
    };
    TranscriptLine::new(format!("r-{}", entry.id), entry.at, since, did)
}

/// What kind of report it is. What a session says of its work is a claim, and needs no action any more.
fn report_badge(kind: &str) -> StateBadge {
    match kind {
        "error" => state("bad", "✗", "error"),
        "needs_input" => state("rest", "?", "asked"),
        "task_blocked" => state("rest", "?", "blocked"),
        "task_completed" => state("plain", "–", "reported done"),
        "session_started" => state("rest", "○", "created"),
        "task_started" => state("rest", "○", "started"),
        _ => state("rest", "○", "noted"),
    }
}
