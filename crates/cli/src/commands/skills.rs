//! `maestro skills`: the catalogue from the command line.

mod index;
mod install;
mod list;
mod new;
mod prompt;
mod read;
mod reasons;
mod roles;
mod select;
mod show;
mod sync;
mod test;
mod try_task;
mod validate;
mod why;
mod wins;

use std::fmt::Write as _;
use std::sync::Arc;

use maestro_core::ProblemSeverity;
use maestro_core::settings::SkillValidation;
use maestro_skills::render::{CutDescription, FittedTable};
use maestro_skills::{Catalogue, CatalogueEntry, NameLookup, ShadowedSkill, Skill, SkillHeading};
use serde::Serialize;

use self::install::WriteConsent;
pub(crate) use self::sync::is_table_old;
use crate::args::{SkillsArgs, SkillsCommand, SyncArgs};
use crate::host::skill_vectors::{self, VectorEffort};
use crate::host::world::World;
use crate::host::{catalogue, config};
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::output::screen::{clean, count};

pub(crate) fn run(args: &SkillsArgs, world: &World) -> CommandResult {
    match &args.command {
        SkillsCommand::Add(args) => return install::add(args, world),
        SkillsCommand::Remove { names, yes } => return install::remove(names, WriteConsent::of(*yes), world),
        SkillsCommand::Update { names, yes } => return install::update(names, WriteConsent::of(*yes), world),
        SkillsCommand::Outdated => return install::outdated(world),
        SkillsCommand::New(args) => new::write(args, world)?,
        _ => {}
    }
    show(args, world)
}

/// Commands about the skills that are here.
fn show(args: &SkillsArgs, world: &World) -> CommandResult {
    let mut settings = config::settings(world)?;
    if matches!(args.command, SkillsCommand::Validate { .. }) {
        // It checks by the rules of the standard, whatever the settings.
        settings.skills_validation.value = SkillValidation::Strict;
    }
    let mut catalogue = catalogue::load(world, &args.dirs.dirs, &settings)?;
    let effort = match &args.command {
        SkillsCommand::Select(_)
        | SkillsCommand::Try(_)
        | SkillsCommand::Why { .. }
        | SkillsCommand::Test { .. }
        | SkillsCommand::New(_)
        | SkillsCommand::Show { wins: true, .. } => Some(VectorEffort::Few),
        SkillsCommand::Index => Some(VectorEffort::All),
        _ => None,
    };
    let vectors = effort.map(|effort| skill_vectors::attach(&mut catalogue, effort, &settings, world));
    let catalogue = Arc::new(catalogue);
    let reply = match &args.command {
        SkillsCommand::List => Ok(list::run(Arc::clone(&catalogue), world)),
        SkillsCommand::Read { names } => read::run(&catalogue, names, world),
        SkillsCommand::Show { name, wins: true } => wins::run(&catalogue, find(&catalogue, name)?, world),
        SkillsCommand::Show { name, wins: false } => show::run(&catalogue, name, world),
        SkillsCommand::Validate { names } => validate::run(&catalogue, names, world),
        SkillsCommand::Index => index::run(&catalogue, vectors.unwrap_or_default(), world),
        SkillsCommand::Select(args) => select::run(&catalogue, args, &settings, world),
        SkillsCommand::Try(args) => try_task::run(&catalogue, args, &settings, world),
        SkillsCommand::Test { file } => test::run(&catalogue, file.as_deref(), &settings, world),
        SkillsCommand::Why { name, task } => why::run(&catalogue, name, task, world),
        SkillsCommand::Prompt(args) => prompt::run(&catalogue, args, &settings, world),
        SkillsCommand::Sync(args) => sync::run(&catalogue, args, &settings, world),
        SkillsCommand::Roles { role } => roles::run(&catalogue, role.as_deref(), world),
        SkillsCommand::New(args) => new::run(&catalogue, args, world),
        SkillsCommand::Add(_)
        | SkillsCommand::Remove { .. }
        | SkillsCommand::Update { .. }
        | SkillsCommand::Outdated => Err(CommandError::internal("it is no command about the skills that are here")),
    };
    // The process ends now; freeing ten thousand skills first would only cost time.
    std::mem::forget(catalogue);
    reply
}

/// Replaces the table of skills in the project's `AGENTS.md`.
pub(crate) fn sync_table(world: &World) -> CommandResult<()> {
    let settings = config::settings(world)?;
    let catalogue = catalogue::load(world, &[], &settings)?;
    let args = SyncArgs { output: world.places.project.join("AGENTS.md"), check: false };
    sync::run(&catalogue, &args, &settings, world).map(drop)
}

/// A skill in a list for programs.
#[derive(Debug, Serialize)]
struct SkillRow<'a> {
    name: &'a str,
    description: &'a str,
    path: String,
    location: maestro_skills::SkillLocation,
    format: maestro_skills::SkillFormat,
    source: maestro_skills::SkillSource,
    display_name: &'a str,
    #[serde(rename = "type")]
    kind: maestro_skills::SkillType,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<&'a maestro_skills::RootOwner>,
}

impl<'a> From<&'a CatalogueEntry> for SkillRow<'a> {
    fn from(skill: &'a CatalogueEntry) -> Self {
        let SkillHeading { id, description, location, format, source, display_name, kind, version } = skill.heading();
        let path = skill.path().to_string_lossy().into_owned();
        let owner = skill.owner();
        Self { name: id, description, path, location, format, source, display_name, kind, version, owner }
    }
}

/// Names from arguments, which may also be separated by commas.
fn split_names(names: &[String]) -> impl Iterator<Item = &str> {
    names.iter().flat_map(|names| names.split(',')).map(str::trim).filter(|name| !name.is_empty())
}

/// Maximum number of names in a note.
const MOST_NAMES: usize = 10;

/// What was cut from a table to fit its budget.
fn budget_note(table: &FittedTable, budget: usize) -> String {
    let mut notes = String::new();
    if !table.cut.is_empty() {
        let what = count(table.cut.len(), "description is", "descriptions are");
        let names =
            table.cut.iter().map(|CutDescription { name, kept, of }| format!("{name} ({kept} of {of} characters)"));
        let _ = writeln!(notes, "{what} cut to fit {budget} tokens: {}", first_names(names));
    }
    if !table.left_out.is_empty() {
        let what = count(table.left_out.len(), "skill is", "skills are");
        let _ =
            writeln!(notes, "{what} left out to fit {budget} tokens: {}", first_names(table.left_out.iter().cloned()));
    }
    if !notes.is_empty() {
        notes.push_str("hint: set `skills_budget_tokens` to change the budget\n");
    }
    notes
}

/// The first of some names, and how many more there are.
fn first_names(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(MOST_NAMES);
    let mut listed = names.take(MOST_NAMES).map(|name| clean(&name).into_owned()).collect::<Vec<_>>().join(", ");
    if more > 0 {
        let _ = write!(listed, " and {more} more (--json lists all)");
    }
    listed
}

/// The skill of that name, or why there is none.
pub(crate) fn find<'a>(catalogue: &'a Catalogue, name: &str) -> CommandResult<&'a Skill> {
    match catalogue.find(name) {
        NameLookup::Found(skill) => Ok(skill),
        NameLookup::Ambiguous(skills) => {
            let ids: Vec<&str> = skills.iter().map(|skill| skill.id.as_str()).collect();
            Err(CommandError::invalid(format!("several skills are named `{name}`"))
                .hint(format!("use an ID: {}", ids.join(", "))))
        }
        NameLookup::Broken(broken) => {
            let errors =
                catalogue.problems_of(&broken.path).filter(|problem| problem.severity == ProblemSeverity::Error);
            Err(CommandError::invalid(format!("cannot load the skill `{name}`"))
                .because_of(errors)
                .hint("fix that; `maestro skills validate` checks it again"))
        }
        NameLookup::Missing { closest } => {
            let directory = |other: &&ShadowedSkill| other.skill.directory_name() == name;
            if let Some(hidden) = catalogue.shadowed.iter().find(directory) {
                let id = hidden.skill.id.as_str();
                return Err(CommandError::not_found(format!("`{name}` is the directory of a `{id}` that is shadowed"))
                    .hint(format!("`{id}` is the one in {}", hidden.shadowed_by.display())));
            }
            let error = CommandError::not_found(format!("unknown skill `{name}`"));
            Err(match closest {
                Some(close) => error.hint(format!("did you mean `{close}`?")),
                None => error.hint("run `maestro skills list` for the list"),
            })
        }
    }
}
