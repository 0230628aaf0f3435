//! The events of a run. Folding these gives its state.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{
    AnswerAuthor, BranchExecution, ExecutionProgress, ItemJudgement, PastState, PersonItem, PersonItemState,
    ReviewItem, RunEnding, StepAttempt, StepWait, Ticket,
};
use crate::landing::LandingKind;
use crate::workflow::StepPhase;
use crate::workflow::definition::EndStatus;
use crate::workflow::name::{Name, StepId, StepOutcome};
use crate::workflow::template::TextSpan;

/// Something that happened to a run, named in the log as `run:…`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "payload")]
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub enum RunEvent {
    /// It began.
    #[serde(rename = "run:began")]
    Began {
        workflow: String,
        params: Map<String, Json>,
        variables: Map<String, Json>,
        context: Map<String, Json>,
        seed: u64,
    },
    /// A step was entered.
    #[serde(rename = "run:entered")]
    Entered {
        step: StepId,
        visit: u32,
        now: i64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<StepPhase>,
    },
    /// The step waits for something.
    #[serde(rename = "run:waiting")]
    Waiting { wait: StepWait },
    /// A report arrived that may be repeated.
    #[serde(rename = "run:reported", alias = "run:heard")]
    Reported {
        ticket: Ticket,
        fingerprint: u64,
        /// What all files together were, as git names it, where the reporter looked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<String>,
    },
    /// A variable was written.
    #[serde(rename = "run:set")]
    Set { name: Name, value: Json },
    /// A value was longer than is stored.
    #[serde(rename = "run:cut")]
    Cut { name: Name, bytes: usize },
    /// A step resulted in something.
    #[serde(rename = "run:resulted")]
    Resulted { step: StepId, result: Map<String, Json> },
    /// A command got further.
    #[serde(rename = "run:progressed")]
    Progressed { progress: ExecutionProgress },
    /// A command came to its end.
    #[serde(rename = "run:executed")]
    Executed { step: StepId, outcome: StepOutcome, code: Option<i32>, reason: Option<String> },
    /// A check was executed.
    #[serde(rename = "run:checked")]
    Checked { workflow: String, step: StepId, outcome: StepOutcome },
    /// The command of a branch got further.
    #[serde(rename = "run:branch_moved")]
    BranchMoved { child: usize, execution: BranchExecution },
    /// A sub-agent or a branch came to its end.
    #[serde(rename = "run:child_ended")]
    ChildEnded { child: usize, outcome: StepOutcome, result: Map<String, Json> },
    /// A review got its items.
    #[serde(rename = "run:items_added")]
    ItemsAdded { review: Name, items: Vec<ReviewItem> },
    /// Items were judged.
    #[serde(rename = "run:items_judged")]
    ItemsJudged { review: Name, judgements: Vec<ItemJudgement>, tree: Option<String> },
    /// Items must be looked at again.
    #[serde(rename = "run:items_reset")]
    ItemsReset {
        review: Name,
        ids: Vec<String>,
        /// The files that changed after they were judged, if that is why.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changed: Vec<String>,
    },
    /// A person commented on the work.
    #[serde(rename = "run:item_added")]
    ItemAdded { item: PersonItem },
    /// Comments of people got further.
    #[serde(rename = "run:items_moved")]
    ItemsMoved { ids: Vec<String>, state: PersonItemState },
    /// A gate judged.
    #[serde(rename = "run:judged")]
    Judged { gate: StepId, round: u32, outcome: StepOutcome, reasons: Vec<String> },
    /// The user granted a gate more rounds.
    #[serde(rename = "run:rounds_granted")]
    RoundsGranted { gate: StepId, rounds: u32 },
    /// The user let items pass.
    #[serde(rename = "run:risk_accepted")]
    RiskAccepted {
        gate: StepId,
        review: Name,
        items: Vec<ReviewItem>,
        #[serde(default)]
        by: AnswerAuthor,
    },
    /// A question was answered, or a decision made.
    #[serde(rename = "run:answered")]
    Answered {
        step: StepId,
        by: AnswerAuthor,
        /// What was said, or the beginning of it; nothing where the user declined.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<String>,
    },
    /// A text was shown.
    #[serde(rename = "run:shown")]
    Shown {
        step: StepId,
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        authored: Vec<TextSpan>,
    },
    /// A step was not needed.
    #[serde(rename = "run:skipped")]
    Skipped { step: StepId },
    /// An optional step did not go well, and the run continued.
    #[serde(rename = "run:tolerated")]
    Tolerated { step: StepId, outcome: StepOutcome },
    /// A step was left.
    #[serde(rename = "run:left")]
    Left {
        step: StepId,
        outcome: StepOutcome,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phase: Option<StepPhase>,
    },
    /// Another workflow was called.
    #[serde(rename = "run:called")]
    Called {
        workflow: String,
        params: Map<String, Json>,
        variables: Map<String, Json>,
        /// The branch of the step that calls it, by its place among them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<usize>,
    },
    /// Another branch of the step of a frame is in front from now on, or that frame itself.
    #[serde(rename = "run:switched")]
    Switched { frame: usize, from: Option<usize>, to: Option<usize> },
    /// The called workflow came to its end.
    #[serde(rename = "run:returned")]
    Returned { status: EndStatus, message: Option<String>, outputs: Map<String, Json> },
    /// Called workflows were given up.
    #[serde(rename = "run:dropped")]
    Dropped { frames: usize },
    /// It was stopped for a while.
    #[serde(rename = "run:paused")]
    Paused {},
    /// It went on.
    #[serde(rename = "run:resumed")]
    Resumed {},
    /// It goes on with other parameters.
    #[serde(rename = "run:params_changed")]
    ParamsChanged { params: Map<String, Json> },
    /// A step is tried again.
    #[serde(rename = "run:retried")]
    Retried { step: StepId, attempt: StepAttempt, now: i64 },
    /// A workflow comes to its end, and its last part begins.
    #[serde(rename = "run:ending")]
    Ending {
        status: EndStatus,
        message: Option<String>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_canceled: bool,
    },
    /// It is canceled once the last parts of what it was doing are done.
    #[serde(rename = "run:canceling")]
    Canceling {},
    /// A run that was over goes on from an earlier point, as if nothing had happened since.
    #[serde(rename = "run:branched")]
    Branched { step: StepId, visit: u32, state: Box<PastState> },
    /// It was stopped for good.
    #[serde(rename = "run:cancelled")]
    Cancelled {},
    /// Its result was merged or thrown away.
    #[serde(rename = "run:landed")]
    Landed {
        how: LandingKind,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        into: Option<String>,
    },
    /// It came to its end.
    #[serde(rename = "run:ended")]
    Ended { ending: RunEnding },
}
