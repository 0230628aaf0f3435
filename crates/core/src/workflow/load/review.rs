//! Declared reviews, a step's part in one, and the own fields of `gate` steps.

use std::collections::BTreeMap;

use super::{DefinitionReader, by_name};
use crate::workflow::definition::{
    BlockingRule, DEFAULT_ROUNDS, Gate, GateCheck, MAX_VISITS, ReviewSeverity, ReviewSpec, ReviewStage, StepReview,
};
use crate::workflow::finding::FindingCode;
use crate::workflow::name::{Name, StepId};
use crate::yaml::{YamlNode, YamlValue};

const DEFAULT_ITEMS: usize = 60;

/// The declared reviews.
pub(super) fn declared<'t>(
    node: Option<&'t YamlNode<'t>>,
    reader: &mut DefinitionReader<'_>,
) -> BTreeMap<Name, ReviewSpec> {
    let Some(node) = node else { return BTreeMap::new() };
    let mut found = Vec::new();
    for pair in reader.pairs(node, "`reviews`") {
        let mut review = ReviewSpec { place: pair.place, max_items: DEFAULT_ITEMS };
        if !pair.value.is_null() {
            let fields = reader.fields(&pair.value, "a review", &["max_items"]);
            if let Some(most) = fields.get("max_items").and_then(|node| reader.limit(node, 1000)) {
                review.max_items = most as usize;
            }
        }
        found.extend(reader.name_at(&pair.key, pair.place).map(|name| (name, review)));
    }
    by_name(found)
}

/// What a step does for a review.
pub(super) fn part<'t>(node: Option<&'t YamlNode<'t>>, reader: &mut DefinitionReader<'_>) -> Option<StepReview> {
    let node = node?;
    let fields = reader.fields(node, "`review`", &["name", "part"]);
    let parts = ReviewStage::ALL.map(|part| (part.as_str(), part));
    let part = fields.get("part").and_then(|node| reader.word(node, "part of a review", &parts));
    let Some(((review, place), part)) = reader.name_of(fields.get("name")).zip(part) else {
        let help = "write `review: {name: NAME, part: decompose | verify | fix}`";
        reader.find(FindingCode::E01, node.place, "a review needs a name and a part", help);
        return None;
    };
    Some(StepReview { review, place, part })
}

/// A gate's own fields.
pub(super) const GATE: &[&str] =
    &["review", "checks", "blocking", "max_rounds", "pass_message", "fix_target", "self_fix"];

pub(super) fn gate(fields: &super::definition_reader::MappingFields<'_>, reader: &mut DefinitionReader<'_>) -> Gate {
    let rounds = fields.get("max_rounds").and_then(|node| reader.limit(node, MAX_VISITS));
    Gate {
        review: reader.name_of(fields.get("review")),
        checks: checks(fields.get("checks"), reader),
        blocking: blocking(fields.get("blocking"), reader),
        max_rounds: rounds.unwrap_or(DEFAULT_ROUNDS),
        pass_message: reader.template_of(fields.get("pass_message")),
        fix_target: reader.name_of(fields.get("fix_target")),
        self_fix: reader.flag_of(fields.get("self_fix")),
    }
}

/// Steps by their ids, or as `{step: id}`.
fn checks<'t>(node: Option<&'t YamlNode<'t>>, reader: &mut DefinitionReader<'_>) -> Vec<GateCheck> {
    let Some(node) = node else { return Vec::new() };
    let mut found = Vec::new();
    for item in reader.items(node, "`checks`") {
        let named = match &item.value {
            YamlValue::Map(_) => reader.fields(item, "a check", &["step"]).get("step"),
            _ => Some(item),
        };
        let Some(named) = named else { continue };
        let Some(text) = reader.text(named) else { continue };
        match StepId::parse(&text) {
            Ok(step) => found.push(GateCheck { step, place: named.place }),
            // A check that is left out would let work pass.
            Err(bad) => {
                reader.find_at_start(FindingCode::E04, named.place, format!("`{text}` is no step"), bad.to_string());
            }
        }
    }
    found
}

/// `{1-3: [MUST, SHOULD, COULD], 4: [MUST, SHOULD], 5+: [MUST]}`
fn blocking<'t>(node: Option<&'t YamlNode<'t>>, reader: &mut DefinitionReader<'_>) -> BlockingRule {
    let Some(node) = node else { return BlockingRule::default() };
    let severities = ReviewSeverity::ALL.map(|severity| (severity.word(), severity));
    let mut rounds = Vec::new();
    for pair in reader.pairs(node, "`blocking`") {
        let digits: String = pair.key.chars().take_while(char::is_ascii_digit).collect();
        let Ok(from) = digits.parse::<u32>() else {
            reader.find(
                FindingCode::E01,
                pair.place,
                format!("`{}` is no round", pair.key),
                "write `1-3`, `4` or `5+`",
            );
            continue;
        };
        let mut least = ReviewSeverity::Must;
        for item in reader.items(&pair.value, "the severities that block") {
            if let Some(severity) = reader.word(item, "severity", &severities) {
                least = least.min(severity);
            }
        }
        rounds.push((from, least));
    }
    rounds.sort_by_key(|(from, _)| *from);
    BlockingRule(rounds)
}
