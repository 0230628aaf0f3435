//! Words of a text, normalized for comparison.
//!
//! Words are lower-case runs of letters and digits, `c++` and `c#` included; `camelCase` is two. Words that say
//! nothing about a task are left out, the rest is reduced to its stem.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use frostem::{Algorithm, Stemmer};

/// Words that occur in every task and every description, and so distinguish none of them.
const STOP: &str = "a an the and or but if then else for from of on in into onto to with without within at by as is \
are was were be been being it its this that these those there here so such not no nor do does did done doing can \
could should would may might must will shall we you your our their they them he she his her i me my us who whom which \
what when where why how all any each every both few more most other some own same than too very just also only over \
under again further once about against between through during before after above below up down out off per via \
use uses used using user users skill skills file files code make makes made new add adds added adding need needs \
needed want wants get gets set sets one two first last next let lets run runs see show shows way ways work works \
working thing things help helps like etc e g ie vs";

/// Takes texts apart. Made once; it holds the stop words and the stemmer.
pub(crate) struct Tokenizer {
    stop: HashSet<&'static str>,
    stemmer: Stemmer,
}

/// A word of a text, as it is compared and as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WordToken {
    /// What is compared.
    pub(crate) stem: String,
    /// What is shown.
    pub(crate) word: String,
}

impl Tokenizer {
    pub(crate) fn new() -> Self {
        Self { stop: STOP.split_whitespace().collect(), stemmer: Stemmer::new(Algorithm::English) }
    }

    /// The words that count, in order.
    pub(crate) fn tokens(&self, text: &str) -> Vec<WordToken> {
        let mut tokens = Vec::new();
        each_word(text, |word| {
            if !self.is_stop(word) {
                tokens.push(WordToken { stem: self.stem(word), word: word.to_owned() });
            }
        });
        tokens
    }

    /// Whether a word says nothing. A mere number does not either: it is a version, a limit, an issue.
    pub(crate) fn is_stop(&self, word: &str) -> bool {
        word.bytes().all(|byte| byte.is_ascii_digit()) || self.stop.contains(word)
    }

    pub(crate) fn stem(&self, word: &str) -> String {
        self.stemmer.stem(word).into_owned()
    }
}

/// What a word of a skill is to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordMatch {
    /// It says nothing.
    Nothing,
    /// It is another word.
    Other,
    /// It is the task's word of this number.
    Query(usize),
}

/// Finds which of a task's words a word is, and caches it: stemming each word only once is most of the speed.
pub(crate) struct QueryRecognizer<'a> {
    tokenizer: &'a Tokenizer,
    query: &'a [String],
    seen: HashMap<String, WordMatch, RandomState>,
}

impl<'a> QueryRecognizer<'a> {
    /// For the stems of a task.
    pub(crate) fn new(tokenizer: &'a Tokenizer, query: &'a [String]) -> Self {
        Self { tokenizer, query, seen: HashMap::default() }
    }

    pub(crate) fn part(&mut self, word: &str) -> WordMatch {
        if let Some(part) = self.seen.get(word) {
            return *part;
        }
        let part = if self.tokenizer.is_stop(word) {
            WordMatch::Nothing
        } else {
            let stem = self.tokenizer.stem(word);
            self.query.iter().position(|other| *other == stem).map_or(WordMatch::Other, WordMatch::Query)
        };
        self.seen.insert(word.to_owned(), part);
        part
    }

    /// How often each of the task's words occurs in some texts, and how many words count in them at all.
    pub(crate) fn count<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) -> (Vec<u32>, usize) {
        let mut counts = vec![0_u32; self.query.len()];
        let mut length = 0;
        for text in texts {
            each_word(text, |word| {
                let part = self.part(word);
                length += usize::from(part != WordMatch::Nothing);
                if let WordMatch::Query(position) = part
                    && let Some(count) = counts.get_mut(position)
                {
                    *count += 1;
                }
            });
        }
        (counts, length)
    }
}

/// Shows every word of a text to `see`, in lower case.
pub(crate) fn each_word(text: &str, mut see: impl FnMut(&str)) {
    let mut word = String::new();
    let mut before = PreviousChar::Gap;
    let mut end = |word: &mut String| {
        if !word.is_empty() {
            see(word);
            word.clear();
        }
    };
    for c in text.chars() {
        match c {
            'a'..='z' | '0'..='9' => {
                if before == PreviousChar::Sign {
                    end(&mut word);
                }
                word.push(c);
                before = PreviousChar::Small;
            }
            'A'..='Z' => {
                if before != PreviousChar::Capital {
                    end(&mut word);
                }
                word.push(c.to_ascii_lowercase());
                before = PreviousChar::Capital;
            }
            '+' | '#' if !word.is_empty() => {
                word.push(c);
                before = PreviousChar::Sign;
            }
            _ => {
                end(&mut word);
                before = PreviousChar::Gap;
            }
        }
    }
    end(&mut word);
}

/// What the character before was, as far as it decides whether a new word begins.
#[derive(Clone, Copy, PartialEq)]
enum PreviousChar {
    Gap,
    Small,
    Capital,
    Sign,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        each_word(text, |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn words_are_parted_where_people_part_them() {
        assert_eq!(words("parseHeader of v2.1"), ["parse", "header", "of", "v2", "1"]);
        assert_eq!(words("Use C++ and c#, not C."), ["use", "c++", "and", "c#", "not", "c"]);
        assert_eq!(words("HTTP/2 APIs"), ["http", "2", "apis"]);
        assert_eq!(words("über-café"), ["ber", "caf"]);
        assert_eq!(words("   "), Vec::<String>::new());
    }

    #[test]
    fn stems_bring_inflections_together_and_stop_words_are_left_out() {
        let tokenizer = Tokenizer::new();
        let stems = |text: &str| tokenizer.tokens(text).into_iter().map(|token| token.stem).collect::<Vec<_>>();
        assert_eq!(stems("Testing the tests"), stems("test tested"));
        assert_eq!(stems("use the skill"), Vec::<String>::new());
    }
}
