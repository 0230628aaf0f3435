//! Replies about a run: what happened since the last one, and what to do now.

use serde::{Deserialize, Serialize};

use super::StepPhase;
use super::definition::StepWork;
use super::directive::{Directive, DirectiveContext, FinishedRun, build_directive, finished_run};
use super::name::{Name, StepId, StepOutcome};
use super::run::{AnswerAuthor, Run, RunDefinition, RunEvent, RunStatus, StepWait, Ticket};
use super::template::TextSpan;

/// A reply about a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunReply {
    /// The run.
    pub run: String,
    /// What happened since the last reply, oldest first.
    pub updates: Vec<RunUpdate>,
    /// What is to be done now.
    pub next: NextAction,
}

/// What is to be done now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NextAction {
    /// This.
    Directive {
        /// What.
        directive: Box<Directive>,
    },
    /// Nothing: the run is over.
    Finished {
        /// How it ended.
        finished: FinishedRun,
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
    Handed(SubagentDone),
}

/// The reply to a sub-agent's report. Its parent may have forgotten its own directive by then, so this
/// says what the parent must do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubagentDone {
    /// The sub-agent.
    pub child: String,
    /// How it ended.
    pub outcome: StepOutcome,
    /// The sub-agents that have not reported.
    pub open: Vec<String>,
    /// What the parent runs next.
    pub parent: Vec<String>,
}

/// Something that happened since the last reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub enum RunUpdate {
    /// A text is to be shown to the user.
    Shown {
        step: StepId,
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        authored: Vec<TextSpan>,
    },
    /// A gate judged.
    Judged {
        gate: StepId,
        title: String,
        round: u32,
        limit: u32,
        outcome: StepOutcome,
        reasons: Vec<String>,
        review: Option<Name>,
        fix_target: Option<Name>,
        self_fix: bool,
    },
    /// Something executed did not end well.
    Failed { step: StepId, outcome: StepOutcome, reason: String },
    /// An optional step did not go well, and the run continued.
    Tolerated {
        step: StepId,
        outcome: StepOutcome,
        /// Why, where that is known.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// A value was longer than is stored.
    Cut { name: Name, bytes: usize },
    /// The user let items of a review pass.
    RiskAccepted {
        gate: StepId,
        items: Vec<String>,
        #[serde(default)]
        by: AnswerAuthor,
    },
}

/// What is worth telling of what happened.
pub fn list_updates(definition: &RunDefinition, run: &Run, events: &[RunEvent]) -> Vec<RunUpdate> {
    let mut updates: Vec<RunUpdate> = Vec::new();
    for mut update in events.iter().filter_map(|event| update_of(definition, run, event)) {
        // What an optional step failed of is said once, with that the run continued.
        if let RunUpdate::Tolerated { step, reason, .. } = &mut update
            && let Some(RunUpdate::Failed { reason: why, .. }) =
                updates.pop_if(|last| matches!(last, RunUpdate::Failed { step: failed, .. } if failed == step))
        {
            *reason = why;
        }
        updates.push(update);
    }
    updates
}

fn update_of(definition: &RunDefinition, run: &Run, event: &RunEvent) -> Option<RunUpdate> {
    Some(match event {
        RunEvent::Shown { step, text, authored } => {
            RunUpdate::Shown { step: step.clone(), text: text.clone(), authored: authored.clone() }
        }
        RunEvent::Judged { gate, round, outcome, reasons } => {
            let frames =
                run.frames.iter().rev().filter_map(|frame| Some((frame, definition.workflow(&frame.workflow)?)));
            let found = frames.filter_map(|(frame, workflow)| Some((frame, workflow.step(gate)?)));
            let mut found =
                found.chain(definition.main.step(gate).zip(run.frames.first()).map(|(step, frame)| (frame, step)));
            let (frame, step) = found.find(|(_, step)| matches!(step.work, StepWork::Gate(_)))?;
            let StepWork::Gate(work) = &step.work else { return None };
            RunUpdate::Judged {
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
        RunEvent::Executed { step, outcome, reason: Some(reason), .. } if *outcome != StepOutcome::OK => {
            RunUpdate::Failed { step: step.clone(), outcome: outcome.clone(), reason: reason.clone() }
        }
        RunEvent::Tolerated { step, outcome } => {
            RunUpdate::Tolerated { step: step.clone(), outcome: outcome.clone(), reason: String::new() }
        }
        RunEvent::Cut { name, bytes } => RunUpdate::Cut { name: name.clone(), bytes: *bytes },
        RunEvent::RiskAccepted { gate, items, by, .. } => {
            let items = items.iter().map(|item| format!("{} {}: {}", item.severity.word(), item.id, item.check));
            RunUpdate::RiskAccepted { gate: gate.clone(), items: items.collect(), by: *by }
        }
        _ => return None,
    })
}

/// What is to be done now.
pub fn next_action(definition: &RunDefinition, run: &Run, context: DirectiveContext<'_>) -> NextAction {
    if let Some(finished) = finished_run(run, context) {
        let message = match &run.status {
            RunStatus::Ended(ending) => ending.message.clone(),
            _ => None,
        };
        return NextAction::Finished { finished, message };
    }
    if run.status == RunStatus::Paused {
        return NextAction::Paused;
    }
    if let Some(directive) = build_directive(definition, run, context) {
        return NextAction::Directive { directive: Box::new(directive) };
    }
    let step = run.current(definition).map(|(_, _, _, step)| step);
    let id = step.map_or_else(|| definition.main.start.clone(), |step| step.id.clone());
    let phase = step.and_then(|step| step.phase.clone());
    NextAction::Busy { title: step.map(|step| step.title.clone()).unwrap_or_default(), step: id, phase }
}

/// The reply to a sub-agent's report, new or repeated, if the ticket is a sub-agent's.
pub fn subagent_done(
    run: &Run,
    ticket: &Ticket,
    outcome: StepOutcome,
    context: DirectiveContext<'_>,
) -> Option<SubagentDone> {
    let (child, visit) = ticket.sub_agent()?;
    let position = run.position().filter(|position| format!("{}#{}", position.step, position.visit) == visit);
    let children = match position.map(|position| &position.wait) {
        Some(StepWait::Children(children)) => children.as_slice(),
        _ => &[],
    };
    let open = children.iter().filter(|child| child.outcome.is_none()).map(|child| child.name.clone()).collect();
    let parent = [context.program, "workflow", "next", context.run].map(str::to_owned).to_vec();
    Some(SubagentDone { child: child.to_owned(), outcome, open, parent })
}
