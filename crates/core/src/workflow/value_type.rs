//! Types of values, and the check that is made whenever something is written.

use serde_json::{Map, Value as Json};

use super::name::Name;
use super::text_pattern::TextPattern;
use crate::excerpt::ellipsize;

/// How many bytes a value may have unless its declaration says otherwise.
pub const MAX_VALUE: usize = 4 * 1024;
/// How many bytes of a command's output are stored.
pub const MAX_OUTPUT: usize = 64 * 1024;

/// The type of a parameter, a variable or a field of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueType {
    /// Text.
    Text,
    /// A whole number.
    Int,
    /// Any number.
    Number,
    /// True or false.
    Bool,
    /// One of these words.
    Enum(Vec<String>),
    /// Any number of values. Each has these fields; without any, they may be anything.
    List(Vec<ResultField>),
    /// A path inside the workspace.
    Path,
    /// Named values. Only declared fields can be read; an object without any is passed on as a whole.
    Object(Vec<ResultField>),
}

/// One named value of a result or an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultField {
    /// Its name.
    pub name: Name,
    /// What it holds.
    pub kind: ValueType,
    /// Whether each visit adds to the list of the one before.
    pub append: bool,
    /// How many bytes it may have.
    pub max_length: usize,
    /// What else a value must keep to.
    pub limits: ValueLimits,
    /// Its value where none is given.
    pub default: Option<Json>,
    /// What it means.
    pub description: Option<String>,
}

impl ResultField {
    /// A field that only has a type, if that is a name.
    pub(super) fn plain(name: &str, kind: ValueType) -> Option<Self> {
        let (limits, max_length) = (ValueLimits::default(), MAX_OUTPUT);
        let name = Name::parse(name).ok()?;
        Some(Self { name, kind, append: false, max_length, limits, default: None, description: None })
    }

    /// The value as this field's, or why it is none.
    pub fn admit(&self, value: Json) -> Result<Json, InvalidValue> {
        let size = if value.is_array() { self.limits.check_size(&value) } else { Ok(()) };
        match (self.kind.admit(value, self.max_length), size) {
            (Ok(value), _) => self.limits.check(value),
            (Err(items), Err(size)) => Err(InvalidValue(format!("{size}; {items}"))),
            (Err(unfit), Ok(())) => Err(unfit),
        }
    }
}

/// What a value must keep to beside its type.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ValueLimits {
    /// What a text must look like.
    pub pattern: Option<TextPattern>,
    /// The least a number may be, or how many characters or items there are at least.
    pub min: Option<i64>,
    /// The most.
    pub max: Option<i64>,
}

impl ValueLimits {
    /// A value of the right type, if it keeps to the limits.
    pub fn check(&self, value: Json) -> Result<Json, InvalidValue> {
        self.check_size(&value)?;
        self.check_pattern(value)
    }

    fn check_size(&self, value: &Json) -> Result<(), InvalidValue> {
        if let Some(number) = value.as_number().filter(|number| !number.is_i64()).and_then(serde_json::Number::as_f64) {
            return self.check_fraction(number);
        }
        let (size, unit) = match value {
            Json::Number(number) => (number.as_i64(), ""),
            Json::String(text) => (i64::try_from(text.chars().count()).ok(), " characters"),
            Json::Array(items) => (i64::try_from(items.len()).ok(), " items"),
            _ => (None, ""),
        };
        if let (Some(size), Some(least)) = (size, self.min)
            && size < least
        {
            return Err(InvalidValue(format!("{size}{unit} is too little: the least is {least}")));
        }
        if let (Some(size), Some(most)) = (size, self.max)
            && size > most
        {
            return Err(InvalidValue(format!("{size}{unit} is too much: the most is {most}")));
        }
        Ok(())
    }

    #[allow(
        clippy::cast_precision_loss,
        reason = "bounds that people write are far smaller than what a float holds exactly"
    )]
    fn check_fraction(&self, number: f64) -> Result<(), InvalidValue> {
        match (self.min, self.max) {
            (Some(least), _) if number < least as f64 => {
                Err(InvalidValue(format!("{number} is too little: the least is {least}")))
            }
            (_, Some(most)) if number > most as f64 => {
                Err(InvalidValue(format!("{number} is too much: the most is {most}")))
            }
            _ => Ok(()),
        }
    }

    fn check_pattern(&self, value: Json) -> Result<Json, InvalidValue> {
        let Some(pattern) = &self.pattern else { return Ok(value) };
        // Of a list, each item must look so; all that do not are named at once.
        let texts = value.as_array().map_or(std::slice::from_ref(&value), Vec::as_slice);
        let other = |text: &&Json| !text.as_str().is_some_and(|text| pattern.matches(text));
        let others: Vec<&Json> = texts.iter().filter(other).collect();
        if others.is_empty() {
            return Ok(value);
        }
        let is_one = others.len() == 1;
        let is_text = others.iter().any(|other| other.is_string());
        let others: Vec<String> = others.into_iter().map(show).collect();
        if !is_text {
            let kind = if is_one { "is not a string" } else { "are not strings" };
            return Err(InvalidValue(format!("{} {kind}", others.join(", "))));
        }
        let verb = if is_one { "does" } else { "do" };
        Err(InvalidValue(format!("{} {verb} not look like `{}`", others.join(", "), pattern.as_str())))
    }

    /// No limits at all, also not within.
    pub(super) fn remove(kind: &mut ValueType) -> Self {
        if let ValueType::Object(fields) | ValueType::List(fields) = kind {
            for field in fields {
                field.limits = Self::remove(&mut field.kind);
            }
        }
        Self::default()
    }
}

/// Why a value may not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidValue(pub String);

impl ValueType {
    /// The words a declaration may use.
    pub const WORDS: [&'static str; 8] = ["string", "int", "number", "bool", "enum", "list", "path", "object"];

    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Int => "int",
            Self::Number => "number",
            Self::Bool => "bool",
            Self::Enum(_) => "enum",
            Self::List(_) => "list",
            Self::Path => "path",
            Self::Object(_) => "object",
        }
    }

    /// The word for it with its article, for a message.
    pub fn describe(&self) -> String {
        let article = if matches!(self, Self::Int | Self::Enum(_) | Self::Object(_)) { "an" } else { "a" };
        format!("{article} {}", self.word())
    }

    /// What a variable reads as before anything was written to it.
    pub fn empty(&self) -> Json {
        match self {
            Self::Text | Self::Enum(_) | Self::Path => Json::String(String::new()),
            Self::Int | Self::Number => Json::from(0),
            Self::Bool => Json::Bool(false),
            Self::List(_) => Json::Array(Vec::new()),
            Self::Object(_) => Json::Object(Map::new()),
        }
    }

    /// The value as this type, or why it is none. Text that spells a number or a truth value is taken as one, since
    /// a command line knows only text.
    pub fn admit(&self, value: Json, max_length: usize) -> Result<Json, InvalidValue> {
        let size = match &value {
            Json::String(text) => text.len(),
            other => other.to_string().len(),
        };
        if size > max_length {
            return Err(InvalidValue(format!("it has {size} bytes, and {max_length} are allowed")));
        }
        match (self, value) {
            (Self::Text, Json::String(text)) => Ok(Json::String(text)),
            (Self::Text, value @ (Json::Number(_) | Json::Bool(_))) => Ok(Json::String(value.to_string())),
            (Self::Int, Json::Number(number)) if number.is_i64() => Ok(Json::Number(number)),
            (Self::Int, Json::String(text)) => {
                text.trim().parse::<i64>().map(Json::from).map_err(|_| self.not(&Json::String(text)))
            }
            (Self::Number, Json::Number(number)) => Ok(Json::Number(number)),
            (Self::Number, Json::String(text)) => {
                let number = text.trim().parse::<i64>().map(Json::from);
                // What is no finite number has no spelling in JSON.
                let number = number.or_else(|_| text.trim().parse::<f64>().map(Json::from));
                number.ok().filter(Json::is_number).ok_or_else(|| self.not(&Json::String(text)))
            }
            (Self::Bool, Json::Bool(flag)) => Ok(Json::Bool(flag)),
            (Self::Bool, Json::String(text)) => match text.trim() {
                "true" => Ok(Json::Bool(true)),
                "false" => Ok(Json::Bool(false)),
                _ => Err(self.not(&Json::String(text))),
            },
            (Self::Enum(values), value) => match value.as_str().and_then(|said| enum_word(values, said)) {
                Some(word) => Ok(Json::String(word.to_owned())),
                None => Err(InvalidValue(format!("{} is none of {}", show(&value), values.join(", ")))),
            },
            (Self::List(fields), Json::Array(items)) => admit_items(fields, items).map(Json::Array),
            (Self::Path, Json::String(text)) => inside(text),
            (Self::Object(fields), Json::Object(map)) => declared_only(fields, map).map(Json::Object),
            // Models often write what is within an argument as a text.
            (Self::List(_) | Self::Object(_), Json::String(text)) => match serde_json::from_str(&text) {
                Ok(within @ (Json::Array(_) | Json::Object(_))) => self.admit(within, max_length),
                _ => Err(self.not(&Json::String(text))),
            },
            (_, value) => Err(self.not(&value)),
        }
    }

    fn not(&self, value: &Json) -> InvalidValue {
        let how = match (self, value) {
            (Self::List(_), Json::String(_)) => "; a list is written [\"a\", \"b\"]",
            _ => "",
        };
        InvalidValue(format!("{} is not {}{how}", show(value), self.describe()))
    }
}

/// The value that a word means: as it is written, or the only one that differs in nothing but case.
fn enum_word<'v>(values: &'v [String], said: &str) -> Option<&'v str> {
    let exact = values.iter().find(|value| *value == said);
    let mut loose = values.iter().filter(|value| value.eq_ignore_ascii_case(said.trim()));
    let only = || loose.next().filter(|_| loose.next().is_none());
    exact.or_else(only).map(String::as_str)
}

/// The items of a list, each with its declared fields. Every mistake in every item is reported.
fn admit_items(fields: &[ResultField], items: Vec<Json>) -> Result<Vec<Json>, InvalidValue> {
    if fields.is_empty() {
        return Ok(items);
    }
    let (mut admitted, mut faults) = (Vec::new(), Vec::new());
    for (index, item) in items.into_iter().enumerate() {
        let item = match item {
            Json::Object(map) => declared_only(fields, map),
            other => Err(InvalidValue(format!("{} is not an object", show(&other)))),
        };
        match item {
            Ok(map) => admitted.push(Json::Object(map)),
            Err(unfit) => faults.push(format!("item {}: {unfit}", index + 1)),
        }
    }
    if faults.is_empty() { Ok(admitted) } else { Err(InvalidValue(faults.join("; "))) }
}

/// The declared fields of an object. What else it holds was not asked for: a program prints what it prints.
fn declared_only(fields: &[ResultField], mut map: Map<String, Json>) -> Result<Map<String, Json>, InvalidValue> {
    if !fields.is_empty() {
        map.retain(|key, _| fields.iter().any(|field| field.name.as_str() == key));
    }
    admit_fields(fields, map)
}

/// The values of declared fields. A field that is unknown, or missing and without a default, is refused, so that a
/// result can be relied on.
pub fn admit_fields(fields: &[ResultField], mut map: Map<String, Json>) -> Result<Map<String, Json>, InvalidValue> {
    if fields.is_empty() {
        return Ok(map);
    }
    let (mut admitted, mut faults) = (Map::new(), Vec::new());
    for field in fields {
        // What need not be said may be said to be nothing.
        let given = map.remove(field.name.as_str()).filter(|value| !value.is_null() || field.default.is_none());
        match given.map(|value| field.admit(value)) {
            Some(Ok(value)) => {
                admitted.insert(field.name.to_string(), value);
            }
            Some(Err(unfit)) => faults.push(format!("`{}`: {unfit}", field.name)),
            None => match &field.default {
                Some(usual) => {
                    admitted.insert(field.name.to_string(), usual.clone());
                }
                None => faults.push(format!("`{}` is missing", field.name)),
            },
        }
    }
    faults.extend(map.keys().map(|unknown| format!("`{unknown}` is not declared")));
    if faults.is_empty() { Ok(admitted) } else { Err(InvalidValue(faults.join("; "))) }
}

/// A path that cannot leave the workspace by its spelling; the code that opens it checks where links lead.
fn inside(text: String) -> Result<Json, InvalidValue> {
    let leaves = text.starts_with('/') || text.split('/').any(|part| part == "..") || text.contains('\0');
    if leaves { Err(InvalidValue(format!("`{text}` leads out of the workspace"))) } else { Ok(Json::String(text)) }
}

/// A value as it stands in a text: text as it is, simple lists with commas, everything else as JSON.
pub fn value_text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        Json::Array(items) if items.iter().all(|item| !item.is_array() && !item.is_object()) => {
            items.iter().map(value_text).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// A value as it stands in a message: short, and never more than one line.
fn show(value: &Json) -> String {
    ellipsize(&value.to_string(), 40)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_taken_as_its_type_or_refused_with_the_reason() {
        let colour = ValueType::Enum(vec!["red".into(), "blue".into()]);
        assert_eq!(ValueType::Int.admit(json!("7"), 10), Ok(json!(7)));
        assert_eq!(ValueType::Bool.admit(json!("true"), 10), Ok(json!(true)));
        assert_eq!(colour.admit(json!("red"), 10), Ok(json!("red")));
        assert_eq!(colour.admit(json!("green"), 10), Err(InvalidValue("\"green\" is none of red, blue".into())));
        assert_eq!(ValueType::Int.admit(json!(1.5), 10), Err(InvalidValue("1.5 is not an int".into())));
        assert_eq!(ValueType::Number.admit(json!("1.5"), 10), Ok(json!(1.5)));
        assert_eq!(ValueType::Number.admit(json!("-7"), 10), Ok(json!(-7)));
        assert!(ValueType::Number.admit(json!("inf"), 10).is_err());
        assert_eq!(
            ValueType::Text.admit(json!("long"), 3),
            Err(InvalidValue("it has 4 bytes, and 3 are allowed".into()))
        );
    }

    #[test]
    fn a_list_or_an_object_may_be_given_as_the_text_of_one() {
        let list = ValueType::List(Vec::new());
        assert_eq!(list.admit(json!("[1, \"a\"]"), 99), Ok(json!([1, "a"])));
        assert_eq!(ValueType::Object(Vec::new()).admit(json!("{\"a\": 1}"), 99), Ok(json!({"a": 1})));
        let refused = |value| list.admit(value, 99).unwrap_err().0;
        assert_eq!(refused(json!("a, b")), "\"a, b\" is not a list; a list is written [\"a\", \"b\"]");
        assert!(refused(json!("{}")).ends_with("is not a list"), "an object is none");
    }

    #[test]
    fn items_that_must_be_texts_are_named_as_what_they_are() {
        let pattern = Some(TextPattern::parse(".+").unwrap_or_else(|bad| panic!("{}", bad.reason)));
        let limits = ValueLimits { pattern, ..ValueLimits::default() };
        assert_eq!(limits.check(json!(["a"])), Ok(json!(["a"])));
        assert_eq!(limits.check(json!([{"id": 1}])), Err(InvalidValue("{\"id\":1} is not a string".into())));
    }

    #[test]
    fn a_fraction_keeps_to_the_least_and_the_most() {
        let limits = ValueLimits { min: Some(0), max: Some(1), ..ValueLimits::default() };
        assert_eq!(limits.check(json!(0.5)), Ok(json!(0.5)));
        assert_eq!(limits.check(json!(1.5)), Err(InvalidValue("1.5 is too much: the most is 1".into())));
        assert_eq!(limits.check(json!(-0.5)), Err(InvalidValue("-0.5 is too little: the least is 0".into())));
    }

    #[test]
    fn a_path_stays_inside() {
        assert!(ValueType::Path.admit(json!("a/b.md"), 99).is_ok());
        for path in ["/etc/passwd", "../x", "a/../../b", "a\0b"] {
            assert!(ValueType::Path.admit(json!(path), 99).is_err(), "{path}");
        }
    }

    #[test]
    fn an_object_has_its_declared_fields_and_a_result_no_other() {
        let name = Name::parse("n").unwrap();
        let limits = ValueLimits { max: Some(5), ..ValueLimits::default() };
        let (kind, append, max_length, default, description) = (ValueType::Int, false, 10, None, None);
        let field = ResultField { name, kind, append, max_length, limits, default, description };
        let usual = ResultField { default: Some(json!(7)), ..field.clone() };
        assert_eq!(ValueType::Object(vec![usual]).admit(json!({}), 99), Ok(json!({"n": 7})));
        let object = ValueType::Object(vec![field.clone()]);
        assert_eq!(object.admit(json!({"n": "1"}), 99), Ok(json!({"n": 1})));
        assert!(object.admit(json!({}), 99).is_err());
        let many = object.admit(json!({"n": 6}), 99);
        assert_eq!(many, Err(InvalidValue("`n`: 6 is too much: the most is 5".into())));
        let list = ValueType::List(vec![field.clone()]);
        let each = list.admit(json!([{"n": 1}, {"n": 9}, {"n": "x"}]), 99).unwrap_err().0;
        assert_eq!(each, "item 2: `n`: 9 is too much: the most is 5; item 3: `n`: \"x\" is not an int");
        assert_eq!(object.admit(json!({"n": 1, "m": 2}), 99), Ok(json!({"n": 1})));
        let result = Map::from_iter([("n".to_owned(), json!(1)), ("m".to_owned(), json!(2))]);
        assert!(admit_fields(&[field], result).is_err());
    }
}
