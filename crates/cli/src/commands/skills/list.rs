//! `maestro skills list`: every skill, shadowed skills, and problems.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;

use maestro_core::{Problem, ProblemSeverity};
use maestro_skills::{Catalogue, CatalogueEntry, RootOwner, ShadowedSkill, SkillHeading};
use serde::{Serialize, Serializer};

use super::SkillRow;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, write_json};
use crate::output::screen::{self, TextStyle, clean, count, fit, pad};

/// Maximum width of names.
const WIDEST_NAME: usize = 40;
/// Maximum width of the owner of a directory.
const WIDEST_OWNER: usize = 24;
/// Maximum number of listed shadowed skills.
const MOST_SHADOWED: usize = 10;
/// Maximum number of problems in full; `maestro doctor` shows all.
const MOST_PROBLEMS: usize = 10;

/// What programs get.
#[derive(Debug, Serialize)]
struct SkillListing<'a> {
    #[serde(serialize_with = "rows")]
    skills: Vec<(&'a str, &'a CatalogueEntry)>,
    problems: &'a [Problem],
    shadowed: Vec<ShadowedRow<'a>>,
}

/// Each row is written in turn, not collected first.
fn rows<S: Serializer>(skills: &[(&str, &CatalogueEntry)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(skills.iter().map(|&(_, skill)| SkillRow::from(skill)))
}

#[derive(Debug, Serialize)]
struct ShadowedRow<'a> {
    name: &'a str,
    description: &'a str,
    path: String,
    location: maestro_skills::SkillLocation,
    format: maestro_skills::SkillFormat,
    source: maestro_skills::SkillSource,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<&'a RootOwner>,
    shadowed_by: String,
    same_files: bool,
}

impl<'a> From<&'a ShadowedSkill> for ShadowedRow<'a> {
    fn from(shadowed: &'a ShadowedSkill) -> Self {
        let SkillHeading { id, description, location, format, source, .. } = shadowed.skill.heading();
        Self {
            name: id,
            description,
            path: shadowed.skill.path().to_string_lossy().into_owned(),
            location,
            format,
            source,
            owner: shadowed.skill.owner(),
            shadowed_by: shadowed.shadowed_by.to_string_lossy().into_owned(),
            same_files: shadowed.same_files,
        }
    }
}

pub(super) fn run(catalogue: Arc<Catalogue>, world: &World) -> CommandOutput {
    if world.json {
        return CommandOutput::stream(move |out| {
            let listing = SkillListing {
                skills: by_id(&catalogue),
                problems: &catalogue.problems,
                shadowed: catalogue.shadowed.iter().map(ShadowedRow::from).collect(),
            };
            write_json(out, &listing)
        });
    }
    let summary = format!("{}{}", shadowed(&catalogue, world), summary(&catalogue, world));
    let notes = failed_skills(&catalogue, world);
    let (paint, line) = (world.paint, world.width);
    CommandOutput::stream(move |out| {
        table(&by_id(&catalogue), paint, line, out)?;
        out.write_all(summary.as_bytes())
    })
    .with_notes(notes)
}

fn by_id(catalogue: &Catalogue) -> Vec<(&str, &CatalogueEntry)> {
    let mut skills: Vec<(&str, &CatalogueEntry)> = catalogue.skills.iter().map(|skill| (skill.id(), skill)).collect();
    skills.sort_by_key(|(id, _)| *id);
    skills
}

fn table(
    skills: &[(&str, &CatalogueEntry)],
    paint: TextStyle,
    line: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if skills.is_empty() {
        return out.write_all(b"No skills found. Run `maestro doctor` for the directories.\n\n");
    }
    let width = skills.iter().map(|(id, _)| screen::columns(&clean(id))).max().unwrap_or_default().min(WIDEST_NAME);
    let owners = skills.iter().filter_map(|(_, skill)| skill.owner());
    let owner_width =
        owners.map(|owner| screen::columns(&clean(&owner.label()))).max().unwrap_or_default().min(WIDEST_OWNER);
    // A pipe gets the whole text; on a terminal a line is cut to fit.
    let room = line.map_or(usize::MAX, |line| line.saturating_sub(width + owner_width + 16).max(20));
    for (id, skill) in skills {
        let SkillHeading { description, source, .. } = skill.heading();
        let name = paint.skill(&pad(&fit(&clean(id), width), width));
        let owner = skill.owner().map(RootOwner::label).unwrap_or_default();
        let owner = pad(&fit(&clean(&owner), owner_width), owner_width);
        let place = format!("{}  {owner}", pad(&source.to_string(), 9));
        writeln!(out, "{name}  {}  {}", paint.dim(&place), fit(&clean(description), room))?;
    }
    out.write_all(b"\n")
}

/// Shadowed skills, up to a limit.
fn shadowed(catalogue: &Catalogue, world: &World) -> String {
    let mut text = String::new();
    for other in catalogue.shadowed.iter().take(MOST_SHADOWED) {
        let (hidden, by) = (world.display_path(&other.skill.path), world.display_path(&other.shadowed_by));
        let how = if other.same_files { "is the same as" } else { "is shadowed by" };
        let _ = writeln!(text, "{}", world.paint.dim(&format!("{} {how} {}", clean(&hidden), clean(&by))));
    }
    if catalogue.shadowed.len() > MOST_SHADOWED {
        let _ = writeln!(text, "… and {} more are shadowed", catalogue.shadowed.len() - MOST_SHADOWED);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

fn summary(catalogue: &Catalogue, world: &World) -> String {
    let mut parts = vec![count(catalogue.skills.len(), "skill", "skills")];
    if catalogue.not_loaded() > 0 {
        parts.push(world.paint.error(&format!("{} not loaded", catalogue.not_loaded())));
    }
    let warnings = catalogue.problems.iter().filter(|problem| problem.severity == ProblemSeverity::Warning).count();
    if warnings > 0 {
        let told = format!("{} (maestro doctor)", count(warnings, "warning", "warnings"));
        parts.push(world.paint.warning(&told));
    }
    if !catalogue.shadowed.is_empty() {
        parts.push(format!("{} shadowed", catalogue.shadowed.len()));
    }
    format!("{}\n", parts.join(", "))
}

/// Problems that cost a skill, in full up to a limit.
fn failed_skills(catalogue: &Catalogue, world: &World) -> String {
    let errors: Vec<&Problem> =
        catalogue.problems.iter().filter(|problem| problem.severity == ProblemSeverity::Error).collect();
    let mut text: String =
        errors.iter().take(MOST_PROBLEMS).map(|problem| screen::problem(problem, world.note_paint)).collect();
    if errors.len() > MOST_PROBLEMS {
        let _ = writeln!(text, "… and {} more errors: maestro doctor", errors.len() - MOST_PROBLEMS);
    }
    text
}
