//! Candidate values of a simulation: those that tests tell apart, and one where nothing is tested.

use serde_json::{Map, Value as Json, json};

use super::value_tests::{TestedValues, ValueRoot, ValueTests};
use crate::workflow::value_type::{ResultField, ValueType};

/// How many combinations of values are tried at once.
const MAX_COMBINED: usize = 1024;

/// Several things to try, and whether they are all there are.
pub(super) struct CandidateSet<T> {
    pub(super) all: Vec<T>,
    pub(super) complete: bool,
}

impl<T> CandidateSet<T> {
    pub(super) fn all(all: Vec<T>) -> Self {
        Self { all, complete: true }
    }

    pub(super) fn map<U>(self, change: impl FnMut(T) -> U) -> CandidateSet<U> {
        CandidateSet { all: self.all.into_iter().map(change).collect(), complete: self.complete }
    }
}

/// The values to try for something of a type that is kept at these places.
pub(super) fn values(kind: &ValueType, asked: &TestedValues, roots: &[ValueRoot]) -> CandidateSet<Json> {
    let questions = |field: Option<&ResultField>| {
        let mut all = ValueTests::default();
        for (source, questions) in roots.iter().flat_map(|root| asked.of(root)) {
            if source.field.as_ref() == field.map(|field| &field.name) {
                all.merge(questions);
            }
        }
        all
    };
    match kind {
        ValueType::Object(fields) if !fields.is_empty() => {
            let domains =
                fields.iter().map(|field| (field.name.to_string(), one(&field.kind, &questions(Some(field)))));
            combined(&domains.collect::<Vec<_>>()).map(Json::Object)
        }
        kind => CandidateSet::all(one(kind, &questions(None))),
    }
}

/// The one value for something about which nothing is asked.
pub(super) fn any(kind: &ValueType) -> Json {
    one(kind, &ValueTests::default()).swap_remove(0)
}

fn one(kind: &ValueType, questions: &ValueTests) -> Vec<Json> {
    match kind {
        ValueType::Bool if questions.any => vec![json!(false), json!(true)],
        ValueType::Bool => vec![json!(false)],
        ValueType::Enum(values) => {
            let told_apart = |value: &&String| questions.all || questions.texts.contains(*value);
            let mut tried: Vec<&String> = values.iter().filter(told_apart).collect();
            tried.extend(values.iter().find(|value| !told_apart(value)));
            tried.into_iter().map(|value| json!(value)).collect()
        }
        ValueType::Int | ValueType::Number => {
            let near = |number: &i64| [number.saturating_sub(1), *number, number.saturating_add(1)];
            let mut numbers: Vec<i64> = questions.numbers.iter().flat_map(near).collect();
            numbers.extend(if questions.all { vec![0, 1] } else { vec![] });
            numbers.sort_unstable();
            numbers.dedup();
            if numbers.is_empty() { vec![json!(1)] } else { numbers.into_iter().map(Json::from).collect() }
        }
        ValueType::Text | ValueType::Path => {
            let mut texts = vec!["x".to_owned()];
            texts.extend(questions.all.then(String::new));
            texts.extend(questions.lengths.iter().map(|length| "x".repeat(*length)));
            texts.extend(questions.texts.iter().cloned());
            texts.sort_unstable();
            texts.dedup();
            texts.into_iter().map(Json::from).collect()
        }
        ValueType::List(fields) if !fields.is_empty() => {
            let item: Map<String, Json> =
                fields.iter().map(|field| (field.name.to_string(), any(&field.kind))).collect();
            let mut lengths: Vec<usize> = questions.lengths.iter().copied().chain([1]).collect();
            lengths.extend(if questions.all || !questions.items.is_empty() { vec![0] } else { vec![] });
            lengths.sort_unstable();
            lengths.dedup();
            lengths.into_iter().map(|length| json!(vec![item.clone(); length])).collect()
        }
        ValueType::List(_) => {
            let mut lengths: Vec<usize> = questions.lengths.iter().copied().chain([1]).collect();
            lengths.extend(if questions.all || !questions.items.is_empty() { vec![0] } else { vec![] });
            lengths.sort_unstable();
            lengths.dedup();
            let mut lists: Vec<Json> = lengths.into_iter().map(|length| json!(vec!["x"; length])).collect();
            lists.extend(questions.items.iter().map(|item| json!([item])));
            if questions.items.len() > 1 {
                lists.push(json!(questions.items));
            }
            lists
        }
        ValueType::Object(fields) if fields.is_empty() && questions.any => vec![json!({}), json!({"x": "x"})],
        ValueType::Object(fields) => {
            let fields: Map<String, Json> =
                fields.iter().map(|field| (field.name.to_string(), any(&field.kind))).collect();
            vec![Json::Object(fields)]
        }
    }
}

/// Every combination of one value for each name. Where there are too many, those that are left are spread evenly over
/// all of them, so that no name is favoured.
pub(super) fn combined(domains: &[(String, Vec<Json>)]) -> CandidateSet<Map<String, Json>> {
    let total = domains.iter().fold(1_usize, |total, (_, values)| total.saturating_mul(values.len()));
    let at = |index: usize| {
        let mut rest = index;
        let mut map = Map::new();
        for (name, values) in domains {
            map.insert(name.clone(), values[rest % values.len()].clone());
            rest /= values.len();
        }
        map
    };
    if total <= MAX_COMBINED {
        return CandidateSet::all((0..total).map(at).collect());
    }
    // Steps of a size that shares no divisor with the total come by every place once.
    let mut step = total / 1000 * 618 + 1;
    while greatest_divisor(step, total) > 1 {
        step += 1;
    }
    let all = (0..MAX_COMBINED).map(|index| at(index.wrapping_mul(step) % total)).collect();
    CandidateSet { all, complete: false }
}

fn greatest_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}
