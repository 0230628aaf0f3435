//! Lines about a run itself, between what its agents did: checks, verdicts, findings, answers and its end.

use maestro_core::excerpt::{ellipsize, one_line};
use maestro_core::landing::LandingKind;
use maestro_core::workflow::StepOutcome;
use maestro_core::workflow::definition::EndStatus;
use maestro_core::workflow::run::{AnswerAuthor, PersonItemKind, ReviewItem, ReviewItemStatus, RunEvent};
use serde_json::{Map, Value as Json};

use super::history::VisitKind;
use crate::page::badge::{StateBadge, state};
use crate::page::text::stop_reason;

/// How many characters of a point are kept.
const POINT: usize = 2000;
/// How many points are kept.
const MOST_POINTS: usize = 50;

/// Something that happened to a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HistoryLine {
    pub(super) seq: i64,
    pub(super) at: i64,
    /// The visit it happened in.
    pub(super) visit: Option<usize>,
    pub(super) content: HistoryEvent,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum HistoryEvent {
    /// A task of its plan begins.
    Task(String),
    /// An agent begins a step.
    Begins,
    /// A command came to its end.
    Executed { badge: StateBadge, reason: Option<String> },
    /// A gate or a review came to a verdict.
    Verdict { badge: StateBadge, title: Option<String>, points: Vec<String> },
    /// A person's words for the agent of the next step.
    Message { id: String, text: String, is_delivered: bool },
    /// Something else, in a line.
    Note { badge: StateBadge, text: String },
}

impl HistoryEvent {
    /// What an event shows; nothing for what shows elsewhere.
    pub(super) fn of(event: &RunEvent) -> Option<Self> {
        Some(match event {
            RunEvent::Entered { .. } => Self::Begins,
            RunEvent::Executed { outcome, reason, .. } => {
                let reason = reason.as_deref().map(|reason| ellipsize(reason.trim(), POINT));
                Self::Executed { badge: outcome_badge(outcome), reason: reason.filter(|reason| !reason.is_empty()) }
            }
            RunEvent::Judged { round, outcome, reasons, .. } => Self::Verdict {
                badge: outcome_badge(outcome),
                title: Some(format!("gate, round {round}")),
                points: kept(reasons.iter().map(String::as_str)),
            },
            RunEvent::Resulted { result, .. } => return found(result),
            RunEvent::ItemsAdded { items, .. } => Self::Verdict {
                badge: state("rest", "○", "review items"),
                title: None,
                points: items.iter().take(MOST_POINTS).map(item_line).collect(),
            },
            RunEvent::RiskAccepted { items, by, .. } => Self::Verdict {
                badge: state("plain", "–", "accepted"),
                title: Some(format!("by {}", author(*by))),
                points: items.iter().take(MOST_POINTS).map(item_line).collect(),
            },
            RunEvent::ItemAdded { item } if item.kind == PersonItemKind::Message => {
                Self::Message { id: item.id.clone(), text: ellipsize(&item.text, POINT), is_delivered: false }
            }
            RunEvent::ItemAdded { item } => {
                note(state("plain", "–", "comment"), ellipsize(&format!("you: {}", item.describe()), POINT))
            }
            RunEvent::ItemsMoved { ids, state: moved } => {
                note(state("rest", "○", moved.as_str()), format!("your {}", count_words(ids.len())))
            }
            RunEvent::RoundsGranted { rounds, .. } => {
                note(state("plain", "–", "granted"), format!("{rounds} more rounds"))
            }
            RunEvent::Answered { by, .. } => note(state("plain", "–", "answered"), format!("by {}", author(*by))),
            RunEvent::Shown { text, .. } => note(state("plain", "–", "note"), ellipsize(text.trim(), POINT)),
            RunEvent::Tolerated { outcome, .. } => {
                note(state("rest", "○", "optional"), format!("it ended with {outcome}, and the run goes on"))
            }
            RunEvent::Paused {} => note(state("rest", "○", "paused"), String::new()),
            RunEvent::Resumed {} => note(state("working", "●", "goes on"), String::new()),
            RunEvent::Branched { step, visit, .. } => {
                note(state("working", "●", "goes on"), format!("from visit {visit} of {step}, as it was then"))
            }
            RunEvent::Ending { status, .. } => {
                note(state("working", "●", "last part"), format!("the run ends with {} after it", status.as_str()))
            }
            RunEvent::Cancelled {} => note(state("bad", "✗", "stopped"), "canceled".to_owned()),
            RunEvent::Landed { how, into } => landed(*how, into.as_deref()),
            RunEvent::Ended { ending } => {
                let message = ending.message.as_deref().unwrap_or_default().trim();
                match ending.status {
                    EndStatus::Success => note(state("good", "✓", "ready"), ellipsize(message, POINT)),
                    EndStatus::Failure | EndStatus::Blocked => {
                        note(state("bad", "✗", "stopped"), ellipsize(&stop_reason(message), POINT))
                    }
                }
            }
            _ => return None,
        })
    }

    /// Whether it is shown for a visit of this kind.
    pub(super) fn fits(&self, kind: VisitKind) -> bool {
        match self {
            Self::Begins => matches!(kind, VisitKind::Agent | VisitKind::Dispatch),
            Self::Note { .. } | Self::Message { .. } | Self::Task(_) => true,
            Self::Executed { .. } | Self::Verdict { .. } => kind != VisitKind::Silent,
        }
    }
}

fn count_words(comments: usize) -> String {
    if comments == 1 { "comment".to_owned() } else { format!("{comments} comments") }
}

fn note(badge: StateBadge, text: String) -> HistoryEvent {
    HistoryEvent::Note { badge, text }
}

fn landed(how: LandingKind, into: Option<&str>) -> HistoryEvent {
    let into = into.map(|into| format!("into {into}")).unwrap_or_default();
    match how {
        LandingKind::Merged => note(state("good", "✓", "merged"), into),
        LandingKind::Discarded => note(state("rest", "○", "discarded"), into),
    }
}

/// How something that was executed ended: evidence, so it may be green.
fn outcome_badge(outcome: &StepOutcome) -> StateBadge {
    match outcome.as_str() {
        "ok" | "pass" => state("good", "✓", "passed"),
        "skip" => state("rest", "–", "skipped"),
        _ => state("bad", "✗", "failed"),
    }
}

pub(super) fn author(by: AnswerAuthor) -> &'static str {
    match by {
        AnswerAuthor::User => "you",
        AnswerAuthor::Agent => "the agent that you talk to",
        AnswerAuthor::Script => "a script",
    }
}

/// What a review found, where it found something.
fn found(result: &Map<String, Json>) -> Option<HistoryEvent> {
    let findings = result.get("findings").and_then(Json::as_str).filter(|text| !text.trim().is_empty())?;
    let points = findings.lines().map(|line| line.trim().trim_start_matches("- "));
    Some(HistoryEvent::Verdict { badge: state("bad", "✗", "findings"), title: None, points: kept(points) })
}

fn kept<'t>(points: impl Iterator<Item = &'t str>) -> Vec<String> {
    points.filter(|point| !point.trim().is_empty()).take(MOST_POINTS).map(|point| ellipsize(point, POINT)).collect()
}

/// An item of a review in a line.
pub(super) fn item_line(item: &ReviewItem) -> String {
    let said = item.finding.as_deref().or(item.evidence.as_deref()).map(one_line);
    let status = match item.status {
        ReviewItemStatus::Todo => "",
        ReviewItemStatus::Pass => "✓ ",
        ReviewItemStatus::Fail => "✗ ",
    };
    let said = said.map(|said| format!(": {said}")).unwrap_or_default();
    ellipsize(&format!("{status}{} {}{said}", item.severity.word(), one_line(&item.check)), POINT)
}
