//! The events of a run in words, for a log that people read.

use serde_json::{Map, Value as Json};

use super::{RunEvent, StepWait};
use crate::excerpt::one_line;
use crate::workflow::definition::EndStatus;
use crate::workflow::value_type::value_text;

impl RunEvent {
    /// What happened; nothing where the event is only kept so that the run can go on.
    pub fn in_words(&self) -> Option<String> {
        let said = self.progress_words().or_else(|| self.review_words()).or_else(|| self.course_words());
        said.filter(|words| !words.is_empty())
    }

    /// What steps and commands do.
    fn progress_words(&self) -> Option<String> {
        Some(match self {
            Self::Entered { step, visit: 1, .. } => format!("step {step}"),
            Self::Entered { step, visit, .. } => format!("step {step}, visit {visit}"),
            Self::Waiting { wait } => wait_words(wait)?.to_owned(),
            Self::Left { step, outcome, .. } => format!("step {step}: {}", outcome.as_str()),
            Self::Skipped { step } => format!("step {step} was not needed"),
            Self::Tolerated { step, outcome } => format!("step {step}: {}; the run went on", outcome.as_str()),
            Self::Retried { step, .. } => format!("tries step {step} again"),
            Self::Executed { step, outcome, reason, .. } => match reason {
                Some(reason) => format!("command of {step}: {}: {reason}", outcome.as_str()),
                None => format!("command of {step}: {}", outcome.as_str()),
            },
            Self::Checked { step, outcome, .. } => format!("check {step}: {}", outcome.as_str()),
            Self::ChildEnded { outcome, result, .. } => {
                format!("a sub-agent ended: {}{}", outcome.as_str(), result_words(result))
            }
            Self::Resulted { step, result } => match result_words(result) {
                words if words.is_empty() => return None,
                words => format!("result of {step}{words}"),
            },
            Self::Set { name, value } => match one_line(&value_text(value)) {
                value if value.is_empty() => format!("{name} is empty"),
                value => format!("{name} = {value}"),
            },
            Self::Cut { name, bytes } => format!("{name} was cut by {bytes} bytes"),
            Self::Shown { text, .. } => text.clone(),
            _ => return None,
        })
    }

    /// What reviewers, gates and people say.
    fn review_words(&self) -> Option<String> {
        Some(match self {
            Self::Answered { step, by, answer } => match answer {
                Some(answer) => format!("step {step} was answered by {}: {answer}", by.describe()),
                None => format!("step {step} was declined by {}", by.describe()),
            },
            Self::ItemAdded { item } => format!("a person asked for: {}", item.text),
            Self::ItemsAdded { items, .. } => format!("{} review items", items.len()),
            Self::ItemsJudged { judgements, .. } => {
                let failed: Vec<String> =
                    judgements.iter().filter(|one| !one.pass).map(|one| format!("{}: {}", one.id, one.text)).collect();
                let failed = if failed.is_empty() { String::new() } else { format!("; failed: {}", failed.join("; ")) };
                format!("{} review items judged{failed}", judgements.len())
            }
            Self::ItemsReset { ids, changed, .. } if changed.is_empty() => {
                format!("judged again after a fix: {}", ids.join(", "))
            }
            Self::ItemsReset { ids, changed, .. } => {
                format!("judged again, since {} changed after the review: {}", changed.join(", "), ids.join(", "))
            }
            Self::RoundsGranted { gate, rounds } => format!("{rounds} more rounds for gate {gate}"),
            Self::RiskAccepted { items, by, .. } => {
                format!("{} review items were accepted as they are by {}", items.len(), by.describe())
            }
            Self::Judged { gate, round, outcome, reasons } => {
                let reasons = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
                format!("{gate}, round {round}: {}{reasons}", outcome.as_str())
            }
            _ => return None,
        })
    }

    /// How the run and what it calls begin, stop and end.
    fn course_words(&self) -> Option<String> {
        Some(match self {
            Self::Began { workflow, .. } => format!("started {workflow}"),
            Self::Called { workflow, params, .. } => match params.get("task").and_then(Json::as_str) {
                Some(task) => format!("task “{task}”"),
                None => format!("called {workflow}"),
            },
            Self::Returned { status, message, .. } => end_words(*status, message.as_deref()),
            Self::Ended { ending } => end_words(ending.status, ending.message.as_deref()),
            Self::ParamsChanged { .. } => "goes on with other parameters".to_owned(),
            Self::Paused {} => "paused".to_owned(),
            Self::Resumed {} => "resumed".to_owned(),
            Self::Canceling {} => "is being canceled".to_owned(),
            Self::Branched { step, .. } => format!("goes on from step {step}"),
            Self::Cancelled {} => "canceled".to_owned(),
            Self::Landed { how, .. } => how.as_str().to_owned(),
            _ => return None,
        })
    }
}

/// How a workflow ended.
fn end_words(status: EndStatus, message: Option<&str>) -> String {
    let how = if status == EndStatus::Success { "done" } else { "stopped" };
    message.map_or_else(|| how.to_owned(), |message| format!("{how}: {message}"))
}

/// Who or what has to act; a command is its own news.
fn wait_words(wait: &StepWait) -> Option<&'static str> {
    match wait {
        StepWait::Agent => Some("waits for the agent"),
        StepWait::Children(_) => Some("waits for sub-agents"),
        StepWait::Answer(_) | StepWait::Decision => Some("waits for the user"),
        StepWait::Engine
        | StepWait::Command { .. }
        | StepWait::Listing(_)
        | StepWait::Validating { .. }
        | StepWait::Callee => None,
    }
}

/// What something resulted in, on one line; what is empty is left out.
fn result_words(result: &Map<String, Json>) -> String {
    let says = |(_, value): &(&String, &Json)| {
        !matches!(value, Json::Null) && **value != "" && **value != Json::Array(Vec::new())
    };
    let said: Vec<String> =
        result.iter().filter(says).map(|(name, value)| format!("{name}: {}", one_line(&value_text(value)))).collect();
    if said.is_empty() { String::new() } else { format!(": {}", said.join("; ")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::workflow::name::{StepId, StepOutcome};
    use crate::workflow::run::AnswerAuthor;

    #[test]
    fn who_answered_what_and_why_a_sub_agent_failed_is_said() {
        let step = StepId::parse("ask").unwrap();
        let answered = RunEvent::Answered { step, by: AnswerAuthor::Agent, answer: Some("no".into()) };
        assert_eq!(answered.in_words().unwrap(), "step ask was answered by the agent: no");
        let result = json!({"reason": "`items`: item 1 has\nno `id`", "found": []});
        let result = result.as_object().unwrap().clone();
        let failed = RunEvent::ChildEnded { child: 0, outcome: StepOutcome::FAIL, result };
        assert_eq!(failed.in_words().unwrap(), "a sub-agent ended: fail: reason: `items`: item 1 has no `id`");
        assert_eq!(RunEvent::Dropped { frames: 1 }.in_words(), None);
    }
}
