//! Arguments of commands that start, follow and answer agents.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};

use super::free_text::free_text;
use super::work::id;

/// Options of `maestro session spawn`.
#[derive(Debug, Args)]
pub(crate) struct SpawnArgs {
    /// Task to work on; separate several with commas, the main one first
    #[arg(long, value_name = "ID", value_delimiter = ',', required = true, value_parser = id)]
    pub(crate) task: Vec<String>,
    /// Add a skill to those of the role; `maestro-orchestrator` makes it an orchestrator
    #[arg(long = "skill", value_name = "NAME", value_delimiter = ',')]
    pub(crate) skills: Vec<String>,
    /// Use this agent (see `maestro agents`)
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Drive the agent this way instead of the preferred one: json, acp or text
    #[arg(long, value_name = "DRIVER", value_parser = ["json", "acp", "text"])]
    pub(crate) driver: Option<String>,
    /// Use this model instead of the agent's default
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Set what the agent may do without asking: ask, edits or all
    #[arg(long, value_name = "MODE", value_parser = ["ask", "edits", "all"])]
    pub(crate) permission: Option<String>,
    /// Name the session
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Add the reason for this session to the prompt
    #[arg(long, value_name = "TEXT", value_parser = free_text, allow_hyphen_values = true)]
    pub(crate) reason: Option<String>,
    /// Add instructions to the prompt
    #[arg(long, value_name = "TEXT", value_parser = free_text, allow_hyphen_values = true)]
    pub(crate) prompt: Option<String>,
    /// Add the subtasks and sibling tasks to the prompt
    #[arg(long)]
    pub(crate) include_related: bool,
    /// Work in this directory instead of a new worktree
    #[arg(long)]
    pub(crate) in_place: bool,
    /// Limit the session to N minutes
    #[arg(long, value_name = "N")]
    pub(crate) minutes: Option<u32>,
    /// Limit the session to N tokens
    #[arg(long, value_name = "N")]
    pub(crate) tokens: Option<u64>,
    /// Limit the session to this cost in USD
    #[arg(long, value_name = "USD")]
    pub(crate) cost: Option<f64>,
    /// Limit the session to N model requests
    #[arg(long, value_name = "N")]
    pub(crate) turns: Option<u64>,
    /// Show what the agent does until it ends
    #[arg(long, short)]
    pub(crate) follow: bool,
}

/// Options of `maestro worker` and `maestro orchestrator`.
#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    #[command(subcommand)]
    pub(crate) command: WorkerCommand,
}

/// Subcommands of `maestro worker`.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkerCommand {
    /// Run a worker that starts queued agents until you stop it
    Run {
        /// Run up to N agents at once
        #[arg(long, short = 'j', value_name = "N", default_value_t = 8)]
        agents: usize,
    },
    /// Start the agent of the session in the environment and show what it does
    Init,
}

/// Options of `maestro orchestrator`.
#[derive(Debug, Args)]
pub(crate) struct OrchestratorArgs {
    #[command(subcommand)]
    pub(crate) command: OrchestratorCommand,
}

/// Subcommands of `maestro orchestrator`.
#[derive(Debug, Subcommand)]
pub(crate) enum OrchestratorCommand {
    /// Start the agent of the session in the environment and show what it does
    Init,
}

/// Options of `maestro show`.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Session or run ID
    #[arg(value_parser = id)]
    pub(crate) id: String,
    /// Show which skills were requested, delivered, opened and read
    #[arg(long)]
    pub(crate) skills: bool,
    /// Show everything the agent did
    #[arg(long)]
    pub(crate) transcript: bool,
    /// Follow the session until it ends
    #[arg(long, short)]
    pub(crate) follow: bool,
}

/// Options of `maestro session answer`.
#[derive(Debug, Args)]
pub(crate) struct PermitArgs {
    /// Session, run or task that asks; without it, list everything that waits for you
    #[arg(value_parser = id)]
    pub(crate) id: Option<String>,
    /// Answer: once, always (for this run) or deny to a permission, else one of the options or a text
    pub(crate) answer: Option<String>,
    /// Answer the question with this number instead of the oldest
    #[arg(long, value_name = "N")]
    pub(crate) question: Option<usize>,
}

/// Options of `maestro attach`.
#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    /// Session ID
    #[arg(value_parser = id)]
    pub(crate) id: String,
}

/// Options of `maestro loop`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LoopArgs {
    #[command(subcommand)]
    pub(crate) command: Option<LoopCommand>,
    /// Markdown plan to work through; default: the only one here with an open task
    pub(crate) plan: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// Stop after one task
    #[arg(long, conflicts_with = "max_tasks")]
    pub(crate) once: bool,
    /// Stop after N tasks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_tasks: Option<u32>,
    /// Run up to N independent tasks in parallel
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16), conflicts_with = "in_place")]
    pub(crate) jobs: Option<u32>,
    /// Set a stuck task aside and go on with tasks that do not depend on it
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Limit the agents' time for the whole plan, in minutes (setting `plan_minutes`)
    #[arg(long, value_name = "N", value_parser = amount)]
    pub(crate) plan_minutes: Option<f64>,
    /// Limit the tokens for the whole plan (setting `plan_tokens`)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) plan_tokens: Option<u64>,
    /// Limit the cost of the whole plan in USD (setting `plan_cost`)
    #[arg(long, value_name = "USD", value_parser = amount)]
    pub(crate) plan_cost: Option<f64>,
    /// Use this workflow instead of `plan-loop`
    #[arg(long, value_name = "NAME")]
    pub(crate) workflow: Option<String>,
    /// Explain each new thing the first time it appears, as in the demo
    #[arg(long, hide = true)]
    pub(crate) explain: bool,
}

/// Options of `maestro do`.
#[derive(Debug, Args)]
pub(crate) struct DoArgs {
    /// Task to do; `@name` in it requests a skill
    #[arg(value_parser = free_text, allow_hyphen_values = true)]
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

/// An amount, which may have a fraction.
fn amount(text: &str) -> Result<f64, String> {
    let amount = text.parse().ok().filter(|amount: &f64| amount.is_finite() && *amount > 0.0);
    amount.ok_or_else(|| "expected a number greater than 0".to_owned())
}

/// Options for how work is done.
#[derive(Debug, Clone, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
pub(crate) struct WorkArgs {
    /// Use this agent (see `maestro agents`)
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Review with this agent; default: the same agent in a new session
    #[arg(long, value_name = "NAME")]
    pub(crate) reviewer: Option<String>,
    /// Use this model of the agent; a review by the same agent uses it, too
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) model: Option<String>,
    /// Review with this model
    #[arg(long, value_name = "NAME", conflicts_with = "no_review", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) reviewer_model: Option<String>,
    /// Let this agent take over where the first reaches a limit, or its model cannot be reached
    #[arg(long, value_name = "NAME")]
    pub(crate) fallback: Option<String>,
    /// Set what agents may do without asking: ask (only look), edits (also edit files and run the checks) or all
    /// (everything; the sandbox still confines them)
    #[arg(long, value_name = "MODE", value_parser = ["ask", "edits", "all"])]
    pub(crate) permission: Option<String>,
    /// Work in this directory instead of a new worktree
    #[arg(long)]
    pub(crate) in_place: bool,
    /// Skip the review
    #[arg(long)]
    pub(crate) no_review: bool,
    /// Merge the branch into the checked-out one when all tasks are done (setting `merge_when_done`)
    #[arg(long, conflicts_with = "in_place")]
    pub(crate) merge: bool,
    /// Use these skills instead of the ones that fit
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with = "no_skills")]
    pub(crate) skills: Vec<String>,
    /// Use no skills
    #[arg(long)]
    pub(crate) no_skills: bool,
    /// Limit the agents' time for one task, in minutes (setting `task_minutes`)
    #[arg(long, value_name = "N", value_parser = amount)]
    pub(crate) task_minutes: Option<f64>,
    /// Limit the tokens for one task (setting `task_tokens`)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) task_tokens: Option<u64>,
    /// Limit the cost of one task in USD (setting `task_cost`)
    #[arg(long, value_name = "USD", value_parser = amount)]
    pub(crate) task_cost: Option<f64>,
    /// Let questions of agents wait this many minutes for an answer before the task stops (setting `wait_minutes`)
    #[arg(long, value_name = "MINUTES", value_parser = amount)]
    pub(crate) wait: Option<f64>,
    /// Print the task, its skills and the exact prompt, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Start in the background and do not wait for the end
    #[arg(long)]
    pub(crate) detach: bool,
    /// Do not ask for confirmation: continue the unfinished run of the same work, and go on where the checks fail before
    /// any change
    #[arg(long, short)]
    pub(crate) yes: bool,
}

impl WorkArgs {
    /// The parameters by which more than the agents themselves is named. A model belongs to its agent, so another reviewer does
    /// not get it.
    pub(crate) fn named_beside(&self, agent: &str) -> impl Iterator<Item = (&'static str, &str)> {
        let reviews_itself = self.reviewer.as_deref().is_none_or(|reviewer| reviewer == agent);
        let own_model = self.model.as_ref().filter(|_| reviews_itself);
        let named = [
            ("fallback", self.fallback.as_ref()),
            ("model", self.model.as_ref()),
            ("reviewer_model", self.reviewer_model.as_ref().or(own_model)),
        ];
        named.into_iter().filter_map(|(name, value)| Some((name, value?.as_str())))
    }
}

/// Subcommands of `maestro loop`.
#[derive(Debug, Subcommand)]
pub(crate) enum LoopCommand {
    /// Show the progress of this project's loops
    Status,
    /// Pause a loop after its current step
    Pause {
        /// Run ID; default: the only active run
        run: Option<String>,
    },
    /// Continue a paused or stopped loop from the task where it stopped
    Resume {
        /// Run ID; default: the only paused or stopped run
        run: Option<String>,
    },
    /// Stop a loop and its agent
    Cancel {
        /// Run ID
        run: Option<String>,
    },
    /// Show what happened in a loop
    Log {
        /// Run ID
        run: Option<String>,
    },
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        work: WorkArgs,
    }

    fn named(words: &str) -> Vec<(&'static str, String)> {
        let command = Command::parse_from(std::iter::once("do").chain(words.split_whitespace()));
        command.work.named_beside("claude").map(|(name, value)| (name, value.to_owned())).collect()
    }

    #[test]
    fn a_model_is_for_its_agent_and_not_for_another_reviewer() {
        let own = |name| (name, "opus".to_owned());
        assert_eq!(named("--model opus"), [own("model"), own("reviewer_model")]);
        assert_eq!(named("--model opus --reviewer claude"), [own("model"), own("reviewer_model")]);
        assert_eq!(named("--model opus --reviewer codex"), [own("model")]);
        assert_eq!(named("--reviewer codex --reviewer-model opus"), [own("reviewer_model")]);
        assert_eq!(named(""), []);
    }
}
