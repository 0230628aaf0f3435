//! YAML with the place of every node.
//!
//! One small tree with a place for every node. An alias may stand for a text, within bounds; aliases for lists and
//! mappings and deep nesting are refused, since they are how a few lines become gigabytes. Nothing is typed here; a
//! scalar is its text.

mod plain_mapping;

use std::borrow::Cow;
use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Span};
use serde_json::{Map, Number, Value as Json};

/// How deep lists and mappings may nest.
const MAX_DEPTH: usize = 32;
/// How many bytes aliases may repeat.
const MAX_REPEATED: usize = 64 * 1024;

/// A line and a column in characters, both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SourcePosition {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl SourcePosition {
    fn of(span: &Span) -> Self {
        Self { line: span.start.line(), column: span.start.col() + 1 }
    }

    /// The same place in a text that begins `lines` further down.
    #[must_use]
    pub fn below(self, lines: usize) -> Self {
        Self { line: self.line + lines, column: self.column }
    }
}

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct YamlNode<'a> {
    /// Where it begins.
    pub place: SourcePosition,
    /// What it is.
    pub value: YamlValue<'a>,
}

/// A scalar, a list or a mapping.
#[derive(Debug, Clone, PartialEq)]
pub enum YamlValue<'a> {
    /// Text without quotes, which may mean a number, a truth value or nothing.
    Plain(Cow<'a, str>),
    /// Text that was quoted or a block, and is text for sure.
    Quoted(Cow<'a, str>),
    /// A list.
    List(Vec<YamlNode<'a>>),
    /// A mapping, in the order written, duplicates included.
    Map(Vec<YamlPair<'a>>),
}

/// One entry of a mapping.
#[derive(Debug, Clone, PartialEq)]
pub struct YamlPair<'a> {
    /// The key.
    pub key: Cow<'a, str>,
    /// Where the key stands.
    pub place: SourcePosition,
    /// Its value.
    pub value: YamlNode<'a>,
}

/// Why a text is not usable YAML.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct YamlError {
    /// What is wrong.
    pub reason: String,
    /// Where.
    pub place: SourcePosition,
    /// Whether the text is refused for what it would cost rather than for its grammar.
    pub excessive: bool,
}

impl YamlError {
    fn excessive(reason: &str, span: &Span) -> Self {
        Self { reason: reason.to_owned(), place: SourcePosition::of(span), excessive: true }
    }

    fn grammar(reason: &str, span: &Span) -> Self {
        Self { reason: reason.to_owned(), place: SourcePosition::of(span), excessive: false }
    }
}

impl From<ScanError> for YamlError {
    fn from(error: ScanError) -> Self {
        let mark = error.marker();
        Self {
            reason: error.info(),
            place: SourcePosition { line: mark.line().max(1), column: mark.col() + 1 },
            excessive: false,
        }
    }
}

/// Whether an alias may stand for a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AliasPolicy {
    ForTexts,
    Refused,
}

/// Reads the first document of `text`. An empty text is an empty mapping.
pub fn parse(text: &str) -> Result<YamlNode<'_>, YamlError> {
    document(text, AliasPolicy::ForTexts)
}

/// Reads the first document of a `text` that must not have any alias, so that what is read is what is written there.
pub fn parse_without_aliases(text: &str) -> Result<YamlNode<'_>, YamlError> {
    document(text, AliasPolicy::Refused)
}

fn document(text: &str, aliases: AliasPolicy) -> Result<YamlNode<'_>, YamlError> {
    match plain_mapping::read(text) {
        Some(tree) => Ok(tree),
        None => grammar_document(text, aliases),
    }
}

/// Reads a document by the whole grammar.
fn grammar_document(text: &str, aliases: AliasPolicy) -> Result<YamlNode<'_>, YamlError> {
    let mut events = YamlEvents { parser: Parser::new_from_str(text), anchored: HashMap::new(), repeated: 0, aliases };
    loop {
        match events.next().transpose()? {
            Some((Event::StreamStart | Event::DocumentStart(..), _)) => {}
            Some((event, span)) if event_starts_node(&event) => {
                let tree = node(event, &span, &mut events, 0)?;
                // Lines that belong to no document show only when the next one is asked for.
                next(&mut events)?;
                events.next().transpose()?;
                return Ok(tree);
            }
            _ => {
                return Ok(YamlNode {
                    place: SourcePosition { line: 1, column: 1 },
                    value: YamlValue::Map(Vec::new()),
                });
            }
        }
    }
}

/// The parser, and the texts that have been given a name.
struct YamlEvents<'a> {
    parser: Parser<'a, granit_parser::StrInput<'a>>,
    anchored: HashMap<usize, YamlValue<'a>>,
    /// How many bytes aliases have repeated so far.
    repeated: usize,
    aliases: AliasPolicy,
}

impl<'a> YamlEvents<'a> {
    fn next(&mut self) -> Option<Result<(Event<'a>, Span), ScanError>> {
        self.parser.next()
    }

    /// Remembers a text that an alias may stand for later.
    fn name(&mut self, anchor: usize, value: &YamlValue<'a>) {
        if anchor != 0 {
            self.anchored.insert(anchor, value.clone());
        }
    }

    /// The text that an alias stands for.
    fn resolve(&mut self, anchor: usize, span: &Span) -> Result<YamlValue<'a>, YamlError> {
        if self.aliases == AliasPolicy::Refused {
            return Err(YamlError::excessive("an alias (`*name`) stands where its text should", span));
        }
        let Some(value) = self.anchored.get(&anchor).cloned() else {
            return Err(YamlError::excessive("an alias (`*name`) may stand for a text only", span));
        };
        let (YamlValue::Plain(text) | YamlValue::Quoted(text)) = &value else { return Ok(value) };
        self.repeated += text.len();
        if self.repeated > MAX_REPEATED {
            return Err(YamlError::excessive("aliases repeat more than 64 KiB", span));
        }
        Ok(value)
    }
}

fn event_starts_node(event: &Event<'_>) -> bool {
    matches!(event, Event::Scalar(..) | Event::SequenceStart(..) | Event::MappingStart(..) | Event::Alias(_))
}

fn next<'a>(events: &mut YamlEvents<'a>) -> Result<(Event<'a>, Span), YamlError> {
    match events.next().transpose()? {
        Some(next) => Ok(next),
        None => Err(YamlError {
            reason: "the text ends too early".into(),
            place: SourcePosition::default(),
            excessive: false,
        }),
    }
}

fn node<'a>(
    event: Event<'a>,
    span: &Span,
    events: &mut YamlEvents<'a>,
    depth: usize,
) -> Result<YamlNode<'a>, YamlError> {
    if depth > MAX_DEPTH {
        return Err(YamlError::excessive("values are nested more than 32 deep", span));
    }
    let value = match event {
        Event::Scalar(text, style, anchor, _) => {
            let value = if style == ScalarStyle::Plain { YamlValue::Plain(text) } else { YamlValue::Quoted(text) };
            events.name(anchor, &value);
            value
        }
        Event::SequenceStart(..) => list(events, depth)?,
        Event::MappingStart(..) => map(events, depth)?,
        Event::Alias(anchor) => events.resolve(anchor, span)?,
        _ => return Err(YamlError::grammar("a value is missing", span)),
    };
    Ok(YamlNode { place: SourcePosition::of(span), value })
}

fn list<'a>(events: &mut YamlEvents<'a>, depth: usize) -> Result<YamlValue<'a>, YamlError> {
    let mut items = Vec::new();
    loop {
        match next(events)? {
            (Event::SequenceEnd, _) => return Ok(YamlValue::List(items)),
            (event, span) => items.push(node(event, &span, events, depth + 1)?),
        }
    }
}

fn map<'a>(events: &mut YamlEvents<'a>, depth: usize) -> Result<YamlValue<'a>, YamlError> {
    let mut pairs = Vec::new();
    loop {
        let (key, place) = match next(events)? {
            (Event::MappingEnd, _) => return Ok(YamlValue::Map(pairs)),
            (Event::Scalar(key, ..), span) => (key, SourcePosition::of(&span)),
            (_, span) => return Err(YamlError::grammar("a key must be plain text", &span)),
        };
        let (event, span) = next(events)?;
        let value = node(event, &span, events, depth + 1)?;
        pairs.push(YamlPair { key, place, value });
    }
}

impl YamlNode<'_> {
    /// The text of a scalar; an empty plain scalar or `null` is nothing.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            YamlValue::Plain(text) if matches!(text.as_ref(), "" | "~" | "null" | "Null" | "NULL") => None,
            YamlValue::Plain(text) | YamlValue::Quoted(text) => Some(text),
            YamlValue::List(_) | YamlValue::Map(_) => None,
        }
    }

    /// Whether there is no value at all.
    pub fn is_null(&self) -> bool {
        matches!(self.value, YamlValue::Plain(_)) && self.text().is_none()
    }

    /// A truth value: YAML 1.2's words, and the older ones that people still write.
    pub fn flag(&self) -> Option<bool> {
        match self.text()?.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }

    /// What kind of value it is, for a message.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            YamlValue::Plain(_) if self.is_null() => "empty",
            YamlValue::Plain(_) | YamlValue::Quoted(_) => "text",
            YamlValue::List(_) => "a list",
            YamlValue::Map(_) => "a mapping",
        }
    }

    /// The same value as JSON, plain scalars typed by YAML 1.2's core schema.
    pub fn to_json(&self) -> Json {
        match &self.value {
            YamlValue::Quoted(text) => Json::String(text.to_string()),
            YamlValue::Plain(text) => plain_json(text),
            YamlValue::List(items) => Json::Array(items.iter().map(YamlNode::to_json).collect()),
            YamlValue::Map(pairs) => {
                let mut map = Map::new();
                for pair in pairs {
                    map.entry(pair.key.as_ref()).or_insert_with(|| pair.value.to_json());
                }
                Json::Object(map)
            }
        }
    }
}

fn plain_json(text: &str) -> Json {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Json::Null,
        "true" | "True" | "TRUE" => Json::Bool(true),
        "false" | "False" | "FALSE" => Json::Bool(false),
        _ => plain_number(text).map_or_else(|| Json::String(text.to_owned()), Json::Number),
    }
}

fn plain_number(text: &str) -> Option<Number> {
    let numeric = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    if !text.contains(|c: char| c.is_ascii_digit()) || !text.chars().all(numeric) {
        return None;
    }
    text.parse::<i64>().map(Number::from).ok().or_else(|| text.parse::<f64>().ok().and_then(Number::from_f64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn yaml_keeps_places_and_types_plain_scalars_only() {
        let text = "name: yes\nmeta:\n  version: 1.0\n  quoted: \"1.0\"\n  on: true\n  none:\n  list: [a, 2]\n";
        let tree = parse(text).unwrap();
        assert_eq!(
            tree.to_json(),
            json!({"name": "yes", "meta": {"version": 1.0, "quoted": "1.0", "on": true, "none": null, "list": ["a", 2]}})
        );
        let YamlValue::Map(pairs) = &tree.value else { panic!("a mapping") };
        assert_eq!(pairs[1].place, SourcePosition { line: 2, column: 1 });
        assert_eq!(pairs[0].value.place, SourcePosition { line: 1, column: 7 });
    }

    /// Both readers must agree wherever the short one reads something.
    fn check_both(text: &str) -> bool {
        let Some(short) = plain_mapping::read(text) else { return false };
        assert_eq!(Ok(short), grammar_document(text, AliasPolicy::ForTexts), "{text:?}");
        true
    }

    #[test]
    fn plain_lines_are_read_as_the_grammar_reads_them() {
        for text in [
            "name: a\n",
            "name: a",
            "name: pdf-tools\ndescription: Use it, e.g. for (a) [b] {c} & d!  \n\nlicense: 'MIT'\n",
            "a: \"x: y # z\"\nb: 1.0\nc: true\nd: null\n",
            "metadata:\n  author: me\n  version: \"1.0\"\nname: x\n",
            "metadata:\n    author: \u{e9}t\u{e9} \u{2014} \u{1f600}\n\n    version: 2\n",
            "tags:\n  - one\n  - 'two three'\ntools:\n- Read\n-   \"Bash\"\nname: x\n",
            "a:    far\nb-c_d: http://example.com/x#y\n",
            "a: |\n  b\n",
            "a: |\n    b: # c\n\n\n      d\n    e\n\nb: c\n",
            "a: >\n  b\n  c: d\n\n  e\n\n\n  f\nb: c\n",
            "a: >-\n  b\n  c\n\nb: |-\n  d\n",
            "a: []\nb: [ ]\nc: [one, two three, 4.5]\nd: [ \"e, f\", 'g' ,h]\n",
            "m:\n  t: [a, b]\nl:\n  - [c]\n",
        ] {
            assert!(check_both(text), "{text:?}");
        }
        for text in [
            "",
            "a",
            "a:b",
            "a: b: c",
            "a: [1, [2]]",
            "a: [1,]",
            "a: [1, 2] # c",
            "a: [b: c]",
            "a: [\u{e9}, b]",
            "a: {b: c}",
            "a: |\n  b",
            "a: |+\n  b\n",
            "a: |2\n  b\n",
            "a: |\n\n  b\n",
            "a: |\nb: c\n",
            "a: >\n  b\n    c\n",
            "a: |\n  b\n c\n",
            "a: >\n  b\n\tc\n",
            "a: &x b",
            "a:\n- b: c",
            "- a: b",
            " a: b",
            "a: b\n  c",
            "a: b # c",
            "a:\nb: c",
            "a: \"b\\n\"",
            "a: 'it''s'",
            "a:\tb",
            "a: b\r\n",
            "# c\na: b",
            "a:\n  b: c\n d: e",
            "a:\n  b:\n    c: d",
            "? a\n: b",
            "a: b:",
        ] {
            assert!(!check_both(text), "{text:?}");
        }
    }

    #[test]
    fn both_readers_agree_on_real_headers() {
        let beside = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
        let corpus = std::env::var_os("MAESTRO_CORPUS").map_or(beside, Into::into).join("skills");
        let (mut folders, mut read, mut all) = (vec![corpus], 0, 0);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                } else if let Ok(text) = std::fs::read_to_string(entry.path())
                    && let Some((header, _)) = text.strip_prefix("---\n").and_then(|text| text.split_once("\n---"))
                {
                    all += 1;
                    read += usize::from(check_both(header));
                }
            }
        }
        if all == 0 {
            eprintln!("skipped: there is no corpus; set MAESTRO_CORPUS");
        } else {
            assert!(read * 10 > all * 7, "only {read} of {all} headers take the short way");
        }
    }

    proptest::proptest! {
        #[test]
        fn both_readers_agree(lines in proptest::collection::vec("( {0,3})([a-z_-]{0,4}|[^\n]{0,3})(: |:|  |)([^\n]{0,6}|[a-z0-9 \"':#&*|>-]{0,10})", 0..5)) {
            check_both(&lines.join("\n"));
        }

        #[test]
        fn both_readers_agree_on_blocks(
            style in "[|>][-+1-9]?",
            lines in proptest::collection::vec("( {0,4})([a-z:#-]{0,3}|[^\n]{0,3})", 0..6),
            after in "(b: c)?\n?",
        ) {
            check_both(&format!("a: {style}\n{}\n{after}", lines.join("\n")));
        }

        #[test]
        fn both_readers_agree_on_brackets(inner in "( ?[a-z0-9\"' ./+_-]{0,4},?){0,4}[^\n]{0,2}") {
            check_both(&format!("a: [{inner}]\n"));
            check_both(&format!("m:\n  a: [{inner}]\n"));
            check_both(&format!("- [{inner}]\n"));
        }

        #[test]
        fn both_readers_agree_on_mappings(lines in proptest::collection::vec("(  )?(- |[a-z]{1,3}:|-)( {1,2}([a-z0-9\"'.,:# -]{0,8}|[^\n]{0,5}))?", 1..6)) {
            check_both(&lines.join("\n"));
        }
    }

    #[test]
    fn a_yaml_bomb_is_refused_before_it_grows() {
        let bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n";
        assert!(parse(bomb).is_err_and(|error| error.excessive));
        let deep = format!("a: {}1{}", "[".repeat(60), "]".repeat(60));
        assert!(parse(&deep).is_err_and(|error| error.excessive));
    }

    #[test]
    fn an_alias_stands_for_a_text_but_not_without_end() {
        assert_eq!(parse("a: &d hello\nb: *d\n").unwrap().to_json(), json!({"a": "hello", "b": "hello"}));
        assert!(parse_without_aliases("a: &d hello\nb: *d\n").is_err_and(|error| error.place.line == 2));
        let long = format!("a: &d {}\nb: [{}]\n", "x".repeat(30_000), "*d, ".repeat(10));
        assert!(parse(&long).is_err_and(|error| error.excessive));
    }

    #[test]
    fn an_empty_text_is_an_empty_mapping_and_errors_say_where() {
        assert_eq!(parse("").unwrap().to_json(), json!({}));
        assert_eq!(parse("# nothing\n").unwrap().to_json(), json!({}));
        let error = parse("a: 1\nb: c: d\n").unwrap_err();
        assert_eq!(error.place.line, 2);
    }
}
