//! View models of the first screen: words and glyphs without markup.

use serde::Serialize;

use crate::page::badge::StateBadge;
use crate::page::cards::LastPrompt;
use crate::page::run_overview::PhaseMark;

/// A run, or a session without one, that has not ended.
#[derive(Debug, Clone, Serialize)]
pub(super) struct RunningRow {
    pub(super) id: String,
    pub(super) href: String,
    pub(super) state: StateBadge,
    pub(super) title: String,
    pub(super) project: Option<String>,
    /// Its phases; empty where it has only one.
    pub(super) strip: Vec<PhaseMark>,
    pub(super) round: Option<u32>,
    /// The step it is at, where it has no strip.
    pub(super) step: Option<String>,
    pub(super) who: String,
    pub(super) words: Option<String>,
    pub(super) skills: Vec<String>,
    pub(super) more_skills: usize,
    pub(super) done: Option<usize>,
    pub(super) all: Option<usize>,
    pub(super) since: i64,
    /// When it was last active, while it works.
    pub(super) active_at: Option<i64>,
    pub(super) money: Option<String>,
    /// Where pause and resume are sent; nothing where it cannot be steered.
    pub(super) steer: Option<String>,
    pub(super) paused: bool,
    /// The session that receives messages.
    pub(super) session: Option<String>,
    pub(super) told: Option<LastPrompt>,
}

/// The counts of what runs in a project.
#[derive(Debug, Serialize)]
pub(super) struct ProjectGroup {
    pub(super) id: String,
    pub(super) project: String,
    pub(super) name: String,
    pub(super) working: usize,
    pub(super) waiting: usize,
    pub(super) resting: usize,
}

/// A run that can be reviewed.
#[derive(Debug, Serialize)]
pub(super) struct ReadyRow {
    pub(super) id: String,
    pub(super) href: String,
    pub(super) title: String,
    pub(super) project: Option<String>,
    pub(super) added: usize,
    pub(super) removed: usize,
    pub(super) files: usize,
    pub(super) checks: usize,
    pub(super) at: i64,
}

/// Something that stopped.
#[derive(Debug, Serialize)]
pub(super) struct StoppedRow {
    pub(super) id: String,
    pub(super) href: String,
    pub(super) title: String,
    pub(super) project: Option<String>,
    pub(super) who: String,
    pub(super) reason: String,
    pub(super) at: i64,
    /// The one thing that helps: its name, and where it is sent. Without it, it is opened.
    pub(super) help: Option<(&'static str, String)>,
    /// Where it can be reviewed and allowed, where it lacks consent.
    pub(super) review: Option<String>,
}

/// Something that is done.
#[derive(Debug, Serialize)]
pub(super) struct DoneLink {
    pub(super) href: String,
    pub(super) title: String,
}

/// What happened since the last visit, in numbers.
#[derive(Debug, Serialize)]
pub(super) struct VisitSummary {
    /// When the person was last here, where that is known.
    pub(super) since: Option<i64>,
    pub(super) done: usize,
    pub(super) stopped: usize,
    pub(super) took: Option<String>,
    pub(super) money: Option<String>,
    pub(super) unreported: i64,
    pub(super) merged: Vec<DoneLink>,
    pub(super) reported: Vec<DoneLink>,
    /// How many more are done than are named.
    pub(super) more: usize,
}

/// The sidebar.
#[derive(Debug, Serialize)]
pub(super) struct SidePanel {
    pub(super) plans: Vec<PlanLine>,
    pub(super) agents: Vec<AgentLine>,
    pub(super) skills: usize,
    pub(super) broken_skills: usize,
}

/// A plan that is worked through.
#[derive(Debug, Serialize)]
pub(super) struct PlanLine {
    pub(super) path: String,
    pub(super) href: String,
    pub(super) done: usize,
    pub(super) all: usize,
    pub(super) now: Option<String>,
    pub(super) state: StateBadge,
}

/// An agent that is installed.
#[derive(Debug, Serialize)]
pub(super) struct AgentLine {
    pub(super) name: String,
    pub(super) running: usize,
    /// How many of its sessions wait for a person.
    pub(super) waiting: usize,
    /// Until when its model provider refuses it, as the provider said.
    pub(super) limit: Option<String>,
}

/// The progress through the first steps.
#[derive(Debug, Serialize)]
pub(super) struct FirstSteps {
    pub(super) demo: bool,
    pub(super) task: bool,
    pub(super) connected: bool,
    /// The agents that were looked for in vain; empty where there is one.
    pub(super) missing: Vec<String>,
}
