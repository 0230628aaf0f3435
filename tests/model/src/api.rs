//! The four ways to ask a model, and what its answers look like in each.

mod chat;
mod gemini;
mod messages;
mod responses;

use serde_json::Value;

use crate::script::Call;

/// Which API is spoken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Api {
    /// Anthropic's.
    Messages,
    /// OpenAI's newer one.
    Responses,
    /// OpenAI's older one, which everybody else speaks, too.
    Chat,
    /// Google's.
    Gemini,
}

/// What is answered, whichever API.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    /// Unlike that of any other answer of this server.
    pub(crate) id: String,
    pub(crate) request: &'a Value,
    pub(crate) text: Option<&'a str>,
    pub(crate) calls: Vec<Call>,
    pub(crate) usage: [u64; 2],
}

/// One element of a conversation.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// What was said to the model here, other than by itself and its tools; JSON.
    pub(crate) said: String,
    /// How many tools have answered here.
    pub(crate) results: usize,
}

/// One event of a stream.
#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) name: Option<&'static str>,
    pub(crate) data: String,
}

impl Event {
    fn data(data: &Value) -> Self {
        Self { name: None, data: data.to_string() }
    }
}

impl Api {
    /// Tells by the path what is spoken.
    pub(crate) fn of(path: &str) -> Option<Self> {
        if path.ends_with("/messages") {
            Some(Self::Messages)
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else if path.ends_with("/chat/completions") {
            Some(Self::Chat)
        } else if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
            Some(Self::Gemini)
        } else {
            None
        }
    }

    /// The conversation so far.
    pub(crate) fn turns(self, request: &Value) -> Vec<Turn> {
        let list = |name: &str| request[name].as_array().map_or(&[][..], Vec::as_slice);
        match self {
            Self::Messages => list("messages").iter().map(messages::turn).collect(),
            Self::Responses => list("input").iter().map(responses::turn).collect(),
            Self::Chat => list("messages").iter().map(chat::turn).collect(),
            Self::Gemini => list("contents").iter().map(gemini::turn).collect(),
        }
    }

    /// Whether the answer is wanted in pieces.
    pub(crate) fn streams(self, path: &str, request: &Value) -> bool {
        match self {
            Self::Gemini => path.ends_with(":streamGenerateContent"),
            _ => request["stream"].as_bool().unwrap_or(false),
        }
    }

    pub(crate) fn whole(self, answer: &Answer<'_>) -> Value {
        match self {
            Self::Messages => messages::whole(answer),
            Self::Responses => responses::whole(answer),
            Self::Chat => chat::whole(answer),
            Self::Gemini => gemini::whole(answer),
        }
    }

    pub(crate) fn stream(self, answer: &Answer<'_>) -> Vec<Event> {
        match self {
            Self::Messages => messages::stream(answer),
            Self::Responses => responses::stream(answer),
            Self::Chat => chat::stream(answer),
            Self::Gemini => gemini::stream(answer),
        }
    }

    /// How the API words an error.
    pub(crate) fn error(self, status: u16, message: &str, retry_after: Option<u64>) -> Value {
        match self {
            Self::Messages => messages::error(status, message),
            Self::Responses | Self::Chat => chat::error(status, message),
            Self::Gemini => gemini::error(status, message, retry_after),
        }
    }
}

impl Answer<'_> {
    fn model(&self) -> &Value {
        &self.request["model"]
    }
}

/// A text in the pieces it comes in: a few characters each.
fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(12).map(|piece| piece.iter().collect()).collect()
}

/// Seconds since 1970, as the answers tell them.
fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
