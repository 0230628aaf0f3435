//! `for_each` and `max_parallel` of commands and calls.

use super::DefinitionReader;
use super::definition_reader::MappingFields;
use crate::workflow::definition::{AssignedValue, BranchItems, StepBranches, StepWork};
use crate::workflow::finding::FindingCode;
use crate::workflow::template::ValueReference;
use crate::yaml::{YamlNode, YamlValue};

/// How many commands a step may execute, or workflows it may call, at the same time.
const MOST: u32 = 16;

pub(super) fn read(
    fields: &MappingFields<'_>,
    work: &StepWork,
    reader: &mut DefinitionReader<'_>,
) -> Option<StepBranches> {
    if !matches!(work, StepWork::Command { .. } | StepWork::Call(_)) {
        return None;
    }
    let together = fields.get("max_parallel");
    let Some(node) = fields.get("for_each") else {
        if let Some(node) = together {
            let message = "`max_parallel` says how many branches there are at a time, and there are none";
            reader.find(FindingCode::E16, node.place, message, "add `for_each:` with the name of a list");
        }
        return None;
    };
    let max_parallel = together.and_then(|node| reader.limit(node, MOST)).unwrap_or(1) as usize;
    Some(StepBranches { items: items(node, reader)?, max_parallel })
}

fn items(node: &YamlNode<'_>, reader: &mut DefinitionReader<'_>) -> Option<BranchItems> {
    if let YamlValue::List(items) = &node.value {
        if items.is_empty() {
            reader.find(FindingCode::E16, node.place, "there are no items", "write one for each branch");
        }
        let items: Vec<AssignedValue> = items.iter().filter_map(|item| reader.assigned_value(item)).collect();
        return Some(BranchItems::Fixed(items));
    }
    let text = reader.text(node)?;
    match ValueReference::parse(text.trim_matches(['{', '}'])) {
        Ok(reference) => Some(BranchItems::List(reference, node.place)),
        Err(reason) => {
            reader.find(FindingCode::E16, node.place, reason, "name a list, or write one");
            None
        }
    }
}
