//! Progress of an agent, counted while it works and summarized for the session that continues its work.

use std::fmt::Write as _;

use super::agent_event::{AgentEvent, ToolStatus};
use crate::excerpt::{ellipsize, head_and_tail, one_line};

/// How many of the last steps the summary lists.
const LAST: usize = 20;
/// How many characters of each.
const SHOWN: usize = 240;
/// How many bytes of the last message are kept: its end, where a question stands.
const KEPT: usize = 4096;

/// What an agent did so far, as much as the next one needs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkProgress {
    turns: u64,
    after_tool: bool,
    spoke: bool,
    deeds: Vec<(String, String)>,
    words: String,
}

impl WorkProgress {
    /// Takes note of an event.
    pub fn note(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Said { .. } | AgentEvent::Thought { .. } | AgentEvent::ToolBegan { .. } => {
                // What comes after an answer of a tool is another answer of the model.
                if self.after_tool || !self.spoke {
                    self.turns += 1;
                    self.words.clear();
                }
                (self.after_tool, self.spoke) = (false, true);
            }
            AgentEvent::ToolEnded { .. } => self.after_tool = true,
            AgentEvent::Ended { .. } => (self.after_tool, self.spoke) = (false, false),
            _ => {}
        }
        match event {
            AgentEvent::Said { text } => self.append(text),
            AgentEvent::ToolBegan { id, title, .. } => {
                let title = shorten(title);
                match self.deeds.iter_mut().find(|(known, _)| known == id) {
                    Some((_, deed)) => *deed = title,
                    None => self.deeds.push((id.clone(), title)),
                }
                let extra = self.deeds.len().saturating_sub(LAST);
                self.deeds.drain(..extra);
            }
            AgentEvent::ToolEnded { id, status: status @ (ToolStatus::Failed | ToolStatus::Denied), .. } => {
                if let Some((_, deed)) = self.deeds.iter_mut().find(|(known, _)| known == id) {
                    let _ = write!(deed, " ({status})");
                }
            }
            _ => {}
        }
    }

    /// Adds a piece of a message to the others.
    fn append(&mut self, piece: &str) {
        self.words.push_str(piece);
        let extra = self.words.len().saturating_sub(KEPT);
        self.words.drain(..self.words.ceil_char_boundary(extra));
    }

    /// The agent's last message, on one line.
    pub fn last_words(&self) -> Option<String> {
        let words = head_and_tail(&one_line(&self.words), SHOWN / 2, SHOWN / 2);
        (!words.is_empty()).then_some(words)
    }

    /// How many times the model answered.
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// A summary for the session that continues; `None` if nothing was done.
    pub fn summarize(&self, reports: &[String], changed: &[String]) -> Option<String> {
        let mut text = String::new();
        let mut part = |heading: &str, lines: &mut dyn Iterator<Item = &str>| {
            let mut lines = lines.peekable();
            if lines.peek().is_some() {
                let _ = writeln!(text, "{heading}");
                lines.for_each(|line| {
                    let _ = writeln!(text, "- {line}");
                });
                text.push('\n');
            }
        };
        part("It reported:", &mut reports.iter().map(String::as_str));
        part("Changed files:", &mut changed.iter().map(String::as_str));
        part("Last steps:", &mut self.deeds.iter().map(|(_, deed)| deed.as_str()));
        part("Last message:", &mut self.last_words().as_deref().into_iter());
        let text = text.trim_end();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

fn shorten(text: &str) -> String {
    ellipsize(&one_line(text), SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{StopReason, ToolKind};
    use serde_json::Value as Json;

    fn tool(id: &str, title: &str) -> AgentEvent {
        let (id, name, title) = (id.to_owned(), "shell".to_owned(), title.to_owned());
        AgentEvent::ToolBegan { id, name, title, kind: ToolKind::Execute, input: Json::Null }
    }

    fn ended(id: &str, status: ToolStatus) -> AgentEvent {
        AgentEvent::ToolEnded { id: id.to_owned(), status, output: String::new() }
    }

    fn said(text: &str) -> AgentEvent {
        AgentEvent::Said { text: text.to_owned() }
    }

    #[test]
    fn each_answer_of_the_model_is_a_turn_however_many_pieces_it_has() {
        let mut progress = WorkProgress::default();
        for event in [
            said("I look "),
            said("first."),
            tool("1", "ls"),
            tool("2", "cat a"),
            ended("1", ToolStatus::Ok),
            ended("2", ToolStatus::Failed),
            said("Done."),
            AgentEvent::Ended { stop: StopReason::EndTurn, text: None },
            said("Which of "),
            said("both?"),
        ] {
            progress.note(&event);
        }
        assert_eq!(progress.turns(), 3);
        let told = progress.summarize(&["half way".to_owned()], &["a.rs".to_owned()]).unwrap();
        assert_eq!(
            told,
            "It reported:\n- half way\n\nChanged files:\n- a.rs\n\nLast steps:\n- ls\n- cat a (failed)\n\n\
             Last message:\n- Which of both?"
        );
        assert_eq!(WorkProgress::default().summarize(&[], &[]), None);
    }
}
