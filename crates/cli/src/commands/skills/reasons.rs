//! Reasons of a selection, in words: what decided, what it had to reach, and which phrases come nearest.

use std::fmt::Write as _;

use maestro_core::SkillSelection;
use maestro_core::event::{RankedSkill, SkillVerdict};
use maestro_skills::{Catalogue, SkillSelector};

use crate::host::world::World;
use crate::output::screen::{clean, pad};

/// How wide a skill's name is.
pub(super) const NAME: usize = 28;
/// Maximum number of words that are named.
const WORDS: usize = 4;

/// Whether the phrases of a description that come nearest are shown. Finding them takes a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PhraseUse {
    Show,
    Omit,
}

/// Writes the reasons for the skills of a selection.
pub(super) struct ReasonWriter<'a> {
    pub(super) selector: &'a SkillSelector,
    pub(super) catalogue: &'a Catalogue,
    pub(super) record: &'a SkillSelection,
    pub(super) world: &'a World,
}

impl ReasonWriter<'_> {
    /// A skill with its verdict, and below it its words and its meaning.
    pub(super) fn lines(&self, ranked: &RankedSkill, phrases: PhraseUse) -> String {
        let paint = self.world.paint;
        let name = paint.skill(&pad(&clean(&ranked.name), NAME));
        let why = match ranked.verdict {
            SkillVerdict::Chosen | SkillVerdict::Hinted | SkillVerdict::BelowThreshold => String::new(),
            SkillVerdict::AddsLittle => "; adds little to the selected skills".to_owned(),
            SkillVerdict::NoRoom => "; no room left".to_owned(),
            SkillVerdict::NotByModel => "; only when named".to_owned(),
            SkillVerdict::Excluded => "; excluded by the task".to_owned(),
        };
        let mut text = format!("  {name} {}{why}\n", score_text(ranked, self.record.detail.threshold));
        let words: Vec<_> = ranked.terms.iter().take(WORDS).map(|term| clean(&term.word)).collect();
        if !words.is_empty() {
            let _ = writeln!(text, "  {} words: {}", pad("", NAME), words.join(", "));
        }
        let skill = self.catalogue.get(&ranked.name).filter(|_| phrases == PhraseUse::Show);
        if let Some(skill) = skill.filter(|_| ranked.meaning.is_some()) {
            let nearest = self.selector.nearest_phrases(&self.record.task_label, skill);
            if !nearest.is_empty() {
                let _ = writeln!(text, "  {} meaning{}", pad("", NAME), phrase_text(&nearest));
            }
        }
        text
    }
}

/// How well a skill fits, and what it had to reach.
pub(super) fn score_text(ranked: &RankedSkill, bar: f64) -> String {
    let side = if ranked.score >= bar { "reaches" } else { "below" };
    match ranked.meaning {
        Some(_) => format!("fit {:.2}, {side} the bar of {bar:.2}", ranked.score),
        None => format!("by words {:.1}, {side} the bar of {bar:.1}", ranked.score),
    }
}

/// Phrases in quotes, after a colon.
pub(super) fn phrase_text(phrases: &[String]) -> String {
    let quoted: Vec<String> = phrases.iter().map(|phrase| format!("\"{}\"", clean(phrase))).collect();
    if quoted.is_empty() { String::new() } else { format!(": {}", quoted.join(", ")) }
}
