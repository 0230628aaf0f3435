//! Coding agents: the events they report, what they need to start, and the outcome of their work.

mod agent_event;
mod agent_progress;
mod agent_table;
mod budget;
mod completion_promise;
mod event_limits;
mod failure;
mod launch_choice;
mod outage;
mod outcome;
mod output_lines;
mod parse;
pub mod policy;
mod prompt;
mod run_rights;
mod session_outcome;
pub mod spawn;
mod usage;
mod work_time;

pub use agent_event::{
    AgentEvent, FailureKind, PermissionChoice, PermissionChoiceKind, PlanEntry, PlanEntryStatus, Scope, StopReason,
    Stream, ToolKind, ToolStatus,
};
pub use agent_progress::WorkProgress;
pub use agent_table::{
    AgentCatalogue, CodingAgent, ConversationFlags, Driver, LaunchSpec, LaunchValues, Permission, PromptDelivery,
    ReportAbility, TableMistake, UnknownAgent,
};
pub use budget::{BudgetLimit, BudgetUsage, ExhaustedLimit, InvalidBudget, LimitGrant};
pub use completion_promise::{PROMISE, promises_completion};
pub use event_limits::{MOST_TEXT, limit_event};
pub use failure::{RetryDecision, classify_failure, decide_retry, failure_event};
pub use launch_choice::LaunchChoice;
pub use outage::next_try;
pub use outcome::{
    CheckResult, EndCause, Evidence, ExecutedCheck, ExpectedChange, FinalReport, SessionVerdict, judge_session,
};
pub use output_lines::{LineSplitter, MOST_LINE, OutputLine};
pub use parse::{AgentExit, Format, OutputParser, call_title, goose_said};
pub use prompt::{
    FIND_SKILLS, PROMPT_MAX_CHARS, PromptCut, PromptInput, ReportProtocol, SessionPrompt, SkillText, SubtaskBrief,
    TaskBrief, build_prompt, protocol_text,
};
pub use run_rights::{DEMO_AGENT, DemoAgentUse, RunRights};
pub use session_outcome::{SessionOutcome, SessionResult, SessionWork};
pub use usage::{TokenUsage, UsageLedger};
pub use work_time::WorkTime;
