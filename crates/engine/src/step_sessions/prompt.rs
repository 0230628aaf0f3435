//! Prompt for the agent that works at a step of a run.

use std::fmt::Write as _;

use maestro_core::StepKind;
use maestro_core::agent::spawn::{PlanTaskText, SkillContent};
use maestro_core::agent::{FIND_SKILLS, ReportProtocol, SessionOutcome, protocol_text};
use maestro_core::event::{Event, RunId};
use maestro_core::excerpt::{ellipsize, head_and_tail, one_line};
use maestro_core::hidden_chars::remove_hidden;
use maestro_core::plan::{PlanItem, TaskSelection, skill_hints};
use maestro_core::workflow::StepOutcome;
use maestro_core::workflow::directive::Directive;
use maestro_core::workflow::render::{field_meaning, field_type, render_guidance};
use maestro_core::workflow::run::SessionRequest;
use maestro_skills::render::{BodyPart, body};
use maestro_skills::{SkillSelector, TaskNeeds, task_section, task_with_skills};
use maestro_store::hash_secret;
use serde_json::Value as Json;

use super::earlier_sessions::EarlierSessions;
use super::result::field;
use super::skip::is_verdict;
use crate::host::{HostError, ProjectSkills};

/// How long a session's name is.
const NAME: usize = 60;
/// How much of the start of a long text is included, in characters.
const BEGINNING: usize = 100;
/// How much of how it ends.
const END: usize = 200;
/// How long the title of something done is.
const TITLE: usize = 200;

/// A prompt, and the events about it.
#[derive(Debug)]
pub struct StepPrompt {
    /// Word for word.
    pub text: String,
    /// The skills whose texts are in it.
    pub skills: Vec<SkillContent>,
    /// What happened while it was composed.
    pub events: Vec<Event>,
    /// The task that it is about.
    pub task: Option<PlanTaskText>,
}

/// The content and the recipient of a prompt.
pub(super) struct PromptBuilder<'a> {
    pub(super) run: RunId,
    pub(super) seat: &'a SessionRequest,
    pub(super) directive: &'a Directive,
    pub(super) step: StepKind,
    pub(super) skills: Result<ProjectSkills, HostError>,
    /// The project's own words, which stand in place of ours.
    pub(super) own: Option<String>,
    /// The task as its plan has it.
    pub(super) item: Option<PlanItem>,
    /// The commands that check the work afterwards.
    pub(super) checks: Vec<String>,
    /// What sessions before it were told, and how the last attempt ended.
    pub(super) earlier: EarlierSessions,
}

impl PromptBuilder<'_> {
    /// The words of the step, the task with its skills, and how to report, in this order.
    pub(super) fn build(self) -> StepPrompt {
        let mut composed = StepPrompt { text: self.opening(), skills: Vec::new(), events: Vec::new(), task: None };
        if let Some(label) = &self.seat.task {
            composed.text.push_str("\n\n");
            let text = self.task_text(label);
            let mut named = skill_hints(label);
            named.extend(self.item.iter().flat_map(PlanItem::skill_hints));
            let mut hints = Vec::new();
            for hint in named {
                if !hints.contains(&hint) {
                    hints.push(hint);
                }
            }
            let task = TaskSelection {
                skill_hints: hints,
                label: label.clone(),
                line_number: 1,
                section: self.seat.section.clone(),
            };
            let details = text.details.as_deref();
            match (&self.skills, SkillChoice::of(self.seat)) {
                (Ok(skills), choice) if choice.is_any(skills) => {
                    self.with_skills(&task, details, skills, choice, &mut composed);
                    let _ = write!(composed.text, "\n\n{FIND_SKILLS}");
                }
                _ => composed.text.push_str(&task_section(&task, details, self.step)),
            }
            composed.task = Some(text);
        }
        composed.text.push_str(&self.earlier.text());
        composed.text.push_str(&self.upcoming_checks());
        let report =
            format!("\n\n{}\n{}", protocol_text(ReportProtocol::Commands), verdict_instructions(self.directive));
        composed.text.push_str(&report);
        // Plans, findings and outputs are strangers' texts, too.
        composed.text = remove_hidden(&composed.text).into_owned();
        composed
    }

    /// The commands that the work must pass, so that the agent can run them itself.
    fn upcoming_checks(&self) -> String {
        let mut text = String::new();
        for (index, check) in self.checks.iter().enumerate() {
            text.push_str(if index == 0 {
                "\n\n## Checks\n\nWhen you are done, these run and must pass:\n"
            } else {
                ""
            });
            let _ = write!(text, "\n- `{check}`");
        }
        text
    }

    /// The task with all that its plan says about it.
    fn task_text(&self, label: &str) -> PlanTaskText {
        let plan = self.seat.plan.as_deref().filter(|_| self.item.is_some());
        let details = self.item.as_ref().zip(plan).map(|(item, plan)| item.describe(plan));
        let line = self.item.as_ref().map(|item| item.line_number);
        PlanTaskText { label: label.to_owned(), plan: plan.map(str::to_owned), line, details }
    }

    fn with_skills(
        &self,
        task: &TaskSelection,
        details: Option<&str>,
        skills: &ProjectSkills,
        choice: SkillChoice,
        composed: &mut StepPrompt,
    ) {
        let settings = &skills.settings;
        let most = match self.step {
            StepKind::Review => &settings.skills_max_selected_review,
            StepKind::Implementation => &settings.skills_max_selected_impl,
        };
        let (most, limits) = (most.value.into(), skills.prompt_limits());
        let select = |label: &str, hints: &[String], most: usize| {
            let needs = TaskNeeds { label, hints, step: self.step, most };
            SkillSelector::for_task(skills.catalogue.clone(), label).select(self.run, needs)
        };
        let selection = match choice {
            // Without a word of the task nothing but what is named can be chosen.
            SkillChoice::Named(names) => {
                let mut selection = select("", &names, names.len());
                task.label.clone_into(&mut selection.record.task_label);
                selection
            }
            SkillChoice::Settings | SkillChoice::None => select(&task.label, &task.skill_hints, most),
        };
        let prompt = task_with_skills(task, details, &selection, &skills.catalogue, limits);
        let given = selection.skills.iter().filter_map(|skill| {
            let read = body(skill, BodyPart::File, limits.references, limits.body_chars);
            let warn = |error: &_| tracing::warn!(skill = %skill.id, "its text cannot be read: {error}");
            let read = read.inspect_err(warn).ok()?;
            let (id, path) = (skill.id.to_string(), skill.path.display().to_string());
            // The text itself stands in the prompt already.
            Some(SkillContent { id, path, hash: hash_secret(read.text.as_bytes()), text: String::new() })
        });
        composed.skills = given.collect();
        composed.text.push_str(&prompt.text);
        composed.events = prompt.events;
    }

    /// How to work: the project's own words or those of the step, and what to work with.
    fn opening(&self) -> String {
        let mut text = match &self.own {
            Some(own) => own.trim().to_owned(),
            None => instructions(self.directive),
        };
        for (name, value) in &self.directive.data {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            if !matches!(value.trim(), "" | "null" | "[]") {
                let _ = write!(text, "\n\n## {name}\n\n{}", value.trim());
            }
        }
        let guidance = render_guidance(self.directive);
        if !guidance.is_empty() {
            let _ = write!(text, "\n\n{}", guidance.trim());
        }
        text
    }
}

/// Which skills an agent gets.
enum SkillChoice {
    /// Those that fit, if the settings say that it gets any.
    Settings,
    /// None.
    None,
    /// These.
    Named(Vec<String>),
}

impl SkillChoice {
    fn of(seat: &SessionRequest) -> Self {
        match seat.skills.as_deref() {
            None | Some("auto") => Self::Settings,
            Some("none") => Self::None,
            Some(names) => Self::Named(
                names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            ),
        }
    }

    fn is_any(&self, skills: &ProjectSkills) -> bool {
        match self {
            Self::Settings => skills.settings.skills_enabled.value,
            Self::None => false,
            Self::Named(_) => true,
        }
    }
}

/// What the step says: its brief, what to do and what not.
fn instructions(directive: &Directive) -> String {
    let mut text = format!("# {}\n", directive.step.title);
    if let Some(brief) = directive.step.brief.as_deref().map(str::trim).filter(|brief| !brief.is_empty()) {
        let _ = write!(text, "\n{brief}");
    }
    for action in &directive.actions {
        let _ = write!(text, "\n- {}", action.trim());
    }
    for line in &directive.forbidden {
        let _ = write!(text, "\n- Never: {}", line.trim());
    }
    text
}

/// The outcomes of which the agent must report one; none where being done is one of them and says all.
pub(super) fn verdicts(directive: &Directive) -> impl Iterator<Item = &StepOutcome> {
    let is_done_enough = !judges(directive) && !has_own_result(directive);
    directive.outcomes.iter().filter(move |outcome| !is_done_enough && is_verdict(outcome))
}

/// Whether the agent judges work: being done is none of its outcomes.
pub(super) fn judges(directive: &Directive) -> bool {
    !decides_by_result(directive) && !directive.outcomes.contains(&StepOutcome::OK)
}

/// Whether what the step ended with follows from the result that its agent reports.
pub(super) fn decides_by_result(directive: &Directive) -> bool {
    directive.outcomes.is_empty() && has_own_result(directive)
}

/// Whether the step's result has fields that only its agent knows.
fn has_own_result(directive: &Directive) -> bool {
    let known = [field::SUMMARY, field::PROMISE, field::CHANGED];
    directive.result.keys().any(|name| !known.contains(&name.as_str()))
}

/// How to say what the step ended with, where that is more than being done.
pub(super) fn verdict_instructions(directive: &Directive) -> String {
    let command = |outcome: &StepOutcome| {
        let words: Vec<&str> =
            directive.report.iter().map(|word| if word == "OUTCOME" { outcome.as_str() } else { word }).collect();
        words.join(" ")
    };
    let mut commands: Vec<String> = verdicts(directive).map(command).collect();
    if decides_by_result(directive) {
        commands.push(directive.report.join(" "));
    }
    if commands.is_empty() {
        return String::new();
    }
    let shown = if judges(directive) { commands.last() } else { commands.first() };
    let result = shown.filter(|_| !directive.result.is_empty());
    let result = result.map(|command| report_instructions(command, directive)).unwrap_or_default();
    let commands: Vec<String> = commands.iter().map(|command| format!("- `{command}`")).collect();
    format!(
        "\n## Your {}\n\nBefore you run `maestro complete`, run {}; without it your work counts as failed:\n\n{}\n{result}",
        if judges(directive) { "verdict" } else { "result" },
        if commands.len() == 1 { "this" } else { "one of these" },
        commands.join("\n")
    )
}

/// What stands for the value of a field.
fn example(field: &Json) -> &'static str {
    match field.get("type").and_then(Json::as_str) {
        Some("list") => "[…]",
        Some("object") => "{…}",
        Some("int" | "number") => "0",
        Some("bool") => "true",
        _ => "\"…\"",
    }
}

/// How to report a result. This form needs no permission, whatever the agent may do, and accepts any text.
fn report_instructions(command: &str, directive: &Directive) -> String {
    let keys: Vec<String> =
        directive.result.iter().map(|(name, field)| format!("\"{name}\": {}", example(field))).collect();
    let kind = |field: &Json| match field_type(field).as_str() {
        "string" => String::new(),
        kind => format!(" ({kind})"),
    };
    let fields: Vec<String> = directive
        .result
        .iter()
        .map(|(name, field)| format!("- `{name}`{}: {}", kind(field), field_meaning(field)))
        .collect();
    format!(
        "\nThey read a JSON object on their standard input; give it to them like this:\n\n```sh\n{command} <<'END'\n{{{}}}\nEND\n```\n\n{}\n",
        keys.join(", "),
        fields.join("\n")
    )
}

/// What people call the session.
pub(super) fn name(seat: &SessionRequest, directive: &Directive) -> String {
    let about = seat.task.as_deref().unwrap_or(&directive.workflow);
    ellipsize(&format!("{}: {about}", directive.step.title), NAME)
}

/// The first line of something said, short enough for a title.
pub(super) fn line(said: &str) -> String {
    let line = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    ellipsize(line, TITLE)
}

/// A message in one line; of a long one, its start and its end.
pub(super) fn shorten(said: &str) -> String {
    head_and_tail(&one_line(said), BEGINNING, END)
}

/// The result of a session, in a line.
pub(super) fn summary(outcome: &SessionOutcome, directive: &Directive) -> String {
    match outcome.result.reasons() {
        [] if outcome.is_done() && decides_by_result(directive) => {
            format!("`{}` ended without its result", directive.step.title)
        }
        [] if outcome.is_done() && !directive.outcomes.contains(&StepOutcome::OK) => {
            format!("`{}` ended without a verdict", directive.step.title)
        }
        [] => outcome.result.word().to_owned(),
        reasons => reasons.join("; "),
    }
}
