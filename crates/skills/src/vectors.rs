//! Vectors of skills: what their cards mean, computed once and stored.
//!
//! A vector belongs to the text of a card and to a model. They are stored in a file of their own, because an index
//! belongs to one build of the program, and a vector does not. A file that is damaged, or of another model, counts as
//! empty; whatever is missing is computed again.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use foldhash::fast::RandomState;
use maestro_encoder::{ModelId, TextEncoder, TextKind, TextVector, WeightsError};
use rayon::prelude::*;

use crate::card;
use crate::card_key::CardKey;
use crate::checksum;
use crate::skill::{Skill, SkillSource, SkillType};
use crate::text::read_bounded;

/// What every file of vectors begins with. The last figure is the format's.
const MAGIC: &[u8; 8] = b"maestvc1";

/// How many vectors are stored at most.
const MOST: usize = 50_000;

/// The largest file that is read.
const MAX_BYTES: u64 = 32 * 1024 * 1024;

/// The vectors of the built-in pack, which come with the program.
static BUILT_IN: &[u8] = include_bytes!("../data/builtin.vectors");

/// Skills of the built-in pack that run the loop itself: the loop starts them, no task is about them.
const LOOP_SKILLS: [&str; 2] = ["plan-loop", "plan-task"];

/// Whether a task may get a skill for what it says. Skills of roles and of the loop are assigned, never found.
pub(crate) fn is_found_by_content(skill: &Skill) -> bool {
    let is_loop = skill.source == SkillSource::Builtin && LOOP_SKILLS.contains(&skill.id.as_str());
    skill.kind != SkillType::Role && !is_loop
}

/// The vectors of cards, by the key of the card.
#[derive(Debug, Clone)]
pub struct SkillVectors {
    model: ModelId,
    length: usize,
    rows: HashMap<CardKey, TextVector, RandomState>,
}

impl SkillVectors {
    /// Those that come with the program.
    pub fn built_in() -> Result<Self, WeightsError> {
        let encoder = TextEncoder::built_in()?;
        let mut vectors = Self { model: encoder.model(), length: encoder.vector_length(), rows: HashMap::default() };
        vectors.add_file(BUILT_IN);
        Ok(vectors)
    }

    /// Those that come with the program and those of a file, which need not exist.
    pub fn read(file: &Path) -> Result<Self, WeightsError> {
        let mut vectors = Self::built_in()?;
        match read_bounded(file, MAX_BYTES) {
            Ok(contents) if !contents.cut && vectors.add_file(&contents.bytes) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Ok(_) => tracing::info!(file = %file.display(), "the vectors of skills are damaged or of another model"),
            Err(error) => tracing::warn!(file = %file.display(), "the vectors of skills cannot be read: {error}"),
        }
        Ok(vectors)
    }

    /// Adds the vectors of a file; none of one that is damaged or of another model.
    fn add_file(&mut self, bytes: &[u8]) -> bool {
        let Some(records) = self.records(bytes) else { return false };
        self.rows.reserve(records.len() / self.record_bytes());
        for record in records.chunks_exact(self.record_bytes()) {
            let Some((key, vector)) = record.split_first_chunk::<{ CardKey::BYTES }>() else { continue };
            if let Ok(vector) = TextVector::from_bytes(vector, self.length) {
                self.rows.insert(CardKey(*key), vector);
            }
        }
        true
    }

    fn records<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (sum, body) = bytes.strip_prefix(MAGIC)?.split_first_chunk()?;
        let records = body.strip_prefix(self.model.as_bytes())?;
        let is_whole = records.len().is_multiple_of(self.record_bytes());
        (is_whole && checksum::of_bytes(body) == u64::from_le_bytes(*sum)).then_some(records)
    }

    fn record_bytes(&self) -> usize {
        CardKey::BYTES + TextVector::stored_bytes(self.length)
    }

    /// The vector of a skill, if there is one.
    pub(crate) fn of(&self, skill: &Skill) -> Option<&TextVector> {
        self.rows.get(&skill.card)
    }

    /// Those of some skills that may be found by content and have no vector yet.
    pub fn missing<'a>(&self, skills: impl Iterator<Item = &'a Skill>) -> Vec<&'a Skill> {
        skills.filter(|skill| is_found_by_content(skill) && !self.rows.contains_key(&skill.card)).collect()
    }

    /// Computes the vectors of some skills in parallel and adds them. `progress` counts those that are done.
    pub fn add(&mut self, skills: &[&Skill], progress: &AtomicUsize) -> Result<(), WeightsError> {
        let encoder = TextEncoder::built_in()?;
        let found: Vec<(CardKey, TextVector)> = skills
            .par_iter()
            .filter_map(|skill| {
                let card = card::read_card(skill);
                let warn = |error: &_| tracing::debug!(skill = %skill.id, "its card cannot be read: {error}");
                let card = card.inspect_err(warn).ok()?;
                let vector = encoder.encode(&card, TextKind::Card);
                progress.fetch_add(1, Ordering::Relaxed);
                Some((CardKey::of(&card), vector))
            })
            .collect();
        self.rows.extend(found);
        Ok(())
    }

    /// Adds the vectors that another process stored meanwhile.
    pub fn merge(&mut self, other: Self) {
        if other.model == self.model {
            self.rows.extend(other.rows);
        }
    }

    /// The file to store. Where there are too many, those of `used` skills stay.
    pub fn to_bytes<'a>(&self, used: impl Iterator<Item = &'a Skill>) -> Vec<u8> {
        let used: HashSet<CardKey> = used.map(|skill| skill.card).collect();
        let mut keys: Vec<&CardKey> = self.rows.keys().collect();
        keys.sort_unstable_by_key(|key| (!used.contains(key), **key));
        keys.truncate(MOST);
        keys.sort_unstable();
        let mut body = self.model.as_bytes().to_vec();
        for (key, vector) in keys.into_iter().filter_map(|key| Some((key, self.rows.get(key)?))) {
            body.extend_from_slice(&key.0);
            body.extend(vector.to_bytes());
        }
        [&MAGIC[..], &checksum::of_bytes(&body).to_le_bytes(), &body].concat()
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.rows.clear();
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
