//! Reader for TOML tables that users extend: the tables of tools and of agents, with the place of every mistake.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::suggest;
use crate::yaml::Place;

/// Something that is wrong with such a text, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

/// A value with its place.
pub(crate) type Value<'t> = Spanned<DeValue<'t>>;

/// A key, where it stands, and what it has.
pub(crate) type Entry<'v, 't> = (String, usize, &'v Value<'t>);

/// Reads a text and continues after every mistake.
pub(crate) struct Reader<'t> {
    text: &'t str,
    mistakes: Vec<Mistake>,
}

impl<'t> Reader<'t> {
    /// Passes each entry of a text to `entry`, and returns what is wrong with it, in the order of the text. `help` says
    /// what such a text looks like.
    pub(crate) fn read(text: &'t str, help: &str, mut entry: impl FnMut(&mut Self, &Entry<'_, '_>)) -> Vec<Mistake> {
        let mut reader = Self { text, mistakes: Vec::new() };
        match DeTable::parse(text) {
            Ok(table) => {
                for (key, value) in table.get_ref() {
                    entry(&mut reader, &(key.get_ref().to_string(), key.span().start, value));
                }
            }
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                reader.wrong(at, format!("not valid TOML: {}", error.message()), help);
            }
        }
        reader.mistakes.sort_by_key(|mistake| (mistake.place.line, mistake.place.column));
        reader.mistakes
    }

    /// Notes a mistake.
    pub(crate) fn wrong(&mut self, at: usize, message: impl Into<String>, help: impl Into<String>) {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        self.mistakes.push(Mistake { place: Place { line, column }, message: message.into(), help: help.into() });
    }

    /// Notes a key that `what` does not have.
    pub(crate) fn unknown(&mut self, at: usize, what: &str, key: &str, keys: &[&str]) {
        let help = match suggest::closest(key, keys.iter().copied()) {
            Some(close) => format!("did you mean `{close}`?"),
            None => format!("{what} has {}", keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")),
        };
        self.wrong(at, format!("{what} has no `{key}`"), help);
    }

    /// What a word stands for.
    pub(crate) fn word<T>(
        &mut self,
        at: usize,
        what: &str,
        word: &str,
        words: &[&str],
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let found = parse(word);
        if found.is_none() {
            let help = match suggest::closest(word, words.iter().copied()) {
                Some(close) => format!("did you mean `{close}`?"),
                None => format!("it can be {}", words.join(", ")),
            };
            self.wrong(at, format!("`{word}` is not a valid {what}"), help);
        }
        found
    }

    /// A text.
    pub(crate) fn string(&mut self, what: &str, value: &Value<'_>) -> Option<String> {
        if let DeValue::String(text) = value.get_ref() {
            return Some(text.to_string());
        }
        self.wrong(value.span().start, format!("`{what}` is not a string"), "put it into quotes");
        None
    }

    /// The texts of a list, each with its place.
    pub(crate) fn strings(&mut self, what: &str, value: &Value<'_>) -> Option<Vec<(String, usize)>> {
        let DeValue::Array(items) = value.get_ref() else {
            self.wrong(value.span().start, format!("`{what}` is not a list"), "write `[\"…\", \"…\"]`");
            return None;
        };
        Some(items.iter().filter_map(|item| Some((self.string(what, item)?, item.span().start))).collect())
    }

    /// The entries of a table, each with its place.
    pub(crate) fn table<'v, 'e>(&mut self, what: &str, value: &'v Value<'e>) -> Option<Vec<Entry<'v, 'e>>> {
        let DeValue::Table(fields) = value.get_ref() else {
            self.wrong(value.span().start, format!("`{what}` is not a table"), "write `{ key = \"…\" }`");
            return None;
        };
        Some(fields.iter().map(|(key, value)| (key.get_ref().to_string(), key.span().start, value)).collect())
    }
}
