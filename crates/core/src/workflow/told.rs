//! Replies about a run: what happened since the last one, and what to do now.

use serde::{Deserialize, Serialize};

use super::StepPhase;
use super::definition::Work;
use super::directive::{Context, Directive, Finished, directive, finished};
use super::name::{Name, Outcome, StepId};
use super::run::{Definition, Run, RunEvent, Status, Ticket, Wait};

/// A reply about a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// The run.
    pub run: String,
    /// What happened since the last reply, oldest first.
    pub news: Vec<News>,
    /// What is to be done now.
    pub now: Now,
}

/// What is to be done now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Now {
    /// This.
    Directive {
        /// What.
        directive: Box<Directive>,
    },
    /// Nothing: the run is over.
    Finished {
        /// How it ended.
        finished: Finished,
        /// What is said about it.
        message: Option<String>,
    },
    /// Nothing: something is being executed, or will be.
    Busy {
        /// At which step.
        step: StepId,
        /// What people call it.
        title: String,
        /// The phase of the work that the step belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<StepPhase>,
    },
    /// Nothing: it is paused.
    Paused,
    /// Nothing more at this step by the session that was started for it: what it reported counts when it has ended.
    Noted {
        /// The step.
        step: StepId,
        /// What people call it.
        title: String,
    },
    /// Nothing more by the sub-agent that reported; its parent goes on.
    Handed(Handed),
}

/// The reply to a sub-agent's report. Its parent may have forgotten its own directive by then, so this
/// says what the parent must do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handed {
    /// The sub-agent.
    pub child: String,
    /// How it ended.
    pub outcome: Outcome,
    /// The sub-agents that have not reported.
    pub open: Vec<String>,
    /// What the parent runs next.
    pub parent: Vec<String>,
}

/// Something that happened since the last reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "news", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub enum News {
    /// A text is to be shown to the user.
    Shown { step: StepId, text: String },
    /// A gate judged.
    Judged {
        gate: StepId,
        title: String,
        round: u32,
        limit: u32,
        outcome: Outcome,
        reasons: Vec<String>,
        review: Option<Name>,
        fix_target: Option<Name>,
        self_fix: bool,
    },
    /// Something executed did not end well.
    Failed { step: StepId, outcome: Outcome, reason: String },
    /// An optional step did not go well, and the run continued.
    Tolerated { step: StepId, outcome: Outcome },
    /// A value was longer than is stored.
    Cut { name: Name, bytes: usize },
    /// The user let items of a review pass.
    RiskAccepted { gate: StepId, items: Vec<String> },
}

/// What is worth telling of what happened.
pub fn news(definition: &Definition, run: &Run, events: &[RunEvent]) -> Vec<News> {
    events.iter().filter_map(|event| item(definition, run, event)).collect()
}

fn item(definition: &Definition, run: &Run, event: &RunEvent) -> Option<News> {
    Some(match event {
        RunEvent::Shown { step, text } => News::Shown { step: step.clone(), text: text.clone() },
        RunEvent::Judged { gate, round, outcome, reasons } => {
            let frames =
                run.frames.iter().rev().filter_map(|frame| Some((frame, definition.workflow(&frame.workflow)?)));
            let found = frames.filter_map(|(frame, workflow)| Some((frame, workflow.step(gate)?)));
            let mut found =
                found.chain(definition.main.step(gate).zip(run.frames.first()).map(|(step, frame)| (frame, step)));
            let (frame, step) = found.find(|(_, step)| matches!(step.work, Work::Gate(_)))?;
            let Work::Gate(work) = &step.work else { return None };
            News::Judged {
                gate: gate.clone(),
                title: step.title.clone(),
                round: *round,
                limit: work.max_rounds + frame.rounds.get(gate).map_or(0, |rounds| rounds.granted),
                outcome: outcome.clone(),
                reasons: reasons.clone(),
                review: work.review.as_ref().map(|(name, _)| name.clone()),
                fix_target: work.fix_target.as_ref().map(|(name, _)| name.clone()),
                self_fix: work.self_fix,
            }
        }
        RunEvent::Executed { step, outcome, reason: Some(reason), .. } if *outcome != Outcome::OK => {
            News::Failed { step: step.clone(), outcome: outcome.clone(), reason: reason.clone() }
        }
        RunEvent::Tolerated { step, outcome } => News::Tolerated { step: step.clone(), outcome: outcome.clone() },
        RunEvent::Cut { name, bytes } => News::Cut { name: name.clone(), bytes: *bytes },
        RunEvent::RiskAccepted { gate, items, .. } => {
            let items = items.iter().map(|item| format!("{} {}: {}", item.severity.word(), item.id, item.check));
            News::RiskAccepted { gate: gate.clone(), items: items.collect() }
        }
        _ => return None,
    })
}

/// What is to be done now.
pub fn now(definition: &Definition, run: &Run, context: Context<'_>) -> Now {
    if let Some(finished) = finished(run, context) {
        let message = match &run.status {
            Status::Ended(ending) => ending.message.clone(),
            _ => None,
        };
        return Now::Finished { finished, message };
    }
    if run.status == Status::Paused {
        return Now::Paused;
    }
    if let Some(directive) = directive(definition, run, context) {
        return Now::Directive { directive: Box::new(directive) };
    }
    let step = run.current(definition).map(|(_, _, _, step)| step);
    let id = step.map_or_else(|| definition.main.start.clone(), |step| step.id.clone());
    let phase = step.and_then(|step| step.phase.clone());
    Now::Busy { title: step.map(|step| step.title.clone()).unwrap_or_default(), step: id, phase }
}

/// The reply to a sub-agent's report, new or repeated, if the ticket is a sub-agent's.
pub fn handed(run: &Run, ticket: &Ticket, outcome: Outcome, context: Context<'_>) -> Option<Handed> {
    let (child, visit) = ticket.sub_agent()?;
    let position = run.position().filter(|position| format!("{}#{}", position.step, position.visit) == visit);
    let children = match position.map(|position| &position.wait) {
        Some(Wait::Children(children)) => children.as_slice(),
        _ => &[],
    };
    let open = children.iter().filter(|child| child.outcome.is_none()).map(|child| child.name.clone()).collect();
    let parent = [context.program, "workflow", "next", context.run].map(str::to_owned).to_vec();
    Some(Handed { child: child.to_owned(), outcome, open, parent })
}
