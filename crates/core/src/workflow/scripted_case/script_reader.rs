//! Reading of a script of cases from YAML.

use serde_json::{Map, Value as Json};

use super::{ScriptedCase, ScriptedInput, ScriptedLine, ScriptedReport};
use crate::workflow::definition::EndStatus;
use crate::workflow::name::StepOutcome;
use crate::workflow::run::{CommandExit, UserAnswer};
use crate::yaml;

/// A script: a workflow and cases of it.
#[derive(Debug, Clone, PartialEq)]
pub struct TestScript {
    /// The workflow's name.
    pub workflow: String,
    /// What is tried.
    pub cases: Vec<ScriptedCase>,
}

/// Why a script cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidScript(pub String);

/// Reads a script.
pub fn read_script(text: &str) -> Result<TestScript, InvalidScript> {
    let tree = yaml::parse_without_aliases(text)
        .map_err(|error| InvalidScript(format!("the YAML cannot be read: {error}")))?;
    let root = object(&tree.to_json(), "the script", &["workflow", "cases"])?;
    let workflow =
        root.get("workflow").and_then(Json::as_str).ok_or_else(|| invalid("`workflow:` names no workflow"))?;
    let cases = root.get("cases").and_then(Json::as_array).ok_or_else(|| invalid("`cases:` is a list"))?;
    let cases: Vec<ScriptedCase> =
        cases.iter().enumerate().map(|(index, case)| read_case(index, case)).collect::<Result<_, _>>()?;
    if cases.is_empty() {
        return Err(invalid("there are no cases"));
    }
    Ok(TestScript { workflow: workflow.to_owned(), cases })
}

fn read_case(index: usize, case: &Json) -> Result<ScriptedCase, InvalidScript> {
    let what = format!("case {}", index + 1);
    let case = object(case, &what, &["name", "params", "script", "ends", "steps", "never", "outputs"])?;
    let name = case.get("name").and_then(Json::as_str).unwrap_or(&what).to_owned();
    let in_case = |error: InvalidScript| InvalidScript(format!("{name}: {error}"));
    let word = case.get("ends").and_then(Json::as_str).unwrap_or_default();
    let ends = EndStatus::from_word(word).ok_or_else(|| {
        let known = EndStatus::ALL.map(EndStatus::as_str).join(", ");
        InvalidScript(format!("{name}: `ends:` is one of {known}"))
    })?;
    let lines = case.get("script").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    Ok(ScriptedCase {
        params: map(&case, "params").map_err(in_case)?,
        lines: lines.iter().map(read_line).collect::<Result<_, _>>().map_err(in_case)?,
        ends,
        steps: words(&case, "steps").map_err(in_case)?,
        never: words(&case, "never").map_err(in_case)?,
        outputs: map(&case, "outputs").map_err(in_case)?,
        name,
    })
}

fn read_line(line: &Json) -> Result<ScriptedLine, InvalidScript> {
    let known = [
        "at",
        "outcome",
        "result",
        "set",
        "answer",
        "declined",
        "cancelled",
        "exit",
        "output",
        "timed_out",
        "children",
    ];
    let line = object(line, "a line of the script", &known)?;
    let at = line
        .get("at")
        .and_then(Json::as_str)
        .ok_or_else(|| invalid("a line of the script has no `at: STEP`"))?
        .to_owned();
    let has = |key: &str| line.contains_key(key);
    let is = |key: &str| line.get(key).and_then(Json::as_bool) == Some(true);
    let says = if has("answer") {
        ScriptedInput::Answer(UserAnswer::Value(line.get("answer").cloned().unwrap_or_default()))
    } else if is("declined") {
        ScriptedInput::Answer(UserAnswer::Declined)
    } else if is("cancelled") {
        ScriptedInput::Answer(UserAnswer::Cancelled)
    } else if is("timed_out") {
        ScriptedInput::Exit(CommandExit::TimedOut)
    } else if has("exit") || has("output") {
        let code = line.get("exit").and_then(Json::as_i64).unwrap_or_default();
        let code = i32::try_from(code).map_err(|_| invalid("`exit:` is an exit code"))?;
        let output = match line.get("output") {
            None => String::new(),
            Some(Json::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        };
        ScriptedInput::Exit(CommandExit::Exited { code, output })
    } else if let Some(children) = line.get("children") {
        let children = children.as_array().ok_or_else(|| invalid("`children:` is a list of reports"))?;
        let one = |child: &Json| object(child, "a child", &["outcome", "result"]).and_then(|child| read_report(&child));
        ScriptedInput::Children(children.iter().map(one).collect::<Result<_, _>>()?)
    } else {
        ScriptedInput::Report(read_report(&line)?)
    };
    Ok(ScriptedLine { at, says })
}

fn read_report(line: &Map<String, Json>) -> Result<ScriptedReport, InvalidScript> {
    let outcome = line.get("outcome").and_then(Json::as_str).map(StepOutcome::new);
    Ok(ScriptedReport { outcome, result: map(line, "result")?, set: map(line, "set")? })
}

fn object(value: &Json, what: &str, known: &[&str]) -> Result<Map<String, Json>, InvalidScript> {
    let Json::Object(map) = value else { return Err(InvalidScript(format!("{what} is a mapping"))) };
    match map.keys().find(|key| !known.contains(&key.as_str())) {
        Some(unknown) => Err(InvalidScript(format!("{what} has no `{unknown}`; it can have {}", known.join(", ")))),
        None => Ok(map.clone()),
    }
}

fn map(of: &Map<String, Json>, key: &str) -> Result<Map<String, Json>, InvalidScript> {
    match of.get(key) {
        None | Some(Json::Null) => Ok(Map::new()),
        Some(Json::Object(map)) => Ok(map.clone()),
        Some(_) => Err(InvalidScript(format!("`{key}:` is a mapping"))),
    }
}

fn words(of: &Map<String, Json>, key: &str) -> Result<Vec<String>, InvalidScript> {
    let items = of.get(key).map_or(Some(&[][..]), |value| value.as_array().map(Vec::as_slice));
    let texts = items.and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
    texts.ok_or_else(|| InvalidScript(format!("`{key}:` is a list of steps")))
}

fn invalid(reason: &str) -> InvalidScript {
    InvalidScript(reason.to_owned())
}
