//! `maestro skills prompt`: skills as they appear in a prompt, and what was cut.

use std::fmt::Write as _;

use maestro_core::{Problem, Settings};
use maestro_skills::render::{
    BodyPart, CutDescription, LoadedBody, LoaderProgram, ReferenceMode, SkillActivation, SkillTable, body, content,
    fit, manifest_entry, offered_skills, resources,
};
use maestro_skills::{Catalogue, Skill, envelope, resolve_dependencies};
use serde::Serialize;

use super::{budget_note, find, split_names};
use crate::args::{PromptArgs, PromptFormat};
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::{self, clean, clean_lines};

/// What programs get.
#[derive(Debug, Default, Serialize)]
struct SkillPromptJson {
    text: String,
    cut: Vec<CutDescription>,
    left_out: Vec<String>,
    problems: Vec<Problem>,
    /// The same for people.
    #[serde(skip)]
    notes: String,
}

pub(super) fn run(catalogue: &Catalogue, args: &PromptArgs, settings: &Settings, world: &World) -> CommandResult {
    let budget = args.budget.unwrap_or(settings.skills_budget_tokens.value);
    let prompt = if args.names.is_empty() {
        table(args.format, &offered_skills(catalogue), budget)
    } else {
        let skills: Vec<&Skill> =
            split_names(&args.names).map(|name| find(catalogue, name)).collect::<Result<_, _>>()?;
        named(catalogue, &skills, args, settings, budget)?
    };
    if world.json {
        return CommandOutput::json(&prompt);
    }
    let mut notes = prompt.notes;
    notes.extend(prompt.problems.iter().map(|problem| screen::problem(problem, world.note_paint)));
    let mut text = prompt.text;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    // Other programs get every byte; a terminal gets no control characters from a file.
    let text = if world.terminals.stdout { clean_lines(&text) } else { text };
    Ok(CommandOutput::text(text).with_notes(notes))
}

fn table(format: PromptFormat, skills: &[&Skill], budget: usize) -> SkillPromptJson {
    let table = match format {
        PromptFormat::Openskills => SkillTable::OpenSkills(LoaderProgram::Maestro),
        PromptFormat::ToPrompt => SkillTable::ToPrompt,
        PromptFormat::Content => SkillTable::Guide(SkillActivation::ReadFile),
        PromptFormat::Manifest => SkillTable::Manifest,
    };
    if skills.is_empty() && table != SkillTable::ToPrompt {
        // A text about skills would only confuse a model that has none.
        let notes = "No skills found. Run `maestro doctor` for the directories.\n".to_owned();
        return SkillPromptJson { notes, ..SkillPromptJson::default() };
    }
    let fitted = fit(table, skills, budget);
    let notes = budget_note(&fitted, budget);
    SkillPromptJson { text: fitted.text, cut: fitted.cut, left_out: fitted.left_out, problems: Vec::new(), notes }
}

fn named(
    catalogue: &Catalogue,
    skills: &[&Skill],
    args: &PromptArgs,
    settings: &Settings,
    budget: usize,
) -> CommandResult<SkillPromptJson> {
    if skills.is_empty() {
        return Err(CommandError::invalid("missing skill name").hint("run `maestro skills list` for the list"));
    }
    if args.budget.is_some() && args.format != PromptFormat::ToPrompt {
        return Err(CommandError::invalid("--budget only applies to the table of skills")
            .hint("use `--set skills_max_body_chars=NUMBER` to limit the text of a skill"));
    }
    let mut prompt = SkillPromptJson::default();
    let mut read = |skill: &Skill, part| text(skill, part, settings, &mut prompt);
    let text = match args.format {
        PromptFormat::ToPrompt => return Ok(table(args.format, skills, budget)),
        PromptFormat::Openskills => {
            let mut whole = String::new();
            for skill in skills {
                let body = read(skill, BodyPart::File)?;
                whole.push_str(&String::from_utf8_lossy(&envelope(skill, body.text.as_bytes())));
            }
            whole
        }
        PromptFormat::Content => {
            let wrap = |skill: &&Skill| {
                Ok::<_, CommandError>(content(skill, &read(skill, BodyPart::Body)?, &resources(skill)))
            };
            skills.iter().map(wrap).collect::<Result<Vec<_>, _>>()?.join("\n\n")
        }
        PromptFormat::Manifest => {
            let resolved = resolve_dependencies(catalogue, skills.iter().copied());
            let entry = |skill: &&Skill| Ok::<_, CommandError>(manifest_entry(skill, &read(skill, BodyPart::Body)?));
            let entries = resolved.skills.iter().map(entry).collect::<Result<Vec<_>, _>>()?;
            prompt.problems.extend(resolved.problems);
            entries.join("\n\n")
        }
    };
    Ok(SkillPromptJson { text, ..prompt })
}

/// A skill's text; what it lost is noted.
fn text(skill: &Skill, part: BodyPart, settings: &Settings, prompt: &mut SkillPromptJson) -> CommandResult<LoadedBody> {
    let references = if settings.skills_load_references.value { ReferenceMode::Include } else { ReferenceMode::Leave };
    let most = settings.skills_max_body_chars.value;
    let mut read = body(skill, part, references, most).map_err(|error| {
        CommandError::io(format!("cannot read the skill `{}`", skill.id), &error)
            .hint(format!("check {}", skill.path.display()))
    })?;
    if let Some(lost) = read.truncated {
        let (kept, of) = (lost.kept_chars, lost.original_chars);
        let name = skill.id.as_str();
        let _ = writeln!(
            prompt.notes,
            "the text of `{}` is cut to {kept} of {of} characters (skills_max_body_chars is {most})",
            clean(name)
        );
        prompt.cut.push(CutDescription { name: name.to_owned(), kept, of });
    }
    prompt.problems.append(&mut read.problems);
    Ok(read)
}
