//! The command line as data; nothing is executed here.

mod agents;
mod branches;
mod connect;
mod free_text;
mod plan;
mod project_switch;
mod records;
mod server;
mod setup;
mod skills;
mod usage;
mod work;
mod workflow;

use std::ffi::OsString;
use std::mem::ManuallyDrop;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::output::error::CommandError;
use crate::output::help;
use crate::output::screen::ColorChoice;

pub(crate) use agents::{
    AttachArgs, DemoArgs, DoArgs, LoopArgs, LoopCommand, OrchestratorArgs, OrchestratorCommand, PermitArgs, ShowArgs,
    SpawnArgs, WorkArgs, WorkerArgs, WorkerCommand,
};
pub(crate) use branches::{BranchArgs, DiscardArgs, MergeArgs, ReviseArgs, ShareArgs};
pub(crate) use connect::{ConnectArgs, DisconnectArgs, HookArgs};
pub(crate) use plan::{PlanArgs, PlanCommand, PlanNewArgs, PlanRecipe};
pub(crate) use records::{
    DbArgs, DbCommand, GenerateArgs, HandoffArgs, HandoffCommand, ManifestArgs, ManifestCommand, NewHandoffArgs,
    PruneArgs, RolesArgs, RolesCommand, SuggestNameArgs, TrackFileArgs,
};
pub(crate) use server::{AuthArg, EventsArgs, McpArgs, TokenArgs, TokenCommand, UpArgs, UpdateArgs};
pub(crate) use setup::{ImportArgs, ImportSource, InitArgs, UninstallArgs, UpgradeArgs};
pub(crate) use skills::{
    DirArgs, PromptArgs, PromptFormat, SkillAddArgs, SkillNewArgs, SkillTaskArgs, SkillTryArgs, SkillsArgs,
    SkillsCommand, SyncArgs, TaskPromptArgs,
};
pub(crate) use workflow::{
    GraphFormat, QrStatus, RenderArgs, WorkflowAnswerArgs, WorkflowArgs, WorkflowCommand, WorkflowNewArgs,
    WorkflowReopenArgs, WorkflowReportArgs as RunReportArgs, WorkflowRunArgs, WorkflowStartArgs, WorkflowStepArgs,
};

pub(crate) use work::{
    BlockedArgs, CommandsArgs, CompleteArgs, ProgressReportArgs, ProjectArgs, ProjectCommand, QueueArgs, QueueCommand,
    RegisterArgs, SayArgs, SessionArgs, SessionCommand, SubtaskCommand, SubtaskGroup, TaskCommand, TaskCreateArgs,
    TaskGroup, TaskListArgs, TaskTreeArgs, TaskUpdateArgs, WorkReportArgs,
};

/// Give coding agents the right skills, run them, and record what they do.
#[derive(Debug, Parser)]
#[command(name = "maestro", version, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
}

/// Options that every command takes.
#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Print JSON for programs instead of text for people
    #[arg(long, global = true, display_order = 100)]
    pub(crate) json: bool,
    /// Use color: auto, always, never
    #[arg(long, global = true, display_order = 101, value_name = "WHEN", default_value = "auto")]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub(crate) color: ColorChoice,
    /// Override a setting for this command, for example `skills_validation=strict`
    #[arg(long, global = true, display_order = 102, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Use the server at this address
    #[arg(long, global = true, display_order = 103, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Use this project instead of the one this directory belongs to
    #[arg(long, global = true, display_order = 104, value_name = "ID")]
    pub(crate) project: Option<String>,
    /// Use this database: a SQLite file or postgres://…
    #[arg(long, global = true, display_order = 105, value_name = "PLACE")]
    pub(crate) database: Option<String>,
}

/// Subcommands of `maestro`.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Look at a project, propose what fits it, and set it up after one yes
    Init(InitArgs),
    /// Bring along what earlier systems left: tasks, settings, skills, workflows
    Import(ImportArgs),
    /// Check the setup and show problems with file, line and hint
    Doctor(DirArgs),
    /// List, read, add and explain skills
    #[command(visible_alias = "skill", subcommand_required = true, arg_required_else_help = true)]
    Skills(SkillsArgs),
    /// Print the exact prompt an agent would receive for a task
    Prompt(TaskPromptArgs),
    /// Work through a Markdown plan, task by task, until it is done
    Loop(Box<LoopArgs>),
    /// Show what a run changed on its branch
    Diff(BranchArgs),
    /// Merge a run's branch into the checked-out one and remove it
    Merge(MergeArgs),
    /// Have an agent change the work of a run that is ready or stopped
    Revise(Box<ReviseArgs>),
    /// Open a pull request for a run's branch, with `gh` if it is installed
    Pr(BranchArgs),
    /// Delete a run's worktree and branch
    Discard(DiscardArgs),
    /// Write a copy of a run for others: one HTML file, secrets masked
    Share(ShareArgs),
    /// Run one task: worktree, checks, review, commit
    Do(Box<DoArgs>),
    /// Watch agents work through a small plan in a demo repository; needs no model
    Demo(DemoArgs),
    /// Write a Markdown plan, and show the tasks of one
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Plan(PlanArgs),
    /// List, check, draw, simulate and run workflows
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Workflow(WorkflowArgs),
    /// Show what this project would execute, and allow it
    Trust(TrustArgs),
    /// List coding agents, whether they are installed, and their commands
    Agents(AgentsArgs),
    /// Add Maestro to your coding tools' settings
    Connect(ConnectArgs),
    /// Remove Maestro from your coding tools' settings
    Disconnect(DisconnectArgs),
    /// Start the server
    Up(UpArgs),
    /// Open the page in a browser, signed in
    Open,
    /// Create, list and revoke tokens for programs that call the server
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Token(TokenArgs),
    /// Run the MCP server over stdio (your editor starts it)
    Mcp(McpArgs),
    /// Report progress and receive updates
    Update(UpdateArgs),
    /// Show your tasks, their subtasks and what changed
    Info,
    /// Report that all your work is done
    Complete(CompleteArgs),
    /// Report that you cannot continue
    Blocked(BlockedArgs),
    /// List, complete and add subtasks of your task
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Subtask(SubtaskGroup),
    /// Send a report of one of five kinds
    Report(ProgressReportArgs),
    /// Old name of `report progress`
    #[command(name = "update:progress", hide = true)]
    UpdateProgress(WorkReportArgs),
    /// Old name of `report complete`
    #[command(name = "update:complete", hide = true)]
    UpdateComplete(WorkReportArgs),
    /// Old name of `report blocked`
    #[command(name = "update:blocked", hide = true)]
    UpdateBlocked(WorkReportArgs),
    /// Old name of `report error`
    #[command(name = "update:error", hide = true)]
    UpdateError(WorkReportArgs),
    /// Old name of `report needs-input`
    #[command(name = "update:needs-input", hide = true)]
    UpdateNeedsInput(WorkReportArgs),
    /// List, create and change tasks
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Task(TaskGroup),
    /// Show, start and control sessions
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Session(SessionArgs),
    /// Send a message to an agent; it arrives with its next command
    Say(SayArgs),
    /// Show a session (agent, result, skills, transcript) or a run
    Show(ShowArgs),
    /// Open a session in the agent's own interface; Maestro continues when you leave
    Attach(AttachArgs),
    /// Run a worker that starts queued agents
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Worker(WorkerArgs),
    /// Start the agent of an orchestrator
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Orchestrator(OrchestratorArgs),
    /// List, create and delete projects
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Project(ProjectArgs),
    /// Work through the task queue of your session
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Queue(QueueArgs),
    /// Show the numbers of the project
    Status,
    /// Show your role, session and server
    Whoami,
    /// List the commands you may use
    Commands(CommandsArgs),
    /// Show past events, or follow them live
    Events(EventsArgs),
    /// List roles and check that their skills exist
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Roles(RolesArgs),
    /// Hand work from one role to another
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Handoff(HandoffArgs),
    /// Write the manifest of a session
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Manifest(ManifestArgs),
    /// Record that a file changed; for hooks: prints nothing, never fails
    TrackFile(TrackFileArgs),
    /// Record what a session does and suggest the skill that fits; for hooks: never fails
    Hook(HookArgs),
    /// Back up, restore and check the database
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Db(DbArgs),
    /// Show and change settings
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Config(ConfigArgs),
    /// Print the version
    Version,
    /// Show how to get a newer version
    Upgrade(UpgradeArgs),
    /// Remove Maestro's data, settings entries, branches and worktrees, after showing them
    Uninstall(UninstallArgs),
    /// Print a completion script for your shell
    Completions(CompletionsArgs),
    /// Show help for a command or topic
    Help(HelpArgs),
}

/// Options of `maestro agents`.
#[derive(Debug, Args)]
pub(crate) struct AgentsArgs {
    /// Show everything about this agent; default: list all
    pub(crate) name: Option<String>,
    /// Start the installed agents and check that they answer within 20 seconds
    #[arg(long)]
    pub(crate) check: bool,
}

/// Options of `maestro config`.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) command: ConfigCommand,
}

/// Subcommands of `maestro config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every setting
    #[command(visible_alias = "list")]
    Show {
        /// Only this setting
        key: Option<String>,
        /// Show where each value comes from
        #[arg(long)]
        origin: bool,
    },
    /// Write a setting to your own config file, or to the project's
    Set {
        /// Setting
        key: String,
        /// New value
        #[arg(allow_negative_numbers = true)]
        value: String,
        /// Write to the project's `.maestro/config.toml` instead (also `--project`)
        #[arg(long)]
        in_project: bool,
    },
    /// Print the value of one setting
    Get {
        /// Setting
        key: String,
    },
}

/// Options of `maestro trust`.
#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Workflows to allow; default: list what is allowed and what is not
    #[arg(value_name = "WORKFLOW", conflicts_with = "revoke")]
    pub(crate) names: Vec<String>,
    /// Allow what this project's config would run: its checks and the agents it defines
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) config: bool,
    /// Revoke what was allowed, by name or hash
    #[arg(long, value_name = "NAME|HASH")]
    pub(crate) revoke: Vec<String>,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// Options of `maestro completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell
    pub(crate) shell: clap_complete::Shell,
}

/// Options of `maestro help`.
#[derive(Debug, Args)]
pub(crate) struct HelpArgs {
    /// Command, `guide` and a guide's name, or `agent` for the commands of agents and programs
    pub(crate) topic: Vec<String>,
}

/// The arguments of this process, as the grammar takes them.
fn arguments() -> Vec<OsString> {
    project_switch::rename(free_text::hide_dashes(std::env::args_os()))
}

/// Parsed command line.
pub(crate) enum ParsedArgs {
    /// A command.
    Command(Box<Cli>),
    /// A request for help or the version.
    Help(String),
    /// An invalid command line.
    Wrong {
        /// What is wrong, and what to type instead.
        error: Box<CommandError>,
        /// The help of a command that lacks a subcommand, for people.
        help: Option<String>,
        /// Whether `--json` was given.
        json: bool,
    },
}

impl ParsedArgs {
    fn usage_error(error: &clap::Error) -> Self {
        let shown: Vec<OsString> =
            arguments().iter().map(|word| free_text::show_dashes(&word.to_string_lossy()).into()).collect();
        // The arguments could not be parsed, so look for the flag itself.
        let json = shown.iter().any(|word| word == "--json");
        let lacks_command = error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        let help = lacks_command.then(|| error.render().to_string());
        Self::Wrong { error: Box::new(usage::explain(error, &Cli::grammar(), &shown)), help, json }
    }
}

impl Cli {
    /// The command line's grammar with the grouped help.
    pub(crate) fn grammar() -> clap::Command {
        let grammar = Self::command();
        let overview = help::overview(&grammar);
        grammar.override_help(overview)
    }

    /// Parses the arguments of this process.
    pub(crate) fn from_command_line() -> ParsedArgs {
        // It is not taken apart: that would be a fifth of what a short command does, and the process ends soon.
        let mut grammar = ManuallyDrop::new(Self::grammar());
        let matches = match grammar.try_get_matches_from_mut(arguments()) {
            Ok(matches) => matches,
            Err(error) if error.use_stderr() => return ParsedArgs::usage_error(&error),
            Err(error) => return ParsedArgs::Help(error.render().to_string()),
        };
        match Self::from_arg_matches(&matches) {
            Ok(cli) => ParsedArgs::Command(Box::new(cli)),
            Err(error) => ParsedArgs::usage_error(&error),
        }
    }
}
