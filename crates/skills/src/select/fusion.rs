//! Fusion of words and meaning into one measure of how well a skill fits.
//!
//! ```text
//! words' = words · min(1, 14 / number of the task's distinct words)
//! fit    = meaning + max(0, words' / (words' + 10) − 0.45) + exact name
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
/// How much the bars rise with the logarithm of the number of skills over a hundred.
const RISE: f64 = 0.05;
/// What a first skill must reach among a hundred.
const FIRST: f64 = 0.37;
/// What a second one must reach.
const SECOND: f64 = 0.60;
/// How far below the first a second one may be.
const WITHIN: f64 = 0.30;
/// How much higher the first bar is for a request with pasted texts, whose own words say less.
const PASTED: f64 = 0.05;
/// How far below a better skill that may not be taken the first one may be.
const NEAR_TOP: f64 = 0.20;
/// From which similarity of their cards on two skills are for the same work, so that one of them is enough.
const ALIKE: f32 = 0.66;
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
}

impl FitBars {
    /// The bars for a request among so many skills.
    #[expect(clippy::cast_precision_loss, reason = "there are far fewer than 2^52 skills")]
    pub(crate) fn of(skills: usize, form: RequestForm) -> Self {
        let rise = RISE * (skills.max(5) as f64 / 100.0).ln();
        let pasted = if form == RequestForm::Pasted { PASTED } else { 0.0 };
        Self { first: FIRST + rise + pasted, second: SECOND + rise, within: WITHIN, near_top: NEAR_TOP }
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
pub(crate) fn words_part(words: f64, distinct_words: usize) -> f64 {
    let words = words * (ENOUGH_WORDS / distinct_words.max(1) as f64).min(1.0);
    (words / (words + HALF) - KNEE).max(0.0)
}

/// How well a skill fits by words and meaning.
pub(crate) fn fit(words: f64, distinct_words: usize, meaning: f64, is_exact: bool) -> f64 {
    meaning + words_part(words, distinct_words) + if is_exact { EXACT_NAME } else { 0.0 }
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
        assert!(words_part(30.0, 10) > words_part(30.0, 60));
        assert!(words_part(3.0, 5).abs() < 1e-9);
        assert!(words_part(1e9, 1) <= 0.55);
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
