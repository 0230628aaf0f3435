//! Mistakes in a milestone plan, all of them at once.

use std::collections::{BTreeMap, BTreeSet};

use super::{ChangeKind, MilestonePlan, PlanMilestone, next_wave};

/// How far a plan has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MilestonePlanStage {
    /// It says what is to be done.
    Intent,
    /// It says how, in diffs.
    Diffs,
}

/// Endings of files that a diff is not asked for: their final text may stand in the plan.
const DOCUMENTS: [&str; 6] = [".md", ".mdx", ".markdown", ".rst", ".adoc", ".txt"];

/// What is wrong with a plan, in the order of the file.
pub fn plan_mistakes(plan: &MilestonePlan, stage: MilestonePlanStage) -> Vec<String> {
    let mut mistakes = Vec::new();
    if plan.title.is_empty() {
        mistakes.push("there is no title; begin with `# …`".to_owned());
    }
    if !plan.names_commit() {
        mistakes.push(format!("`- Base: {}` names no commit; write the one it was made for", plan.base));
    }
    if plan.kind.is_none() {
        mistakes.push("`- Kind:` below the title is missing; write `code` or `documentation`".to_owned());
    }
    if plan.milestones.is_empty() {
        mistakes.push("there are no milestones; write `### M1 …` below `## Milestones`".to_owned());
    }
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    let (mut seen, mut criteria) = (BTreeSet::new(), BTreeSet::new());
    for milestone in &plan.milestones {
        if !seen.insert(milestone.id.as_str()) {
            mistakes.push(format!("line {}: there are two milestones {}", milestone.line, milestone.id));
        }
        of_milestone(plan, milestone, &mut mistakes);
        for criterion in milestone.acceptance.iter().filter(|criterion| !criterion.id.is_empty()) {
            if !criteria.insert(criterion.id.as_str()) {
                mistakes.push(format!(
                    "line {}: {} is used twice; each criterion has its own id",
                    criterion.line, criterion.id
                ));
            }
        }
        for file in &milestone.files {
            if let Some(other) = owners.insert(file, &milestone.id) {
                mistakes.push(format!("`{file}` is in {other} and in {}; one file, one milestone", milestone.id));
            }
        }
        if stage == MilestonePlanStage::Diffs {
            of_diffs(plan, milestone, &mut mistakes);
        }
    }
    mistakes.extend(cycle(plan));
    mistakes
}

fn of_milestone(plan: &MilestonePlan, milestone: &PlanMilestone, mistakes: &mut Vec<String>) {
    let id = &milestone.id;
    let is_numbered = id.strip_prefix('M').is_some_and(|number| number.parse::<u32>().is_ok());
    if !is_numbered {
        mistakes.push(format!("line {}: `{id}` is no id of a milestone; write `### M1 …`", milestone.line));
    }
    for needed in &milestone.depends_on {
        if needed == id || plan.milestones.iter().all(|other| other.id != *needed) {
            mistakes.push(format!("{id} depends on {needed}, which is no other milestone"));
        }
    }
    if milestone.files.is_empty() {
        mistakes.push(format!("{id} names no files; list them in a table below `#### Files`"));
    }
    for file in milestone.files.iter().filter(|file| file.starts_with('/') || file.split('/').any(|part| part == ".."))
    {
        mistakes.push(format!("{id}: `{file}` leads out of the repository"));
    }
    if milestone.acceptance.is_empty() {
        mistakes.push(format!("{id} has no acceptance; list what can be observed as A1, A2, … below `- Acceptance:`"));
    }
    for criterion in milestone.acceptance.iter().filter(|criterion| criterion.id.is_empty()) {
        mistakes.push(format!("line {}: the criterion has no id; begin it with A1, A2, …", criterion.line));
    }
}

fn of_diffs(plan: &MilestonePlan, milestone: &PlanMilestone, mistakes: &mut Vec<String>) {
    let id = &milestone.id;
    for diff in &milestone.diffs {
        if diff.path.is_empty() {
            mistakes.push(format!(
                "line {}: the diff names no file; begin it with `--- a/PATH` and `+++ b/PATH`",
                diff.line
            ));
        } else if !milestone.files.contains(&diff.path) {
            mistakes.push(format!("line {}: `{}` is not among the files of {id}", diff.line, diff.path));
        }
    }
    if milestone.kind.or(plan.kind) == Some(ChangeKind::Documentation) {
        return;
    }
    let is_given = |file: &&String| {
        is_document(file)
            || milestone.intent_only.contains(file)
            || milestone.diffs.iter().any(|diff| diff.path == **file)
    };
    let absent = milestone.files.iter().filter(|file| !is_given(file));
    mistakes.extend(absent.map(|file| format!("{id}: `{file}` has no diff below `#### Changes`")));
}

/// Whether a file's final text may stand in the plan, by its name.
pub(super) fn is_document(file: &str) -> bool {
    let lower = file.to_lowercase();
    DOCUMENTS.iter().any(|ending| lower.ends_with(ending))
}

/// Milestones that wait for each other.
fn cycle(plan: &MilestonePlan) -> Option<String> {
    let mut given = Vec::new();
    loop {
        let wave = next_wave(plan, &given, None);
        if wave.is_empty() {
            break;
        }
        given.extend(wave.into_iter().map(|job| job.id));
    }
    let known = |id: &String| plan.milestones.iter().any(|milestone| milestone.id == *id);
    let waits = |milestone: &&PlanMilestone| !given.contains(&milestone.id) && milestone.depends_on.iter().all(known);
    let stuck: Vec<&str> = plan.milestones.iter().filter(waits).map(|milestone| milestone.id.as_str()).collect();
    (stuck.len() > 1).then(|| format!("{} wait for each other", stuck.join(", ")))
}
