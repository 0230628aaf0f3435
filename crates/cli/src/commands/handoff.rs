//! `maestro handoff`: work handed from one role to another, as a record and as a file in the project.

mod file;

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use maestro_api::handoffs::{self, HandoffAcceptance, HandoffBody, HandoffCompletion, HandoffQuery, NewHandoff};
use maestro_api::projects::{self, ProjectBody};
use maestro_api::{ApiRequest, ReceivedReply};
use maestro_core::handoff::HandoffState;
use serde::Serialize;

use crate::args::{HandoffArgs, HandoffCommand, NewHandoffArgs};
use crate::client::CliClient;
use crate::client::context;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::{clean, clean_lines, clean_path, pad};

/// How much of a file is passed on.
const LARGEST: u64 = 512 * 1024;

pub(crate) fn run(args: &HandoffArgs, world: &World) -> CommandResult {
    let client = CliClient::open(world)?;
    match &args.command {
        HandoffCommand::Create(args) => create(&client, args, world),
        HandoffCommand::List { to, state } => list(&client, to.as_deref(), *state, world),
        HandoffCommand::Accept { id } => {
            let said = |handoff: &HandoffBody| format!("Accepted {} from {}.\n", handoff.id, handoff.from);
            step(&client, handoffs::accept(id, &HandoffAcceptance::default()), &said, world)
        }
        HandoffCommand::Complete { id, result } => {
            let said = |handoff: &HandoffBody| format!("Completed {}.\n", handoff.id);
            let completion = HandoffCompletion { result: result.clone() };
            step(&client, handoffs::complete(id, &completion), &said, world)
        }
    }
}

fn create(client: &CliClient, args: &NewHandoffArgs, world: &World) -> CommandResult {
    let body = body(args, world)?;
    let project = context::project(client, world)?;
    let new = NewHandoff {
        project_id: Some(project.id.clone()),
        task_id: args.task.clone(),
        from: Some(args.from.clone()),
        to: Some(args.to.clone()),
        title: Some(args.title.clone()),
        body: Some(body),
    };
    let handoff = client.call(handoffs::create(&new))?;
    let written = file::write(&handoff, directory(&project).as_deref());
    if world.json {
        return with_file(&handoff, &written);
    }
    let text =
        format!("{} hands {} to {}: {}\n", clean(&handoff.from), handoff.id, clean(&handoff.to), clean(&handoff.title));
    Ok(reply_with_file(text, written, world))
}

/// The project's directory, if it is one on this machine.
fn directory(project: &ProjectBody) -> Option<PathBuf> {
    let path = Path::new(&project.working_dir);
    (path.is_absolute() && path.is_dir()).then(|| path.to_owned())
}

/// What the other needs to know: typed, or from a file.
fn body(args: &NewHandoffArgs, world: &World) -> CommandResult<String> {
    let Some(file) = &args.file else { return Ok(args.body.clone().unwrap_or_default()) };
    let unreadable = |error: &(dyn std::error::Error + 'static)| {
        CommandError::io(format!("cannot read {}", file.display()), error)
            .hint("pass a text file of at most 512 KiB, or `-` for standard input")
    };
    let (bytes, cut) = if file == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().take(LARGEST + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
        let cut = bytes.len() as u64 > LARGEST;
        (bytes, cut)
    } else {
        let path = world.places.working_dir.join(file);
        let contents = maestro_skills::read_bounded(&path, LARGEST).map_err(|error| unreadable(&error))?;
        (contents.bytes, contents.cut)
    };
    if cut {
        return Err(CommandError::invalid(format!("{} is larger than 512 KiB", file.display()))
            .hint("pass a summary that names the file"));
    }
    String::from_utf8(bytes).map_err(|error| unreadable(&error))
}

fn list(client: &CliClient, to: Option<&str>, state: Option<HandoffState>, world: &World) -> CommandResult {
    let project = context::project(client, world)?;
    let query = HandoffQuery {
        project_id: Some(project.id),
        to: to.map(str::to_owned),
        state: state.map(|state| state.as_str().to_owned()),
    };
    let ReceivedReply { raw, value: handoffs } = client.list_raw(handoffs::list(&query))?;
    if world.json {
        return CommandOutput::json(&raw);
    }
    if handoffs.is_empty() {
        return Ok(CommandOutput::text("No handoffs.\n"));
    }
    let mut text = String::new();
    for handoff in &handoffs {
        let state = pad(handoff.state.as_str(), 9);
        let roles = format!("{} → {}", handoff.from, handoff.to);
        let _ = writeln!(text, "{}  {state}  {}  {}", handoff.id, clean(&roles), clean(&handoff.title));
    }
    Ok(CommandOutput::text(text))
}

fn step(
    client: &CliClient,
    request: ApiRequest<HandoffBody>,
    said: &dyn Fn(&HandoffBody) -> String,
    world: &World,
) -> CommandResult {
    let handoff = client.call(request)?;
    let written = match client.call(projects::get(&handoff.project_id)) {
        Ok(project) => file::write(&handoff, directory(&project).as_deref()),
        Err(error) => Err(error.message().to_owned()),
    };
    if world.json {
        return with_file(&handoff, &written);
    }
    let mut text = said(&handoff);
    if handoff.state == HandoffState::Accepted {
        let _ = writeln!(text, "\n{}\n", world.paint.strong(&clean(&handoff.title)));
        if !handoff.body.trim().is_empty() {
            let _ = writeln!(text, "{}\n", clean_lines(handoff.body.trim()));
        }
        let _ = writeln!(text, "When it is done: maestro handoff complete {} --result \"…\"", handoff.id);
    }
    Ok(reply_with_file(text, written, world))
}

/// A hand-off and the file that stands for it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HandoffRecord<'h> {
    #[serde(flatten)]
    handoff: &'h HandoffBody,
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_problem: Option<&'h str>,
}

/// The record for programs, with the file that stands for it.
fn with_file(handoff: &HandoffBody, written: &Result<PathBuf, String>) -> CommandResult {
    CommandOutput::json(&HandoffRecord {
        handoff,
        file: written.as_ref().ok().map(|path| path.to_string_lossy().into_owned()),
        file_problem: written.as_ref().err().map(String::as_str),
    })
}

/// The record counts; a file that could not be written is only told of.
fn reply_with_file(mut text: String, written: Result<PathBuf, String>, world: &World) -> CommandOutput {
    match written {
        Ok(path) => {
            let _ = writeln!(text, "File: {}", clean_path(&world.display_path(&path)));
            CommandOutput::text(text)
        }
        Err(why) => {
            CommandOutput::text(text).with_notes(format!("cannot write the handoff file: {}\n", clean_path(&why)))
        }
    }
}
