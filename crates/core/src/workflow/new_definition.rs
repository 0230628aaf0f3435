//! Text of a new workflow, from a few answers about it.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::name::StepId;

/// What is asked about a new workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWorkflow {
    /// Its name.
    pub name: String,
    /// What it does, and when to use it.
    pub description: String,
    /// What an agent does, one title a step.
    pub steps: Vec<String>,
    /// Whether the project's checks must pass.
    pub checks: ClosingStep,
    /// Whether the user must be content.
    pub approval: ClosingStep,
}

/// Whether a workflow has a step at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClosingStep {
    /// It has.
    Present,
    /// It has not.
    Absent,
}

impl From<bool> for ClosingStep {
    fn from(present: bool) -> Self {
        if present { Self::Present } else { Self::Absent }
    }
}

/// A definition without findings, with one agent step for each title.
pub fn new_definition(new: &NewWorkflow) -> String {
    let ids = step_ids(&new.steps);
    let (checks, approval) = (new.checks == ClosingStep::Present, new.approval == ClosingStep::Present);
    let after_checks = if approval { "approve" } else { "done" };
    let after_work = if checks { "checks" } else { after_checks };
    let mut text = format!(
        "workflow: 1\nname: {}\nversion: \"1.0\"\ndescription: {}\nparams:\n  task: {{type: string, required: true, \
         max_length: 8000, description: What it is about}}\n{}steps:\n",
        quoted(&new.name),
        quoted(&new.description),
        // What the user wants changed, for the agent that does the last step again.
        if approval { "variables:\n  wish: {type: string, default: \"\"}\n" } else { "" },
    );
    for (index, (id, title)) in ids.iter().zip(&new.steps).enumerate() {
        let is_last = index + 1 == ids.len();
        let next = ids.get(index + 1).map_or(after_work, String::as_str);
        let _ = write!(
            text,
            "  - id: {id}\n    type: agent\n    title: {}\n    description: \"{{task}}\"\n    actions:\n      - {}\n",
            quoted(title),
            quoted(&braces(&format!("{}. Say here how, one thing a line.", title.trim_end_matches('.')))),
        );
        let before = index.checked_sub(1).and_then(|index| ids.get(index));
        let before = before.map(|before| format!("before: \"{{steps.{before}.result.summary}}\""));
        let wish = (is_last && approval).then(|| "wish: \"{wish}\"".to_owned());
        let data: Vec<String> = before.into_iter().chain(wish).collect();
        if !data.is_empty() {
            let _ = writeln!(text, "    data: {{{}}}", data.join(", "));
        }
        text += "    result:\n      summary: {type: string, max_length: 4000, description: What was done}\n";
        if is_last && (checks || approval) {
            let _ = write!(text, "    max_visits: 6\n    next: {{ok: {next}, fail: stuck, exhausted: stuck}}\n");
        } else {
            let _ = writeln!(text, "    next: {{ok: {next}, fail: stuck}}");
        }
    }
    let last = ids.last().map_or("done", String::as_str);
    if checks {
        let _ = write!(
            text,
            "  # What a gate checks was executed; no report replaces it.\n  - id: checks\n    type: command\n    title: Run \
             the project's checks\n    command: {{builtin: verify}}\n    next: {{ok: gate, fail: gate}}\n  - id: gate\n    \
             type: gate\n    title: Checks\n    checks: [checks]\n    max_rounds: 3\n    self_fix: true\n    next: {{pass: \
             {after_checks}, fail: {last}, exhausted: stuck}}\n"
        );
    }
    if approval {
        let _ = write!(
            text,
            "  - id: approve\n    type: question\n    title: Is it good?\n    prompt: \"Is it good?\\n\\n{{steps.{last}.result.summary}}\"\n    \
             options: [accept, change]\n    next: {{ok: done, change: wish, declined: stuck, cancelled: stuck}}\n  \
             - id: wish\n    type: question\n    title: What should be different?\n    prompt: What should be different?\n    \
             store: wish\n    next: {{ok: {last}, declined: stuck, cancelled: stuck}}\n"
        );
    }
    let _ = write!(
        text,
        "  - {{id: done, type: end, message: \"{{steps.{last}.result.summary}}\"}}\n  - {{id: stuck, type: end, status: \
         blocked, message: \"It could not be finished: {{task}}\"}}\noutputs:\n  summary: \"{{steps.{last}.result.summary}}\"\n"
    );
    text
}

/// Ids that say what the titles say, each once.
fn step_ids(titles: &[String]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for (index, title) in titles.iter().enumerate() {
        let words = title.to_lowercase();
        let words: Vec<&str> =
            words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let id = words.into_iter().take(4).collect::<Vec<_>>().join("-");
        let taken =
            ["done", "stuck", "checks", "gate", "approve", "wish", "end"].contains(&id.as_str()) || ids.contains(&id);
        let usable = StepId::parse(&id).is_ok() && !taken;
        ids.push(if usable { id } else { format!("step-{}", index + 1) });
    }
    ids
}

/// A text as YAML reads it, whatever it holds; JSON quoting is valid YAML.
fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}

/// A text in which no brace is a placeholder.
fn braces(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::load::{LoadEnvironment, load_workflow};

    #[test]
    fn whatever_is_answered_it_checks_clean() {
        let steps = ["Look: {who} calls it?", "Änder's", "Änder's", "", "done"].map(str::to_owned);
        for count in 1..=steps.len() {
            for (checks, approval) in [(true, true), (true, false), (false, true), (false, false)] {
                let text = new_definition(&NewWorkflow {
                    name: "my-flow".into(),
                    description: "Does: \"it\" # well".into(),
                    steps: steps[..count].to_vec(),
                    checks: checks.into(),
                    approval: approval.into(),
                });
                let (workflow, findings) = load_workflow(&text, &LoadEnvironment::none());
                assert!(workflow.is_some() && findings.is_empty(), "{findings:?}\n{text}");
            }
        }
    }
}
