//! Entries of a run's timeline: one line each, long texts folded.

use maestro_core::agent::{
    AgentEvent, FailureKind, PermissionChoiceKind, PlanEntry, PlanEntryStatus, StopReason, Stream, ToolKind, ToolStatus,
};
use maestro_core::excerpt::first_chars;
use serde::Serialize;
use serde_json::Value as Json;

use super::edits::{DiffLine, diff_lines, input_edit};
use super::groups::EventGroup;
use crate::page::badge::{StateBadge, state};
use crate::page::clock;
use crate::page::text::DisplayText;

/// How many characters are shown: of a message, of a line, and of folded text.
const SAID: usize = 16_000;
const LINE: usize = 300;
const FOLDED: usize = 4000;
/// How many characters of a report its command is known by.
const SENT: usize = 40;

/// Whether an agent may still continue what it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TranscriptState {
    /// It is working.
    Running,
    /// It has ended, or later entries are not shown.
    Ended,
}

/// An entry of the transcript.
#[derive(Debug, Serialize)]
pub(in crate::page) struct TranscriptLine {
    pub(in crate::page) id: String,
    at: i64,
    /// When the first session started.
    since: i64,
    #[serde(flatten)]
    did: LineContent,
}

impl TranscriptLine {
    pub(super) fn new(id: String, at: i64, since: i64, did: LineContent) -> Self {
        Self { id, at, since, did }
    }

    pub(super) fn at(&self) -> i64 {
        self.at
    }
}

/// The content of an entry.
#[derive(Debug, Serialize)]
#[serde(tag = "did", rename_all = "snake_case")]
pub(super) enum LineContent {
    /// Text.
    Said { text: DisplayText, torn: bool },
    /// Folded text: thoughts, and output of its program.
    Folded { name: &'static str, brief: DisplayText, text: DisplayText },
    /// A call of a tool.
    Tool {
        state: StateBadge,
        tool: &'static str,
        title: DisplayText,
        input: Option<DisplayText>,
        /// What it changes, in place of its input.
        edit: Vec<DiffLine>,
        output: Option<DisplayText>,
        took: Option<i64>,
    },
    /// Several files that were read one after the other.
    Read { paths: Vec<DisplayText> },
    /// A change to a file.
    Changed { path: DisplayText, added: Option<u64>, removed: Option<u64>, diff: Vec<DiffLine>, cut: usize },
    /// A plan.
    Planned { plan: PlanChecklist },
    /// A line with a state: a permission request, an error, an end.
    Line { state: StateBadge, about: String, text: Option<DisplayText> },
    /// The beginning of a step or of a task.
    Step { state: StateBadge, title: String, who: Option<String> },
    /// A verdict with its points.
    Block { state: StateBadge, title: String, points: Vec<DisplayText> },
    /// Words of a person.
    Message { from: String, text: DisplayText, fate: String },
}

/// A plan, as a checklist.
#[derive(Debug, Serialize)]
pub(super) struct PlanChecklist {
    done: usize,
    parts: Vec<ChecklistItem>,
}

#[derive(Debug, Serialize)]
struct ChecklistItem {
    state: StateBadge,
    text: DisplayText,
}

impl PlanChecklist {
    /// Its steps; what is done is the agent's claim.
    pub(super) fn of(entries: &[PlanEntry], course: TranscriptState) -> Self {
        let part = |entry: &PlanEntry| ChecklistItem {
            state: match (entry.status, course) {
                (PlanEntryStatus::Pending, _) => state("rest", "○", "to do"),
                (PlanEntryStatus::InProgress, TranscriptState::Running) => state("working", "●", "in progress"),
                (PlanEntryStatus::InProgress, TranscriptState::Ended) => state("rest", "○", "unfinished"),
                (PlanEntryStatus::Completed, _) => state("rest", "✓", "reported done"),
            },
            text: DisplayText::exactly(&entry.text, LINE),
        };
        let done = entries.iter().filter(|entry| entry.status == PlanEntryStatus::Completed).count();
        Self { done, parts: entries.iter().map(part).collect() }
    }
}

/// The entries of a transcript, in order. `number` is which of the run's sessions it is.
pub(super) fn entries(
    groups: &[EventGroup],
    number: usize,
    since: i64,
    course: TranscriptState,
) -> Vec<TranscriptLine> {
    let mut said = String::new();
    let mut entries: Vec<TranscriptLine> = Vec::with_capacity(groups.len());
    let mut end: Option<StopReason> = None;
    for group in groups {
        let did = line_content(group, &said, course);
        match group.events.first() {
            Some(AgentEvent::Said { .. }) => said = group.words(),
            Some(AgentEvent::Trouble { message, .. }) => said.clone_from(message),
            _ => {}
        }
        let now = group.events.first().and_then(end_of);
        let before = std::mem::replace(&mut end, now);
        if let (Some(AgentEvent::Ended { stop, .. }), Some(before)) = (group.events.first(), before)
            && is_known_end(before, *stop)
        {
            continue;
        }
        let Some(did) = did else { continue };
        if let (Some(path), Some(last)) = (read_path(&did), entries.last_mut())
            && last.join_read(&path)
        {
            continue;
        }
        entries.push(TranscriptLine::new(format!("t-{number}-{}", group.ord), group.at, since, did));
    }
    entries
}

/// How an event says that the agent came to an end.
fn end_of(event: &AgentEvent) -> Option<StopReason> {
    match event {
        AgentEvent::Ended { stop, .. } => Some(*stop),
        AgentEvent::Trouble { .. } => Some(StopReason::Error),
        _ => None,
    }
}

/// Whether an end adds nothing to the end before it: the process of an agent ends after its turn, or after it failed.
fn is_known_end(before: StopReason, now: StopReason) -> bool {
    match now {
        StopReason::Exited { code: 0 } => true,
        StopReason::Error | StopReason::Exited { .. } | StopReason::Killed { .. } => end_badge(before).0.tone == "bad",
        _ => false,
    }
}

/// The file that a call read, if that is all it did.
fn read_path(did: &LineContent) -> Option<DisplayText> {
    match did {
        LineContent::Tool { tool, title, state, .. } if *tool == ToolKind::Read.as_str() && state.tone == "rest" => {
            Some(title.clone())
        }
        _ => None,
    }
}

impl TranscriptLine {
    /// Adds a file to those that were read; says whether that is what this line is about.
    fn join_read(&mut self, path: &DisplayText) -> bool {
        if let LineContent::Read { paths } = &mut self.did {
            paths.push(path.clone());
            return true;
        }
        let Some(first) = read_path(&self.did) else { return false };
        self.did = LineContent::Read { paths: vec![first, path.clone()] };
        true
    }

    /// Whether this is the command of ours that reported these words.
    pub(super) fn sends(&self, words: &str) -> bool {
        let LineContent::Tool { title, state, .. } = &self.did else { return false };
        let first = words.lines().next().unwrap_or_default().trim();
        let is_ours = ["maestro update ", "maestro complete ", "maestro blocked ", "maestro report "];
        let begins = is_ours.iter().any(|command| title.text.starts_with(command));
        state.tone == "rest" && begins && !first.is_empty() && title.text.contains(first_chars(first, SENT))
    }
}

/// The content; nothing where it would only repeat the last message.
fn line_content(group: &EventGroup, said: &str, course: TranscriptState) -> Option<LineContent> {
    Some(match group.events.first()? {
        AgentEvent::Said { .. } => {
            LineContent::Said { text: DisplayText::printed(&group.words(), SAID), torn: group.torn }
        }
        AgentEvent::Thought { .. } => folded("thought", &group.words()),
        AgentEvent::Printed { stream: Stream::Out, .. } => folded("printed", &group.words()),
        AgentEvent::Printed { stream: Stream::Err, .. } => folded("stderr", &group.words()),
        AgentEvent::ToolBegan { .. } | AgentEvent::ToolEnded { .. } => tool(group, course),
        AgentEvent::Changed { path, added, removed, diff } => {
            let diff = DisplayText::exactly(diff.as_deref().unwrap_or_default(), FOLDED);
            let (lines, cut) = (diff_lines(&diff.text), diff.cut);
            LineContent::Changed {
                path: DisplayText::exactly(path, LINE),
                added: *added,
                removed: *removed,
                diff: lines,
                cut,
            }
        }
        AgentEvent::Planned { entries } => {
            LineContent::Planned { plan: PlanChecklist::of(entries, TranscriptState::Ended) }
        }
        AgentEvent::Asked { title, .. } => {
            let answer = group.events.iter().find_map(|event| match event {
                AgentEvent::Answered { kind, .. } => Some(*kind),
                _ => None,
            });
            line(answer_badge(answer), DisplayText::exactly(title, LINE).text)
        }
        AgentEvent::Answered { kind, .. } => line(answer_badge(Some(*kind)), "an earlier request"),
        // What is known of it is its message.
        AgentEvent::Trouble { kind: FailureKind::Other, status: None, message, retry_after_ms: None } => {
            LineContent::Line {
                state: state("bad", "✗", "error"),
                about: DisplayText::printed(message.lines().next().unwrap_or_default(), LINE).text,
                text: message.split_once('\n').map(|(_, rest)| DisplayText::printed(rest, FOLDED)),
            }
        }
        AgentEvent::Trouble { kind, status, message, retry_after_ms } => LineContent::Line {
            state: state("bad", "✗", "error"),
            about: failure_text(*kind, *status, *retry_after_ms),
            text: Some(DisplayText::printed(message, FOLDED)),
        },
        AgentEvent::Retrying { attempt, most, delay_ms, status } => {
            let most = most.map(|most| format!(" of {most}")).unwrap_or_default();
            let why = status.map(|status| format!(", after {status}")).unwrap_or_default();
            let wait = clock::elapsed(0, i64::try_from(*delay_ms).unwrap_or(i64::MAX));
            line(state("rest", "○", "retrying"), format!("attempt {attempt}{most} in {wait}{why}"))
        }
        AgentEvent::Cut { bytes } => line(state("rest", "○", "not shown"), format!("{bytes} bytes of its output")),
        AgentEvent::Began { model, version, .. } => {
            let facts: Vec<&str> = [model, version].into_iter().flatten().map(String::as_str).collect();
            line(state("rest", "○", "started"), DisplayText::exactly(&facts.join(" · "), LINE).text)
        }
        AgentEvent::Ended { stop, text } => {
            let last = text.as_deref().filter(|text| !said.trim_end().ends_with(text.trim()));
            let (state, about) = end_badge(*stop);
            LineContent::Line { state, about, text: last.map(|text| DisplayText::printed(text, SAID)) }
        }
        AgentEvent::Usage { .. } | AgentEvent::Context { .. } => return None,
    })
}

fn line(state: StateBadge, about: impl Into<String>) -> LineContent {
    LineContent::Line { state, about: about.into(), text: None }
}

fn folded(name: &'static str, text: &str) -> LineContent {
    let text = text.trim_matches('\n');
    LineContent::Folded {
        name,
        brief: DisplayText::printed(text.lines().next().unwrap_or_default(), LINE),
        text: DisplayText::colored(text, FOLDED),
    }
}

fn tool(group: &EventGroup, course: TranscriptState) -> LineContent {
    let (mut tool, mut title, mut input) = ("tool", None, None);
    let mut edit = Vec::new();
    let mut answer = None;
    for event in &group.events {
        match event {
            AgentEvent::ToolBegan { name, title: told, kind, input: given, .. } => {
                tool = kind_word(*kind);
                title = Some(if told.trim().is_empty() { name } else { told });
                input = arguments(given, told).or(input);
                edit = input_edit(given, FOLDED).unwrap_or(edit);
            }
            AgentEvent::ToolEnded { status, output, .. } => answer = Some((*status, output)),
            _ => {}
        }
    }
    let title = title.map_or("an earlier call", String::as_str);
    LineContent::Tool {
        state: match (answer, course) {
            (Some((ToolStatus::Ok, _)), _) => state("rest", "✓", "ok"),
            (Some((ToolStatus::Failed, _)), _) => state("bad", "✗", "failed"),
            (Some((ToolStatus::Denied, _)), _) => state("bad", "✗", "denied"),
            (None, TranscriptState::Running) => state("working", "●", "runs"),
            (None, TranscriptState::Ended) => state("rest", "○", "no answer"),
        },
        tool,
        title: DisplayText::exactly(title, LINE),
        input: input.filter(|_| edit.is_empty()),
        edit,
        output: answer.filter(|(_, output)| !output.is_empty()).map(|(_, output)| DisplayText::colored(output, FOLDED)),
        took: answer.map(|_| group.until - group.at).filter(|took| *took >= 1000),
    }
}

fn kind_word(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Execute => "run",
        ToolKind::Other => "tool",
        other => other.as_str(),
    }
}

/// The input of a tool, as a person would write it: without what its title says already.
fn arguments(input: &Json, title: &str) -> Option<DisplayText> {
    let text = match input {
        Json::Null => return None,
        Json::String(text) => text.clone(),
        Json::Object(fields) => {
            let others = fields.iter().filter(|(_, value)| value.as_str() != Some(title));
            others.map(|(name, value)| argument(name, value)).collect::<Vec<_>>().join("\n")
        }
        other => format!("{other:#}"),
    };
    (!text.is_empty()).then(|| DisplayText::exactly(&text, FOLDED))
}

/// A field of an input.
fn argument(name: &str, value: &Json) -> String {
    match value {
        Json::String(text) if text.contains('\n') => format!("{name}:\n{text}"),
        Json::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    }
}

/// The answer to a permission request. This line needs no action: the open request is shown above.
fn answer_badge(answer: Option<PermissionChoiceKind>) -> StateBadge {
    match answer {
        None => state("rest", "○", "asked"),
        Some(PermissionChoiceKind::AllowOnce) => state("rest", "✓", "allowed once"),
        Some(PermissionChoiceKind::AllowAlways) => state("rest", "✓", "allowed in this run"),
        Some(PermissionChoiceKind::RejectOnce | PermissionChoiceKind::RejectAlways) => state("rest", "○", "denied"),
    }
}

fn failure_text(kind: FailureKind, status: Option<u16>, wait: Option<u64>) -> String {
    let what = match kind {
        FailureKind::Auth => "the model provider rejected the key",
        FailureKind::MissingModel => "unknown model",
        FailureKind::RateLimit => "rate limit of the model provider reached",
        FailureKind::Overloaded => "the model provider is overloaded",
        FailureKind::ContextOverflow => "the conversation exceeds the model's context",
        FailureKind::Network => "the model provider could not be reached",
        FailureKind::Denied => "not allowed",
        FailureKind::Malformed => "the response could not be parsed",
        FailureKind::Other => "something went wrong",
    };
    let status = status.map(|status| format!(" ({status})")).unwrap_or_default();
    let wait = wait.map(|ms| clock::elapsed(0, i64::try_from(ms).unwrap_or(i64::MAX)));
    let wait = wait.map(|wait| format!("; again in {wait}")).unwrap_or_default();
    format!("{what}{status}{wait}")
}

/// How the agent ended. The end of a turn says nothing about the work.
fn end_badge(stop: StopReason) -> (StateBadge, String) {
    let (tone, glyph, about) = match stop {
        StopReason::EndTurn => ("plain", "–", "end of turn".to_owned()),
        StopReason::Exited { code: 0 } => ("plain", "–", "process exited".to_owned()),
        StopReason::Cancelled => ("rest", "○", "canceled".to_owned()),
        StopReason::MaxTurns => ("bad", "✗", "reached the turn limit".to_owned()),
        StopReason::Refused => ("bad", "✗", "the model refused".to_owned()),
        StopReason::Error => ("bad", "✗", "reported an error".to_owned()),
        StopReason::Exited { code } => ("bad", "✗", format!("exited with code {code}")),
        StopReason::Killed { signal } => ("bad", "✗", format!("killed by signal {signal}")),
    };
    (state(tone, glyph, "ended"), about)
}
