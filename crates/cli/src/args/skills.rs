//! Arguments of commands for skills and prompts.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use maestro_core::{Settings, StepKind};

use super::free_text::free_text;

/// Directories that replace the search path.
#[derive(Debug, Args)]
pub(crate) struct DirArgs {
    /// Search for skills only here (may be repeated)
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

/// Subcommands of `maestro skills`.
#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List every skill, with problems and shadowed ones
    List,
    /// Print a skill's full text as agents read it
    Read {
        /// Skill names, separated by spaces or commas
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// Show everything known about a skill
    #[command(visible_alias = "info")]
    Show {
        /// Skill name
        name: String,
        /// Show which of 300 typical tasks it would get, and which skill wins the others it comes close to
        #[arg(long)]
        wins: bool,
    },
    /// Check skills strictly against the Agent Skills rules
    Validate {
        /// Only these
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// Write a new skill to start from, and show which typical tasks would get it
    New(SkillNewArgs),
    /// Add skills from git, a folder or an archive, after showing what they contain
    Add(SkillAddArgs),
    /// Delete skills that were added
    Remove {
        /// Skill names
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
    /// Replace added skills by what their sources have now
    Update {
        /// Only these
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
    /// List added skills and whether they differ from their sources
    Outdated,
    /// Prepare all skills for selection by meaning
    Index,
    /// Select the skills for a task, for programs
    Select(SkillTaskArgs),
    /// Show which skills a task would get, which come close, and why
    Try(SkillTryArgs),
    /// Check the tasks in .maestro/selection.tsv: do they get the skills they should?
    Test {
        /// Another file: a task, a tab, and skill names or `none` on each line
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
    },
    /// Explain how one skill scores for a task
    Why {
        /// Skill name
        name: String,
        /// Task, as written in a plan
        #[arg(value_parser = free_text, allow_hyphen_values = true)]
        task: String,
    },
    /// Print skills as they appear in a prompt: a table of all, or the full text of some
    Prompt(PromptArgs),
    /// Write the table of skills into AGENTS.md, where agents read it
    Sync(SyncArgs),
    /// List the skills that sessions of each role get
    Roles {
        /// Only this role: worker or orchestrator
        role: Option<String>,
    },
}

/// Options of `maestro skills new`.
#[derive(Debug, Args)]
pub(crate) struct SkillNewArgs {
    /// Skill name
    pub(crate) name: String,
    /// What it does and when to use it; this decides which tasks get it
    #[arg(value_parser = free_text, allow_hyphen_values = true)]
    pub(crate) description: String,
    /// Write it to ~/.agents/skills, for all your projects
    #[arg(long)]
    pub(crate) user: bool,
}

/// Options of `maestro skills add`.
#[derive(Debug, Args)]
pub(crate) struct SkillAddArgs {
    /// A folder, an archive (.zip, .skill, .tar.gz), a git address, or OWNER/REPO on GitHub
    pub(crate) source: String,
    /// Add only this skill (may be repeated)
    #[arg(long = "skill", short = 's', value_name = "NAME", conflicts_with = "all")]
    pub(crate) skills: Vec<String>,
    /// Add all skills of the source
    #[arg(long)]
    pub(crate) all: bool,
    /// Use this branch or tag
    #[arg(long = "ref", value_name = "REF")]
    pub(crate) reference: Option<String>,
    /// Show what would be added, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// Task to find skills for.
#[derive(Debug, Args)]
pub(crate) struct SkillTaskArgs {
    /// Task, as written in a plan
    #[arg(value_parser = free_text, allow_hyphen_values = true)]
    pub(crate) task: String,
    /// Kind of step: implementation, review
    #[arg(long, value_name = "KIND", default_value = "implementation")]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub(crate) step: StepArg,
}

/// Options of `maestro skills try`.
#[derive(Debug, Args)]
pub(crate) struct SkillTryArgs {
    #[command(flatten)]
    pub(crate) task: SkillTaskArgs,
    /// Save the task for `maestro skills test`, with the skills it gets or those that it should get
    #[arg(long, value_name = "NAMES", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) save: Option<String>,
}

/// Kinds of steps of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StepArg {
    /// Do the task
    Implementation,
    /// Review the result
    Review,
}

impl StepArg {
    /// The kind of step, and the number of skills the settings allow it.
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
    /// Skill names, separated by spaces or commas; default: the table of all skills
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Use this format: openskills, to-prompt, content, manifest
    #[arg(long, value_enum, default_value_t = PromptFormat::Openskills)]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub(crate) format: PromptFormat,
    /// Limit the table to N tokens (default: setting `skills_budget_tokens`)
    #[arg(long, value_name = "TOKENS")]
    pub(crate) budget: Option<usize>,
}

/// Formats of skills in a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PromptFormat {
    /// OpenSkills: a `<skills_system>` block, or the output of `maestro skills read`
    Openskills,
    /// Agent Skills: the `<available_skills>` block of `to-prompt`
    ToPrompt,
    /// The Agent Skills guide for clients: its catalog, or `<skill_content>`
    Content,
    /// Markdown: name, version and description, and the text of named skills with their dependencies
    Manifest,
}

/// Options of `maestro skills sync`.
#[derive(Debug, Args)]
pub(crate) struct SyncArgs {
    /// Markdown file to update
    #[arg(long, short, value_name = "FILE", default_value = "AGENTS.md")]
    pub(crate) output: PathBuf,
    /// Write nothing; fail if the file would change
    #[arg(long)]
    pub(crate) check: bool,
}

/// Options of `maestro prompt`.
#[derive(Debug, Args)]
pub(crate) struct TaskPromptArgs {
    /// Plan whose next task to use, a task ID, or a task in quotes
    #[arg(value_name = "PLAN.md|TASK", value_parser = free_text, allow_hyphen_values = true)]
    pub(crate) task: String,
    /// Kind of step: implementation, review
    #[arg(long, value_name = "KIND", default_value = "implementation")]
    #[arg(hide_default_value = true, hide_possible_values = true)]
    pub(crate) step: StepArg,
    #[command(flatten)]
    pub(crate) dirs: DirArgs,
}
