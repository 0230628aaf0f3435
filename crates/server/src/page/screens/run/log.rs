//! Log of a session: what its agent sent, as it came, with a search.

use maestro_core::agent::AgentEvent;
use maestro_core::id::SessionId;
use maestro_store::{DbTx, Query, StoreError, TranscriptEntry, TranscriptMatches, TranscriptTail};
use serde::Serialize;
use serde_json::Value as Json;

use crate::page::text::DisplayText;

/// How many lines are shown at once.
const SHOWN: i64 = 500;
const CHARACTERS: i64 = 2 * 1024 * 1024;
/// How many characters of a line are shown.
const LINE: usize = 8000;

/// The query of a window of the log.
#[derive(Debug, Clone)]
pub(super) struct LogQuery {
    pub(super) session: SessionId,
    pub(super) before: Option<i64>,
    /// Only what contains this text.
    pub(super) find: Option<String>,
}

/// A window of the log.
#[derive(Debug)]
pub(super) struct LogWindow {
    pub(super) lines: Vec<LogLine>,
    /// The place before which there is more.
    pub(super) older: Option<(i64, i64)>,
}

/// A line of the log.
#[derive(Debug, Serialize)]
pub(super) struct LogLine {
    pub(super) id: String,
    at: i64,
    kind: String,
    text: DisplayText,
}

impl Query for LogQuery {
    type Output = LogWindow;

    fn load(&self, db: &mut DbTx<'_>) -> Result<LogWindow, StoreError> {
        let (session, before) = (self.session.clone(), self.before);
        let (entries, more) = if let Some(text) = &self.find {
            let found = TranscriptMatches { session, before, text: text.clone(), limit: SHOWN + 1 }.load(db)?;
            let more = i64::try_from(found.len()).unwrap_or(0) > SHOWN;
            (found.into_iter().skip(usize::from(more)).collect(), more)
        } else {
            let tail = TranscriptTail { session, before, limit: SHOWN, characters: CHARACTERS }.load(db)?;
            (tail.entries, tail.more)
        };
        let older = entries.first().filter(|_| more).map(|entry: &TranscriptEntry| (entry.at, entry.ord));
        Ok(LogWindow { lines: entries.iter().map(line).collect(), older })
    }
}

fn line(entry: &TranscriptEntry) -> LogLine {
    let whole = serde_json::to_value(&entry.event).unwrap_or_default();
    let kind = whole.get("type").and_then(Json::as_str).unwrap_or_default();
    let text = match &entry.event {
        AgentEvent::Said { text } | AgentEvent::Thought { text } | AgentEvent::Printed { text, .. } => text.clone(),
        _ => whole.get("payload").map(ToString::to_string).unwrap_or_default(),
    };
    LogLine {
        id: format!("l-{}", entry.ord),
        at: entry.at,
        kind: kind.trim_start_matches("agent:").to_owned(),
        text: DisplayText::colored(&text, LINE),
    }
}
