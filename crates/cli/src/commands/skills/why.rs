//! `maestro skills why`: how one skill fits a task, by meaning and word by word.

use std::fmt::Write as _;
use std::sync::Arc;

use maestro_core::event::SkillVerdict;
use maestro_core::plan::skill_hints;
use maestro_skills::{Catalogue, SkillSelector};
use serde_json::json;

use super::find;
use super::reasons::{phrase_text, score_text};
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::{clean, pad};

pub(super) fn run(catalogue: &Arc<Catalogue>, name: &str, task: &str, world: &World) -> CommandResult {
    let skill = find(catalogue, name)?;
    let selector = SkillSelector::for_task(Arc::clone(catalogue), task);
    let (standing, bar) = selector.explain(task, &skill_hints(task), skill);
    if world.json {
        return CommandOutput::json(&json!({ "name": skill.id, "standing": standing, "threshold": bar }));
    }
    let shown = world.paint.skill(&clean(skill.id.as_str()));
    let Some(standing) = standing else {
        return Ok(CommandOutput::text(format!(
            "{shown} is not selected: none of the task's words are in its name, description or text\n"
        )));
    };
    let mut text = match standing.verdict {
        SkillVerdict::Hinted => format!("{shown} is selected: the task names it\n"),
        SkillVerdict::Excluded => format!("{shown} is not selected: the task excludes it\n"),
        SkillVerdict::Chosen => format!("{shown} is selected\n"),
        SkillVerdict::NotByModel => format!("{shown} is only selected when named\n"),
        SkillVerdict::BelowThreshold | SkillVerdict::AddsLittle | SkillVerdict::NoRoom => {
            format!("{shown} is not selected\n")
        }
    };
    let _ = writeln!(text, "{}\n", score_text(&standing, bar));
    if let Some(meaning) = standing.meaning {
        let phrases = selector.nearest_phrases(task, skill);
        let _ = writeln!(text, "meaning {meaning:.2}{}", phrase_text(&phrases));
        let none = if standing.terms.is_empty() { ": none in common" } else { "" };
        let _ = writeln!(text, "words   {:.1}{none}", standing.words);
    }
    for term in &standing.terms {
        let _ = writeln!(text, "  {:>5.1}  {}", term.adds, pad(&clean(&term.word), 20).trim_end());
    }
    Ok(CommandOutput::text(format!("{}\n", text.trim_end())))
}
