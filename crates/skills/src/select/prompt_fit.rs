//! Stricter bar for the prompts of a conversation.
//!
//! A task of a plan says what is wanted. Of what people type to an agent, most is an answer, a correction or a question, and
//! a meaning that comes near a skill's by chance. A skill is added to a prompt only where its own words are in it, or
//! where a whole sentence means what it is for.

use std::sync::Arc;

use maestro_core::event::{RankedSkill, SkillVerdict};
use maestro_core::excerpt::head_and_tail;

use super::{SelectionResult, prose};
use crate::skill::{Skill, SkillType};

/// How well a skill's words must fit.
const WORDS: f64 = 10.0;
/// How near its meaning must be where they do not.
const MEANING: f64 = 0.6;
/// How many words a prompt must have for its meaning to count alone.
const LEAST_WORDS: usize = 7;
/// How many characters of a prompt are looked at: its beginning and its end, around what is pasted between them.
const HEAD: usize = 6_000;
const TAIL: usize = 2_000;

/// The part of a prompt that is compared.
pub fn prompt_label(prompt: &str) -> String {
    head_and_tail(prompt.trim(), HEAD, TAIL)
}

/// The chosen skills that are worth adding to a prompt. Skills of roles are for those who play them.
pub fn fitting_prompt(selection: &SelectionResult, label: &str) -> Vec<Arc<Skill>> {
    let is_sentence = prose::prose(label).split_whitespace().count() >= LEAST_WORDS;
    let fits = |ranked: &RankedSkill| {
        ranked.verdict == SkillVerdict::Hinted
            || ranked.words >= WORDS
            || (is_sentence && ranked.meaning.is_some_and(|meaning| meaning >= MEANING))
    };
    let is_named = |name: &str| selection.record.detail.ranking.iter().all(|ranked| ranked.name != name);
    let is_fitting = |skill: &&Arc<Skill>| {
        let name = skill.id.as_str();
        // A skill that the prompt names need not be ranked.
        let fits =
            is_named(name) || selection.record.detail.ranking.iter().any(|ranked| ranked.name == name && fits(ranked));
        fits && skill.kind != SkillType::Role
    };
    selection.skills.iter().filter(is_fitting).cloned().collect()
}
