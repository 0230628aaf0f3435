//! Skills that a task requests or excludes by name.

use super::prose::{self, RequestForm};
use crate::catalogue::Catalogue;
use crate::skill::SkillId;

/// What a task says about skills by name.
#[derive(Debug, Default)]
pub(crate) struct SkillRequests {
    /// Named as hints, in order, whether they exist or not.
    pub(crate) hinted: Vec<String>,
    /// Skills the task says not to use.
    pub(crate) unwanted: Vec<SkillId>,
}

impl SkillRequests {
    /// The task's own hints, and what its words say: "use the pdf skill", "not with the pdf skill".
    pub(crate) fn of(label: &str, hints: &[String], catalogue: &Catalogue) -> Self {
        let is_meant = |name: &&String| prose::form(label) == RequestForm::Plain || catalogue.get(name).is_some();
        // In pasted texts `@mia` is a person.
        let mut wishes = Self { hinted: hints.iter().filter(is_meant).cloned().collect(), unwanted: Vec::new() };
        for name in bracketed_names(label) {
            if !wishes.hinted.iter().any(|hint| hint == name) {
                wishes.hinted.push(name.to_owned());
            }
        }
        let words: Vec<&str> = label.split_whitespace().map(|word| word.trim_matches(NO_NAME)).collect();
        for (index, window) in words.windows(2).enumerate() {
            let [name, noun] = window else { continue };
            if !noun.eq_ignore_ascii_case("skill") {
                continue;
            }
            let Some(skill) = catalogue.get(name) else { continue };
            let before = words.get(index.saturating_sub(LOOK_BACK)..index).unwrap_or_default();
            if before.iter().any(|word| is_negation(word)) {
                wishes.hinted.retain(|hint| hint != name);
                wishes.unwanted.push(skill.id.clone());
            } else if before.iter().any(|word| is_request(word)) && !wishes.hinted.iter().any(|hint| hint == name) {
                wishes.hinted.push((*name).to_owned());
            }
        }
        wishes
    }
}

/// The names in `[skill: a, b]`.
fn bracketed_names(label: &str) -> impl Iterator<Item = &str> {
    let opened = label.split("[skill:").skip(1);
    let inside = opened.filter_map(|rest| rest.split_once(']').map(|(inside, _)| inside));
    inside.flat_map(|names| names.split(',')).map(str::trim).filter(|name| !name.is_empty() && !name.contains('\n'))
}

/// How many words before a skill's name are considered.
const LOOK_BACK: usize = 5;

/// Characters that may surround a word without being part of it.
const NO_NAME: &[char] = &['`', '"', '\'', '(', ')', ',', '.', ';', ':', '!', '?'];

fn is_negation(word: &str) -> bool {
    ["not", "don't", "without", "never", "no"].iter().any(|negation| word.eq_ignore_ascii_case(negation))
}

fn is_request(word: &str) -> bool {
    ["use", "using", "with", "follow", "following", "by"].iter().any(|request| word.eq_ignore_ascii_case(request))
}
