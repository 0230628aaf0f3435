//! `maestro skills why`: the score of one skill for a task, word by word.

use std::fmt::Write as _;
use std::sync::Arc;

use maestro_core::event::SkillVerdict;
use maestro_core::plan::skill_hints;
use maestro_skills::{Catalogue, SkillSelector};
use serde_json::json;

use super::find;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::{clean, pad};

pub(super) fn run(catalogue: &Arc<Catalogue>, name: &str, task: &str, world: &World) -> CommandResult {
    let skill = find(catalogue, name)?;
    let selector = SkillSelector::for_task(Arc::clone(catalogue), task);
    let standing = selector.explain(task, &skill_hints(task), skill);
    if world.json {
        return CommandOutput::json(
            &json!({ "name": skill.id, "standing": standing, "threshold": selector.threshold() }),
        );
    }
    let shown = world.paint.skill(&clean(skill.id.as_str()));
    let Some(standing) = standing else {
        return Ok(CommandOutput::text(format!(
            "{shown} scores 0.0: none of the task's words are in its name, description or text\n"
        )));
    };
    let (score, bar) = (standing.score, selector.threshold());
    let mut text = match standing.verdict {
        SkillVerdict::Hinted => format!("{shown} is selected: the task names it\n\n"),
        SkillVerdict::Excluded => format!("{shown} is not selected: the task excludes it\n\n"),
        SkillVerdict::Chosen => format!("{shown} scores {score:.1}; selected from {bar:.1}\n\n"),
        SkillVerdict::NotByModel => {
            format!("{shown} scores {score:.1}, but is only selected when named\n\n")
        }
        SkillVerdict::BelowThreshold | SkillVerdict::AddsLittle | SkillVerdict::NoRoom => {
            format!("{shown} scores {score:.1}; not selected below {bar:.1}\n\n")
        }
    };
    for term in &standing.terms {
        let _ = writeln!(text, "  {:>5.1}  {}", term.adds, pad(&clean(&term.word), 20).trim_end());
    }
    Ok(CommandOutput::text(format!("{}\n", text.trim_end())))
}
