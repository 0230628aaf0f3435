//! Word pieces of a text.
//!
//! A text is lower-cased, accents are dropped, and it is split at blanks and around punctuation, as the model's training
//! did it. Each word becomes the longest pieces that the table has, from left to right; a word that cannot be put
//! together from pieces is one unknown token.

use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use crate::weights::PieceTable;

/// How much of a text is looked at; far more than any number of tokens needs.
const LONGEST_TEXT: usize = 64 * 1024;

/// A longer word is unknown.
const LONGEST_WORD: usize = 100;

/// What a character does to the word it stands in.
enum CharRole {
    /// It belongs to it.
    Letter,
    /// It ends it.
    Blank,
    /// It ends it and is a word of its own.
    Mark,
    /// It is left out.
    Dropped,
}

/// The tokens of a text, the first and the last included; at most `most`, which is at least two.
pub(crate) fn tokenize(table: &PieceTable<'_>, text: &str, most: usize) -> Vec<usize> {
    let mut tokens = vec![table.start_token];
    for word in words(text) {
        if tokens.len() >= most {
            break;
        }
        push_pieces(table, &word, &mut tokens);
    }
    tokens.truncate(most.saturating_sub(1));
    tokens.push(table.end_token);
    tokens
}

/// The words of a text, in lower case and without accents.
fn words(text: &str) -> Vec<String> {
    let text = text.get(..text.floor_char_boundary(LONGEST_TEXT)).unwrap_or_default();
    let lower = text.to_lowercase();
    let mut words = vec![String::new()];
    for c in lower.nfd() {
        match role(c) {
            CharRole::Dropped => {}
            CharRole::Blank => words.push(String::new()),
            CharRole::Mark => words.extend([c.to_string(), String::new()]),
            CharRole::Letter => {
                if let Some(word) = words.last_mut() {
                    word.push(c);
                }
            }
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn role(c: char) -> CharRole {
    if c.is_ascii_alphanumeric() {
        return CharRole::Letter;
    }
    // The four separators of files, groups, records and units are blanks to the training code.
    if c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c) {
        return CharRole::Blank;
    }
    if c.is_ascii_punctuation() || ('\u{4e00}'..='\u{9fff}').contains(&c) {
        return CharRole::Mark;
    }
    match (c.general_category(), c.general_category_group()) {
        (GeneralCategory::NonspacingMark, _) | (_, GeneralCategoryGroup::Other) => CharRole::Dropped,
        (_, GeneralCategoryGroup::Separator) => CharRole::Blank,
        (_, GeneralCategoryGroup::Punctuation) => CharRole::Mark,
        _ => CharRole::Letter,
    }
}

/// Appends the pieces of a word.
fn push_pieces(table: &PieceTable<'_>, word: &str, tokens: &mut Vec<usize>) {
    if word.chars().nth(LONGEST_WORD).is_some() {
        return tokens.push(table.unknown_token);
    }
    let before = tokens.len();
    // What follows the first piece is in the table with two signs before it.
    let mut rest = word.to_owned();
    let mut prefix = 0;
    while rest.len() > prefix {
        let longest = rest.floor_char_boundary(rest.len().min(table.longest.max(prefix)));
        let ends = (prefix + 1..=longest).rev().filter(|&end| rest.is_char_boundary(end));
        let found = ends.into_iter().find_map(|end| Some((end, table.find(rest.as_bytes().get(..end)?)?)));
        let Some((end, piece)) = found else {
            tokens.truncate(before);
            return tokens.push(table.unknown_token);
        };
        tokens.push(piece);
        rest.replace_range(..end, "##");
        prefix = 2;
    }
}
