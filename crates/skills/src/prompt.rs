//! Prompt of a task: everything an agent receives about it.
//!
//! Instructions, the task, the table of skills, and the full text of those that were chosen, in this order. The text
//! comes with the events of its making: what was found, chosen, cut, or could not be loaded.

use std::collections::{BTreeSet, HashSet};

use maestro_core::event::{Event, RankedSkill, SkillsDiscovered, SkillsLoadFailed, SkillsTruncated};
use maestro_core::plan::TaskSelection;
use maestro_core::{ProblemSeverity, RunId, SessionRole, StepKind};

use crate::catalogue::Catalogue;
use crate::instructions::envelope;
use crate::render::{
    BodyPart, CutDescription, FittedTable, LoaderProgram, ReferenceMode, SkillTable, also_here, body, fit,
    offered_skills,
};
use crate::select::SelectionResult;
use crate::skill::{Skill, SkillSource, SkillType};

/// How much a prompt may hold.
#[derive(Debug, Clone, Copy)]
pub struct PromptLimits {
    /// Tokens for the table of skills.
    pub table_tokens: usize,
    /// Characters for the text of each chosen skill.
    pub body_chars: usize,
    /// What is done with references.
    pub references: ReferenceMode,
}

/// A prompt, and what happened while it was made.
#[derive(Debug)]
pub struct TaskPrompt {
    /// What the agent gets.
    pub text: String,
    /// What is worth writing down, in order.
    pub events: Vec<Event>,
    /// Descriptions that were shortened to fit.
    pub cut: Vec<CutDescription>,
    /// Skills that found no room in the table.
    pub left_out: Vec<String>,
}

/// The share of the threshold from which a skill counts as close.
const CLOSE: f64 = 1.0;
/// The workflows of ours that start agents.
const STARTS_AGENTS: [&str; 2] = ["plan-loop", "plan-task"];

const IMPLEMENT: &str = "\
You work on one task of a plan. Do this task and no other; what else you notice, report instead of changing it.
Read what is there before you change it, keep to the ways of this project, and check what you did.
Finish by saying what you changed, how you checked it and what the check printed. If it is not done, say so.";

const REVIEW: &str = "\
You review what was done for one task of a plan. Change nothing.
Look at the change itself and at what it touches. Say for each finding where it is, why it matters and whether it must,
should or could be fixed. If you find nothing, say what you looked at.";

/// The prompt for a task with the skills that were chosen for it.
pub fn task_prompt(
    task: &TaskSelection,
    details: Option<&str>,
    selection: &SelectionResult,
    catalogue: &Catalogue,
    limits: PromptLimits,
) -> TaskPrompt {
    let mut prompt = task_with_skills(task, details, selection, catalogue, limits);
    let instructions = match selection.record.step_kind {
        StepKind::Implementation => IMPLEMENT,
        StepKind::Review => REVIEW,
    };
    prompt.text.insert_str(0, &format!("{instructions}\n\n"));
    prompt
}

/// The same without instructions, for callers with their own.
pub fn task_with_skills(
    task: &TaskSelection,
    details: Option<&str>,
    selection: &SelectionResult,
    catalogue: &Catalogue,
    limits: PromptLimits,
) -> TaskPrompt {
    let run_id = selection.record.run_id;
    let mut prompt = TaskPrompt {
        text: task_section(task, details, selection.record.step_kind),
        events: discovery_events(run_id, catalogue),
        cut: Vec::new(),
        left_out: Vec::new(),
    };
    prompt.events.push(Event::SkillsSelected(selection.record.clone()));
    let fitted = skill_table(catalogue, selection, SessionRole::Worker, limits.table_tokens);
    if !fitted.text.is_empty() {
        prompt.text.push_str("\n\n");
        prompt.text.push_str(&fitted.text);
        prompt.cut = fitted.cut;
        prompt.left_out = fitted.left_out;
    }
    for skill in &selection.skills {
        prompt.load(run_id, skill, limits);
    }
    if let Some(list) = also_here(&selection.record, catalogue) {
        prompt.text.push_str("\n\n");
        prompt.text.push_str(list.trim_end());
    }
    prompt
}

impl TaskPrompt {
    /// Appends a chosen skill's text. One that cannot be read is reported and left out.
    fn load(&mut self, run_id: RunId, skill: &Skill, limits: PromptLimits) {
        let name = skill.id.as_str().to_owned();
        match body(skill, BodyPart::File, limits.references, limits.body_chars) {
            Err(error) => {
                self.events.push(Event::SkillsLoadFailed(SkillsLoadFailed { run_id, name, error: error.to_string() }));
            }
            Ok(body) => {
                self.text.push_str("\n\n");
                self.text.push_str(String::from_utf8_lossy(&envelope(skill, body.text.as_bytes())).trim_end());
                if body.truncated.is_some() {
                    let max_chars = limits.body_chars;
                    self.events.push(Event::SkillsTruncated(SkillsTruncated { run_id, name, max_chars }));
                }
            }
        }
    }
}

/// The table of the skills that a session of a role could use, most relevant first.
pub fn skill_table(
    catalogue: &Catalogue,
    selection: &SelectionResult,
    role: SessionRole,
    most_tokens: usize,
) -> FittedTable {
    let skills = by_relevance(catalogue, selection, role);
    if skills.is_empty() {
        return FittedTable::default();
    }
    fit(SkillTable::OpenSkills(LoaderProgram::Maestro), &skills, most_tokens)
}

/// Which task it is about, in its line and with all that is known of it.
pub fn task_section(task: &TaskSelection, details: Option<&str>, step: StepKind) -> String {
    let section = task.section.as_ref().map(|section| format!("(Section: {section})\n")).unwrap_or_default();
    let details = details.map(|details| format!("\n{}\n", details.trim())).unwrap_or_default();
    let label = &task.label;
    match step {
        StepKind::Implementation => {
            format!("## Selected Task\n\nWork on this specific task:\n> {label}\n{section}{details}")
        }
        StepKind::Review => {
            format!("## Task Under Review\n\nThe implementation is for this task:\n> {label}\n{section}{details}")
        }
    }
}

/// What was found, and what of it could not be loaded.
fn discovery_events(run_id: RunId, catalogue: &Catalogue) -> Vec<Event> {
    let locations: BTreeSet<String> = catalogue.skills.iter().map(|skill| skill.location.to_string()).collect();
    let names: Vec<String> = catalogue.skills.iter().map(|skill| skill.id.as_str().to_owned()).collect();
    let found = SkillsDiscovered { run_id, count: names.len(), locations: locations.into_iter().collect(), names };
    let failures = catalogue.broken.iter().map(|broken| {
        let errors = catalogue.problems_of(&broken.path).filter(|problem| problem.severity == ProblemSeverity::Error);
        let error = errors.map(|problem| {
            format!("{}:{}:{}: {}", problem.path.display(), problem.line, problem.column, problem.message)
        });
        let error = error.collect::<Vec<_>>().join("; ");
        Event::SkillsLoadFailed(SkillsLoadFailed { run_id, name: broken.name.clone(), error })
    });
    std::iter::once(Event::SkillsDiscovered(found)).chain(failures).collect()
}

/// The skills that a session of a role could use: those that were chosen, those that came close, then the rest in search
/// order. What came with Maestro is part of it only if it comes close: most tasks need none of that.
fn by_relevance<'a>(catalogue: &'a Catalogue, selection: &'a SelectionResult, role: SessionRole) -> Vec<&'a Skill> {
    let chosen = selection.skills.iter().map(AsRef::as_ref);
    let detail = &selection.record.detail;
    let is_close = |ranked: &&RankedSkill| ranked.score >= detail.threshold * CLOSE;
    let close = detail.ranking.iter().filter(is_close).filter_map(|ranked| catalogue.get(&ranked.name));
    let close = close.filter(|skill| skill.invocation.by_model);
    let others = offered_skills(catalogue).into_iter().filter(|skill| skill.source != SkillSource::Builtin);
    let mut seen = HashSet::new();
    let usable = close.chain(others).filter(|skill| is_usable(skill, role));
    chosen.chain(usable).filter(|skill| seen.insert(&skill.id)).collect()
}

/// Whether a session of a role could use a skill. Role skills are part of a session or of none, and what starts agents is
/// not for workers.
fn is_usable(skill: &Skill, role: SessionRole) -> bool {
    let for_role = skill.assign_to.is_empty() || skill.assign_to.iter().any(|to| to == "all" || to == role.as_str());
    let starts_agents = STARTS_AGENTS.contains(&skill.id.as_str()) && skill.source == SkillSource::Builtin;
    skill.kind == SkillType::Custom && for_role && (role == SessionRole::Orchestrator || !starts_agents)
}
