//! Events from an agent's hooks, and the answers to them.
//!
//! Claude Code, Codex, Gemini CLI and Cursor call a program when something happens and hand it JSON; their words differ a
//! little. What the program prints for a prompt goes to the model beside it.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::excerpt::{ellipsize, one_line};
use crate::hidden_chars::escape_hidden;

/// How much of a message is passed on, in characters.
const MAX_WORDS: usize = 200;

/// What Cursor calls the start of a session.
const CURSOR_START: &str = "sessionStart";
/// What Cursor calls a prompt.
const CURSOR_PROMPT: &str = "beforeSubmitPrompt";

/// An event from a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookEvent {
    /// The agent's own name for its session.
    pub session: String,
    /// Where it works.
    pub directory: Option<PathBuf>,
    /// What happened.
    pub kind: HookEventKind,
    /// What the agent calls that.
    event: String,
}

/// What can happen in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookEventKind {
    /// It starts or resumes.
    Started {
        /// Whether the model still has its earlier context.
        memory: ModelMemory,
    },
    /// Its user said something.
    Prompted(String),
    /// It waits for its user, for the reason given.
    Waiting(String),
    /// Its turn is over.
    Stopped,
    /// It is over.
    Ended,
    /// Any other event.
    Other,
}

/// What a model knows at the start of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelMemory {
    /// Its earlier context.
    Kept,
    /// Nothing, or a summary.
    Lost,
}

#[derive(Deserialize)]
struct HookPayload {
    session_id: Option<String>,
    /// What Cursor calls it.
    conversation_id: Option<String>,
    hook_event_name: String,
    cwd: Option<PathBuf>,
    /// Where Cursor says that it works.
    #[serde(default)]
    workspace_roots: Vec<PathBuf>,
    prompt: Option<String>,
    message: Option<String>,
    source: Option<String>,
}

impl HookEvent {
    /// Understands what a hook was handed.
    pub fn parse(told: Json) -> Result<Self, serde_json::Error> {
        let told: HookPayload = serde_json::from_value(told)?;
        let memory = match told.source.as_deref() {
            Some("clear" | "compact") => ModelMemory::Lost,
            _ => ModelMemory::Kept,
        };
        let waits = |usual: &str| HookEventKind::Waiting(shorten_to_line(told.message.as_deref().unwrap_or(usual)));
        let happening = match told.hook_event_name.as_str() {
            "SessionStart" | CURSOR_START => HookEventKind::Started { memory },
            "UserPromptSubmit" | "BeforeAgent" | CURSOR_PROMPT => {
                HookEventKind::Prompted(told.prompt.unwrap_or_default())
            }
            "Notification" => waits("It waits for you"),
            "PermissionRequest" => waits("It asks whether it may do something"),
            "Stop" | "AfterAgent" | "stop" => HookEventKind::Stopped,
            "SessionEnd" | "sessionEnd" => HookEventKind::Ended,
            _ => HookEventKind::Other,
        };
        let directory = told.cwd.or_else(|| told.workspace_roots.into_iter().next());
        let directory = directory.filter(|directory| directory.is_absolute());
        let session = told.conversation_id.or(told.session_id);
        let session = session.ok_or_else(|| serde::de::Error::missing_field("session_id"))?;
        Ok(Self { session, directory, kind: happening, event: told.hook_event_name })
    }

    /// Whether the agent hands its model what a hook prints for this event. Cursor does at the start of a session, and
    /// takes from a prompt's hook only whether to go on.
    pub fn reaches_model(&self) -> bool {
        self.event != CURSOR_PROMPT
    }

    /// What Cursor is answered so that its model reads a text from the start of a session; other agents get theirs
    /// with each prompt.
    pub fn session_answer(&self, text: &str) -> Option<Json> {
        (self.event == CURSOR_START).then(|| json!({ "additional_context": escape_hidden(text) }))
    }

    /// What the agent is answered so that its model reads a text beside the prompt, and its user a note. Nothing in it
    /// steers the terminal that may show it.
    pub fn answer(&self, text: &str, note: &str) -> Json {
        json!({
            "systemMessage": escape_hidden(note),
            "hookSpecificOutput": { "hookEventName": self.event, "additionalContext": escape_hidden(text) },
        })
    }
}

/// The beginning of a text, on one line.
pub fn shorten_to_line(words: &str) -> String {
    ellipsize(&one_line(words), MAX_WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(event: &str) -> HookEventKind {
        let told = json!({
            "session_id": "s", "hook_event_name": event, "cwd": "/p", "prompt": "Do it", "message": "May I?",
            "unknown": [1],
        });
        HookEvent::parse(told).unwrap().kind
    }

    #[test]
    fn each_agents_words_mean_the_same() {
        assert_eq!(heard("UserPromptSubmit"), heard("BeforeAgent"));
        assert_eq!(heard("Stop"), heard("AfterAgent"));
        assert_eq!(heard("Notification"), HookEventKind::Waiting("May I?".into()));
        assert_eq!(heard("PreToolUse"), HookEventKind::Other);
    }

    #[test]
    fn cursors_words_mean_the_same() {
        let told = |event: &str| json!({ "conversation_id": "c", "session_id": "c", "hook_event_name": event, "workspace_roots": ["/p", "/q"] });
        let stopped = HookEvent::parse(told("stop")).unwrap();
        assert_eq!((stopped.kind, stopped.session.as_str()), (HookEventKind::Stopped, "c"));
        assert_eq!(stopped.directory, Some(PathBuf::from("/p")));
        assert_eq!(HookEvent::parse(told("sessionEnd")).unwrap().kind, HookEventKind::Ended);
        let mut prompted = told("beforeSubmitPrompt");
        prompted["prompt"] = json!("Do it");
        let prompted = HookEvent::parse(prompted).unwrap();
        assert_eq!(prompted.kind, HookEventKind::Prompted("Do it".into()));
        assert!(!prompted.reaches_model(), "it has no field for a text");
        let started = HookEvent::parse(told("sessionStart")).unwrap();
        assert_eq!(started.session_answer("Ask."), Some(json!({ "additional_context": "Ask." })));
        assert!(HookEvent::parse(json!({ "hook_event_name": "stop" })).is_err());
    }

    #[test]
    fn a_model_that_was_cleared_knows_nothing_any_more() {
        let started = |source: &str| {
            let told = json!({ "session_id": "s", "hook_event_name": "SessionStart", "source": source });
            HookEvent::parse(told).unwrap().kind
        };
        assert_eq!(started("resume"), HookEventKind::Started { memory: ModelMemory::Kept });
        assert_eq!(started("compact"), HookEventKind::Started { memory: ModelMemory::Lost });
    }

    #[test]
    fn the_answer_names_the_event_in_the_agents_own_word() {
        let told = json!({ "session_id": "s", "hook_event_name": "BeforeAgent", "prompt": "p" });
        let answer = HookEvent::parse(told).unwrap().answer("text", "note");
        assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "BeforeAgent");
        assert_eq!(answer["systemMessage"], "note");
    }

    #[test]
    fn long_words_are_cut() {
        assert_eq!(shorten_to_line("a\n  b"), "a b");
        assert_eq!(shorten_to_line(&"ü".repeat(500)).chars().count(), MAX_WORDS + 1);
    }

    #[test]
    fn nothing_in_an_answer_steers_a_terminal() {
        let told = json!({ "session_id": "s", "hook_event_name": "BeforeAgent", "prompt": "p" });
        let answer = HookEvent::parse(told).unwrap().answer("a\u{1b}[31m\u{7}\u{202e}b\u{2066}\r\n\tc\rd\u{9b}ü", "");
        let shown = "a\u{fffd}[31m\u{fffd}\u{fffd}b\u{fffd}\n\tc\u{fffd}d\u{fffd}ü";
        assert_eq!(answer["hookSpecificOutput"]["additionalContext"], shown);
    }
}
