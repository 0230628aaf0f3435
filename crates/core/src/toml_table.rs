//! Reader for TOML tables that users extend: the tables of tools and of agents, with the place of every mistake.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::closest_word;
use crate::name::Name;
use crate::yaml::SourcePosition;

/// Something that is wrong with such a text, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableMistake {
    /// Where.
    pub place: SourcePosition,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

/// A value with its place.
pub(crate) type TomlValue<'t> = Spanned<DeValue<'t>>;

/// A key, where it stands, and what it has.
pub(crate) type TomlEntry<'v, 't> = (String, usize, &'v TomlValue<'t>);

/// Reads a text and continues after every mistake.
pub(crate) struct TableReader<'t> {
    text: &'t str,
    mistakes: Vec<TableMistake>,
}

impl<'t> TableReader<'t> {
    /// Passes each entry of a text to `entry`, and returns what is wrong with it, in the order of the text. `help` says
    /// what such a text looks like.
    pub(crate) fn read(
        text: &'t str,
        help: &str,
        mut entry: impl FnMut(&mut Self, &TomlEntry<'_, '_>),
    ) -> Vec<TableMistake> {
        let mut reader = Self { text, mistakes: Vec::new() };
        match DeTable::parse(text) {
            Ok(table) => {
                for (key, value) in table.get_ref() {
                    entry(&mut reader, &(key.get_ref().to_string(), key.span().start, value));
                }
            }
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                reader.add_mistake(at, format!("not valid TOML: {}", error.message()), help);
            }
        }
        reader.mistakes.sort_by_key(|mistake| (mistake.place.line, mistake.place.column));
        reader.mistakes
    }

    /// The fields of the table that describes one thing, `what`, under its name.
    pub(crate) fn named_table<'v, 'e>(
        &mut self,
        what: &str,
        (name, at, value): &TomlEntry<'v, 'e>,
    ) -> Option<&'v DeTable<'e>> {
        let DeValue::Table(fields) = value.get_ref() else {
            self.add_mistake(*at, format!("`{name}` is not a table"), "write a table, such as `[claude]`");
            return None;
        };
        if Name::parse(name).is_err() {
            self.add_mistake(*at, format!("`{name}` cannot be {what}'s name"), "use letters, digits, `-` and `_`");
            return None;
        }
        Some(fields)
    }

    /// Notes a mistake.
    pub(crate) fn add_mistake(&mut self, at: usize, message: impl Into<String>, help: impl Into<String>) {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        self.mistakes.push(TableMistake {
            place: SourcePosition { line, column },
            message: message.into(),
            help: help.into(),
        });
    }

    /// Notes a key that `what` does not have.
    pub(crate) fn unknown(&mut self, at: usize, what: &str, key: &str, keys: &[&str]) {
        let help = match closest_word::closest(key, keys.iter().copied()) {
            Some(close) => format!("did you mean `{close}`?"),
            None => format!("{what} has {}", keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ")),
        };
        self.add_mistake(at, format!("{what} has no `{key}`"), help);
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
            let help = match closest_word::closest(word, words.iter().copied()) {
                Some(close) => format!("did you mean `{close}`?"),
                None => format!("it can be {}", words.join(", ")),
            };
            self.add_mistake(at, format!("`{word}` is not a valid {what}"), help);
        }
        found
    }

    /// A text.
    pub(crate) fn string(&mut self, what: &str, value: &TomlValue<'_>) -> Option<String> {
        if let DeValue::String(text) = value.get_ref() {
            return Some(text.to_string());
        }
        self.add_mistake(value.span().start, format!("`{what}` is not a string"), "put it into quotes");
        None
    }

    /// The texts of a list, each with its place.
    pub(crate) fn strings(&mut self, what: &str, value: &TomlValue<'_>) -> Option<Vec<(String, usize)>> {
        let DeValue::Array(items) = value.get_ref() else {
            self.add_mistake(value.span().start, format!("`{what}` is not a list"), "write `[\"…\", \"…\"]`");
            return None;
        };
        Some(items.iter().filter_map(|item| Some((self.string(what, item)?, item.span().start))).collect())
    }

    /// The entries of a table, each with its place.
    pub(crate) fn table<'v, 'e>(&mut self, what: &str, value: &'v TomlValue<'e>) -> Option<Vec<TomlEntry<'v, 'e>>> {
        let DeValue::Table(fields) = value.get_ref() else {
            self.add_mistake(value.span().start, format!("`{what}` is not a table"), "write `{ key = \"…\" }`");
            return None;
        };
        Some(fields.iter().map(|(key, value)| (key.get_ref().to_string(), key.span().start, value)).collect())
    }
}
