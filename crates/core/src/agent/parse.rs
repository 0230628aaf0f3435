//! Parsing of an agent's output into events.
//!
//! Each agent has a file below, which says what its numbers of tokens stand for; that was measured by resuming sessions.

mod aider;
mod claude;
mod codex;
mod gemini;
mod goose;
mod json_access;
mod native;
mod opencode;
#[cfg(test)]
mod tests;
mod tool_call;

use serde_json::Value as Json;

use super::agent_event::{AgentEvent, FailureKind, StopReason, Stream};
use super::event_limits::limit_event;
use super::failure::failure_event;
use super::output_lines::{MOST_LINE, OutputLine};
use crate::excerpt::first_bytes;
use crate::word_enum::words;
pub use goose::message_or_failure as goose_said;
pub use tool_call::title as call_title;

/// How many bytes are shown of a line that was cut, and kept of the last line of standard error.
const SHOWN: usize = 1024;

words! {
    /// What an agent's output is written in.
    pub enum Format {
        /// Claude Code's `--output-format stream-json`.
        Claude = "claude",
        /// Codex' `exec --json`.
        Codex = "codex",
        /// OpenCode's `run --format json`.
        Opencode = "opencode",
        /// Gemini CLI's `--output-format stream-json`.
        Gemini = "gemini",
        /// Goose's `run --output-format stream-json`.
        Goose = "goose",
        /// Aider's text.
        Aider = "aider",
        /// Events of this vocabulary, one JSON object a line; other lines are text.
        Events = "events",
        /// Text of which nothing is known.
        Text = "text",
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentExit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// What is remembered of an agent's output while it is read; some tens of kilobytes at most.
#[derive(Debug)]
pub struct OutputParser {
    dialect: OutputDialect,
    /// The last line of standard error, which often is all that an agent says when it cannot begin.
    last_err: String,
    /// The beginning of the last failure: agents report the same thing twice.
    last_trouble: String,
}

#[derive(Debug)]
enum OutputDialect {
    Claude(claude::ClaudeParser),
    Codex(codex::CodexParser),
    Opencode(opencode::OpencodeParser),
    Gemini(gemini::GeminiParser),
    Goose(goose::GooseParser),
    Aider(aider::AiderParser),
    Events,
    Text,
}

impl OutputParser {
    /// A parser for what one process of an agent writes.
    pub fn new(format: Format) -> Self {
        let dialect = match format {
            Format::Claude => OutputDialect::Claude(claude::ClaudeParser::default()),
            Format::Codex => OutputDialect::Codex(codex::CodexParser::default()),
            Format::Opencode => OutputDialect::Opencode(opencode::OpencodeParser::default()),
            Format::Gemini => OutputDialect::Gemini(gemini::GeminiParser::default()),
            Format::Goose => OutputDialect::Goose(goose::GooseParser::default()),
            Format::Aider => OutputDialect::Aider(aider::AiderParser::default()),
            Format::Events => OutputDialect::Events,
            Format::Text => OutputDialect::Text,
        };
        Self { dialect, last_err: String::new(), last_trouble: String::new() }
    }

    /// The first event of a process. Agents that never say that they started have started when their program runs.
    pub fn begin(&self) -> Option<AgentEvent> {
        let is_quiet = matches!(self.dialect, OutputDialect::Text | OutputDialect::Goose(_));
        is_quiet.then_some(AgentEvent::Began { agent_session: None, model: None, version: None })
    }

    /// The events of a line of standard output, whatever its bytes are.
    pub fn feed(&mut self, line: &[u8]) -> Vec<AgentEvent> {
        if line.len() > MOST_LINE {
            let (head, rest) = line.split_at(MOST_LINE);
            return self.cut(head, rest.len() as u64);
        }
        let events = self.read(&String::from_utf8_lossy(line));
        self.record_events(events)
    }

    /// The events of a line from [`super::LineSplitter`].
    pub fn feed_line(&mut self, line: &OutputLine) -> Vec<AgentEvent> {
        match line {
            OutputLine::Whole(line) => self.feed(line),
            OutputLine::Cut { head, bytes } => self.cut(head, *bytes),
        }
    }

    /// The events of a line of standard error.
    pub fn feed_err(&mut self, line: &OutputLine) -> Vec<AgentEvent> {
        let (bytes, cut) = match line {
            OutputLine::Whole(line) => (line, None),
            OutputLine::Cut { head, bytes } => (head, Some(*bytes)),
        };
        let text = String::from_utf8_lossy(bytes);
        if !text.trim().is_empty() {
            first_bytes(&text, SHOWN).clone_into(&mut self.last_err);
        }
        let printed = limit_event(AgentEvent::Printed { stream: Stream::Err, text: text.into_owned() });
        std::iter::once(printed).chain(cut.map(|bytes| AgentEvent::Cut { bytes })).collect()
    }

    /// A call was denied and therefore fails; the denial is not reported a second time.
    pub fn deny(&mut self, call: &str) {
        if let OutputDialect::Claude(claude) = &mut self.dialect {
            claude.deny(call);
        }
    }

    /// The last events of a process: what was held back, why it could not start, and how it ended.
    pub fn finish(mut self, exit: AgentExit) -> Vec<AgentEvent> {
        let held = match &mut self.dialect {
            OutputDialect::Claude(claude) => claude.finish(),
            OutputDialect::Codex(codex) => codex.finish(),
            OutputDialect::Aider(aider) => aider.finish(),
            _ => Vec::new(),
        };
        let mut events = self.record_events(held);
        let well = exit == AgentExit::Code(0);
        if !well && self.last_trouble.is_empty() && !self.last_err.is_empty() {
            let last = std::mem::take(&mut self.last_err);
            events.extend(self.record_events(vec![failure_event(None, &last)]));
        }
        let stop = match exit {
            AgentExit::Code(code) => StopReason::Exited { code },
            AgentExit::Signal(signal) => StopReason::Killed { signal },
        };
        events.push(AgentEvent::Ended { stop, text: None });
        events
    }

    fn read(&mut self, line: &str) -> Vec<AgentEvent> {
        match &mut self.dialect {
            OutputDialect::Aider(aider) => return aider.read(line),
            OutputDialect::Text => return vec![output_event(line)],
            _ => {}
        }
        if line.trim().is_empty() {
            return Vec::new();
        }
        let json = match serde_json::from_str::<Json>(line) {
            Ok(json) if json.is_object() => json,
            Err(error) if line.starts_with('{') => return vec![malformed_event(line, &error)],
            _ => return vec![output_event(line)],
        };
        let known = match &mut self.dialect {
            OutputDialect::Claude(claude) => claude.read(&json),
            OutputDialect::Codex(codex) => codex.read(&json),
            OutputDialect::Opencode(opencode) => opencode.read(&json),
            OutputDialect::Gemini(gemini) => gemini.read(&json),
            OutputDialect::Goose(goose) => goose.read(&json),
            OutputDialect::Events => native::read(json),
            OutputDialect::Aider(_) | OutputDialect::Text => None,
        };
        known.unwrap_or_else(|| vec![output_event(line)])
    }

    fn cut(&mut self, head: &[u8], bytes: u64) -> Vec<AgentEvent> {
        let head = String::from_utf8_lossy(head);
        // Half of a JSON object has no meaning, but people see what it was.
        let shown = match &mut self.dialect {
            OutputDialect::Aider(_) | OutputDialect::Text => &*head,
            _ => first_bytes(&head, SHOWN),
        };
        let bytes = bytes + (head.len() - shown.len()) as u64;
        vec![limit_event(output_event(shown)), AgentEvent::Cut { bytes }]
    }

    /// The events, limited in size, without a failure that was reported before.
    fn record_events(&mut self, events: Vec<AgentEvent>) -> Vec<AgentEvent> {
        let mut fresh = |event: &AgentEvent| match event {
            AgentEvent::Trouble { message, .. } => {
                let began = first_bytes(message, SHOWN);
                let before = std::mem::replace(&mut self.last_trouble, began.to_owned());
                before != began
            }
            // What went well in between makes the next trouble a new one.
            AgentEvent::ToolEnded { .. } | AgentEvent::Said { .. } => {
                self.last_trouble.clear();
                true
            }
            _ => true,
        };
        events.into_iter().map(limit_event).filter(|event| fresh(event)).collect()
    }
}

fn output_event(line: &str) -> AgentEvent {
    AgentEvent::Printed { stream: Stream::Out, text: line.to_owned() }
}

fn malformed_event(line: &str, error: &serde_json::Error) -> AgentEvent {
    let shown = first_bytes(line, SHOWN);
    let message = format!("malformed line in the agent's output ({error}): {shown}");
    AgentEvent::Trouble { kind: FailureKind::Malformed, status: None, message, retry_after_ms: None }
}
