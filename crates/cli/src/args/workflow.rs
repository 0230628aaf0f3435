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
    /// Draw a workflow: mermaid, dot, svg
    Graph {
        /// The workflow's name
        name: String,
        /// What it is written in: mermaid, dot, svg
        #[arg(long, value_name = "FORMAT", default_value = "mermaid")]
        #[arg(hide_default_value = true, hide_possible_values = true)]
        format: GraphFormat,
    },
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
