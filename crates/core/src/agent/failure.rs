//! Classification of an agent's failures, and the decision what to do about each.

mod failure_phrases;
mod failure_text;

use super::agent_event::{AgentEvent, FailureKind};

/// What to do about something that went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDecision {
    /// It cannot succeed before a person does something: a key, a model, money.
    Park,
    /// It can succeed from this moment on, in milliseconds since 1970.
    WaitUntil {
        /// The moment.
        at: i64,
    },
    /// It can succeed after this many milliseconds.
    RetryAfter {
        /// How many.
        ms: u64,
    },
    /// It can succeed with a shorter context: in a fresh session that gets a summary of the work.
    Compact,
    /// The model cannot be reached or is overloaded: it is tried again after pauses that grow.
    WaitOut,
    /// It may succeed if it is tried again, each time a little later.
    Retry,
    /// Trying again would change nothing.
    Fail,
}

/// A failure as an event; a status that the agent does not give is searched in its message.
pub fn failure_event(status: Option<u16>, message: &str) -> AgentEvent {
    let status = status.or_else(|| failure_text::status(message));
    AgentEvent::Trouble {
        kind: classify_failure(status, message),
        status,
        message: message.to_owned(),
        retry_after_ms: failure_text::wait(message),
    }
}

/// What kind of thing went wrong: by its words where they are known, else by the status of the model's server.
pub fn classify_failure(status: Option<u16>, message: &str) -> FailureKind {
    let message = message.to_lowercase();
    let said = failure_phrases::SAID.iter().find(|(words, _)| message.contains(words));
    let by_status = || failure_phrases::STATUS.iter().find(|(known, _)| status == Some(*known)).map(|(_, kind)| *kind);
    let hinted = || failure_phrases::HINTS.iter().find(|(words, _)| message.contains(words)).map(|(_, kind)| *kind);
    said.map(|(_, kind)| *kind)
        .or_else(by_status)
        .or_else(|| matches!(status, Some(500..=599)).then_some(FailureKind::Overloaded))
        .or_else(hinted)
        .unwrap_or(FailureKind::Other)
}

/// What to do about an event; nothing, if it is no trouble.
pub fn decide_retry(event: &AgentEvent) -> Option<RetryDecision> {
    let AgentEvent::Trouble { kind, message, retry_after_ms, .. } = event else { return None };
    Some(match kind {
        FailureKind::Auth | FailureKind::MissingModel => RetryDecision::Park,
        FailureKind::RateLimit | FailureKind::Overloaded => match (failure_text::moment(message), retry_after_ms) {
            (Some(at), _) => RetryDecision::WaitUntil { at },
            (None, Some(ms)) => RetryDecision::RetryAfter { ms: *ms },
            (None, None) => RetryDecision::WaitOut,
        },
        FailureKind::ContextOverflow => RetryDecision::Compact,
        FailureKind::Network => RetryDecision::WaitOut,
        FailureKind::Malformed => RetryDecision::Retry,
        FailureKind::Denied | FailureKind::Other => RetryDecision::Fail,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the six agents really say, most of it taken from their output.
    const REAL: &[(&str, &str, Option<u16>, FailureKind)] = &[
        ("claude", "Invalid API key · Fix external API key", Some(401), FailureKind::Auth),
        ("claude", "Invalid API key · Please run /login", None, FailureKind::Auth),
        ("claude", "Credit balance is too low", Some(400), FailureKind::Auth),
        (
            "claude",
            "OAuth token has expired. Please obtain a new token or refresh your existing token.",
            None,
            FailureKind::Auth,
        ),
        (
            "claude",
            "There's an issue with the selected model (claude-opus-4-8[1m]). It may not exist or you may not have access to it. Run --model to pick a different model.",
            Some(404),
            FailureKind::MissingModel,
        ),
        (
            "claude",
            "API Error: Request rejected (429) · This request would exceed your rate limit",
            Some(429),
            FailureKind::RateLimit,
        ),
        ("claude", "Claude AI usage limit reached|1755806400", None, FailureKind::RateLimit),
        (
            "claude",
            "API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}",
            None,
            FailureKind::Overloaded,
        ),
        (
            "claude",
            "Prompt is too long · the request is ~210000 tokens (limit 200000)",
            Some(400),
            FailureKind::ContextOverflow,
        ),
        ("claude", "API Error: Connection error.", None, FailureKind::Network),
        (
            "codex",
            "unexpected status 401 Unauthorized: invalid x-api-key, url: http://127.0.0.1/v1/responses",
            None,
            FailureKind::Auth,
        ),
        (
            "codex",
            "unexpected status 404 Not Found: model: nope-1 not found, url: http://127.0.0.1/v1/responses",
            None,
            FailureKind::MissingModel,
        ),
        ("codex", "Missing environment variable: `MY_LLM_KEY`.", None, FailureKind::Auth),
        ("codex", "exceeded retry limit, last status: 429 Too Many Requests", None, FailureKind::RateLimit),
        ("codex", "exceeded retry limit, last status: 500 Internal Server Error", None, FailureKind::Overloaded),
        ("codex", "You've hit your usage limit. Try again in 3 days 4 hours 5 minutes.", None, FailureKind::RateLimit),
        ("codex", "Quota exceeded. Check your plan and billing details.", None, FailureKind::Auth),
        (
            "codex",
            "stream disconnected before completion: error sending request for url (http://127.0.0.1/v1/responses)",
            None,
            FailureKind::Network,
        ),
        (
            "codex",
            "{\"type\": \"error\", \"error\": {\"type\": \"api_error\", \"message\": \"prompt is too long: 210000 tokens > 200000 maximum\"}}",
            None,
            FailureKind::ContextOverflow,
        ),
        (
            "codex",
            "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.",
            None,
            FailureKind::ContextOverflow,
        ),
        (
            "codex",
            "We’re currently experiencing high demand, which may cause temporary errors.",
            None,
            FailureKind::Overloaded,
        ),
        ("opencode", "invalid x-api-key", Some(401), FailureKind::Auth),
        ("opencode", "This request would exceed your rate limit", Some(429), FailureKind::RateLimit),
        ("opencode", "prompt is too long: 210000 tokens > 200000 maximum", None, FailureKind::ContextOverflow),
        ("opencode", "Unable to connect. Is the computer able to access the url?", None, FailureKind::Network),
        ("opencode", "Model not found: mock/m2. Did you mean: m1?", None, FailureKind::MissingModel),
        (
            "gemini",
            "[API Error: API key not valid. Please pass a valid API key. (Status: INVALID_ARGUMENT)]",
            Some(400),
            FailureKind::Auth,
        ),
        (
            "gemini",
            "[API Error: You exceeded your current quota. Please retry in 34.07s. (Status: RESOURCE_EXHAUSTED)]",
            Some(429),
            FailureKind::RateLimit,
        ),
        (
            "gemini",
            "[API Error: The model is overloaded. Please try again later. (Status: UNAVAILABLE)]",
            None,
            FailureKind::Overloaded,
        ),
        (
            "gemini",
            "[API Error: models/gemini-9 is not found for API version v1beta (Status: NOT_FOUND)]",
            None,
            FailureKind::MissingModel,
        ),
        (
            "gemini",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            Some(400),
            FailureKind::ContextOverflow,
        ),
        (
            "goose",
            "Ran into this error: Authentication error: Authentication failed for http://127.0.0.1/v1/chat/completions. Status: 401 Unauthorized. Response: invalid x-api-key.",
            None,
            FailureKind::Auth,
        ),
        ("goose", "Authentication required", None, FailureKind::Auth),
        (
            "goose",
            "Network error: Stream decode error: Failed to parse streaming chunk: EOF while parsing a string",
            None,
            FailureKind::Network,
        ),
        (
            "goose",
            "Ran into this error: Rate limit exceeded: This request would exceed your rate limit.",
            None,
            FailureKind::RateLimit,
        ),
        (
            "goose",
            "Ran into this error: Server error: Server error (500 Internal Server Error) at http://127.0.0.1/v1/chat/completions: Internal server error.",
            None,
            FailureKind::Overloaded,
        ),
        (
            "aider",
            "litellm.AuthenticationError: AuthenticationError: OpenAIException - invalid",
            None,
            FailureKind::Auth,
        ),
        (
            "aider",
            "litellm.NotFoundError: NotFoundError: OpenAIException - model: nope-1 not found",
            None,
            FailureKind::MissingModel,
        ),
        (
            "aider",
            "litellm.RateLimitError: RateLimitError: OpenAIException - This request would",
            None,
            FailureKind::RateLimit,
        ),
        (
            "aider",
            "litellm.InternalServerError: InternalServerError: OpenAIException - boom",
            None,
            FailureKind::Overloaded,
        ),
        (
            "aider",
            "litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException",
            None,
            FailureKind::ContextOverflow,
        ),
        ("aider", "litellm.APIConnectionError: APIConnectionError: OpenAIException", None, FailureKind::Network),
        (
            "any",
            "You exceeded your current quota, please check your plan and billing details. insufficient_quota",
            Some(429),
            FailureKind::Auth,
        ),
        ("any", "tool call failed", None, FailureKind::Other),
        ("any", "invalid request", Some(400), FailureKind::Other),
        ("any", "", Some(403), FailureKind::Auth),
        ("any", "", Some(503), FailureKind::Overloaded),
        ("any", "", Some(598), FailureKind::Overloaded),
    ];

    #[test]
    fn what_the_agents_say_is_understood() {
        for (agent, message, status, kind) in REAL {
            let AgentEvent::Trouble { kind: found, .. } = failure_event(*status, message) else { panic!("trouble") };
            assert_eq!(found, *kind, "{agent}: {message}");
        }
    }

    #[test]
    fn what_cannot_succeed_is_parked_and_what_can_waits_or_is_tried_again() {
        let of = |status, message| decide_retry(&failure_event(status, message));
        assert_eq!(of(Some(401), "no"), Some(RetryDecision::Park));
        assert_eq!(of(Some(404), "model: nope-1 not found"), Some(RetryDecision::Park));
        assert_eq!(of(Some(429), "Please try again in 1m30.5s."), Some(RetryDecision::RetryAfter { ms: 90_500 }));
        assert_eq!(
            of(None, "Claude AI usage limit reached|1755806400"),
            Some(RetryDecision::WaitUntil { at: 1_755_806_400_000 })
        );
        assert_eq!(of(Some(429), "slow down"), Some(RetryDecision::WaitOut));
        assert_eq!(of(Some(529), "Overloaded"), Some(RetryDecision::WaitOut));
        assert_eq!(of(Some(400), "prompt is too long: 210000 tokens"), Some(RetryDecision::Compact));
        assert_eq!(of(None, "ECONNREFUSED"), Some(RetryDecision::WaitOut));
        assert_eq!(of(Some(400), "invalid request"), Some(RetryDecision::Fail));
        assert_eq!(decide_retry(&AgentEvent::Cut { bytes: 1 }), None);
    }
}
