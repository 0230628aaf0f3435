//! The block that OpenSkills writes to `AGENTS.md`: its skills, and the table that replaces it.

use maestro_skills::NameLookup;

use super::{ImportAct, ImportItem, ImportPlan, read_text};
use crate::args::ImportSource;
use crate::host::world::World;
use crate::host::{catalogue, config};
use crate::output::command_output::CommandResult;
use crate::output::screen::count;

/// The command that its block tells agents to run.
pub(super) const COMMAND: &str = "npx openskills read";
/// How many names a line has.
const NAMED: usize = 10;

pub(super) fn look(world: &World) -> CommandResult<ImportPlan> {
    let mut plan = ImportPlan::new(ImportSource::Openskills);
    let text = read_text(&world.places.project.join("AGENTS.md")).unwrap_or_default();
    if !text.contains(COMMAND) {
        return Ok(plan);
    }
    let names = skill_names(&text);
    let found = catalogue::load(world, &[], &config::settings(world)?)?;
    let (here, gone): (Vec<&String>, Vec<&String>) =
        names.iter().partition(|name| matches!(found.find(name), NameLookup::Found(_)));
    let what = format!(
        "the table of skills in AGENTS.md, as `maestro skills sync` writes it; {} of its {} here",
        here.len(),
        count(names.len(), "skill is", "skills are")
    );
    plan.items.push(ImportItem { what, act: ImportAct::SyncSkills });
    let shown: Vec<&str> = gone.iter().take(NAMED).map(|name| name.as_str()).collect();
    if !gone.is_empty() {
        let more = gone.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        plan.left
            .push(format!("not found in any skill folder: {}{more}; `maestro skills add` adds some", shown.join(", ")));
    }
    Ok(plan)
}

/// The names in a block, which OpenSkills does not escape.
fn skill_names(text: &str) -> Vec<String> {
    let names = text.split("<name>").skip(1).filter_map(|rest| rest.split_once("</name>"));
    names.map(|(name, _)| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_a_block_are_read() {
        let block = "<skill>\n<name>pdf</name>\n<description>a</description>\n</skill>\n\n<skill>\n<name> sql </name>\n<name></name><name>cut";
        assert_eq!(skill_names(block), ["pdf", "sql"]);
    }
}
