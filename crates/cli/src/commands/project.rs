//! `maestro project`: projects and their directories.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value as Json, json};

use crate::args::{ProjectArgs, ProjectCommand};
use crate::client::wire::{self, Project};
use crate::client::{Client, escaped};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::screen::{clean, clean_lines, clean_path, count, pad};

pub(crate) fn run(args: &ProjectArgs, world: &World) -> Result<Reply, CommandError> {
    let client = Client::open(world)?;
    match &args.command {
        ProjectCommand::List => list(&client, world),
        ProjectCommand::Get { id } => get(id, &client, world),
        ProjectCommand::Create { name, dir, desc } => create(name, dir.as_deref(), desc.as_deref(), &client, world),
        ProjectCommand::Delete { id } => delete(id, &client, world),
    }
}

fn list(client: &Client, world: &World) -> Result<Reply, CommandError> {
    let found = client.list("/api/projects")?;
    if world.json {
        return Reply::json(&found);
    }
    let projects: Vec<Project> = wire::read_all(&found)?;
    let width = projects.iter().map(|project| project.id.len()).max().unwrap_or_default();
    let mut text = String::new();
    for project in &projects {
        let id = world.paint.dim(&pad(&clean(&project.id), width));
        let dir = world.paint.dim(&clean_path(&world.short(Path::new(&project.working_dir))));
        let _ = writeln!(text, "{id}  {}  {dir}", clean(&project.name));
    }
    let sum = match projects.len() {
        0 => "No projects; run `maestro project create NAME` to create one for this directory".to_owned(),
        many => count(many, "project", "projects"),
    };
    let _ = writeln!(text, "{sum}");
    Ok(Reply::text(text))
}

fn get(id: &str, client: &Client, world: &World) -> Result<Reply, CommandError> {
    shown(&client.get(&format!("/api/projects/{}", escaped(id)))?, world)
}

fn shown(whole: &Json, world: &World) -> Result<Reply, CommandError> {
    if world.json {
        return Reply::json(whole);
    }
    let project: Project = wire::read(whole)?;
    let mut text = format!("{}  {}\n", world.paint.dim(&clean(&project.id)), world.paint.strong(&clean(&project.name)));
    if !project.working_dir.is_empty() {
        let _ = writeln!(text, "  in {}", clean_path(&project.working_dir));
    }
    for line in clean_lines(project.description.trim_end()).lines() {
        let _ = writeln!(text, "  {line}");
    }
    Ok(Reply::text(text))
}

fn create(
    name: &str,
    dir: Option<&Path>,
    desc: Option<&str>,
    client: &Client,
    world: &World,
) -> Result<Reply, CommandError> {
    let dir = dir.map_or_else(|| world.places.project.clone(), |dir| world.places.working_dir.join(dir));
    // One that is not here may be on the server's machine.
    let dir = dir.canonicalize().unwrap_or(dir);
    let dir = dir.to_str().ok_or_else(|| {
        CommandError::invalid(format!("{} is not UTF-8 text", dir.display())).hint("use a directory with a UTF-8 name")
    })?;
    let made: Json = client.post("/api/projects", &json!({ "name": name, "workingDir": dir, "description": desc }))?;
    let reply = shown(&made, world)?;
    // That it is made is what was asked for; that another one is here too is good to know.
    let projects: Vec<Json> = client.get("/api/projects").unwrap_or_default();
    let other = |project: &&Json| project["workingDir"] == dir && project["id"] != made["id"];
    Ok(match projects.iter().find(other) {
        Some(other) => {
            let (id, note) = (other["id"].as_str().unwrap_or_default(), world.note_paint.warning("warning:"));
            let here = format!("{note} {dir} already has the project {}; use `--project` to choose one\n", clean(id));
            reply.with_notes(here)
        }
        None => reply,
    })
}

fn delete(id: &str, client: &Client, world: &World) -> Result<Reply, CommandError> {
    let gone: Json = client.delete(&format!("/api/projects/{}", escaped(id)))?;
    if world.json {
        return Reply::json(&gone);
    }
    Ok(Reply::text("Deleted.\n"))
}
