//! The events of an agent: one enum for every agent, whatever protocol it uses.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::word_enum::words;

/// Something an agent did, named in the log as `agent:…`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "payload", rename_all_fields = "camelCase")]
pub enum AgentEvent {
    /// It began, and said who it is.
    #[serde(rename = "agent:began")]
    Began {
        /// What it calls its own session: by this it is resumed.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        agent_session: Option<String>,
        /// The model it asks.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        model: Option<String>,
        /// Its version.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        version: Option<String>,
    },
    /// It said something. A text that comes in pieces is several of these, to be read as one.
    #[serde(rename = "agent:said")]
    Said {
        /// The words.
        text: String,
    },
    /// It thought something.
    #[serde(rename = "agent:thought")]
    Thought {
        /// The words.
        text: String,
    },
    /// It called a tool. The same id again adds details to the same call.
    #[serde(rename = "agent:tool_started", alias = "agent:tool_began")]
    ToolBegan {
        /// The call.
        id: String,
        /// The tool, as the agent calls it.
        name: String,
        /// The call in a line, for people.
        title: String,
        /// What kind of thing it does.
        kind: ToolKind,
        /// What it was called with.
        input: Json,
    },
    /// The tool answered.
    #[serde(rename = "agent:tool_ended")]
    ToolEnded {
        /// The call.
        id: String,
        /// How it went.
        status: ToolStatus,
        /// What it answered.
        output: String,
    },
    /// It changed a file, as it says itself. The worktree shows what really changed.
    #[serde(rename = "agent:changed")]
    Changed {
        /// The file.
        path: String,
        /// Lines added, where the agent reports them.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        added: Option<u64>,
        /// Lines removed, where the agent reports them.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        removed: Option<u64>,
        /// The change itself.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        diff: Option<String>,
    },
    /// It spent tokens; what is not reported is absent, never zero.
    #[serde(rename = "agent:usage")]
    Usage {
        /// Whether this is added to what was spent before, or is all of it.
        scope: Scope,
        /// Tokens sent to the model, those from a cache among them.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        input: Option<u64>,
        /// Tokens that came back, thoughts among them.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        output: Option<u64>,
        /// Tokens sent that came from a cache.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        cached: Option<u64>,
        /// Tokens that came back as thoughts.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        reasoning: Option<u64>,
        /// What it cost in dollars, as the agent reckons.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        cost_usd: Option<f64>,
    },
    /// How full its context is. That is no spending, and is never summed.
    #[serde(rename = "agent:context")]
    Context {
        /// Tokens in it.
        used: u64,
        /// Tokens that fit.
        size: u64,
    },
    /// It made or changed its plan; this is the whole of it.
    #[serde(rename = "agent:planned")]
    Planned {
        /// Its parts, in order.
        entries: Vec<PlanEntry>,
    },
    /// It asks whether it may do something, and waits.
    #[serde(rename = "agent:asked")]
    Asked {
        /// The question.
        id: String,
        /// What it wants to do, in a line.
        title: String,
        /// What exactly.
        detail: String,
        /// The call of a tool that it is about, where the agent names it.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        call: Option<String>,
        /// What can be answered.
        options: Vec<PermissionChoice>,
    },
    /// It got an answer.
    #[serde(rename = "agent:answered")]
    Answered {
        /// The question.
        id: String,
        /// The answer.
        kind: PermissionChoiceKind,
    },
    /// Something went wrong.
    #[serde(rename = "agent:trouble")]
    Trouble {
        /// What kind of thing.
        kind: FailureKind,
        /// The status with which the model's server answered.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        status: Option<u16>,
        /// What the agent says of it.
        message: String,
        /// How long to wait before the next try, where the agent says so.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        retry_after_ms: Option<u64>,
    },
    /// It tries again by itself.
    #[serde(rename = "agent:retrying")]
    Retrying {
        /// Which attempt comes.
        attempt: u32,
        /// How many there will be.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        most: Option<u32>,
        /// How long it waits before.
        delay_ms: u64,
        /// The status with which the model's server answered.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        status: Option<u16>,
    },
    /// It printed something that is none of the above.
    #[serde(rename = "agent:printed")]
    Printed {
        /// Where.
        stream: Stream,
        /// What.
        text: String,
    },
    /// Some of its output was left out.
    #[serde(rename = "agent:cut")]
    Cut {
        /// How much.
        bytes: u64,
    },
    /// It came to the end of a turn, or of its life.
    #[serde(rename = "agent:ended")]
    Ended {
        /// How, as it says itself; the outcome of its work is decided elsewhere.
        stop: StopReason,
        /// Its last words.
        #[serde(skip_serializing_if = "Option::is_none", default)]
        text: Option<String>,
    },
}

/// How a turn, or an agent's life, came to its end. No stop says whether the work is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum StopReason {
    /// The agent had nothing more to say.
    EndTurn,
    /// It was canceled.
    Cancelled,
    /// It took as many turns, or as many tokens, as it may.
    MaxTurns,
    /// The model refused.
    Refused,
    /// It says that something went wrong.
    Error,
    /// Its process ended by itself.
    Exited {
        /// With this code.
        code: i32,
    },
    /// Its process was ended.
    Killed {
        /// By this signal.
        signal: i32,
    },
}

/// A part of an agent's plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanEntry {
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub status: PlanEntryStatus,
}

/// Something that a question can be answered with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionChoice {
    /// What the agent calls it.
    pub id: String,
    /// What people read.
    pub name: String,
    /// What it means; answers are chosen by this, since each agent has ids of its own.
    pub kind: PermissionChoiceKind,
}

words! {
    /// What kind of thing a tool does.
    pub enum ToolKind {
        /// Looks at files.
        Read = "read",
        /// Changes files.
        Edit = "edit",
        /// Runs programs.
        Execute = "execute",
        /// Looks for something.
        Search = "search",
        /// Gets something from elsewhere.
        Fetch = "fetch",
        /// Calls an MCP server.
        Mcp = "mcp",
        /// Anything else.
        Other = "other",
    }

    /// How a call of a tool went.
    pub enum ToolStatus {
        /// It answered.
        Ok = "ok",
        /// It failed.
        Failed = "failed",
        /// It was not allowed.
        Denied = "denied",
    }

    /// How far a part of a plan is.
    pub enum PlanEntryStatus {
        /// It is still to be done.
        Pending = "pending",
        /// It is under way.
        InProgress = "in_progress",
        /// It is done.
        Completed = "completed",
    }

    /// What a number of tokens stands for.
    pub enum Scope {
        /// What was spent since the last such event, by whichever process; it is added.
        Turn = "turn",
        /// All that the agent's own session ever spent, also before it was resumed; it replaces.
        Session = "session",
    }

    /// What an answer to a question means.
    pub enum PermissionChoiceKind {
        /// Yes, this time.
        AllowOnce = "allow_once",
        /// Yes, and do not ask again.
        AllowAlways = "allow_always",
        /// No, this time.
        RejectOnce = "reject_once",
        /// No, and do not ask again.
        RejectAlways = "reject_always",
    }
}

impl PermissionChoiceKind {
    /// Whether it is a yes.
    pub fn allows(self) -> bool {
        matches!(self, Self::AllowOnce | Self::AllowAlways)
    }
}

words! {
    /// Where an agent printed something.
    pub enum Stream {
        /// Its standard output.
        Out = "out",
        /// Its standard error.
        Err = "err",
    }

    /// What kind of thing went wrong.
    pub enum FailureKind {
        /// The model's server does not know the user, or the user may not.
        Auth = "auth",
        /// There is no such model.
        MissingModel = "missing_model",
        /// Too much was asked in too short a time, or a quota is used up.
        RateLimit = "rate_limit",
        /// The model's server cannot answer for now.
        Overloaded = "overloaded",
        /// More was said than the model can take in.
        ContextOverflow = "context_overflow",
        /// The model's server could not be reached.
        Network = "network",
        /// A tool was not allowed.
        Denied = "denied",
        /// What came cannot be understood.
        Malformed = "malformed",
        /// Anything else.
        Other = "other",
    }
}
