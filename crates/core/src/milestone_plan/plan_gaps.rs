//! Gaps of a milestone plan: what it leaves open though each of its parts is well formed.

use super::plan_mistakes::is_document;
use super::{ChangeKind, MilestonePlan, MilestonePlanStage, PlanMilestone};

/// Endings of pictures, which belong to documents.
const PICTURES: [&str; 6] = [".svg", ".png", ".jpg", ".jpeg", ".gif", ".webp"];
/// Names of documents that have no ending.
const DOCUMENT_NAMES: [&str; 5] = ["README", "CHANGELOG", "LICENSE", "NOTICE", "AUTHORS"];
/// How the names of texts begin that programs read.
const SETTINGS: [&str; 3] = ["cmakelists", "constraints", "requirements"];

/// What a plan leaves open: code that calls itself documentation, changes without a diff, requirements that nothing serves.
pub fn plan_gaps(plan: &MilestonePlan, stage: MilestonePlanStage) -> Vec<String> {
    let mut gaps = Vec::new();
    for milestone in &plan.milestones {
        of_kind(plan, milestone, &mut gaps);
        let unknown = milestone.requirements.iter().filter(|id| !plan.requirements.contains(id));
        gaps.extend(unknown.map(|id| format!("{} serves {id}, which `## Task` does not have", milestone.id)));
        if stage == MilestonePlanStage::Diffs {
            gaps.extend(without_diff(plan, milestone));
        }
    }
    let served = |id: &&String| plan.milestones.iter().any(|milestone| milestone.requirements.contains(id));
    let unserved: Vec<&str> = plan.requirements.iter().filter(|id| !served(id)).map(String::as_str).collect();
    if !unserved.is_empty() && !plan.milestones.is_empty() {
        gaps.push(format!("no milestone serves {}; name it below `- Requirements:`", unserved.join(", ")));
    }
    gaps
}

fn kind(plan: &MilestonePlan, milestone: &PlanMilestone) -> Option<ChangeKind> {
    milestone.kind.or(plan.kind)
}

/// What calls itself documentation has no diffs to try and no code to review.
fn of_kind(plan: &MilestonePlan, milestone: &PlanMilestone, gaps: &mut Vec<String>) {
    let id = &milestone.id;
    if kind(plan, milestone) == Some(ChangeKind::Documentation) {
        let code: Vec<String> =
            milestone.files.iter().filter(|file| !is_documentation(file)).map(|file| format!("`{file}`")).collect();
        if !code.is_empty() {
            let (verb, which) = if code.len() == 1 { ("is no document", "it") } else { ("are no documents", "them") };
            gaps.push(format!("{id}: {} {verb}; write `Kind: code`, or leave {which} out", code.join(", ")));
        }
    }
    if plan.kind == Some(ChangeKind::Documentation) && milestone.kind == Some(ChangeKind::Code) {
        gaps.push(format!("{id} changes code, and the plan's kind is `documentation`; write `- Kind: code` there"));
    }
}

/// Single files may be without a diff of their own; a milestone of code without any has nothing that could be tried.
fn without_diff(plan: &MilestonePlan, milestone: &PlanMilestone) -> Option<String> {
    let is_code = kind(plan, milestone) != Some(ChangeKind::Documentation);
    let is_excused = |file: &String| is_document(file) || milestone.intent_only.contains(file);
    if !is_code || !milestone.diffs.is_empty() || milestone.files.is_empty() || !milestone.files.iter().all(is_excused)
    {
        return None;
    }
    let or = if milestone.files.iter().all(|file| is_documentation(file)) {
        ", or say `- Kind: documentation` of it"
    } else {
        ""
    };
    Some(format!("{} has no diff at all; write at least one below `#### Changes`{or}", milestone.id))
}

/// Whether a plan that calls itself documentation may name this file. Programs among the documents are none.
fn is_documentation(file: &str) -> bool {
    let lower = file.to_lowercase();
    let name = lower.rsplit('/').next().unwrap_or(&lower);
    let is_plain = name.rsplit_once('.').is_some_and(|(_, ending)| ending == "txt");
    let is_setting = is_plain && SETTINGS.iter().any(|begin| name.starts_with(begin));
    let is_text = is_document(file) && !is_setting;
    is_text
        || PICTURES.iter().any(|ending| name.ends_with(ending))
        || DOCUMENT_NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
}
