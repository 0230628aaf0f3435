//! Examples in the documentation of workflows: each loads.

use std::collections::BTreeSet;

use maestro_core::workflow::language_schema::language_schema;
use maestro_core::workflow::{LoadEnvironment, WorkflowFinding, load_workflow};
use serde_json::Value as Json;

#[test]
fn every_definition_in_the_documentation_loads() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/workflows.md");
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let definitions: Vec<&str> =
        blocks.filter(|block| block.contains("steps:") && block.starts_with("name:")).collect();
    assert!(!definitions.is_empty());
    for definition in definitions {
        let (workflow, findings) = load_workflow(definition, &LoadEnvironment::none());
        let errors: Vec<&WorkflowFinding> = findings.iter().filter(|finding| finding.is_error()).collect();
        assert!(workflow.is_some(), "{errors:#?}\n{definition}");
    }
}

/// Every key of the language, wherever it stands.
fn keys(schema: &Json, found: &mut BTreeSet<String>) {
    for (name, inner) in schema.as_object().into_iter().flatten() {
        if name == "properties" {
            found.extend(inner.as_object().into_iter().flatten().map(|(key, _)| key.clone()));
        }
        keys(inner, found);
    }
    for inner in schema.as_array().into_iter().flatten() {
        keys(inner, found);
    }
}

#[test]
fn every_key_of_the_language_is_documented() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/workflows.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut all = BTreeSet::new();
    keys(&language_schema(), &mut all);
    // What definitions of before may pass to `plan.changes`, which takes `reasons` now.
    all.remove("explained");
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    // In code: behind a backquote, a brace, a blank or a comma, and in front of what ends a key.
    let is_named = |key: &String| {
        text.match_indices(key.as_str()).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + key.len()..].chars().next();
            let opens = before.is_some_and(|c| "`{ (\n".contains(c));
            opens && after.is_some_and(|c| "`:,}".contains(c)) && !after.is_some_and(is_part)
        })
    };
    let missing: Vec<&String> = all.iter().filter(|key| !is_named(key)).collect();
    assert!(all.len() > 100, "{} keys are few", all.len());
    assert_eq!(missing, Vec::<&String>::new());
}
