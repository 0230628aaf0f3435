//! What does a text in TOML say of tools, and what is wrong with it?

use std::collections::BTreeMap;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Capability, Player, Sign, Tool};
use crate::suggest;
use crate::workflow::name::Name;
use crate::workflow::render::Form;
use crate::yaml::Place;

/// Something that is wrong with a text on tools, where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where.
    pub place: Place,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

const KEYS: [&str; 7] = ["directory", "skills", "form", "can", "detect", "roles", "models"];

type Value<'t> = Spanned<DeValue<'t>>;

/// A key, where it stands, and what it has.
type Entry<'v, 't> = (String, usize, &'v Value<'t>);

/// Adds what a text says to what is known.
pub(super) fn add(text: &str, tools: &mut Vec<Tool>) -> Vec<Mistake> {
    let mut reader = Reader { text, mistakes: Vec::new() };
    match DeTable::parse(text) {
        Ok(table) => {
            for (name, value) in table.get_ref() {
                reader.tool(name, value, tools);
            }
        }
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            let help = "a tool is a table such as `[claude]` with lines `key = value`";
            reader.wrong(at, format!("not valid TOML: {}", error.message()), help);
        }
    }
    reader.mistakes.sort_by_key(|mistake| (mistake.place.line, mistake.place.column));
    reader.mistakes
}

struct Reader<'t> {
    text: &'t str,
    mistakes: Vec<Mistake>,
}

impl Reader<'_> {
    fn wrong(&mut self, at: usize, message: impl Into<String>, help: impl Into<String>) {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        self.mistakes.push(Mistake { place: Place { line, column }, message: message.into(), help: help.into() });
    }

    fn tool(&mut self, name: &Spanned<std::borrow::Cow<'_, str>>, value: &Value<'_>, tools: &mut Vec<Tool>) {
        let at = name.span().start;
        let name = name.get_ref().as_ref();
        let DeValue::Table(fields) = value.get_ref() else {
            return self.wrong(at, format!("`{name}` is no tool"), "write a table, such as `[claude]`");
        };
        if Name::parse(name).is_err() {
            return self.wrong(at, format!("`{name}` cannot be a tool's name"), "use letters, digits, `-` and `_`");
        }
        if name == Tool::unknown().name {
            let help = "give the tool a name, and say by which variable it is known";
            return self.wrong(at, format!("`{name}` is what a tool is called that nobody knows"), help);
        }
        let known = tools.iter().position(|tool| tool.name == name).unwrap_or_else(|| {
            tools.push(Tool { name: name.to_owned(), capabilities: [].into(), ..Tool::unknown() });
            tools.len() - 1
        });
        for (key, value) in fields {
            self.field(&mut tools[known], key.get_ref(), key.span().start, value);
        }
    }

    fn field(&mut self, tool: &mut Tool, key: &str, at: usize, value: &Value<'_>) {
        match key {
            "directory" => tool.directory = self.string(key, value).or(tool.directory.take()),
            "skills" => {
                let listed = self.strings(key, value);
                tool.skills = listed
                    .map_or_else(|| tool.skills.clone(), |texts| texts.into_iter().map(|(text, _)| text).collect());
            }
            "form" => {
                let words = Form::ALL.map(Form::word);
                let word = self.string(key, value);
                let form = word.and_then(|word| self.word(value.span().start, "form", &word, &words, Form::parse));
                tool.form = form.unwrap_or(tool.form);
            }
            "can" => {
                let words = Capability::ALL.map(Capability::word);
                if let Some(listed) = self.strings(key, value) {
                    let parsed = listed
                        .iter()
                        .filter_map(|(word, at)| self.word(*at, "capability", word, &words, Capability::parse));
                    tool.capabilities = parsed.collect();
                }
            }
            "detect" => {
                if let Some(listed) = self.strings(key, value) {
                    tool.signs = listed.iter().filter_map(|(text, at)| self.sign(text, *at)).collect();
                }
            }
            "roles" => tool.roles.extend(self.roles(value)),
            "models" => {
                let models = self.table(key, value).unwrap_or_default().into_iter();
                let read = models.filter_map(|(word, _, value)| Some((word, self.string("a model", value)?)));
                tool.models.extend(read.collect::<BTreeMap<_, _>>());
            }
            other => {
                let help = match suggest::closest(other, KEYS) {
                    Some(close) => format!("did you mean `{close}`?"),
                    None => format!("a tool has {}", KEYS.map(|key| format!("`{key}`")).join(", ")),
                };
                self.wrong(at, format!("a tool has no `{other}`"), help);
            }
        }
    }

    fn sign(&mut self, text: &str, at: usize) -> Option<Sign> {
        let sign = Sign::parse(text);
        if sign.is_none() {
            self.wrong(at, format!("`{text}` is no variable"), "write `NAME` or `NAME=VALUE`");
        }
        sign
    }

    fn roles(&mut self, value: &Value<'_>) -> BTreeMap<Name, Player> {
        let mut roles = BTreeMap::new();
        for (role, at, value) in self.table("roles", value).unwrap_or_default() {
            let Ok(name) = Name::parse(&role) else {
                self.wrong(at, format!("`{role}` cannot be a role"), "use letters, digits, `-` and `_`");
                continue;
            };
            let Some(fields) = self.table(&role, value) else { continue };
            let mut player = Player::default();
            for (key, at, value) in fields {
                match key.as_str() {
                    "agent" => player.agent = self.string("agent", value),
                    "model" => player.model = self.string("model", value),
                    other => self.wrong(at, format!("a role has no `{other}`"), "a role has `agent` and `model`"),
                }
            }
            roles.insert(name, player);
        }
        roles
    }

    fn word<T>(
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
            self.wrong(at, format!("`{word}` is no {what}"), help);
        }
        found
    }

    fn string(&mut self, what: &str, value: &Value<'_>) -> Option<String> {
        if let DeValue::String(text) = value.get_ref() {
            return Some(text.to_string());
        }
        self.wrong(value.span().start, format!("`{what}` is no text"), "put it into quotes");
        None
    }

    /// The texts of a list, each with its place.
    fn strings(&mut self, what: &str, value: &Value<'_>) -> Option<Vec<(String, usize)>> {
        let DeValue::Array(items) = value.get_ref() else {
            self.wrong(value.span().start, format!("`{what}` is no list"), "write `[\"…\", \"…\"]`");
            return None;
        };
        Some(items.iter().filter_map(|item| Some((self.string(what, item)?, item.span().start))).collect())
    }

    /// The entries of a table, each with its place.
    fn table<'v, 't>(&mut self, what: &str, value: &'v Value<'t>) -> Option<Vec<Entry<'v, 't>>> {
        let DeValue::Table(fields) = value.get_ref() else {
            self.wrong(value.span().start, format!("`{what}` is no table"), "write `{ key = \"…\" }`");
            return None;
        };
        Some(fields.iter().map(|(key, value)| (key.get_ref().to_string(), key.span().start, value)).collect())
    }
}
