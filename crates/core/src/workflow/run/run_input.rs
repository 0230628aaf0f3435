//! The inputs of a run, and the reasons to refuse one.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{PastState, PersonComment, Ticket};
use crate::workflow::name::{StepId, StepOutcome};
use crate::workflow::value_type::InvalidValue;

/// Something that happens to a run. Nothing else moves one.
#[derive(Debug, Clone, PartialEq)]
pub enum RunInput {
    /// It begins.
    Start {
        /// What it is started with.
        params: Map<String, Json>,
        /// Values of the names that are always declared.
        context: Map<String, Json>,
        /// Where nonces come from.
        seed: u64,
        /// When.
        now: i64,
    },
    /// An agent or a sub-agent reports the result of its directive.
    Report {
        /// Which directive.
        ticket: Ticket,
        /// What it ended with; nothing where that follows from the result.
        outcome: Option<StepOutcome>,
        /// Variables it sets.
        set: Map<String, Json>,
        /// What it found.
        result: Map<String, Json>,
        /// What is known of the files that were worked on.
        seen: FileState,
        /// When.
        now: i64,
    },
    /// The walk of a sub-agent came to its end.
    ChildRunEnded {
        /// The sub-agent's.
        ticket: Ticket,
        /// How.
        outcome: StepOutcome,
        /// What it hands back.
        result: Map<String, Json>,
        /// What is known of the files that it worked on.
        seen: FileState,
        /// When.
        now: i64,
    },
    /// The user answers.
    Answer {
        /// Which question.
        ticket: Ticket,
        /// What.
        answer: UserAnswer,
        /// Who says so.
        by: AnswerAuthor,
        /// When.
        now: i64,
    },
    /// A command is about to be started.
    Started {
        /// Which.
        ticket: Ticket,
        /// What is known of the files, where it is a check of a gate whose review was judged already.
        seen: FileState,
        /// When.
        now: i64,
    },
    /// A command came to its end.
    Finished {
        /// Which.
        ticket: Ticket,
        /// How.
        finish: CommandExit,
        /// When.
        now: i64,
    },
    /// The executor of a command is gone.
    Lost {
        /// Which.
        ticket: Ticket,
        /// When.
        now: i64,
    },
    /// The user says what happened to a command with an unknown result.
    Consent {
        /// Which.
        ticket: Ticket,
        /// What to do.
        choice: RecoveryChoice,
        /// When.
        now: i64,
    },
    /// Time went by.
    Elapsed {
        /// When it is.
        now: i64,
    },
    /// A person says something about the work.
    AddItem {
        /// What.
        comment: PersonComment,
        /// When.
        now: i64,
    },
    /// The agent at work received comments as messages.
    DeliverItems {
        /// The ids of the messages.
        messages: Vec<String>,
        /// When.
        now: i64,
    },
    /// Pause the run.
    Pause,
    /// Resume it.
    Resume,
    /// Continue it after it stopped, from the step where it did.
    Reopen {
        /// Parameters that change; those that the workflow does not have are left out.
        params: Map<String, Json>,
        /// Words for the agent that tries again.
        note: Option<String>,
        /// When.
        now: i64,
    },
    /// Continue it after it was over, from an earlier visit of a step and as it was then.
    Branch {
        /// The step.
        step: StepId,
        /// Which visit of it.
        visit: u32,
        /// How the run was before it.
        state: Box<PastState>,
        /// Parameters that change; those that the workflow does not have are left out.
        params: Map<String, Json>,
        /// When.
        now: i64,
    },
    /// Cancel it after its last part, if it has one; at once where it is being canceled.
    RequestCancel {
        /// When.
        now: i64,
    },
    /// Cancel it at once.
    Cancel,
    /// No session can pass the step: its workflow fails there, and says why.
    Abandon {
        /// The step's ticket.
        ticket: Ticket,
        /// Why, for people.
        reason: String,
        /// When.
        now: i64,
    },
}

impl RunInput {
    /// The ticket of what it is about.
    pub fn ticket(&self) -> Option<&Ticket> {
        match self {
            Self::Report { ticket, .. }
            | Self::ChildRunEnded { ticket, .. }
            | Self::Answer { ticket, .. }
            | Self::Started { ticket, .. }
            | Self::Finished { ticket, .. }
            | Self::Lost { ticket, .. }
            | Self::Consent { ticket, .. }
            | Self::Abandon { ticket, .. } => Some(ticket),
            _ => None,
        }
    }
}

/// What the reporter knows of the files that were worked on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FileState {
    /// What all files together are now, as git names it.
    pub tree: Option<String>,
    /// The files that changed since the last review; none when that is unknown.
    pub changed: Option<Vec<String>>,
}

/// What a user says to a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserAnswer {
    /// This.
    Value(Json),
    /// Nothing.
    Declined,
    /// Nothing, and nothing more.
    Cancelled,
}

crate::word_enum! {
    /// The author of an answer.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum AnswerAuthor {
        /// The user, at a terminal, on the page or in a form.
        #[default]
        User = "user",
        /// An agent, which says that the user said so.
        Agent = "agent",
        /// A program that the user started.
        Script = "script",
    }
}

impl AnswerAuthor {
    /// Who that is, in a sentence.
    pub fn describe(self) -> &'static str {
        match self {
            Self::User => "the user",
            Self::Agent => "the agent",
            Self::Script => "a script",
        }
    }
}

/// How a command came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandExit {
    /// It exited.
    Exited {
        /// With this code.
        code: i32,
        /// Having printed this.
        output: String,
    },
    /// It took too long.
    TimedOut,
    /// It could not be started, or died.
    Failed(String),
}

crate::word_enum! {
    /// What to do about a command with an unknown result.
    pub enum RecoveryChoice {
        /// Execute it again.
        Again = "again",
        /// It is done.
        Done = "done",
        /// End the run.
        Abort = "abort",
    }
}

crate::word_enum! {
    /// What something waits for.
    pub enum AwaitedInput {
        /// The report of an agent.
        Report = "a report (`maestro workflow report`)",
        /// What the user says.
        Answer = "an answer (`maestro workflow answer`)",
        /// The end of what is executed.
        Execution = "the end of what is executed (`maestro workflow next`)",
    }
}

/// Why an input changes nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum InputRefusal {
    /// The run has not started.
    #[error("the run has not been started")]
    NotStarted,
    /// It has started already.
    #[error("the run has been started already")]
    AlreadyStarted,
    /// It is over.
    #[error("the run is over")]
    Over,
    /// It is paused.
    #[error("the run is paused; resume it first")]
    Paused,
    /// It is not paused.
    #[error("the run is not paused")]
    NotPaused,
    /// It is not over.
    #[error("the run is not over; `maestro workflow next` continues it, and only a run that is over is reopened")]
    NotOver,
    /// It stopped before any step that could be repeated.
    #[error("the run stopped before any step that could be repeated; start a new one")]
    NothingToRepeat,
    /// The ticket is not one that is waited for; these are.
    #[error("{}", awaited_tickets(.0))]
    Ticket(Vec<Ticket>),
    /// What the ticket names waits for something else.
    #[error("{0} waits for {1}")]
    NotAwaited(Ticket, AwaitedInput),
    /// The sub-agent has a run of its own, and that run decides its result.
    #[error(
        "this sub-agent has a run of `{0}`, which decides its result; start it with the given command, or report `fail`"
    )]
    HasOwnRun(String),
    /// The step cannot end with that; it can end with these.
    #[error("the step can end with {}", .0.iter().map(StepOutcome::as_str).collect::<Vec<_>>().join(", "))]
    Outcome(Vec<StepOutcome>),
    /// A value does not fit its name.
    #[error("`{name}`: {reason}")]
    Value {
        /// The name.
        name: String,
        /// Why.
        reason: InvalidValue,
    },
    /// An agent decides what only the user may.
    #[error("that is the user's decision: the user answers on the page or with `maestro session answer`")]
    UsersDecision,
    /// The result is not what was asked for.
    #[error("the result is not what was asked for: {0}")]
    Result(InvalidValue),
    /// Several mistakes in one report, so that they can be corrected together.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Several(Vec<InputRefusal>),
    /// The definition is not the one the run was started with.
    #[error("the run was started with another definition")]
    OtherDefinition,
}

impl InputRefusal {
    /// Refuses with all of them at once, if there are any.
    pub(super) fn none_of(refusals: Vec<Self>) -> Result<(), Self> {
        let alone = |refusal| match refusal {
            Self::Several(refusals) => refusals,
            one => vec![one],
        };
        let mut refusals: Vec<Self> = refusals.into_iter().flat_map(alone).collect();
        match refusals.len() {
            0 | 1 => refusals.pop().map_or(Ok(()), Err),
            _ => Err(Self::Several(refusals)),
        }
    }
}

fn awaited_tickets(current: &[Ticket]) -> String {
    if current.is_empty() {
        return "the run is not waiting for a report".to_owned();
    }
    let current: Vec<&str> = current.iter().map(Ticket::as_str).collect();
    format!("that ticket is not the current one; the run waits for {}", current.join(", "))
}
