//! What can be typed about workflows?

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::DirArgs;

/// Options of `maestro workflow`.
#[derive(Debug, Args)]
pub(crate) struct WorkflowArgs {
    #[command(flatten)]
    pub(crate) dirs: DirArgs,
    #[command(subcommand)]
    pub(crate) command: WorkflowCommand,
}

/// What to do with workflows.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// List the workflows that can be started
    List,
    /// Show a workflow's parameters, steps and ways
    Show {
        /// The workflow's name
        name: String,
    },
    /// Check definitions: everything wrong at once, with place and help
    Check {
        /// Definitions or skill folders; without any, all that are found
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Walk through every outcome: which steps and ends are reached
    Simulate {
        /// The workflow's name
        name: String,
    },
    /// Begin a run, and print what is to be done first
    Start(StartArgs),
    /// Print what is to be done now in a run
    Next {
        /// The run
        run: String,
        #[command(flatten)]
        form: FormArgs,
    },
    /// Say what came of a directive, and print what is to be done next
    Report(ReportArgs),
    /// Answer a question of a run, and print what is to be done next
    Answer(AnswerArgs),
    /// Walk through a workflow in the terminal: commands are executed, questions asked
    Run(RunArgs),
    /// List the runs of this project
    Runs {
        /// Only those that stand so: running, paused, completed, failed, cancelled
        #[arg(long)]
        status: Option<String>,
        /// Runs of all projects
        #[arg(long)]
        all: bool,
    },
    /// Show everything that happened to a run
    Log {
        /// The run
        run: String,
    },
    /// Stop a run for a while
    Pause {
        /// The run
        run: String,
    },
    /// Let a paused run go on
    Resume {
        /// The run
        run: String,
        #[command(flatten)]
        form: FormArgs,
    },
    /// Stop a run for good
    Cancel {
        /// The run
        run: String,
    },
    /// Print a workflow for a skill that has instructions only
    Convert {
        /// The skill's name
        name: String,
        /// Write it into the skill's folder as `workflow.yaml`
        #[arg(long)]
        write: bool,
    },
    /// Print one step by its number, without a run: nothing is kept and nothing is checked
    Step(StepArgs),
    /// Draw a workflow: mermaid, dot, svg
    Graph {
        /// The workflow's name, or the run whose current step is to be seen
        #[arg(value_name = "NAME|RUN")]
        name: String,
        /// What it is written in: mermaid, dot, svg
        #[arg(long, value_name = "FORMAT", default_value = "mermaid")]
        #[arg(hide_default_value = true, hide_possible_values = true)]
        format: GraphFormat,
    },
}

/// In which form somebody is told.
#[derive(Debug, Default, Args)]
pub(crate) struct FormArgs {
    /// In which form: text, markdown, xml, aider, json
    #[arg(long, value_name = "FORM")]
    pub(crate) format: Option<String>,
    /// The tool that asks, for example claude, codex, opencode, cursor, aider
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
}

/// Options of `maestro workflow start`.
#[derive(Debug, Args)]
pub(crate) struct StartArgs {
    /// The workflow's name
    pub(crate) name: String,
    /// A parameter (may be repeated)
    #[arg(long = "param", value_name = "KEY=VALUE")]
    pub(crate) params: Vec<String>,
    /// The run that a sub-agent's walk is a part of
    #[arg(long, value_name = "RUN", requires = "ticket", conflicts_with = "params")]
    pub(crate) parent: Option<String>,
    /// The sub-agent's ticket
    #[arg(long, value_name = "TICKET", requires = "parent")]
    pub(crate) ticket: Option<String>,
    #[command(flatten)]
    pub(crate) form: FormArgs,
}

/// Options of `maestro workflow report`. `--set KEY=VALUE` sets a variable of the run here, and no setting.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The run
    pub(crate) run: String,
    /// The directive's ticket
    #[arg(long)]
    pub(crate) ticket: String,
    /// What the step ended with; not needed where it follows from the result
    #[arg(long)]
    pub(crate) outcome: Option<String>,
    /// A file with the result as JSON; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) result_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) form: FormArgs,
}

/// Options of `maestro workflow answer`.
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// The run
    pub(crate) run: String,
    /// The question's ticket
    #[arg(long)]
    pub(crate) ticket: String,
    /// What the user said; several where several may be chosen
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) values: Vec<String>,
    /// The user gave no answer
    #[arg(long, conflicts_with_all = ["values", "cancelled"])]
    pub(crate) declined: bool,
    /// The user wants to stop here
    #[arg(long, conflicts_with = "values")]
    pub(crate) cancelled: bool,
    #[command(flatten)]
    pub(crate) form: FormArgs,
}

/// Options of `maestro workflow run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The workflow's name
    pub(crate) name: String,
    /// A parameter (may be repeated)
    #[arg(long = "param", value_name = "KEY=VALUE")]
    pub(crate) params: Vec<String>,
    /// Take each question's usual answer, and ask nothing
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Options of `maestro workflow step`.
#[derive(Debug, Args)]
pub(crate) struct StepArgs {
    /// The workflow's name
    pub(crate) name: String,
    /// The step's number in the order of the file, from 1
    #[arg(long, value_name = "N")]
    pub(crate) step: usize,
    /// How many steps there are; another number is told
    #[arg(long, value_name = "M")]
    pub(crate) total_steps: Option<usize>,
    /// Which round of its review this is, from 1
    #[arg(long, value_name = "N")]
    pub(crate) qr_iteration: Option<u32>,
    /// The step is done again because its gate failed
    #[arg(long)]
    pub(crate) qr_fail: bool,
    /// How the gate judged: pass, fail
    #[arg(long, value_name = "STATUS", hide_possible_values = true)]
    pub(crate) qr_status: Option<QrStatus>,
    /// The tool that asks, for example claude, codex, opencode, cursor, aider
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
}

/// How a gate judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QrStatus {
    /// It let the work through
    Pass,
    /// It did not
    Fail,
}

/// What a graph is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// Mermaid's flowcharts
    Mermaid,
    /// Graphviz
    Dot,
    /// A picture
    Svg,
}
