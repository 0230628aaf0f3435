//! Skills for a task, if any, and the reasons for the choice.
//!
//! Skills that the task names come first. The rest is a ranked match over names, descriptions and, for those that
//! come into question, bodies. Choosing none is the usual outcome: a skill that does not help distracts. Nothing
//! here depends on anything but the task and the catalogue, so the same question has the same answer.

mod background;
mod hints;
mod score;
mod term_index;
mod tokens;

use std::sync::Arc;

use maestro_core::event::{RankedSkill, SelectedSkill, SelectionDetail, SelectionStrategy, SkillVerdict};
use maestro_core::{RunId, SkillSelection, StepKind};

use crate::catalogue::{Catalogue, NameLookup};
use crate::skill::Skill;
use hints::SkillRequests;
use score::ScoredSkill;
use term_index::TermIndex;
use tokens::Tokenizer;

/// How many skills a selection reports on.
const REPORTED: usize = 10;
/// Among how many of the best a second skill is looked for.
const RUNNER_UPS: usize = 6;

/// A task that skills are wanted for.
#[derive(Debug, Clone, Copy)]
pub struct TaskNeeds<'a> {
    /// The task's text.
    pub label: &'a str,
    /// The skills that it names.
    pub hints: &'a [String],
    /// What is to be done with it.
    pub step: StepKind,
    /// How many skills it may get.
    pub most: usize,
}

/// What was chosen: the record for the log, and the skills themselves.
#[derive(Debug)]
pub struct SelectionResult {
    /// What is written down and shown.
    pub record: SkillSelection,
    /// The chosen skills, best first.
    pub skills: Vec<Arc<Skill>>,
}

/// Chooses skills from a catalogue. Building it costs more than a choice, so it is kept as long as the catalogue.
pub struct SkillSelector {
    catalogue: Arc<Catalogue>,
    tokenizer: Tokenizer,
    index: TermIndex,
}

impl SkillSelector {
    /// Prepares a catalogue for being chosen from.
    pub fn new(catalogue: Arc<Catalogue>) -> Self {
        let tokenizer = Tokenizer::new();
        let index = TermIndex::of(&catalogue, &tokenizer);
        Self { catalogue, tokenizer, index }
    }

    /// Prepares a catalogue for one task only, which is quicker than preparing it for any.
    ///
    /// What it says about other tasks is worth nothing.
    pub fn for_task(catalogue: Arc<Catalogue>, label: &str) -> Self {
        let tokenizer = Tokenizer::new();
        let mut stems: Vec<String> = Vec::new();
        for token in tokenizer.tokens(label) {
            if !stems.contains(&token.stem) {
                stems.push(token.stem);
            }
        }
        let index = TermIndex::for_words(&catalogue, &tokenizer, &stems);
        Self { catalogue, tokenizer, index }
    }

    /// Chooses for a task.
    pub fn select(&self, run_id: RunId, task: TaskNeeds<'_>) -> SelectionResult {
        let wishes = SkillRequests::of(task.label, task.hints, &self.catalogue);
        let mut choice =
            SelectionDraft { most: task.most, skills: Vec::new(), reasons: Vec::new(), errors: Vec::new() };
        for name in &wishes.hinted {
            choice.take_hinted(name, &self.catalogue);
        }
        let hinted = choice.skills.len();
        let bar = ScoreThreshold::of(self.index.len());
        let ranked = score::rank(task.label, &self.index, &self.tokenizer);
        choice.fill(&ranked, &wishes, bar);
        let verdicts: Vec<SkillVerdict> = ranked.iter().map(|scored| choice.verdict(scored, &wishes, bar)).collect();
        let reported = ranked.into_iter().zip(verdicts).take(REPORTED);
        let ranking = reported.map(|(scored, verdict)| scored.into_ranked(verdict)).collect();
        let strategy = match (hinted, choice.skills.len()) {
            (0, 0) => SelectionStrategy::None,
            (0, _) => SelectionStrategy::Match,
            _ => SelectionStrategy::Hint,
        };
        self.record(run_id, task, choice, strategy, ranking, bar)
    }

    /// What a first choice must reach.
    pub fn threshold(&self) -> f64 {
        round_score(ScoreThreshold::of(self.index.len()).first)
    }

    /// How one skill ranks for a task, however far down it is; `None` when the task neither names it nor shares a
    /// word with it.
    pub fn explain(&self, label: &str, hints: &[String], skill: &Skill) -> Option<RankedSkill> {
        let wishes = SkillRequests::of(label, hints, &self.catalogue);
        let is_hinted = wishes.hinted.iter().any(|name| name == skill.id.as_str());
        let is_unwanted = wishes.unwanted.contains(&skill.id);
        let scored = score::score_one(label, skill, &self.index, &self.tokenizer);
        let score = scored.as_ref().map_or(0.0, |scored| scored.score);
        let verdict = if is_hinted {
            SkillVerdict::Hinted
        } else if is_unwanted {
            SkillVerdict::Excluded
        } else if score < ScoreThreshold::of(self.index.len()).first {
            SkillVerdict::BelowThreshold
        } else if skill.invocation.by_model {
            SkillVerdict::Chosen
        } else {
            SkillVerdict::NotByModel
        };
        match scored {
            Some(scored) => Some(scored.into_ranked(verdict)),
            None if is_hinted || is_unwanted => {
                Some(RankedSkill { name: skill.id.as_str().to_owned(), score, terms: Vec::new(), verdict })
            }
            None => None,
        }
    }

    fn record(
        &self,
        run_id: RunId,
        task: TaskNeeds<'_>,
        choice: SelectionDraft,
        strategy: SelectionStrategy,
        ranking: Vec<RankedSkill>,
        bar: ScoreThreshold,
    ) -> SelectionResult {
        let names = choice.skills.iter().map(|skill| skill.id.as_str().to_owned());
        let skills = names.zip(choice.reasons).map(|(name, reason)| SelectedSkill { name, reason }).collect();
        let record = SkillSelection {
            run_id,
            step_kind: task.step,
            task_label: task.label.to_owned(),
            skills,
            strategy,
            errors: choice.errors,
            detail: SelectionDetail { ranking, threshold: round_score(bar.first), considered: self.index.len() },
        };
        SelectionResult { record, skills: choice.skills }
    }
}

/// What a score must reach.
#[derive(Debug, Clone, Copy)]
struct ScoreThreshold {
    /// For the first choice.
    first: f64,
    /// For any further one.
    second: f64,
    /// For a further one, with words that those before do not cover: two skills for the same words are one too many.
    new_words: f64,
}

impl ScoreThreshold {
    /// Among many skills one fits by chance more easily, so the bar rises with their number.
    #[expect(clippy::cast_precision_loss, reason = "there are far fewer than 2^52 skills")]
    fn of(skills: usize) -> Self {
        let rise = 1.2 * (skills.max(10) as f64 / 100.0).ln();
        Self { first: 13.5 + rise, second: 12.0 + rise, new_words: 9.0 + rise.max(0.0) }
    }
}

/// A choice while it is being made.
struct SelectionDraft {
    most: usize,
    skills: Vec<Arc<Skill>>,
    reasons: Vec<String>,
    errors: Vec<String>,
}

impl SelectionDraft {
    fn take_hinted(&mut self, name: &str, catalogue: &Catalogue) {
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
    fn fill(&mut self, ranked: &[ScoredSkill], wishes: &SkillRequests, bar: ScoreThreshold) {
        // Where the task names skills, any others must be good enough for a second place.
        if self.skills.is_empty() && wishes.hinted.is_empty() {
            let first = ranked.iter().find(|scored| self.may_take(scored, wishes));
            match first.filter(|scored| scored.score >= bar.first && self.most > 0) {
                Some(scored) => self.take(scored),
                None => return,
            }
        }
        while self.skills.len() < self.most {
            let close = ranked.iter().take(RUNNER_UPS).filter(|scored| self.may_take(scored, wishes));
            let worth =
                close.filter(|scored| scored.score >= bar.second && self.added_score(scored, ranked) >= bar.new_words);
            let best = worth.max_by(|a, b| {
                // Of two that add the same, the one that ranks higher is taken.
                self.added_score(a, ranked).total_cmp(&self.added_score(b, ranked)).then(a.score.total_cmp(&b.score))
            });
            match best {
                Some(scored) => self.take(scored),
                None => return,
            }
        }
    }

    fn take(&mut self, scored: &ScoredSkill) {
        self.skills.push(Arc::clone(&scored.skill));
        self.reasons.push(scored.reason());
    }

    fn contains(&self, skill: &Skill) -> bool {
        self.skills.iter().any(|chosen| chosen.id == skill.id)
    }

    fn may_take(&self, scored: &ScoredSkill, wishes: &SkillRequests) -> bool {
        let skill = &scored.skill;
        skill.invocation.by_model && !self.contains(skill) && !wishes.unwanted.contains(&skill.id)
    }

    /// How much of a skill's score comes from words that those already chosen do not cover.
    fn added_score(&self, scored: &ScoredSkill, ranked: &[ScoredSkill]) -> f64 {
        let covered = ranked.iter().filter(|other| self.contains(&other.skill));
        scored.score_beyond(&covered.collect::<Vec<_>>())
    }

    /// What became of a skill, once the choice is made.
    fn verdict(&self, scored: &ScoredSkill, wishes: &SkillRequests, bar: ScoreThreshold) -> SkillVerdict {
        if let Some(reason) = self.reason_of(&scored.skill) {
            return if reason.starts_with("hint") { SkillVerdict::Hinted } else { SkillVerdict::Chosen };
        }
        if wishes.unwanted.contains(&scored.skill.id) {
            return SkillVerdict::Excluded;
        }
        let is_second = !self.skills.is_empty() || !wishes.hinted.is_empty();
        if scored.score < if is_second { bar.second } else { bar.first } {
            return SkillVerdict::BelowThreshold;
        }
        if !scored.skill.invocation.by_model {
            return SkillVerdict::NotByModel;
        }
        if self.skills.len() >= self.most { SkillVerdict::NoRoom } else { SkillVerdict::AddsLittle }
    }

    fn reason_of(&self, skill: &Skill) -> Option<&str> {
        let position = self.skills.iter().position(|chosen| chosen.id == skill.id)?;
        self.reasons.get(position).map(String::as_str)
    }
}

/// Scores are shown with two decimals; more would only look precise.
fn round_score(score: f64) -> f64 {
    (score * 100.0).round() / 100.0
}
