//! Verdicts that cannot be used, and when another session is asked for one.

use maestro_core::agent::{SessionOutcome, SessionResult};
use maestro_core::step_session::{StepReport, StepSessionEnd};
use maestro_core::workflow::StepOutcome;
use maestro_core::workflow::directive::Directive;
use serde_json::Value as Json;

use super::prompt;
use super::skip::{AGAIN, SkipReason};

/// How many sessions in a row may end without a usable verdict.
const MOST_SESSIONS: usize = 3;

/// Why a session's verdict does not count, where its step asks another session then: there is none, or it is a fail
/// that names no finding.
pub(super) fn unusable(
    directive: &Directive,
    outcome: &SessionOutcome,
    report: Option<&StepReport>,
    ends: &[StepSessionEnd],
    invocation: &str,
) -> Option<SkipReason> {
    if !asks_again(directive) {
        return None;
    }
    let why = match report.filter(|_| outcome.is_done()) {
        Some(report) if is_empty_fail(report) => "it failed the work and named no finding".to_owned(),
        Some(_) => return None,
        None => prompt::summary(outcome, directive),
    };
    let title = &directive.step.title;
    if outcome.result == SessionResult::Cancelled {
        return Some(SkipReason::stalled(format!("`{title}` was cancelled")));
    }
    let sessions = in_a_row(ends, invocation, directive.step.id.as_str());
    Some(if sessions < MOST_SESSIONS {
        SkipReason::again(why)
    } else {
        SkipReason::stalled(format!("`{title}` got no usable verdict from {sessions} sessions; the last one: {why}"))
    })
}

/// Whether a step asks another session where one gives no usable verdict.
pub(super) fn asks_again(directive: &Directive) -> bool {
    directive.outcomes.iter().any(|known| known.as_str() == AGAIN)
}

/// Whether a report fails the work and names no finding, so that no agent could fix it.
pub(super) fn is_empty_fail(report: &StepReport) -> bool {
    report.outcome.as_ref() == Some(&StepOutcome::FAIL) && !has_findings(report)
}

/// Whether a report says anything beside its outcome.
fn has_findings(report: &StepReport) -> bool {
    let says = |value: &Json| match value {
        Json::String(text) => !text.trim().is_empty(),
        Json::Array(items) => !items.is_empty(),
        _ => false,
    };
    report.result.iter().chain(&report.set).flat_map(|fields| fields.values()).any(says)
}

/// How many of the last sessions of a pass through the workflow worked at this step, one after another.
fn in_a_row(ends: &[StepSessionEnd], invocation: &str, step: &str) -> usize {
    let own = ends.iter().rev().filter(|end| end.metadata.invocation_id.as_deref() == Some(invocation));
    own.take_while(|end| end.metadata.step.as_deref() == Some(step)).count()
}

#[cfg(test)]
mod tests {
    use maestro_core::step_session::StepSessionMetadata;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_with_a_finding_says_something() {
        let report = |result: Json| StepReport {
            outcome: Some(StepOutcome::FAIL),
            set: None,
            result: result.as_object().cloned(),
        };
        assert!(has_findings(&report(json!({ "findings": "line 3" }))));
        assert!(has_findings(&report(json!({ "findings": ["line 3"] }))));
        for empty in [json!({ "findings": " \n" }), json!({ "findings": [] }), json!({}), json!(null)] {
            assert!(!has_findings(&report(empty.clone())), "{empty}");
        }
    }

    #[test]
    fn only_sessions_since_the_last_other_step_are_in_a_row() {
        let end = |invocation: &str, step: &str| StepSessionEnd {
            metadata: StepSessionMetadata {
                invocation_id: Some(invocation.to_owned()),
                step: Some(step.to_owned()),
                ..StepSessionMetadata::default()
            },
            ..StepSessionEnd::default()
        };
        let ends = [end("1", "look"), end("1", "implement"), end("1", "look"), end("2", "implement"), end("1", "look")];
        assert_eq!(in_a_row(&ends, "1", "look"), 2);
        assert_eq!(in_a_row(&ends, "2", "look"), 0);
    }
}
