//! Progress of the loops of this project.

use std::fmt::Write as _;
use std::path::Path;

use maestro_api::events::EventBody;
use maestro_api::runs::RunSummary;
use maestro_core::short_id::ShortIds;
use maestro_core::{Event, WorkState};
use maestro_engine::branches::RunBranch;
use serde::Serialize;

use super::ending;
use super::listing::{self, PlanLoop};
use super::phase_log::PhaseLog;
use crate::client::{CliClient, runs};
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::{clean, clean_path, count, fit, pad};

/// How many columns a task's words get.
const WORDS: usize = 60;

pub(super) fn status_reply(world: &World) -> CommandResult {
    let client = CliClient::open(world)?;
    let found = PlanLoop::all(&client, world)?;
    if world.json {
        let mut all = Vec::new();
        for one in &found {
            all.append(&mut runs_json(one, &client)?);
        }
        return CommandOutput::json(&all);
    }
    let mut text = String::new();
    let short = client.short_ids();
    for one in &found {
        text.push_str(&loop_text(one, &client, &short, world)?);
    }
    if found.is_empty() {
        text.push_str("No loops here; run `maestro loop PLAN.md` to start one.\n");
    }
    Ok(CommandOutput::text(text))
}

/// A loop with its runs.
pub(super) fn loop_text(one: &PlanLoop, client: &CliClient, short: &ShortIds, world: &World) -> CommandResult<String> {
    let mut text = line(&one.lead, &loop_lines(one, client)?, client, short)?;
    text.push_str(&task_line(one, &one.lead, "  "));
    text.push_str(&end_line(&one.lead, "  ", short, world));
    for lane in &one.lanes {
        let _ = write!(text, "  {}", line(lane, &[], client, short)?);
        text.push_str(&task_line(one, lane, "    "));
        text.push_str(&end_line(lane, "    ", short, world));
    }
    Ok(text)
}

/// The task of its plan that a run is at, as long as it is not over.
fn task_line(one: &PlanLoop, run: &RunSummary, indent: &str) -> String {
    let task = run.current_task.as_deref().filter(|_| one.plan().is_some() && !run.status.is_over());
    task.map_or_else(String::new, |task| format!("{indent}now: {}\n", fit(&clean(task), WORDS)))
}

/// How far a loop is and what it is at, in a line.
pub(super) fn position_line(one: &PlanLoop, client: &CliClient) -> CommandResult<String> {
    let mut words = loop_lines(one, client)?;
    let task = one.lead.current_task.as_deref().filter(|_| one.plan().is_some());
    words.extend(task.map(|task| format!("now: {}", fit(&clean(task), WORDS))));
    Ok(words.join("  "))
}

/// A run of a loop, as programs read it.
#[derive(Serialize)]
pub(super) struct LoopRun {
    #[serde(flatten)]
    run: RunSummary,
    lead: Option<String>,
    plan: Option<String>,
    task: Option<String>,
    progress: Option<TaskCount>,
}

/// How many tasks of a loop are done.
#[derive(Clone, Copy, Serialize)]
struct TaskCount {
    done: usize,
    all: usize,
}

/// The runs of a loop, as programs read them.
pub(super) fn runs_json(one: &PlanLoop, client: &CliClient) -> CommandResult<Vec<LoopRun>> {
    let progress = one.progress(client)?.tasks().map(|(done, all)| TaskCount { done, all });
    let shown = |run: &RunSummary| LoopRun {
        run: run.clone(),
        lead: Some(one.id()).filter(|lead| run.id != *lead).map(str::to_owned),
        plan: one.plan().map(str::to_owned),
        task: one.task().map(str::to_owned),
        progress,
    };
    Ok(one.runs().map(shown).collect())
}

/// What a loop is for and how far it is.
fn loop_lines(one: &PlanLoop, client: &CliClient) -> CommandResult<Vec<String>> {
    let mut words = Vec::new();
    words.extend(one.plan().map(|plan| clean_path(plan).into_owned()));
    words.extend(one.task().map(|task| format!("\"{}\"", fit(&clean(task), WORDS))));
    if one.parallel_runs() > 1 {
        words.push(format!("{} at once", one.parallel_runs()));
    }
    let tasks = one.progress(client)?.tasks();
    words.extend(tasks.map(|(done, all)| format!("{done} of {}", count(all, "task", "tasks"))));
    Ok(words)
}

/// A run with what is said about it, and the phase it is in as long as it works.
fn line(run: &RunSummary, words: &[String], client: &CliClient, short: &ShortIds) -> CommandResult<String> {
    let phase = if run.state == WorkState::Working { phase(run, client)? } else { None };
    let mut line = format!("{}  {}", clean(short.shorten(&run.id)), pad(run.state.label(), 9));
    for word in words.iter().chain(&phase).filter(|word| !word.is_empty()) {
        let _ = write!(line, "  {word}");
    }
    Ok(format!("{}\n", line.trim_end()))
}

/// The phase of a run's work, by the name that its output has for it.
fn phase(run: &RunSummary, client: &CliClient) -> CommandResult<Option<String>> {
    let mut log = PhaseLog::default();
    let mut phase = None;
    for event in runs::events(client, &run.id)?.iter().filter_map(EventBody::event) {
        if let Event::Run(event) = event {
            phase = log.record(&run.id, &event).or(phase);
        }
    }
    Ok(phase.map(|phase| clean(&String::from(phase)).into_owned()))
}

/// How a run ended and where its work is, as far as there is something to say.
fn end_line(run: &RunSummary, indent: &str, short: &ShortIds, world: &World) -> String {
    let mut text = String::new();
    let id = clean(short.shorten(&run.id)).into_owned();
    match run.state {
        WorkState::Merged | WorkState::Discarded => {
            let _ = writeln!(text, "{indent}{}", listing::state_words(run));
            return text;
        }
        WorkState::Waiting => {
            let asks = clean(run.state_reason.as_deref().unwrap_or_default()).into_owned();
            let _ = writeln!(text, "{indent}{asks}\n{indent}answer with `maestro session answer {id}`");
            return text;
        }
        _ => {}
    }
    let reason = Some(ending::reason(run)).filter(|reason| !reason.is_empty());
    let reason = reason.or_else(|| run.state_reason.as_deref().map(|reason| clean(reason).into_owned()));
    for line in reason.unwrap_or_default().lines() {
        let _ = writeln!(text, "{indent}{line}");
    }
    if run.state.can_resume() {
        let _ = writeln!(text, "{indent}Continue it with `maestro loop resume {id}`.");
    }
    if let Some(tree) = ending::worktree(run) {
        text.push_str(&work_line(run, &tree, indent, &id, world));
    }
    text
}

/// Where the work of a stopped run is, and how to take it; nothing where there is none.
fn work_line(run: &RunSummary, tree: &Path, indent: &str, id: &str, world: &World) -> String {
    let left = RunBranch::of_run(Path::new(&run.workspace), &run.id).ok();
    match left.filter(|left| left.uncommitted.is_empty() && left.worktree.as_deref() == Some(tree)) {
        Some(left) if left.head == left.base => String::new(),
        Some(_) => format!("{indent}Its commits can be taken with `maestro merge {id}`.\n"),
        None => {
            let tree = clean_path(&world.display_path(tree)).into_owned();
            format!("{indent}Its work is in {tree}; run `maestro merge {id} --all` to commit and merge it.\n")
        }
    }
}
