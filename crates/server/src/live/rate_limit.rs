//! Rate limit of updates: at most five a second about one subject, the last state always among them.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use maestro_store::EventRow;
use tokio::time::Instant;

use super::signal::{ClientSignal, SignalSubject};

/// The least time between two frames about one subject.
pub(crate) const SPACING: Duration = Duration::from_millis(200);

/// When updates were sent, and which ones are waiting.
#[derive(Debug, Default)]
pub(crate) struct RateLimiter {
    sent: HashMap<SignalSubject, Instant>,
    waiting: HashMap<SignalSubject, DelayedSignal>,
    through: i64,
}

#[derive(Debug)]
struct DelayedSignal {
    due: Instant,
    /// The first change that was not sent yet.
    first: i64,
    sign: ClientSignal,
}

impl RateLimiter {
    /// The last line of the log that was read.
    pub(crate) fn through(&self) -> i64 {
        self.through
    }

    /// The events to send now; the rest waits.
    pub(crate) fn take(&mut self, rows: &[EventRow], now: Instant) -> Vec<ClientSignal> {
        let mut signs = Vec::new();
        // Sent events are read after all these lines were written, so one is enough.
        let mut fresh = HashSet::new();
        for row in rows {
            self.through = row.seq;
            let Some(sign) = ClientSignal::of(row) else { continue };
            if sign.is_deletion() {
                fresh.remove(&sign.subject);
                self.waiting.remove(&sign.subject);
                self.sent.remove(&sign.subject);
            } else if !matches!(sign.subject, SignalSubject::Pair { .. }) {
                if sign.is_update() && (fresh.contains(&sign.subject) || self.must_wait(&sign, now)) {
                    continue;
                }
                self.waiting.remove(&sign.subject);
                self.sent.insert(sign.subject.clone(), now);
                fresh.insert(sign.subject.clone());
            }
            let seq = self.delivered_through().min(sign.own);
            signs.push(ClientSignal { seq, ..sign });
        }
        signs
    }

    /// Defers an update when the last one was just sent.
    fn must_wait(&mut self, sign: &ClientSignal, now: Instant) -> bool {
        if let Some(waiting) = self.waiting.get_mut(&sign.subject) {
            waiting.sign.own = sign.own;
            return true;
        }
        let Some(due) = self.sent.get(&sign.subject).map(|told| *told + SPACING).filter(|due| *due > now) else {
            return false;
        };
        self.waiting.insert(sign.subject.clone(), DelayedSignal { due, first: sign.own, sign: sign.clone() });
        true
    }

    /// The line of the log up to which nothing waits.
    fn delivered_through(&self) -> i64 {
        self.waiting.values().map(|waiting| waiting.first - 1).min().unwrap_or(self.through)
    }

    /// When the next deferred update is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.waiting.values().map(|waiting| waiting.due).min()
    }

    /// The updates that are due.
    pub(crate) fn due(&mut self, now: Instant) -> Vec<ClientSignal> {
        self.sent.retain(|_, told| *told + SPACING > now);
        let mut due: Vec<(i64, ClientSignal)> = self
            .waiting
            .extract_if(|_, waiting| waiting.due <= now)
            .map(|(_, waiting)| (waiting.first, waiting.sign))
            .collect();
        due.sort_by_key(|(first, _)| *first);
        let rest = self.delivered_through();
        let next: Vec<i64> = due.iter().skip(1).map(|(first, _)| first - 1).chain([i64::MAX]).collect();
        let told = due.into_iter().zip(next).map(|((_, sign), next)| ClientSignal { seq: rest.min(next), ..sign });
        let told: Vec<ClientSignal> = told.collect();
        self.sent.extend(told.iter().map(|sign| (sign.subject.clone(), now)));
        told
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn row(seq: i64, kind: &str, task: &str) -> EventRow {
        let session = kind.starts_with("session").then(|| task.to_owned());
        EventRow {
            seq,
            at: 0,
            kind: kind.to_owned(),
            version: 1,
            project: Some("p".to_owned()),
            task: Some(task.to_owned()),
            session,
            run: None,
            payload: RawValue::from_string("{}".to_owned()).unwrap(),
        }
    }

    fn told(signs: &[ClientSignal]) -> Vec<(&str, i64, i64)> {
        signs.iter().map(|sign| (sign.name, sign.own, sign.seq)).collect()
    }

    #[test]
    fn the_last_of_many_updates_is_told_when_its_time_comes() {
        let (mut pace, start) = (RateLimiter::default(), Instant::now());
        let first = pace.take(&[row(1, "task:updated", "a"), row(2, "task:updated", "a")], start);
        assert_eq!(told(&first), [("task:updated", 1, 1)], "read after both were written");
        assert!(pace.take(&[row(3, "task:updated", "a")], start).is_empty());
        assert!(pace.take(&[row(4, "task:updated", "a")], start).is_empty());
        assert_eq!(pace.next_due(), Some(start + SPACING));
        assert!(pace.due(start).is_empty());
        assert_eq!(told(&pace.due(start + SPACING)), [("task:updated", 4, 4)]);
        assert_eq!(pace.next_due(), None);
    }

    #[test]
    fn nobody_resumes_after_what_still_waits() {
        let (mut pace, start) = (RateLimiter::default(), Instant::now());
        pace.take(&[row(1, "task:updated", "a")], start);
        let later = pace.take(&[row(2, "task:updated", "a"), row(3, "task:created", "b")], start);
        assert_eq!(told(&later), [("task:created", 3, 1)]);
        pace.take(&[row(4, "task:updated", "b")], start);
        assert_eq!(told(&pace.due(start + SPACING)), [("task:updated", 2, 3), ("task:updated", 4, 4)]);
    }

    #[test]
    fn what_is_gone_is_not_updated_any_more() {
        let (mut pace, start) = (RateLimiter::default(), Instant::now());
        pace.take(&[row(1, "task:created", "a"), row(2, "task:updated", "a")], start);
        pace.take(&[row(3, "task:updated", "a")], start);
        let gone = pace.take(&[row(4, "task:deleted", "a"), row(5, "task:created", "a")], start);
        assert_eq!(told(&gone), [("task:deleted", 4, 4), ("task:created", 5, 5)]);
        assert_eq!(pace.next_due(), None);
    }
}
