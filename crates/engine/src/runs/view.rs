//! Replies to the callers of a run, and the claim of its executor.

use std::sync::Arc;

use maestro_core::workflow::StepOutcome;
use maestro_core::workflow::definition::EndStatus;
use maestro_core::workflow::directive::{Directive, DirectiveContext, DispatchInfo};
use maestro_core::workflow::run::{Run, RunDefinition, RunInput, Ticket};
use maestro_core::workflow::run_reply::{self, NextAction, RunReply, RunUpdate, SubagentDone};
use maestro_store::{Executing, RunRecord};

/// The program in commands for agents.
const PROGRAM: &str = "maestro";

/// A run with the reply to its caller.
#[derive(Debug, Clone)]
pub struct RunView {
    /// The stored run.
    pub record: RunRecord,
    /// Its definition.
    pub definition: Arc<RunDefinition>,
    /// The events on the way, and the next action.
    pub reply: RunReply,
}

/// A run as a reply.
pub(super) fn view(record: RunRecord, definition: Arc<RunDefinition>, updates: Vec<RunUpdate>) -> RunView {
    let run = record.id.to_string();
    let context = DirectiveContext { run: &run, program: PROGRAM };
    let mut next = run_reply::next_action(&definition, &record.run, context);
    if let (Some((parent, ticket)), NextAction::Finished { finished, .. }) = (&record.about.parent, &next) {
        let outcome = match finished.outcome {
            Some(EndStatus::Success) => StepOutcome::OK,
            _ => StepOutcome::FAIL,
        };
        let parent = [PROGRAM, "workflow", "next", &parent.to_string()].map(str::to_owned).to_vec();
        next = NextAction::Handed(SubagentDone { child: ticket.to_string(), outcome, open: Vec::new(), parent });
    }
    let told = RunReply { run: run.clone(), updates, next };
    RunView { record, definition, reply: told }
}

/// The reply to a sub-agent after its report.
pub(super) fn subagent_done(view: &RunView, input: &RunInput) -> Option<SubagentDone> {
    let RunInput::Report { ticket, outcome, .. } = input else { return None };
    let outcome = outcome.clone().unwrap_or(StepOutcome::OK);
    let context = DirectiveContext { run: &view.reply.run, program: PROGRAM };
    run_reply::subagent_done(&view.record.run, ticket, outcome, context)
}

/// The sub-agent of a directive with this ticket.
pub(super) fn child_of<'d>(directive: &'d Directive, ticket: &Ticket) -> Option<&'d DispatchInfo> {
    directive.dispatches.iter().find(|dispatch| dispatch.ticket == *ticket)
}

/// The claim to execute that comes with an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExecutionClaim {
    /// No claim.
    None,
    /// This process executes something from now on.
    By(Executing),
}

impl RunView {
    /// The same with the branch in front that waits for this ticket, and what is to be done there.
    #[must_use]
    pub fn in_front(&self, ticket: &Ticket) -> Self {
        let record = RunRecord { run: self.record.run.in_front(ticket), ..self.record.clone() };
        view(record, Arc::clone(&self.definition), Vec::new())
    }
}

impl ExecutionClaim {
    /// The executor of the run from now on.
    pub(super) fn executing(&self, before: &RunRecord, after: &Run) -> Option<Executing> {
        match self {
            Self::By(executing) => Some(executing.clone()),
            // A pause, for example, does not end what is being executed.
            Self::None => before.executor.clone().filter(|_| {
                let waits_on = after.ticket() == before.run.ticket() || after.executes_branches();
                waits_on && !after.is_over()
            }),
        }
    }

    /// Whether another process executes other branches of the same step: one process executes all of them.
    pub(super) fn is_taken(&self, record: &RunRecord) -> bool {
        match (self, &record.executor) {
            (Self::By(executing), Some(known)) => known.by != executing.by && record.run.executes_branches(),
            _ => false,
        }
    }

    /// The current view, if the same executor already made this claim.
    pub(super) fn repeated_view(
        &self,
        record: &RunRecord,
        definition: &Arc<RunDefinition>,
        input: &RunInput,
    ) -> Option<RunView> {
        let (Self::By(executing), RunInput::Started { ticket, .. }) = (self, input) else { return None };
        let same = record.executor.as_ref().is_some_and(|known| known.by == executing.by);
        (same && record.run.is_executed(ticket)).then(|| view(record.clone(), Arc::clone(definition), Vec::new()))
    }
}
