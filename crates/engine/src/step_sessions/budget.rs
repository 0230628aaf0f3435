//! Budget left for the sessions of a task and of its plan.
//!
//! It follows from what the store keeps of earlier sessions, so nothing is forgotten when a server ends.

use std::fmt;

use maestro_core::agent::spawn::SessionLimits;
use maestro_core::agent::{BudgetLimit, BudgetUsage, InvalidBudget, LimitGrant, SessionOutcome};
use maestro_core::step_session::StepSessionEnd;
use maestro_core::workflow::run;

use crate::runs::RunView;

/// For what something is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BudgetScope {
    Task,
    Plan,
}

impl fmt::Display for BudgetScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Task => "task",
            Self::Plan => "plan",
        })
    }
}

/// What is allowed, and what was used up of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct RemainingBudget(Vec<(BudgetScope, BudgetLimit, BudgetUsage)>);

impl RemainingBudget {
    /// What is allowed at a seat, in this pass through its workflow, after these sessions.
    pub(super) fn of(
        seat: &run::SessionRequest,
        invocation: &str,
        ends: &[StepSessionEnd],
    ) -> Result<Self, InvalidBudget> {
        let read = |text: &Option<String>| text.as_deref().unwrap_or_default().parse::<BudgetLimit>();
        let used = |counts: &dyn Fn(&StepSessionEnd) -> bool| {
            let ends = ends.iter().filter(|end| counts(end)).filter_map(|end| end.outcome.as_ref());
            ends.map(SessionOutcome::usage).fold(BudgetUsage::default(), BudgetUsage::plus)
        };
        let granted = |counts: &dyn Fn(&StepSessionEnd) -> bool| {
            let ends = ends.iter().filter(|end| counts(end)).filter_map(|end| end.outcome.as_ref());
            ends.map(SessionOutcome::granted).fold(LimitGrant::default(), LimitGrant::plus)
        };
        let of_task = |end: &StepSessionEnd| end.metadata.invocation_id.as_deref() == Some(invocation);
        let of_plan = |_: &StepSessionEnd| true;
        Ok(Self(vec![
            (BudgetScope::Task, read(&seat.budget)?.extend(granted(&of_task)), used(&of_task)),
            (BudgetScope::Plan, read(&seat.run_budget)?.extend(granted(&of_plan)), used(&of_plan)),
        ]))
    }

    /// That no time is left, and what to do about it. Where money or tokens are used up, the session asks for more.
    pub(super) fn out_of_time(&self) -> Option<String> {
        self.gone(BudgetLimit::only_minutes)
    }

    /// What is used up, and what to do about it; nothing as long as there is something left.
    pub(super) fn exhausted(&self) -> Option<String> {
        self.gone(|allowance| allowance)
    }

    fn gone(&self, part: impl Fn(BudgetLimit) -> BudgetLimit) -> Option<String> {
        self.0.iter().find_map(|(whose, allowance, used)| {
            let gone = part(*allowance).exhausted(used)?;
            let word = gone.word();
            Some(format!(
                "The budget of the {whose} is used up: {gone}. What passed is committed. To go on, begin again with a larger \
                 `--{whose}-{word}`, or `{whose}_{word}` in the config."
            ))
        })
    }

    /// What a session may use up: no more than is left.
    pub(super) fn session_limits(&self, budget: SessionLimits) -> SessionLimits {
        self.0.iter().fold(budget, |budget, (_, allowance, used)| allowance.cap_limits(budget, used))
    }
}

/// The pass through a workflow that a run is at, named by the steps that called each other.
pub(super) fn invocation_id(view: &RunView) -> String {
    let frames = &view.record.run.frames;
    let begin = view.record.id.to_string();
    frames.iter().zip(frames.iter().skip(1)).fold(begin, |walk, (caller, called)| {
        let Some(position) = &caller.position else { return walk };
        // Each branch of a step is a pass of its own.
        let branch = called.branch.as_ref().filter(|_| called.branch != caller.branch);
        let branch = branch.map(|branch| format!("[{branch}]")).unwrap_or_default();
        format!("{walk}/{}#{}{branch}", position.step, position.visit)
    })
}

#[cfg(test)]
mod tests {
    use maestro_core::agent::{SessionResult, SessionWork, TokenUsage};
    use maestro_core::step_session::StepSessionMetadata;

    use super::*;

    fn end(invocation: &str, outcome: Option<SessionOutcome>) -> StepSessionEnd {
        let metadata =
            StepSessionMetadata { invocation_id: Some(invocation.to_owned()), ..StepSessionMetadata::default() };
        StepSessionEnd { metadata, outcome, ..StepSessionEnd::default() }
    }

    fn cost(cost_usd: f64) -> SessionOutcome {
        let spent = TokenUsage { input: 10, output: 5, cost_usd, ..TokenUsage::default() };
        let work = SessionWork { attempt: 1, spent, worked_ms: 60_000, ..SessionWork::default() };
        SessionOutcome { result: SessionResult::Done, work: Some(work) }
    }

    fn budget(task: &str, plan: &str) -> Result<RemainingBudget, InvalidBudget> {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        let seat = run::SessionRequest { budget: text(task), run_budget: text(plan), ..run::SessionRequest::default() };
        let ends = [
            end("r/work#1", Some(cost(1.0))),
            end("r/work#2", Some(cost(0.25))),
            end("r/work#2", Some(cost(0.25))),
            end("r/work#2", None),
        ];
        RemainingBudget::of(&seat, "r/work#2", &ends)
    }

    #[test]
    fn a_task_has_its_own_sessions_and_a_plan_all_of_them() {
        let budget = budget("cost=1 minutes=5", "cost=4 tokens=100").unwrap();
        assert_eq!(budget.exhausted(), None);
        let budget = budget.session_limits(SessionLimits::default());
        assert_eq!((budget.cost_usd, budget.minutes, budget.tokens), (Some(0.5), 3.0, Some(55)));
        assert_eq!(RemainingBudget::default().session_limits(SessionLimits::default()), SessionLimits::default());
    }

    #[test]
    fn the_reason_names_whose_budget_it_is_what_was_used_and_what_to_do() {
        let task = budget("cost=0.5", "").unwrap().exhausted().unwrap();
        assert!(task.contains("of the task is used up: $0.50 was spent, and $0.5 is allowed"), "{task}");
        assert!(task.contains("`--task-cost`, or `task_cost`"), "{task}");
        let plan = budget("cost=1", "minutes=3").unwrap().exhausted().unwrap();
        assert!(plan.contains("of the plan is used up: agents worked 3.00 minutes"), "{plan}");
        assert!(budget("cost=a lot", "").is_err());
    }
}
