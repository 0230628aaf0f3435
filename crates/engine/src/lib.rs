//! Engine: finds and pins definitions, executes their directives, and starts all processes.

pub mod agents;
mod blocking;
pub mod branches;
pub mod briefing;
pub mod caller_sockets;
pub mod checked_merge;
pub mod child;
pub mod command_workflow;
mod consent_refusals;
mod conventions;
pub mod daemon;
mod daemon_health;
pub mod drive;
pub mod execute;
pub mod git;
pub mod git_changes;
pub mod host;
pub mod identity;
pub mod instructions_workflow;
pub mod plan_files;
mod process;
pub mod pull_request;
pub mod runs;
pub mod sandbox;
pub mod sandbox_probe;
mod scratch;
pub mod sealed_copies;
pub mod sleep_inhibitor;
pub mod spawning;
pub mod step_sessions;
pub mod trust;
pub mod user_program;
pub mod worker;
pub mod workflow_lookup;
pub mod workflows;
pub mod worktrees;

pub use execute::{ExecutionEnv, ExecutionResult, Executor, Limits};
pub use host::{
    BareHost, CommitHooks, ExecutionHost, Freshness, GitPrograms, Host, HostError, ProjectSkills, SkillSight,
    TrustedCommands, WorkflowConsent, WorktreeFiles,
};
