//! `maestro workflow new`: asks a few questions and writes a workflow that checks clean.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use inquire::{InquireError, Text};
use maestro_core::workflow::new_definition::{ClosingStep, NewWorkflow, new_definition};
use maestro_skills::{name_fault, valid_name};
use serde_json::json;

use crate::args::WorkflowNewArgs;
use crate::host::files;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::confirm::{EmptyAnswer, confirm};
use crate::output::error::CommandError;
use crate::output::screen::clean_path;

/// How many steps are asked for.
const MOST_STEPS: usize = 20;

pub(super) fn run(args: &WorkflowNewArgs, world: &World) -> CommandResult {
    if let Some(fault) = name_fault(&args.name) {
        return Err(CommandError::invalid(format!("`{}` cannot be a workflow's name: {fault}", args.name))
            .hint(format!("for example: `maestro workflow new {}`", valid_name(&args.name))));
    }
    let path = file(args, world);
    let shown = clean_path(&world.display_path(&path)).into_owned();
    if path.exists() {
        return Err(CommandError::invalid(format!("{shown} is there already")).hint("choose another name, or edit it"));
    }
    if !args.user && !files::stays_inside(&path, &world.places.project) {
        return Err(
            CommandError::refused("`.agents/skills` leads out of the project").hint("replace the link by a folder")
        );
    }
    let text = new_definition(&answers(args)?);
    files::create(&path, &text).map_err(|error| CommandError::io(format!("cannot write {shown}"), &error))?;
    if world.json {
        return CommandOutput::json(&json!({ "path": path.to_string_lossy() }));
    }
    let name = &args.name;
    Ok(CommandOutput::text(format!(
        "Wrote {shown}\n\nEdit its actions, then run `maestro workflow check {shown}`, `maestro workflow graph {name}` and\n\
         `maestro workflow start {name} --param task=\"…\"`.\n"
    )))
}

fn file(args: &WorkflowNewArgs, world: &World) -> PathBuf {
    let place = if args.user { &world.places.home } else { &world.places.project };
    place.join(".agents/skills").join(&args.name).join("workflow.yaml")
}

/// What the options say, and at a terminal what the person says about the rest.
fn answers(args: &WorkflowNewArgs) -> CommandResult<NewWorkflow> {
    let asks = io::stdin().is_terminal() && io::stderr().is_terminal();
    let missing = |what: &str| {
        CommandError::invalid(format!("missing: {what}")).hint(format!(
            "run `maestro workflow new {} --description \"…\" --step \"…\" --step \"…\"`, or run it in a terminal",
            args.name
        ))
    };
    let description = match &args.description {
        Some(description) => description.clone(),
        None if asks => ask("What does it do, and when should it be used?")?,
        None => return Err(missing("what it does")),
    };
    let mut steps = args.steps.clone();
    if steps.is_empty() && asks {
        while steps.len() < MOST_STEPS {
            let title = ask(&format!("Step {}, one thing to think about (empty: no more):", steps.len() + 1))?;
            if title.trim().is_empty() {
                break;
            }
            steps.push(title);
        }
    }
    if steps.is_empty() {
        return Err(missing("which steps it has"));
    }
    let closing = |given: bool, question: &str| -> CommandResult<ClosingStep> {
        Ok((given || (asks && args.steps.is_empty() && confirm(question, EmptyAnswer::Agrees)?)).into())
    };
    Ok(NewWorkflow {
        name: args.name.clone(),
        description,
        steps,
        checks: closing(args.checks, "Must the project's checks pass at the end?")?,
        approval: closing(args.approval, "Must you be content with the result?")?,
    })
}

fn ask(question: &str) -> CommandResult<String> {
    Text::new(question).prompt().map_err(|error| match error {
        InquireError::OperationCanceled | InquireError::OperationInterrupted => {
            CommandError::invalid("nothing was written")
        }
        error => CommandError::io("cannot ask the question", &error),
    })
}
