//! Skills for a task, if any, and the reasons for the choice.
//!
//! Skills that the task names come first. The rest is a ranked match: the words of names, descriptions and, for those
//! that come into question, bodies; and the meaning of the task and of the skills' cards, where vectors are known.
//! Choosing none is the usual outcome: a skill that does not help distracts. Nothing here depends on anything but the
//! task and the catalogue, so the same question has the same answer.

mod background;
mod clauses;
mod draft;
mod exact;
mod fusion;
mod hints;
mod meaning;
mod pasted_kind;
mod prompt_fit;
mod prose;
mod score;
mod term_index;
mod tokens;

use std::sync::Arc;

use maestro_core::event::{RankedSkill, SelectedSkill, SelectionDetail, SelectionStrategy, SkillVerdict};
use maestro_core::{RunId, SkillSelection, StepKind};

use crate::catalogue::Catalogue;
use crate::habits::SkillHabits;
use crate::skill::Skill;
pub use prompt_fit::{fitting_prompt, prompt_label};

use draft::SelectionDraft;
use exact::ExactNames;
use fusion::FitBars;
use hints::SkillRequests;
use meaning::TaskMeaning;
use prose::RequestForm;
use score::{ScoreInputs, ScoredSkill};
use term_index::TermIndex;
use tokens::Tokenizer;

/// How many skills a selection reports on.
const REPORTED: usize = 10;
/// How many phrases of a description explain a meaning.
const PHRASES: usize = 2;

/// Three hundred typical tasks, one a line, to try a skill on. They are from the lines that the encoder was trained on.
pub const TYPICAL_TASKS: &str = include_str!("../data/typical_tasks.txt");

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
        for token in tokenizer.tokens(&compared_text(label).0) {
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
        let compared = ComparedTask::of(task.label, self);
        let bars = self.bars(&compared);
        let mut choice = SelectionDraft::new(task.most);
        for name in &wishes.hinted {
            choice.take_hinted(name, &self.catalogue);
        }
        let hinted = choice.skills.len();
        let mut ranked = score::rank(compared.inputs(self));
        if let (SelectionBars::Fit(bars), Some(habits)) = (bars, &self.catalogue.habits) {
            break_ties(&mut ranked, bars.first, habits);
        }
        choice.fill(&ranked, &wishes, bars, self.catalogue.vectors.as_deref());
        if compared.form == RequestForm::Plain && hinted == 0 {
            self.add_by_clause(&compared.prose, &ranked, &wishes, bars, &mut choice);
        }
        let verdicts: Vec<SkillVerdict> = ranked.iter().map(|scored| choice.verdict(scored, &wishes, bars)).collect();
        let reported = ranked.into_iter().zip(verdicts).take(REPORTED);
        let ranking = reported.map(|(scored, verdict)| scored.into_ranked(verdict)).collect();
        let strategy = match (hinted, choice.skills.len()) {
            (0, 0) => SelectionStrategy::None,
            (0, _) => SelectionStrategy::Match,
            _ => SelectionStrategy::Hint,
        };
        self.record(run_id, task, choice, strategy, ranking, bars)
    }

    /// Adds a second skill that another part of the task needs.
    fn add_by_clause(
        &self,
        prose: &str,
        ranked: &[ScoredSkill],
        wishes: &SkillRequests,
        bars: SelectionBars,
        choice: &mut SelectionDraft,
    ) {
        let (SelectionBars::Fit(bars), Some(vectors)) = (bars, self.catalogue.vectors.as_deref()) else { return };
        let [first] = choice.skills.as_slice() else { return };
        let Some(taken) = ranked.iter().find(|scored| scored.skill.id == first.id) else { return };
        // Reading the clauses costs as much as reading the task, so it must be able to change something.
        let may_add = |scored: &ScoredSkill| scored.fit >= bars.first && choice.may_be_second(scored, wishes, vectors);
        if !ranked.iter().any(may_add) {
            return;
        }
        let best = clauses::best_of_another(prose, ranked, taken, vectors, &self.tokenizer, bars.first);
        if let Some(scored) = best.filter(|scored| choice.may_be_second(scored, wishes, vectors)) {
            choice.take(scored);
        }
    }

    /// How one skill ranks for a task, however far down it is, and what a first choice must reach; no rank when the
    /// task neither names it nor has anything in common with it.
    pub fn explain(&self, label: &str, hints: &[String], skill: &Skill) -> (Option<RankedSkill>, f64) {
        let wishes = SkillRequests::of(label, hints, &self.catalogue);
        let compared = ComparedTask::of(label, self);
        let bar = self.bars(&compared).first();
        let is_hinted = wishes.hinted.iter().any(|name| name == skill.id.as_str());
        let is_unwanted = wishes.unwanted.contains(&skill.id);
        let scored = score::score_one(compared.inputs(self), skill);
        let fit = scored.as_ref().map_or(0.0, |scored| scored.fit);
        let verdict = if is_hinted {
            SkillVerdict::Hinted
        } else if is_unwanted {
            SkillVerdict::Excluded
        } else if fit < bar {
            SkillVerdict::BelowThreshold
        } else if draft::may_be_found(skill) {
            SkillVerdict::Chosen
        } else {
            SkillVerdict::NotByModel
        };
        let named = || RankedSkill {
            name: skill.id.as_str().to_owned(),
            score: fit,
            words: 0.0,
            meaning: None,
            terms: Vec::new(),
            exact_name: false,
            verdict,
        };
        let ranked = match scored {
            Some(scored) => Some(scored.into_ranked(verdict)),
            None => (is_hinted || is_unwanted).then(named),
        };
        (ranked, round_score(bar))
    }

    /// The phrases of a skill's description that come nearest to a task.
    pub fn nearest_phrases(&self, label: &str, skill: &Skill) -> Vec<String> {
        meaning::nearest_phrases(&compared_text(label).0, skill, PHRASES)
    }

    fn bars(&self, compared: &ComparedTask) -> SelectionBars {
        let skills = self.index.len();
        match compared.meaning {
            Some(_) => SelectionBars::Fit(FitBars::of(skills, compared.form)),
            None => SelectionBars::Words(ScoreThreshold::of(skills)),
        }
    }

    fn record(
        &self,
        run_id: RunId,
        task: TaskNeeds<'_>,
        choice: SelectionDraft,
        strategy: SelectionStrategy,
        ranking: Vec<RankedSkill>,
        bars: SelectionBars,
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
            detail: SelectionDetail {
                ranking,
                threshold: round_score(bars.first()),
                second_threshold: round_score(bars.second()),
                considered: self.index.len(),
            },
        };
        SelectionResult { record, skills: choice.skills }
    }
}

/// What of a task is compared: a person's words, and what kind of text is pasted below them.
fn compared_text(label: &str) -> (String, RequestForm) {
    let (prose, form) = (prose::prose(label), prose::form(label));
    let kind = (form == RequestForm::Pasted).then(|| pasted_kind::words(label, &prose)).flatten();
    (kind.map_or_else(|| prose.clone(), |kind| format!("{prose} ({kind})")), form)
}

/// A task as it is compared with skills.
struct ComparedTask {
    prose: String,
    form: RequestForm,
    meaning: Option<TaskMeaning>,
    exact: Vec<usize>,
}

impl ComparedTask {
    fn of(label: &str, selector: &SkillSelector) -> Self {
        let (prose, form) = compared_text(label);
        let vectors = selector.catalogue.vectors.as_deref();
        let meaning = vectors.and_then(|vectors| TaskMeaning::of(&prose, &selector.index, vectors));
        let exact = match meaning {
            Some(_) => ExactNames::of(&prose, &selector.tokenizer).owners(&selector.index.skills()),
            None => Vec::new(),
        };
        Self { prose, form, meaning, exact }
    }

    fn inputs<'a>(&'a self, selector: &'a SkillSelector) -> ScoreInputs<'a> {
        ScoreInputs {
            prose: &self.prose,
            form: self.form,
            index: &selector.index,
            tokenizer: &selector.tokenizer,
            meaning: self.meaning.as_ref(),
            exact: &self.exact,
        }
    }
}

/// What skills must reach, by what is compared.
#[derive(Debug, Clone, Copy)]
enum SelectionBars {
    /// Only words.
    Words(ScoreThreshold),
    /// Words and meaning.
    Fit(FitBars),
}

impl SelectionBars {
    fn first(self) -> f64 {
        match self {
            Self::Words(bar) => bar.first,
            Self::Fit(bars) => bars.first,
        }
    }

    fn second(self) -> f64 {
        match self {
            Self::Words(bar) => bar.second,
            Self::Fit(bars) => bars.second,
        }
    }
}

/// What a score by words alone must reach.
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

/// Of the best skills that fit equally well, puts the one first that is of use most often. Each reaches the bar by itself.
fn break_ties(ranked: &mut [ScoredSkill], bar: f64, habits: &SkillHabits) {
    let top = ranked.first().map_or(f64::MAX, |scored| scored.fit);
    let tied = ranked.iter().take_while(|scored| scored.fit >= bar.max(top - fusion::TIE)).count();
    let usefulness = |scored: &ScoredSkill| habits.usefulness(scored.skill.id.as_str());
    if let Some(tied) = ranked.get_mut(..tied) {
        tied.sort_by(|a, b| usefulness(b).total_cmp(&usefulness(a)));
    }
}

/// Scores are shown with two decimals; more would only look precise.
fn round_score(score: f64) -> f64 {
    (score * 100.0).round() / 100.0
}
