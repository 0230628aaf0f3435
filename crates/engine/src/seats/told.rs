//! What is an agent told that works at a step of a run?

use std::fmt::Write as _;

use maestro_core::StepKind;
use maestro_core::agent::spawn::GivenSkill;
use maestro_core::agent::{Protocol, protocol};
use maestro_core::event::RunId;
use maestro_core::plan::{TaskSelection, skill_hints};
use maestro_core::workflow::Outcome;
use maestro_core::workflow::directive::Directive;
use maestro_core::workflow::run::Seat;
use maestro_skills::render::{Part, body};
use maestro_skills::{Selector, TaskNeeds, task_prompt};
use maestro_store::hash;
use serde_json::Value as Json;

use super::Events;
use crate::builtins::Skills;

/// How long a session's name is.
const NAME: usize = 60;

/// What an agent is told, and what is told of it.
pub(super) struct Composed {
    pub(super) text: String,
    pub(super) skills: Vec<GivenSkill>,
    pub(super) events: Events,
}

/// The words of the step, the task with its skills, and how to report, in this order.
pub(super) fn composed(
    run: RunId,
    seat: &Seat,
    directive: &Directive,
    step: StepKind,
    skills: Result<Skills, String>,
) -> Composed {
    let mut composed = Composed { text: instructions(directive), skills: Vec::new(), events: Vec::new() };
    if let (Some(label), Ok(skills)) = (&seat.task, skills) {
        let task = TaskSelection {
            skill_hints: skill_hints(label),
            label: label.clone(),
            line_number: 1,
            section: seat.section.clone(),
        };
        let most = if step == StepKind::Review { skills.most_review } else { skills.most };
        let needs = TaskNeeds { label: &task.label, hints: &task.skill_hints, step, most };
        let selection = Selector::for_task(skills.catalogue.clone(), &task.label).select(run, needs);
        let prompt = task_prompt(&task, &selection, &skills.catalogue, skills.limits);
        composed.skills = selection
            .skills
            .iter()
            .filter_map(|skill| {
                let read = body(skill, Part::File, skills.limits.references, skills.limits.body_chars).ok()?;
                let (id, path) = (skill.id.to_string(), skill.path.display().to_string());
                // The text itself stands in the prompt already.
                Some(GivenSkill { id, path, hash: hash(read.text.as_bytes()), text: String::new() })
            })
            .collect();
        let _ = write!(composed.text, "\n\n{}", prompt.text);
        composed.events = prompt.events;
    }
    let _ = write!(composed.text, "\n\n{}\n{}", protocol(Protocol::Commands), verdict(directive));
    composed
}

/// What the step says: its brief, what to do and what not, and what to work with.
fn instructions(directive: &Directive) -> String {
    let mut text =
        format!("# {}\n\n{}", directive.step.title, directive.step.brief.as_deref().unwrap_or_default().trim());
    for action in &directive.actions {
        let _ = write!(text, "\n- {}", action.trim());
    }
    for line in &directive.forbidden {
        let _ = write!(text, "\n- Never: {}", line.trim());
    }
    for (name, value) in &directive.data {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if !matches!(value.trim(), "" | "null" | "[]") {
            let _ = write!(text, "\n\n## {name}\n\n{}", value.trim());
        }
    }
    text
}

/// How to say what the step ended with, where that is more than being done.
fn verdict(directive: &Directive) -> String {
    if directive.outcomes.contains(&Outcome::OK) {
        return String::new();
    }
    let command = |outcome: &Outcome| {
        let words: Vec<&str> =
            directive.report.iter().map(|word| if word == "OUTCOME" { outcome.as_str() } else { word }).collect();
        format!("- `{}`", words.join(" "))
    };
    let commands: Vec<String> = directive.outcomes.iter().map(command).collect();
    let fields: Vec<String> = directive
        .result
        .iter()
        .map(|(name, field)| {
            let told = field.get("description").and_then(Json::as_str).unwrap_or_default();
            format!("- `{name}`: {told}")
        })
        .collect();
    let result = if fields.is_empty() {
        String::new()
    } else {
        format!("\nWhat it reads on its standard input is a JSON object of\n\n{}\n", fields.join("\n"))
    };
    format!(
        "\n## Your verdict\n\nBefore you run `maestro complete`, run one of these; without it your work counts as failed:\n\n{}\n{result}",
        commands.join("\n")
    )
}

/// What people call the session.
pub(super) fn name(seat: &Seat, directive: &Directive) -> String {
    let about = seat.task.as_deref().unwrap_or(&directive.workflow);
    let name = format!("{}: {about}", directive.step.title);
    match name.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name,
    }
}

/// What came of a session, in a line.
pub(super) fn summary(outcome: &Json, directive: &Directive) -> String {
    let reasons = outcome["reasons"].as_array().into_iter().flatten().filter_map(Json::as_str);
    let reasons: Vec<&str> = reasons.chain(outcome["reason"].as_str()).collect();
    match reasons.as_slice() {
        [] if outcome["kind"] == "done" && !directive.outcomes.contains(&Outcome::OK) => {
            format!("`{}` ended without a verdict", directive.step.title)
        }
        [] => outcome["kind"].as_str().unwrap_or("unknown").to_owned(),
        reasons => reasons.join("; "),
    }
}
