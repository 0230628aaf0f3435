//! Amount that is pruned: how many events, from when, of which projects, and what they take in an archive.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use maestro_store::EventRow;
use serde_json::{Value as Json, json};

use crate::output::screen::{clean, count};
use crate::output::time;

/// How many projects are listed.
const LISTED: usize = 10;

/// How much goes.
#[derive(Debug, Default)]
pub(super) struct PrunedAmount {
    pub(super) events: u64,
    /// What their lines take.
    pub(super) bytes: u64,
    /// When the first and the last of them happened.
    span: Option<(i64, i64)>,
    /// How many of them are about a project.
    projects: BTreeMap<Option<String>, u64>,
}

impl PrunedAmount {
    /// Counts an event that would go.
    pub(super) fn add(&mut self, event: &EventRow) -> io::Result<()> {
        let mut line = ByteCount(1);
        serde_json::to_writer(&mut line, event)?;
        self.events += 1;
        self.bytes += line.0;
        let (first, last) = self.span.unwrap_or((event.at, event.at));
        self.span = Some((first.min(event.at), last.max(event.at)));
        *self.projects.entry(event.project.clone()).or_default() += 1;
        Ok(())
    }

    /// The projects with the most events, with their names.
    fn most(&self, names: &BTreeMap<String, String>) -> Vec<(u64, Option<&str>, String)> {
        let shown = |id: &Option<String>| match id {
            Some(id) => names.get(id).unwrap_or(id).clone(),
            None => "(no project)".to_owned(),
        };
        let mut all: Vec<_> = self.projects.iter().map(|(id, events)| (*events, id.as_deref(), shown(id))).collect();
        all.sort_by_key(|(events, ..)| Reverse(*events));
        all
    }

    /// The days of the first and the last event.
    pub(super) fn days(&self) -> String {
        let date = |at| time::day(at).split(' ').next().unwrap_or_default().to_owned();
        self.span.map(|(first, last)| format!("from {} to {}", date(first), date(last))).unwrap_or_default()
    }

    /// A line for each project, the one with the most events first.
    pub(super) fn project_lines(&self, names: &BTreeMap<String, String>) -> String {
        let (all, mut text) = (self.most(names), String::new());
        let listed = if all.len() > LISTED { LISTED - 1 } else { LISTED };
        for (events, _, name) in all.iter().take(listed) {
            let _ = writeln!(text, "{events:>8}  {}", clean(name));
        }
        if let Some((_, rest)) = all.split_at_checked(listed).filter(|(_, rest)| !rest.is_empty()) {
            let events: u64 = rest.iter().map(|(events, ..)| events).sum();
            let _ = writeln!(text, "{events:>8}  {}", count(rest.len(), "other project", "other projects"));
        }
        text
    }

    /// The same for programs.
    pub(super) fn to_json(&self, names: &BTreeMap<String, String>) -> Json {
        let projects = self.most(names);
        let projects = projects.iter().map(|(events, id, name)| json!({ "id": id, "name": name, "events": events }));
        json!({
            "events": self.events,
            "bytes": self.bytes,
            "first": self.span.map(|(first, _)| first),
            "last": self.span.map(|(_, last)| last),
            "projects": projects.collect::<Vec<_>>(),
        })
    }
}

impl std::fmt::Display for PrunedAmount {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", events(self.events), size(self.bytes))
    }
}

/// So many events of finished work.
pub(super) fn events(number: u64) -> String {
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    count(number, "event of finished work", "events of finished work")
}

/// A size for a person: `12 kB`, `3.4 MB`.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// How many bytes were written.
struct ByteCount(u64);

impl Write for ByteCount {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(seq: i64, project: Option<&str>) -> EventRow {
        let line = json!({
            "seq": seq, "at": seq * 86_400_000, "type": "task:created", "version": 1, "project": project,
            "task": null, "session": null, "run": null, "payload": { "title": "a" },
        });
        serde_json::from_value(line).unwrap()
    }

    #[test]
    fn the_projects_with_the_most_events_are_named() {
        let mut amount = PrunedAmount::default();
        let mut lines = Vec::new();
        for seq in 0..30 {
            let event = event(seq, (seq > 0).then(|| format!("p{:02}", seq % 12)).as_deref());
            amount.add(&event).unwrap();
            serde_json::to_writer(&mut lines, &event).unwrap();
            lines.push(b'\n');
        }
        assert_eq!((amount.events, amount.bytes), (30, lines.len() as u64), "what the file will take");
        assert_eq!(amount.days(), "from 1970-01-01 to 1970-01-30");
        let text = amount.project_lines(&BTreeMap::from([("p01".to_owned(), "shop".to_owned())]));
        assert_eq!(text.lines().count(), LISTED);
        assert_eq!(text.lines().next(), Some("       3  shop"));
        assert!(text.ends_with("       7  4 other projects\n"), "{text}");
    }

    #[test]
    fn large_sizes_are_in_megabytes() {
        let sizes = [1, 1000, 999_999, 1_000_000, 12_345_678].map(size);
        assert_eq!(sizes, ["1 kB", "1 kB", "1000 kB", "1.0 MB", "12.3 MB"]);
    }
}
