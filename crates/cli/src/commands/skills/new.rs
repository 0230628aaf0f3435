//! `maestro skills new`: a skill to start from, and the tasks that would get it.

use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use maestro_skills::{Catalogue, name_fault, valid_name};
use serde_json::Value as Json;

use super::find;
use super::wins::TaskContests;
use crate::args::SkillNewArgs;
use crate::host::files;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::clean_path;

/// Characters that a description may have.
const DESCRIPTION: usize = 1024;

/// Writes the skill's file, before the catalogue is read.
pub(super) fn write(args: &SkillNewArgs, world: &World) -> CommandResult<()> {
    if let Some(fault) = name_fault(&args.name) {
        return Err(CommandError::invalid(format!("`{}` cannot be a skill's name: {fault}", args.name))
            .hint(format!("for example: `maestro skills new {} \"…\"`", valid_name(&args.name))));
    }
    let description = args.description.split_whitespace().collect::<Vec<_>>().join(" ");
    if description.is_empty() || description.chars().count() > DESCRIPTION {
        return Err(CommandError::invalid(format!("a description has 1 to {DESCRIPTION} characters"))
            .hint("say what the skill does, and when to use it: \"Write price lists. Use when …\""));
    }
    let path = file(args, world);
    if !args.user && !files::stays_inside(&path, &world.places.project) {
        return Err(
            CommandError::refused("`.agents/skills` leads out of the project").hint("replace the link by a folder")
        );
    }
    files::create(&path, &text(&args.name, &description)).map_err(|error| {
        let shown = clean_path(&world.display_path(&path)).into_owned();
        if error.kind() == ErrorKind::AlreadyExists {
            return CommandError::refused(format!("{shown} already exists")).hint("edit it, or choose another name");
        }
        CommandError::io(format!("cannot write {shown}"), &error).hint("check the permissions of the folder")
    })
}

fn file(args: &SkillNewArgs, world: &World) -> PathBuf {
    let place = if args.user { &world.places.home } else { &world.places.project };
    place.join(".agents/skills").join(&args.name).join("SKILL.md")
}

fn text(name: &str, description: &str) -> String {
    let mut title = name.replace('-', " ");
    if let Some(first) = title.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    // A JSON text is a YAML text, whatever it contains.
    let description = Json::from(description).to_string();
    format!(
        "---\nname: {name}\ndescription: {description}\n---\n\n# {title}\n\nReplace this by what an agent should do, in \
         the order in which it does it. Keep it short: what is only\nneeded sometimes goes into files in `references/`, \
         named here with when to read them.\n"
    )
}

/// Says where it is and which typical tasks would get it.
pub(super) fn run(catalogue: &Arc<Catalogue>, args: &SkillNewArgs, world: &World) -> CommandResult {
    let skill = find(catalogue, &args.name)?;
    let contests = TaskContests::of(catalogue, skill);
    if world.json {
        return contests.to_json(skill);
    }
    let shown = world.display_path(&file(args, world));
    let hides = catalogue.shadowed.iter().filter(|one| one.shadowed_by == skill.path && !one.same_files);
    let hides = hides.fold(String::new(), |mut text, one| {
        let path = world.display_path(&one.skill.path());
        let _ = writeln!(text, "It takes the place of {}, which has the same name.", clean_path(&path));
        text
    });
    Ok(CommandOutput::text(format!(
        "Wrote {}\n{hides}\n{}\nEdit it, then run `maestro skills validate` and `maestro skills try \"TASK\"`.\n",
        clean_path(&shown),
        contests.to_text(skill, world)
    )))
}
