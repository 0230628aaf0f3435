//! `maestro skills try`: the skills a task would get, those that come close, and what agents would load by themselves.

use std::fmt::Write as _;
use std::sync::Arc;

use maestro_core::Settings;
use maestro_core::event::{RankedSkill, SkillVerdict};
use maestro_skills::{CLIENTS, Catalogue, SelectionResult, SkillSelector};
use serde_json::json;

use super::select::choose;
use crate::args::SkillTaskArgs;
use crate::host::agents::{self, InstalledAgent};
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::{clean, count, pad};

/// Maximum number of skills that were not selected.
const NEARLY: usize = 5;

pub(super) fn run(
    catalogue: &Arc<Catalogue>,
    args: &SkillTaskArgs,
    settings: &Settings,
    world: &World,
) -> CommandResult {
    let selection = choose(&SkillSelector::for_task(Arc::clone(catalogue), &args.task), args, settings)?;
    let agents = agents::installed(&agents::table(world), world);
    let seen = agent_views(&selection, &agents, world);
    if world.json {
        let seen: Vec<_> = seen
            .iter()
            .map(|(agent, skill, sight)| json!({ "agent": agent, "skill": skill, "sight": sight }))
            .collect();
        return CommandOutput::json(&json!({ "selection": selection.record, "agents": seen }));
    }
    let record = &selection.record;
    let mut text = format!("{}\n\n", world.paint.strong(&clean(&record.task_label)));
    text.push_str(&chosen_text(&selection, world));
    let counts = |ranked: &&RankedSkill| !is_chosen(ranked) && ranked.score >= 0.1;
    let others: Vec<&RankedSkill> = record.detail.ranking.iter().filter(counts).collect();
    if !others.is_empty() {
        text.push_str("\nNot chosen\n");
    }
    for ranked in others.iter().take(NEARLY) {
        let why = rejection_text(ranked.verdict, record.detail.threshold);
        let _ = writeln!(text, "  {} {}  {}", row(ranked, world), words(ranked), world.paint.dim(&why));
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
    Ok(CommandOutput::text(text).with_notes(notes))
}

fn chosen_text(selection: &SelectionResult, world: &World) -> String {
    let record = &selection.record;
    if record.skills.is_empty() {
        let closest = record.detail.ranking.first();
        let closest = closest.map(|ranked| format!("; closest: {}", clean(&ranked.name))).unwrap_or_default();
        return format!("Chosen: none. No skill fits{closest}\n");
    }
    let mut text = "Chosen\n".to_owned();
    for skill in &record.skills {
        let ranked = record.detail.ranking.iter().find(|ranked| ranked.name == skill.name);
        let line = match ranked {
            Some(ranked) if skill.reason.starts_with("keyword") => format!("{} {}", row(ranked, world), words(ranked)),
            _ => format!("{}        {}", world.paint.skill(&pad(&clean(&skill.name), 28)), clean(&skill.reason)),
        };
        let _ = writeln!(text, "  {line}");
    }
    text
}

fn is_chosen(ranked: &RankedSkill) -> bool {
    matches!(ranked.verdict, SkillVerdict::Chosen | SkillVerdict::Hinted)
}

fn row(ranked: &RankedSkill, world: &World) -> String {
    format!("{} {:>5.1} ", world.paint.skill(&pad(&clean(&ranked.name), 28)), ranked.score)
}

fn words(ranked: &RankedSkill) -> String {
    let words = ranked.terms.iter().take(4).map(|term| format!("{} {:.1}", clean(&term.word), term.adds));
    words.collect::<Vec<_>>().join(", ")
}

fn rejection_text(verdict: SkillVerdict, threshold: f64) -> String {
    match verdict {
        SkillVerdict::BelowThreshold => format!("below {threshold:.1}"),
        SkillVerdict::AddsLittle => "adds little to the selected skills".to_owned(),
        SkillVerdict::NoRoom => "no room left".to_owned(),
        SkillVerdict::NotByModel => "only when named".to_owned(),
        SkillVerdict::Excluded => "excluded by the task".to_owned(),
        SkillVerdict::Chosen | SkillVerdict::Hinted => String::new(),
    }
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
