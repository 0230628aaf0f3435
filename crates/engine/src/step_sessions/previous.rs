//! Conversation with an agent that a step's session continues.

use maestro_core::agent::spawn::SpawnSpec;
use maestro_core::step_session::StepSessionEnd;
use maestro_core::workflow::run::SessionRequest;
use maestro_store::{SessionById, SpawnBySession, StoreError};

use super::StepSessions;

/// A conversation with an agent, by the names of both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AgentConversation {
    /// The agent.
    pub(super) agent: Option<String>,
    /// The agent's own name of the conversation.
    pub(super) id: String,
}

impl StepSessions {
    /// The conversation of the last session of the same invocation with the same role, where the step continues it.
    /// Another agent or another directory has no part in it.
    pub(super) async fn conversation(
        &self,
        seat: &SessionRequest,
        invocation: &str,
        ends: &[StepSessionEnd],
        workspace: &str,
    ) -> Result<Option<AgentConversation>, StoreError> {
        let is_before = |end: &&StepSessionEnd| {
            end.metadata.invocation_id.as_deref() == Some(invocation) && end.metadata.step_role == seat.role
        };
        let before = ends.iter().rev().find(is_before).filter(|_| seat.resume);
        let Some(session) = before.and_then(|end| end.session.clone()) else { return Ok(None) };
        let Some(spawn) = self.store.read(SpawnBySession(session.clone())).await? else { return Ok(None) };
        let agent = self.store.read(SessionById(session)).await?.agent;
        let same_place = serde_json::from_value::<SpawnSpec>(spawn.spec).is_ok_and(|spec| spec.workspace == workspace);
        let same_agent = seat.agent.is_none() || seat.agent == agent;
        let id = spawn.agent_session.filter(|_| same_place && same_agent);
        Ok(id.map(|id| AgentConversation { agent, id }))
    }
}
