//! Meaning of a task, compared with that of every skill.

use std::collections::HashMap;

use maestro_encoder::{TextEncoder, TextKind, TextVector};

use super::term_index::{DocumentId, TermIndex};
use crate::skill::{Skill, SkillSource};
use crate::vectors::{SkillVectors, is_found_by_content};

/// How near the skills of an index are to a task, as far as their vectors are known.
#[derive(Debug)]
pub(crate) struct TaskMeaning {
    similarities: HashMap<DocumentId, f64>,
}

impl TaskMeaning {
    /// Compares a task with every skill; nothing where less than four fifths of them have a vector to compare with.
    pub(crate) fn of(task: &str, index: &TermIndex, vectors: &SkillVectors) -> Option<Self> {
        let known: Vec<(DocumentId, &TextVector)> =
            index.documents().filter_map(|document| Some((document, vectors.of(index.skill(document)?)?))).collect();
        if known.is_empty() || task.trim().is_empty() || !is_enough(index, vectors) {
            return None;
        }
        let task = encode(task)?;
        let similarity = |(document, vector): (DocumentId, &TextVector)| (document, f64::from(task.similarity(vector)));
        Some(Self { similarities: known.into_iter().map(similarity).collect() })
    }

    pub(crate) fn similarity(&self, document: DocumentId) -> Option<f64> {
        self.similarities.get(&document).copied()
    }

    /// The nearest skills.
    pub(crate) fn nearest(&self, most: usize) -> Vec<DocumentId> {
        let mut nearest: Vec<(DocumentId, f64)> = self.similarities.iter().map(|(at, near)| (*at, *near)).collect();
        nearest.sort_by(|(a, a_near), (b, b_near)| b_near.total_cmp(a_near).then(a.cmp(b)));
        nearest.into_iter().take(most).map(|(document, _)| document).collect()
    }
}

/// Whether enough skills have a vector: compared by different measures, those with one would win or lose for having it.
/// The built-in pack always has its vectors, so it does not count beside others.
fn is_enough(index: &TermIndex, vectors: &SkillVectors) -> bool {
    let own = index.skills().filter(|skill| skill.source != SkillSource::Builtin && is_found_by_content(skill));
    let (known, all) =
        own.fold((0, 0), |(known, all), skill| (known + usize::from(vectors.of(skill).is_some()), all + 1));
    known * 5 >= all * 4
}

fn encode(task: &str) -> Option<TextVector> {
    let encoder = TextEncoder::built_in();
    let warn = |error: &_| tracing::warn!("the encoder cannot be used: {error}");
    Some(encoder.inspect_err(warn).ok()?.encode(task, TextKind::Task))
}

/// The phrases of a skill's description that are nearest to a task, best first.
pub(crate) fn nearest_phrases(task: &str, skill: &Skill, most: usize) -> Vec<String> {
    let Ok(encoder) = TextEncoder::built_in() else { return Vec::new() };
    let meaning = encoder.encode(task, TextKind::Task);
    let mut phrases: Vec<(f32, &str)> = phrases(&skill.description)
        .map(|phrase| (meaning.similarity(&encoder.encode(phrase, TextKind::Task)), phrase))
        .collect();
    phrases.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    phrases.into_iter().take(most).map(|(_, phrase)| phrase.to_owned()).collect()
}

/// How many phrases of a description are looked at.
const MOST_PHRASES: usize = 16;

/// The parts of a description between punctuation that say something.
fn phrases(description: &str) -> impl Iterator<Item = &str> {
    let parts = description.split(['.', ';', ',', ':', '(', ')', '\n', '"', '—', '–']);
    parts.map(str::trim).filter(|phrase| phrase.split_whitespace().count() >= 2).take(MOST_PHRASES)
}
