//! `maestro share`: a copy of a run for others, in one file.

use std::fs;
use std::path::PathBuf;

use maestro_api::runs as runs_api;
use serde_json::json;

use crate::args::ShareArgs;
use crate::client::{CliClient, runs};
use crate::commands::branches::require_person;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::clean_path;

pub(crate) fn run(args: &ShareArgs, world: &World) -> CommandResult {
    require_person(world)?;
    let client = CliClient::open(world)?;
    let found = runs::find_run(&client, &args.id)?;
    let copy = client.call(runs_api::share(&found.id))?;
    // The name is the server's; only its last part can be a file here.
    let name = PathBuf::from(&copy.file).file_name().map_or_else(|| PathBuf::from("run.html"), PathBuf::from);
    let path = world.places.project.join(args.out.clone().unwrap_or(name));
    if path.exists() && !args.force {
        return Err(CommandError::refused(format!("{} exists", path.display())).hint("pass `--force` to replace it"));
    }
    let unable = |error: std::io::Error| CommandError::io(format!("cannot write {}", path.display()), &error);
    fs::write(&path, &copy.html).map_err(unable)?;
    if world.json {
        return CommandOutput::json(&json!({ "run": found.id, "file": path, "bytes": copy.html.len() }));
    }
    let shown = clean_path(&path.display().to_string()).into_owned();
    let notes = "Secrets that Maestro recognized are masked; read it before you send it.\n";
    Ok(CommandOutput::text(format!("Wrote {shown}\n")).with_notes(notes))
}
