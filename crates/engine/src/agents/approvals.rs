//! Open permission requests of an agent. Only an explicit answer allows anything.

use maestro_core::agent::{PermissionChoice, PermissionChoiceKind};
use serde_json::Value as Json;

use super::TalkError;
use super::idle::{IdleGuard, IdleTimer};

/// How many questions may be open at once.
const MOST: usize = 64;

/// The open requests; `A` is the data the agent needs with the answer.
#[derive(Debug)]
pub(super) struct PendingApprovals<A> {
    open: Vec<PendingApproval<A>>,
    pulse: IdleTimer,
}

#[derive(Debug)]
struct PendingApproval<A> {
    id: String,
    about: A,
    choices: Vec<PermissionChoice>,
    /// While it waits, the agent is not idle.
    _hold: IdleGuard,
}

/// An answered request.
#[derive(Debug)]
pub(super) struct ApprovalAnswer<A> {
    /// What it was about.
    pub(super) about: A,
    /// The agent's id of the answer; nothing where it has none for a denial.
    pub(super) choice: Option<String>,
}

impl<A> PendingApprovals<A> {
    pub(super) fn new(pulse: IdleTimer) -> Self {
        Self { open: Vec::new(), pulse }
    }

    /// Registers a request and returns its id; the request is returned if it cannot be answered.
    pub(super) fn ask(&mut self, about: A, choices: &[PermissionChoice]) -> Result<String, A> {
        if choices.is_empty() || self.open.len() >= MOST {
            return Err(about);
        }
        let id = uuid::Uuid::now_v7().to_string();
        let choices = choices.to_vec();
        self.open.push(PendingApproval { id: id.clone(), about, choices, _hold: self.pulse.suspend() });
        Ok(id)
    }

    /// Answers a request.
    pub(super) fn answer(&mut self, id: &str, kind: PermissionChoiceKind) -> Result<ApprovalAnswer<A>, TalkError> {
        let at = self.open.iter().position(|question| question.id == id).ok_or(TalkError::NotAsked)?;
        let choice = matching_choice(&self.open[at].choices, kind);
        // A denial is always possible; an approval only as far as the agent offers it.
        if choice.is_none() && kind.allows() {
            return Err(TalkError::NoSuchChoice);
        }
        Ok(ApprovalAnswer { about: self.open.swap_remove(at).about, choice })
    }

    /// Removes a request that the agent withdrew.
    pub(super) fn withdraw(&mut self, is_it: impl Fn(&A) -> bool) {
        self.open.retain(|question| !is_it(&question.about));
    }

    /// Removes and returns all requests, unanswered.
    pub(super) fn cancel_all(&mut self) -> Vec<A> {
        self.open.drain(..).map(|question| question.about).collect()
    }
}

/// The exact action of a call; nothing where the input is unknown.
pub(super) fn detail(input: &Json) -> Option<String> {
    let command = input["command"].as_str().map(str::to_owned);
    command.or_else(|| (!input.is_null()).then(|| serde_json::to_string_pretty(input).unwrap_or_default()))
}

/// The agent's id of an answer of this kind. An answer that allows more does not count.
fn matching_choice(choices: &[PermissionChoice], kind: PermissionChoiceKind) -> Option<String> {
    let kinds: &[PermissionChoiceKind] = match kind {
        PermissionChoiceKind::AllowOnce => &[PermissionChoiceKind::AllowOnce],
        PermissionChoiceKind::AllowAlways => &[PermissionChoiceKind::AllowAlways, PermissionChoiceKind::AllowOnce],
        PermissionChoiceKind::RejectOnce => &[PermissionChoiceKind::RejectOnce],
        PermissionChoiceKind::RejectAlways => &[PermissionChoiceKind::RejectAlways, PermissionChoiceKind::RejectOnce],
    };
    kinds.iter().find_map(|kind| choices.iter().find(|choice| choice.kind == *kind)).map(|choice| choice.id.clone())
}
