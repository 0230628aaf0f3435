//! `maestro project`: projects and their directories.

use std::fmt::Write as _;
use std::path::Path;

use maestro_api::ReceivedReply;
use maestro_api::projects::{self, NewProject, ProjectBody};

use crate::args::{ProjectArgs, ProjectCommand};
use crate::client::CliClient;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::{clean, clean_lines, clean_path, count, pad};

pub(crate) fn run(args: &ProjectArgs, world: &World) -> CommandResult {
    let client = CliClient::open(world)?;
    match &args.command {
        ProjectCommand::List => list(&client, world),
        ProjectCommand::Get { id } => get(id, &client, world),
        ProjectCommand::Create { name, dir, desc } => create(name, dir.as_deref(), desc.as_deref(), &client, world),
        ProjectCommand::Delete { id } => delete(id, &client, world),
    }
}

fn list(client: &CliClient, world: &World) -> CommandResult {
    let ReceivedReply { raw, value: projects } = client.list_raw(projects::list())?;
    if world.json {
        return CommandOutput::json(&raw);
    }
    let short = client.short_ids();
    let width = projects.iter().map(|project| short.shorten(&project.id).len()).max().unwrap_or_default();
    let mut text = String::new();
    for project in &projects {
        let id = world.paint.dim(&pad(&clean(short.shorten(&project.id)), width));
        let dir = world.paint.dim(&clean_path(&world.display_path(Path::new(&project.working_dir))));
        let _ = writeln!(text, "{id}  {}  {dir}", clean(&project.name));
    }
    let sum = match projects.len() {
        0 => "No projects; run `maestro project create NAME` to create one for this directory".to_owned(),
        many => count(many, "project", "projects"),
    };
    let _ = writeln!(text, "{sum}");
    Ok(CommandOutput::text(text))
}

fn get(id: &str, client: &CliClient, world: &World) -> CommandResult {
    project_reply(&client.call_raw(projects::get(id))?, world)
}

fn project_reply(reply: &ReceivedReply<ProjectBody>, world: &World) -> CommandResult {
    let ReceivedReply { raw, value: project } = reply;
    if world.json {
        return CommandOutput::json(raw);
    }
    let mut text = format!("{}  {}\n", world.paint.dim(&clean(&project.id)), world.paint.strong(&clean(&project.name)));
    if !project.working_dir.is_empty() {
        let _ = writeln!(text, "  in {}", clean_path(&project.working_dir));
    }
    for line in clean_lines(project.description.trim_end()).lines() {
        let _ = writeln!(text, "  {line}");
    }
    Ok(CommandOutput::text(text))
}

fn create(name: &str, dir: Option<&Path>, desc: Option<&str>, client: &CliClient, world: &World) -> CommandResult {
    let dir = dir.map_or_else(|| world.places.project.clone(), |dir| world.places.working_dir.join(dir));
    // One that is not here may be on the server's machine.
    let dir = dir.canonicalize().unwrap_or(dir);
    let dir = dir.to_str().ok_or_else(|| {
        CommandError::invalid(format!("{} is not UTF-8 text", dir.display())).hint("use a directory with a UTF-8 name")
    })?;
    let new = NewProject {
        name: Some(name.to_owned()),
        working_dir: Some(dir.to_owned()),
        description: desc.map(str::to_owned),
    };
    let made = client.call_raw(projects::create(&new))?;
    let reply = project_reply(&made, world)?;
    // That it is made is what was asked for; that another one is here too is good to know.
    let projects = client.call(projects::list()).unwrap_or_default();
    let other = |project: &&ProjectBody| project.working_dir == dir && project.id != made.value.id;
    Ok(match projects.iter().find(other) {
        Some(other) => {
            let (id, note) = (&other.id, world.note_paint.warning("warning:"));
            let here = format!("{note} {dir} already has the project {}; use `--project` to choose one\n", clean(id));
            reply.with_notes(here)
        }
        None => reply,
    })
}

fn delete(id: &str, client: &CliClient, world: &World) -> CommandResult {
    let gone = client.call_raw(projects::delete(id))?;
    if world.json {
        return CommandOutput::json(&gone.raw);
    }
    Ok(CommandOutput::text("Deleted.\n"))
}
