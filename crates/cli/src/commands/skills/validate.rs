//! `maestro skills validate`: a check of every skill against the Agent Skills rules.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use maestro_core::{Problem, ProblemSeverity};
use maestro_skills::{Catalogue, NameLookup, check_text};
use serde_json::json;

use super::find;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::ExitKind;
use crate::output::screen::{self, count};

pub(super) fn run(catalogue: &Catalogue, names: &[String], world: &World) -> CommandResult {
    let wanted = directories(catalogue, names)?;
    let concerns = |problem: &&Problem| wanted.iter().any(|directory| problem.path.starts_with(directory));
    let texts: Vec<Problem> = catalogue.skills.iter().flat_map(|skill| check_text(skill)).collect();
    let all = catalogue.problems.iter().chain(&texts);
    let problems: Vec<&Problem> = if names.is_empty() { all.collect() } else { all.filter(concerns).collect() };
    let errors = problems.iter().filter(|problem| problem.severity == ProblemSeverity::Error).count();
    let exit = if errors == 0 { ExitKind::Ok } else { ExitKind::Failed };
    if world.json {
        return Ok(CommandOutput::json(&json!({ "valid": errors == 0, "problems": problems }))?.with_exit(exit));
    }
    let mut text: String = problems.iter().map(|problem| screen::problem(problem, world.paint)).collect();
    let checked = if names.is_empty() { catalogue.skills.len() + catalogue.not_loaded() } else { wanted.len() };
    let _ = writeln!(
        text,
        "{} checked: {}, {}",
        count(checked, "skill", "skills"),
        count(errors, "error", "errors"),
        count(problems.len() - errors, "warning", "warnings")
    );
    Ok(CommandOutput::text(text).with_exit(exit))
}

/// The directories of the named skills, including those too broken to load.
fn directories(catalogue: &Catalogue, names: &[String]) -> CommandResult<BTreeSet<PathBuf>> {
    names
        .iter()
        .map(|name| match catalogue.find(name) {
            NameLookup::Broken(broken) => Ok(broken.path.clone()),
            _ => find(catalogue, name).map(|skill| skill.path.clone()),
        })
        .collect()
}
