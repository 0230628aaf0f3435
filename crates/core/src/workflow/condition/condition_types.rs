//! Type check of a condition.

use super::{CompareOp, Condition, Literal, Operand};
use crate::closest_word;
use crate::workflow::name::Name;
use crate::workflow::template::ValueReference;
use crate::workflow::value_type::{ResultField, ValueType};

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

fn is_number(kind: &ValueType) -> bool {
    matches!(kind, ValueType::Int | ValueType::Number)
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
                if let Some(kind @ (ValueType::Int | ValueType::Number | ValueType::Bool)) = self.operand(a) {
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
            _ if is_number(&left) && is_number(&right) => {}
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
            (left, right) if left.word() == right.word() || (is_number(left) && is_number(right)) => {}
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
                if let Some(kind @ (ValueType::Int | ValueType::Number | ValueType::Bool | ValueType::Object(_))) =
                    self.operand(of)
                {
                    self.fault(of, format!("{} has no length", kind.describe()), "`length` counts a text or a list");
                }
                Some(ValueType::Int)
            }
            Operand::Item(of, ..) => match self.operand(of)? {
                ValueType::List(fields) if fields.is_empty() => None,
                ValueType::List(fields) => Some(ValueType::Object(fields)),
                kind => {
                    self.fault(of, format!("{} has no items", kind.describe()), "only a list has items");
                    None
                }
            },
            Operand::Field(of, field, _) => match self.operand(of)? {
                ValueType::Object(fields) if !fields.is_empty() => self.field(operand, &fields, field),
                ValueType::Object(_) => None,
                kind => {
                    self.fault(operand, format!("{} has no fields", kind.describe()), "only an object has fields");
                    None
                }
            },
            Operand::Count(of, field, wanted, _) => {
                self.counted(operand, of, field, wanted);
                Some(ValueType::Int)
            }
            Operand::Arithmetic(a, op, b) => {
                for operand in [a, b] {
                    if let Some(kind) = self.operand(operand).filter(|kind| *kind != ValueType::Int) {
                        let message = format!("{} is no number for `{}`", kind.describe(), op.sign());
                        self.fault(operand, message, "only numbers are counted with; `length(x)` is one");
                    }
                }
                Some(ValueType::Int)
            }
        }
    }

    /// The type of a declared field.
    fn field(&mut self, operand: &Operand, fields: &[ResultField], name: &Name) -> Option<ValueType> {
        let found = fields.iter().find(|field| field.name == *name).map(|field| field.kind.clone());
        if found.is_none() {
            let known: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
            let help = match closest_word::closest(name.as_str(), known.iter().copied()) {
                Some(close) => format!("did you mean `{close}`?"),
                None => format!("it has {}", known.join(", ")),
            };
            self.faults.push(TypeFault { at: operand.at(), message: format!("there is no field `{name}`"), help });
        }
        found
    }

    fn counted(&mut self, operand: &Operand, of: &Operand, field: &Name, wanted: &Literal) {
        let fields = match self.operand(of) {
            Some(ValueType::List(fields)) if !fields.is_empty() => fields,
            Some(ValueType::List(_)) | None => return,
            Some(kind) => {
                return self.fault(of, format!("{} has no items", kind.describe()), "`count` counts items of a list");
            }
        };
        match (self.field(operand, &fields, field), wanted) {
            (Some(ValueType::Enum(values)), Literal::Text(text)) => self.one_of(&values, text, operand.at()),
            (Some(ValueType::Text | ValueType::Path), Literal::Text(_))
            | (Some(ValueType::Int), Literal::Int(_))
            | (Some(ValueType::Bool), Literal::Bool(_))
            | (None, _) => {}
            (Some(kind), wanted) => {
                let message = format!("`{field}` is {} and never {wanted}", kind.describe());
                self.fault(operand, message, "compare values of one type");
            }
        }
    }

    fn fault(&mut self, operand: &Operand, message: String, help: &str) {
        self.faults.push(TypeFault { at: operand.at(), message, help: help.into() });
    }
}
