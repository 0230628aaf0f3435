//! The output of Aider. It prints text for people; few of its lines mean something, and it ends well whatever happens.
//!
//! The `Tokens:` line is of one message, so it is a turn's, and its cost is the first of the two that it names.

use super::output_event;
use crate::agent::agent_event::{AgentEvent, Scope};
use crate::agent::failure::failure_event;

/// With these words a line begins that says which file was changed.
const APPLIED: &str = "Applied edit to ";

/// What is remembered between lines.
#[derive(Debug, Default)]
pub(super) struct AiderParser {
    version: Option<String>,
    /// An error whose text continues on the next lines, since it is wrapped.
    error: Option<String>,
}

impl AiderParser {
    /// The events of a line.
    pub(super) fn read(&mut self, line: &str) -> Vec<AgentEvent> {
        if let Some(at) = broken_off(line) {
            let (words, error) = line.split_at(at);
            return [self.read(words), self.read(error)].concat();
        }
        let said = line.trim_end();
        if said.starts_with("litellm.") && said.contains("Error") {
            let before = self.finish();
            self.error = Some(said.chars().take(1024).collect());
            return before;
        }
        if let Some(error) = &mut self.error
            && !said.is_empty()
            && !said.starts_with("Retrying in ")
            && error.len() < 4096
        {
            error.push(' ');
            error.push_str(said);
            return Vec::new();
        }
        let mut events = self.finish();
        events.push(self.plain(said).unwrap_or_else(|| output_event(line)));
        events
    }

    /// The error whose words might have gone on.
    pub(super) fn finish(&mut self) -> Vec<AgentEvent> {
        self.error.take().map(|error| failure_event(None, &error)).into_iter().collect()
    }

    fn plain(&mut self, line: &str) -> Option<AgentEvent> {
        if let Some(version) = line.strip_prefix("Aider v") {
            self.version = Some(version.chars().take(32).collect());
            return None;
        }
        if let Some(rest) = line.strip_prefix("Main model: ").or_else(|| line.strip_prefix("Model: ")) {
            let model = rest.split_once(" with ").map_or(rest, |(model, _)| model).to_owned();
            return Some(AgentEvent::Began { agent_session: None, model: Some(model), version: self.version.take() });
        }
        if let Some(path) = line.strip_prefix(APPLIED) {
            return Some(AgentEvent::Changed { path: path.to_owned(), added: None, removed: None, diff: None });
        }
        retrying(line).or_else(|| usage(line))
    }
}

/// Where an error begins that is printed behind the words it broke off: `An answer that litellm.XError: XError: …`
fn broken_off(line: &str) -> Option<usize> {
    let starts = line.match_indices("litellm.").map(|(at, _)| at).filter(|at| *at > 0);
    starts.into_iter().find(|at| {
        let name = line[*at..].trim_start_matches("litellm.").split_once(": ");
        name.is_some_and(|(name, rest)| name.ends_with("Error") && rest.starts_with(&format!("{name}: ")))
    })
}

/// `Retrying in 0.5 seconds...`
fn retrying(line: &str) -> Option<AgentEvent> {
    let seconds: f64 = line.strip_prefix("Retrying in ")?.split(' ').next()?.parse().ok()?;
    // It does not count its attempts.
    Some(AgentEvent::Retrying { attempt: 1, most: None, delay_ms: whole(seconds * 1000.0), status: None })
}

/// `Tokens: 1.2k sent, 3 received. Cost: $0.0016 message, $0.0032 session.`
fn usage(line: &str) -> Option<AgentEvent> {
    let (tokens, cost) = line.strip_prefix("Tokens: ")?.split_once(" received").unwrap_or_default();
    let (sent, received) = (tokens.split(", ").next()?, tokens.rsplit(", ").next()?);
    let cached = tokens.split(", ").find_map(|part| part.strip_suffix(" cache hit")).and_then(count);
    let dollars = cost.split_once("Cost: $").map(|(_, rest)| rest);
    let cost_usd = dollars.and_then(|rest| rest.split([' ', ',']).next()?.trim_end_matches('.').parse().ok());
    let (input, output) = (count(sent.strip_suffix(" sent")?), count(received));
    Some(AgentEvent::Usage { scope: Scope::Turn, input, output, cached, reasoning: None, cost_usd })
}

/// A number such as `646` or `1.2k`.
fn count(text: &str) -> Option<u64> {
    let (digits, scale) = match text.strip_suffix('k') {
        Some(digits) => (digits, 1000.0),
        None => (text, 1.0),
    };
    let number: f64 = digits.replace(',', "").parse().ok()?;
    (number >= 0.0).then(|| whole(number * scale))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is positive, and a cast saturates")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_heard_behind_the_words_that_it_broke_off() {
        let mut aider = AiderParser::default();
        let line =
            "An answer that is long litellm.APIConnectionError: APIConnectionError: OpenAIException - Unterminated ";
        let mut events = aider.read(line);
        events.extend(aider.read("string starting at: line 1"));
        events.extend(aider.finish());
        let [AgentEvent::Printed { .. }, AgentEvent::Trouble { message, .. }] = &events[..] else {
            panic!("{events:?}")
        };
        assert!(message.ends_with("Unterminated string starting at: line 1"), "{message}");
        let talk = aider.read("It raises litellm.APIConnectionError: see the handler.");
        assert!(matches!(&talk[..], [AgentEvent::Printed { .. }]), "{talk:?}");
    }
}
