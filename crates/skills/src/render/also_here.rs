//! Short list of skills that come close to a task, for a model to judge by itself.

use std::fmt::Write as _;

use maestro_core::SkillSelection;
use maestro_core::event::SkillVerdict;
use maestro_core::excerpt::{ellipsize, one_line};

use crate::catalogue::Catalogue;
use crate::skill::SkillSource;

/// How many skills are listed.
const MOST: usize = 6;
/// How much of a description is shown, in characters.
const DESCRIPTION: usize = 110;
/// How far below the bar a skill may be and still be worth a line beside a choice.
const WITHIN: f64 = 0.30;
/// What it must reach in any case: the bar is low among few skills, and unrelated texts come to this.
const LEAST: f64 = 0.15;
/// How far below the bar the best may be where nothing is chosen: most tasks need no skill, and no list either.
const NEARLY: f64 = 0.20;

/// The skills of the project and the user that come close without being chosen, as a prompt lists them.
pub fn also_here(selection: &SkillSelection, catalogue: &Catalogue) -> Option<String> {
    let lines = close_skills(selection, catalogue)?;
    Some(format!("Also here; `maestro skills read NAME` prints one:\n{lines}"))
}

/// The skills of the project and the user that come close without being chosen, a line each; nothing where only words were
/// compared, which says too little about what almost fits.
pub fn close_skills(selection: &SkillSelection, catalogue: &Catalogue) -> Option<String> {
    let detail = &selection.detail;
    let best = detail.ranking.first().map_or(f64::MIN, |ranked| ranked.score);
    if selection.skills.is_empty() && best < detail.threshold - NEARLY {
        return None;
    }
    let least = (detail.threshold - WITHIN).max(LEAST);
    let is_close = |verdict: SkillVerdict| {
        matches!(verdict, SkillVerdict::BelowThreshold | SkillVerdict::AddsLittle | SkillVerdict::NoRoom)
    };
    let close = detail
        .ranking
        .iter()
        .filter(|ranked| ranked.meaning.is_some() && ranked.score >= least && is_close(ranked.verdict));
    let mut lines = String::new();
    let skills = close
        .filter_map(|ranked| catalogue.skill(&ranked.name))
        .filter(|skill| skill.invocation.by_model && skill.heading().source != SkillSource::Builtin)
        .take(MOST);
    for skill in skills {
        let _ = writeln!(lines, "- {}: {}", skill.id(), ellipsize(&one_line(&skill.description), DESCRIPTION));
    }
    (!lines.is_empty()).then_some(lines)
}
