//! Fusion of words and meaning into one measure of how well a skill fits.
//!
//! ```text
//! words' = words · min(1, 14 / number of the task's distinct words)
//! fit    = meaning + 1.4 · max(0, words' / (words' + 10) − 0.45) + exact name
//! ```
//!
//! `words` is the lexical score, `meaning` the cosine between the task and the skill's card. A first skill must reach
//! a bar, a second one a higher bar, come close to the first and be for other work; both bars rise with the number of skills, because
//! among many one fits by chance more easily. Constants are calibrated on `bench/selection/dev.jsonl` and the shared
//! development set over pools of 5 to 2,000 skills, never on the test lines.

use maestro_encoder::TextVector;

use super::prose::RequestForm;

/// From so many distinct words on, more of them no longer raise the lexical score.
const ENOUGH_WORDS: f64 = 14.0;
/// Where the lexical score counts half.
const HALF: f64 = 10.0;
/// What the lexical part must exceed to count at all: a few shared words say nothing beside the meaning.
const KNEE: f64 = 0.45;
/// How much the lexical part weighs beside the meaning.
const WORDS: f64 = 1.4;
/// How much it weighs in a request with pasted texts, which names what happens to be in them.
const PASTED_WORDS: f64 = 1.0;
/// How much the bars rise with the logarithm of the number of skills over a hundred.
const RISE: f64 = 0.05;
/// What a first skill must reach among a hundred.
const FIRST: f64 = 0.37;
/// What a second one must reach.
const SECOND: f64 = 0.60;
/// How far below the first a second one may be.
const WITHIN: f64 = 0.30;
/// How much higher the bars are for a request with pasted texts, whose own words say less.
const PASTED: f64 = 0.06;
/// How far the next one must be below the first for a request with pasted texts, where the first does not reach the second
/// bar: what little the request says fits both.
const PASTED_LEAD: f64 = 0.05;
/// How far below a better skill that may not be taken the first one may be.
const NEAR_TOP: f64 = 0.20;
/// From which similarity of their cards on two skills are for the same work, so that one of them is enough.
const ALIKE: f32 = 0.66;
/// Within how much two fits count as equal, so that the project's habits may decide between them.
pub(crate) const TIE: f64 = 0.02;
/// What a name of the skill in the task adds.
const EXACT_NAME: f64 = 0.25;
/// How much better a skill without a vector must be in words to gain one point of fit.
const WORDS_PER_FIT: f64 = 20.0;

/// What a fit must reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FitBars {
    /// For the first choice.
    pub(crate) first: f64,
    /// For a second one.
    pub(crate) second: f64,
    /// How far a second one may be below the first.
    pub(crate) within: f64,
    /// How far the first one may be below a better one that may not be taken.
    pub(crate) near_top: f64,
    /// How far the next one must be below a first that does not reach the second bar.
    pub(crate) lead: f64,
}

impl FitBars {
    /// The bars for a request among so many skills.
    #[expect(clippy::cast_precision_loss, reason = "there are far fewer than 2^52 skills")]
    pub(crate) fn of(skills: usize, form: RequestForm) -> Self {
        let rise = RISE * (skills.max(5) as f64 / 100.0).ln();
        let (pasted, lead) = if form == RequestForm::Pasted { (PASTED, PASTED_LEAD) } else { (0.0, 0.0) };
        Self { first: FIRST + rise + pasted, second: SECOND + rise + pasted, within: WITHIN, near_top: NEAR_TOP, lead }
    }
}

/// How much lower the bars are among so few skills. A small number says that these were chosen for the project, so
/// what comes with the program gets none of it.
#[expect(clippy::cast_precision_loss, reason = "there are far fewer than 2^52 skills")]
pub(crate) fn small_pool_allowance(skills: usize) -> f64 {
    (-RISE * (skills.max(5) as f64 / 100.0).ln()).max(0.0)
}

/// Whether two skills are for the same work, as far as their vectors are known.
pub(crate) fn are_alike(a: Option<&TextVector>, b: Option<&TextVector>) -> bool {
    a.zip(b).is_some_and(|(a, b)| a.similarity(b) >= ALIKE)
}

/// What the lexical score adds to the meaning.
#[expect(clippy::cast_precision_loss, reason = "a task has far fewer than 2^52 words")]
pub(crate) fn words_part(words: f64, distinct_words: usize, form: RequestForm) -> f64 {
    let words = words * (ENOUGH_WORDS / distinct_words.max(1) as f64).min(1.0);
    let weight = if form == RequestForm::Pasted { PASTED_WORDS } else { WORDS };
    weight * (words / (words + HALF) - KNEE).max(0.0)
}

/// What a task and a skill have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommonTraits {
    /// The lexical score.
    pub(crate) words: f64,
    /// How many distinct words the task has.
    pub(crate) distinct_words: usize,
    /// How near the skill's card is.
    pub(crate) meaning: f64,
    /// Whether the task has the skill's exact name.
    pub(crate) is_exact: bool,
}

/// How well a skill fits by words and meaning.
pub(crate) fn fit(common: CommonTraits, form: RequestForm) -> f64 {
    let exact = if common.is_exact { EXACT_NAME } else { 0.0 };
    common.meaning + words_part(common.words, common.distinct_words, form) + exact
}

/// How well a skill without a vector fits: it reaches the bar where its words alone would have been enough.
pub(crate) fn fit_by_words(words: f64, words_bar: f64, bars: FitBars) -> f64 {
    bars.first + (words - words_bar) / WORDS_PER_FIT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_tasks_do_not_collect_points() {
        let part = |words, distinct| words_part(words, distinct, RequestForm::Plain);
        assert!(part(30.0, 10) > part(30.0, 60));
        assert!(part(30.0, 10) > words_part(30.0, 10, RequestForm::Pasted));
        assert!(part(3.0, 5).abs() < 1e-9);
        assert!(part(1e9, 1) <= 0.77);
    }

    #[test]
    fn bars_rise_with_the_number_of_skills() {
        let bars = |skills| FitBars::of(skills, RequestForm::Plain);
        assert!(bars(10).first < bars(100).first);
        assert!(bars(100).first < bars(2000).first);
        assert_eq!(bars(0), bars(5));
        assert!(FitBars::of(10, RequestForm::Pasted).first > bars(10).first);
    }

    #[test]
    fn a_skill_without_a_vector_passes_where_its_words_would() {
        let bars = FitBars::of(100, RequestForm::Plain);
        assert!(fit_by_words(13.5, 13.5, bars) >= bars.first);
        assert!(fit_by_words(13.4, 13.5, bars) < bars.first);
    }
}
