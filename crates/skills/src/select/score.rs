//! Score of a skill for a task: BM25F over name, description and body, rare words weighing more.

use std::collections::HashMap;
use std::sync::Arc;

use maestro_core::event::{RankedSkill, ScoreTerm, SkillVerdict};
use rayon::prelude::*;

use super::background;
use super::fusion::{self, CommonTraits, FitBars};
use super::meaning::TaskMeaning;
use super::prose::RequestForm;
use super::term_index::{BODY, DocumentId, TermIndex};
use super::tokens::{QueryRecognizer, Tokenizer, WordToken};
use super::{ScoreThreshold, round_score};
use crate::frontmatter;
use crate::instructions;
use crate::skill::{Skill, SkillSource};

/// For how many skills the body is read: those whose name and description fit best.
const CANDIDATES: usize = 40;
/// How many more come into question for their meaning.
const NEAREST: usize = 12;
/// How many skills the background table counts as, beside the installed ones.
const BACKGROUND: f64 = 330.0;
/// From here on more of the same word adds little.
const SATURATION: f64 = 1.2;
/// How much of a body is looked at.
const BODY_BYTES: usize = 20_000;

/// A word of the task and its weight.
struct QueryTerm {
    token: WordToken,
    weight: f64,
}

/// A skill's score for a task, with what each word adds.
#[derive(Debug)]
pub(crate) struct ScoredSkill {
    pub(crate) skill: Arc<Skill>,
    /// By words alone.
    pub(crate) score: f64,
    /// How near its card is to the task, where that is known.
    pub(crate) meaning: Option<f64>,
    /// What decides: words and meaning together, or words alone.
    pub(crate) fit: f64,
    terms: Vec<(String, f64)>,
    /// Whether the task has its exact name.
    has_exact_name: bool,
}

impl ScoredSkill {
    /// `keyword: …` with the words that count most, or `meaning: …` where there are none.
    pub(crate) fn reason(&self) -> String {
        let words: Vec<&str> = self.terms.iter().take(3).map(|(word, _)| word.as_str()).collect();
        match self.meaning {
            Some(meaning) if words.is_empty() => format!("meaning: {meaning:.2}"),
            _ => format!("keyword: {}", words.join(", ")),
        }
    }

    /// What it scores with words that count for none of the others, or much less.
    pub(crate) fn score_beyond(&self, others: &[&Self]) -> f64 {
        let is_new = |(word, adds): &&(String, f64)| {
            others.iter().all(|other| {
                let theirs = other.terms.iter().find(|(other, _)| other == word).map_or(0.0, |(_, adds)| *adds);
                theirs < adds / 2.0
            })
        };
        self.terms.iter().filter(is_new).map(|(_, adds)| adds).sum()
    }

    /// What it scores with some of the words.
    pub(crate) fn score_of(&self, is_one: impl Fn(&str) -> bool) -> f64 {
        self.terms.iter().filter(|(word, _)| is_one(word)).map(|(_, adds)| adds).sum()
    }

    pub(crate) fn into_ranked(self, verdict: SkillVerdict) -> RankedSkill {
        let terms = self
            .terms
            .into_iter()
            .map(|(word, adds)| ScoreTerm { word, adds: round_score(adds), means: None })
            .collect();
        RankedSkill {
            name: self.skill.id.as_str().to_owned(),
            score: round_score(self.fit),
            words: round_score(self.score),
            meaning: self.meaning.map(round_score),
            terms,
            exact_name: self.has_exact_name,
            verdict,
        }
    }
}

/// A task, and what it is compared with.
#[derive(Clone, Copy)]
pub(crate) struct ScoreInputs<'a> {
    /// Its words, without what is pasted into it.
    pub(crate) prose: &'a str,
    pub(crate) form: RequestForm,
    pub(crate) index: &'a TermIndex,
    pub(crate) tokenizer: &'a Tokenizer,
    /// How near each skill is, where vectors are known.
    pub(crate) meaning: Option<&'a TaskMeaning>,
    /// Skills that the task has the name of.
    pub(crate) exact: &'a [usize],
}

/// The skills that come into question for a task, best first; ties go to search order.
pub(crate) fn rank(inputs: ScoreInputs<'_>) -> Vec<ScoredSkill> {
    let ScoreInputs { prose, index, tokenizer, meaning, exact, .. } = inputs;
    let query = query(prose, index, tokenizer);
    let mut candidates = candidates(&query, index);
    let nearest = meaning.map(|meaning| meaning.nearest(NEAREST)).unwrap_or_default();
    let exact = exact.iter().filter_map(|&position| DocumentId::try_from(position).ok());
    for document in nearest.into_iter().chain(exact) {
        if !candidates.iter().any(|(known, _)| *known == document) {
            candidates.push((document, worths_in(&query, index, document)));
        }
    }
    let mut scored: Vec<(DocumentId, ScoredSkill)> = candidates
        .into_par_iter()
        .filter_map(|(document, worths)| {
            let skill = index.skill(document)?;
            let scored = score(skill, &query, &worths, tokenizer);
            Some((document, inputs.fuse(scored, document, query.len())))
        })
        .filter(|(_, scored)| scored.score > 0.0 || scored.meaning.is_some())
        .collect();
    scored.sort_by(|(a_document, a), (b_document, b)| b.fit.total_cmp(&a.fit).then(a_document.cmp(b_document)));
    scored.into_iter().map(|(_, scored)| scored).collect()
}

impl ScoreInputs<'_> {
    /// Adds the meaning to a lexical score.
    fn fuse(&self, mut scored: ScoredSkill, document: DocumentId, distinct_words: usize) -> ScoredSkill {
        let Some(meaning) = self.meaning else { return scored };
        let is_exact = self.exact.iter().any(|&position| DocumentId::try_from(position) == Ok(document));
        scored.has_exact_name = is_exact;
        scored.meaning = meaning.similarity(document);
        scored.fit = if let Some(meaning) = scored.meaning {
            let common = CommonTraits { words: scored.score, distinct_words, meaning, is_exact };
            fusion::fit(common, self.form)
        } else {
            let skills = self.index.len();
            fusion::fit_by_words(scored.score, ScoreThreshold::of(skills).first, FitBars::of(skills, self.form))
        };
        if scored.skill.source == SkillSource::Builtin {
            scored.fit -= fusion::small_pool_allowance(self.index.len());
        }
        scored
    }
}

/// One skill's score, however it compares with others; nothing when it has none of the task's words.
pub(crate) fn score_one(inputs: ScoreInputs<'_>, skill: &Skill) -> Option<ScoredSkill> {
    let ScoreInputs { prose, index, tokenizer, .. } = inputs;
    let query = query(prose, index, tokenizer);
    let is_it = |document: &DocumentId| index.skill(*document).is_some_and(|other| other.id == skill.id);
    let document = index.documents().find(is_it)?;
    let scored = score(index.skill(document)?, &query, &worths_in(&query, index, document), tokenizer);
    let scored = inputs.fuse(scored, document, query.len());
    (scored.score > 0.0 || scored.meaning.is_some()).then_some(scored)
}

/// What each of the task's words is worth in a skill's name and description.
fn worths_in(query: &[QueryTerm], index: &TermIndex, document: DocumentId) -> Vec<f64> {
    query.iter().map(|term| worth_in(index, &term.token.stem, document)).collect()
}

fn worth_in(index: &TermIndex, stem: &str, document: DocumentId) -> f64 {
    index.with(stem).iter().find(|(other, _)| *other == document).map_or(0.0, |(_, worth)| *worth)
}

/// The task's distinct words, weighed.
fn query(label: &str, index: &TermIndex, tokenizer: &Tokenizer) -> Vec<QueryTerm> {
    let mut terms: Vec<QueryTerm> = Vec::new();
    for token in tokenizer.tokens(label) {
        if !terms.iter().any(|known| known.token.stem == token.stem) {
            let weight = weight(&token.stem, index);
            terms.push(QueryTerm { token, weight });
        }
    }
    terms
}

/// How much a word weighs: the rarer it is in general and among the installed skills, the more.
///
/// Counts are brought to the scale of the background, so that a score means the same among ten skills and among
/// ten thousand.
#[expect(clippy::cast_precision_loss, reason = "counts of skills are far below 2^52")]
fn weight(stem: &str, index: &TermIndex) -> f64 {
    let share = background::share(stem);
    let installed = index.with(stem).len() as f64;
    let scale = BACKGROUND / (BACKGROUND + index.len() as f64);
    let have = (300.0 * share.headline + 30.0 * share.anywhere + installed) * scale;
    (1.0 + (BACKGROUND - have + 0.5) / (have + 0.5)).ln()
}

/// The skills with the best names and descriptions, with what each word is worth in them.
fn candidates(query: &[QueryTerm], index: &TermIndex) -> Vec<(DocumentId, Vec<f64>)> {
    let mut found: HashMap<DocumentId, Vec<f64>> = HashMap::new();
    for (position, term) in query.iter().enumerate() {
        for &(document, worth) in index.with(&term.token.stem) {
            let worths = found.entry(document).or_insert_with(|| vec![0.0; query.len()]);
            if let Some(slot) = worths.get_mut(position) {
                *slot = worth;
            }
        }
    }
    if index.len() <= CANDIDATES {
        // So few that a body may be looked at although nothing in its headline fits.
        for document in index.documents() {
            found.entry(document).or_insert_with(|| vec![0.0; query.len()]);
        }
    }
    let headline = |worths: &[f64]| query.iter().zip(worths).map(|(term, &worth)| term_score(term, worth)).sum::<f64>();
    let mut ranked: Vec<(f64, DocumentId, Vec<f64>)> =
        found.into_iter().map(|(document, worths)| (headline(&worths), document, worths)).collect();
    ranked.sort_by(|(a, a_document, _), (b, b_document, _)| b.total_cmp(a).then(a_document.cmp(b_document)));
    ranked.truncate(CANDIDATES);
    ranked.into_iter().map(|(_, document, worths)| (document, worths)).collect()
}

fn term_score(term: &QueryTerm, worth: f64) -> f64 {
    term.weight * (SATURATION + 1.0) * worth / (worth + SATURATION)
}

/// A skill's score with its body.
fn score(skill: &Arc<Skill>, query: &[QueryTerm], headline: &[f64], tokenizer: &Tokenizer) -> ScoredSkill {
    let body = body_worths(skill, query, tokenizer);
    let mut terms: Vec<(String, f64)> = query
        .iter()
        .zip(headline.iter().zip(body))
        .map(|(term, (headline, body))| (term.token.word.clone(), term_score(term, headline + body)))
        .filter(|(_, adds)| *adds > 0.0)
        .collect();
    // An empty sum is negative zero, which looks odd.
    let score = terms.iter().map(|(_, adds)| adds).sum::<f64>() + 0.0;
    terms.sort_by(|(a_word, a), (b_word, b)| b.total_cmp(a).then_with(|| a_word.cmp(b_word)));
    ScoredSkill { skill: Arc::clone(skill), score, meaning: None, fit: score, terms, has_exact_name: false }
}

/// What each of the task's words is worth in a skill's body. A body that cannot be read is an empty one here; that
/// it cannot be read is reported where it is loaded.
fn body_worths(skill: &Skill, query: &[QueryTerm], tokenizer: &Tokenizer) -> Vec<f64> {
    let contents = match instructions::instructions(skill) {
        Ok(contents) => contents.bytes,
        Err(error) => {
            tracing::debug!(skill = %skill.id, "a skill is selected without its text: {error}");
            Vec::new()
        }
    };
    let start = frontmatter::find(&contents).map_or(0, |header| header.body_at);
    let end = contents.len().min(start + BODY_BYTES);
    let text = String::from_utf8_lossy(contents.get(start..end).unwrap_or_default());
    let stems: Vec<String> = query.iter().map(|term| term.token.stem.clone()).collect();
    let (counts, length) = QueryRecognizer::new(tokenizer, &stems).count([text.as_ref()]);
    counts.into_iter().map(|count| BODY.worth(count, length)).collect()
}
