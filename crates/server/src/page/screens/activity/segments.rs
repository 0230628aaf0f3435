//! Texts cut around the words of a search, with the words set apart.

use serde::Serialize;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct TextSegment {
    pub(super) text: String,
    /// Whether it is a word of the search.
    pub(super) found: bool,
}

/// How much of a text stands before the first word.
const BEFORE: usize = 60;
const AROUND: usize = 240;

/// Whether a text contains each of the words, in any case.
pub(super) fn contains_all(text: &str, words: &[String]) -> bool {
    let text = text.to_lowercase();
    !words.is_empty() && words.iter().all(|word| text.contains(word))
}

/// The words of a search, in lower case.
pub(super) fn search_words(text: &str) -> Vec<String> {
    text.split_whitespace().take(8).map(str::to_lowercase).collect()
}

/// A part of a text around the first word, in pieces.
pub(super) fn segments(text: &str, words: &[String]) -> Vec<TextSegment> {
    let chars: Vec<char> = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
    let lower: Vec<char> = chars.iter().map(|c| c.to_lowercase().next().unwrap_or(*c)).collect();
    let words: Vec<Vec<char>> = words.iter().map(|word| word.chars().collect()).collect();
    let match_at =
        |at: usize| words.iter().filter(|word| !word.is_empty() && lower[at..].starts_with(word)).map(Vec::len).max();
    let first = (0..chars.len()).find(|at| match_at(*at).is_some()).unwrap_or(0);
    let start = first.saturating_sub(BEFORE);
    let end = (start + AROUND).min(chars.len());
    let mut pieces: Vec<TextSegment> = Vec::new();
    let mut push = |text: &[char], found: bool| {
        let text: String = text.iter().collect();
        match pieces.last_mut().filter(|last| last.found == found && !found) {
            Some(last) => last.text.push_str(&text),
            None => pieces.push(TextSegment { text, found }),
        }
    };
    if start > 0 {
        push(&['…'], false);
    }
    let mut at = start;
    while at < end {
        if let Some(length) = match_at(at) {
            push(&chars[at..(at + length).min(chars.len())], true);
            at += length;
        } else {
            push(&chars[at..=at], false);
            at += 1;
        }
    }
    if end < chars.len() {
        push(&['…'], false);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_set_apart_whatever_their_case() {
        let pieces = segments("Rate-Limit the ÜPLOAD endpoint", &search_words("limit üpload"));
        let shown: Vec<(&str, bool)> = pieces.iter().map(|piece| (piece.text.as_str(), piece.found)).collect();
        let wanted = [("Rate-", false), ("Limit", true), (" the ", false), ("ÜPLOAD", true), (" endpoint", false)];
        assert_eq!(shown, wanted);
        assert!(contains_all("A b", &search_words("B a")) && !contains_all("A", &search_words("a b")));
    }

    #[test]
    fn a_long_text_is_cut_around_the_first_word() {
        let text = format!("{} needle {}", "x ".repeat(200), "y ".repeat(400));
        let pieces = segments(&text, &search_words("needle"));
        assert!(pieces[0].text.starts_with('…') && pieces.last().unwrap().text.ends_with('…'));
        assert!(pieces.iter().any(|piece| piece.found && piece.text == "needle"));
        assert_eq!(segments("", &search_words("a")), []);
    }
}
