//! Coding agents: the events they report, what they need to start, and the outcome of their work.

mod allowance;
mod bound;
mod chosen;
mod event;
mod lines;
mod outcome;
mod parse;
pub mod policy;
mod progress;
mod promise;
mod prompt;
mod session_outcome;
pub mod spawn;
mod table;
mod trouble;
mod usage;
mod worked;

pub use allowance::{Allowance, Gone, NoAllowance, UsedUp};
pub use bound::{MOST_TEXT, bounded};
pub use chosen::Chosen;
pub use event::{
    AgentEvent, Choice, ChoiceKind, Planned, PlannedStatus, Scope, Stop, Stream, ToolKind, ToolStatus, TroubleKind,
};
pub use lines::{Line, Lines, MOST_LINE};
pub use outcome::{CheckResult, Checked, Ending, Evidence, Expected, Outcome, Reported, outcome};
pub use parse::{Exit, Format, Parser, call_title, goose_said};
pub use progress::Progress;
pub use promise::{PROMISE, promised};
pub use prompt::{Briefing, PROMPT_MAX_CHARS, Prompt, PromptCut, Protocol, SkillText, Work, prompt, protocol};
pub use session_outcome::{SessionOutcome, SessionResult, SessionWork};
pub use table::{
    Agent, Agents, Conversation, Driver, Fill, Launch, Mistake, NoSuchAgent, Permission, PromptBy, Reporting,
};
pub use trouble::{Verdict, classify, trouble, verdict};
pub use usage::{Ledger, Spent};
pub use worked::Worked;
