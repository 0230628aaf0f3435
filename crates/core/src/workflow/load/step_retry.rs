//! `retry` of agents, dispatches and calls.

use super::DefinitionReader;
use super::outcome_routes::own_outcomes;
use crate::workflow::definition::{StepRetry, WorkflowStep};
use crate::workflow::finding::FindingCode;
use crate::workflow::name::StepOutcome;
use crate::yaml::{YamlNode, YamlValue};

/// How often a step may be tried again.
const MOST: u32 = 10;

/// A number, or `{max, on, feedback}`.
pub(super) fn read(
    node: Option<&YamlNode<'_>>,
    step: &WorkflowStep,
    reader: &mut DefinitionReader<'_>,
) -> Option<StepRetry> {
    let node = node?;
    let possible = own_outcomes(step);
    // Of several that were done, those that failed are tried again also where some went well.
    let usual = [StepOutcome::FAIL, StepOutcome::PARTIAL].into_iter().filter(|outcome| possible.contains(outcome));
    let usual: Vec<_> = usual.map(|outcome| (outcome, node.place)).collect();
    let retry = if matches!(node.value, YamlValue::Map(_)) {
        let fields = reader.fields(node, "`retry`", &["max", "on", "feedback"]);
        let max = fields.get("max").and_then(|node| reader.limit(node, MOST)).unwrap_or(1);
        let on: Vec<_> = match fields.get("on").map(|node| (&node.value, node)) {
            None => usual,
            Some((YamlValue::List(items), _)) => items.iter().filter_map(|item| outcome(item, reader)).collect(),
            Some((_, node)) => outcome(node, reader).into_iter().collect(),
        };
        StepRetry { max, on, feedback: reader.template_of(fields.get("feedback")) }
    } else {
        StepRetry { max: reader.limit(node, MOST)?, on: usual, feedback: None }
    };
    for (outcome, place) in &retry.on {
        if !possible.contains(outcome) {
            let known = possible.iter().filter(|known| **known != StepOutcome::OK).map(StepOutcome::as_str);
            let help = format!("it can be {}", known.collect::<Vec<_>>().join(", "));
            reader.find(FindingCode::E11, *place, format!("`{}` never ends with `{outcome}`", step.id), help);
        } else if *outcome == StepOutcome::OK {
            let help = "name the outcomes that are no good";
            reader.find(FindingCode::E11, *place, "what is `ok` is not tried again", help);
        }
    }
    Some(retry)
}

fn outcome(
    node: &YamlNode<'_>,
    reader: &mut DefinitionReader<'_>,
) -> Option<(StepOutcome, crate::yaml::SourcePosition)> {
    reader.text(node).map(|text| (StepOutcome::new(text), node.place))
}
