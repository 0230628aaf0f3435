//! Arguments for tasks, sessions, projects, queues and reports.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use maestro_core::id::{EntityId, InvalidId, TaskId};
use maestro_core::report::ReportKind;
use maestro_core::task::{TaskPriority, TaskStatus};

use super::agents::{PermitArgs, SpawnArgs};
use super::free_text::free_text;
use super::records::SuggestNameArgs;

/// Any id; all kinds have one grammar.
pub(super) fn id(text: &str) -> Result<String, InvalidId> {
    TaskId::parse(text).map(Into::into)
}

/// Options of `maestro complete`.
#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    /// Summary of the finished work
    #[arg(value_parser = free_text, allow_hyphen_values = true)]
    pub(crate) message: Option<String>,
}

/// Options of `maestro blocked`.
#[derive(Debug, Args)]
pub(crate) struct BlockedArgs {
    /// Reason you cannot continue
    #[arg(value_parser = free_text, allow_hyphen_values = true)]
    pub(crate) reason: String,
}

/// Options of `maestro report`.
#[derive(Debug, Args)]
pub(crate) struct ProgressReportArgs {
    /// Kind: progress, complete, blocked, error, needs-input
    pub(crate) kind: ReportKind,
    #[command(flatten)]
    pub(crate) said: WorkReportArgs,
}

/// A session's report on its tasks.
#[derive(Debug, Args)]
pub(crate) struct WorkReportArgs {
    /// Message, in one sentence
    #[arg(value_parser = free_text, allow_hyphen_values = true)]
    pub(crate) message: String,
    /// Only about these tasks, separated by commas
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = id)]
    pub(crate) task: Vec<String>,
}

/// Options of `maestro subtask`.
#[derive(Debug, Args)]
pub(crate) struct SubtaskGroup {
    #[command(subcommand)]
    pub(crate) command: SubtaskCommand,
}

/// Subcommands of `maestro subtask`.
#[derive(Debug, Subcommand)]
pub(crate) enum SubtaskCommand {
    /// List the subtasks of your task
    List,
    /// Mark a subtask as done
    Complete {
        /// Subtask ID
        #[arg(value_parser = id)]
        id: String,
    },
    /// Mark a subtask as failed
    Fail {
        /// Subtask ID
        #[arg(value_parser = id)]
        id: String,
        /// Reason
        #[arg(value_parser = free_text, allow_hyphen_values = true)]
        reason: String,
    },
    /// Add a subtask to your task
    Create {
        /// Title, in one line
        #[arg(value_parser = free_text, allow_hyphen_values = true)]
        title: String,
        /// Full description
        #[arg(long, short, visible_alias = "description", value_name = "TEXT", value_parser = free_text, allow_hyphen_values = true)]
        desc: Option<String>,
    },
}

/// Options of `maestro task`.
#[derive(Debug, Args)]
pub(crate) struct TaskGroup {
    #[command(subcommand)]
    pub(crate) command: TaskCommand,
}

/// Subcommands of `maestro task`.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// List the open tasks of the project
    List(TaskListArgs),
    /// Show a task and its subtasks
    Get {
        /// Task ID; default: your own task
        #[arg(value_parser = id)]
        id: Option<String>,
    },
    /// Create a task, or with --parent a subtask
    Create(TaskCreateArgs),
    /// List the subtasks of a task
    Children {
        /// Task ID
        #[arg(value_parser = id)]
        id: String,
        /// Include all levels below
        #[arg(long, short)]
        recursive: bool,
    },
    /// Change a task
    Update(TaskUpdateArgs),
    /// Mark a task as in progress
    Start {
        /// Task ID
        #[arg(value_parser = id)]
        id: String,
    },
    /// Mark a task as done
    Complete {
        /// Task ID
        #[arg(value_parser = id)]
        id: String,
    },
    /// Mark a task as blocked
    Block {
        /// Task ID
        #[arg(value_parser = id)]
        id: String,
        /// Reason
        #[arg(long, value_name = "TEXT", value_parser = free_text, allow_hyphen_values = true)]
        reason: String,
    },
    /// Delete a task; its subtasks move up one level
    Delete {
        /// Task ID
        #[arg(value_parser = id)]
        id: String,
        /// Delete its subtasks too
        #[arg(long)]
        cascade: bool,
    },
    /// Show all tasks as a tree
    Tree(TaskTreeArgs),
}

/// Options of `maestro task list`.
#[derive(Debug, Args)]
pub(crate) struct TaskListArgs {
    /// Only tasks below this one
    #[arg(value_parser = id)]
    pub(crate) id: Option<String>,
    /// Only tasks with this status
    #[arg(long)]
    pub(crate) status: Option<TaskStatus>,
    /// Only tasks with this priority
    #[arg(long)]
    pub(crate) priority: Option<TaskPriority>,
    /// Include completed, cancelled and archived tasks
    #[arg(long)]
    pub(crate) all: bool,
}

/// Options of `maestro task create`.
#[derive(Debug, Args)]
pub(crate) struct TaskCreateArgs {
    /// Title, in one line
    #[arg(required_unless_present = "title_option", value_parser = free_text, allow_hyphen_values = true)]
    pub(crate) title: Option<String>,
    /// Title, as an option
    #[arg(long = "title", short, id = "title_option", value_name = "TEXT", conflicts_with = "title", value_parser = free_text, allow_hyphen_values = true)]
    pub(crate) title_option: Option<String>,
    /// Full description
    #[arg(long, short, visible_alias = "description", value_name = "TEXT", value_parser = free_text, allow_hyphen_values = true)]
    pub(crate) desc: Option<String>,
    /// Priority: low, medium, high, critical
    #[arg(long)]
    pub(crate) priority: Option<TaskPriority>,
    /// Parent task
    #[arg(long, value_name = "ID", value_parser = id)]
    pub(crate) parent: Option<String>,
}

/// Options of `maestro task update`.
#[derive(Debug, Args)]
pub(crate) struct TaskUpdateArgs {
    /// Task ID
    #[arg(value_parser = id)]
    pub(crate) id: String,
    /// New status: todo, `in_progress`, `in_review`, blocked, completed, cancelled, archived
    #[arg(long, value_parser = status_word)]
    pub(crate) status: Option<String>,
    /// New priority: low, medium, high, critical
    #[arg(long)]
    pub(crate) priority: Option<TaskPriority>,
    /// New title, in one line
    #[arg(long, value_name = "TEXT", value_parser = free_text, allow_hyphen_values = true)]
    pub(crate) title: Option<String>,
    /// New description
    #[arg(long, visible_alias = "description", value_name = "TEXT", value_parser = free_text, allow_hyphen_values = true)]
    pub(crate) desc: Option<String>,
    /// Add a line to the timeline
    #[arg(long, value_name = "TEXT", value_parser = free_text, allow_hyphen_values = true)]
    pub(crate) message: Option<String>,
}

/// A status in any spelling, as typed: `failed` says more than the status it stands for.
fn status_word(text: &str) -> Result<String, maestro_core::closest_word::UnknownWord> {
    text.parse::<TaskStatus>().map(|_| text.to_owned())
}

/// Options of `maestro task tree`.
#[derive(Debug, Args)]
pub(crate) struct TaskTreeArgs {
    /// Only this task and those below it
    #[arg(long, value_name = "ID", value_parser = id)]
    pub(crate) root: Option<String>,
    /// Show up to this many levels
    #[arg(long, value_name = "LEVELS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) depth: Option<u32>,
    /// Only tasks with this status, and their parents
    #[arg(long)]
    pub(crate) status: Option<TaskStatus>,
}

/// Options of `maestro session`.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    pub(crate) command: SessionCommand,
}

/// Subcommands of `maestro session`.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Start an agent for a task
    Spawn(Box<SpawnArgs>),
    /// Show your own session
    Info,
    /// Show a session and its latest messages
    Get {
        /// Session ID
        #[arg(value_parser = id)]
        id: String,
    },
    /// List the sessions that have not ended
    List {
        /// Only sessions working on this task
        #[arg(long, value_name = "ID", value_parser = id)]
        task: Option<String>,
        /// Include sessions that have ended
        #[arg(long)]
        all: bool,
    },
    /// Report that your session started (for hooks: never fails)
    Register(RegisterArgs),
    /// Report that your session ended (for hooks: never fails)
    Complete,
    /// Report that your session waits for a person (for hooks: never fails)
    NeedsInput {
        /// Question it waits on
        #[arg(value_parser = free_text, allow_hyphen_values = true)]
        message: Option<String>,
    },
    /// Report that your session is working again (for hooks: never fails)
    ResumeWorking,
    /// List and answer the questions agents ask before they act
    Answer(PermitArgs),
    /// Pause a session
    Pause {
        /// Session ID
        #[arg(value_parser = id)]
        id: String,
    },
    /// Resume a session
    Resume {
        /// Session ID
        #[arg(value_parser = id)]
        id: String,
    },
    /// Cancel a session
    Cancel {
        /// Session ID
        #[arg(value_parser = id)]
        id: String,
    },
    /// Suggest session names that are not in use
    SuggestName(SuggestNameArgs),
    /// Rename a session
    Rename {
        /// Session ID
        #[arg(value_parser = id)]
        id: String,
        /// New name
        #[arg(value_parser = free_text, allow_hyphen_values = true)]
        name: String,
    },
}

/// Options of `maestro session register`.
#[derive(Debug, Args)]
pub(crate) struct RegisterArgs {
    /// Start a new session if none is set
    #[arg(long)]
    pub(crate) new: bool,
    /// Start only one new session for this key
    #[arg(long, value_name = "KEY", requires = "new", value_parser = free_text)]
    pub(crate) key: Option<String>,
}

/// Options of `maestro say`.
#[derive(Debug, Args)]
pub(crate) struct SayArgs {
    /// Session or run ID
    #[arg(value_parser = id)]
    pub(crate) id: String,
    /// Message to send
    #[arg(value_parser = free_text, allow_hyphen_values = true)]
    pub(crate) text: String,
    /// Send it to the agent of the run's next step instead of the one at work
    #[arg(long)]
    pub(crate) after_step: bool,
}

/// Options of `maestro project`.
#[derive(Debug, Args)]
pub(crate) struct ProjectArgs {
    #[command(subcommand)]
    pub(crate) command: ProjectCommand,
}

/// Subcommands of `maestro project`.
#[derive(Debug, Subcommand)]
pub(crate) enum ProjectCommand {
    /// List all projects
    List,
    /// Show a project
    Get {
        /// Project ID
        #[arg(value_parser = id)]
        id: String,
    },
    /// Create a project for this directory
    Create {
        /// Project name
        name: String,
        /// Use this directory instead of the current one
        #[arg(long = "dir", short, visible_alias = "working-dir", value_name = "DIR")]
        dir: Option<PathBuf>,
        /// Description
        #[arg(long, visible_alias = "description", value_name = "TEXT", value_parser = free_text, allow_hyphen_values = true)]
        desc: Option<String>,
    },
    /// Delete a project that has no tasks and sessions
    Delete {
        /// Project ID
        #[arg(value_parser = id)]
        id: String,
    },
}

/// Options of `maestro queue`.
#[derive(Debug, Args)]
pub(crate) struct QueueArgs {
    #[command(subcommand)]
    pub(crate) command: QueueCommand,
}

/// Subcommands of `maestro queue`.
#[derive(Debug, Subcommand)]
pub(crate) enum QueueCommand {
    /// Show the next task in the queue
    Top,
    /// Start the next task; wait for one if the queue is empty
    Start {
        /// Check for a task every N seconds
        #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
        poll_interval: u64,
        /// Wait up to N minutes; 0 does not wait
        #[arg(long, value_name = "MINUTES", default_value_t = 30)]
        poll_timeout: u64,
    },
    /// Mark the current task as done
    Complete,
    /// Mark the current task as failed
    Fail {
        /// Reason
        #[arg(long, value_name = "TEXT", value_parser = free_text, allow_hyphen_values = true)]
        reason: Option<String>,
    },
    /// Skip the current task, or the next one
    Skip,
    /// List the tasks in the queue
    List,
    /// Count the tasks in the queue by status
    Status,
    /// Add a task to the end of the queue
    Push {
        /// Task ID
        #[arg(value_name = "TASK", value_parser = id)]
        task: String,
        /// Use this session's queue instead of your own
        #[arg(long, value_name = "ID", value_parser = id)]
        session: Option<String>,
    },
}

/// Options of `maestro commands`.
#[derive(Debug, Args)]
pub(crate) struct CommandsArgs {
    /// Only check whether this command is allowed; exit with 4 if not
    #[arg(long, value_name = "COMMAND")]
    pub(crate) check: Option<String>,
}
