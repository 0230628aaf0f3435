//! What has happened to a run? Folding these gives its state.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{Ending, Item, Judgement, Progress, Ticket, Wait};
use crate::workflow::definition::EndStatus;
use crate::workflow::name::{Name, Outcome, StepId};

/// Something that happened to a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[allow(missing_docs, reason = "the fields are named after what they hold")]
pub enum RunEvent {
    /// It began.
    Began {
        workflow: String,
        params: Map<String, Json>,
        variables: Map<String, Json>,
        context: Map<String, Json>,
        seed: u64,
    },
    /// A step was entered.
    Entered { step: StepId, visit: u32, now: i64 },
    /// The step waits for something.
    Waiting { wait: Wait },
    /// Words were heard that may be repeated.
    Heard { ticket: Ticket, fingerprint: u64 },
    /// A variable was written.
    Set { name: Name, value: Json },
    /// A value was longer than is stored.
    Cut { name: Name, bytes: usize },
    /// A step resulted in something.
    Resulted { step: StepId, result: Map<String, Json> },
    /// A command got further.
    Progressed { progress: Progress },
    /// A command came to its end.
    Executed { step: StepId, outcome: Outcome, code: Option<i32>, reason: Option<String> },
    /// A check was executed.
    Checked { workflow: String, step: StepId, outcome: Outcome },
    /// A sub-agent came to its end.
    ChildEnded { child: usize, outcome: Outcome, result: Map<String, Json> },
    /// A review got its items.
    ItemsAdded { review: Name, items: Vec<Item> },
    /// Items were judged.
    ItemsJudged { review: Name, judgements: Vec<Judgement> },
    /// Items must be looked at again.
    ItemsReset { review: Name, ids: Vec<String> },
    /// A gate judged.
    Judged { gate: StepId, round: u32, outcome: Outcome, reasons: Vec<String> },
    /// The user granted a gate more rounds.
    RoundsGranted { gate: StepId, rounds: u32 },
    /// The user let items pass.
    RiskAccepted { gate: StepId, review: Name, items: Vec<Item> },
    /// A text was shown.
    Shown { step: StepId, text: String },
    /// A step was not needed.
    Skipped { step: StepId },
    /// An optional step did not go well, and the run went on.
    Tolerated { step: StepId, outcome: Outcome },
    /// A step was left.
    Left { step: StepId, outcome: Outcome },
    /// Another workflow was called.
    Called { workflow: String, params: Map<String, Json>, variables: Map<String, Json> },
    /// The called workflow came to its end.
    Returned { status: EndStatus, message: Option<String>, outputs: Map<String, Json> },
    /// Called workflows were given up.
    Dropped { frames: usize },
    /// It was stopped for a while.
    Paused,
    /// It went on.
    Resumed,
    /// It was stopped for good.
    Cancelled,
    /// It came to its end.
    Ended { ending: Ending },
}
