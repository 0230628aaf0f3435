//! `maestro skills index`: everything that selection needs, computed in advance.

use maestro_skills::Catalogue;
use serde_json::json;

use crate::host::skill_vectors::VectorCounts;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::count;

pub(super) fn run(catalogue: &Catalogue, counts: VectorCounts, world: &World) -> CommandResult {
    let VectorCounts { computed, missing } = counts;
    let skills = catalogue.skills.len();
    if world.json {
        return CommandOutput::json(&json!({ "skills": skills, "computed": computed, "missing": missing }));
    }
    let unread = if missing > 0 { format!("{missing} cannot be read\n") } else { String::new() };
    Ok(CommandOutput::text(format!("{}, {computed} new\n{unread}", count(skills, "skill", "skills"))))
}
