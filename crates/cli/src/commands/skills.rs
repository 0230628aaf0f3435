//! `maestro skills`: the catalogue from the command line.

mod list;
mod read;
mod roles;
mod show;
mod validate;

use maestro_core::Severity;
use maestro_skills::{Catalogue, Entry, Heading, Lookup, Skill};
use serde::Serialize;

use crate::args::{SkillsArgs, SkillsCommand};
use crate::catalogue;
use crate::error::CommandError;
use crate::reply::Reply;
use crate::world::World;

pub(crate) fn run(args: &SkillsArgs, world: &World) -> Result<Reply, CommandError> {
    let load = match &args.command {
        SkillsCommand::Validate { .. } => catalogue::load_strictly,
        _ => catalogue::load,
    };
    let catalogue = load(world, &args.dirs.dirs)?;
    let reply = match &args.command {
        SkillsCommand::List => return Ok(list::run(catalogue, world)),
        SkillsCommand::Read { names } => read::run(&catalogue, names, world),
        SkillsCommand::Show { name } => show::run(&catalogue, name, world),
        SkillsCommand::Validate { names } => validate::run(&catalogue, names, world),
        SkillsCommand::Roles { role } => roles::run(&catalogue, role.as_deref(), world),
    };
    // The process ends now; taking ten thousand skills apart first would only keep somebody waiting.
    std::mem::forget(catalogue);
    reply
}

/// A skill in a list for programs.
#[derive(Debug, Serialize)]
struct Row<'a> {
    name: &'a str,
    description: &'a str,
    path: String,
    location: maestro_skills::Location,
    format: maestro_skills::Format,
    source: maestro_skills::Source,
    display_name: &'a str,
    #[serde(rename = "type")]
    kind: maestro_skills::SkillType,
    version: &'a str,
}

impl<'a> From<&'a Entry> for Row<'a> {
    fn from(skill: &'a Entry) -> Self {
        let Heading { id, description, location, format, source, display_name, kind, version } = skill.heading();
        let path = skill.path().to_string_lossy().into_owned();
        Self { name: id, description, path, location, format, source, display_name, kind, version }
    }
}

/// The skill of that name, or why there is none.
fn find<'a>(catalogue: &'a Catalogue, name: &str) -> Result<&'a Skill, CommandError> {
    match catalogue.find(name) {
        Lookup::Found(skill) => Ok(skill),
        Lookup::Ambiguous(skills) => {
            let ids: Vec<&str> = skills.iter().map(|skill| skill.id.as_str()).collect();
            Err(CommandError::invalid(format!("several skills are called `{name}`"))
                .hint(format!("name one of them by its id: {}", ids.join(", "))))
        }
        Lookup::Broken(broken) => {
            let errors = catalogue.problems_of(&broken.path).filter(|problem| problem.severity == Severity::Error);
            Err(CommandError::invalid(format!("the skill `{name}` is there but cannot be loaded"))
                .because_of(errors)
                .hint("mend the file, then try again"))
        }
        Lookup::Missing { closest } => {
            let error = CommandError::not_found(format!("there is no skill `{name}`"));
            Err(match closest {
                Some(close) => error.hint(format!("did you mean `{close}`?")),
                None => error.hint("`maestro skills list` shows every skill"),
            })
        }
    }
}
