//! Open permission requests of an agent, and the lines that answer them.

use maestro_core::agent::{AgentEvent, PermissionChoiceKind};
use serde_json::{Value as Json, json};

use super::super::TalkError;
use super::super::approvals::PendingApprovals;
use super::super::idle::IdleTimer;
use super::updates;
use super::wire;

/// The open requests.
#[derive(Debug)]
pub(super) struct AcpQuestions(PendingApprovals<AcpQuestion>);

#[derive(Debug)]
struct AcpQuestion {
    /// The agent's id of the request.
    request: Json,
    /// The call it is about.
    call: String,
}

/// An answer to be sent.
#[derive(Debug)]
pub(super) struct AcpAnswer {
    /// The line for the agent.
    pub(super) line: String,
    /// The call it was about.
    pub(super) call: String,
}

impl AcpQuestions {
    pub(super) fn new(pulse: IdleTimer) -> Self {
        Self(PendingApprovals::new(pulse))
    }

    /// Registers a request. Returns the event about it, or the line that rejects one that cannot be answered.
    pub(super) fn ask(&mut self, request: Json, parameters: &Json, title: &str) -> Result<AgentEvent, String> {
        let choices = updates::choices(&parameters["options"]);
        let call = &parameters["toolCall"];
        let about = call["toolCallId"].as_str().map(str::to_owned);
        let question = AcpQuestion { request, call: about.clone().unwrap_or_default() };
        let id = self.0.ask(question, &choices).map_err(|question| cancelled_answer(&question.request))?;
        let detail = updates::detail(call);
        Ok(AgentEvent::Asked { id, title: title.to_owned(), detail, call: about, options: choices })
    }

    /// Answers a request.
    pub(super) fn answer(&mut self, id: &str, kind: PermissionChoiceKind) -> Result<AcpAnswer, TalkError> {
        let answered = self.0.answer(id, kind)?;
        let question = answered.about;
        let line = answered.choice.map_or_else(
            || cancelled_answer(&question.request),
            |choice| {
                let outcome = json!({ "outcome": "selected", "optionId": choice });
                wire::answer(&question.request, &json!({ "outcome": outcome }))
            },
        );
        Ok(AcpAnswer { line, call: question.call })
    }

    /// The lines that cancel all open requests.
    pub(super) fn cancel_all(&mut self) -> Vec<String> {
        self.0.cancel_all().iter().map(|question| cancelled_answer(&question.request)).collect()
    }
}

/// The answer to a cancelled request.
pub(super) fn cancelled_answer(request: &Json) -> String {
    wire::answer(request, &json!({ "outcome": { "outcome": "cancelled" } }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(kinds: &[&str]) -> (AcpQuestions, Result<String, String>) {
        let options: Vec<Json> =
            kinds.iter().map(|kind| json!({ "optionId": format!("my-{kind}"), "kind": kind })).collect();
        let mut questions = AcpQuestions::new(IdleTimer::new());
        let asked = questions.ask(json!(7), &json!({ "options": options, "toolCall": { "toolCallId": "c" } }), "ls");
        let id = asked.map(|event| match event {
            AgentEvent::Asked { id, .. } => id,
            other => panic!("{other:?}"),
        });
        (questions, id)
    }

    #[test]
    fn an_answer_is_chosen_by_what_it_means() {
        let (mut questions, id) = asked(&["allow_always", "allow_once", "reject_once"]);
        let id = id.unwrap();
        let answered = questions.answer(&id, PermissionChoiceKind::AllowOnce).unwrap();
        assert!(answered.line.contains("my-allow_once") && answered.call == "c", "{answered:?}");
        assert_eq!(questions.answer(&id, PermissionChoiceKind::AllowOnce).unwrap_err(), TalkError::NotAsked);
    }

    #[test]
    fn nothing_says_more_than_was_meant() {
        let (mut questions, id) = asked(&["allow_always"]);
        let id = id.unwrap();
        assert_eq!(questions.answer(&id, PermissionChoiceKind::AllowOnce).unwrap_err(), TalkError::NoSuchChoice);
        let answered = questions.answer(&id, PermissionChoiceKind::RejectAlways).unwrap();
        assert!(answered.line.contains("cancelled"), "{}", answered.line);
    }

    #[test]
    fn what_nobody_can_answer_or_will_answer_is_no_yes() {
        let (_, refused) = asked(&["of_the_future"]);
        assert!(refused.unwrap_err().contains("\"outcome\":\"cancelled\""));
        let (mut questions, _) = asked(&["allow_once"]);
        assert!(questions.cancel_all()[0].contains("cancelled"));
        assert!(questions.cancel_all().is_empty());
    }
}
