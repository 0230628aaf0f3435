//! The state of a run. A value that only its events change.

mod branch_switch;
mod branches;
mod cancellation;
mod command_result;
mod command_spec;
mod decide;
mod event_words;
mod evolve;
mod final_part;
mod gate;
mod listing;
mod past_state;
mod pending_effects;
mod person_items;
mod review_items;
mod run_event;
mod run_input;
mod step_report;
mod step_retries;
#[cfg(test)]
mod tests;
mod ticket;
mod transition;
mod user_question;
mod value_scope;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

pub(super) use command_result::ERROR;
pub use command_spec::{CommandSpec, GivenArgument, ProgramContext};
pub use decide::{deadline, decide};
pub use evolve::evolve;
pub use gate::{GateVerdict, judge_gate};
pub use listing::{RunDriver, RunExecutor, RunState};
pub use past_state::{BranchPoint, PastState, state_before};
pub use pending_effects::{
    AwaitedParty, InvalidSession, PendingEffect, STEP_AGENT, SessionRequest, awaited_party, pending_effects,
};
pub use person_items::{MAX_ITEM, PersonComment, PersonItem, PersonItemKind, PersonItemState};
pub(in crate::workflow) use person_items::{does_work, reviews};
pub(crate) use review_items::glob_matches;
pub use review_items::{ItemJudgement, ReviewItem, ReviewItemStatus};
pub use run_event::RunEvent;
pub use run_input::{
    AnswerAuthor, AwaitedInput, CommandExit, FileState, InputRefusal, RecoveryChoice, RunInput, UserAnswer,
};
pub use step_report::FAILURE;
pub use ticket::Ticket;
pub(super) use user_question::{CONTINUE, implied_options};
pub(super) use value_scope::ValueScope;

use super::definition::{BuiltinCommand, CommandAction, EndStatus, StepWork, Workflow, WorkflowStep};
use super::name::{Name, StepId, StepOutcome};

/// What is pinned with a run: the workflow, and every workflow it may call.
#[derive(Debug, Clone, PartialEq)]
pub struct RunDefinition {
    /// What is walked through.
    pub main: Workflow,
    /// What may be called, by its name.
    pub callees: BTreeMap<String, Workflow>,
}

impl RunDefinition {
    /// A workflow that calls no other.
    pub fn alone(main: Workflow) -> Self {
        Self { main, callees: BTreeMap::new() }
    }

    /// The workflow of this name.
    pub fn workflow(&self, name: &str) -> Option<&Workflow> {
        if self.main.name == name { Some(&self.main) } else { self.callees.get(name) }
    }

    /// Whether any step executes this built-in.
    pub fn executes(&self, builtin: BuiltinCommand) -> bool {
        let steps = std::iter::once(&self.main).chain(self.callees.values()).flat_map(|workflow| &workflow.steps);
        let mut actions = steps.filter_map(|step| match &step.work {
            StepWork::Command { action, .. } => Some(action),
            _ => None,
        });
        actions
            .any(|action| matches!(action, CommandAction::BuiltinCommand { builtin: known, .. } if *known == builtin))
    }

    /// A step that a session is started for, if there is one.
    pub fn session_step(&self) -> Option<&StepId> {
        let steps = std::iter::once(&self.main).chain(self.callees.values()).flat_map(|workflow| &workflow.steps);
        let mut steps = steps.filter(|step| matches!(&step.work, StepWork::Agent(agent) if agent.session.is_some()));
        steps.next().map(|step| &step.id)
    }
}

/// One walk through a workflow.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Run {
    /// Where it stands on the whole.
    pub status: RunStatus,
    /// What nonces are made from.
    pub seed: u64,
    /// How often something was waited for; each time has a ticket of its own.
    pub serial: u64,
    /// Values of the names that are always declared.
    pub context: Map<String, Json>,
    /// The workflows that are being walked through, each called by the one before it.
    pub frames: Vec<CallFrame>,
    /// How every check ended the last time it was executed, by workflow and step.
    pub checks: BTreeMap<String, StepOutcome>,
    /// What a user let pass although a review found fault with it.
    pub accepted_risks: Vec<AcceptedRisk>,
    /// What people said about its work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub person_items: Vec<PersonItem>,
    /// The last reports, so that a repeated one changes nothing.
    #[serde(rename = "heard", alias = "reports_seen")]
    pub reports_seen: Vec<(Ticket, u64)>,
    /// What all files together were, as git names it, at the last report that knew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_tree: Option<String>,
    /// Whether it is being canceled: only last parts are done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_canceling: bool,
}

/// Where a run stands on the whole.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// It has not started.
    #[default]
    New,
    /// It is running or waiting.
    Active,
    /// It is paused.
    Paused,
    /// It came to its end.
    Ended(RunEnding),
    /// It was canceled.
    Cancelled,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEnding {
    /// How.
    pub status: EndStatus,
    /// What is said about it.
    pub message: Option<String>,
    /// What it hands back.
    pub outputs: Map<String, Json>,
}

/// One workflow that is being walked through.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallFrame {
    /// Which.
    pub workflow: String,
    /// What it was started with.
    pub params: Map<String, Json>,
    /// What it remembers.
    pub variables: Map<String, Json>,
    /// How often each step was visited.
    pub visits: BTreeMap<StepId, u32>,
    /// How many transitions it made.
    pub transitions: u32,
    /// What each step's last visit resulted in.
    pub results: BTreeMap<StepId, Map<String, Json>>,
    /// The items of each review.
    pub reviews: BTreeMap<Name, Vec<ReviewItem>>,
    /// What all files together were, as git names it, when each review was last looked through.
    pub trees: BTreeMap<Name, String>,
    /// The rounds of each gate.
    pub rounds: BTreeMap<StepId, GateRounds>,
    /// Why each gate last failed; nothing once it let the run through.
    #[serde(default)]
    pub refusals: BTreeMap<StepId, Vec<String>>,
    /// Where it is.
    pub position: Option<StepVisit>,
    /// The steps that last waited for something, oldest first; a run that stopped continues from there.
    #[serde(default)]
    pub waited: Vec<StepId>,
    /// The steps that are tried again, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attempts: BTreeMap<StepId, StepAttempt>,
    /// How it ends once its last part is done; nothing before that part begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<PlannedEnding>,
    /// The branch of its caller that it was called for, with those around it: `2` or `2/1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// How a workflow ends once its last part is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedEnding {
    /// How.
    pub status: EndStatus,
    /// What is said about it.
    pub message: Option<String>,
    /// Whether it ends because the run is canceled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_canceled: bool,
}

/// Another attempt at a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepAttempt {
    /// How many there were before.
    pub failed: u32,
    /// What the last one ended with.
    pub outcome: StepOutcome,
    /// What is said about it.
    pub feedback: Option<String>,
}

/// How often a gate sent work back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GateRounds {
    /// How many rounds there were since it last let the run through.
    pub done: u32,
    /// How many the user granted beyond the limit.
    pub granted: u32,
}

/// A visit of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepVisit {
    /// Which step.
    pub step: StepId,
    /// Which visit, from 1.
    pub visit: u32,
    /// When it began.
    pub entered: i64,
    /// The run's serial when it began: no other visit that waits for anything began with it.
    #[serde(default)]
    pub entry: u64,
    /// What is waited for.
    pub wait: StepWait,
    /// The number of its wait, where the run has waited for something else since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<u64>,
}

/// What a step waits for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepWait {
    /// Nothing: the engine is at it.
    Engine,
    /// An agent's report.
    Agent,
    /// Sub-agents' reports.
    Children(Vec<DispatchChild>),
    /// A command.
    Command {
        /// How many times it was tried, this one included.
        attempt: u32,
        /// How far it is.
        progress: ExecutionProgress,
    },
    /// The command that lists a question's options.
    Listing(ExecutionProgress),
    /// The user's answer.
    Answer(AskedQuestion),
    /// The command that checks an answer.
    Validating {
        /// The answer.
        answer: Json,
        /// What was asked.
        asked: AskedQuestion,
        /// How far it is.
        progress: ExecutionProgress,
    },
    /// The user's decision at a gate whose rounds are used up.
    Decision,
    /// The workflow that was called.
    Callee,
}

impl StepWait {
    /// Whether something is being executed for it.
    fn is_started(&self) -> bool {
        match self {
            Self::Command { progress, .. } | Self::Listing(progress) | Self::Validating { progress, .. } => {
                *progress == ExecutionProgress::Started
            }
            _ => false,
        }
    }
}

/// How far something executed is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionProgress {
    /// It can be started.
    Ready,
    /// It was started.
    Started,
    /// It was started and its result is unknown: the user must say.
    Unsure,
}

/// What the user was asked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AskedQuestion {
    /// What there is to choose from; nothing for a free text.
    pub options: Option<Vec<String>>,
    /// What people read instead of an option, by the option.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub titles: BTreeMap<String, String>,
    /// Why the last answer was no good.
    pub refused: Option<String>,
    /// How many answers were no good.
    pub tries: u32,
}

/// One sub-agent of a dispatch, or one branch of a command or a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DispatchChild {
    /// Its name within the dispatch.
    pub name: String,
    /// What it was given.
    pub items: Vec<Json>,
    /// How it ended, if it did.
    pub outcome: Option<StepOutcome>,
    /// What it found.
    pub result: Map<String, Json>,
    /// How far its command is, where the engine executes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<BranchExecution>,
    /// The workflow that it called, until that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<BranchCall>,
}

/// The workflow that a branch called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchCall {
    /// Its frames are those of the run.
    InFront,
    /// Its frames, while another branch of the same step is in front.
    Aside(Vec<CallFrame>),
}

/// How far the command of a branch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchExecution {
    /// How many times it was tried, this one included.
    pub attempt: u32,
    /// How far it is.
    pub progress: ExecutionProgress,
}

/// Items of a review that a user let pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AcceptedRisk {
    /// The gate.
    pub gate: StepId,
    /// The review.
    pub review: Name,
    /// The items that had not passed.
    pub items: Vec<ReviewItem>,
    /// Who let them pass.
    #[serde(default)]
    pub by: AnswerAuthor,
}

impl DispatchChild {
    /// One that has not started.
    pub(in crate::workflow) fn new(index: usize, items: Vec<Json>) -> Self {
        Self { name: (index + 1).to_string(), items, outcome: None, result: Map::new(), execution: None, call: None }
    }

    /// Whether its command was started and has not ended.
    pub fn is_started(&self) -> bool {
        let started = |execution: BranchExecution| execution.progress == ExecutionProgress::Started;
        self.outcome.is_none() && self.execution.is_some_and(started)
    }
}

impl Run {
    /// The workflow being walked through now.
    pub fn frame(&self) -> Option<&CallFrame> {
        self.frames.last()
    }

    /// Where it is now.
    pub fn position(&self) -> Option<&StepVisit> {
        self.frame()?.position.as_ref()
    }

    /// The step it is at, with its workflow and frame.
    pub fn current<'r, 'd>(
        &'r self,
        definition: &'d RunDefinition,
    ) -> Option<(&'r CallFrame, &'r StepVisit, &'d Workflow, &'d WorkflowStep)> {
        let frame = self.frame()?;
        let position = frame.position.as_ref()?;
        let workflow = definition.workflow(&frame.workflow)?;
        Some((frame, position, workflow, workflow.step(&position.step)?))
    }

    /// The ticket of what is waited for now.
    pub fn ticket(&self) -> Option<Ticket> {
        let position = self.position()?;
        Some(Ticket::step(&position.step, position.visit, self.seed, position.serial.unwrap_or(self.serial)))
    }

    /// What names this visit however often its command is executed, unlike the ticket, which is another one each time.
    pub fn visit_ticket(&self) -> Option<Ticket> {
        let position = self.position()?;
        Some(Ticket::step(&position.step, position.visit, self.seed, position.entry))
    }

    /// The ticket of a sub-agent, by its place among the children.
    pub fn child_ticket(&self, index: usize, child: &DispatchChild) -> Option<Ticket> {
        let position = self.position()?;
        let serial = position.serial.unwrap_or(self.serial);
        Some(Ticket::child(&position.step, position.visit, &child.name, self.seed, serial, index))
    }

    /// What names one branch of this visit however often it is executed.
    pub fn visit_child_ticket(&self, index: usize, child: &DispatchChild) -> Option<Ticket> {
        let position = self.position()?;
        Some(Ticket::child(&position.step, position.visit, &child.name, self.seed, position.entry, index))
    }

    /// What all files together were when the review was last looked through that the current step belongs to: as a part of
    /// it, or as a check of its gate.
    pub fn reviewed(&self, definition: &RunDefinition) -> Option<&str> {
        let (frame, _, workflow, step) = self.current(definition)?;
        frame.trees.get(workflow.review_around(step)?).map(String::as_str)
    }

    /// The tickets that are waited for.
    pub fn awaited_tickets(&self) -> Vec<Ticket> {
        pending_effects::tickets(self)
    }

    /// How many agents it waits for: branches of a step may each wait for one.
    pub fn awaited_agents(&self) -> usize {
        let waits = |run: &Self| matches!(run.position().map(|position| &position.wait), Some(StepWait::Agent));
        self.of_each_branch(waits).into_iter().filter(|waits| *waits && self.status == RunStatus::Active).count()
    }

    /// Whether what a ticket names was started and has not ended.
    pub fn is_executed(&self, ticket: &Ticket) -> bool {
        self.of_each_branch(|run| run.is_executed_in_front(ticket)).contains(&true)
    }

    fn is_executed_in_front(&self, ticket: &Ticket) -> bool {
        match self.position().map(|position| &position.wait) {
            Some(StepWait::Children(children)) => {
                let own = |(index, child): &(usize, &DispatchChild)| {
                    self.child_ticket(*index, child).as_ref() == Some(ticket)
                };
                children.iter().enumerate().find(own).is_some_and(|(_, child)| child.is_started())
            }
            Some(wait) => wait.is_started() && self.ticket().as_ref() == Some(ticket),
            None => false,
        }
    }

    /// Whether a command of a branch was started and has not ended.
    pub fn executes_branches(&self) -> bool {
        let (frames, beside) = (self.all_frames(), self.has_branches_aside());
        frames.iter().filter_map(|frame| Some(&frame.position.as_ref()?.wait)).any(|wait| match wait {
            StepWait::Children(children) => children.iter().any(DispatchChild::is_started),
            wait => beside && wait.is_started(),
        })
    }

    /// Whether nothing can happen any more.
    pub fn is_over(&self) -> bool {
        matches!(self.status, RunStatus::Ended(_) | RunStatus::Cancelled)
    }
}
