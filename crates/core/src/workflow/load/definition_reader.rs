//! Reader of values from the tree, which collects findings.

use serde_json::Value as Json;

use super::foreign_words;
use crate::closest_word;
use crate::workflow::condition::Condition;
use crate::workflow::definition::{AssignedValue, PlacedValue};
use crate::workflow::finding::{FindingCode, WorkflowFinding};
use crate::workflow::name::Name;
use crate::workflow::template::Template;
use crate::yaml::{SourcePosition, YamlNode, YamlPair, YamlValue};

/// Reads values and collects findings.
pub(in crate::workflow) struct DefinitionReader<'s> {
    /// The file's lines, split once: a place is looked up for every word of every command.
    lines: Vec<&'s str>,
    strictness: LoadStrictness,
    findings: Vec<WorkflowFinding>,
    /// Names in doubled braces, which are text and may be meant as placeholders.
    doubled_names: Vec<(Name, SourcePosition)>,
    /// Where `${{` stands, by which other languages insert values.
    foreign_marks: Vec<SourcePosition>,
    /// Whether a text could not be read that may use names.
    has_unread_texts: bool,
}

/// Which rules a definition is read by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadStrictness {
    /// All of them: it may start a run.
    Start,
    /// Those that held when the definition was pinned: a run has it already, and must be able to continue.
    Pinned,
}

/// The entries of a mapping whose keys are known.
pub(super) struct MappingFields<'t> {
    pairs: &'t [YamlPair<'t>],
}

impl<'t> MappingFields<'t> {
    /// The value of a key that is there and not empty.
    pub(super) fn get(&self, key: &str) -> Option<&'t YamlNode<'t>> {
        self.pairs.iter().find(|pair| pair.key == key).map(|pair| &pair.value).filter(|node| !node.is_null())
    }
}

impl<'s> DefinitionReader<'s> {
    pub(super) fn new(source: &'s str, strictness: LoadStrictness) -> Self {
        Self {
            lines: source.lines().collect(),
            strictness,
            findings: Vec::new(),
            doubled_names: Vec::new(),
            foreign_marks: Vec::new(),
            has_unread_texts: false,
        }
    }

    /// What was found, in the order of the file.
    pub(super) fn finish(mut self) -> Vec<WorkflowFinding> {
        self.findings.sort_by_key(|finding| (finding.place.line, finding.place.column, finding.code));
        self.findings.dedup();
        self.findings
    }

    /// Notes a finding.
    pub(in crate::workflow) fn find(
        &mut self,
        code: FindingCode,
        place: SourcePosition,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.findings.push(WorkflowFinding { code, place, message: message.into(), help: help.into() });
    }

    /// Notes a finding of a rule that is younger than some pinned definitions, which it does not apply to.
    pub(in crate::workflow) fn find_at_start(
        &mut self,
        code: FindingCode,
        place: SourcePosition,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        if self.strictness == LoadStrictness::Start {
            self.find(code, place, message, help);
        }
    }

    /// The names that stand in doubled braces, with their places.
    pub(in crate::workflow) fn doubled_names(&self) -> &[(Name, SourcePosition)] {
        &self.doubled_names
    }

    /// Where `${{` stands in texts.
    pub(in crate::workflow) fn foreign_marks(&self) -> &[SourcePosition] {
        &self.foreign_marks
    }

    /// Whether a text could not be read, so that the names in it are not known.
    pub(in crate::workflow) fn has_unread_texts(&self) -> bool {
        self.has_unread_texts
    }

    /// Where the byte `at` of a placed text stands in the file.
    pub(in crate::workflow) fn place_in<T>(&self, placed: &PlacedValue<T>, at: usize) -> SourcePosition {
        locate(&self.lines, placed.place, &placed.text, at)
    }

    /// Where the byte `at` of a scalar's text stands in the file.
    pub(super) fn place_at(&self, node: &YamlNode<'_>, text: &str, at: usize) -> SourcePosition {
        locate(&self.lines, node.place, text, at)
    }

    /// The entries of a mapping; an unknown or repeated key is a finding.
    pub(super) fn fields<'t>(&mut self, node: &'t YamlNode<'t>, what: &str, known: &[&str]) -> MappingFields<'t> {
        let pairs = self.pairs(node, what);
        for pair in pairs.iter().filter(|pair| !known.contains(&pair.key.as_ref())) {
            let foreign = foreign_words::help_with_key(&pair.key, known);
            let help = foreign.unwrap_or_else(|| match closest_word::closest(&pair.key, known.iter().copied()) {
                Some(close) => format!("did you mean `{close}`?"),
                None => format!("{what} can have {}", list(known)),
            });
            self.find(FindingCode::E01, pair.place, format!("{what} has no `{}`", pair.key), help);
        }
        MappingFields { pairs }
    }

    /// The entries of a mapping whose keys are free; a repeated one is a finding.
    pub(super) fn pairs<'t>(&mut self, node: &'t YamlNode<'t>, what: &str) -> &'t [YamlPair<'t>] {
        let YamlValue::Map(pairs) = &node.value else {
            self.wrong(node, &format!("{what} is a mapping"));
            return &[];
        };
        for (index, pair) in pairs.iter().enumerate() {
            if pairs[..index].iter().any(|before| before.key == pair.key) {
                let message = format!("`{}` stands here twice", pair.key);
                self.find(FindingCode::E20, pair.place, message, "keep one of them");
            }
        }
        pairs
    }

    /// The items of a list.
    pub(super) fn items<'t>(&mut self, node: &'t YamlNode<'t>, what: &str) -> &'t [YamlNode<'t>] {
        if let YamlValue::List(items) = &node.value {
            return items;
        }
        self.wrong(node, &format!("{what} is a list"));
        &[]
    }

    /// A value of another kind than it should have.
    pub(super) fn wrong(&mut self, node: &YamlNode<'_>, should: &str) {
        self.find(FindingCode::E10, node.place, format!("this is {}", node.kind()), should);
    }

    pub(super) fn text(&mut self, node: &YamlNode<'_>) -> Option<String> {
        let text = node.text().map(str::to_owned);
        if text.is_none() {
            self.wrong(node, "it should be a text");
        }
        text
    }

    pub(super) fn text_of(&mut self, node: Option<&YamlNode<'_>>) -> Option<String> {
        node.and_then(|node| self.text(node))
    }

    /// A list of texts; one text is a list of one.
    pub(super) fn texts(&mut self, node: &YamlNode<'_>) -> Vec<String> {
        match &node.value {
            YamlValue::List(items) => items.iter().filter_map(|item| self.text(item)).collect(),
            _ => self.text(node).into_iter().collect(),
        }
    }

    pub(super) fn texts_of(&mut self, node: Option<&YamlNode<'_>>) -> Vec<String> {
        node.map(|node| self.texts(node)).unwrap_or_default()
    }

    pub(super) fn flag_of(&mut self, node: Option<&YamlNode<'_>>) -> bool {
        let Some(node) = node else { return false };
        node.flag().unwrap_or_else(|| {
            self.wrong(node, "it should be true or false");
            false
        })
    }

    pub(super) fn number(&mut self, node: &YamlNode<'_>) -> Option<u32> {
        let number = node.text().and_then(|text| text.parse().ok());
        if number.is_none() {
            self.find(FindingCode::E10, node.place, "this is no whole number", "write a number such as 5");
        }
        number
    }

    /// A number from 1 up to a limit.
    pub(super) fn limit(&mut self, node: &YamlNode<'_>, most: u32) -> Option<u32> {
        let number = self.number(node)?;
        if (1..=most).contains(&number) {
            return Some(number);
        }
        let help = format!("choose a number from 1 to {most}");
        self.find(FindingCode::E18, node.place, format!("{number} is out of bounds"), help);
        None
    }

    /// A number of seconds, with or without a unit.
    pub(super) fn seconds(&mut self, node: &YamlNode<'_>) -> Option<u32> {
        let text = self.text(node)?;
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match &text[digits.len()..] {
            "" | "s" => Some(1),
            "m" => Some(60),
            "h" => Some(3600),
            _ => None,
        };
        let seconds = digits.parse::<u32>().ok().zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
        if seconds.is_none_or(|seconds| seconds == 0) {
            self.find(
                FindingCode::E10,
                node.place,
                format!("`{text}` is no time"),
                "write seconds, or `90s`, `10m`, `2h`",
            );
        }
        seconds.filter(|seconds| *seconds > 0)
    }

    /// One of several words.
    pub(super) fn word<T: Copy>(&mut self, node: &YamlNode<'_>, what: &str, known: &[(&str, T)]) -> Option<T> {
        let text = self.text(node)?;
        if let Some((_, found)) = known.iter().find(|(word, _)| *word == text) {
            return Some(*found);
        }
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        self.find(FindingCode::E01, node.place, format!("`{text}` is no {what}"), help_with_words(&text, &words));
        None
    }

    pub(super) fn name_at(&mut self, text: &str, place: SourcePosition) -> Option<Name> {
        let name = Name::parse(text);
        if let Err(bad) = name {
            self.find(FindingCode::E01, place, format!("`{text}` cannot be a name"), bad.to_string());
        }
        name.ok()
    }

    pub(super) fn name(&mut self, node: &YamlNode<'_>) -> Option<(Name, SourcePosition)> {
        let text = self.text(node)?;
        self.name_at(&text, node.place).map(|name| (name, node.place))
    }

    pub(super) fn name_of(&mut self, node: Option<&YamlNode<'_>>) -> Option<(Name, SourcePosition)> {
        node.and_then(|node| self.name(node))
    }

    pub(super) fn names_of(&mut self, node: Option<&YamlNode<'_>>) -> Vec<(Name, SourcePosition)> {
        one_or_many(node, |item| self.name(item))
    }

    pub(super) fn template(&mut self, node: &YamlNode<'_>) -> Option<PlacedValue<Template>> {
        let text = self.text(node)?;
        match Template::parse(&text) {
            Ok(value) => {
                for (at, _) in text.match_indices("${{") {
                    self.foreign_marks.push(self.place_at(node, &text, at));
                }
                for (name, at) in doubled_names(&text) {
                    let place = self.place_at(node, &text, at);
                    self.doubled_names.push((name, place));
                }
                Some(PlacedValue { value, place: node.place, text })
            }
            Err(bad) => {
                let place = self.place_at(node, &text, bad.at);
                let is_block = ["block", "loop", "{end}", "{else}"].iter().any(|word| bad.reason.contains(word));
                let rest = text.get(bad.at..).unwrap_or_default();
                let help = foreign_words::help_with_template(rest, &text, is_block);
                self.has_unread_texts = true;
                self.find(FindingCode::E01, place, bad.reason, help);
                None
            }
        }
    }

    pub(super) fn template_of(&mut self, node: Option<&YamlNode<'_>>) -> Option<PlacedValue<Template>> {
        node.and_then(|node| self.template(node))
    }

    pub(super) fn templates_of(&mut self, node: Option<&YamlNode<'_>>) -> Vec<PlacedValue<Template>> {
        one_or_many(node, |item| self.template(item))
    }

    pub(super) fn named_templates(&mut self, node: Option<&YamlNode<'_>>) -> Vec<(Name, PlacedValue<Template>)> {
        let Some(node) = node else { return Vec::new() };
        let mut found = Vec::new();
        for pair in self.pairs(node, "this") {
            let name = self.name_at(&pair.key, pair.place);
            found.extend(name.zip(self.template(&pair.value)));
        }
        found
    }

    /// Names and what they are set to.
    pub(super) fn assignments(&mut self, node: &YamlNode<'_>) -> Vec<(Name, SourcePosition, AssignedValue)> {
        let mut found = Vec::new();
        for pair in self.pairs(node, "this") {
            let name = self.name_at(&pair.key, pair.place);
            let value = self.assigned_value(&pair.value);
            found.extend(name.zip(value).map(|(name, value)| (name, pair.place, value)));
        }
        found
    }

    /// A text with names in it, or any other value as it is written.
    pub(super) fn assigned_value(&mut self, node: &YamlNode<'_>) -> Option<AssignedValue> {
        match node.to_json() {
            Json::String(_) => self.template(node).map(AssignedValue::Text),
            literal => Some(AssignedValue::Literal(literal)),
        }
    }

    pub(super) fn condition(&mut self, node: &YamlNode<'_>) -> Option<PlacedValue<Condition>> {
        let text = self.text(node)?;
        match Condition::parse(&text) {
            Ok(value) => Some(PlacedValue { value, place: node.place, text }),
            Err(bad) => {
                let place = self.place_at(node, &text, bad.at);
                let help = foreign_words::help_with_condition(text.get(bad.at..).unwrap_or_default());
                self.has_unread_texts = true;
                self.find(FindingCode::E10, place, bad.reason, help);
                None
            }
        }
    }
}

/// The word that was probably meant, or all that are known.
pub(super) fn help_with_words(text: &str, known: &[&str]) -> String {
    if let Some(foreign) = foreign_words::help_with_word(text, known) {
        return foreign;
    }
    match closest_word::closest(text, known.iter().copied()) {
        Some(close) => format!("did you mean `{close}`?"),
        None => format!("it can be {}", list(known)),
    }
}

/// The names that stand alone in doubled braces, as in `{{ name }}`, and where.
fn doubled_names(text: &str) -> Vec<(Name, usize)> {
    let inside = |(at, _): (usize, &str)| {
        let (inside, _) = text[at + 2..].split_once("}}")?;
        Some((Name::parse(inside.trim()).ok()?, at))
    };
    text.match_indices("{{").filter_map(inside).collect()
}

/// Words with commas between them.
fn list(words: &[&str]) -> String {
    words.join(", ")
}

/// Where the byte `at` of a scalar stands among the file's lines. The scalar begins at `place`; when it is folded or escaped so
/// that it cannot be found, its own place must do.
fn locate(lines: &[&str], place: SourcePosition, text: &str, at: usize) -> SourcePosition {
    let before = text.get(..at).unwrap_or_default();
    let first = lines.get(place.line.saturating_sub(1)).copied().unwrap_or_default();
    let rest: String = first.chars().skip(place.column - 1).collect();
    let quote = usize::from(rest.starts_with(['"', '\'']));
    let unquoted: String = rest.chars().skip(quote).collect();
    if !before.contains('\n') && unquoted.starts_with(before) && !rest.starts_with(['|', '>']) {
        return SourcePosition { line: place.line, column: place.column + quote + before.chars().count() };
    }
    let line_of_text = text.lines().nth(before.matches('\n').count()).unwrap_or_default();
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
    // The scalar ends somewhere below; what is folded or escaped would else be looked for in all of the file.
    let mut left = text.len().saturating_mul(2) + first.len();
    let mut below = lines.iter().enumerate().skip(place.line - 1).take_while(|(_, line)| {
        let within = left > 0;
        left = left.saturating_sub(line.trim().len());
        within
    });
    let stands_in = |line: &str| if line.len() < line_of_text.len() { None } else { line.find(line_of_text) };
    let found = below.find_map(|(index, line)| Some((index, stands_in(line)?)));
    match found {
        Some((index, indent)) => {
            SourcePosition { line: index + 1, column: lines[index][..indent].chars().count() + column + 1 }
        }
        None => place,
    }
}

/// What is read of each item of a list, or of the one thing that stands in its place.
fn one_or_many<T>(node: Option<&YamlNode<'_>>, mut read: impl FnMut(&YamlNode<'_>) -> Option<T>) -> Vec<T> {
    match node.map(|node| (&node.value, node)) {
        Some((YamlValue::List(items), _)) => items.iter().filter_map(read).collect(),
        Some((_, node)) => read(node).into_iter().collect(),
        None => Vec::new(),
    }
}
