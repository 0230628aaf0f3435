//! `maestro skills try`: the skills a task would get, those that come close, and what agents would load by themselves.

use std::fmt::Write as _;
use std::sync::Arc;

use maestro_core::Settings;
use maestro_core::event::{Ranked, Verdict};
use maestro_skills::{CLIENTS, Catalogue, Selection, Selector};
use serde_json::json;

use super::select::choose;
use crate::args::TaskArgs;
use crate::host::agents::{self, Installed};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::screen::{clean, count, pad};

/// Maximum number of skills that were not selected.
const NEARLY: usize = 5;

pub(super) fn run(
    catalogue: &Arc<Catalogue>,
    args: &TaskArgs,
    settings: &Settings,
    world: &World,
) -> Result<Reply, CommandError> {
    let selection = choose(&Selector::for_task(Arc::clone(catalogue), &args.task), args, settings)?;
    let agents = agents::installed(&agents::table(world), world);
    let seen = sights(&selection, &agents, world);
    if world.json {
        let seen: Vec<_> = seen
            .iter()
            .map(|(agent, skill, sight)| json!({ "agent": agent, "skill": skill, "sight": sight }))
            .collect();
        return Reply::json(&json!({ "selection": selection.record, "agents": seen }));
    }
    let record = &selection.record;
    let mut text = format!("{}\n\n", world.paint.strong(&clean(&record.task_label)));
    text.push_str(&chosen(&selection, world));
    let counts = |ranked: &&Ranked| !is_chosen(ranked) && ranked.score >= 0.1;
    let others: Vec<&Ranked> = record.detail.ranking.iter().filter(counts).collect();
    if !others.is_empty() {
        text.push_str("\nNot chosen\n");
    }
    for ranked in others.iter().take(NEARLY) {
        let why = why_not(ranked.verdict, record.detail.threshold);
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
    Ok(Reply::text(text).with_notes(notes))
}

fn chosen(selection: &Selection, world: &World) -> String {
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

fn is_chosen(ranked: &Ranked) -> bool {
    matches!(ranked.verdict, Verdict::Chosen | Verdict::Hinted)
}

fn row(ranked: &Ranked, world: &World) -> String {
    format!("{} {:>5.1} ", world.paint.skill(&pad(&clean(&ranked.name), 28)), ranked.score)
}

fn words(ranked: &Ranked) -> String {
    let words = ranked.terms.iter().take(4).map(|term| format!("{} {:.1}", clean(&term.word), term.adds));
    words.collect::<Vec<_>>().join(", ")
}

fn why_not(verdict: Verdict, threshold: f64) -> String {
    match verdict {
        Verdict::BelowThreshold => format!("below {threshold:.1}"),
        Verdict::AddsLittle => "adds little to the selected skills".to_owned(),
        Verdict::NoRoom => "no room left".to_owned(),
        Verdict::NotByModel => "only when named".to_owned(),
        Verdict::Excluded => "excluded by the task".to_owned(),
        Verdict::Chosen | Verdict::Hinted => String::new(),
    }
}

/// For each installed agent and selected skill, what the agent would do with it by itself.
fn sights<'a>(selection: &Selection, agents: &'a [Installed], world: &World) -> Vec<(&'a str, String, String)> {
    let known = agents.iter().filter_map(|agent| {
        let client = CLIENTS.iter().find(|client| client.program == agent.program)?;
        Some((agent.name.as_str(), client))
    });
    known
        .flat_map(|(name, client)| {
            selection.skills.iter().map(move |skill| {
                let sight = client.sight(skill, &world.places).to_string();
                (name, skill.id.as_str().to_owned(), sight)
            })
        })
        .collect()
}
