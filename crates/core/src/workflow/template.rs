//! Templates: texts with placeholders.
//!
//! A template is parsed once, when it is loaded. Filling it is a single pass: what a value holds is never looked at
//! again, so a value with braces in it is only text.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::name::{Name, StepId, is_name_char};
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
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut at = 0;
        while let Some(found) = text[at..].find(['{', '}']) {
            literal.push_str(&text[at..at + found]);
            at += found;
            let rest = &text[at..];
            if rest.starts_with("{{") || rest.starts_with("}}") {
                literal.push_str(&rest[..1]);
                at += 2;
                continue;
            }
            let (reference, length) = placeholder(rest).map_err(|reason| InvalidTemplate { at, reason })?;
            if !literal.is_empty() {
                pieces.push(TemplatePiece::Text(std::mem::take(&mut literal)));
            }
            pieces.push(TemplatePiece::Value(reference, ByteOffset(at)));
            at += length;
        }
        literal.push_str(&text[at..]);
        if !literal.is_empty() {
            pieces.push(TemplatePiece::Text(literal));
        }
        Ok(Self { pieces })
    }

    /// The template that says exactly this, braces and all.
    pub fn literal(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { pieces: if text.is_empty() { Vec::new() } else { vec![TemplatePiece::Text(text)] } }
    }

    /// What it refers to, in order, and where.
    pub fn references(&self) -> impl Iterator<Item = (&ValueReference, ByteOffset)> {
        self.pieces.iter().filter_map(|piece| match piece {
            TemplatePiece::Value(reference, at) => Some((reference, *at)),
            TemplatePiece::Text(_) => None,
        })
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
        self.references().next().is_none()
    }

    /// The text with every placeholder replaced, in one pass.
    pub fn fill<'v>(&self, lookup: &dyn Fn(&ValueReference) -> Cow<'v, Json>) -> String {
        self.fill_text(lookup).text
    }

    /// The same, with the parts that are no values.
    pub fn fill_text<'v>(&self, lookup: &dyn Fn(&ValueReference) -> Cow<'v, Json>) -> FilledText {
        let mut filled = FilledText::default();
        for piece in &self.pieces {
            match piece {
                TemplatePiece::Text(literal) => {
                    let start = filled.text.len();
                    filled.text.push_str(literal);
                    filled.authored.push(TextSpan(start, filled.text.len()));
                }
                TemplatePiece::Value(reference, _) => filled.text.push_str(&value_text(&lookup(reference))),
            }
        }
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

/// The reference at the start of `rest`, which begins with a brace, and how many bytes it takes.
fn placeholder(rest: &str) -> Result<(ValueReference, usize), String> {
    if rest.starts_with('}') {
        return Err("a lone `}`; write `}}` for the brace itself".into());
    }
    let inside = &rest[1..];
    let end = inside.find(|c: char| !is_name_char(c) && c != '.').unwrap_or(inside.len());
    if !inside[end..].starts_with('}') {
        return Err("a `{` that begins no `{name}`; write `{{` for the brace itself".into());
    }
    Ok((ValueReference::parse(&inside[..end])?, end + 2))
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.pieces {
            match piece {
                TemplatePiece::Text(text) => f.write_str(&text.replace('{', "{{").replace('}', "}}"))?,
                TemplatePiece::Value(reference, _) => write!(f, "{{{reference}}}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn placeholders_are_found_with_their_places_and_doubled_braces_are_braces() {
        let template = Template::parse("a {x} {{y}} {steps.s-1.result.f} {params.p} {o.f}").unwrap();
        let found: Vec<_> = template.references().map(|(reference, at)| (reference.to_string(), at.0)).collect();
        let expected = [("x", 2), ("steps.s-1.result.f", 12), ("params.p", 33), ("o.f", 44)];
        assert_eq!(found, expected.map(|(name, at)| (name.to_owned(), at)));
        let filled = template.fill(&|reference| Cow::Owned(json!(format!("<{reference}>"))));
        assert_eq!(filled, "a <x> {y} <steps.s-1.result.f> <params.p> <o.f>");
    }

    #[test]
    fn what_is_no_placeholder_is_refused_where_it_stands() {
        for (text, at) in [("a } b", 2), ("x {", 2), ("{a b}", 0), ("{}", 0), ("{params.}", 0), ("{a.b.c}", 0)] {
            assert_eq!(Template::parse(text).unwrap_err().at, at, "{text}");
        }
    }

    #[test]
    fn a_sole_placeholder_keeps_the_type_of_its_value() {
        let sole = Template::parse("{n}").unwrap();
        assert_eq!(sole.value(&|_| Cow::Owned(json!([1, 2]))), json!([1, 2]));
        assert_eq!(Template::parse("n {n}").unwrap().value(&|_| Cow::Owned(json!(3))), json!("n 3"));
    }

    proptest! {
        #[test]
        fn printing_and_parsing_again_is_the_same(text in "[a-c{}. ]{0,24}") {
            if let Ok(template) = Template::parse(&text) {
                prop_assert_eq!(&Template::parse(&template.to_string()).unwrap(), &template);
            }
        }

        #[test]
        fn what_a_value_holds_is_never_expanded(value in "[a-c{}.$ ]{0,24}") {
            let template = Template::parse("<{a}|{a}>").unwrap();
            let filled = template.fill(&|_| Cow::Owned(Json::String(value.clone())));
            prop_assert_eq!(filled, format!("<{value}|{value}>"));
        }

        #[test]
        fn a_literal_says_exactly_its_text(text in any::<String>()) {
            let template = Template::literal(text.clone());
            prop_assert_eq!(template.fill(&|_| Cow::Owned(Json::Null)), text);
            prop_assert_eq!(Template::parse(&template.to_string()).unwrap(), template);
        }
    }
}
