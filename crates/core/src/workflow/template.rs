//! Templates: texts with placeholders.
//!
//! A template is parsed once, when it is loaded. Filling it is a single pass: what a value holds is never looked at
//! again, so a value with braces in it is only text. `{for x in list}…{end}` repeats a part for each item, and
//! `{if CONDITION}…{else}…{end}` chooses one.

mod template_parser;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::condition::Condition;
use super::name::{Name, StepId};
use super::value_type::value_text;

/// Where something stands in the text it was parsed from, as an offset in bytes. It is no part of what it is: two
/// templates that say the same are equal.
#[derive(Debug, Clone, Copy, Default)]
pub struct ByteOffset(pub usize);

impl PartialEq for ByteOffset {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ByteOffset {}

/// What a placeholder or a condition refers to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ValueReference {
    /// `name`, or a declared field of it: a variable, a parameter, or what the program itself declares.
    Named(Name, Option<Name>),
    /// `params.name`
    Param(Name),
    /// `steps.id.result.field`, of the step's last visit.
    Result(StepId, Name),
}

/// Why a text is no template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidTemplate {
    /// Where, in bytes.
    pub at: usize,
    /// What is wrong.
    pub reason: String,
}

/// A part of a text, in bytes: where it begins, and where it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextSpan(pub usize, pub usize);

/// A text whose placeholders were replaced.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilledText {
    /// The text.
    pub text: String,
    /// The parts that the author of the template wrote; everything else is values.
    pub authored: Vec<TextSpan>,
}

/// A text with placeholders.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Template {
    pieces: Vec<TemplatePiece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePiece {
    Text(String),
    Value(ValueReference, ByteOffset),
    /// `{for NAME in LIST}…{end}`
    Loop {
        name: Name,
        list: ValueReference,
        at: ByteOffset,
        body: Vec<TemplatePiece>,
    },
    /// `{if CONDITION}…{else}…{end}`
    Choice {
        when: Condition,
        at: ByteOffset,
        then: Vec<TemplatePiece>,
        otherwise: Vec<TemplatePiece>,
    },
}

/// A use of a name inside a loop of a template.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoopUse<'t> {
    /// The list that is gone through.
    pub(super) list: &'t ValueReference,
    /// What its items are called.
    pub(super) name: &'t Name,
    /// What is used, which begins with that name.
    pub(super) reference: &'t ValueReference,
    /// Where.
    pub(super) at: ByteOffset,
}

/// How many bytes a filled text may have; what loops add beyond is left out.
const MAX_FILLED: usize = 1024 * 1024;

/// How a list stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListStyle {
    /// With commas.
    Inline,
    /// For people: where it is alone on its line, one item a line.
    Lines,
}

impl ValueReference {
    /// The reference with this text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let name = |part: &str| Name::parse(part).map_err(|bad| format!("`{text}` is not a name: {bad}"));
        let parts: Vec<&str> = text.split('.').collect();
        match parts.as_slice() {
            ["params", param] => Ok(Self::Param(name(param)?)),
            ["steps", step, "result", field] => {
                let step = StepId::parse(step).map_err(|bad| format!("`{text}` is not a name: {bad}"))?;
                Ok(Self::Result(step, name(field)?))
            }
            ["params" | "steps", ..] => Err(format!("`{text}` is neither `params.NAME` nor `steps.ID.result.FIELD`")),
            [one] => Ok(Self::Named(name(one)?, None)),
            [one, field] => Ok(Self::Named(name(one)?, Some(name(field)?))),
            _ => Err(format!("`{text}` is nested deeper than a name can be")),
        }
    }
}

impl fmt::Display for ValueReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name, None) => write!(f, "{name}"),
            Self::Named(name, Some(field)) => write!(f, "{name}.{field}"),
            Self::Param(name) => write!(f, "params.{name}"),
            Self::Result(step, field) => write!(f, "steps.{step}.result.{field}"),
        }
    }
}

impl Template {
    /// The template with this text.
    pub fn parse(text: &str) -> Result<Self, InvalidTemplate> {
        template_parser::parse_template(text)
    }

    /// The template that says exactly this, braces and all.
    pub fn literal(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { pieces: if text.is_empty() { Vec::new() } else { vec![TemplatePiece::Text(text)] } }
    }

    /// What it refers to, in order, and where. Names of its own loops are left out.
    pub fn references(&self) -> impl Iterator<Item = (&ValueReference, ByteOffset)> {
        let mut found = UsedNames::default();
        found.pieces(&self.pieces);
        found.outer.into_iter()
    }

    /// What it refers to inside its loops, by the names of these.
    pub(super) fn loop_uses(&self) -> Vec<LoopUse<'_>> {
        let mut found = UsedNames::default();
        found.pieces(&self.pieces);
        found.inner
    }

    /// The lists that its loops go through, and where each loop stands. Lists of loops within loops are left out.
    pub(super) fn looped_lists(&self) -> Vec<(&ValueReference, ByteOffset)> {
        let mut found = UsedNames::default();
        found.pieces(&self.pieces);
        found.lists
    }

    /// The conditions of its choices, and where each stands.
    pub(super) fn conditions(&self) -> Vec<(&Condition, ByteOffset)> {
        let mut found = UsedNames::default();
        found.pieces(&self.pieces);
        found.conditions
    }

    /// The one reference that is all there is.
    pub fn sole(&self) -> Option<&ValueReference> {
        match self.pieces.as_slice() {
            [TemplatePiece::Value(reference, _)] => Some(reference),
            _ => None,
        }
    }

    /// The text before the first placeholder; all of it when there is none.
    pub fn leading_text(&self) -> &str {
        match self.pieces.first() {
            Some(TemplatePiece::Text(text)) => text,
            _ => "",
        }
    }

    /// Whether it has no placeholder.
    pub fn is_literal(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, TemplatePiece::Text(_)))
    }

    /// The text with every placeholder replaced, in one pass.
    pub fn fill<'v>(&self, lookup: &dyn Fn(&ValueReference) -> Cow<'v, Json>) -> String {
        let mut filled = FilledText::default();
        fill_pieces(&self.pieces, lookup, ListStyle::Inline, &mut filled);
        filled.text
    }

    /// The same for people, with the parts that are no values. A list alone on its line is one item a line.
    pub fn fill_text<'v>(&self, lookup: &dyn Fn(&ValueReference) -> Cow<'v, Json>) -> FilledText {
        let mut filled = FilledText::default();
        fill_pieces(&self.pieces, lookup, ListStyle::Lines, &mut filled);
        filled
    }

    /// The value: of the one reference with its type kept, else the filled text.
    pub fn value<'v>(&self, lookup: &dyn Fn(&ValueReference) -> Cow<'v, Json>) -> Json {
        match self.sole() {
            Some(reference) => lookup(reference).into_owned(),
            None => Json::String(self.fill(lookup)),
        }
    }
}

fn fill_pieces<'v>(
    pieces: &[TemplatePiece],
    lookup: &dyn Fn(&ValueReference) -> Cow<'v, Json>,
    style: ListStyle,
    filled: &mut FilledText,
) {
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            TemplatePiece::Text(literal) => {
                let start = filled.text.len();
                filled.text.push_str(literal);
                filled.authored.push(TextSpan(start, filled.text.len()));
            }
            TemplatePiece::Value(reference, _) => {
                let value = lookup(reference);
                let line = filled.text.rsplit('\n').next().unwrap_or_default();
                let after = pieces.get(index + 1);
                let alone = line.trim().is_empty()
                    && after.is_none_or(|after| matches!(after, TemplatePiece::Text(text) if text.starts_with('\n')));
                let text =
                    match value.as_array().filter(|items| style == ListStyle::Lines && alone && !items.is_empty()) {
                        Some(items) => list_lines(items, line),
                        None => value_text(&value),
                    };
                filled.text.push_str(&text);
            }
            TemplatePiece::Loop { name, list, body, .. } => {
                let list = lookup(list);
                for item in list.as_array().map_or(&[][..], Vec::as_slice) {
                    if filled.text.len() > MAX_FILLED {
                        return;
                    }
                    let inner = |reference: &ValueReference| match reference {
                        ValueReference::Named(own, None) if own == name => Cow::Owned(item.clone()),
                        ValueReference::Named(own, Some(field)) if own == name => {
                            Cow::Owned(item.get(field.as_str()).cloned().unwrap_or(Json::Null))
                        }
                        other => lookup(other),
                    };
                    fill_pieces(body, &inner, style, filled);
                }
            }
            TemplatePiece::Choice { when, then, otherwise, .. } => {
                fill_pieces(if when.holds(lookup) { then } else { otherwise }, lookup, style, filled);
            }
        }
    }
}

/// The items of a list, one a line; `indent` is what stands before the first.
fn list_lines(items: &[Json], indent: &str) -> String {
    let item = |value: &Json| match value {
        Json::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(key, value)| format!("{key}: {}", value_text(value))).collect();
            fields.join(", ")
        }
        other => value_text(other),
    };
    items.iter().map(|value| format!("- {}", item(value))).collect::<Vec<_>>().join(&format!("\n{indent}"))
}

/// The names that a template uses.
#[derive(Default)]
struct UsedNames<'t> {
    outer: Vec<(&'t ValueReference, ByteOffset)>,
    inner: Vec<LoopUse<'t>>,
    lists: Vec<(&'t ValueReference, ByteOffset)>,
    conditions: Vec<(&'t Condition, ByteOffset)>,
    /// The loops around, the innermost last.
    loops: Vec<(&'t Name, &'t ValueReference)>,
}

impl<'t> UsedNames<'t> {
    fn pieces(&mut self, pieces: &'t [TemplatePiece]) {
        for piece in pieces {
            match piece {
                TemplatePiece::Text(_) => {}
                TemplatePiece::Value(reference, at) => self.note(reference, *at),
                TemplatePiece::Loop { name, list, at, body } => {
                    self.note(list, *at);
                    if self.outer.last() == Some(&(list, *at)) {
                        self.lists.push((list, *at));
                    }
                    self.loops.push((name, list));
                    self.pieces(body);
                    self.loops.pop();
                }
                TemplatePiece::Choice { when, at, then, otherwise } => {
                    self.conditions.push((when, *at));
                    for (reference, inside) in when.references() {
                        self.note(reference, ByteOffset(at.0 + inside.0));
                    }
                    self.pieces(then);
                    self.pieces(otherwise);
                }
            }
        }
    }

    fn note(&mut self, reference: &'t ValueReference, at: ByteOffset) {
        let bound = match reference {
            ValueReference::Named(name, _) => self.loops.iter().rev().find(|(own, _)| *own == name).copied(),
            ValueReference::Param(_) | ValueReference::Result(..) => None,
        };
        match bound {
            Some((name, list)) => self.inner.push(LoopUse { list, name, reference, at }),
            None => self.outer.push((reference, at)),
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_pieces(&self.pieces, f)
    }
}

fn write_pieces(pieces: &[TemplatePiece], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for piece in pieces {
        match piece {
            TemplatePiece::Text(text) => f.write_str(&text.replace('{', "{{").replace('}', "}}"))?,
            TemplatePiece::Value(reference, _) => write!(f, "{{{reference}}}")?,
            TemplatePiece::Loop { name, list, body, .. } => {
                write!(f, "{{for {name} in {list}}}")?;
                write_pieces(body, f)?;
                f.write_str("{end}")?;
            }
            TemplatePiece::Choice { when, then, otherwise, .. } => {
                write!(f, "{{if {when}}}")?;
                write_pieces(then, f)?;
                if !otherwise.is_empty() {
                    f.write_str("{else}")?;
                    write_pieces(otherwise, f)?;
                }
                f.write_str("{end}")?;
            }
        }
    }
    Ok(())
}
