//! What can be typed about agents that are started?

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::work::id;

/// Options of `maestro session spawn`.
#[derive(Debug, Args)]
pub(crate) struct SpawnArgs {
    /// The task; several are separated by commas, the main one first
    #[arg(long, value_name = "ID", value_delimiter = ',', required = true, value_parser = id)]
    pub(crate) task: Vec<String>,
    /// A skill beside those of its role; `maestro-orchestrator` makes it an orchestrator
    #[arg(long = "skill", value_name = "NAME", value_delimiter = ',')]
    pub(crate) skills: Vec<String>,
    /// Which agent; `maestro agents` shows them
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// How it is spoken with, if not in the preferred way: json, acp or text
    #[arg(long, value_name = "WAY", value_parser = ["json", "acp", "text"])]
    pub(crate) driver: Option<String>,
    /// Which model, if not the agent's own choice
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// What it may do without asking: ask, edits or all
    #[arg(long, value_name = "MODE", value_parser = ["ask", "edits", "all"])]
    pub(crate) permission: Option<String>,
    /// What people call the session
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Why it is started; it is told so
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// What it is told beside its task
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
    /// Tell it also of the tasks below and beside its own
    #[arg(long)]
    pub(crate) include_related: bool,
    /// How many minutes it may take
    #[arg(long, value_name = "N")]
    pub(crate) minutes: Option<u32>,
    /// How many tokens it may use
    #[arg(long, value_name = "N")]
    pub(crate) tokens: Option<u64>,
    /// How many dollars it may cost
    #[arg(long, value_name = "USD")]
    pub(crate) cost: Option<f64>,
    /// How many times it may ask the model
    #[arg(long, value_name = "N")]
    pub(crate) turns: Option<u64>,
    /// Show what it does until it has ended
    #[arg(long, short)]
    pub(crate) follow: bool,
}

/// Options of `maestro worker` and `maestro orchestrator`.
#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    #[command(subcommand)]
    pub(crate) command: WorkerCommand,
}

/// What a worker can be told.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkerCommand {
    /// Start the agents that are asked for, until told to end
    Run {
        /// How many at once
        #[arg(long, short = 'j', value_name = "N", default_value_t = 8)]
        agents: usize,
    },
    /// Start the agent of the session that the environment names, and show what it does
    Init,
}

/// Options of `maestro orchestrator`.
#[derive(Debug, Args)]
pub(crate) struct OrchestratorArgs {
    #[command(subcommand)]
    pub(crate) command: OrchestratorCommand,
}

/// What an orchestrator can be told.
#[derive(Debug, Subcommand)]
pub(crate) enum OrchestratorCommand {
    /// Start the agent of the session that the environment names, and show what it does
    Init,
}

/// Options of `maestro show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The session
    #[arg(value_parser = id)]
    pub(crate) id: String,
    /// Which skills were asked for, arrived, and were opened and read
    #[arg(long)]
    pub(crate) skills: bool,
    /// Everything its agent did
    #[arg(long)]
    pub(crate) transcript: bool,
    /// Go on with what it does until it has ended
    #[arg(long, short)]
    pub(crate) follow: bool,
}

/// Options of `maestro session answer`.
#[derive(Debug, Args)]
pub(crate) struct PermitArgs {
    /// The session; without it, what waits for an answer is shown
    #[arg(value_parser = id)]
    pub(crate) id: Option<String>,
    /// once, always (in this run) or deny
    pub(crate) answer: Option<String>,
    /// Which of its questions, by the number shown; the oldest, unless said otherwise
    #[arg(long, value_name = "N")]
    pub(crate) question: Option<usize>,
}

/// Options of `maestro attach`.
#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    /// The session
    #[arg(value_parser = id)]
    pub(crate) id: String,
}

/// Options of `maestro loop`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LoopArgs {
    #[command(subcommand)]
    pub(crate) command: Option<LoopCommand>,
    /// The checklist
    pub(crate) plan: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// End after one task
    #[arg(long, conflicts_with = "max_tasks")]
    pub(crate) once: bool,
    /// End after so many tasks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_tasks: Option<u32>,
    /// Work on so many tasks at once, as far as the plan does not order them
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16), conflicts_with = "in_place")]
    pub(crate) jobs: Option<u32>,
    /// For how many minutes agents may work at the plan, all tasks together; setting `plan_minutes`
    #[arg(long, value_name = "N", value_parser = amount)]
    pub(crate) plan_minutes: Option<f64>,
    /// How many tokens they may use for the plan; setting `plan_tokens`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) plan_tokens: Option<u64>,
    /// How many dollars they may cost for the plan; setting `plan_cost`
    #[arg(long, value_name = "USD", value_parser = amount)]
    pub(crate) plan_cost: Option<f64>,
    /// Your own workflow instead of `plan-loop`
    #[arg(long, value_name = "NAME")]
    pub(crate) workflow: Option<String>,
    /// Say what each thing means that is seen for the first time, as in the demo
    #[arg(long, hide = true)]
    pub(crate) explain: bool,
}

/// Options of `maestro do`.
#[derive(Debug, Args)]
pub(crate) struct DoArgs {
    /// What is to be done; `@name` in it asks for a skill
    pub(crate) task: String,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

/// Options of `maestro demo`.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Remove the repository afterwards
    #[arg(long)]
    pub(crate) clean: bool,
}

/// An amount of something, in parts as well.
fn amount(text: &str) -> Result<f64, String> {
    let amount = text.parse().ok().filter(|amount: &f64| amount.is_finite() && *amount > 0.0);
    amount.ok_or_else(|| "it must be a number that is more than 0".to_owned())
}

/// How work is done.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
pub(crate) struct WorkArgs {
    /// Who does the work; `maestro agents` shows them
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Who looks at it; the same agent, in a session of its own, unless said otherwise
    #[arg(long, value_name = "NAME")]
    pub(crate) reviewer: Option<String>,
    /// What agents may do without asking: ask, edits or all
    #[arg(long, value_name = "MODE")]
    pub(crate) permission: Option<String>,
    /// Work here, and not in a worktree of its own
    #[arg(long)]
    pub(crate) in_place: bool,
    /// Let nobody look at the work
    #[arg(long)]
    pub(crate) no_review: bool,
    /// Merge the branch into the one that is checked out once all is done; setting `merge_when_done`
    #[arg(long, conflicts_with = "in_place")]
    pub(crate) merge: bool,
    /// These skills, instead of those that fit
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with = "no_skills")]
    pub(crate) skills: Vec<String>,
    /// No skills at all
    #[arg(long)]
    pub(crate) no_skills: bool,
    /// For how many minutes agents may work at a task, all its sessions together; setting `task_minutes`
    #[arg(long, value_name = "N", value_parser = amount)]
    pub(crate) task_minutes: Option<f64>,
    /// How many tokens they may use for a task; setting `task_tokens`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) task_tokens: Option<u64>,
    /// How many dollars they may cost for a task; setting `task_cost`
    #[arg(long, value_name = "USD", value_parser = amount)]
    pub(crate) task_cost: Option<f64>,
    /// Show the task, its skills and exactly what the agent would be told, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Begin it, and do not wait for its end
    #[arg(long)]
    pub(crate) detach: bool,
}

/// What can be done with a loop that was begun.
#[derive(Debug, Subcommand)]
pub(crate) enum LoopCommand {
    /// Show how far the loops are
    Status,
    /// Have a loop wait after what is being done now
    Pause {
        /// The run; the only one that goes on, unless said otherwise
        run: Option<String>,
    },
    /// Have a loop go on
    Resume {
        /// The run
        run: Option<String>,
    },
    /// End a loop, and the agent at work for it
    Cancel {
        /// The run
        run: Option<String>,
    },
    /// Show what happened in a loop
    Log {
        /// The run
        run: Option<String>,
    },
}
