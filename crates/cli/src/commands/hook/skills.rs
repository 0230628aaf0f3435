//! Skills that fit a prompt, as text for the model.

use std::sync::Arc;

use maestro_core::excerpt::first_chars;
use maestro_core::plan::skill_hints;
use maestro_core::{RunId, StepKind};
use maestro_skills::render::{BodyPart, ReferenceMode, also_here, body};
use maestro_skills::{Skill, SkillSelector, TaskNeeds, envelope, instructions_file};

use super::delivered::DeliveredTexts;
use crate::host::skill_vectors::{self, VectorEffort};
use crate::host::world::World;
use crate::host::{catalogue, config};
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;

/// Maximum number of characters of skills for a prompt: Claude Code takes ten thousand from a hook.
const BUDGET: usize = 9_000;
/// How much of a prompt is read; text pasted below it says little about the request.
const LOOKED_AT: usize = 4_000;

const FRAME: &str = "Reference for the user's request above, chosen by Maestro from the skills on this machine. \
    The request decides what is done; this says how such work is done here.";

/// Skills for a model.
#[derive(Debug, Default)]
pub(super) struct SkillHint {
    /// The text for the model, if there is anything new.
    pub(super) text: Option<String>,
    /// Their names.
    pub(super) names: Vec<String>,
}

/// The skills for a prompt.
#[derive(Debug, Default)]
pub(super) struct FittingSkills {
    /// Those that fit, best first.
    chosen: Vec<Arc<Skill>>,
    /// A list of those that come close.
    also: Option<String>,
}

impl FittingSkills {
    pub(super) fn is_empty(&self) -> bool {
        self.chosen.is_empty() && self.also.is_none()
    }
}

/// The skills that fit a prompt, and those that come close.
pub(super) fn matching_skills(prompt: &str, world: &World) -> CommandResult<FittingSkills> {
    let label = first_chars(prompt, LOOKED_AT).trim();
    // A command of the agent's own is no request.
    if label.is_empty() || label.starts_with('/') {
        return Ok(FittingSkills::default());
    }
    let settings = config::settings(world)?;
    let mut catalogue = catalogue::load(world, &[], &settings)?;
    skill_vectors::attach(&mut catalogue, VectorEffort::Stored, &settings, world);
    let catalogue = Arc::new(catalogue);
    let hints = skill_hints(label);
    let most = settings.skills_max_selected_impl.value.into();
    let needs = TaskNeeds { label, hints: &hints, step: StepKind::Implementation, most };
    let selection =
        SkillSelector::for_task(Arc::clone(&catalogue), label).select(RunId::new(uuid::Uuid::now_v7()), needs);
    let also = also_here(&selection.record, &catalogue);
    Ok(FittingSkills { chosen: selection.skills, also })
}

/// The text on skills that fit, without what the session already has.
pub(super) fn build_hint(fitting: &FittingSkills, given: &mut DeliveredTexts) -> CommandResult<SkillHint> {
    let mut telling = HintBuilder { room: BUDGET, parts: Vec::new(), names: Vec::new() };
    for skill in &fitting.chosen {
        telling.add(skill, given)?;
    }
    if let Some(also) = fitting.also.as_ref().filter(|also| !given.contains(also)) {
        telling.parts.push(also.clone());
        given.add(also);
    }
    if telling.parts.is_empty() {
        return Ok(SkillHint::default());
    }
    Ok(SkillHint { text: Some(format!("{FRAME}\n\n{}", telling.parts.join("\n"))), names: telling.names })
}

/// The text for a model, as it grows.
struct HintBuilder {
    room: usize,
    parts: Vec<String>,
    names: Vec<String>,
}

impl HintBuilder {
    /// Adds a skill's text, or its path if there is no room for all of it; nothing that the session has.
    fn add(&mut self, skill: &Skill, given: &mut DeliveredTexts) -> CommandResult<()> {
        let id = skill.id.as_str();
        let read = body(skill, BodyPart::File, ReferenceMode::Leave, usize::MAX)
            .map_err(|error| CommandError::io(format!("cannot read the skill `{id}`"), &error))?;
        if given.contains(&read.text) {
            return Ok(());
        }
        let whole = String::from_utf8_lossy(&envelope(skill, read.text.as_bytes())).into_owned();
        let part = if read.truncated.is_none() && whole.chars().count() <= self.room {
            whole
        } else {
            let file = instructions_file(skill).unwrap_or_else(|| skill.path.join(&skill.file));
            format!("The skill `{id}` fits: {}\nRead it before you start: {}\n", skill.description, file.display())
        };
        self.room = self.room.saturating_sub(part.chars().count());
        self.parts.push(part);
        given.add(&read.text);
        self.names.push(id.to_owned());
        Ok(())
    }
}
