//! Check of what a session reports for its step, made while its agent can still fix it.
//!
//! A report counts only once its session has ended, and then no agent is left to correct a wrong word in it.

use maestro_core::step_session::StepReport;
use maestro_core::workflow::StepOutcome;
use maestro_core::workflow::directive::Directive;
use maestro_core::workflow::run::{FileState, InputRefusal, RunInput, Ticket, decide};
use maestro_core::workflow::run_reply::NextAction;
use maestro_core::workflow::value_type::InvalidValue;
use serde_json::json;

use super::result::field;
use super::skip::is_verdict;
use super::verdict::{asks_again, is_empty_fail};
use crate::runs::RunView;

/// Checks a report as the run will, once its session has ended. `own` is the ticket that the session works at. What is
/// no mistake of its agent, such as a run that is paused meanwhile, refuses nothing.
pub fn check_step_report(
    view: &RunView,
    own: &Ticket,
    ticket: &Ticket,
    report: &StepReport,
) -> Result<(), InputRefusal> {
    if own != ticket {
        return Err(InputRefusal::Ticket(vec![own.clone()]));
    }
    let NextAction::Directive { directive } = &view.reply.next else { return Ok(()) };
    if directive.ticket != *own {
        return Ok(());
    }
    if report.outcome.as_ref().is_some_and(|outcome| !is_verdict(outcome)) {
        return Err(InputRefusal::Outcome(agent_outcomes(directive)));
    }
    if asks_again(directive) && is_empty_fail(report) {
        let reason = "a `fail` names what must be fixed, so that another agent can fix it";
        return Err(InputRefusal::Result(InvalidValue(reason.to_owned())));
    }
    let (set, mut result) = (report.set.clone().unwrap_or_default(), report.result.clone().unwrap_or_default());
    // Without any words nothing can be lost: what the session ends with stands in for them.
    let has_words = !set.is_empty() || !result.is_empty();
    // These we look at ourselves when the session has ended.
    for known in [field::PROMISE, field::CHANGED] {
        if directive.result.contains_key(known) {
            result.insert(known.to_owned(), json!(false));
        }
    }
    let input = RunInput::Report {
        ticket: ticket.clone(),
        outcome: report.outcome.clone(),
        set,
        result,
        seen: FileState::default(),
        now: view.record.updated_at,
    };
    match decide(&view.definition, &view.record.run, input) {
        Err(InputRefusal::Outcome(_)) => Err(InputRefusal::Outcome(agent_outcomes(directive))),
        Err(InputRefusal::Several(refusals)) => {
            let known = |refusal| match refusal {
                InputRefusal::Outcome(_) => InputRefusal::Outcome(agent_outcomes(directive)),
                other => other,
            };
            Err(InputRefusal::Several(refusals.into_iter().map(known).collect()))
        }
        Err(refusal @ (InputRefusal::Result(_) | InputRefusal::Value { .. })) if has_words => Err(refusal),
        _ => Ok(()),
    }
}

/// Leaves of a directive's outcomes those that an agent may report; others only follow from what we know.
pub fn keep_agent_outcomes(directive: &mut Directive) {
    directive.outcomes.retain(is_verdict);
}

fn agent_outcomes(directive: &Directive) -> Vec<StepOutcome> {
    directive.outcomes.iter().filter(|outcome| is_verdict(outcome)).cloned().collect()
}
