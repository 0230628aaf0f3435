//! Replies to the callers of a run, and the claim of its executor.

use std::sync::Arc;

use maestro_core::workflow::Outcome;
use maestro_core::workflow::definition::EndStatus;
use maestro_core::workflow::directive::{Context, Directive, DispatchInfo};
use maestro_core::workflow::run::{Definition, Input, Run, Ticket};
use maestro_core::workflow::told::{self, Handed, News, Now, Told};
use maestro_store::{Executing, RunRecord};

/// The program in commands for agents.
const PROGRAM: &str = "maestro";

/// A run with the reply to its caller.
#[derive(Debug, Clone)]
pub struct View {
    /// The stored run.
    pub record: RunRecord,
    /// Its definition.
    pub definition: Arc<Definition>,
    /// The events on the way, and the next action.
    pub told: Told,
}

/// A run as a reply.
pub(super) fn view(record: RunRecord, definition: Arc<Definition>, news: Vec<News>) -> View {
    let run = record.id.to_string();
    let context = Context { run: &run, program: PROGRAM };
    let mut now = told::now(&definition, &record.run, context);
    if let (Some((parent, ticket)), Now::Finished { finished, .. }) = (&record.about.parent, &now) {
        let outcome = match finished.outcome {
            Some(EndStatus::Success) => Outcome::OK,
            _ => Outcome::FAIL,
        };
        let parent = [PROGRAM, "workflow", "next", &parent.to_string()].map(str::to_owned).to_vec();
        now = Now::Handed(Handed { child: ticket.to_string(), outcome, open: Vec::new(), parent });
    }
    let told = Told { run: run.clone(), news, now };
    View { record, definition, told }
}

/// The reply to a sub-agent after its report.
pub(super) fn handed(view: &View, input: &Input) -> Option<Handed> {
    let Input::Report { ticket, outcome, .. } = input else { return None };
    let outcome = outcome.clone().unwrap_or(Outcome::OK);
    let context = Context { run: &view.told.run, program: PROGRAM };
    told::handed(&view.record.run, ticket, outcome, context)
}

/// The sub-agent of a directive with this ticket.
pub(super) fn child_of<'d>(directive: &'d Directive, ticket: &Ticket) -> Option<&'d DispatchInfo> {
    directive.dispatches.iter().find(|dispatch| dispatch.ticket == *ticket)
}

/// The claim to execute that comes with an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hand {
    /// No claim.
    Nobody,
    /// This process executes something from now on.
    Executes(Executing),
}

impl Hand {
    /// The executor of the run from now on.
    pub(super) fn executing(&self, before: &RunRecord, after: &Run) -> Option<Executing> {
        match self {
            Self::Executes(executing) => Some(executing.clone()),
            // A pause, for example, does not end what is being executed.
            Self::Nobody => {
                before.executor.clone().filter(|_| !after.is_over() && after.ticket() == before.run.ticket())
            }
        }
    }

    /// The current view, if the same executor already made this claim.
    pub(super) fn is_repeated(&self, record: &RunRecord, definition: &Arc<Definition>, input: &Input) -> Option<View> {
        let (Self::Executes(executing), Input::Started { ticket, .. }) = (self, input) else { return None };
        let same = record.executor.as_ref().is_some_and(|known| known.by == executing.by);
        (same && record.run.ticket().as_ref() == Some(ticket))
            .then(|| view(record.clone(), Arc::clone(definition), Vec::new()))
    }
}
