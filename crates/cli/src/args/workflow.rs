//! Arguments of `maestro workflow`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::DirArgs;
use super::free_text::free_text;

/// Options of `maestro workflow`.
#[derive(Debug, Args)]
pub(crate) struct WorkflowArgs {
    #[command(flatten)]
    pub(crate) dirs: DirArgs,
    #[command(subcommand)]
    pub(crate) command: WorkflowCommand,
}

/// Subcommands of `maestro workflow`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// List the workflows you can start
    List,
    /// Show a workflow's parameters, steps and transitions
    Show {
        /// Workflow name
        name: String,
    },
    /// Check definitions and show every problem with its place and a hint
    Check {
        /// Definitions, skill folders or names of workflows; default: all that are found
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Simulate every outcome and show which steps and ends are reached
    Simulate {
        /// Workflow name
        name: String,
        /// Take this many random walks, always the same ones, instead of trying every outcome
        #[arg(long, value_name = "N")]
        walks: Option<usize>,
    },
    /// Walk through scripted cases of a workflow, without executing anything
    Test {
        /// Scripts of cases
        #[arg(required = true, value_name = "FILE")]
        paths: Vec<PathBuf>,
    },
    /// Write a new workflow, after a few questions
    New(WorkflowNewArgs),
    /// Print the JSON Schema of definitions, for editors
    Schema,
    /// Start a run and print the first directive
    Start(WorkflowStartArgs),
    /// Print the current directive of a run
    Next {
        /// Run ID
        run: String,
        #[command(flatten)]
        form: RenderArgs,
    },
    /// Report the result of a directive and print the next one
    Report(WorkflowReportArgs),
    /// Answer a question of a run and print the next directive
    Answer(WorkflowAnswerArgs),
    /// Run a whole workflow in the terminal: execute its commands, ask its questions
    Run(WorkflowRunArgs),
    /// List the runs of this project
    Runs {
        /// Only runs with this status: running, paused, completed, failed, cancelled
        #[arg(long)]
        status: Option<String>,
        /// Include runs of all projects
        #[arg(long)]
        all: bool,
    },
    /// Show what happened in a run; `--json` prints every event
    Log {
        /// Run ID
        run: String,
    },
    /// Pause a run
    Pause {
        /// Run ID
        run: String,
    },
    /// Resume a paused run
    Resume {
        /// Run ID
        run: String,
        #[command(flatten)]
        form: RenderArgs,
    },
    /// Continue a run that is over, from an earlier step or from where it stopped
    Reopen(WorkflowReopenArgs),
    /// Cancel a run, after the last part of its workflow; canceled again, it stops at once
    Cancel {
        /// Run ID
        run: String,
    },
    /// Print a workflow for a skill that only has instructions
    Convert {
        /// Skill name
        name: String,
        /// Write it to `workflow.yaml` in the skill's folder
        #[arg(long)]
        write: bool,
    },
    /// Print one step by its number, without a run; stores and checks nothing
    Step(WorkflowStepArgs),
    /// Draw a workflow: mermaid, dot, svg
    Graph {
        /// Workflow name, or a run ID to highlight its current step
        #[arg(value_name = "NAME|RUN")]
        name: String,
        /// Output format: mermaid, dot, svg
        #[arg(long, value_name = "FORMAT", default_value = "mermaid")]
        #[arg(hide_default_value = true, hide_possible_values = true)]
        format: GraphFormat,
    },
}

/// Output format of directives.
#[derive(Debug, Default, Args)]
pub(crate) struct RenderArgs {
    /// Output format: text, markdown, xml, aider, json
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Format for this tool, for example claude, codex, opencode, cursor, aider
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
}

/// Options of `maestro workflow new`.
#[derive(Debug, Args)]
pub(crate) struct WorkflowNewArgs {
    /// Workflow name
    pub(crate) name: String,
    /// What it does and when to use it
    #[arg(long, value_name = "TEXT", value_parser = free_text)]
    pub(crate) description: Option<String>,
    /// Title of a step that an agent does (may be repeated)
    #[arg(long = "step", value_name = "TITLE", value_parser = free_text)]
    pub(crate) steps: Vec<String>,
    /// End only when the project's checks pass
    #[arg(long)]
    pub(crate) checks: bool,
    /// End only when the user is content
    #[arg(long)]
    pub(crate) approval: bool,
    /// Write it to ~/.agents/skills, for all your projects
    #[arg(long)]
    pub(crate) user: bool,
}

/// Options of `maestro workflow start`.
#[derive(Debug, Args)]
pub(crate) struct WorkflowStartArgs {
    /// Workflow name
    pub(crate) name: String,
    /// Set a parameter (may be repeated)
    #[arg(long = "param", value_name = "KEY=VALUE")]
    pub(crate) params: Vec<String>,
    /// Parent run, when a sub-agent starts its part
    #[arg(long, value_name = "RUN", requires = "ticket", conflicts_with = "params")]
    pub(crate) parent: Option<String>,
    /// The sub-agent's ticket
    #[arg(long, value_name = "TICKET", requires = "parent")]
    pub(crate) ticket: Option<String>,
    #[command(flatten)]
    pub(crate) form: RenderArgs,
}

/// Options of `maestro workflow report`. `--set KEY=VALUE` sets a variable of the run here, and no setting.
#[derive(Debug, Args)]
pub(crate) struct WorkflowReportArgs {
    /// Run ID
    pub(crate) run: String,
    /// Ticket of the directive
    #[arg(long)]
    pub(crate) ticket: String,
    /// Outcome of the step; optional if the result implies it
    #[arg(long)]
    pub(crate) outcome: Option<String>,
    /// Read the result as JSON from a file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) result_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) form: RenderArgs,
}

/// Options of `maestro workflow answer`.
#[derive(Debug, Args)]
pub(crate) struct WorkflowAnswerArgs {
    /// Run ID
    pub(crate) run: String,
    /// Ticket of the question
    #[arg(long)]
    pub(crate) ticket: String,
    /// The user's answer; several where the question allows it
    #[arg(value_name = "VALUE", value_parser = free_text, allow_negative_numbers = true)]
    pub(crate) values: Vec<String>,
    /// Report that the user gave no answer
    #[arg(long, conflicts_with_all = ["values", "cancelled"])]
    pub(crate) declined: bool,
    /// Report that the user wants to stop here
    #[arg(long, conflicts_with = "values")]
    pub(crate) cancelled: bool,
    #[command(flatten)]
    pub(crate) form: RenderArgs,
}

/// Options of `maestro workflow run`.
#[derive(Debug, Args)]
pub(crate) struct WorkflowRunArgs {
    /// Workflow name
    pub(crate) name: String,
    /// Set a parameter (may be repeated)
    #[arg(long = "param", value_name = "KEY=VALUE")]
    pub(crate) params: Vec<String>,
    /// Use the default answer to every question
    #[arg(long)]
    pub(crate) yes: bool,
    /// Start this agent for every step that an agent does
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
}

/// Options of `maestro workflow reopen`.
#[derive(Debug, Args)]
pub(crate) struct WorkflowReopenArgs {
    /// Run ID
    pub(crate) run: String,
    /// Step to continue from, as the run was before it; `STEP#2` is its second visit
    #[arg(long, value_name = "STEP")]
    pub(crate) at: Option<String>,
    /// Change a parameter (may be repeated)
    #[arg(long = "param", value_name = "KEY=VALUE")]
    pub(crate) params: Vec<String>,
    #[command(flatten)]
    pub(crate) form: RenderArgs,
}

/// Options of `maestro workflow step`.
#[derive(Debug, Args)]
pub(crate) struct WorkflowStepArgs {
    /// Workflow name
    pub(crate) name: String,
    /// Number of the step in the file, from 1
    #[arg(long, value_name = "N")]
    pub(crate) step: usize,
    /// Expected number of steps; the output warns if it differs
    #[arg(long, value_name = "M")]
    pub(crate) total_steps: Option<usize>,
    /// Review round, from 1
    #[arg(long, value_name = "N")]
    pub(crate) qr_iteration: Option<u32>,
    /// Print the step as a retry after its gate failed
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", hide_possible_values = true)]
    #[arg(default_value_t = false, hide_default_value = true, action = clap::ArgAction::Set)]
    pub(crate) qr_fail: bool,
    /// Result of the gate: pass, fail
    #[arg(long, value_name = "STATUS", hide_possible_values = true)]
    pub(crate) qr_status: Option<QrStatus>,
    /// Format for this tool, for example claude, codex, opencode, cursor, aider
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
}

/// Result of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QrStatus {
    /// The gate passed
    Pass,
    /// The gate failed
    Fail,
}

/// Output format of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// Mermaid flowchart
    Mermaid,
    /// Graphviz
    Dot,
    /// SVG image
    Svg,
}
