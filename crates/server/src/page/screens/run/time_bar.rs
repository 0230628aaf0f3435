//! Time bar of a run: its steps as long as they took, with marks for questions, messages and verdicts.

use maestro_core::workflow::StepPhase;
use serde::Serialize;

use super::history::{VisitKind, VisitRecord};
use super::mapper::RunMapper;
use super::run_line::HistoryEvent;
use super::spine::{NOW, visit_badge};
use crate::page::badge::StateBadge;

/// How wide the bar is, in units of the drawing.
const WIDTH: i64 = 1000;
/// How wide a segment is at least.
const NARROWEST: i64 = 6;
/// How wide a character of its name is, and how many stand around the name.
const CHARACTER: i64 = 7;
const AROUND: usize = 3;
/// How many segments are drawn; of more, the longest.
const MOST: usize = 120;

/// How many moments the slider has.
const MOMENTS: i64 = 200;

/// The bar.
#[derive(Debug, Serialize)]
pub(super) struct TimeBar {
    since: i64,
    /// Where the slider ends, and how far it moves at once.
    until: i64,
    stride: i64,
    is_over: bool,
    segments: Vec<BarSegment>,
    marks: Vec<BarMark>,
}

/// A step in the bar.
#[derive(Debug, Serialize)]
struct BarSegment {
    number: usize,
    x: i64,
    width: i64,
    state: StateBadge,
    title: String,
    /// What it is, where there is room for it.
    word: Option<String>,
}

/// Something to look at.
#[derive(Debug, Serialize)]
struct BarMark {
    x: i64,
    tone: &'static str,
    glyph: &'static str,
    /// The entry of the timeline.
    entry: String,
    title: String,
}

impl RunMapper<'_> {
    /// The bar; nothing where there are not two steps to compare.
    pub(super) fn time_bar(&self) -> Option<TimeBar> {
        let since = self.since();
        let until = self.until().unwrap_or(self.now).max(since + 1);
        let place = |at: i64| ((at - since).clamp(0, until - since) * WIDTH) / (until - since);
        let is_shown =
            |visit: &VisitRecord| !visit.is_skipped && !matches!(visit.kind, VisitKind::Silent | VisitKind::Call);
        let visits = self.history.visits.iter().enumerate().filter(|(_, visit)| is_shown(visit));
        let mut segments: Vec<BarSegment> = visits
            .map(|(number, visit)| {
                let end = visit.left.unwrap_or(until);
                let x = place(visit.entered).min(WIDTH - NARROWEST);
                let width = (place(end) - x).max(NARROWEST);
                let title = visit.title.clone();
                let word = Some(visit_word(visit)).filter(|word| fits(word, width));
                BarSegment { number: number + 1, x, width, state: self.segment_badge(visit), title, word }
            })
            .collect();
        if segments.len() < 2 {
            return None;
        }
        if segments.len() > MOST {
            segments.sort_by_key(|segment| std::cmp::Reverse(segment.width));
            segments.truncate(MOST);
            segments.sort_by_key(|segment| segment.number);
        }
        let marks = self.history.lines.iter().filter_map(|line| {
            let (tone, glyph, title) = match &line.content {
                HistoryEvent::Verdict { badge, .. } if badge.tone == "bad" => ("bad", "✗", "findings"),
                HistoryEvent::Verdict { badge, .. } if badge.tone == "good" => ("good", "✓", "passed"),
                HistoryEvent::Note { badge, .. } if badge.tone == "plain" => ("plain", "–", "answered"),
                _ => return None,
            };
            let title = title.to_owned();
            Some(BarMark { x: place(line.at), tone, glyph, entry: format!("e-{}", line.seq), title })
        });
        let stride = ((until - since) / MOMENTS).max(1);
        let until = since + stride * ((until - since + stride - 1) / stride);
        Some(TimeBar { since, until, stride, is_over: self.is_over(), marks: marks.take(MOST).collect(), segments })
    }

    /// How a step went; one that goes on works, unless the run is over.
    fn segment_badge(&self, visit: &VisitRecord) -> StateBadge {
        if visit.outcome.is_none() && visit.left.is_none() && !self.is_over() { NOW } else { visit_badge(visit) }
    }
}

/// A step in a word: its phase, otherwise its title.
fn visit_word(visit: &VisitRecord) -> String {
    let phase = visit.phase.clone().filter(|phase| StepPhase::KNOWN.contains(phase)).map(String::from);
    phase.unwrap_or_else(|| visit.title.clone())
}

/// Whether a name is shown whole in a segment.
fn fits(word: &str, width: i64) -> bool {
    i64::try_from(word.chars().count() + AROUND).is_ok_and(|count| count * CHARACTER <= width)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn only_whole_names_stand_in_the_bar() {
        assert!(fits("review", 63) && !fits("review", 62));
        assert!(!fits("Update the skills of the project", 120));
    }
}
