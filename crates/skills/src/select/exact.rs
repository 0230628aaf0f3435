//! Exact names in a task: compound words that are too rare to be there by chance.
//!
//! `cargo-fuzz`, `xUnit` and `next.js` mean one thing. A skill that has such a word as its name, or is one of very few
//! that mention it, fits whatever else is said.

use super::background;
use super::tokens::Tokenizer;
use crate::skill::Skill;

/// How many skills may mention a word for it to count as theirs.
const MOST_OWNERS: usize = 2;

/// The shortest compound word that counts, without its signs.
const SHORTEST: usize = 5;

/// What may stand around a word.
const AROUND: &[char] = &['-', '_', '.', ',', ';', ':', '!', '?', '`', '"', '\'', '(', ')', '[', ']'];

/// Below which share of skills a part makes its compound rare. `end-to-end` has no such part.
const RARE_SHARE: f64 = 0.008;

/// A compound word of a task.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct CompoundName {
    /// In lower case and without the signs that join its parts.
    joined: String,
    /// Whether it is rare enough for a mention to count.
    is_rare: bool,
}

/// The compound words of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ExactNames(Vec<CompoundName>);

impl ExactNames {
    pub(crate) fn of(label: &str, tokenizer: &Tokenizer) -> Self {
        let name = |word: &str| CompoundName { joined: joined(word), is_rare: is_rare(word, tokenizer) };
        let mut names: Vec<CompoundName> = compounds(label).map(name).collect();
        names.sort_unstable();
        names.dedup();
        Self(names)
    }

    /// The skills that have one of the names, by position.
    pub(crate) fn owners<'a>(&self, skills: &(impl Iterator<Item = &'a Skill> + Clone)) -> Vec<usize> {
        let mut owners = Vec::new();
        for name in &self.0 {
            let is_named = |skill: &Skill| joined(skill.id.as_str()) == name.joined;
            let mut found = positions(skills.clone(), is_named);
            if found.is_empty() && name.is_rare {
                found = positions(skills.clone(), |skill| mentions(skill, &name.joined));
            }
            if found.len() <= MOST_OWNERS {
                owners.extend(found);
            }
        }
        owners
    }
}

fn positions<'a>(skills: impl Iterator<Item = &'a Skill>, is_one: impl Fn(&Skill) -> bool) -> Vec<usize> {
    skills.enumerate().filter(|(_, skill)| is_one(skill)).map(|(position, _)| position).take(MOST_OWNERS + 1).collect()
}

/// Whether a compound has a part that few skills mention. `xUnit` is one word here, and so is `TypeScript`, which many do.
fn is_rare(compound: &str, tokenizer: &Tokenizer) -> bool {
    let mut parts = compound.split(['-', '_', '.']).filter(|part| part.len() > 2).map(str::to_ascii_lowercase);
    let is_rare =
        |part: String| !tokenizer.is_stop(&part) && background::share(&tokenizer.stem(&part)).headline < RARE_SHARE;
    parts.any(is_rare)
}

fn mentions(skill: &Skill, name: &str) -> bool {
    compounds(&skill.description).any(|compound| joined(compound) == name)
}

/// Words of two parts or more: joined by a sign, or by a capital letter inside.
fn compounds(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split_whitespace().map(|word| word.trim_matches(AROUND));
    words.filter(|word| {
        word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) && is_compound(word)
    })
}

fn is_compound(word: &str) -> bool {
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    let parts = word.split(['-', '_', '.']).filter(|part| !part.is_empty()).count();
    letters >= SHORTEST && (parts == 2 || parts == 3 || has_hump(word))
}

/// Whether a capital letter follows a small one.
fn has_hump(word: &str) -> bool {
    let is_hump = |pair: &[u8]| matches!(pair, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase());
    word.as_bytes().windows(2).any(is_hump)
}

fn joined(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '-' | '_' | '.')).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compounds_are_names_and_plain_words_are_none() {
        let names = |text: &str| -> Vec<String> {
            ExactNames::of(text, &Tokenizer::new()).0.into_iter().map(|name| name.joined).collect()
        };
        assert_eq!(names("Run cargo-fuzz and xUnit on it"), ["cargofuzz", "xunit"]);
        assert_eq!(names("merge the pdf files. Then stop."), Vec::<String>::new());
        assert_eq!(names("bump to 0.4.2"), Vec::<String>::new());
        assert_eq!(names("alias `@react-components/core` in src/react-components"), Vec::<String>::new());
    }

    #[test]
    fn compounds_of_common_words_are_not_rare() {
        let tokenizer = Tokenizer::new();
        for common in ["TypeScript", "GitHub", "end-to-end", "real-time", "open-source", "test-driven", "pull-request"]
        {
            assert!(!is_rare(common, &tokenizer), "{common}");
        }
        for rare in ["cargo-fuzz", "xUnit", "helm-chart", "playwright-tests"] {
            assert!(is_rare(rare, &tokenizer), "{rare}");
        }
    }
}
