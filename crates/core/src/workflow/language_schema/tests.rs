use std::collections::BTreeSet;

use super::*;
use crate::workflow::load::{LoadEnvironment, load_workflow};

/// A definition with an unknown key in every mapping whose keys are known.
const UNKNOWN_EVERYWHERE: &str = "
zz: 1
requires: {zz: 1}
params: {p: {type: string, zz: 1}}
reviews: {r: {zz: 1}}
roles: {q: {zz: 1}}
validators: {v: {zz: 1, command: [a]}}
limits: {zz: 1}
resources: {x: {file: a, zz: 1}}
steps:
- {id: a, type: agent, zz: 1, session: {zz: 1}, expected_output: {zz: 1}, outcome_from: [{zz: 1, else: ok}], review: {zz: 1}}
- {id: b, type: dispatch, zz: 1}
- {id: c, type: command, zz: 1, shell: {zz: 1, script: a}}
- {id: d, type: output, zz: 1}
- {id: e, type: question, zz: 1}
- {id: f, type: conditional, zz: 1, cases: [{zz: 1}]}
- {id: g, type: set, zz: 1}
- {id: h, type: gate, zz: 1, checks: [{zz: 1}]}
- {id: i, type: call, zz: 1}
- {id: j, type: end, zz: 1}
- {id: k, type: command, command: [a, {zz: 1}], retry: {zz: 1}}
- {id: l, type: agent, retry: {zz: 1}}
- {id: m, type: question, prompt: a, options: [{value: a, zz: 1}], validate: {zz: 1, values: [a]}}
- {id: n, type: question, prompt: a, options: {zz: 1}}
";

/// The words by which findings name a mapping, and the schema's name of it.
const PLACES: &[(&str, &str)] = &[
    ("`requires`", "requires"),
    ("a declaration", "declaration"),
    ("a review", "review"),
    ("a role", "role"),
    ("a validator", "validator"),
    ("limits", "limits"),
    ("a resource", "resource"),
    ("`session`", "session"),
    ("`expected_output`", "expected"),
    ("a rule", "rule"),
    ("`review`", "review-part"),
    ("`shell`", "shell"),
    ("a case", "case"),
    ("a check", "check"),
    ("an argument", "spread"),
    ("`retry`", "command-retry"),
    ("`retry`", "retry"),
    ("an option", "option"),
    ("`options`", "options"),
    ("`validate`", "answer-check"),
    ("`a` (agent)", "step-agent"),
    ("`b` (dispatch)", "step-dispatch"),
    ("`c` (command)", "step-command"),
    ("`d` (output)", "step-output"),
    ("`e` (question)", "step-question"),
    ("`f` (conditional)", "step-conditional"),
    ("`g` (set)", "step-set"),
    ("`h` (gate)", "step-gate"),
    ("`i` (call)", "step-call"),
    ("`j` (end)", "step-end"),
];

/// The properties that the schema knows at a place, with whether each is described.
fn properties(schema: &Json, name: &str) -> BTreeSet<String> {
    let found = &schema["$defs"][name];
    let object = found["anyOf"].as_array().map_or(found, |ways| ways.last().unwrap());
    object["properties"].as_object().unwrap_or_else(|| panic!("{name}: {found}")).keys().cloned().collect()
}

#[test]
fn the_schema_knows_every_key_that_the_loader_knows() {
    let schema = language_schema();
    let (_, findings) = load_workflow(UNKNOWN_EVERYWHERE, &LoadEnvironment::none());
    let mut seen = 0;
    for finding in findings.iter().filter(|finding| finding.message.ends_with("has no `zz`")) {
        let what = finding.message.trim_end_matches(" has no `zz`");
        let known = finding.help.strip_prefix(&format!("{what} can have ")).unwrap_or_else(|| panic!("{finding:?}"));
        let known: BTreeSet<String> = known.split(", ").map(str::to_owned).collect();
        let places = PLACES.iter().filter(|(words, _)| *words == what);
        let mut places: Vec<BTreeSet<String>> = places.map(|(_, name)| properties(&schema, name)).collect();
        // Where two mappings are called alike, it is one of them.
        let same = places.iter().position(|ours| *ours == known).unwrap_or_default();
        let ours = match (!places.is_empty()).then(|| places.swap_remove(same)) {
            Some(ours) => ours,
            None if what == "a workflow" => schema["properties"].as_object().unwrap().keys().cloned().collect(),
            None => panic!("the schema has no place for {what}"),
        };
        assert_eq!(ours, known, "{what}");
        seen += 1;
    }
    assert_eq!(seen, PLACES.len() + 1, "{findings:#?}");
}

#[test]
fn the_schema_explains_every_key() {
    fn undescribed(path: &str, schema: &Json, found: &mut Vec<String>) {
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            if property.get("description").is_none() && property.get("const").is_none() && !path.contains("builtin") {
                found.push(format!("{path}/{key}"));
            }
        }
        for (key, inner) in schema.as_object().into_iter().flatten() {
            undescribed(&format!("{path}/{key}"), inner, found);
        }
        for inner in schema.as_array().into_iter().flatten() {
            undescribed(path, inner, found);
        }
    }
    let mut found = Vec::new();
    undescribed("", &language_schema(), &mut found);
    assert_eq!(found, [""; 0]);
}
