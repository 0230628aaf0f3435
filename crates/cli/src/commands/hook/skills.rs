//! Skills that fit a prompt, as text for the model and a note for its user.

use std::sync::Arc;

use maestro_core::connect::ConnectableTool;
use maestro_core::plan::skill_hints;
use maestro_core::{RunId, StepKind};
use maestro_skills::render::{BodyPart, ReferenceMode, body};
use maestro_skills::{
    CLIENTS, Skill, SkillSelector, SkillVisibility, TaskNeeds, envelope, fitting_prompt, instructions_file,
    prompt_label, unplaced_envelope,
};

use super::delivered::DeliveredTexts;
use crate::host::skill_vectors::{self, VectorEffort};
use crate::host::world::World;
use crate::host::{catalogue, config};
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;

/// Maximum number of characters of skills for a prompt: Claude Code takes ten thousand from a hook.
const BUDGET: usize = 9_000;

const FRAME: &str = "Reference for the user's request above, chosen by Maestro from the skills on this machine. \
    The request decides what is done; this says how such work is done here.";

/// Skills for a model.
#[derive(Debug, Default)]
pub(super) struct SkillHint {
    /// The text for the model and the note for its user, if there is anything new.
    pub(super) text: Option<(String, String)>,
    /// Their names.
    pub(super) names: Vec<String>,
}

/// Whether the user wants skills with prompts.
pub(super) fn are_wanted(world: &World) -> bool {
    config::settings(world).is_ok_and(|settings| settings.prompt_skills.value)
}

/// The skills that fit a prompt, best first. What is pasted into it counts for nothing.
pub(super) fn matching_skills(prompt: &str, world: &World) -> CommandResult<Vec<Arc<Skill>>> {
    let label = prompt_label(prompt);
    // A command of the agent's own is no request.
    if label.is_empty() || label.starts_with('/') {
        return Ok(Vec::new());
    }
    let settings = config::settings(world)?;
    if !settings.prompt_skills.value {
        return Ok(Vec::new());
    }
    let mut catalogue = catalogue::load(world, &[], &settings)?;
    skill_vectors::attach(&mut catalogue, VectorEffort::Stored, &settings, world);
    let hints = skill_hints(&label);
    let most = settings.skills_max_selected_impl.value.into();
    let needs = TaskNeeds { label: &label, hints: &hints, step: StepKind::Implementation, most };
    let selection =
        SkillSelector::for_task(Arc::new(catalogue), &label).select(RunId::new(uuid::Uuid::now_v7()), needs);
    Ok(fitting_prompt(&selection, &label))
}

/// The text on skills that fit, without what the session already has.
pub(super) fn build_hint(
    fitting: &[Arc<Skill>],
    tool: ConnectableTool,
    given: &mut DeliveredTexts,
    world: &World,
) -> CommandResult<SkillHint> {
    let mut hint = HintBuilder { tool, world, room: BUDGET, parts: Vec::new(), names: Vec::new() };
    for skill in fitting {
        hint.add(skill, given)?;
    }
    if hint.parts.is_empty() {
        return Ok(SkillHint::default());
    }
    let text = format!("{FRAME}\n\n{}", hint.parts.join("\n"));
    let note = format!(
        "Maestro added {} to this prompt. Off: maestro config set prompt_skills false",
        hint.names.join(" and ")
    );
    Ok(SkillHint { text: Some((text, note)), names: hint.names })
}

/// The text for a model, as it grows.
struct HintBuilder<'w> {
    tool: ConnectableTool,
    world: &'w World,
    room: usize,
    parts: Vec<String>,
    names: Vec<String>,
}

impl HintBuilder<'_> {
    /// Adds a skill: its name if the agent lists it itself, else its text, or where it is if there is no room for all of
    /// it; nothing that the session has.
    fn add(&mut self, skill: &Skill, given: &mut DeliveredTexts) -> CommandResult<()> {
        let id = skill.id.as_str();
        let read = body(skill, BodyPart::File, ReferenceMode::Leave, usize::MAX)
            .map_err(|error| CommandError::io(format!("cannot read the skill `{id}`"), &error))?;
        if given.contains(&read.text) {
            return Ok(());
        }
        let part = if self.lists(skill) {
            format!("Your own skill `{id}` fits: use it before you start.\n")
        } else {
            self.quote(skill, &read.text).filter(|_| read.truncated.is_none()).unwrap_or_else(|| self.point_to(skill))
        };
        self.room = self.room.saturating_sub(part.chars().count());
        self.parts.push(part);
        given.add(&read.text);
        self.names.push(id.to_owned());
        Ok(())
    }

    /// The whole text, if there is room.
    fn quote(&self, skill: &Skill, text: &str) -> Option<String> {
        let whole = if self.can_read(skill) {
            envelope(skill, text.as_bytes())
        } else {
            unplaced_envelope(skill, text.as_bytes())
        };
        let whole = String::from_utf8_lossy(&whole).into_owned();
        (whole.chars().count() <= self.room).then_some(whole)
    }

    /// Where the agent finds the text.
    fn point_to(&self, skill: &Skill) -> String {
        let id = skill.id.as_str();
        let place = if self.can_read(skill) {
            let file = instructions_file(skill).unwrap_or_else(|| skill.path.join(&skill.file));
            file.display().to_string()
        } else {
            format!("`maestro skills read {id}` prints it")
        };
        format!("The skill `{id}` fits: {}\nRead it before you start: {place}\n", skill.description)
    }

    /// Whether the agent shows its model this skill anyway.
    fn lists(&self, skill: &Skill) -> bool {
        let program = match self.tool {
            ConnectableTool::ClaudeCode => "claude",
            other => other.as_str(),
        };
        let client = CLIENTS.iter().find(|client| client.program == program);
        let seen = client.map(|client| client.visibility_of(skill, &self.world.places));
        matches!(seen, Some(SkillVisibility::Whole | SkillVisibility::Cut { .. }))
    }

    /// Whether the agent may read a skill's files: Codex reads everything, the others ask outside of the project.
    fn can_read(&self, skill: &Skill) -> bool {
        self.tool == ConnectableTool::Codex || skill.path.starts_with(&self.world.places.project)
    }
}
