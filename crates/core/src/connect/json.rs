//! Edits of JSON that keep comments, order, indentation and line ends.

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde::Serialize as _;
use serde_json::ser::PrettyFormatter;
use serde_json::{Serializer, Value as Json};

use super::edit::{EditError, newline, shape};
use super::settings_item::{HOOKS, ItemSlot, ProgramPosition, ProgramUpdate, SettingsItem};

/// What a text says, comments aside. An empty one says nothing yet.
pub(super) fn value(text: &str) -> Result<Json, EditError> {
    Ok(tree(text)?.map_or_else(|| Json::Object(serde_json::Map::new()), |tree| to_json(&tree)))
}

fn tree(text: &str) -> Result<Option<Value<'_>>, EditError> {
    let options = ParseOptions {
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        ..ParseOptions::default()
    };
    let broken = |line, column, reason: String| EditError::Broken { line, column, reason };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options)
        .map_err(|error| broken(error.line_display(), error.column_display(), error.kind().to_string()))?;
    match parsed.value {
        Some(Value::Object(_)) | None => Ok(parsed.value),
        Some(_) => Err(broken(1, 1, "the file holds no object".to_owned())),
    }
}

fn to_json(value: &Value<'_>) -> Json {
    match value {
        Value::StringLit(text) => Json::String(text.value.to_string()),
        Value::NumberLit(number) => serde_json::from_str(number.value).unwrap_or(Json::Null),
        Value::BooleanLit(truth) => Json::Bool(truth.value),
        Value::NullKeyword(_) => Json::Null,
        Value::Array(array) => Json::Array(array.elements.iter().map(to_json).collect()),
        Value::Object(object) => {
            let entry = |entry: &ObjectProp<'_>| (entry.name.as_str().to_owned(), to_json(&entry.value));
            Json::Object(object.properties.iter().map(entry).collect())
        }
    }
}

/// An object or a list, as far as things are put into it.
struct JsonContainer {
    /// From the opening bracket to behind the closing one.
    range: Range,
    /// What is in it, each with its key.
    items: Vec<Range>,
}

impl JsonContainer {
    fn of_object(object: &Object<'_>) -> Self {
        Self { range: object.range(), items: object.properties.iter().map(Ranged::range).collect() }
    }

    fn of_array(array: &Array<'_>) -> Self {
        Self { range: array.range(), items: array.elements.iter().map(Ranged::range).collect() }
    }
}

/// Where an item belongs: what is there of the way to it.
struct InsertPoint {
    container: JsonContainer,
    /// The first key that is missing; none when the item is one more of a list that is there.
    missing: Option<usize>,
}

fn spot(root: &Object<'_>, item: &SettingsItem) -> Result<InsertPoint, EditError> {
    let mut object = root;
    for (depth, key) in item.path.iter().enumerate() {
        let Some(entry) = object.get(key) else {
            return Ok(InsertPoint { container: JsonContainer::of_object(object), missing: Some(depth) });
        };
        match (&entry.value, item.slot) {
            (Value::Array(array), ItemSlot::Hook) if depth + 1 == item.path.len() => {
                return Ok(InsertPoint { container: JsonContainer::of_array(array), missing: None });
            }
            (Value::Object(next), _) => object = next,
            _ => return Err(EditError::Shape { path: item.shown(depth + 1) }),
        }
    }
    Err(shape(item))
}

/// Adds an item that is not there.
pub(super) fn insert(text: &str, item: &SettingsItem) -> Result<String, EditError> {
    let style = JsonStyle::of(text);
    let Some(Value::Object(root)) = tree(text)? else {
        if !text.trim().is_empty() {
            return Err(EditError::Broken { line: 1, column: 1, reason: "the file holds comments only".to_owned() });
        }
        let whole = serde_json::json!({ item.path[0]: item.wrapped(0) });
        return Ok(format!("{}{}", style.spread(&whole, ""), style.newline));
    };
    let InsertPoint { container, missing } = spot(&root, item)?;
    let (key, value) = match missing {
        Some(depth) => (Some(item.path[depth]), item.wrapped(depth)),
        None => (None, item.entry()),
    };
    let key = key.map(|key| format!("{}: ", Json::from(key))).unwrap_or_default();
    Ok(insert_value(text, &container, &key, &value, &style))
}

/// The text with one thing more at the end of a container.
fn insert_value(text: &str, container: &JsonContainer, key: &str, value: &Json, style: &JsonStyle) -> String {
    let (open, close) = (container.range.start + 1, container.range.end - 1);
    let Some(last) = container.items.last() else {
        let outer = line_indent(text, container.range.start);
        let indent = format!("{outer}{}", style.unit);
        let said = text[open..close].trim_end();
        let rest = &text[open + said.len()..close];
        let closing =
            if said.is_empty() || !rest.contains('\n') { format!("{}{outer}", style.newline) } else { rest.to_owned() };
        let fresh = format!("{}{indent}{key}{}{closing}", style.newline, style.spread(value, &indent));
        return format!("{}{said}{fresh}{}", &text[..open], &text[close..]);
    };
    let tail = ContainerTail::of(&text[last.end..close]);
    let end = last.end + tail.said;
    let fresh = if text[container.range.start..container.range.end].contains('\n') {
        let indent = line_indent(text, container.items[0].start);
        let line = format!("{}{indent}", style.newline);
        format!("{line}{key}{}", style.spread(value, &indent))
    } else {
        format!(" {key}{value}")
    };
    match tail.comma {
        Some(_) => format!("{}{fresh},{}", &text[..end], &text[end..]),
        None => format!("{},{}{fresh}{}", &text[..last.end], &text[last.end..end], &text[end..]),
    }
}

/// Puts another word into an item.
pub(super) fn replace(text: &str, item: &SettingsItem, fresh: &ProgramUpdate) -> Result<String, EditError> {
    let Some(Value::Object(root)) = tree(text)? else { return Err(shape(item)) };
    let old = find_item(&root, item).and_then(|(_, own)| match fresh.place {
        ProgramPosition::Whole(key) => Some(&own.as_object()?.get(key)?.value),
        ProgramPosition::FirstOf(key) => own.as_object()?.get_array(key)?.elements.first(),
    });
    let old = old.ok_or_else(|| shape(item))?.range();
    Ok(format!("{}{}{}", &text[..old.start], Json::from(fresh.word.as_str()), &text[old.end..]))
}

/// Takes an item out; a hook as often as it is there.
pub(super) fn remove(text: &str, item: &SettingsItem) -> Result<String, EditError> {
    let mut rest = remove_one(text, item)?;
    while item.slot == ItemSlot::Hook && item.find(&value(&rest)?).is_some() {
        rest = remove_one(&rest, item)?;
    }
    Ok(rest)
}

/// Takes an item out, with the comma that it needed.
fn remove_one(text: &str, item: &SettingsItem) -> Result<String, EditError> {
    let Some(Value::Object(root)) = tree(text)? else { return Err(shape(item)) };
    let (container, own) = find_item(&root, item).ok_or_else(|| shape(item))?;
    cut(text, &container, own.range()).ok_or_else(|| shape(item))
}

/// Takes out what is empty, with its key, unless it holds a comment.
pub(super) fn remove_empty(text: &str, keys: &[String]) -> Option<String> {
    let Some(Value::Object(root)) = tree(text).ok()? else { return None };
    let (last, way) = keys.split_last()?;
    let holder = way.iter().try_fold(&root, |object, key| object.get_object(key))?;
    let range = holder.get(last)?.value.range();
    let is_blank = text[range.start + 1..range.end - 1].trim().is_empty();
    if is_blank { cut(text, &JsonContainer::of_object(holder), range) } else { None }
}

/// The text without that one of a container's things in which a range is.
fn cut(text: &str, container: &JsonContainer, range: Range) -> Option<String> {
    let holds = |one: &Range| one.start <= range.start && range.end <= one.end;
    let at = container.items.iter().position(holds)?;
    let own = &container.items[at];
    let close = container.range.end - 1;
    let comma_after = |end: usize| {
        let next = container.items.iter().map(|one| one.start).find(|start| *start >= end).unwrap_or(close);
        ContainerTail::of(&text[end..next]).comma.map(|comma| end + comma)
    };
    let start = text[..own.start].trim_end().len();
    let after = comma_after(own.end);
    let end = after.map_or(own.end, |comma| comma + 1);
    let mut fresh = String::with_capacity(text.len());
    match at.checked_sub(1).map(|before| container.items[before].end) {
        // The last of several takes the comma before it along.
        Some(before) if after.is_none() => {
            let comma = comma_after(before)?;
            fresh.push_str(&text[..comma]);
            fresh.push_str(text.get(comma + 1..start).unwrap_or_default());
        }
        _ => fresh.push_str(&text[..start]),
    }
    let rest = &text[end..];
    let is_empty = container.items.len() == 1 && text[container.range.start + 1..start].trim().is_empty();
    fresh.push_str(if is_empty { rest.trim_start() } else { rest });
    Some(fresh)
}

/// Where an item stands: its value, and what holds that or the entry that is there for it alone.
fn find_item<'a, 'b>(root: &'b Object<'a>, item: &SettingsItem) -> Option<(JsonContainer, &'b Value<'a>)> {
    let (last, way) = item.path.split_last()?;
    let holder = way.iter().try_fold(root, |object, key| object.get_object(key))?;
    match item.slot {
        ItemSlot::Member => Some((JsonContainer::of_object(holder), &holder.get(last)?.value)),
        ItemSlot::Hook => {
            let entries = holder.get_array(last)?;
            let is_ours = |hook: &&Value<'_>| item.is_ours(&to_json(hook));
            entries.elements.iter().find_map(|entry| {
                let hooks = entry.as_object()?.get_array(HOOKS)?;
                let own = hooks.elements.iter().find(is_ours)?;
                let holder = if hooks.elements.iter().all(|hook| is_ours(&hook)) { entries } else { hooks };
                Some((JsonContainer::of_array(holder), own))
            })
        }
    }
}

/// What stands between the last thing of a container and its end, or between two things.
struct ContainerTail {
    /// Where a comma is.
    comma: Option<usize>,
    /// Where the last of commas and comments ends.
    said: usize,
}

impl ContainerTail {
    fn of(text: &str) -> Self {
        let mut tail = Self { comma: None, said: 0 };
        let mut at = 0;
        while let Some(c) = text[at..].chars().next() {
            let rest = &text[at..];
            let length = if rest.starts_with("//") {
                rest.find('\n').map_or(rest.len(), |end| rest[..end].trim_end_matches('\r').len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                c.len_utf8()
            };
            if c == ',' {
                tail.comma.get_or_insert(at);
            }
            at += length;
            if !c.is_whitespace() {
                tail.said = at;
            }
        }
        tail
    }
}

/// How a text is laid out.
struct JsonStyle {
    newline: &'static str,
    unit: String,
}

impl JsonStyle {
    fn of(text: &str) -> Self {
        let indent = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
        let indented = text.lines().map(indent).find(|indent| !indent.is_empty());
        Self { newline: newline(text), unit: indented.unwrap_or_else(|| "  ".to_owned()) }
    }

    /// A value over several lines, the first of which is written already.
    fn spread(&self, value: &Json, indent: &str) -> String {
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.unit.as_bytes());
        // Writing to memory cannot fail, and a value of JSON can always be written.
        let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
        String::from_utf8_lossy(&bytes).replace('\n', &format!("{}{indent}", self.newline))
    }
}

/// The blanks at the beginning of the line that holds a place.
fn line_indent(text: &str, at: usize) -> String {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = &text[start..at];
    line[..line.len() - line.trim_start().len()].to_owned()
}
