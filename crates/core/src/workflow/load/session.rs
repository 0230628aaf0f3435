//! The `session` block of an `agent` step.
//!
//! Words that are written out are judged here. What a run fills in is judged when the run fills it in.

use super::DefinitionReader;
use super::definition_reader::help_with_words;
use crate::agent::{BudgetLimit, Permission};
use crate::workflow::Template;
use crate::workflow::definition::{PlacedValue, ROLES, SessionSpec, StepWork, Workflow};
use crate::workflow::finding::FindingCode;
use crate::workflow::name::Name;
use crate::yaml::YamlNode;

pub(super) const KEYS: &[&str] = &[
    "agent",
    "model",
    "role",
    "worktree",
    "permission",
    "task",
    "section",
    "plan",
    "line",
    "skills",
    "budget",
    "run_budget",
    "feedback",
    "wait",
    "continue",
    // The old name of `feedback`.
    "mends",
];

/// Roles of a session that are no role of a sub-agent: who reviews, and who does the work.
const SESSION_ROLES: [&str; 2] = ["reviewer", "worker"];

pub(super) fn read(node: &YamlNode<'_>, reader: &mut DefinitionReader<'_>) -> SessionSpec {
    let fields = reader.fields(node, "`session`", KEYS);
    if let (Some(_), Some(old)) = (fields.get("feedback"), fields.get("mends")) {
        let message = "`mends` is another name of `feedback`, and both are here";
        reader.find(FindingCode::E20, old.place, message, "keep `feedback`");
    }
    SessionSpec {
        agent: reader.template_of(fields.get("agent")),
        model: reader.template_of(fields.get("model")),
        role: reader.template_of(fields.get("role")),
        worktree: reader.template_of(fields.get("worktree")),
        permission: reader.template_of(fields.get("permission")),
        task: reader.template_of(fields.get("task")),
        section: reader.template_of(fields.get("section")),
        plan: reader.template_of(fields.get("plan")),
        line: reader.template_of(fields.get("line")),
        skills: reader.template_of(fields.get("skills")),
        budget: reader.template_of(fields.get("budget")),
        run_budget: reader.template_of(fields.get("run_budget")),
        feedback: reader.template_of(fields.get("feedback").or_else(|| fields.get("mends"))),
        wait: reader.template_of(fields.get("wait")),
        resume: reader.flag_of(fields.get("continue")),
    }
}

/// Whether a session of this workflow can have this role.
pub(in crate::workflow) fn is_session_role(workflow: &Workflow, role: &str) -> bool {
    known_roles(workflow).any(|known| known == role)
}

fn known_roles(workflow: &Workflow) -> impl Iterator<Item = &str> {
    workflow.roles.keys().map(Name::as_str).chain(ROLES).chain(SESSION_ROLES)
}

/// For how many minutes a question waits.
pub(in crate::workflow) fn parse_wait(word: &str) -> Option<f64> {
    word.parse().ok().filter(|minutes: &f64| minutes.is_finite() && *minutes > 0.0)
}

/// Refuses words that mean nothing in a session.
pub(super) fn check(workflow: &Workflow, reader: &mut DefinitionReader<'_>) {
    for step in &workflow.steps {
        let StepWork::Agent(agent) = &step.work else { continue };
        let Some(session) = &agent.session else { continue };
        if let Some((word, text)) = written(session.permission.as_ref())
            && word.parse::<Permission>().is_err()
        {
            let known: Vec<&str> = Permission::ALL.iter().map(|permission| permission.as_str()).collect();
            let message = format!("`{word}` is no permission");
            reader.find_at_start(FindingCode::E01, text.place, message, help_with_words(word, &known));
        }
        if let Some((word, text)) = written(session.role.as_ref())
            && !is_session_role(workflow, word)
        {
            let known: Vec<&str> = known_roles(workflow).collect();
            let message = format!("there is no role `{word}`");
            reader.find_at_start(FindingCode::E13, text.place, message, help_with_words(word, &known));
        }
        if let Some((word, text)) = written(session.wait.as_ref())
            && parse_wait(word).is_none()
        {
            let message = format!("`{word}` is no number of minutes");
            reader.find_at_start(FindingCode::E10, text.place, message, "write a number greater than 0");
        }
        for (word, text) in [&session.budget, &session.run_budget].into_iter().filter_map(|text| written(text.as_ref()))
        {
            if word.parse::<BudgetLimit>().is_err() {
                let help = "write `minutes=30 tokens=200000 cost=2.5`, each more than 0";
                reader.find_at_start(FindingCode::E10, text.place, format!("`{word}` is no budget"), help);
            }
        }
    }
}

/// A text without placeholders that says something.
fn written(text: Option<&PlacedValue<Template>>) -> Option<(&str, &PlacedValue<Template>)> {
    let text = text.filter(|text| text.value.is_literal())?;
    Some((text.text.trim(), text)).filter(|(word, _)| !word.is_empty())
}
