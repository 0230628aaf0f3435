//! Transcript of an agent in the terminal, one line per event.

use std::fmt::Write as _;

use maestro_api::ReceivedReply;
use maestro_api::fields::PageQuery;
use maestro_api::spawns::{self, TranscriptBody};
use maestro_core::agent::{AgentEvent, PlanEntryStatus, StopReason, Stream, ToolStatus};
use maestro_core::excerpt::ellipsize;

use crate::client::CliClient;
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::screen::{TextStyle, clean};

/// How many characters of a line are shown.
const WIDE: usize = 200;

/// Renders events. Text that arrives in pieces is one text.
pub(crate) struct TranscriptPrinter {
    paint: TextStyle,
    /// Whether the last line is still open.
    open: OpenLine,
}

/// Kind of the last line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenLine {
    Nothing,
    Words,
    Thoughts,
}

impl TranscriptPrinter {
    pub(crate) fn new(paint: TextStyle) -> Self {
        Self { paint, open: OpenLine::Nothing }
    }

    /// The text of an event, to print after the previous one.
    pub(crate) fn event(&mut self, event: &AgentEvent) -> String {
        match event {
            AgentEvent::Said { text } => return self.words(OpenLine::Words, text),
            AgentEvent::Thought { text } => return self.words(OpenLine::Thoughts, text),
            _ => {}
        }
        let line = self.line(event);
        let mut text = self.close();
        if let Some(line) = line {
            let _ = writeln!(text, "{line}");
        }
        text
    }

    /// The end of an open line.
    pub(crate) fn close(&mut self) -> String {
        match std::mem::replace(&mut self.open, OpenLine::Nothing) {
            OpenLine::Nothing => String::new(),
            OpenLine::Words | OpenLine::Thoughts => "\n".to_owned(),
        }
    }

    fn words(&mut self, kind: OpenLine, text: &str) -> String {
        let mut shown = if self.open == kind { String::new() } else { self.close() };
        self.open = kind;
        let lines: Vec<String> = text.split('\n').map(|line| clean(line).into_owned()).collect();
        let text = lines.join("\n");
        shown.push_str(&if kind == OpenLine::Thoughts { self.paint.dim(&text) } else { text });
        shown
    }

    fn line(&self, event: &AgentEvent) -> Option<String> {
        let dim = |text: String| self.paint.dim(&text);
        Some(match event {
            AgentEvent::Began { model, version, .. } => {
                let more: Vec<String> =
                    [model, version].into_iter().flatten().map(|word| clean(word).into_owned()).collect();
                dim(format!("▸ started {}", more.join(" ")).trim_end().to_owned())
            }
            AgentEvent::ToolBegan { title, kind, .. } => format!("→ {kind}: {}", short(title)),
            AgentEvent::ToolEnded { status: ToolStatus::Ok, output, .. } => {
                let first = output.lines().find(|line| !line.trim().is_empty())?;
                dim(format!("  {}", short(first)))
            }
            AgentEvent::ToolEnded { status, output, .. } => {
                let first = output.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                self.paint.error(&format!("  {status}: {}", short(first)))
            }
            AgentEvent::Changed { path, added, removed, .. } => {
                let count =
                    |sign: char, many: &Option<u64>| many.map(|many| format!(" {sign}{many}")).unwrap_or_default();
                format!("± {}{}{}", short(path), count('+', added), count('-', removed))
            }
            AgentEvent::Planned { entries } => {
                let done = entries.iter().filter(|entry| entry.status == PlanEntryStatus::Completed).count();
                dim(format!("≡ plan: {done} of {} done", entries.len()))
            }
            AgentEvent::Asked { title, .. } => self.paint.warning(&format!("? asks to: {}", short(title))),
            AgentEvent::Answered { kind, .. } => dim(format!("  answered: {kind}")),
            AgentEvent::Trouble { kind, message, .. } => self.paint.error(&format!("! {kind}: {}", short(message))),
            AgentEvent::Retrying { attempt, delay_ms, .. } => {
                self.paint.warning(&format!("! retry {attempt} in {} s", delay_ms / 1000))
            }
            AgentEvent::Printed { stream, text } => {
                let mark = if *stream == Stream::Err { "stderr" } else { "stdout" };
                let lines: Vec<String> = text.lines().map(|line| dim(format!("  {mark}: {}", short(line)))).collect();
                lines.join("\n")
            }
            AgentEvent::Cut { bytes } => dim(format!("  … {bytes} bytes omitted")),
            AgentEvent::Ended { stop, .. } => dim(format!("▪ {}", ended(*stop))),
            AgentEvent::Usage { .. }
            | AgentEvent::Context { .. }
            | AgentEvent::Said { .. }
            | AgentEvent::Thought { .. } => return None,
        })
    }
}

fn ended(stop: StopReason) -> String {
    match stop {
        StopReason::EndTurn => "turn ended".to_owned(),
        StopReason::Cancelled => "cancelled".to_owned(),
        StopReason::MaxTurns => "turn limit reached".to_owned(),
        StopReason::Refused => "the model refused".to_owned(),
        StopReason::Error => "the agent reported an error".to_owned(),
        StopReason::Exited { code } => format!("process exited with code {code}"),
        StopReason::Killed { signal } => format!("process killed by signal {signal}"),
    }
}

/// The first line of a text, cut where it is too long.
fn short(text: &str) -> String {
    ellipsize(&clean(text.lines().next().unwrap_or_default()), WIDE)
}

/// The stored transcript of a session.
pub(crate) fn load_all(client: &CliClient, session: &str) -> Result<ReceivedReply<Vec<TranscriptBody>>, CommandError> {
    client.list_raw(spawns::transcript(session, PageQuery::default()))
}

/// Output format of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TranscriptFormat {
    /// Text for people.
    Text,
    /// JSON for programs, one entry per line.
    Json,
}

impl TranscriptFormat {
    pub(crate) fn of(world: &World) -> Self {
        if world.json { Self::Json } else { Self::Text }
    }
}

/// Position in a transcript that is being followed.
pub(crate) struct TranscriptFollower<'a> {
    pub(crate) client: &'a CliClient,
    pub(crate) session: &'a str,
    pub(crate) shown: TranscriptPrinter,
    pub(crate) after: i64,
    pub(crate) form: TranscriptFormat,
}

impl TranscriptFollower<'_> {
    /// Shows the entries since the last call, in batches.
    pub(crate) fn more(&mut self, show: fn(&str) -> Result<(), CommandError>) -> Result<(), CommandError> {
        loop {
            let page = PageQuery { limit: Some(500), cursor: Some(self.after) };
            let ReceivedReply { raw, value } = self.client.call_raw(spawns::transcript(self.session, page))?;
            let full = value.len() == 500;
            let mut text = String::new();
            for (raw, entry) in raw.as_array().into_iter().flatten().zip(value) {
                self.after = entry.ord;
                match self.form {
                    TranscriptFormat::Text => text.push_str(&self.shown.event(&entry.event)),
                    TranscriptFormat::Json => {
                        let _ = writeln!(text, "{raw}");
                    }
                }
            }
            show(&text)?;
            if !full {
                return Ok(());
            }
        }
    }
}
