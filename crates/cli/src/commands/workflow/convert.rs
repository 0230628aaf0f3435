//! `maestro workflow convert`: a workflow to start from, for a skill that has instructions only.

use maestro_engine::instructed;
use maestro_skills::{Catalogue, Lookup, Source};
use serde_json::json;

use crate::host::files;
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;

/// Whether it is written to the skill's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// It is printed.
    Printed,
    /// It is written.
    Written,
}

pub(super) fn run(catalogue: &Catalogue, name: &str, place: Where, world: &World) -> Result<Reply, CommandError> {
    let Lookup::Found(skill) = catalogue.find(name) else {
        return Err(CommandError::not_found(format!("there is no skill `{name}`"))
            .hint("`maestro skills list` shows every skill"));
    };
    if let Some(file) = &skill.workflow {
        return Err(CommandError::invalid(format!("`{name}` has a workflow already: {file}"))
            .hint(format!("`maestro workflow show {name}` shows it")));
    }
    let text = instructed::definition(skill);
    if place == Where::Printed {
        return if world.json { Reply::json(&json!({ "workflow": text })) } else { Ok(Reply::text(text)) };
    }
    if skill.source == Source::Builtin {
        return Err(CommandError::invalid(format!("`{name}` came with the program, and what did is not changed"))
            .hint("copy the skill to one of your own directories first"));
    }
    let path = skill.path.join("workflow.yaml");
    files::create(&path, &text)
        .map_err(|error| CommandError::io(format!("`{}` cannot be written", path.display()), &error))?;
    let shown = world.short(&path);
    if world.json {
        return Reply::json(&json!({ "path": path.to_string_lossy() }));
    }
    Ok(Reply::text(format!("{shown} is written. `maestro workflow check {shown}` looks whether it is sound.\n")))
}
