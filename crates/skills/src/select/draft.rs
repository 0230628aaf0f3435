//! Choice of skills while it is being made.

use std::sync::Arc;

use maestro_core::event::SkillVerdict;

use super::fusion::are_alike;
use super::hints::SkillRequests;
use super::score::ScoredSkill;
use super::{ScoreThreshold, SelectionBars};
use crate::catalogue::{Catalogue, NameLookup};
use crate::skill::Skill;
use crate::vectors::{SkillVectors, is_found_by_content};

/// Among how many of the best a second skill is looked for.
const RUNNER_UPS: usize = 6;

/// Whether a skill may be chosen for what it says.
pub(super) fn may_be_found(skill: &Skill) -> bool {
    skill.invocation.by_model && is_found_by_content(skill)
}

/// Whether the best skill is one that the task excludes; then the next one is what it asks for.
fn is_excluded(ranked: &[ScoredSkill], wishes: &SkillRequests) -> bool {
    ranked.first().is_some_and(|scored| wishes.unwanted.contains(&scored.skill.id))
}

/// A choice while it is being made.
pub(super) struct SelectionDraft {
    most: usize,
    pub(super) skills: Vec<Arc<Skill>>,
    pub(super) reasons: Vec<String>,
    pub(super) errors: Vec<String>,
}

impl SelectionDraft {
    pub(super) fn new(most: usize) -> Self {
        Self { most, skills: Vec::new(), reasons: Vec::new(), errors: Vec::new() }
    }

    pub(super) fn take_hinted(&mut self, name: &str, catalogue: &Catalogue) {
        let skill = match catalogue.find(name) {
            NameLookup::Found(skill) => catalogue.skill(skill.id.as_str()),
            NameLookup::Broken(_) => return self.errors.push(format!("hinted skill cannot be loaded: @{name}")),
            NameLookup::Ambiguous(_) => return self.errors.push(format!("several skills are called: @{name}")),
            NameLookup::Missing { .. } => None,
        };
        let Some(skill) = skill else {
            return self.errors.push(format!("hinted skill not found: @{name}"));
        };
        if self.contains(skill) {
            return;
        }
        if self.skills.len() >= self.most {
            self.errors.push(format!("hinted skill over the limit of {}: @{name}", self.most));
            return;
        }
        self.skills.push(skill.shared());
        self.reasons.push(format!("hint: @{name}"));
    }

    /// Fills the places that hints left open with what fits.
    pub(super) fn fill(
        &mut self,
        ranked: &[ScoredSkill],
        wishes: &SkillRequests,
        bars: SelectionBars,
        vectors: Option<&SkillVectors>,
    ) {
        let vector = |skill: &Skill| vectors.and_then(|vectors| vectors.of(skill));
        let mut least = f64::MIN;
        // Where the task names skills, any others must be good enough for a second place.
        if self.skills.is_empty() && wishes.hinted.is_empty() {
            // One that fits far better but may not be taken says that this is no task for the others either.
            let top = ranked.first().map_or(f64::MIN, |scored| scored.fit);
            let first = ranked.iter().find(|scored| self.may_take(scored, wishes));
            let Some(scored) = first.filter(|scored| scored.fit >= bars.first() && self.most > 0) else { return };
            if let SelectionBars::Fit(bars) = bars {
                least = scored.fit - bars.within;
                if scored.fit < top - bars.near_top && !is_excluded(ranked, wishes) {
                    return;
                }
                let is_for_other_work = |other: &&ScoredSkill| {
                    other.skill.id != scored.skill.id && !are_alike(vector(&scored.skill), vector(&other.skill))
                };
                let next = ranked.iter().find(is_for_other_work).map_or(f64::MIN, |next| next.fit);
                if scored.fit < bars.second && scored.fit - next < bars.lead {
                    return;
                }
            }
            self.take(scored);
        }
        while self.skills.len() < self.most {
            let close = ranked.iter().take(RUNNER_UPS).filter(|scored| self.may_take(scored, wishes));
            let worth = close.filter(|scored| scored.fit >= bars.second().max(least));
            let best = match bars {
                SelectionBars::Fit(_) => worth
                    .into_iter()
                    .find(|scored| !self.skills.iter().any(|taken| are_alike(vector(taken), vector(&scored.skill)))),
                SelectionBars::Words(bar) => self.best_addition(worth, ranked, bar),
            };
            match best {
                Some(scored) => self.take(scored),
                None => return,
            }
        }
    }

    /// Whether there is room for a second skill, and it may be taken beside the first.
    pub(super) fn may_be_second(&self, scored: &ScoredSkill, wishes: &SkillRequests, vectors: &SkillVectors) -> bool {
        let is_other = |taken: &Arc<Skill>| !are_alike(vectors.of(taken), vectors.of(&scored.skill));
        self.skills.len() < self.most && self.may_take(scored, wishes) && self.skills.iter().all(is_other)
    }

    /// The skill that adds most in words that those already chosen do not cover.
    fn best_addition<'a>(
        &self,
        skills: impl Iterator<Item = &'a ScoredSkill>,
        ranked: &[ScoredSkill],
        bar: ScoreThreshold,
    ) -> Option<&'a ScoredSkill> {
        let worth = skills.filter(|scored| self.added_score(scored, ranked) >= bar.new_words);
        worth.max_by(|a, b| {
            // Of two that add the same, the one that ranks higher is taken.
            self.added_score(a, ranked).total_cmp(&self.added_score(b, ranked)).then(a.score.total_cmp(&b.score))
        })
    }

    pub(super) fn take(&mut self, scored: &ScoredSkill) {
        self.skills.push(Arc::clone(&scored.skill));
        self.reasons.push(scored.reason());
    }

    fn contains(&self, skill: &Skill) -> bool {
        self.skills.iter().any(|chosen| chosen.id == skill.id)
    }

    fn may_take(&self, scored: &ScoredSkill, wishes: &SkillRequests) -> bool {
        let skill = &scored.skill;
        may_be_found(skill) && !self.contains(skill) && !wishes.unwanted.contains(&skill.id)
    }

    /// How much of a skill's score comes from words that those already chosen do not cover.
    fn added_score(&self, scored: &ScoredSkill, ranked: &[ScoredSkill]) -> f64 {
        let covered = ranked.iter().filter(|other| self.contains(&other.skill));
        scored.score_beyond(&covered.collect::<Vec<_>>())
    }

    /// What became of a skill, once the choice is made.
    pub(super) fn verdict(&self, scored: &ScoredSkill, wishes: &SkillRequests, bars: SelectionBars) -> SkillVerdict {
        if let Some(reason) = self.reason_of(&scored.skill) {
            return if reason.starts_with("hint") { SkillVerdict::Hinted } else { SkillVerdict::Chosen };
        }
        if wishes.unwanted.contains(&scored.skill.id) {
            return SkillVerdict::Excluded;
        }
        let is_second = !self.skills.is_empty() || !wishes.hinted.is_empty();
        if scored.fit < if is_second { bars.second() } else { bars.first() } {
            return SkillVerdict::BelowThreshold;
        }
        if !may_be_found(&scored.skill) {
            return SkillVerdict::NotByModel;
        }
        if self.skills.len() >= self.most { SkillVerdict::NoRoom } else { SkillVerdict::AddsLittle }
    }

    fn reason_of(&self, skill: &Skill) -> Option<&str> {
        let position = self.skills.iter().position(|chosen| chosen.id == skill.id)?;
        self.reasons.get(position).map(String::as_str)
    }
}
