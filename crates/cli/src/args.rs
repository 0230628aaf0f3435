//! What can be typed? The command line as data; nothing is carried out here.

use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use maestro_core::{Settings, StepKind};

use crate::help;
use crate::screen::ColorChoice;

/// Gives coding agents the right skills, and finds the next task of a plan.
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
    /// Find the next task of a Markdown plan
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Plan(PlanArgs),
    /// Show the settings in force and where they come from
    #[command(subcommand_required = true, arg_required_else_help = true)]
    Config(ConfigArgs),
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
}

/// Directories that take the place of the search order.
#[derive(Debug, Args)]
pub(crate) struct DirArgs {
    /// Look for skills here, and nowhere else (may be repeated)
    #[arg(long = "dir", value_name = "PATH", global = true)]
    pub(crate) dirs: Vec<PathBuf>,
}

/// Options of `maestro skills`.
#[derive(Debug, Args)]
pub(crate) struct SkillsArgs {
    #[command(flatten)]
    pub(crate) dirs: DirArgs,
    #[command(subcommand)]
    pub(crate) command: SkillsCommand,
}

/// What to do with skills.
#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List every skill, with problems and shadowed ones
    List,
    /// Print a skill's full text as agents read it
    Read {
        /// Names, also separated by commas
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// Show everything known about a skill
    #[command(visible_alias = "info")]
    Show {
        /// The skill's name
        name: String,
    },
    /// Check skills against the Agent Skills rules, strictly
    Validate {
        /// Only these
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// Choose the skills for a task, for programs
    Select(TaskArgs),
    /// Show which skills a task would get, which nearly, and why
    Try(TaskArgs),
    /// Explain how one skill stands for a task
    Why {
        /// The skill's name
        name: String,
        /// The task, as in a plan
        task: String,
    },
    /// Print skills as a prompt holds them: a table of all, or the full text of some
    Prompt(PromptArgs),
    /// Write the table of skills into AGENTS.md, where agents read it
    Sync(SyncArgs),
    /// List the skills that each role's sessions get
    Roles {
        /// Only this role: worker or orchestrator
        role: Option<String>,
    },
}

/// A task that skills are wanted for.
#[derive(Debug, Args)]
pub(crate) struct TaskArgs {
    /// The task, as in a plan
    pub(crate) task: String,
    /// What is to be done: implementation, review
    #[arg(long, value_name = "KIND", default_value = "implementation")]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub(crate) step: Step,
}

/// What is to be done with a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Step {
    /// Do it
    Implementation,
    /// Look at what was done
    Review,
}

impl Step {
    /// The kind of step, and how many skills the settings allow it.
    pub(crate) fn with_limit(self, settings: &Settings) -> (StepKind, usize) {
        match self {
            Self::Implementation => (StepKind::Implementation, settings.skills_max_selected_impl.value.into()),
            Self::Review => (StepKind::Review, settings.skills_max_selected_review.value.into()),
        }
    }
}

/// Options of `maestro skills prompt`.
#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// Names, also separated by commas; without one, the table of all skills
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// In whose words: openskills, to-prompt, content, manifest
    #[arg(long, value_enum, default_value_t = PromptFormat::Openskills)]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub(crate) format: PromptFormat,
    /// How many tokens a table may take, instead of `skills_budget_tokens`
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
}

/// In whose words skills are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PromptFormat {
    /// OpenSkills: a `<skills_system>` block, or what `maestro skills read` prints
    Openskills,
    /// Agent Skills: the `<available_skills>` block of `to-prompt`
    ToPrompt,
    /// The Agent Skills guide for clients: its catalogue, or `<skill_content>`
    Content,
    /// Markdown: name, version and description, and the text of those named with all they need
    Manifest,
}

/// Options of `maestro skills sync`.
#[derive(Debug, Args)]
pub(crate) struct SyncArgs {
    /// The Markdown file
    #[arg(long, short, value_name = "FILE", default_value = "AGENTS.md")]
    pub(crate) output: PathBuf,
    /// Write nothing; fail if the file would change
    #[arg(long)]
    pub(crate) check: bool,
}

/// Options of `maestro prompt`.
#[derive(Debug, Args)]
pub(crate) struct TaskPromptArgs {
    /// A plan, whose next task is meant, or a task in quotes
    #[arg(value_name = "PLAN.md|TASK")]
    pub(crate) task: String,
    /// What is to be done: implementation, review
    #[arg(long, value_name = "KIND", default_value = "implementation")]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub(crate) step: Step,
    #[command(flatten)]
    pub(crate) dirs: DirArgs,
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
    Show {
        /// Only this one
        key: Option<String>,
        /// Say where each value comes from
        #[arg(long)]
        origin: bool,
    },
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
