//! `maestro workflow`: definitions of workflows, and their runs.

mod check;
mod convert;
mod directive;
mod graph;
mod new;
mod report;
mod run;
mod runs;
mod schema;
mod show;
mod start;
mod step;
mod test;

use std::fmt::Write as _;
use std::path::PathBuf;

use maestro_api::sessions::SteerAction;
use maestro_core::RunId;
use maestro_core::workflow::simulate::{Simulation, SimulationBounds, sample, simulate};
use maestro_engine::workflows::{LoadedWorkflow, WorkflowIndex};
use serde_json::json;

pub(super) use self::show::param_text;
pub(super) use self::start::require_consent;
use crate::args::{RenderArgs, WorkflowArgs, WorkflowCommand};
use crate::host::world::World;
use crate::host::{catalogue, config};
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::{clean, count, fit, pad};

/// Width of a list without a terminal.
const WIDTH: usize = 100;

pub(crate) fn run(args: &WorkflowArgs, world: &World) -> CommandResult {
    match &args.command {
        WorkflowCommand::Next { run, form } => report::next(run, form, world),
        WorkflowCommand::Report(args) => report::report(args, world),
        WorkflowCommand::Answer(args) => report::answer(args, world),
        WorkflowCommand::Runs { status, all } => {
            runs::list(status.as_deref(), if *all { runs::RunScope::All } else { runs::RunScope::Project }, world)
        }
        WorkflowCommand::Log { run } => runs::log(run, world),
        WorkflowCommand::Pause { run } => runs::steer(run, SteerAction::Pause, &RenderArgs::default(), world),
        WorkflowCommand::Resume { run, form } => runs::steer(run, SteerAction::Resume, form, world),
        WorkflowCommand::Reopen(args) => runs::reopen(args, world),
        WorkflowCommand::Cancel { run } => runs::steer(run, SteerAction::Cancel, &RenderArgs::default(), world),
        WorkflowCommand::Schema => schema::run(),
        WorkflowCommand::New(args) => new::run(args, world),
        WorkflowCommand::Graph { name, format } if name.parse::<RunId>().is_ok() => graph::of_run(name, *format, world),
        about_definitions => definitions(about_definitions, &args.dirs.dirs, world),
    }
}

/// Commands on definitions, which need the skills.
fn definitions(command: &WorkflowCommand, dirs: &[PathBuf], world: &World) -> CommandResult {
    let settings = config::settings(world)?;
    let catalogue = catalogue::load(world, dirs, &settings)?;
    let workflows = WorkflowIndex::of(&catalogue, &world.places.working_dir);
    match command {
        WorkflowCommand::Start(args) => {
            let tool = directive::tool(&args.form, world)?;
            start::run(&workflows.for_tool(&tool), args, &tool, world)
        }
        WorkflowCommand::Run(args) => run::run(&workflows, args, world),
        WorkflowCommand::Convert { name, write } => {
            let place = if *write { convert::ConvertTarget::Written } else { convert::ConvertTarget::Printed };
            convert::run(&catalogue, name, place, world)
        }
        WorkflowCommand::Show { name } => show::run(&workflows, name, world),
        WorkflowCommand::Check { paths } => check::run(&workflows, paths, world),
        WorkflowCommand::Test { paths } => test::run(&workflows, paths, world),
        WorkflowCommand::Simulate { name, walks } => simulate_workflow(&workflows, name, *walks, world),
        WorkflowCommand::Step(args) => step::run(&workflows, args, world),
        WorkflowCommand::Graph { name, format } => graph::of_workflow(&workflows, name, *format, world),
        _ => list(&workflows, world),
    }
}

fn list(workflows: &WorkflowIndex<'_>, world: &World) -> CommandResult {
    let mut loaded = Vec::new();
    for source in workflows.all() {
        loaded.push(workflows.load(source)?);
    }
    loaded.retain(LoadedWorkflow::is_listed);
    if world.json {
        let row = |loaded: &LoadedWorkflow| {
            let workflow = loaded.workflow.as_ref();
            json!({
                "name": loaded.source.name,
                "description": workflow.map(|workflow| workflow.description.as_str()),
                "steps": workflow.map(|workflow| workflow.steps.len()),
                "path": loaded.source.path.to_string_lossy(),
                "sound": loaded.is_sound(),
            })
        };
        return CommandOutput::json(&loaded.iter().map(row).collect::<Vec<_>>());
    }
    if loaded.is_empty() {
        return Ok(CommandOutput::text("No workflows found. A workflow is a skill folder with a `workflow.yaml`.\n"));
    }
    let widest = loaded.iter().map(|workflow| workflow.source.name.chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    for LoadedWorkflow { source, workflow, .. } in &loaded {
        let name = world.paint.strong(&pad(&clean(&source.name), widest));
        let about = match workflow {
            Some(workflow) => clean(&workflow.description).into_owned(),
            None => world.paint.error("has errors; run `maestro workflow check`"),
        };
        let room = world.width.unwrap_or(WIDTH).saturating_sub(widest + 2);
        let _ = writeln!(text, "{name}  {}", fit(&about, room));
    }
    Ok(CommandOutput::text(text))
}

fn simulate_workflow(workflows: &WorkflowIndex<'_>, name: &str, walks: Option<usize>, world: &World) -> CommandResult {
    let definition = workflows.definition(name)?;
    let bounds = SimulationBounds::default();
    let simulation = match walks {
        Some(walks) => sample(&definition, bounds, walks),
        None => simulate(&definition, bounds),
    };
    let Simulation { never_reached, never_taken, ends, red_successes, states, complete } = simulation;
    if world.json {
        let end = |end: &maestro_core::workflow::simulate::SimulatedEnd| json!({"status": end.status, "step": end.step, "outcome": end.outcome});
        let way = |(step, outcome): &(_, _)| json!({"step": step, "outcome": outcome});
        return CommandOutput::json(&json!({
            "ends": ends.iter().map(end).collect::<Vec<_>>(),
            "never_reached": never_reached,
            "never_taken": never_taken.iter().map(way).collect::<Vec<_>>(),
            "red_successes": red_successes.iter().map(end).collect::<Vec<_>>(),
            "states": states,
            "complete": complete,
        }));
    }
    let mut text = format!("{} checked.\n\nEnds\n", count(states, "state", "states"));
    for end in &ends {
        let _ = writeln!(text, "  {:<8} after `{}` with `{}`", end.status, end.step, clean(end.outcome.as_str()));
    }
    if !never_reached.is_empty() {
        let _ = writeln!(text, "\nNever reached");
        for step in &never_reached {
            let _ = writeln!(text, "  {step}");
        }
    }
    if !never_taken.is_empty() {
        let _ = writeln!(text, "\nNever taken");
        for (step, outcome) in &never_taken {
            let _ = writeln!(text, "  `{}` of `{step}`", clean(outcome.as_str()));
        }
    }
    if !red_successes.is_empty() {
        let _ = writeln!(text, "\nSuccess although a check had failed");
        for end in &red_successes {
            let _ = writeln!(text, "  after `{}` with `{}`", end.step, clean(end.outcome.as_str()));
        }
    }
    let notes = if complete { "" } else { "Not all states were checked; the result covers only those.\n" };
    Ok(CommandOutput::text(text).with_notes(notes))
}
