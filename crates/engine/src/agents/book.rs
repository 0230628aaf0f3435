//! Which questions of an agent are open, and which of its answers is meant? Never answered yes by anybody but whoever was
//! asked.

use maestro_core::agent::{Choice, ChoiceKind};
use serde_json::Value as Json;

use super::TalkError;
use super::pulse::{Hold, Pulse};

/// How many questions may be open at once.
const MOST: usize = 64;

/// The questions that are open; `A` is what the agent has to be told of one when it is answered.
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
    /// It is not the agent who is silent while it waits.
    _hold: Hold,
}

/// A question that is answered.
#[derive(Debug)]
pub(super) struct Answered<A> {
    /// What it was about.
    pub(super) about: A,
    /// The agent's name for the answer; nothing where it has none for a no.
    pub(super) choice: Option<String>,
}

impl<A> Book<A> {
    pub(super) fn new(pulse: Pulse) -> Self {
        Self { open: Vec::new(), pulse }
    }

    /// Takes note of a question, and says what it is called; it is given back if nobody can answer it.
    pub(super) fn ask(&mut self, about: A, choices: &[Choice]) -> Result<String, A> {
        if choices.is_empty() || self.open.len() >= MOST {
            return Err(about);
        }
        let id = uuid::Uuid::now_v7().to_string();
        let choices = choices.to_vec();
        self.open.push(Question { id: id.clone(), about, choices, _hold: self.pulse.hold() });
        Ok(id)
    }

    /// Answers a question.
    pub(super) fn answer(&mut self, id: &str, kind: ChoiceKind) -> Result<Answered<A>, TalkError> {
        let at = self.open.iter().position(|question| question.id == id).ok_or(TalkError::NotAsked)?;
        let choice = fitting(&self.open[at].choices, kind);
        // A no is always possible; a yes only as far as the agent offers it.
        if choice.is_none() && kind.allows() {
            return Err(TalkError::NoSuchChoice);
        }
        Ok(Answered { about: self.open.swap_remove(at).about, choice })
    }

    /// Forgets a question that the agent took back.
    pub(super) fn take_back(&mut self, is_it: impl Fn(&A) -> bool) {
        self.open.retain(|question| !is_it(&question.about));
    }

    /// Those that nobody will answer.
    pub(super) fn give_up(&mut self) -> Vec<A> {
        self.open.drain(..).map(|question| question.about).collect()
    }
}

/// What exactly a call is for, of which an agent asks; nothing where it does not say with what it calls.
pub(super) fn detail(input: &Json) -> Option<String> {
    let command = input["command"].as_str().map(str::to_owned);
    command.or_else(|| (!input.is_null()).then(|| serde_json::to_string_pretty(input).unwrap_or_default()))
}

/// The agent's name for an answer of this kind. One that says more than was meant is no answer.
fn fitting(choices: &[Choice], kind: ChoiceKind) -> Option<String> {
    let kinds: &[ChoiceKind] = match kind {
        ChoiceKind::AllowOnce => &[ChoiceKind::AllowOnce],
        ChoiceKind::AllowAlways => &[ChoiceKind::AllowAlways, ChoiceKind::AllowOnce],
        ChoiceKind::RejectOnce => &[ChoiceKind::RejectOnce],
        ChoiceKind::RejectAlways => &[ChoiceKind::RejectAlways, ChoiceKind::RejectOnce],
    };
    kinds.iter().find_map(|kind| choices.iter().find(|choice| choice.kind == *kind)).map(|choice| choice.id.clone())
}
