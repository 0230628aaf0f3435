//! Exact names in a task: compound words that are too rare to be there by chance.
//!
//! `cargo-fuzz`, `xUnit` and `next.js` mean one thing. A skill that has such a word as its name, or is one of very few
//! that mention it, fits whatever else is said.

use crate::skill::Skill;

/// How many skills may mention a word for it to count as theirs.
const MOST_OWNERS: usize = 2;

/// The shortest compound word that counts, without its signs.
const SHORTEST: usize = 5;

/// What may stand around a word.
const AROUND: &[char] = &['-', '_', '.', ',', ';', ':', '!', '?', '`', '"', '\'', '(', ')', '[', ']'];

/// The compound words of a task, in lower case and without the signs that join their parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ExactNames(Vec<String>);

impl ExactNames {
    pub(crate) fn of(label: &str) -> Self {
        let mut names: Vec<String> = compounds(label).map(joined).collect();
        names.sort_unstable();
        names.dedup();
        Self(names)
    }

    /// The skills that have one of the names, by position.
    pub(crate) fn owners<'a>(&self, skills: &(impl Iterator<Item = &'a Skill> + Clone)) -> Vec<usize> {
        let mut owners = Vec::new();
        for name in &self.0 {
            let is_named = |skill: &Skill| joined(skill.id.as_str()) == *name;
            let named: Vec<usize> = positions(skills.clone(), is_named);
            let found = if named.is_empty() { positions(skills.clone(), |skill| mentions(skill, name)) } else { named };
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
    let has_hump = word
        .as_bytes()
        .windows(2)
        .any(|pair| matches!(pair, [first, second] if first.is_ascii_lowercase() && second.is_ascii_uppercase()));
    letters >= SHORTEST && (parts == 2 || parts == 3 || has_hump)
}

fn joined(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '-' | '_' | '.')).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compounds_are_names_and_plain_words_are_none() {
        let names = |text: &str| ExactNames::of(text).0;
        assert_eq!(names("Run cargo-fuzz and xUnit on it"), ["cargofuzz", "xunit"]);
        assert_eq!(names("merge the pdf files. Then stop."), Vec::<String>::new());
        assert_eq!(names("bump to 0.4.2"), Vec::<String>::new());
        assert_eq!(names("alias `@react-components/core` in src/react-components"), Vec::<String>::new());
    }
}
