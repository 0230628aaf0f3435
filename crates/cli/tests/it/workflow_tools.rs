//! Tools for those who write workflows: a schema, scripted cases, a first definition, and warnings.

use std::fs;
use std::path::Path;

use serde_json::{Value as Json, json};

use crate::sandbox::{Output, Sandbox};

const SKILLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../skills");
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/workflows");

#[test]
fn the_scripts_of_our_own_workflows_pass() {
    let mut files: Vec<String> =
        fs::read_dir(SCRIPTS).unwrap().map(|file| file.unwrap().path().to_str().unwrap().to_owned()).collect();
    files.sort();
    assert!(files.len() >= 3, "{files:?}");
    let args: Vec<&str> = ["workflow", "test"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let tested = Sandbox::new().maestro_with(&args);
    assert_eq!(tested.code, 0, "{tested}");
}

#[test]
fn a_case_that_comes_out_otherwise_is_told_and_fails() {
    let sandbox = Sandbox::new();
    let case = "workflow: tasks-report\ncases: [{name: nothing is there, ends: blocked, never: [load-report]}]\n";
    sandbox.write("cases.yaml", case);
    let tested = sandbox.maestro("workflow test cases.yaml");
    assert_eq!(tested.code, 1, "{tested}");
    assert!(tested.stdout().contains("tasks-report: nothing is there ... failed"), "{tested}");
    sandbox.write("cases.yaml", "workflow: tasks-report\n");
    let refused = sandbox.maestro("workflow test cases.yaml");
    assert_eq!(refused.code, 1, "{refused}");
    assert!(refused.stderr().contains("`cases:` is a list"), "{refused}");
}

#[test]
fn every_workflow_that_comes_along_fits_the_schema() {
    let schema = Sandbox::new().maestro("workflow schema").json();
    let mut checked = 0;
    for folder in fs::read_dir(SKILLS).unwrap().map(|folder| folder.unwrap().path()) {
        let beside = fs::read_dir(folder.join("workflows")).into_iter().flatten().map(|file| file.unwrap().path());
        for file in beside.chain([folder.join("workflow.yaml")]).filter(|file| file.is_file()) {
            let value = definition(&file);
            let mut faults = Vec::new();
            validate(&schema, &schema, &value, "", &mut faults);
            assert!(faults.is_empty(), "{}: {faults:#?}", file.display());
            checked += 1;
        }
    }
    assert!(checked > 30, "{checked}");
    let mut faults = Vec::new();
    let wrong = json!({"name": "w", "stpes": [], "steps": [{"id": "a", "type": "agent", "acions": []}, {"id": "b", "type": "and"}]});
    validate(&schema, &schema, &wrong, "", &mut faults);
    for fault in ["/steps/0: `acions` is unknown", "/steps/1/type: \"and\" is none of", ": `stpes` is unknown"] {
        assert!(faults.iter().any(|told| told.starts_with(fault)), "{fault}: {faults:#?}");
    }
    assert_eq!(faults.len(), 3, "{faults:#?}");
}

/// A definition as an editor reads it.
fn definition(file: &Path) -> Json {
    let text = fs::read_to_string(file).unwrap();
    maestro_core::yaml::parse_without_aliases(&text).unwrap().to_json()
}

/// The faults of a value, by as much of JSON Schema as ours uses.
fn validate(root: &Json, schema: &Json, value: &Json, at: &str, faults: &mut Vec<String>) {
    let fits = |schema: &Json, value: &Json| {
        let mut faults = Vec::new();
        validate(root, schema, value, at, &mut faults);
        faults.is_empty()
    };
    if let Some(name) = schema["$ref"].as_str() {
        let target = root.pointer(name.trim_start_matches('#')).unwrap_or_else(|| panic!("no {name}"));
        validate(root, target, value, at, faults);
    }
    if let Some(kinds) = schema.get("type") {
        let kind = match value {
            Json::Null => "null",
            Json::Bool(_) => "boolean",
            Json::Number(number) if number.is_u64() || number.is_i64() => "integer",
            Json::Number(_) => "number",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        };
        let allowed = |word: &Json| *word == kind || (*word == "number" && kind == "integer");
        if !kinds.as_array().map_or_else(|| allowed(kinds), |kinds| kinds.iter().any(allowed)) {
            faults.push(format!("{at}: {kind} is not {kinds}"));
        }
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        faults.push(format!("{at}: {value} is none of {}", Json::from(words.clone())));
    }
    if let Some(word) = schema.get("const")
        && word != value
    {
        faults.push(format!("{at}: {value} is not {word}"));
    }
    if let Some(ways) = schema["anyOf"].as_array()
        && !ways.iter().any(|way| fits(way, value))
    {
        faults.push(format!("{at}: {value} fits nothing"));
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        validate(root, part, value, at, faults);
    }
    if let (Some(condition), Some(then)) = (schema.get("if"), schema.get("then"))
        && fits(condition, value)
    {
        validate(root, then, value, at, faults);
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        validate(root, &schema["items"], item, &format!("{at}/{index}"), faults);
    }
    let Some(map) = value.as_object() else { return };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
        if !map.contains_key(name) {
            faults.push(format!("{at}: `{name}` is missing"));
        }
    }
    for (key, inner) in map {
        match (schema["properties"].get(key), schema.get("additionalProperties")) {
            (Some(property), _) => validate(root, property, inner, &format!("{at}/{key}"), faults),
            (None, Some(Json::Bool(false))) => faults.push(format!("{at}: `{key}` is unknown")),
            (None, Some(others)) => validate(root, others, inner, &format!("{at}/{key}"), faults),
            (None, None) => {}
        }
    }
}

#[test]
fn a_new_workflow_checks_clean_and_can_be_started() {
    let sandbox = Sandbox::new();
    let asked = sandbox.maestro_with(&["workflow", "new", "tidy-up"]);
    assert_eq!(asked.code, 1, "nobody can be asked: {asked}");
    let args = [
        "workflow",
        "new",
        "tidy-up",
        "--description",
        "Tidy up. Use when it is untidy.",
        "--step",
        "Look around",
        "--step",
        "Tidy",
        "--checks",
        "--approval",
    ];
    let written = sandbox.maestro_with(&args);
    assert_eq!(written.code, 0, "{written}");
    let checked = sandbox.maestro("workflow check .agents/skills/tidy-up/workflow.yaml");
    assert_eq!((checked.code, checked.stdout().as_str()), (0, "1 workflow checked: 0 errors, 0 warnings\n"));
    assert_eq!(sandbox.maestro_with(&args).code, 1, "what is there stays");
    let simulated = sandbox.maestro("workflow simulate tidy-up --json").json();
    assert_eq!((&simulated["never_reached"], &simulated["never_taken"]), (&json!([]), &json!([])));
}

#[test]
fn a_declared_name_in_doubled_braces_is_a_warning() {
    let sandbox = Sandbox::new();
    let text = "name: w\nparams: {p: {type: string}}\nsteps:\n- {id: a, type: agent, description: '{{ p }} and {{other}} {p}', next: {ok: end, fail: end2}}\n- {id: end2, type: end, status: blocked}\n";
    sandbox.write("w/workflow.yaml", text);
    let checked = sandbox.maestro("workflow check w/workflow.yaml --json").json();
    let findings = checked[0]["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{checked:#}");
    assert_eq!((&findings[0]["code"], &findings[0]["help"]), (&json!("W06"), &json!("write `{p}` for the value")));
}

/// What a directive says, which is printed over several lines.
fn json_of(output: &Output) -> Json {
    serde_json::from_str(&output.stdout()).unwrap_or_else(|error| panic!("{error}: {output}"))
}

#[test]
fn options_after_an_answer_are_options() {
    let sandbox = Sandbox::new();
    let text = "name: w\nsteps:\n- {id: a, type: question, prompt: Which?, store: said, next: {ok: end, declined: end, cancelled: end}}\noutputs: {said: '{said}'}\n";
    sandbox.write(".claude/skills/w/workflow.yaml", text);
    for (said, wanted) in
        [(&["yes"][..], "yes"), (&["-5"], "-5"), (&["- no, not that"], "- no, not that"), (&["--", "-x"], "-x")]
    {
        let page = json_of(&sandbox.maestro("workflow start w --format json"));
        let (run, ticket) = (page["run"].as_str().unwrap(), page["ticket"].as_str().unwrap());
        let args: Vec<&str> = ["workflow", "answer", run, "--ticket", ticket, "--format", "json"]
            .into_iter()
            .chain(said.iter().copied())
            .collect();
        let answered = sandbox.maestro_with(&args);
        assert_eq!(answered.code, 0, "{answered}");
        assert_eq!(json_of(&answered)["outputs"]["said"], wanted);
    }
    let page = json_of(&sandbox.maestro("workflow start w --format json"));
    let args = [
        "workflow",
        "answer",
        page["run"].as_str().unwrap(),
        "--ticket",
        page["ticket"].as_str().unwrap(),
        "yes",
        "--format",
        "json",
    ];
    assert_eq!(json_of(&sandbox.maestro_with(&args))["outputs"]["said"], "yes", "an option may come last");
}

#[test]
fn a_flag_of_the_original_can_be_given_its_value() {
    let sandbox = Sandbox::new();
    let page = |option: &str| {
        let printed = sandbox.maestro_with(&["workflow", "step", "planner", "--step", "4", option]);
        assert_eq!(printed.code, 0, "{printed}");
        printed.stdout()
    };
    assert_eq!(page("--qr-fail"), page("--qr-fail=true"));
    assert!(sandbox.maestro("workflow step planner --step 4 --qr-fail=false").code == 0);
    assert_eq!(sandbox.maestro("workflow step planner --step 4 --qr-fail=no").code, 1);
}
