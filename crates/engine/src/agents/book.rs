//! Open permission requests of an agent. Only an explicit answer allows anything.

use maestro_core::agent::{Choice, ChoiceKind};
use serde_json::Value as Json;

use super::TalkError;
use super::pulse::{Hold, Pulse};

/// How many questions may be open at once.
const MOST: usize = 64;

/// The open requests; `A` is the data the agent needs with the answer.
#[derive(Debug)]
pub(super) struct Book<A> {
    open: Vec<Question<A>>,
    pulse: Pulse,
}

#[derive(Debug)]
struct Question<A> {
    id: String,
    about: A,
    choices: Vec<Choice>,
    /// While it waits, the agent is not idle.
    _hold: Hold,
}

/// An answered request.
#[derive(Debug)]
pub(super) struct Answered<A> {
    /// What it was about.
    pub(super) about: A,
    /// The agent's id of the answer; nothing where it has none for a denial.
    pub(super) choice: Option<String>,
}

impl<A> Book<A> {
    pub(super) fn new(pulse: Pulse) -> Self {
        Self { open: Vec::new(), pulse }
    }

    /// Registers a request and returns its id; the request is returned if it cannot be answered.
    pub(super) fn ask(&mut self, about: A, choices: &[Choice]) -> Result<String, A> {
        if choices.is_empty() || self.open.len() >= MOST {
            return Err(about);
        }
        let id = uuid::Uuid::now_v7().to_string();
        let choices = choices.to_vec();
        self.open.push(Question { id: id.clone(), about, choices, _hold: self.pulse.hold() });
        Ok(id)
    }

    /// Answers a request.
    pub(super) fn answer(&mut self, id: &str, kind: ChoiceKind) -> Result<Answered<A>, TalkError> {
        let at = self.open.iter().position(|question| question.id == id).ok_or(TalkError::NotAsked)?;
        let choice = fitting(&self.open[at].choices, kind);
        // A denial is always possible; an approval only as far as the agent offers it.
        if choice.is_none() && kind.allows() {
            return Err(TalkError::NoSuchChoice);
        }
        Ok(Answered { about: self.open.swap_remove(at).about, choice })
    }

    /// Removes a request that the agent withdrew.
    pub(super) fn take_back(&mut self, is_it: impl Fn(&A) -> bool) {
        self.open.retain(|question| !is_it(&question.about));
    }

    /// Removes and returns all requests, unanswered.
    pub(super) fn give_up(&mut self) -> Vec<A> {
        self.open.drain(..).map(|question| question.about).collect()
    }
}

/// The exact action of a call; nothing where the input is unknown.
pub(super) fn detail(input: &Json) -> Option<String> {
    let command = input["command"].as_str().map(str::to_owned);
    command.or_else(|| (!input.is_null()).then(|| serde_json::to_string_pretty(input).unwrap_or_default()))
}

/// The agent's id of an answer of this kind. An answer that allows more does not count.
fn fitting(choices: &[Choice], kind: ChoiceKind) -> Option<String> {
    let kinds: &[ChoiceKind] = match kind {
        ChoiceKind::AllowOnce => &[ChoiceKind::AllowOnce],
        ChoiceKind::AllowAlways => &[ChoiceKind::AllowAlways, ChoiceKind::AllowOnce],
        ChoiceKind::RejectOnce => &[ChoiceKind::RejectOnce],
        ChoiceKind::RejectAlways => &[ChoiceKind::RejectAlways, ChoiceKind::RejectOnce],
    };
    kinds.iter().find_map(|kind| choices.iter().find(|choice| choice.kind == *kind)).map(|choice| choice.id.clone())
}
