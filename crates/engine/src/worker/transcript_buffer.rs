//! Buffer of transcript events that are not stored yet.
//!
//! It holds everything an agent does, joins pieces of one text, and bounds what an agent merely prints.

use maestro_core::agent::AgentEvent;

/// How many bytes a text may have to which more is added.
const PIECE: usize = 8 * 1024;
/// How many bytes are kept of what one start of an agent merely prints.
const MOST_PRINTED: usize = 512 * 1024;

/// How many events wait at most for a database that cannot be written to.
const MOST_WAITING: usize = 10_000;

/// What is to be kept and is not yet.
#[derive(Debug, Default)]
pub(super) struct TranscriptBuffer {
    batch: Vec<(i64, AgentEvent)>,
    /// How many bytes were printed, as far as they are kept.
    printed: usize,
    /// How many are missing since that was last said.
    missing: u64,
}

impl TranscriptBuffer {
    /// Adds what happened at a time.
    pub(super) fn add(&mut self, at: i64, event: AgentEvent) {
        if let AgentEvent::Printed { text, .. } = &event {
            if self.printed + text.len() > MOST_PRINTED {
                self.missing += text.len() as u64 + 1;
                return;
            }
            self.printed += text.len() + 1;
        } else if self.missing > 0 {
            self.batch.push((at, AgentEvent::Cut { bytes: std::mem::take(&mut self.missing) }));
        }
        if !self.batch.last_mut().is_some_and(|(_, last)| join(last, &event)) {
            self.batch.push((at, event));
        }
    }

    /// How many things wait.
    pub(super) fn len(&self) -> usize {
        self.batch.len()
    }

    /// Puts back what could not be stored, before what came meanwhile. Of too much, the oldest is left out.
    pub(super) fn put_back(&mut self, mut events: Vec<(i64, AgentEvent)>) {
        events.append(&mut self.batch);
        let extra = events.len().saturating_sub(MOST_WAITING);
        if extra > 0 {
            tracing::warn!(
                events = extra,
                "transcript events are lost: the database could not be written to for too long"
            );
            events.drain(..extra);
        }
        self.batch = events;
    }

    /// Takes what waits.
    pub(super) fn take(&mut self) -> Vec<(i64, AgentEvent)> {
        std::mem::take(&mut self.batch)
    }
}

/// Adds a text to the one before it, where both are of the same kind and there is room.
fn join(last: &mut AgentEvent, next: &AgentEvent) -> bool {
    let (text, between, more) = match (last, next) {
        (AgentEvent::Said { text }, AgentEvent::Said { text: more })
        | (AgentEvent::Thought { text }, AgentEvent::Thought { text: more }) => (text, "", more),
        (AgentEvent::Printed { stream, text }, AgentEvent::Printed { stream: same, text: more }) if stream == same => {
            (text, "\n", more)
        }
        _ => return false,
    };
    if text.len() + more.len() > PIECE {
        return false;
    }
    text.push_str(between);
    text.push_str(more);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use maestro_core::agent::Stream;

    fn printed(text: &str) -> AgentEvent {
        AgentEvent::Printed { stream: Stream::Out, text: text.to_owned() }
    }

    fn said(text: &str) -> AgentEvent {
        AgentEvent::Said { text: text.to_owned() }
    }

    #[test]
    fn pieces_of_a_text_are_one_and_lines_stay_lines() {
        let mut kept = TranscriptBuffer::default();
        for event in [said("Good "), said("morning"), printed("a"), printed("b"), said("!")] {
            kept.add(1, event);
        }
        let all: Vec<AgentEvent> = kept.take().into_iter().map(|(_, event)| event).collect();
        assert_eq!(all, [said("Good morning"), printed("a\nb"), said("!")]);
        assert_eq!(kept.len(), 0);
    }

    #[test]
    fn what_is_missing_is_said_where_it_is_missing() {
        let mut kept = TranscriptBuffer::default();
        let line = "x".repeat(1023);
        for _ in 0..600 {
            kept.add(1, printed(&line));
        }
        kept.add(2, said("done"));
        let all = kept.take();
        let bytes: usize = all
            .iter()
            .map(|(_, event)| if let AgentEvent::Printed { text, .. } = event { text.len() + 1 } else { 0 })
            .sum();
        assert_eq!(bytes, MOST_PRINTED);
        assert_eq!(all[all.len() - 2..], [(2, AgentEvent::Cut { bytes: 88 * 1024 }), (2, said("done"))]);
    }
}
