//! Groups of transcript events that people see as one entry: pieces of a text, a call and its result, a request and its
//! answer.

use std::collections::HashMap;
use std::mem::discriminant;

use maestro_core::agent::AgentEvent;
use maestro_store::{TranscriptEntry, TranscriptExcerpt};

/// The transcript in entries, oldest first.
#[derive(Debug)]
pub(in crate::page) struct EventGroups {
    pub(in crate::page) items: Vec<EventGroup>,
    /// The place before which there is more.
    pub(in crate::page) older: Option<i64>,
}

/// One entry of one or more events.
#[derive(Debug)]
pub(in crate::page) struct EventGroup {
    /// The place where it starts.
    pub(in crate::page) ord: i64,
    /// When it started.
    pub(in crate::page) at: i64,
    /// The time of its last event.
    pub(in crate::page) until: i64,
    /// Whether it may have started before the events that were read.
    pub(in crate::page) torn: bool,
    pub(in crate::page) events: Vec<AgentEvent>,
}

impl EventGroup {
    /// Its whole text.
    pub(in crate::page) fn words(&self) -> String {
        let words = self.events.iter().filter_map(|event| match event {
            AgentEvent::Said { text } | AgentEvent::Thought { text } | AgentEvent::Printed { text, .. } => Some(text),
            _ => None,
        });
        words.map(String::as_str).collect()
    }
}

impl EventGroups {
    /// The newest entries of a transcript, at most so many.
    pub(super) fn of(tail: TranscriptExcerpt, most: usize) -> Self {
        let mut fold = GroupFold::default();
        for entry in tail.entries {
            fold.add(entry);
        }
        let mut items = fold.groups;
        if let Some(first) = items.first_mut().filter(|_| tail.more) {
            first.torn = true;
        }
        let dropped = items.len().saturating_sub(most);
        items.drain(..dropped);
        let older = items.first().map(|group| group.ord).filter(|_| tail.more || dropped > 0);
        Self { items, older }
    }
}

/// The groups so far, and which of them may continue.
#[derive(Default)]
struct GroupFold {
    groups: Vec<EventGroup>,
    /// Calls without a result, by id.
    calls: HashMap<String, usize>,
    /// Requests without an answer, by id.
    questions: HashMap<String, usize>,
}

impl GroupFold {
    fn add(&mut self, TranscriptEntry { ord, at, event }: TranscriptEntry) {
        let there = match &event {
            // Usage is shown elsewhere, and does not separate two pieces of a text.
            AgentEvent::Usage { .. } | AgentEvent::Context { .. } => return,
            AgentEvent::Began { .. } => {
                self.calls.clear();
                self.questions.clear();
                None
            }
            AgentEvent::Said { .. } | AgentEvent::Thought { .. } | AgentEvent::Printed { .. } => self.same_kind(&event),
            AgentEvent::ToolBegan { id, .. } => self.calls.get(id).copied(),
            AgentEvent::ToolEnded { id, .. } => self.calls.remove(id),
            AgentEvent::Answered { id, .. } => self.questions.remove(id),
            _ => None,
        };
        let index = there.unwrap_or(self.groups.len());
        match &event {
            AgentEvent::ToolBegan { id, .. } => drop(self.calls.insert(id.clone(), index)),
            AgentEvent::Asked { id, .. } => drop(self.questions.insert(id.clone(), index)),
            _ => {}
        }
        match self.groups.get_mut(index) {
            Some(group) => {
                group.until = at;
                group.events.push(event);
            }
            None => self.groups.push(EventGroup { ord, at, until: at, torn: false, events: vec![event] }),
        }
    }

    /// The last group, if it is of the same kind.
    fn same_kind(&self, event: &AgentEvent) -> Option<usize> {
        let last = self.groups.last()?.events.last()?;
        (discriminant(last) == discriminant(event)).then(|| self.groups.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use maestro_core::agent::{ToolKind, ToolStatus};
    use serde_json::Value as Json;

    use super::*;

    fn said(text: &str) -> AgentEvent {
        AgentEvent::Said { text: text.to_owned() }
    }

    fn began(id: &str) -> AgentEvent {
        let (name, title) = ("run".to_owned(), "run it".to_owned());
        AgentEvent::ToolBegan { id: id.to_owned(), name, title, kind: ToolKind::Execute, input: Json::Null }
    }

    fn ended(id: &str) -> AgentEvent {
        AgentEvent::ToolEnded { id: id.to_owned(), status: ToolStatus::Ok, output: String::new() }
    }

    fn groups(events: Vec<AgentEvent>, most: usize) -> (Vec<usize>, Option<i64>) {
        let entries = (1..).zip(events).map(|(ord, event)| TranscriptEntry { ord, at: ord, event });
        let groups = EventGroups::of(TranscriptExcerpt { entries: entries.collect(), more: false }, most);
        (groups.items.iter().map(|group| group.events.len()).collect(), groups.older)
    }

    #[test]
    fn pieces_are_one_text_also_around_numbers() {
        let context = AgentEvent::Context { used: 1, size: 2 };
        assert_eq!(
            groups(vec![said("a"), context, said("b"), AgentEvent::Cut { bytes: 1 }, said("c")], 9).0,
            [2, 1, 1]
        );
    }

    #[test]
    fn calls_at_the_same_time_keep_their_answers() {
        let events = vec![began("1"), began("2"), began("1"), ended("2"), ended("1"), began("1"), ended("3")];
        assert_eq!(groups(events, 9).0, [3, 2, 1, 1], "an id may be used again, and an answer may come alone");
    }

    #[test]
    fn only_the_newest_are_kept_and_the_rest_can_be_found() {
        let events = (0..10).map(|_| AgentEvent::Cut { bytes: 1 }).collect();
        assert_eq!(groups(events, 4), (vec![1; 4], Some(7)));
    }
}
