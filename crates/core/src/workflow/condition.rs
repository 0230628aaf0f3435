//! Conditions: a small typed language of yes and no.
//!
//! A small typed grammar: names, literals, comparisons, `in`, `and or not`, `is empty`, parentheses; items of lists
//! (`x[0].field`), arithmetic, `length(x)`, `first(x)`, `last(x)` and `count(x, field, 'value')`. It is parsed and type-checked
//! when a workflow is loaded, so that holding or not is all that is left to ask.

mod condition_parser;
mod condition_types;
mod operand;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use serde_json::Value as Json;

pub use condition_types::{TypeFault, check_types};
pub use operand::{ArithmeticOp, Literal, Operand};

use super::template::{ByteOffset, ValueReference};

/// Something that holds or does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// One of two holds.
    Or(Box<Condition>, Box<Condition>),
    /// Both hold.
    And(Box<Condition>, Box<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
    /// Two values stand in a relation.
    Compare(Operand, CompareOp, Operand),
    /// A value is in a list.
    In(Operand, Operand),
    /// A text, list or object has nothing in it.
    Empty(Operand),
    /// A truth value is true.
    Truth(Operand),
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompareOp {
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

/// Why a text is no condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidCondition {
    /// Where, in bytes.
    pub at: usize,
    /// What is wrong.
    pub reason: String,
}

impl Condition {
    /// The condition with this text.
    pub fn parse(text: &str) -> Result<Self, InvalidCondition> {
        condition_parser::parse_condition(text)
    }

    /// Whether it holds. Values of another type than was checked make comparisons false rather than fail.
    pub fn holds<'v>(&self, lookup: &dyn Fn(&ValueReference) -> Cow<'v, Json>) -> bool {
        match self {
            Self::Or(a, b) => a.holds(lookup) || b.holds(lookup),
            Self::And(a, b) => a.holds(lookup) && b.holds(lookup),
            Self::Not(a) => !a.holds(lookup),
            Self::Compare(a, relation, b) => relation.compare(&a.value(lookup), &b.value(lookup)),
            Self::In(a, b) => match b.value(lookup).as_ref() {
                Json::Array(items) => items.contains(&a.value(lookup)),
                _ => false,
            },
            Self::Empty(a) => is_empty(&a.value(lookup)),
            Self::Truth(a) => *a.value(lookup) == Json::Bool(true),
        }
    }

    /// What it refers to, and where.
    pub fn references(&self) -> Vec<(&ValueReference, ByteOffset)> {
        match self {
            Self::Or(a, b) | Self::And(a, b) => [a.references(), b.references()].concat(),
            Self::Not(a) => a.references(),
            Self::Compare(a, _, b) | Self::In(a, b) => [a.references(), b.references()].concat(),
            Self::Empty(a) | Self::Truth(a) => a.references(),
        }
    }
}

/// How two numbers compare: whole ones exactly, others as they are stored.
fn numeric_order(a: &Json, b: &Json) -> Option<Ordering> {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

impl CompareOp {
    fn compare(self, a: &Json, b: &Json) -> bool {
        let order = numeric_order(a, b);
        match self {
            Self::Equal => order == Some(Ordering::Equal) || a == b,
            Self::Unequal => order != Some(Ordering::Equal) && a != b,
            Self::Less => order.is_some_and(Ordering::is_lt),
            Self::AtMost => order.is_some_and(Ordering::is_le),
            Self::Greater => order.is_some_and(Ordering::is_gt),
            Self::AtLeast => order.is_some_and(Ordering::is_ge),
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::Unequal => "!=",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
        }
    }
}

fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(map) => map.is_empty(),
        Json::Bool(_) | Json::Number(_) => false,
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Or(a, b) => write!(f, "({a} or {b})"),
            Self::And(a, b) => write!(f, "({a} and {b})"),
            Self::Not(a) => write!(f, "not ({a})"),
            Self::Compare(a, relation, b) => write!(f, "{a} {} {b}", relation.sign()),
            Self::In(a, b) => write!(f, "{a} in {b}"),
            Self::Empty(a) => write!(f, "{a} is empty"),
            Self::Truth(a) => write!(f, "{a}"),
        }
    }
}
