//! Edits of JSON that keep comments, order, indentation and line ends.

use std::ops::Range;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstNode, CstObject, CstRootNode};
use serde::Serialize as _;
use serde_json::ser::PrettyFormatter;
use serde_json::{Serializer, Value as Json};

use super::edit::{EditError, newline, shape};
use super::settings_item::{HOOKS, ItemSlot, ProgramPosition, ProgramUpdate, SettingsItem};

/// What a text says, comments aside. An empty one says nothing yet.
pub(super) fn value(text: &str) -> Result<Json, EditError> {
    let object = parse(text)?.object_value();
    Ok(object.and_then(|object| object.to_serde_value()).unwrap_or_else(|| Json::Object(serde_json::Map::new())))
}

fn parse(text: &str) -> Result<CstRootNode, EditError> {
    let options = ParseOptions {
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        ..ParseOptions::default()
    };
    let broken = |line, column, reason: String| EditError::Broken { line, column, reason };
    let root = CstRootNode::parse(text, &options)
        .map_err(|error| broken(error.line_display(), error.column_display(), error.kind().to_string()))?;
    match root.value() {
        Some(value) if value.as_object().is_none() => Err(broken(1, 1, "the file holds no object".to_owned())),
        _ => Ok(root),
    }
}

/// Where a node stands in its text.
fn range(node: &CstNode) -> Range<usize> {
    let before: usize = node.previous_siblings().map(|sibling| sibling.to_string().len()).sum();
    let start = before + node.parent().map_or(0, |parent| range(&parent.into()).start);
    start..start + node.to_string().len()
}

/// Where an item belongs: what is there of the way to it.
struct InsertPoint {
    /// The object or list.
    container: CstNode,
    /// The first key that is missing; none when the item is one more of a list that is there.
    missing: Option<usize>,
}

fn spot(root: CstObject, item: &SettingsItem) -> Result<InsertPoint, EditError> {
    let mut object = root;
    for (depth, key) in item.path.iter().enumerate() {
        let Some(entry) = object.get(key) else {
            return Ok(InsertPoint { container: object.into(), missing: Some(depth) });
        };
        match (entry.array_value(), entry.object_value()) {
            (Some(array), _) if item.slot.is_listed() && depth + 1 == item.path.len() => {
                return Ok(InsertPoint { container: array.into(), missing: None });
            }
            (_, Some(next)) => object = next,
            _ => return Err(EditError::Shape { path: item.shown(depth + 1) }),
        }
    }
    Err(shape(item))
}

/// Adds an item that is not there.
pub(super) fn insert(text: &str, item: &SettingsItem) -> Result<String, EditError> {
    let style = JsonStyle::of(text);
    // A node knows its place only while its tree is there.
    let tree = parse(text)?;
    let Some(root) = tree.object_value() else {
        if !text.trim().is_empty() {
            return Err(EditError::Broken { line: 1, column: 1, reason: "the file holds comments only".to_owned() });
        }
        let whole = item.whole_file().ok_or_else(|| shape(item))?;
        return Ok(format!("{}{}", style.spread(&whole, ""), style.newline));
    };
    let InsertPoint { container, missing } = spot(root, item)?;
    let (key, value) = match missing {
        Some(depth) => (Some(item.path[depth]), item.wrapped(depth)),
        None => (None, item.entry()),
    };
    let key = key.map(|key| format!("{}: ", Json::from(key))).unwrap_or_default();
    Ok(insert_value(text, &container, &key, &value, &style))
}

/// The text with one thing more at the end of a container. What stands in one line stays in it, which the parser's own
/// insertion would spread over several.
fn insert_value(text: &str, container: &CstNode, key: &str, value: &Json, style: &JsonStyle) -> String {
    let whole = range(container);
    let items = container.children_exclude_trivia_and_tokens();
    let (open, close) = (whole.start + 1, whole.end - 1);
    let Some((first, last)) = items.first().zip(items.last().map(range)) else {
        let outer = line_indent(text, whole.start);
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
    let fresh = if text[whole].contains('\n') {
        let indent = line_indent(text, range(first).start);
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
    let root = parse(text)?;
    let old = find_item(&root, item).and_then(|(_, own)| match fresh.place {
        ProgramPosition::Whole(key) => own.as_object()?.get(key)?.value(),
        ProgramPosition::FirstOf(key) => own.as_object()?.array_value(key)?.elements().into_iter().next(),
    });
    let old = old.and_then(|old| old.as_string_lit()).ok_or_else(|| shape(item))?;
    old.set_raw_value(Json::from(fresh.word.as_str()).to_string());
    Ok(root.to_string())
}

/// Takes an item out; a hook as often as it is there.
pub(super) fn remove(text: &str, item: &SettingsItem) -> Result<String, EditError> {
    let root = parse(text)?;
    let (mut holder, _) = find_item(&root, item).ok_or_else(|| shape(item))?;
    loop {
        holder.remove();
        match find_item(&root, item).filter(|_| item.slot.is_listed()) {
            Some((next, _)) => holder = next,
            None => return Ok(root.to_string()),
        }
    }
}

/// Takes out what is empty, with its key, unless it holds a comment.
pub(super) fn remove_empty(text: &str, keys: &[String]) -> Option<String> {
    let root = parse(text).ok()?;
    let (last, way) = keys.split_last()?;
    let holder = way.iter().try_fold(root.object_value()?, |object, key| object.object_value(key))?;
    let entry = holder.get(last)?;
    let value = entry.value()?.to_string();
    value.get(1..value.len() - 1)?.trim().is_empty().then(|| entry.remove())?;
    Some(root.to_string())
}

/// Where an item stands: what is there for it alone, and its value.
fn find_item(root: &CstRootNode, item: &SettingsItem) -> Option<(CstNode, CstNode)> {
    let (last, way) = item.path.split_last()?;
    let holder = way.iter().try_fold(root.object_value()?, |object, key| object.object_value(key))?;
    match item.slot {
        ItemSlot::Member => {
            let entry = holder.get(last)?;
            let value = entry.value()?;
            Some((entry.into(), value))
        }
        ItemSlot::Hook => holder.array_value(last)?.elements().into_iter().find_map(|entry| {
            let hooks = entry.as_object()?.array_value(HOOKS)?.elements();
            let is_ours = |hook: &&CstNode| hook.to_serde_value().is_some_and(|hook| item.is_ours(&hook));
            let own = hooks.iter().find(is_ours)?.clone();
            let holder = if hooks.iter().all(|hook| is_ours(&hook)) { entry } else { own.clone() };
            Some((holder, own))
        }),
        ItemSlot::PlainHook => {
            let is_ours = |hook: &CstNode| hook.to_serde_value().is_some_and(|hook| item.is_ours(&hook));
            let own = holder.array_value(last)?.elements().into_iter().find(is_ours)?;
            Some((own.clone(), own))
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
