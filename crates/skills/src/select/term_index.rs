//! Search index over a catalogue's names and descriptions.
//!
//! Built once for a catalogue that is kept, or for one task's words where the process ends with the answer. Bodies are
//! not in it: they are read only for the few best candidates.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::tokens::{QueryRecognizer, Tokenizer, each_word};
use crate::catalogue::Catalogue;
use crate::catalogue_entry::CatalogueEntry;
use crate::skill::Skill;

/// A field of a skill that words are counted in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexField {
    /// What a word in it is worth.
    pub(crate) weight: f64,
    /// How much its length is held against it.
    slope: f64,
    /// How long it usually is.
    usual: f64,
}

pub(crate) const NAME: IndexField = IndexField { weight: 3.0, slope: 0.3, usual: 2.5 };
pub(crate) const DESCRIPTION: IndexField = IndexField { weight: 1.5, slope: 0.5, usual: 25.0 };
pub(crate) const BODY: IndexField = IndexField { weight: 0.2, slope: 0.8, usual: 600.0 };

impl IndexField {
    /// What a word that occurs `count` times in a field of `length` words is worth.
    #[expect(clippy::cast_precision_loss, reason = "lengths of texts are far below 2^52")]
    pub(crate) fn worth(self, count: u32, length: usize) -> f64 {
        self.weight * f64::from(count) / (1.0 - self.slope + self.slope * length as f64 / self.usual)
    }
}

/// A word's number in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TermId(u32);

/// A skill's number in the index.
pub(crate) type DocumentId = u32;

/// The words of a catalogue.
#[derive(Debug)]
pub(crate) struct TermIndex {
    skills: Vec<Arc<Skill>>,
    terms: HashMap<String, TermId>,
    /// For each word the skills that have it in name or description, with its worth there.
    postings: Vec<Vec<(DocumentId, f64)>>,
}

impl TermIndex {
    /// The index for one task's words alone: one look at each skill costs less than an index that is used once.
    pub(crate) fn for_words(catalogue: &Catalogue, tokenizer: &Tokenizer, stems: &[String]) -> Self {
        let found: Vec<(Arc<Skill>, Vec<f64>)> = catalogue
            .skills
            .par_iter()
            .map_init(
                || QueryRecognizer::new(tokenizer, stems),
                |recognizer, entry| {
                    let skill = entry.shared();
                    let (names, name_length) = recognizer.count([skill.id.as_str()]);
                    let (others, length) = recognizer.count(description_texts(&skill));
                    let worths = names
                        .into_iter()
                        .zip(others)
                        .map(|(name, other)| NAME.worth(name, name_length) + DESCRIPTION.worth(other, length));
                    let worths = worths.collect();
                    (skill, worths)
                },
            )
            .collect();
        let mut postings = vec![Vec::new(); stems.len()];
        for (document, (_, worths)) in (0..).zip(&found) {
            for (list, &worth) in postings.iter_mut().zip(worths).filter(|(_, worth)| **worth > 0.0) {
                list.push((document, worth));
            }
        }
        let terms = (0..).zip(stems).map(|(number, stem)| (stem.clone(), TermId(number))).collect();
        Self { skills: found.into_iter().map(|(skill, _)| skill).collect(), terms, postings }
    }

    pub(crate) fn of(catalogue: &Catalogue, tokenizer: &Tokenizer) -> Self {
        let mut builder =
            TermIndexBuilder { tokenizer, seen: HashMap::new(), terms: HashMap::new(), postings: Vec::new() };
        for (document, skill) in (0..).zip(&catalogue.skills) {
            builder.add(document, skill);
        }
        let skills = catalogue.skills.iter().map(CatalogueEntry::shared).collect();
        Self { skills, terms: builder.terms, postings: builder.postings }
    }

    /// How many skills there are.
    pub(crate) fn len(&self) -> usize {
        self.skills.len()
    }

    /// All skills, in the order of their numbers.
    pub(crate) fn skills(&self) -> impl Iterator<Item = &Skill> + Clone {
        self.skills.iter().map(AsRef::as_ref)
    }

    /// The numbers of all skills.
    pub(crate) fn documents(&self) -> impl Iterator<Item = DocumentId> + use<> {
        0..DocumentId::try_from(self.skills.len()).unwrap_or(DocumentId::MAX)
    }

    pub(crate) fn skill(&self, document: DocumentId) -> Option<&Arc<Skill>> {
        self.skills.get(usize::try_from(document).ok()?)
    }

    /// The skills that have a stem in name or description.
    pub(crate) fn with(&self, stem: &str) -> &[(DocumentId, f64)] {
        let postings = self.terms.get(stem).and_then(|term| self.postings.get(usize::try_from(term.0).ok()?));
        postings.map(Vec::as_slice).unwrap_or_default()
    }
}

/// Everything that describes a skill, in its own words.
fn description_texts(skill: &Skill) -> impl Iterator<Item = &str> {
    let more = skill.when_to_use.iter().chain(&skill.triggers).chain(&skill.tags);
    std::iter::once(&skill.description).chain(more).map(String::as_str)
}

struct TermIndexBuilder<'a> {
    tokenizer: &'a Tokenizer,
    /// What became of a word: stemming it again for each skill would cost more than everything else.
    seen: HashMap<String, Option<TermId>>,
    terms: HashMap<String, TermId>,
    postings: Vec<Vec<(DocumentId, f64)>>,
}

impl TermIndexBuilder<'_> {
    fn add(&mut self, document: DocumentId, skill: &Skill) {
        let mut worth: HashMap<TermId, f64> = HashMap::new();
        self.count(NAME, &[skill.id.as_str()], &mut worth);
        self.count(DESCRIPTION, &description_texts(skill).collect::<Vec<_>>(), &mut worth);
        for (term, worth) in worth {
            if let Some(postings) = usize::try_from(term.0).ok().and_then(|index| self.postings.get_mut(index)) {
                postings.push((document, worth));
            }
        }
    }

    fn count(&mut self, field: IndexField, texts: &[&str], worth: &mut HashMap<TermId, f64>) {
        let mut counts: HashMap<TermId, u32> = HashMap::new();
        let mut length = 0;
        for text in texts {
            each_word(text, |word| {
                if let Some(term) = self.term(word) {
                    *counts.entry(term).or_default() += 1;
                    length += 1;
                }
            });
        }
        for (term, count) in counts {
            *worth.entry(term).or_default() += field.worth(count, length);
        }
    }

    fn term(&mut self, word: &str) -> Option<TermId> {
        if let Some(known) = self.seen.get(word) {
            return *known;
        }
        let term = (!self.tokenizer.is_stop(word)).then(|| {
            let next = TermId(u32::try_from(self.terms.len()).unwrap_or(u32::MAX));
            let term = *self.terms.entry(self.tokenizer.stem(word)).or_insert(next);
            if term == next {
                self.postings.push(Vec::new());
            }
            term
        });
        self.seen.insert(word.to_owned(), term);
        term
    }
}
