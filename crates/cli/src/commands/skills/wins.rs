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

/// The typical tasks that a skill would get, and those that it comes close to.
pub(super) struct TaskContests {
    won: Vec<TaskContest>,
    lost: Vec<TaskContest>,
}

pub(super) fn run(catalogue: &Arc<Catalogue>, skill: &Skill, world: &World) -> CommandResult {
    let contests = TaskContests::of(catalogue, skill);
    if world.json {
        return contests.to_json(skill);
    }
    Ok(CommandOutput::text(contests.to_text(skill, world)))
}

impl TaskContests {
    pub(super) fn of(catalogue: &Arc<Catalogue>, skill: &Skill) -> Self {
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
        Self { won, lost }
    }

    pub(super) fn to_json(&self, skill: &Skill) -> CommandResult {
        let tasks = TYPICAL_TASKS.lines().count();
        CommandOutput::json(&json!({ "name": skill.id, "tasks": tasks, "won": self.won, "lost": self.lost }))
    }

    pub(super) fn to_text(&self, skill: &Skill, world: &World) -> String {
        let tasks = TYPICAL_TASKS.lines().count();
        let name = world.paint.skill(&clean(skill.id.as_str()));
        let mut text = format!("{name} gets {} of {tasks} typical tasks\n", self.won.len());
        for contest in self.won.iter().take(SHOWN) {
            let _ = writeln!(text, "  {}", clean(contest.task));
        }
        if !self.lost.is_empty() {
            let _ = writeln!(text, "\nComes close, but another skill wins {}", count(self.lost.len(), "task", "tasks"));
        }
        for contest in self.lost.iter().take(SHOWN) {
            let winner = contest.winner.as_deref().unwrap_or_default();
            let _ = writeln!(text, "  {}: {}", clean(winner), clean(contest.task));
        }
        text
    }
}
