//! Values in conditions: names, written values, arithmetic and functions of lists. Evaluation is total: what has no value,
//! such as an item that a list does not have, is nothing, and nothing equals no value.

use std::borrow::Cow;
use std::fmt;

use serde_json::Value as Json;

use crate::workflow::name::Name;
use crate::workflow::template::{ByteOffset, ValueReference};

/// A value in a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operand {
    /// What a name holds.
    Value(ValueReference, ByteOffset),
    /// What is written.
    Literal(Literal, ByteOffset),
    /// A written list.
    List(Vec<(Literal, ByteOffset)>, ByteOffset),
    /// How many characters or items there are.
    Length(Box<Operand>, ByteOffset),
    /// One item of a list, counted from 0, or from the end with a negative number.
    Item(Box<Operand>, i64, ByteOffset),
    /// A field of an item.
    Field(Box<Operand>, Name, ByteOffset),
    /// How many items of a list have this value in a field.
    Count(Box<Operand>, Name, Literal, ByteOffset),
    /// Two numbers together.
    Arithmetic(Box<Operand>, ArithmeticOp, Box<Operand>),
}

/// How two numbers are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArithmeticOp {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`, without the remainder.
    Divide,
    /// `%`, the remainder.
    Remainder,
}

impl ArithmeticOp {
    /// How it is written.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }

    /// The result; nothing where there is none, as of a division by 0.
    fn apply(self, a: i64, b: i64) -> Option<i64> {
        match self {
            Self::Add => a.checked_add(b),
            Self::Subtract => a.checked_sub(b),
            Self::Multiply => a.checked_mul(b),
            Self::Divide => a.checked_div(b),
            Self::Remainder => a.checked_rem(b),
        }
    }
}

/// A written value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// Text in quotes.
    Text(String),
    /// A whole number.
    Int(i64),
    /// `true` or `false`.
    Bool(bool),
}

impl Operand {
    pub(super) fn value<'v>(&self, lookup: &dyn Fn(&ValueReference) -> Cow<'v, Json>) -> Cow<'v, Json> {
        match self {
            Self::Value(reference, _) => lookup(reference),
            Self::Literal(literal, _) => Cow::Owned(literal.to_json()),
            Self::List(items, _) => Cow::Owned(items.iter().map(|(item, _)| item.to_json()).collect()),
            Self::Length(of, _) => Cow::Owned(Json::from(match of.value(lookup).as_ref() {
                Json::String(text) => text.chars().count(),
                Json::Array(items) => items.len(),
                _ => 0,
            })),
            Self::Item(of, index, _) => Cow::Owned(item(&of.value(lookup), *index).cloned().unwrap_or(Json::Null)),
            Self::Field(of, field, _) => {
                Cow::Owned(of.value(lookup).get(field.as_str()).cloned().unwrap_or(Json::Null))
            }
            Self::Count(of, field, wanted, _) => {
                let (list, wanted) = (of.value(lookup), wanted.to_json());
                let items = list.as_array().map_or(&[][..], Vec::as_slice);
                let found = items.iter().filter(|item| item.get(field.as_str()) == Some(&wanted)).count();
                Cow::Owned(Json::from(found))
            }
            Self::Arithmetic(a, op, b) => {
                let numbers = a.value(lookup).as_i64().zip(b.value(lookup).as_i64());
                let result = numbers.and_then(|(a, b)| op.apply(a, b));
                Cow::Owned(result.map_or(Json::Null, Json::from))
            }
        }
    }

    /// What it refers to, and where.
    pub(in crate::workflow) fn references(&self) -> Vec<(&ValueReference, ByteOffset)> {
        match self {
            Self::Value(reference, at) => vec![(reference, *at)],
            Self::Length(of, _) | Self::Item(of, ..) | Self::Field(of, ..) | Self::Count(of, ..) => of.references(),
            Self::Arithmetic(a, _, b) => [a.references(), b.references()].concat(),
            Self::Literal(..) | Self::List(..) => Vec::new(),
        }
    }

    /// Where it stands.
    pub(in crate::workflow) fn at(&self) -> usize {
        match self {
            Self::Value(_, at)
            | Self::Literal(_, at)
            | Self::List(_, at)
            | Self::Length(_, at)
            | Self::Item(.., at)
            | Self::Field(.., at)
            | Self::Count(.., at) => at.0,
            Self::Arithmetic(a, ..) => a.at(),
        }
    }
}

/// An item of a list, counted from 0, or from the end with a negative number.
fn item(list: &Json, index: i64) -> Option<&Json> {
    let items = list.as_array()?;
    let from_end = || items.len().checked_sub(usize::try_from(index.unsigned_abs()).ok()?);
    let index = if index < 0 { from_end() } else { usize::try_from(index).ok() };
    items.get(index?)
}

impl Literal {
    pub(super) fn to_json(&self) -> Json {
        match self {
            Self::Text(text) => Json::String(text.clone()),
            Self::Int(number) => Json::from(*number),
            Self::Bool(flag) => Json::Bool(*flag),
        }
    }
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(reference, _) => write!(f, "{reference}"),
            Self::Literal(literal, _) => write!(f, "{literal}"),
            Self::List(items, _) => {
                let items: Vec<String> = items.iter().map(|(item, _)| item.to_string()).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Self::Length(of, _) => write!(f, "length({of})"),
            Self::Item(of, index, _) => write!(f, "{of}[{index}]"),
            Self::Field(of, field, _) => write!(f, "{of}.{field}"),
            Self::Count(of, field, wanted, _) => write!(f, "count({of}, {field}, {wanted})"),
            Self::Arithmetic(a, op, b) => write!(f, "{a} {} {b}", op.sign()),
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
            Self::Int(number) => write!(f, "{number}"),
            Self::Bool(flag) => write!(f, "{flag}"),
        }
    }
}
