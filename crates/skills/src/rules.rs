//! Rules of the Agent Skills standard, and the messages for breaking them.
//!
//! The Agent Skills rules in one place. Whether a broken rule skips the skill is the caller's decision.

use std::fmt;

use maestro_core::hidden_chars::is_invisible;

/// The most characters a name may have.
const NAME_CHARS: usize = 64;
/// The most characters a description may have.
pub(crate) const DESCRIPTION_CHARS: usize = 1024;
/// The most characters a compatibility note may have.
pub(crate) const COMPATIBILITY_CHARS: usize = 500;

/// A rule of the name grammar that is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameFault {
    /// More than 64 characters.
    TooLong(usize),
    /// A hyphen at the beginning or the end.
    EdgeHyphen,
    /// Two hyphens in a row.
    DoubleHyphen,
    /// Something else than a-z, 0-9 and `-`.
    Character(char),
}

impl fmt::Display for NameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(chars) => write!(f, "it has {chars} characters, {NAME_CHARS} are allowed"),
            Self::EdgeHyphen => f.write_str("it begins or ends with a hyphen"),
            Self::DoubleHyphen => f.write_str("it has two hyphens in a row"),
            Self::Character(c) => write!(f, "{c:?} is none of a-z, 0-9 and -"),
        }
    }
}

/// The first rule that a name breaks.
pub fn name_fault(name: &str) -> Option<NameFault> {
    let chars = name.chars().count();
    if let Some(wrong) = name.chars().find(|c| !matches!(c, 'a'..='z' | '0'..='9' | '-')) {
        return Some(NameFault::Character(wrong));
    }
    if chars > NAME_CHARS {
        return Some(NameFault::TooLong(chars));
    }
    if name.starts_with('-') || name.ends_with('-') {
        return Some(NameFault::EdgeHyphen);
    }
    name.contains("--").then_some(NameFault::DoubleHyphen)
}

/// A name that keeps the rules and is as close to `name` as can be, for a hint.
pub fn valid_name(name: &str) -> String {
    let mut valid = String::new();
    for c in name.to_lowercase().chars() {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            valid.push(c);
        } else if !valid.is_empty() && !valid.ends_with('-') {
            valid.push('-');
        }
    }
    valid.chars().take(NAME_CHARS).collect::<String>().trim_end_matches('-').to_owned()
}

/// An invisible character that can hide text from a reader, such as tags, bidirectional controls and selectors of
/// variants, or a joiner between two ASCII letters. Joiners in emoji and in scripts that need them are fine.
pub fn hidden_character(text: &str) -> Option<(usize, char)> {
    if text.is_ascii() {
        return None;
    }
    let chars: Vec<char> = text.chars().collect();
    let letter = |index: Option<usize>| index.and_then(|index| chars.get(index)).is_some_and(char::is_ascii_alphabetic);
    chars.iter().enumerate().find_map(|(index, &c)| {
        let hides = match c {
            '\u{200c}' | '\u{200d}' => letter(index.checked_sub(1)) && letter(Some(index + 1)),
            _ => is_invisible(c),
        };
        hides.then_some((index, c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_agent_skills_grammar() {
        for good in ["pdf", "a", "code-review-2", &"a".repeat(64)] {
            assert_eq!(name_fault(good), None, "{good}");
        }
        let bad = [
            ("-a", NameFault::EdgeHyphen),
            ("a-", NameFault::EdgeHyphen),
            ("a--b", NameFault::DoubleHyphen),
            ("Pdf", NameFault::Character('P')),
            ("my skill", NameFault::Character(' ')),
            ("../x", NameFault::Character('.')),
            ("<script>", NameFault::Character('<')),
            ("café", NameFault::Character('é')),
            (&"a".repeat(65), NameFault::TooLong(65)),
        ];
        for (name, fault) in bad {
            assert_eq!(name_fault(name), Some(fault), "{name}");
        }
    }

    #[test]
    fn a_valid_name_is_suggested() {
        assert_eq!(valid_name("Active Directory Attacks!"), "active-directory-attacks");
        assert_eq!(name_fault(&valid_name(&"x y".repeat(60))), None);
    }

    #[test]
    fn hidden_characters_are_found_and_emoji_left_alone() {
        assert_eq!(hidden_character("safe text"), None);
        assert_eq!(hidden_character("👩\u{200d}💻 and می\u{200c}خواهم"), None);
        assert_eq!(hidden_character("a\u{200b}b"), Some((1, '\u{200b}')));
        assert_eq!(hidden_character("x\u{e0041}"), Some((1, '\u{e0041}')));
        assert_eq!(hidden_character("\u{202e}txt"), Some((0, '\u{202e}')));
    }
}
