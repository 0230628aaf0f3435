//! `maestro skills try`: the skills a task would get, those that come close, and what agents would load by themselves.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use maestro_api::skill_trials::{TaskTrial, TrialDepth, TrialNotes};
use maestro_core::Settings;
use maestro_core::event::{RankedSkill, SkillVerdict};
use maestro_skills::{CLIENTS, Catalogue, SelectionResult, SkillSelector, corrections};
use serde_json::json;

use super::reasons::{NAME, PhraseUse, ReasonWriter};
use super::select::choose;
use super::test;
use crate::args::SkillTryArgs;
use crate::host::agents::{self, InstalledAgent};
use crate::host::skill_habits;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::{clean, count, pad};

/// Maximum number of skills that were not selected.
const NEARLY: usize = 5;
/// For how many of these the nearest phrases are shown.
const EXPLAINED: usize = 2;

pub(super) fn run(
    catalogue: &Arc<Catalogue>,
    args: &SkillTryArgs,
    settings: &Settings,
    world: &World,
) -> CommandResult {
    let selector = SkillSelector::for_task(Arc::clone(catalogue), &args.task.task);
    let selection = choose(&selector, &args.task, settings)?;
    let saved = args.save.as_deref().map(|names| save(names, &selection, catalogue, settings, world)).transpose()?;
    let agents = agents::installed(&agents::table(world), world);
    let seen = agent_views(&selection, &agents, world);
    if world.json {
        let seen: Vec<_> = seen
            .iter()
            .map(|(agent, skill, sight)| json!({ "agent": agent, "skill": skill, "sight": sight }))
            .collect();
        let task = selection.record.task_label.as_str();
        let why = TaskTrial::new(selection.record.clone(), |name, depth| {
            let Some(skill) = catalogue.get(name) else { return TrialNotes::default() };
            let phrases = match depth {
                TrialDepth::Brief => Vec::new(),
                TrialDepth::Phrases => selector.nearest_phrases(task, skill),
            };
            TrialNotes { description: skill.description.clone(), phrases }
        });
        return CommandOutput::json(&json!({ "selection": selection.record, "why": why, "agents": seen }));
    }
    let record = &selection.record;
    let reasons = ReasonWriter { selector: &selector, catalogue, record, world };
    let mut text = format!("{}\n\n", world.paint.strong(&clean(&record.task_label)));
    text.push_str(&chosen_text(&reasons));
    let is_close = |ranked: &&RankedSkill| !is_chosen(ranked) && ranked.score >= 0.1;
    let others: Vec<&RankedSkill> = record.detail.ranking.iter().filter(is_close).collect();
    if !others.is_empty() {
        text.push_str("\nNot chosen\n");
    }
    for (rank, ranked) in others.iter().take(NEARLY).enumerate() {
        text.push_str(&reasons.lines(ranked, if rank < EXPLAINED { PhraseUse::Show } else { PhraseUse::Omit }));
    }
    let _ = writeln!(text, "\n{} considered", count(record.detail.considered, "skill", "skills"));
    if !seen.is_empty() {
        text.push_str("\nWithout Maestro\n");
    }
    for (agent, skill, sight) in &seen {
        let _ = writeln!(text, "  {} {}: {sight}", pad(&clean(agent), 12), clean(skill));
    }
    let mut notes = String::new();
    for error in &record.errors {
        let _ = writeln!(notes, "{} {}", world.note_paint.warning("warning:"), clean(error));
    }
    if let Some(file) = saved {
        let _ = writeln!(notes, "saved to {}", clean(&world.display_path(&file)));
    }
    Ok(CommandOutput::text(text).with_notes(notes))
}

/// Saves the task with the named skills, or with those it gets.
fn save(
    names: &str,
    selection: &SelectionResult,
    catalogue: &Catalogue,
    settings: &Settings,
    world: &World,
) -> CommandResult<PathBuf> {
    let expected: Vec<String> = match names {
        "" => selection.skills.iter().map(|skill| skill.id.as_str().to_owned()).collect(),
        "none" => Vec::new(),
        names => super::split_names(&[names.to_owned()])
            .map(|name| Ok(super::find(catalogue, name)?.id.as_str().to_owned()))
            .collect::<CommandResult<_>>()?,
    };
    let file = test::save(&selection.record.task_label, &expected, world)?;
    let chosen: Vec<String> = selection.skills.iter().map(|skill| skill.id.as_str().to_owned()).collect();
    skill_habits::note(corrections(&chosen, &expected), settings, world);
    Ok(file)
}

fn chosen_text(reasons: &ReasonWriter<'_>) -> String {
    let record = reasons.record;
    if record.skills.is_empty() {
        let closest = record.detail.ranking.first();
        let closest = closest.map(|ranked| format!("; closest: {}", clean(&ranked.name))).unwrap_or_default();
        return format!("Chosen: none. No skill fits{closest}\n");
    }
    let mut text = "Chosen\n".to_owned();
    for skill in &record.skills {
        let ranked = record.detail.ranking.iter().find(|ranked| ranked.name == skill.name);
        match ranked {
            Some(ranked) if !skill.reason.starts_with("hint") => text.push_str(&reasons.lines(ranked, PhraseUse::Show)),
            _ => {
                let name = reasons.world.paint.skill(&pad(&clean(&skill.name), NAME));
                let _ = writeln!(text, "  {name} {}", clean(&skill.reason));
            }
        }
    }
    text
}

fn is_chosen(ranked: &RankedSkill) -> bool {
    matches!(ranked.verdict, SkillVerdict::Chosen | SkillVerdict::Hinted)
}

/// For each installed agent and selected skill, what the agent would do with it by itself.
fn agent_views<'a>(
    selection: &SelectionResult,
    agents: &'a [InstalledAgent],
    world: &World,
) -> Vec<(&'a str, String, String)> {
    let known = agents.iter().filter_map(|agent| {
        let client = CLIENTS.iter().find(|client| client.program == agent.program)?;
        Some((agent.name.as_str(), client))
    });
    known
        .flat_map(|(name, client)| {
            selection.skills.iter().map(move |skill| {
                let sight = client.visibility_of(skill, &world.places).to_string();
                (name, skill.id.as_str().to_owned(), sight)
            })
        })
        .collect()
}
