//! What can be typed? The command line as data; nothing is carried out here.

mod agents;
mod branches;
mod connect;
mod records;
mod server;
mod skills;
mod work;
mod workflow;

use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::output::help;
use crate::output::screen::ColorChoice;

pub(crate) use agents::{
    AttachArgs, DemoArgs, DoArgs, LoopArgs, LoopCommand, OrchestratorArgs, OrchestratorCommand, PermitArgs, ShowArgs,
    SpawnArgs, WorkArgs, WorkerArgs, WorkerCommand,
};
pub(crate) use branches::{BranchArgs, DiscardArgs};
pub(crate) use connect::{ConnectArgs, DisconnectArgs, HookArgs};
pub(crate) use records::{
    DbArgs, DbCommand, GenerateArgs, HandoffArgs, HandoffCommand, ManifestArgs, ManifestCommand, NewHandoffArgs,
    RolesArgs, RolesCommand, SuggestNameArgs, TrackFileArgs,
};
pub(crate) use server::{EventsArgs, UpArgs, UpdateArgs};
pub(crate) use skills::{
    DirArgs, PromptArgs, PromptFormat, SkillsArgs, SkillsCommand, SyncArgs, TaskArgs, TaskPromptArgs,
};
pub(crate) use workflow::{
    AnswerArgs, FormArgs, GraphFormat, QrStatus, ReportArgs as RunReportArgs, RunArgs, StartArgs, StepArgs,
    WorkflowArgs, WorkflowCommand,
};

pub(crate) use work::{
    BlockedArgs, CommandsArgs, CompleteArgs, ProjectArgs, ProjectCommand, QueueArgs, QueueCommand, ReportArgs,
    SaidArgs, SayArgs, SessionArgs, SessionCommand, SubtaskArgs, SubtaskCommand, TaskCommand, TaskCreateArgs,
    TaskGroup, TaskListArgs, TaskTreeArgs, TaskUpdateArgs,
};

/// Gives coding agents the right skills, and shows and keeps what they do.
#[derive(Debug, Parser)]
#[command(name = "maestro", version, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Options that every command takes.
#[derive(Debug, Args)]
pub(crate) struct Globals {
    /// Print JSON for programs instead of text for people
    #[arg(long, global = true, display_order = 100)]
    pub(crate) json: bool,
    /// Use colour: auto, always, never
    #[arg(long, global = true, display_order = 101, value_name = "WHEN", default_value = "auto")]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub(crate) color: ColorChoice,
    /// Set a setting for this command, for example `skills_validation=strict`
    #[arg(long, global = true, display_order = 102, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Speak to the server at this address
    #[arg(long, global = true, display_order = 103, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// The project meant, instead of the one this directory belongs to
    #[arg(long, global = true, display_order = 104, value_name = "ID")]
    pub(crate) project: Option<String>,
    /// Where everything is stored: a SQLite file or postgres://…
    #[arg(long, global = true, display_order = 105, value_name = "PLACE")]
    pub(crate) database: Option<String>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Set a project up: write its config file, copy its skill pack
    Init(InitArgs),
    /// Show what is wrong here, with file, line and help
    Doctor(DirArgs),
    /// List, read and explain skills
    #[command(visible_alias = "skill", subcommand_required = true, arg_required_else_help = true)]
    Skills(SkillsArgs),
    /// Print exactly what an agent would be told about a task
    Prompt(TaskPromptArgs),
    /// Work through a Markdown plan, task by task, until it is done
    Loop(Box<LoopArgs>),
    /// Show what a run changed on its branch
    Diff(BranchArgs),
    /// Merge a run's branch into the one that is checked out here, and remove it
    Merge(BranchArgs),
    /// Propose a run's branch as a pull request, with `gh` if it is installed
    Pr(BranchArgs),
    /// Remove a run's worktree and branch, with all that is on it
    Discard(DiscardArgs),
    /// Do one task as a plan's is done: in a worktree, checked, reviewed, committed
    Do(Box<DoArgs>),
    /// Watch agents work through a small plan in a repository of its own; needs no model
    Demo(DemoArgs),
    /// Find the next task of a Markdown plan
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Plan(PlanArgs),
    /// List, check, draw and simulate workflows
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Workflow(WorkflowArgs),
    /// Show what would be executed here, and allow it
    Trust(TrustArgs),
    /// List coding agents: which are installed, and how each is started
    Agents(AgentsArgs),
    /// Tell your coding tools of Maestro, in their own settings
    Connect(ConnectArgs),
    /// Take Maestro out of your coding tools' settings again
    Disconnect(DisconnectArgs),
    /// Start the server
    Up(UpArgs),
    /// Answer an editor or agent over the Model Context Protocol; it starts this itself
    Mcp,
    /// Tell how the work goes, and hear what changed
    Update(UpdateArgs),
    /// Show your tasks, their subtasks and what changed
    Info,
    /// Say that all your work is done
    Complete(CompleteArgs),
    /// Say that you cannot go on
    Blocked(BlockedArgs),
    /// List, finish and add subtasks of your task
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Subtask(SubtaskArgs),
    /// Say how it goes, in one of five ways
    Report(ReportArgs),
    /// An old name of `report progress`
    #[command(name = "update:progress", hide = true)]
    UpdateProgress(SaidArgs),
    /// An old name of `report complete`
    #[command(name = "update:complete", hide = true)]
    UpdateComplete(SaidArgs),
    /// An old name of `report blocked`
    #[command(name = "update:blocked", hide = true)]
    UpdateBlocked(SaidArgs),
    /// An old name of `report error`
    #[command(name = "update:error", hide = true)]
    UpdateError(SaidArgs),
    /// An old name of `report needs-input`
    #[command(name = "update:needs-input", hide = true)]
    UpdateNeedsInput(SaidArgs),
    /// List, make and change tasks
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Task(TaskGroup),
    /// Show and steer the sessions of agents
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Session(SessionArgs),
    /// Say something to an agent; it hears it with its next command
    Say(SayArgs),
    /// Show a session: its agent, what came of it, its skills, what it did
    Show(ShowArgs),
    /// Speak with a session's agent in the agent's own interface; when you leave, Maestro goes on
    Attach(AttachArgs),
    /// Start the agents that are asked for
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Worker(WorkerArgs),
    /// Start an orchestrator's agent
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Orchestrator(OrchestratorArgs),
    /// List, make and remove projects
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Project(ProjectArgs),
    /// Take the tasks of your session one after the other
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Queue(QueueArgs),
    /// Show how the project stands, in numbers
    Status,
    /// Show who you are here, and what you speak to
    Whoami,
    /// List the commands that you may use
    Commands(CommandsArgs),
    /// Show what happened, or follow it live
    Events(EventsArgs),
    /// List the roles, and see whether their skills are there
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Roles(RolesArgs),
    /// Pass work from one role to another
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Handoff(HandoffArgs),
    /// Write what a session starts with
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Manifest(ManifestArgs),
    /// Note that a file was changed; for hooks, silent and never failing
    TrackFile(TrackFileArgs),
    /// Hear what an agent's own session does, and answer with the skill that fits; for hooks, never failing
    Hook(HookArgs),
    /// Copy, bring back and check the database
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Db(DbArgs),
    /// Show the settings in force and where they come from
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Config(ConfigArgs),
    /// Print which Maestro this is
    Version,
    /// Print a completion script for your shell
    Completions(CompletionsArgs),
    /// Explain a command or a topic
    Help(HelpArgs),
}

/// Options of `maestro init`.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Also write the worker's skill to `.skills/maestro-worker`, for agents that Maestro does not start
    #[arg(long)]
    pub(crate) worker_skill: bool,
}

/// Options of `maestro agents`.
#[derive(Debug, Args)]
pub(crate) struct AgentsArgs {
    /// Everything about this one; without it, a list of all
    pub(crate) name: Option<String>,
    /// Start those that are installed, and see whether they answer within 20 seconds
    #[arg(long)]
    pub(crate) check: bool,
}

/// Options of `maestro plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(subcommand)]
    pub(crate) command: PlanCommand,
}

/// What to do with a plan.
#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// Print the next open task
    Next {
        /// The plan
        #[arg(value_name = "PLAN.md")]
        file: PathBuf,
    },
    /// List every task and its state
    List {
        /// The plan
        #[arg(value_name = "PLAN.md")]
        file: PathBuf,
    },
}

/// Options of `maestro config`.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every setting
    #[command(visible_alias = "list")]
    Show {
        /// Only this one
        key: Option<String>,
        /// Say where each value comes from
        #[arg(long)]
        origin: bool,
    },
    /// Write a setting into your own config file
    Set {
        /// Which one
        key: String,
        /// Its new value
        value: String,
    },
    /// Print one setting's value and nothing else
    Get {
        /// Which one
        key: String,
    },
}

/// Options of `maestro trust`.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Workflows to allow; without any, what is allowed and what is not
    #[arg(value_name = "WORKFLOW", conflicts_with = "revoke")]
    pub(crate) names: Vec<String>,
    /// Allow what this project's config would run: its checks, and the agents it describes
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) config: bool,
    /// Take back what was allowed, by its name or hash
    #[arg(long, value_name = "NAME|HASH")]
    pub(crate) revoke: Vec<String>,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// Options of `maestro completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Which shell
    pub(crate) shell: clap_complete::Shell,
}

/// Options of `maestro help`.
#[derive(Debug, Args)]
pub(crate) struct HelpArgs {
    /// A command, or `agent` for what agents and programs call
    pub(crate) topic: Vec<String>,
}

/// What came of the command line.
pub(crate) enum Typed {
    /// A command.
    Command(Box<Cli>),
    /// A wish for help or the version.
    Help(String),
    /// Something that cannot be understood.
    Wrong {
        /// Why, for people.
        text: String,
        /// Whether a program asked.
        json: bool,
    },
}

impl Typed {
    fn wrong(error: &clap::Error) -> Self {
        // What was typed could not be read, so this is as good as it gets.
        let json = std::env::args_os().any(|arg| arg == "--json");
        Self::Wrong { text: error.render().to_string(), json }
    }
}

impl Cli {
    /// The command line's grammar with the grouped help.
    pub(crate) fn grammar() -> clap::Command {
        let grammar = Self::command();
        let overview = help::overview(&grammar);
        grammar.override_help(overview)
    }

    /// Reads what was typed.
    pub(crate) fn from_command_line() -> Typed {
        let matches = match Self::grammar().try_get_matches() {
            Ok(matches) => matches,
            Err(error) if error.use_stderr() => return Typed::wrong(&error),
            Err(error) => return Typed::Help(error.render().to_string()),
        };
        match Self::from_arg_matches(&matches) {
            Ok(cli) => Typed::Command(Box::new(cli)),
            Err(error) => Typed::wrong(&error),
        }
    }
}
