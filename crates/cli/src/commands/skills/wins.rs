//! Typical tasks that a skill would win or lose, for its author.

use std::fmt::Write as _;
use std::sync::Arc;

use maestro_core::{RunId, StepKind};
use maestro_skills::{Catalogue, Skill, SkillSelector, TYPICAL_TASKS, TaskNeeds};
use serde::Serialize;
use serde_json::json;

use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::{clean, count};

/// How close a skill must come to a task for its loss to be worth a line: among so many.
const CLOSE: usize = 3;
/// Maximum number of tasks that are printed of each kind.
const SHOWN: usize = 20;

/// A typical task that a skill comes close to.
#[derive(Debug, Serialize)]
struct TaskContest {
    task: &'static str,
    /// Who gets it instead, where it is lost.
    winner: Option<String>,
}

pub(super) fn run(catalogue: &Arc<Catalogue>, skill: &Skill, world: &World) -> CommandResult {
    let selector = SkillSelector::new(Arc::clone(catalogue));
    let (mut won, mut lost) = (Vec::new(), Vec::new());
    for task in TYPICAL_TASKS.lines() {
        let needs = TaskNeeds { label: task, hints: &[], step: StepKind::Implementation, most: 2 };
        let record = selector.select(RunId::new(uuid::Uuid::now_v7()), needs).record;
        let is_it = |name: &str| name == skill.id.as_str();
        if record.skills.iter().any(|chosen| is_it(&chosen.name)) {
            won.push(TaskContest { task, winner: None });
        } else if record.detail.ranking.iter().take(CLOSE).any(|ranked| is_it(&ranked.name))
            && let Some(winner) = record.skills.into_iter().next()
        {
            lost.push(TaskContest { task, winner: Some(winner.name) });
        }
    }
    let tasks = TYPICAL_TASKS.lines().count();
    if world.json {
        return CommandOutput::json(&json!({ "name": skill.id, "tasks": tasks, "won": won, "lost": lost }));
    }
    let name = world.paint.skill(&clean(skill.id.as_str()));
    let mut text = format!("{name} gets {} of {tasks} typical tasks\n", won.len());
    for contest in won.iter().take(SHOWN) {
        let _ = writeln!(text, "  {}", clean(contest.task));
    }
    if !lost.is_empty() {
        let _ = writeln!(text, "\nComes close, but another skill wins {}", count(lost.len(), "task", "tasks"));
    }
    for contest in lost.iter().take(SHOWN) {
        let winner = contest.winner.as_deref().unwrap_or_default();
        let _ = writeln!(text, "  {}: {}", clean(winner), clean(contest.task));
    }
    Ok(CommandOutput::text(text))
}
