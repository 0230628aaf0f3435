//! Type check of a condition.

use super::{CompareOp, Condition, Literal, Operand};
use crate::closest_word;
use crate::workflow::template::ValueReference;
use crate::workflow::value_type::ValueType;

/// A mismatch of types, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeFault {
    /// Where, in bytes.
    pub at: usize,
    /// What does not fit.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// What is wrong with the types of `condition`. A name that `type_of` does not know is passed over: that it is unknown
/// is said elsewhere, once.
pub fn check_types(condition: &Condition, type_of: &dyn Fn(&ValueReference) -> Option<ValueType>) -> Vec<TypeFault> {
    let mut faults = Vec::new();
    ConditionChecker { type_of, faults: &mut faults }.condition(condition);
    faults
}

struct ConditionChecker<'a> {
    type_of: &'a dyn Fn(&ValueReference) -> Option<ValueType>,
    faults: &'a mut Vec<TypeFault>,
}

impl ConditionChecker<'_> {
    fn condition(&mut self, condition: &Condition) {
        match condition {
            Condition::Or(a, b) | Condition::And(a, b) => {
                self.condition(a);
                self.condition(b);
            }
            Condition::Not(a) => self.condition(a),
            Condition::Compare(a, relation, b) => self.compare(a, *relation, b),
            Condition::In(a, b) => self.within(a, b),
            Condition::Empty(a) => {
                if let Some(kind @ (ValueType::Int | ValueType::Bool)) = self.operand(a) {
                    self.fault(a, format!("{} is never empty", kind.describe()), "compare it with a value instead");
                }
            }
            Condition::Truth(a) => {
                if let Some(kind) = self.operand(a).filter(|kind| *kind != ValueType::Bool) {
                    let message = format!("{} is not a condition by itself", kind.describe());
                    self.fault(a, message, "compare it, or ask `is empty`");
                }
            }
        }
    }

    fn compare(&mut self, a: &Operand, relation: CompareOp, b: &Operand) {
        let (Some(left), Some(right)) = (self.operand(a), self.operand(b)) else { return };
        match relation {
            CompareOp::Equal | CompareOp::Unequal => self.same(a, &left, b, &right),
            _ if left == ValueType::Int && right == ValueType::Int => {}
            _ => {
                let message = format!("{} and {} have no order", left.describe(), right.describe());
                self.fault(a, message, "only numbers are compared with `<`, `<=`, `>`, `>=`");
            }
        }
    }

    fn same(&mut self, a: &Operand, left: &ValueType, b: &Operand, right: &ValueType) {
        match (left, right) {
            (ValueType::Enum(values), ValueType::Text) => self.is_value(values, b),
            (ValueType::Text, ValueType::Enum(values)) => self.is_value(values, a),
            (ValueType::Text | ValueType::Path, ValueType::Text | ValueType::Path) => {}
            (left, right) if left.word() == right.word() => {}
            (left, right) => {
                let message = format!("{} never equals {}", left.describe(), right.describe());
                self.fault(b, message, "compare values of one type");
            }
        }
    }

    fn is_value(&mut self, values: &[String], written: &Operand) {
        if let Operand::Literal(Literal::Text(text), _) = written {
            self.one_of(values, text, written.at());
        }
    }

    fn one_of(&mut self, values: &[String], text: &str, at: usize) {
        if values.iter().any(|value| value == text) {
            return;
        }
        let help = match closest_word::closest(text, values.iter().map(String::as_str)) {
            Some(close) => format!("did you mean '{close}'?"),
            None => format!("it can be {}", values.join(", ")),
        };
        self.faults.push(TypeFault { at, message: format!("'{text}' is none of the values"), help });
    }

    fn within(&mut self, a: &Operand, b: &Operand) {
        let (left, right) = (self.operand(a), self.operand(b));
        if let Some(kind) = right.filter(|kind| !matches!(kind, ValueType::List(_))) {
            self.fault(b, format!("{} holds no items", kind.describe()), "`in` asks a list: `x in ['a', 'b']`");
        }
        if let (Some(ValueType::Enum(values)), Operand::List(items, _)) = (left, b) {
            for (item, at) in items {
                match item {
                    Literal::Text(text) => self.one_of(&values, text, at.0),
                    Literal::Int(_) | Literal::Bool(_) => self.one_of(&values, &item.to_string(), at.0),
                }
            }
        }
    }

    /// The type of an operand; none when the name is not declared.
    fn operand(&mut self, operand: &Operand) -> Option<ValueType> {
        match operand {
            Operand::Value(reference, _) => (self.type_of)(reference),
            Operand::Literal(Literal::Text(_), _) => Some(ValueType::Text),
            Operand::Literal(Literal::Int(_), _) => Some(ValueType::Int),
            Operand::Literal(Literal::Bool(_), _) => Some(ValueType::Bool),
            Operand::List(..) => Some(ValueType::List(Vec::new())),
            Operand::Length(of, _) => {
                if let Some(kind @ (ValueType::Int | ValueType::Bool | ValueType::Object(_))) = self.operand(of) {
                    self.fault(of, format!("{} has no length", kind.describe()), "`length` counts a text or a list");
                }
                Some(ValueType::Int)
            }
        }
    }

    fn fault(&mut self, operand: &Operand, message: String, help: &str) {
        self.faults.push(TypeFault { at: operand.at(), message, help: help.into() });
    }
}
