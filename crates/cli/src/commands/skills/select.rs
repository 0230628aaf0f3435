//! `maestro skills select`: the skills for a task, as an event's payload.

use std::fmt::Write as _;
use std::sync::Arc;

use maestro_core::plan::skill_hints;
use maestro_core::{RunId, Settings};
use maestro_skills::{Catalogue, SelectionResult, SkillSelector, TaskNeeds};

use crate::args::SkillTaskArgs;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::clean;

pub(super) fn run(
    catalogue: &Arc<Catalogue>,
    args: &SkillTaskArgs,
    settings: &Settings,
    world: &World,
) -> CommandResult {
    let selection = choose(&SkillSelector::for_task(Arc::clone(catalogue), &args.task), args, settings)?;
    if world.json {
        return CommandOutput::json(&selection.record);
    }
    let mut text = String::new();
    for skill in &selection.record.skills {
        let _ = writeln!(text, "{}  {}", world.paint.skill(&clean(&skill.name)), clean(&skill.reason));
    }
    if selection.record.skills.is_empty() {
        text.push_str("none\n");
    }
    let mut notes = String::new();
    for error in &selection.record.errors {
        let _ = writeln!(notes, "{} {}", world.note_paint.warning("warning:"), clean(error));
    }
    Ok(CommandOutput::text(text).with_notes(notes))
}

/// Selects the skills for the arguments. Outside a run it gets a run ID of its own.
pub(super) fn choose(
    selector: &SkillSelector,
    args: &SkillTaskArgs,
    settings: &Settings,
) -> CommandResult<SelectionResult> {
    let label = args.task.trim();
    if label.is_empty() {
        return Err(CommandError::invalid("the task is empty").hint("pass a task in quotes"));
    }
    let (step, most) = args.step.with_limit(settings);
    let hints = skill_hints(label);
    let needs = TaskNeeds { label, hints: &hints, step, most };
    Ok(selector.select(RunId::new(uuid::Uuid::now_v7()), needs))
}
