//! Trial of a task: which skills it would get, and why.

use maestro_core::SkillSelection;
use maestro_core::event::{RankedSkill, ScoreTerm, SelectedSkill, SkillVerdict};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::request::ApiRequest;
use crate::schemas::{IdText, NonBlankText, StepKindWord, VerdictWord};

/// For how many skills that were not chosen the nearest phrases are looked up, which takes a moment for each.
const EXPLAINED: usize = 2;

/// A task to try.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct TrialQuery {
    /// The task, as in a plan or a prompt.
    #[param(value_type = NonBlankText, required)]
    pub task: Option<String>,
    /// implementation unless said otherwise.
    #[param(value_type = Option<StepKindWord>)]
    pub step: Option<String>,
    /// Whose skills; without it, those where the server was started.
    #[param(value_type = Option<IdText>)]
    pub project_id: Option<String>,
}

/// Which skills a task would get, which came close, and what decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Trial)]
pub struct TaskTrial {
    /// The task.
    pub task: String,
    /// What is to be done with it.
    #[schema(value_type = StepKindWord)]
    pub step: String,
    /// Whether meaning was compared, or words alone.
    pub by_meaning: bool,
    /// What a skill must reach.
    pub bars: TrialBars,
    /// Those that it gets, best first.
    pub chosen: Vec<TrialSkill>,
    /// Those that came closest without being chosen, best first.
    pub others: Vec<TrialSkill>,
    /// How many skills were considered.
    pub considered: usize,
    /// What went wrong without stopping anything.
    pub errors: Vec<String>,
}

/// What a skill must reach to be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = TrialBars)]
pub struct TrialBars {
    /// As the first.
    pub first: f64,
    /// As a second one.
    pub second: f64,
}

/// A skill in a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TrialSkill)]
pub struct TrialSkill {
    /// Its name.
    pub name: String,
    /// What it says it is for.
    pub description: String,
    /// What became of it.
    #[schema(value_type = VerdictWord)]
    pub verdict: String,
    /// The same in a sentence.
    pub because: String,
    /// How well it fits: by words and meaning, or by words alone where no meaning is known.
    pub fit: f64,
    /// The words of the task that count, with what each adds, most first.
    pub words: Vec<TrialWord>,
    /// How well its words fit.
    pub words_score: f64,
    /// How near its meaning is to the task's, from -1 to 1, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meaning: Option<f64>,
    /// The phrases of its description that come nearest to the task; only for those that were chosen and the first others.
    pub phrases: Vec<String>,
    /// The task has its exact name.
    pub exact_name: bool,
}

/// A word of a task, and what it adds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = TrialWord)]
pub struct TrialWord {
    /// The word.
    pub word: String,
    /// What it adds to the score by words.
    pub adds: f64,
}

/// What is known of a skill beside its rank.
#[derive(Debug, Clone, Default)]
pub struct TrialNotes {
    /// What it says it is for.
    pub description: String,
    /// The phrases of it that come nearest to the task.
    pub phrases: Vec<String>,
}

/// How much is wanted of what is known of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialDepth {
    /// Its description.
    Brief,
    /// The nearest phrases as well.
    Phrases,
}

impl TaskTrial {
    /// A selection with what is known of its skills.
    pub fn new(selection: SkillSelection, notes: impl Fn(&str, TrialDepth) -> TrialNotes) -> Self {
        let SkillSelection { step_kind, task_label, skills, errors, detail, .. } = selection;
        let is_chosen = |name: &str| skills.iter().any(|skill| skill.name == name);
        let (ranked, others): (Vec<RankedSkill>, Vec<RankedSkill>) =
            detail.ranking.into_iter().partition(|ranked| is_chosen(&ranked.name));
        let by_meaning = ranked.iter().chain(&others).any(|ranked| ranked.meaning.is_some());
        let chosen = skills.iter().map(|skill| {
            let rank = ranked.iter().find(|ranked| ranked.name == skill.name).cloned();
            let rank = rank.unwrap_or_else(|| unranked(skill));
            let depth = if rank.meaning.is_some() { TrialDepth::Phrases } else { TrialDepth::Brief };
            TrialSkill::new(rank, |name| notes(name, depth))
        });
        let chosen = chosen.collect();
        let others = others.into_iter().enumerate().map(|(position, ranked)| {
            let is_explained = position < EXPLAINED && ranked.meaning.is_some();
            let depth = if is_explained { TrialDepth::Phrases } else { TrialDepth::Brief };
            TrialSkill::new(ranked, |name| notes(name, depth))
        });
        Self {
            task: task_label,
            step: step_kind.to_string(),
            by_meaning,
            bars: TrialBars { first: detail.threshold, second: detail.second_threshold },
            chosen,
            others: others.collect(),
            considered: detail.considered,
            errors,
        }
    }
}

impl TrialSkill {
    fn new(ranked: RankedSkill, notes: impl FnOnce(&str) -> TrialNotes) -> Self {
        let TrialNotes { description, phrases } = notes(&ranked.name);
        let word = |term: ScoreTerm| TrialWord { word: term.word, adds: term.adds };
        Self {
            name: ranked.name,
            description,
            verdict: ranked.verdict.to_string(),
            because: ranked.verdict.meaning().to_owned(),
            fit: ranked.score,
            words: ranked.terms.into_iter().map(word).collect(),
            words_score: ranked.words,
            meaning: ranked.meaning,
            phrases,
            exact_name: ranked.exact_name,
        }
    }
}

/// A skill that the task names and that has nothing in common with it.
fn unranked(skill: &SelectedSkill) -> RankedSkill {
    RankedSkill {
        name: skill.name.clone(),
        score: 0.0,
        words: 0.0,
        meaning: None,
        terms: Vec::new(),
        exact_name: false,
        verdict: SkillVerdict::Hinted,
    }
}

/// Tries a task; nothing is recorded.
pub fn try_task(query: &TrialQuery) -> ApiRequest<TaskTrial> {
    ApiRequest::get("/api/skills/try").with_query(query)
}
