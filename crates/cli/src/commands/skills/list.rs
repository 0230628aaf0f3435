//! `maestro skills list`: every skill, what hides what, and what is wrong.

use std::fmt::Write as _;

use maestro_core::{Problem, Severity};
use maestro_skills::{Catalogue, Shadowed, Skill};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use super::Row;
use crate::error::CommandError;
use crate::reply::Reply;
use crate::screen::{self, clean, count, fit, pad};
use crate::world::World;

/// How wide names may become before they are cut.
const WIDEST_NAME: usize = 40;
/// How many problems are shown in full; `maestro doctor` shows them all.
const MOST_PROBLEMS: usize = 10;

/// What programs get.
#[derive(Debug, Serialize)]
struct Listing<'a> {
    skills: Vec<Row<'a>>,
    problems: &'a [Problem],
    shadowed: Vec<ShadowedRow<'a>>,
}

#[derive(Debug, Serialize)]
struct ShadowedRow<'a> {
    name: &'a str,
    description: &'a str,
    path: String,
    location: maestro_skills::Location,
    format: maestro_skills::Format,
    source: maestro_skills::Source,
    shadowed_by: String,
    same_files: bool,
}

impl<'a> From<&'a Shadowed> for ShadowedRow<'a> {
    fn from(shadowed: &'a Shadowed) -> Self {
        let skill = shadowed.skill.as_ref();
        Self {
            name: skill.id.as_str(),
            description: &skill.description,
            path: skill.path.to_string_lossy().into_owned(),
            location: skill.location,
            format: skill.format,
            source: skill.source,
            shadowed_by: shadowed.shadowed_by.to_string_lossy().into_owned(),
            same_files: shadowed.same_files,
        }
    }
}

pub(super) fn run(catalogue: &Catalogue, world: &World) -> Result<Reply, CommandError> {
    let mut skills: Vec<&Skill> = catalogue.skills.iter().map(AsRef::as_ref).collect();
    skills.sort_by(|a, b| a.id.cmp(&b.id));
    if world.json {
        return Reply::json(&Listing {
            skills: skills.into_iter().map(Row::from).collect(),
            problems: &catalogue.problems,
            shadowed: catalogue.shadowed.iter().map(ShadowedRow::from).collect(),
        });
    }
    let mut text = table(&skills, world);
    text.push_str(&summary(catalogue, world));
    Ok(Reply::text(text).with_notes(worst(catalogue, world)))
}

fn table(skills: &[&Skill], world: &World) -> String {
    if skills.is_empty() {
        return "No skills were found. `maestro doctor` shows where was looked.\n\n".to_owned();
    }
    let names: Vec<_> = skills.iter().map(|skill| clean(skill.id.as_str())).collect();
    let width = names.iter().map(|name| name.width()).max().unwrap_or_default().min(WIDEST_NAME);
    let mut text = String::new();
    for (skill, name) in skills.iter().zip(&names) {
        let source = skill.source.to_string();
        let description = clean(&skill.description);
        // Into a pipe everything goes whole; on a terminal a line is a line.
        let room = world.width.map_or(usize::MAX, |columns| columns.saturating_sub(width + 14).max(20));
        let _ = writeln!(
            text,
            "{}  {}  {}",
            world.paint.skill(&pad(&fit(name, width), width)),
            world.paint.dim(&pad(&source, 9)),
            fit(&description, room)
        );
    }
    text.push('\n');
    text
}

fn summary(catalogue: &Catalogue, world: &World) -> String {
    let mut parts = vec![count(catalogue.skills.len(), "skill", "skills")];
    if catalogue.not_loaded() > 0 {
        parts.push(world.paint.error(&format!("{} not loaded", catalogue.not_loaded())));
    }
    let warnings = catalogue.problems.iter().filter(|problem| problem.severity == Severity::Warning).count();
    if warnings > 0 {
        let told = format!("{} (maestro doctor)", count(warnings, "warning", "warnings"));
        parts.push(world.paint.warning(&told));
    }
    if !catalogue.shadowed.is_empty() {
        parts.push(format!("{} shadowed (maestro skills show NAME)", catalogue.shadowed.len()));
    }
    format!("{}\n", parts.join(", "))
}

/// The problems that cost a skill, in full as long as they are few.
fn worst(catalogue: &Catalogue, world: &World) -> String {
    let errors: Vec<&Problem> =
        catalogue.problems.iter().filter(|problem| problem.severity == Severity::Error).collect();
    let mut text: String =
        errors.iter().take(MOST_PROBLEMS).map(|problem| screen::problem(problem, world.note_paint)).collect();
    if errors.len() > MOST_PROBLEMS {
        let _ = writeln!(text, "… and {} more errors: maestro doctor", errors.len() - MOST_PROBLEMS);
    }
    text
}
