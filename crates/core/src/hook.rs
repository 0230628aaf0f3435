//! Events from an agent's hooks, and the answers to them.
//!
//! Claude Code, Codex and Gemini CLI call a program when something happens and hand it JSON; their words differ a
//! little. What the program prints for a prompt goes to the model beside it.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::excerpt::{ellipsize, one_line};
use crate::visible::visible;

/// How much of a message is passed on, in characters.
const MAX_WORDS: usize = 200;

/// An event from a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// The agent's own name for its session.
    pub session: String,
    /// Where it works.
    pub directory: Option<PathBuf>,
    /// What happened.
    pub happening: Happening,
    /// What the agent calls that.
    event: String,
}

/// What can happen in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// It starts or resumes.
    Begun {
        /// Whether the model still has its earlier context.
        memory: Memory,
    },
    /// Its user said something.
    Prompted(String),
    /// It waits for its user, for the reason given.
    Waits(String),
    /// Its turn is over.
    Stopped,
    /// It is over.
    Ended,
    /// Any other event.
    Other,
}

/// What a model knows at the start of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// Its earlier context.
    Kept,
    /// Nothing, or a summary.
    Lost,
}

#[derive(Deserialize)]
struct Told {
    session_id: String,
    hook_event_name: String,
    cwd: Option<PathBuf>,
    prompt: Option<String>,
    message: Option<String>,
    source: Option<String>,
}

impl Heard {
    /// Understands what a hook was handed.
    pub fn of(told: Json) -> Result<Self, serde_json::Error> {
        let told: Told = serde_json::from_value(told)?;
        let memory = match told.source.as_deref() {
            Some("clear" | "compact") => Memory::Lost,
            _ => Memory::Kept,
        };
        let waits = |usual: &str| Happening::Waits(in_a_line(told.message.as_deref().unwrap_or(usual)));
        let happening = match told.hook_event_name.as_str() {
            "SessionStart" => Happening::Begun { memory },
            "UserPromptSubmit" | "BeforeAgent" => Happening::Prompted(told.prompt.unwrap_or_default()),
            "Notification" => waits("It waits for you"),
            "PermissionRequest" => waits("It asks whether it may do something"),
            "Stop" | "AfterAgent" => Happening::Stopped,
            "SessionEnd" => Happening::Ended,
            _ => Happening::Other,
        };
        let directory = told.cwd.filter(|directory| directory.is_absolute());
        Ok(Self { session: told.session_id, directory, happening, event: told.hook_event_name })
    }

    /// What the agent is answered so that its model reads a text beside the prompt. Nothing in it steers the terminal
    /// that may show it.
    pub fn answer(&self, text: &str) -> Json {
        json!({ "hookSpecificOutput": { "hookEventName": self.event, "additionalContext": visible(text) } })
    }
}

/// The beginning of a text, on one line.
pub fn in_a_line(words: &str) -> String {
    ellipsize(&one_line(words), MAX_WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(event: &str) -> Happening {
        let told = json!({
            "session_id": "s", "hook_event_name": event, "cwd": "/p", "prompt": "Do it", "message": "May I?",
            "unknown": [1],
        });
        Heard::of(told).unwrap().happening
    }

    #[test]
    fn each_agents_words_mean_the_same() {
        assert_eq!(heard("UserPromptSubmit"), heard("BeforeAgent"));
        assert_eq!(heard("Stop"), heard("AfterAgent"));
        assert_eq!(heard("Notification"), Happening::Waits("May I?".into()));
        assert_eq!(heard("PreToolUse"), Happening::Other);
    }

    #[test]
    fn a_model_that_was_cleared_knows_nothing_any_more() {
        let started = |source: &str| {
            let told = json!({ "session_id": "s", "hook_event_name": "SessionStart", "source": source });
            Heard::of(told).unwrap().happening
        };
        assert_eq!(started("resume"), Happening::Begun { memory: Memory::Kept });
        assert_eq!(started("compact"), Happening::Begun { memory: Memory::Lost });
    }

    #[test]
    fn the_answer_names_the_event_in_the_agents_own_word() {
        let told = json!({ "session_id": "s", "hook_event_name": "BeforeAgent", "prompt": "p" });
        let answer = Heard::of(told).unwrap().answer("text");
        assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "BeforeAgent");
    }

    #[test]
    fn long_words_are_cut() {
        assert_eq!(in_a_line("a\n  b"), "a b");
        assert_eq!(in_a_line(&"ü".repeat(500)).chars().count(), MAX_WORDS + 1);
    }

    #[test]
    fn nothing_in_an_answer_steers_a_terminal() {
        let told = json!({ "session_id": "s", "hook_event_name": "BeforeAgent", "prompt": "p" });
        let answer = Heard::of(told).unwrap().answer("a\u{1b}[31m\u{7}\u{202e}b\u{2066}\r\n\tc\rd\u{9b}ü");
        let shown = "a\u{fffd}[31m\u{fffd}\u{fffd}b\u{fffd}\n\tc\u{fffd}d\u{fffd}ü";
        assert_eq!(answer["hookSpecificOutput"]["additionalContext"], shown);
    }
}
