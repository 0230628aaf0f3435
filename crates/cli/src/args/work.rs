//! What can be typed about work: tasks, sessions, projects, queues, and how it goes?

use std::path::PathBuf;

use clap::{Args, Subcommand};
use maestro_core::id::{BadId, Id, TaskId};
use maestro_core::report::ReportKind;
use maestro_core::task::{Priority, TaskStatus};

use super::agents::{PermitArgs, SpawnArgs};
use super::records::SuggestNameArgs;

/// Any id; all kinds have one grammar.
pub(super) fn id(text: &str) -> Result<String, BadId> {
    TaskId::parse(text).map(Into::into)
}

/// Options of `maestro complete`.
#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    /// What was accomplished
    pub(crate) message: Option<String>,
}

/// Options of `maestro blocked`.
#[derive(Debug, Args)]
pub(crate) struct BlockedArgs {
    /// Why it cannot go on
    pub(crate) reason: String,
}

/// Options of `maestro report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// progress, complete, blocked, error, needs-input
    pub(crate) kind: ReportKind,
    #[command(flatten)]
    pub(crate) said: SaidArgs,
}

/// Something a session says about its tasks.
#[derive(Debug, Args)]
pub(crate) struct SaidArgs {
    /// In a sentence
    pub(crate) message: String,
    /// About these tasks, separated by commas
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = id)]
    pub(crate) task: Vec<String>,
}

/// Options of `maestro subtask`.
#[derive(Debug, Args)]
pub(crate) struct SubtaskArgs {
    #[command(subcommand)]
    pub(crate) command: SubtaskCommand,
}

/// What to do with the subtasks of the own task.
#[derive(Debug, Subcommand)]
pub(crate) enum SubtaskCommand {
    /// List the subtasks of your task
    List,
    /// Say that a subtask is done
    Complete {
        /// The subtask
        #[arg(value_parser = id)]
        id: String,
    },
    /// Say that a subtask could not be done
    Fail {
        /// The subtask
        #[arg(value_parser = id)]
        id: String,
        /// Why
        reason: String,
    },
    /// Add a subtask to your task
    Create {
        /// What is to be done, in a line
        title: String,
        /// What is to be done, in full
        #[arg(long, short, visible_alias = "description", value_name = "TEXT")]
        desc: Option<String>,
    },
}

/// Options of `maestro task`.
#[derive(Debug, Args)]
pub(crate) struct TaskGroup {
    #[command(subcommand)]
    pub(crate) command: TaskCommand,
}

/// What to do with tasks.
#[derive(Debug, Subcommand)]
pub(crate) enum TaskCommand {
    /// List the open tasks of the project
    List(TaskListArgs),
    /// Show a task and its subtasks
    Get {
        /// The task; yours, unless you say
        #[arg(value_parser = id)]
        id: Option<String>,
    },
    /// Make a task, or with --parent a subtask
    Create(TaskCreateArgs),
    /// List the subtasks of a task
    Children {
        /// The task
        #[arg(value_parser = id)]
        id: String,
        /// With everything below them
        #[arg(long, short)]
        recursive: bool,
    },
    /// Change a task
    Update(TaskUpdateArgs),
    /// Say that work on a task begins
    Start {
        /// The task
        #[arg(value_parser = id)]
        id: String,
    },
    /// Say that a task is done
    Complete {
        /// The task
        #[arg(value_parser = id)]
        id: String,
    },
    /// Say that a task cannot go on
    Block {
        /// The task
        #[arg(value_parser = id)]
        id: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Remove a task; its subtasks move up
    Delete {
        /// The task
        #[arg(value_parser = id)]
        id: String,
        /// Remove its subtasks too
        #[arg(long)]
        cascade: bool,
    },
    /// Show all tasks as a tree
    Tree(TaskTreeArgs),
}

/// Options of `maestro task list`.
#[derive(Debug, Args)]
pub(crate) struct TaskListArgs {
    /// Only those below this task
    #[arg(value_parser = id)]
    pub(crate) id: Option<String>,
    /// Only those in this status
    #[arg(long)]
    pub(crate) status: Option<TaskStatus>,
    /// Only those of this priority
    #[arg(long)]
    pub(crate) priority: Option<Priority>,
    /// Also those that are completed, cancelled or archived
    #[arg(long)]
    pub(crate) all: bool,
}

/// Options of `maestro task create`.
#[derive(Debug, Args)]
pub(crate) struct TaskCreateArgs {
    /// What is to be done, in a line
    #[arg(required_unless_present = "title_option")]
    pub(crate) title: Option<String>,
    /// The same as an option
    #[arg(long = "title", short, id = "title_option", value_name = "TEXT", conflicts_with = "title")]
    pub(crate) title_option: Option<String>,
    /// What is to be done, in full
    #[arg(long, short, visible_alias = "description", value_name = "TEXT")]
    pub(crate) desc: Option<String>,
    /// low, medium, high, critical
    #[arg(long)]
    pub(crate) priority: Option<Priority>,
    /// The task it is a part of
    #[arg(long, value_name = "ID", value_parser = id)]
    pub(crate) parent: Option<String>,
}

/// Options of `maestro task update`.
#[derive(Debug, Args)]
pub(crate) struct TaskUpdateArgs {
    /// The task
    #[arg(value_parser = id)]
    pub(crate) id: String,
    /// todo, `in_progress`, `in_review`, blocked, completed, cancelled, archived
    #[arg(long, value_parser = status_word)]
    pub(crate) status: Option<String>,
    /// low, medium, high, critical
    #[arg(long)]
    pub(crate) priority: Option<Priority>,
    /// What is to be done, in a line
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// What is to be done, in full
    #[arg(long, visible_alias = "description", value_name = "TEXT")]
    pub(crate) desc: Option<String>,
    /// A line for the timeline
    #[arg(long, value_name = "TEXT")]
    pub(crate) message: Option<String>,
}

/// A status in any spelling, as it was typed: `failed` says more than the status it stands for.
fn status_word(text: &str) -> Result<String, maestro_core::task::UnknownWord> {
    text.parse::<TaskStatus>().map(|_| text.to_owned())
}

/// Options of `maestro task tree`.
#[derive(Debug, Args)]
pub(crate) struct TaskTreeArgs {
    /// Only this task and what is below it
    #[arg(long, value_name = "ID", value_parser = id)]
    pub(crate) root: Option<String>,
    /// How many levels to show
    #[arg(long, value_name = "LEVELS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) depth: Option<u32>,
    /// Only those in this status, with what is above them
    #[arg(long)]
    pub(crate) status: Option<TaskStatus>,
}

/// Options of `maestro session`.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    pub(crate) command: SessionCommand,
}

/// What to do with sessions.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Start an agent for a task
    Spawn(Box<SpawnArgs>),
    /// Show your own session
    Info,
    /// Show a session and its last words
    Get {
        /// The session
        #[arg(value_parser = id)]
        id: String,
    },
    /// List the sessions that have not ended
    List {
        /// Only those at work on this task
        #[arg(long, value_name = "ID", value_parser = id)]
        task: Option<String>,
        /// Also those that have ended
        #[arg(long)]
        all: bool,
    },
    /// Say that your session begins (for hooks: never fails)
    Register,
    /// Say that your session ends (for hooks: never fails)
    Complete,
    /// Say that your session waits for a person (for hooks: never fails)
    NeedsInput {
        /// What it asks
        message: Option<String>,
    },
    /// Say that your session goes on (for hooks: never fails)
    ResumeWorking,
    /// Show what agents ask before they do something, and answer it
    Answer(PermitArgs),
    /// Tell a session to wait
    Pause {
        /// The session
        #[arg(value_parser = id)]
        id: String,
    },
    /// Tell a session to go on
    Resume {
        /// The session
        #[arg(value_parser = id)]
        id: String,
    },
    /// Tell a session to end
    Cancel {
        /// The session
        #[arg(value_parser = id)]
        id: String,
    },
    /// Suggest names for a session that no living session has
    SuggestName(SuggestNameArgs),
    /// Give a session another name
    Rename {
        /// The session
        #[arg(value_parser = id)]
        id: String,
        /// Its new name
        name: String,
    },
}

/// Options of `maestro say`.
#[derive(Debug, Args)]
pub(crate) struct SayArgs {
    /// The session
    #[arg(value_parser = id)]
    pub(crate) id: String,
    /// What to say
    pub(crate) text: String,
}

/// Options of `maestro project`.
#[derive(Debug, Args)]
pub(crate) struct ProjectArgs {
    #[command(subcommand)]
    pub(crate) command: ProjectCommand,
}

/// What to do with projects.
#[derive(Debug, Subcommand)]
pub(crate) enum ProjectCommand {
    /// List all projects
    List,
    /// Show a project
    Get {
        /// The project
        #[arg(value_parser = id)]
        id: String,
    },
    /// Make a project of this directory
    Create {
        /// What people call it
        name: String,
        /// Its directory, instead of this one
        #[arg(long = "dir", short, visible_alias = "working-dir", value_name = "DIR")]
        dir: Option<PathBuf>,
        /// What it is about
        #[arg(long, visible_alias = "description", value_name = "TEXT")]
        desc: Option<String>,
    },
    /// Remove a project without tasks and sessions
    Delete {
        /// The project
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

/// What to do with the own queue.
#[derive(Debug, Subcommand)]
pub(crate) enum QueueCommand {
    /// Show the task whose turn it is
    Top,
    /// Begin the next task; wait for one if there is none
    Start {
        /// Look for a task every so many seconds
        #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
        poll_interval: u64,
        /// Wait so many minutes at most; 0 to not wait
        #[arg(long, value_name = "MINUTES", default_value_t = 30)]
        poll_timeout: u64,
    },
    /// Say that the task being worked on is done
    Complete,
    /// Say that the task being worked on could not be done
    Fail {
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Leave out the task being worked on, or the next one
    Skip,
    /// List the tasks of the queue
    List,
    /// Count the tasks of the queue
    Status,
    /// Put a task at the end of the queue
    Push {
        /// The task
        #[arg(value_name = "TASK", value_parser = id)]
        task: String,
        /// The session whose queue it is; yours, unless you say
        #[arg(long, value_name = "ID", value_parser = id)]
        session: Option<String>,
    },
}

/// Options of `maestro commands`.
#[derive(Debug, Args)]
pub(crate) struct CommandsArgs {
    /// Only say whether this one may be used; fails with 4 if not
    #[arg(long, value_name = "COMMAND")]
    pub(crate) check: Option<String>,
}
