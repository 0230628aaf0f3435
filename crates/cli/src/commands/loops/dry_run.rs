//! Preview of a loop: the next task and its prompt, from the same run executed up to its first agent in a temporary
//! database.

use std::fmt::Write as _;
use std::sync::Arc;

use maestro_api::runs::{self as runs_api, NewRun};
use maestro_core::event::Event;
use maestro_core::workflow::run::RunDriver;
use maestro_core::workflow::run_reply::NextAction;
use maestro_engine::Host;
use maestro_engine::runs::RunEngine;
use maestro_engine::step_sessions::{StepPrompt, waiting_prompt};
use maestro_skills::render::tokens;
use serde_json::json;

use crate::client::CliClient;
use crate::client::runs;
use crate::commands::init;
use crate::host::cli_host::CliHost;
use crate::host::world::{CommandTarget, World};
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::{clean, clean_lines};
use crate::server_process::database;

/// Shows the task, its skills, and the prompt of the first agent of a run.
pub(super) fn run(request: NewRun, world: &World) -> CommandResult {
    let unable = |error: std::io::Error| CommandError::io("cannot prepare the preview", &error);
    let place = tempfile::Builder::new().prefix("maestro-dry-run").tempdir().map_err(unable)?;
    let aside = scratch_world(world, place.path());
    let client = CliClient::open(&aside)?;
    let project = init::require_project(&client, &aside)?;
    // What is asked for is the same in a worktree; none is opened for a look.
    let mut params = request.params.unwrap_or_default();
    params.insert("worktree".to_owned(), false.into());
    params.remove("base_checks");
    let request = NewRun {
        project_id: Some(project.id),
        driver: Some(RunDriver::Caller.as_str().to_owned()),
        params: Some(params),
        ..request
    };
    let reply = runs::drive_run(&client, client.call(runs_api::create(&request))?, &aside)?;
    let id = reply.summary.id.parse().map_err(|_| CommandError::internal("the run has no id"))?;
    let store = database::open(database::database_url(&aside), &aside)?;
    let view = client.wait(RunEngine::of(store).get(id, (database::clock())()));
    let view = view.map_err(|error| CommandError::internal(error.to_string()))?;
    let host: Arc<dyn Host> = Arc::new(CliHost::reading(world));
    let Some(composed) = client.wait(waiting_prompt(&host, &view)) else {
        let why = match &view.reply.next {
            NextAction::Finished { message: Some(message), .. } => clean(message).into_owned(),
            _ => "No agent would start.".to_owned(),
        };
        return if world.json {
            CommandOutput::json(&json!({ "prompt": null, "message": why }))
        } else {
            Ok(CommandOutput::text(why + "\n"))
        };
    };
    preview(&composed, world)
}

/// The world with a home and a database of its own, and no server.
fn scratch_world(world: &World, place: &std::path::Path) -> World {
    let mut aside = world.clone();
    place.clone_into(&mut aside.maestro_home);
    let database = place.join("maestro.db").to_string_lossy().into_owned();
    aside.aim = CommandTarget { database: Some(database), ..CommandTarget::default() };
    aside.variables.retain(|name, _| !name.starts_with("MAESTRO_") || name.starts_with("MAESTRO_SKILLS"));
    aside
}

fn preview(composed: &StepPrompt, world: &World) -> CommandResult {
    let selection = composed.events.iter().find_map(|event| match event {
        Event::SkillsSelected(selection) => Some(selection),
        _ => None,
    });
    if world.json {
        let skills = selection.map(|selection| &selection.skills);
        let (text, events) = (&composed.text, &composed.events);
        return CommandOutput::json(
            &json!({ "prompt": text, "tokens": tokens(text), "skills": skills, "events": events }),
        );
    }
    let mut notes = format!("about {} tokens\n", tokens(&composed.text));
    for skill in selection.iter().flat_map(|selection| &selection.skills) {
        let _ = writeln!(notes, "skill {} ({})", clean(&skill.name), clean(&skill.reason));
    }
    for error in selection.iter().flat_map(|selection| &selection.errors) {
        let _ = writeln!(notes, "{} {}", world.note_paint.warning("warning:"), clean(error));
    }
    match selection {
        None => notes.push_str("no skills (off here, or `--no-skills`)\n"),
        Some(selection) if selection.skills.is_empty() => notes.push_str("no skill fits\n"),
        Some(_) => {}
    }
    let text = format!("{}\n", composed.text.trim_end());
    // Other programs get every byte; a person's terminal obeys nothing that stands in a file.
    let text = if world.terminals.stdout { clean_lines(&text) } else { text };
    Ok(CommandOutput::text(text).with_notes(notes))
}
