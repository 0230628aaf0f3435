//! Timeline of a run: what its agents did and said, what people told them, and what happened to the run between.
//!
//! Only a window of it is read: the newest entries, or those before a place. The rest is a link away, so that a
//! transcript of any length is shown as fast as a short one.

use std::fmt;
use std::str::FromStr;

use maestro_core::Session;
use maestro_core::id::SessionId;
use maestro_core::message::{MessageState, SessionMessage};
use maestro_core::session::TimelineEntry;
use maestro_store::{DbTx, Query, StoreError, TranscriptTail};

use super::entry::{self, LineContent, TranscriptLine, TranscriptState};
use super::groups::{EventGroup, EventGroups};
use super::history::{RunHistory, VisitRecord};
use super::query::{self, RunSession};
use super::reports::{report_line, reports};
use super::run_line::{HistoryEvent, HistoryLine};
use crate::page::badge::state;
use crate::page::cards::worker_name;
use crate::page::text::DisplayText;

/// How many entries are shown at once, and how many a copy holds.
const SHOWN: usize = 200;
const COPIED: usize = 5000;
/// How many transcript events are read for them. Messages come in pieces, many of which make one entry.
const ENTRIES: i64 = 4000;
const CHARACTERS: i64 = 1024 * 1024;
/// How many characters are shown of a point, and of a message.
const POINT: usize = 2000;
const SAID: usize = 4000;

/// A place in the timeline: a moment, and an entry of a session's transcript.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct TimelinePlace {
    at: i64,
    ord: i64,
    session: SessionId,
}

impl TimelinePlace {
    pub(super) fn new(at: i64, ord: i64, session: SessionId) -> Self {
        Self { at, ord, session }
    }

    /// The place in the transcript of this session.
    pub(super) fn within(&self, session: &SessionId) -> Option<i64> {
        (self.session == *session).then_some(self.ord)
    }
}

/// Why a text is no place in a timeline.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a moment, a place and a session, as in the link to older entries")]
pub(super) struct InvalidPlace;

impl FromStr for TimelinePlace {
    type Err = InvalidPlace;

    fn from_str(text: &str) -> Result<Self, InvalidPlace> {
        let mut parts = text.splitn(3, '.');
        let mut number = || parts.next().and_then(|part| part.parse().ok()).ok_or(InvalidPlace);
        let (at, ord) = (number()?, number()?);
        let session = parts.next().and_then(|part| part.parse().ok()).ok_or(InvalidPlace)?;
        Ok(Self { at, ord, session })
    }
}

impl fmt::Display for TimelinePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.at, self.ord, self.session)
    }
}

/// How much of a timeline is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimelineExtent {
    /// As much as is shown at once.
    Window,
    /// As much as a copy holds.
    Copy,
}

impl TimelineExtent {
    /// How many entries that is.
    fn most(self) -> usize {
        match self {
            Self::Window => SHOWN,
            Self::Copy => COPIED,
        }
    }

    /// How many events of a session's transcript, and how many characters.
    fn of_session(self) -> (i64, i64) {
        match self {
            Self::Window => (ENTRIES, CHARACTERS),
            Self::Copy => (ENTRIES * 10, CHARACTERS * 8),
        }
    }
}

/// The query of a window: of these sessions, oldest first, each with its number.
#[derive(Debug, Clone)]
pub(super) struct WindowQuery {
    pub(super) sessions: Vec<(usize, Session)>,
    pub(super) before: Option<TimelinePlace>,
    pub(super) extent: TimelineExtent,
}

/// What was read of the sessions.
#[derive(Debug, Default)]
pub(super) struct TimelineWindow {
    /// The transcripts, oldest first.
    parts: Vec<WindowPart>,
    messages: Vec<SessionMessage>,
    /// The place before which there is more.
    pub(super) older: Option<TimelinePlace>,
    /// What is not shown because it is newer.
    until: Option<i64>,
}

#[derive(Debug)]
struct WindowPart {
    number: usize,
    session: Session,
    groups: Vec<EventGroup>,
    /// What the session reported.
    reports: Vec<TimelineEntry>,
}

impl Query for WindowQuery {
    type Output = TimelineWindow;

    fn load(&self, db: &mut DbTx<'_>) -> Result<TimelineWindow, StoreError> {
        let newest = self
            .before
            .as_ref()
            .and_then(|place| self.sessions.iter().position(|(_, session)| session.id == place.session));
        let until = self.before.as_ref().map(|place| place.at);
        let mut window = TimelineWindow { until, ..TimelineWindow::default() };
        let mut left = self.extent.most();
        let (limit, characters) = self.extent.of_session();
        let end = newest.map_or(self.sessions.len(), |newest| newest + 1);
        for (index, (number, session)) in self.sessions[..end].iter().enumerate().rev() {
            if left == 0 {
                break;
            }
            let before = self.before.as_ref().filter(|_| newest == Some(index)).map(|place| place.ord);
            let id = session.id.clone();
            let tail = TranscriptTail { session: id.clone(), before, limit, characters };
            let found = EventGroups::of(tail.load(db)?, left);
            window.messages.extend(query::messages(&id, db)?);
            let reports = reports(session, db)?;
            left = left.saturating_sub(found.items.len());
            let earlier = index > 0 && left == 0;
            if let Some(first) = found.items.first().filter(|_| found.older.is_some() || earlier) {
                window.older = Some(TimelinePlace { at: first.at, ord: first.ord, session: id });
                left = 0;
            }
            window.parts.push(WindowPart { number: *number, session: session.clone(), groups: found.items, reports });
        }
        window.parts.reverse();
        Ok(window)
    }
}

/// What the entries are about, beside the transcripts.
pub(super) struct TimelineContext<'a> {
    pub(super) history: &'a RunHistory,
    pub(super) sessions: &'a [RunSession],
    /// The visit that is shown; all of them, if none is selected.
    pub(super) visit: Option<usize>,
    /// When the run began.
    pub(super) since: i64,
}

impl TimelineWindow {
    /// Whether newer entries exist.
    pub(super) fn is_past(&self) -> bool {
        self.until.is_some()
    }

    /// The entries in their order.
    pub(super) fn lines(&self, context: &TimelineContext<'_>, extent: TimelineExtent) -> Vec<TranscriptLine> {
        let from = self.older.as_ref().map_or(i64::MIN, |place| place.at);
        let until = self.until.unwrap_or(i64::MAX);
        let within = |at: i64| at >= from && at < until;
        // Of the same moment, what happened to the run comes before what its agent did.
        let of_run = context.history.lines.iter().filter(|line| within(line.at) && context.shows(line));
        let mut lines: Vec<TranscriptLine> = of_run.map(|line| context.run_line(line)).collect();
        for part in &self.parts {
            let running = !part.session.status.is_over() && !self.is_past();
            let course = if running { TranscriptState::Running } else { TranscriptState::Ended };
            let did = entry::entries(&part.groups, part.number, context.since, course);
            // A report is shown as words, and not once more as the command that sent it.
            lines.extend(did.into_iter().filter(|line| !part.reports.iter().any(|entry| line.sends(&entry.message))));
            let reported = part.reports.iter().filter(|entry| within(entry.at));
            lines.extend(reported.map(|entry| report_line(entry, context.since)));
        }
        let said = self.messages.iter().filter(|message| within(message.created_at));
        lines.extend(said.map(|message| context.message_line(message)));
        lines.sort_by_key(TranscriptLine::at);
        let extra = lines.len().saturating_sub(extent.most() * 2);
        lines.drain(..extra);
        lines
    }
}

impl TimelineContext<'_> {
    fn shows(&self, line: &HistoryLine) -> bool {
        self.visit.is_none_or(|visit| line.visit == Some(visit))
    }

    fn visit_of(&self, line: &HistoryLine) -> Option<&VisitRecord> {
        self.history.visits.get(line.visit?)
    }

    fn run_line(&self, line: &HistoryLine) -> TranscriptLine {
        let visit = self.visit_of(line);
        let title = visit.map(|visit| visit.title.clone()).unwrap_or_default();
        let did = match &line.content {
            HistoryEvent::Task(task) => {
                LineContent::Step { state: state("plain", "▸", "task"), title: task.clone(), who: None }
            }
            HistoryEvent::Begins => {
                let title = visit
                    .filter(|visit| visit.visit > 1)
                    .map_or(title.clone(), |visit| format!("{title}, {}", nth(visit.visit)));
                LineContent::Step { state: state("plain", "▸", "step"), title, who: self.agent_of(line) }
            }
            HistoryEvent::Executed { badge, reason } => {
                let text = reason.as_deref().map(|reason| DisplayText::printed(reason, POINT));
                LineContent::Line { state: *badge, about: title, text }
            }
            HistoryEvent::Verdict { badge, title: said, points } => LineContent::Block {
                state: *badge,
                title: said.clone().unwrap_or(title),
                points: points.iter().map(|point| DisplayText::printed(point, POINT)).collect(),
            },
            HistoryEvent::Message { text, is_delivered, .. } => {
                let fate = if *is_delivered { "delivered" } else { "queued until the next step" }.to_owned();
                LineContent::Message { from: "you".to_owned(), text: DisplayText::exactly(text, SAID), fate }
            }
            HistoryEvent::Note { badge, text } => {
                let mut lines = text.splitn(2, '\n');
                let about = lines.next().unwrap_or_default().to_owned();
                let rest = lines.next().map(|rest| DisplayText::printed(rest, POINT));
                LineContent::Line { state: *badge, about, text: rest }
            }
        };
        TranscriptLine::new(format!("e-{}", line.seq), line.at, self.since, did)
    }

    /// The agent that works at a visit.
    fn agent_of(&self, line: &HistoryLine) -> Option<String> {
        let of = |session: &&RunSession| {
            let step = session.step.as_deref().unwrap_or_default();
            self.history.visit_of(step, session.session.started_at) == line.visit
        };
        self.sessions.iter().find(of).map(|session| worker_name(&session.session))
    }

    fn message_line(&self, message: &SessionMessage) -> TranscriptLine {
        let fate = match (message.state, &message.how) {
            (MessageState::Queued, _) => "queued until its next call".to_owned(),
            (MessageState::Delivered, _) => "delivered".to_owned(),
            (MessageState::Refused, Some(why)) => format!("not delivered: {why}"),
            (MessageState::Refused, None) => "not delivered".to_owned(),
        };
        let text = DisplayText::exactly(&message.text, SAID);
        let did = LineContent::Message { from: message.from.clone(), text, fate };
        TranscriptLine::new(format!("m-{}", message.id), message.created_at, self.since, did)
    }
}

/// `2nd time`.
fn nth(visit: u32) -> String {
    match visit {
        2 => "2nd time".to_owned(),
        3 => "3rd time".to_owned(),
        more => format!("{more}th time"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written() {
        let place: TimelinePlace = "1738713600000.17.sess_1".parse().unwrap();
        assert_eq!(place.to_string(), "1738713600000.17.sess_1");
        for wrong in ["", "1", "1.2", "a.2.s", "1.b.s", "1.2."] {
            assert_eq!(wrong.parse::<TimelinePlace>(), Err(InvalidPlace), "{wrong}");
        }
    }
}
