//! What can be typed about skills and prompts?

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use maestro_core::{Settings, StepKind};

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
