//! The inputs of a run, and the reasons to refuse one.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::Ticket;
use crate::workflow::name::StepOutcome;
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
        /// When.
        now: i64,
    },
    /// The user answers.
    Answer {
        /// Which question.
        ticket: Ticket,
        /// What.
        answer: UserAnswer,
        /// When.
        now: i64,
    },
    /// A command is about to be started.
    Started {
        /// Which.
        ticket: Ticket,
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
    /// Pause the run.
    Pause,
    /// Resume it.
    Resume,
    /// Cancel it.
    Cancel,
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

/// What to do about a command with an unknown result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryChoice {
    /// Execute it again.
    Again,
    /// It is done.
    Done,
    /// End the run.
    Abort,
}

impl RecoveryChoice {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Again, Self::Done, Self::Abort];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Again => "again",
            Self::Done => "done",
            Self::Abort => "abort",
        }
    }
}

/// What something waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AwaitedInput {
    /// The report of an agent.
    Report,
    /// What the user says.
    Answer,
    /// The end of what is executed.
    Execution,
}

impl fmt::Display for AwaitedInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Report => "a report (`maestro workflow report`)",
            Self::Answer => "an answer (`maestro workflow answer`)",
            Self::Execution => "the end of what is executed (`maestro workflow next`)",
        })
    }
}

/// Why an input changes nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum InputRefusal {
    /// The run has not started.
    NotStarted,
    /// It has started already.
    AlreadyStarted,
    /// It is over.
    Over,
    /// It is paused.
    Paused,
    /// It is not paused.
    NotPaused,
    /// The ticket is not one that is waited for; these are.
    Ticket(Vec<Ticket>),
    /// What the ticket names waits for something else.
    NotAwaited(Ticket, AwaitedInput),
    /// The sub-agent has a run of its own, and that run decides its result.
    HasOwnRun(String),
    /// The step cannot end with that; it can end with these.
    Outcome(Vec<StepOutcome>),
    /// A value does not fit its name.
    Value {
        /// The name.
        name: String,
        /// Why.
        reason: InvalidValue,
    },
    /// The result is not what was asked for.
    Result(InvalidValue),
    /// The definition is not the one the run was started with.
    OtherDefinition,
}

impl fmt::Display for InputRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted => f.write_str("the run has not been started"),
            Self::AlreadyStarted => f.write_str("the run has been started already"),
            Self::Over => f.write_str("the run is over"),
            Self::Paused => f.write_str("the run is paused; resume it first"),
            Self::NotPaused => f.write_str("the run is not paused"),
            Self::Ticket(current) if current.is_empty() => f.write_str("the run is not waiting for a report"),
            Self::Ticket(current) => {
                let current: Vec<&str> = current.iter().map(Ticket::as_str).collect();
                write!(f, "that ticket is not the current one; the run waits for {}", current.join(", "))
            }
            Self::NotAwaited(ticket, wanted) => write!(f, "{ticket} waits for {wanted}"),
            Self::HasOwnRun(workflow) => write!(
                f,
                "this sub-agent has a run of `{workflow}`, which decides its result; start it with the \
                 given command, or report `fail`"
            ),
            Self::Outcome(possible) => {
                let possible: Vec<&str> = possible.iter().map(StepOutcome::as_str).collect();
                write!(f, "the step can end with {}", possible.join(", "))
            }
            Self::Value { name, reason } => write!(f, "`{name}`: {reason}"),
            Self::Result(reason) => write!(f, "the result is not what was asked for: {reason}"),
            Self::OtherDefinition => f.write_str("the run was started with another definition"),
        }
    }
}

impl std::error::Error for InputRefusal {}
