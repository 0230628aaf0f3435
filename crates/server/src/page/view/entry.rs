//! Entries of a transcript: one line each, long texts folded.

use maestro_core::agent::{
    AgentEvent, ChoiceKind, Planned, PlannedStatus, Stop, Stream, ToolKind, ToolStatus, TroubleKind,
};
use serde::Serialize;
use serde_json::Value as Json;

use super::State;
use super::looks::state;
use crate::page::clock;
use crate::page::session::Group;
use crate::page::text::Shown;

/// How many characters are shown: of a message, of a line, and of folded text.
const SAID: usize = 16_000;
const LINE: usize = 300;
const FOLDED: usize = 4000;

/// Whether an agent may still continue what it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    /// It is working.
    Going,
    /// It has ended, or later entries are not shown.
    Over,
}

/// An entry of the transcript.
#[derive(Debug, Serialize)]
pub(in crate::page) struct Entry {
    pub(in crate::page) id: String,
    at: i64,
    /// When its session started.
    since: i64,
    #[serde(flatten)]
    did: Did,
}

/// The content of an entry.
#[derive(Debug, Serialize)]
#[serde(tag = "did", rename_all = "snake_case")]
enum Did {
    /// Text.
    Said { text: Shown, torn: bool },
    /// Folded text: thoughts, and output of its program.
    Folded { name: &'static str, brief: Shown, text: Shown },
    /// A call of a tool.
    Tool {
        state: State,
        tool: &'static str,
        title: Shown,
        input: Option<Shown>,
        output: Option<Shown>,
        took: Option<i64>,
    },
    /// A change to a file.
    Changed { path: Shown, added: Option<u64>, removed: Option<u64>, diff: Vec<DiffLine>, cut: usize },
    /// A plan.
    Planned { plan: Plan },
    /// A line with a state: a permission request, an error, an end.
    Line { state: State, about: String, text: Option<Shown> },
}

/// A line of a change.
#[derive(Debug, Serialize)]
struct DiffLine {
    /// added, removed, place or nothing.
    kind: &'static str,
    text: String,
}

/// A plan, as a checklist.
#[derive(Debug, Serialize)]
pub(super) struct Plan {
    done: usize,
    parts: Vec<Part>,
}

#[derive(Debug, Serialize)]
struct Part {
    state: State,
    text: Shown,
}

impl Plan {
    /// Its steps; what is done is the agent's claim.
    pub(super) fn of(entries: &[Planned], course: Course) -> Self {
        let part = |entry: &Planned| Part {
            state: match (entry.status, course) {
                (PlannedStatus::Pending, _) => state("rest", "○", "to do"),
                (PlannedStatus::InProgress, Course::Going) => state("working", "●", "in progress"),
                (PlannedStatus::InProgress, Course::Over) => state("rest", "○", "unfinished"),
                (PlannedStatus::Completed, _) => state("rest", "✓", "reported done"),
            },
            text: Shown::exactly(&entry.text, LINE),
        };
        let done = entries.iter().filter(|entry| entry.status == PlannedStatus::Completed).count();
        Self { done, parts: entries.iter().map(part).collect() }
    }
}

/// The entries of a transcript, in order.
pub(super) fn entries(groups: &[Group], since: i64, course: Course) -> Vec<Entry> {
    let mut said = String::new();
    let mut entries = Vec::with_capacity(groups.len());
    for group in groups {
        let did = did(group, &said, course);
        if let Some(AgentEvent::Said { .. }) = group.events.first() {
            said = group.words();
        }
        entries.extend(did.map(|did| Entry { id: format!("t-{}", group.ord), at: group.at, since, did }));
    }
    entries
}

/// The content; nothing where it would only repeat the last message.
fn did(group: &Group, said: &str, course: Course) -> Option<Did> {
    Some(match group.events.first()? {
        AgentEvent::Said { .. } => Did::Said { text: Shown::printed(&group.words(), SAID), torn: group.torn },
        AgentEvent::Thought { .. } => folded("thought", &group.words()),
        AgentEvent::Printed { stream: Stream::Out, .. } => folded("printed", &group.words()),
        AgentEvent::Printed { stream: Stream::Err, .. } => folded("stderr", &group.words()),
        AgentEvent::ToolBegan { .. } | AgentEvent::ToolEnded { .. } => tool(group, course),
        AgentEvent::Changed { path, added, removed, diff } => {
            let diff = Shown::exactly(diff.as_deref().unwrap_or_default(), FOLDED);
            let (lines, cut) = (diff.text.lines().map(diff_line).collect(), diff.cut);
            Did::Changed { path: Shown::exactly(path, LINE), added: *added, removed: *removed, diff: lines, cut }
        }
        AgentEvent::Planned { entries } => Did::Planned { plan: Plan::of(entries, Course::Over) },
        AgentEvent::Asked { title, .. } => {
            let answer = group.events.iter().find_map(|event| match event {
                AgentEvent::Answered { kind, .. } => Some(*kind),
                _ => None,
            });
            line(answered(answer), Shown::exactly(title, LINE).text)
        }
        AgentEvent::Answered { kind, .. } => line(answered(Some(*kind)), "an earlier request"),
        AgentEvent::Trouble { kind, status, message, retry_after_ms } => Did::Line {
            state: state("bad", "✗", "error"),
            about: trouble(*kind, *status, *retry_after_ms),
            text: Some(Shown::printed(message, FOLDED)),
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
            line(state("rest", "○", "started"), Shown::exactly(&facts.join(" · "), LINE).text)
        }
        AgentEvent::Ended { stop, text } => {
            let last = text.as_deref().filter(|text| !said.trim_end().ends_with(text.trim()));
            let (state, about) = ended(*stop);
            Did::Line { state, about, text: last.map(|text| Shown::printed(text, SAID)) }
        }
        AgentEvent::Usage { .. } | AgentEvent::Context { .. } => return None,
    })
}

fn line(state: State, about: impl Into<String>) -> Did {
    Did::Line { state, about: about.into(), text: None }
}

fn folded(name: &'static str, text: &str) -> Did {
    let text = text.trim_matches('\n');
    Did::Folded {
        name,
        brief: Shown::printed(text.lines().next().unwrap_or_default(), LINE),
        text: Shown::printed(text, FOLDED),
    }
}

fn tool(group: &Group, course: Course) -> Did {
    let (mut tool, mut title, mut input) = ("tool", None, None);
    let mut answer = None;
    for event in &group.events {
        match event {
            AgentEvent::ToolBegan { name, title: told, kind, input: given, .. } => {
                tool = kind_word(*kind);
                title = Some(if told.trim().is_empty() { name } else { told });
                input = arguments(given).or(input);
            }
            AgentEvent::ToolEnded { status, output, .. } => answer = Some((*status, output)),
            _ => {}
        }
    }
    let title = title.map_or("an earlier call", String::as_str);
    Did::Tool {
        state: match (answer, course) {
            (Some((ToolStatus::Ok, _)), _) => state("rest", "✓", "ok"),
            (Some((ToolStatus::Failed, _)), _) => state("bad", "✗", "failed"),
            (Some((ToolStatus::Denied, _)), _) => state("bad", "✗", "denied"),
            (None, Course::Going) => state("working", "●", "runs"),
            (None, Course::Over) => state("rest", "○", "no answer"),
        },
        tool,
        title: Shown::exactly(title, LINE),
        input,
        output: answer.filter(|(_, output)| !output.is_empty()).map(|(_, output)| Shown::printed(output, FOLDED)),
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

/// The input of a tool, as a person would write it.
fn arguments(input: &Json) -> Option<Shown> {
    let text = match input {
        Json::Null => return None,
        Json::Object(fields) if fields.is_empty() => return None,
        Json::String(text) => text.clone(),
        other => format!("{other:#}"),
    };
    Some(Shown::exactly(&text, FOLDED))
}

fn diff_line(line: &str) -> DiffLine {
    let kind = match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'@', b'@', ..] => "place",
        [b'+', ..] => "added",
        [b'-', ..] => "removed",
        _ => "",
    };
    DiffLine { kind, text: line.to_owned() }
}

/// The answer to a permission request. This line needs no action: the open request is shown above.
fn answered(answer: Option<ChoiceKind>) -> State {
    match answer {
        None => state("rest", "○", "asked"),
        Some(ChoiceKind::AllowOnce) => state("rest", "✓", "allowed once"),
        Some(ChoiceKind::AllowAlways) => state("rest", "✓", "allowed in this run"),
        Some(ChoiceKind::RejectOnce | ChoiceKind::RejectAlways) => state("rest", "○", "denied"),
    }
}

fn trouble(kind: TroubleKind, status: Option<u16>, wait: Option<u64>) -> String {
    let what = match kind {
        TroubleKind::Auth => "the model provider rejected the key",
        TroubleKind::MissingModel => "unknown model",
        TroubleKind::RateLimit => "rate limit of the model provider reached",
        TroubleKind::Overloaded => "the model provider is overloaded",
        TroubleKind::ContextOverflow => "the conversation exceeds the model's context",
        TroubleKind::Network => "the model provider could not be reached",
        TroubleKind::Denied => "not allowed",
        TroubleKind::Malformed => "the response could not be parsed",
        TroubleKind::Other => "something went wrong",
    };
    let status = status.map(|status| format!(" ({status})")).unwrap_or_default();
    let wait = wait.map(|ms| clock::elapsed(0, i64::try_from(ms).unwrap_or(i64::MAX)));
    let wait = wait.map(|wait| format!("; again in {wait}")).unwrap_or_default();
    format!("{what}{status}{wait}")
}

/// How the agent ended. The end of a turn says nothing about the work.
fn ended(stop: Stop) -> (State, String) {
    let (tone, glyph, about) = match stop {
        Stop::EndTurn => ("plain", "–", "end of turn".to_owned()),
        Stop::Exited { code: 0 } => ("plain", "–", "process exited".to_owned()),
        Stop::Cancelled => ("rest", "○", "cancelled".to_owned()),
        Stop::MaxTurns => ("bad", "✗", "reached the turn limit".to_owned()),
        Stop::Refused => ("bad", "✗", "the model refused".to_owned()),
        Stop::Error => ("bad", "✗", "reported an error".to_owned()),
        Stop::Exited { code } => ("bad", "✗", format!("exited with code {code}")),
        Stop::Killed { signal } => ("bad", "✗", format!("killed by signal {signal}")),
    };
    (state(tone, glyph, "ended"), about)
}
