//! `maestro workflow start`: starts a run and prints the first directive.

use std::fmt::Write as _;

use maestro_api::runs::{self as runs_api, NewRun, ParentTicket, RunBody};
use maestro_core::workflow::definition::{BuiltinCommand, Variable};
use maestro_core::workflow::executions::{list_executions, list_sessions};
use maestro_core::workflow::pinned_definition::PinnedDefinition;
use maestro_core::workflow::run::RunDriver;
use maestro_core::workflow::tool::CodingTool;
use maestro_core::workflow::{FindingCode, ValueType, Workflow};
use maestro_engine::workflows::{LoadedWorkflow, WorkflowIndex};
use maestro_engine::{Host as _, HostError, WorkflowConsent};
use serde_json::{Map, Value as Json};

use super::directive;
use crate::args::WorkflowStartArgs;
use crate::client::CliClient;
use crate::client::context;
use crate::client::runs;
use crate::commands::init;
use crate::host::cli_host::{self, CliHost};
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::output::screen::{clean, count};

pub(super) fn run(
    workflows: &WorkflowIndex<'_>,
    args: &WorkflowStartArgs,
    tool: &CodingTool,
    world: &World,
) -> CommandResult {
    if let (Some(parent), Some(ticket)) = (&args.parent, &args.ticket) {
        let client = runs::client(world)?;
        let parent = ParentTicket { run: parent.clone(), ticket: ticket.clone() };
        let run = NewRun { parent: Some(parent), ..NewRun::default() };
        return directive::next_reply(&client, client.call(runs_api::create(&run))?, tool, world);
    }
    let hand = RunHand::Tool(tool.directory.as_deref());
    let started = start_run(workflows, &args.name, &args.params, hand, world)?;
    Ok(directive::next_reply(&started.client, started.reply, tool, world)?.with_notes(started.notes))
}

/// A run that was started.
pub(super) struct StartedRun {
    pub(super) client: CliClient,
    pub(super) reply: RunBody,
    pub(super) notes: String,
}

/// Who does the steps of a run.
#[derive(Debug, Clone, Copy)]
pub(super) enum RunHand<'h> {
    /// The caller, with the tool whose directory this is.
    Tool(Option<&'h str>),
    /// This agent, which the server starts for each step.
    Agent(&'h str),
}

/// Starts a run of a workflow as it is here.
pub(super) fn start_run(
    workflows: &WorkflowIndex<'_>,
    name: &str,
    params: &[String],
    hand: RunHand<'_>,
    world: &World,
) -> CommandResult<StartedRun> {
    let loaded = workflows.find(name)?;
    let pinned = workflows.pinned(name)?;
    let notes = notes(&loaded);
    let params = match &loaded.workflow {
        Some(workflow) => {
            require_programs(name, workflow, world)?;
            values(params, &workflow.params)?
        }
        None => Map::new(),
    };
    require_consent(&pinned, world)?;
    require_checks(&pinned, world)?;
    let client = runs::client(world)?;
    let known = runs::project(&client, world);
    let (driver, tool, agent, project_id) = match hand {
        RunHand::Tool(tool) => (RunDriver::Caller, tool, None, known),
        // Sessions belong to a project, so one that is not known becomes so.
        RunHand::Agent(agent) => {
            let project = known.map_or_else(|| init::require_project(&client, world).map(|project| project.id), Ok)?;
            (RunDriver::Server, None, Some(agent.to_owned()), Some(project))
        }
    };
    let run = NewRun {
        pinned: Some(pinned),
        params: Some(params),
        workspace: Some(world.places.project.to_string_lossy().into_owned()),
        tool: Some(tool.unwrap_or_default().to_owned()),
        agent,
        project_id,
        task_id: context::tasks(world).into_iter().next(),
        driver: Some(driver.as_str().to_owned()),
        ..NewRun::default()
    };
    let reply = client.call(runs_api::create(&run)).map_err(|error| match &loaded.workflow {
        Some(workflow) if !workflow.params.is_empty() && !error.is_not_found() => error.hint(usage(name, workflow)),
        _ => error,
    })?;
    Ok(StartedRun { client, reply, notes })
}

/// Notes on a workflow when it starts.
fn notes(loaded: &LoadedWorkflow) -> String {
    let name = clean(&loaded.source.name);
    let mut notes = String::new();
    if loaded.is_made_of_instructions() {
        let _ = writeln!(
            notes,
            "note: {name} only has instructions (an old form); it runs as one step. \
             Run `maestro workflow convert {name}` for a workflow to start from."
        );
    }
    for finding in loaded.findings.iter().filter(|finding| finding.code == FindingCode::W05) {
        let _ = writeln!(notes, "note: {name}: {} ({})", clean(&finding.message), clean(&finding.help));
    }
    notes
}

/// Fails if a program that the workflow needs is missing.
fn require_programs(name: &str, workflow: &Workflow, world: &World) -> CommandResult<()> {
    let has = |program: &String| {
        program == "maestro" || world.program_dirs.iter().any(|directory| directory.join(program).is_file())
    };
    match workflow.requires.commands.iter().find(|program| !has(program)) {
        None => Ok(()),
        Some(missing) => Err(CommandError::invalid(format!("`{name}` needs `{missing}`, which is not installed"))
            .hint("install it, or put it on PATH")),
    }
}

/// Fails if the workflow is not trusted; asking later, when a command is due, is too late.
pub(crate) fn require_consent(pinned: &PinnedDefinition, world: &World) -> CommandResult<()> {
    let name = &pinned.main;
    match cli_host::consent(world, &pinned.definitions) {
        WorkflowConsent::Granted => return Ok(()),
        WorkflowConsent::Missing => {}
        WorkflowConsent::Unknown(reason) => {
            let message = format!("whether `{name}` may be executed cannot be read: {reason}");
            return Err(CommandError::forbidden(message).hint("run `maestro trust` to see how to fix it"));
        }
    }
    let definition = pinned.definition().map_err(|error| CommandError::internal(error.to_string()))?;
    let all: Vec<&Workflow> = std::iter::once(&definition.main).chain(definition.callees.values()).collect();
    let commands: usize = all.iter().map(|workflow| list_executions(workflow).len()).sum();
    let sessions: usize = all.iter().map(|workflow| list_sessions(workflow).len()).sum();
    let mut acts = Vec::new();
    if commands > 0 {
        acts.push(format!("execute {}", count(commands, "command", "commands")));
    }
    if sessions > 0 {
        acts.push(format!("start {}", count(sessions, "agent", "agents")));
    }
    let message = format!("`{name}` is not trusted yet; it would {}", acts.join(" and "));
    Err(CommandError::forbidden(message).hint(format!("run `maestro trust {name}` to review and allow it")))
}

/// Fails if the workflow runs the project's checks and these are not trusted: work that nothing can check does not start.
fn require_checks(pinned: &PinnedDefinition, world: &World) -> CommandResult<()> {
    let definition = pinned.definition().map_err(|error| CommandError::internal(error.to_string()))?;
    if !definition.executes(BuiltinCommand::Verify) {
        return Ok(());
    }
    match CliHost::reading(world).checks(&world.places.project) {
        Err(error @ (HostError::NotTrusted { .. } | HostError::Changed { .. })) => {
            let message = format!("`{}` runs this project's checks: {error}", pinned.main);
            Err(CommandError::forbidden(message).hint("run `maestro trust --config` to review and allow them"))
        }
        // What else is wrong with them is said when they run.
        Ok(_) | Err(_) => Ok(()),
    }
}

fn usage(name: &str, workflow: &Workflow) -> String {
    let needed = workflow.params.iter().filter(|param| param.required && param.default.is_none());
    let needed = needed.fold(String::new(), |mut text, param| {
        let _ = write!(text, " --param {}=…", param.name);
        text
    });
    format!("run `maestro workflow start {name}{needed}`; `maestro workflow show {name}` explains each")
}

/// The arguments as the declared types.
pub(super) fn values(typed: &[String], declared: &[Variable]) -> CommandResult<Map<String, Json>> {
    let mut values = Map::new();
    for text in typed {
        let Some((name, value)) = text.split_once('=') else {
            return Err(CommandError::invalid(format!("`{text}` is not KEY=VALUE")).hint("write --param name=value"));
        };
        let kind = declared.iter().find(|known| known.name.as_str() == name).map(|known| &known.kind);
        let value = match kind {
            // Values that look like JSON are parsed where text would not fit.
            Some(ValueType::Int | ValueType::Number | ValueType::Bool | ValueType::List(_) | ValueType::Object(_)) => {
                serde_json::from_str(value).unwrap_or_else(|_| Json::String(value.to_owned()))
            }
            _ => Json::String(value.to_owned()),
        };
        values.insert(name.to_owned(), value);
    }
    Ok(values)
}
