//! View models of the first screen: words and glyphs without markup. `mapping` makes them.

use serde::Serialize;

use crate::page::badge::StateBadge;
use crate::page::cards::{LastPrompt, PermissionCard, WaitingCard};

/// The first page.
#[derive(Debug, Serialize)]
pub(super) struct OverviewView {
    /// How many items wait for a person.
    pub(super) waiting: i64,
    pub(super) waits: Vec<WaitingCard>,
    pub(super) asks: Vec<PermissionCard>,
    pub(super) alive: i64,
    pub(super) running: Vec<SessionCard>,
    pub(super) groups: Vec<ProjectGroup>,
    pub(super) ended: i64,
    pub(super) ended_badly: Vec<EndedSessionCard>,
    pub(super) ended_well: Vec<EndedSessionCard>,
    pub(super) side: SidePanel,
    pub(super) steps: Option<FirstSteps>,
}

/// A session that has not ended.
#[derive(Debug, Serialize)]
pub(super) struct SessionCard {
    pub(super) id: String,
    pub(super) session: String,
    pub(super) state: StateBadge,
    pub(super) title: String,
    /// How many more tasks it has.
    pub(super) others: usize,
    pub(super) project: Option<String>,
    pub(super) who: String,
    pub(super) words: Option<String>,
    pub(super) since: i64,
    /// When it was last active.
    pub(super) active_at: i64,
    pub(super) paused: bool,
    pub(super) name: String,
    pub(super) role: &'static str,
    pub(super) host: String,
    pub(super) told: Option<LastPrompt>,
}

/// The counts of a project's running sessions.
#[derive(Debug, Serialize)]
pub(super) struct ProjectGroup {
    pub(super) id: String,
    pub(super) project: String,
    pub(super) name: String,
    pub(super) working: i64,
    pub(super) resting: i64,
}

/// A session that has ended.
#[derive(Debug, Serialize)]
pub(super) struct EndedSessionCard {
    pub(super) id: String,
    pub(super) session: String,
    pub(super) state: StateBadge,
    pub(super) title: String,
    pub(super) project: Option<String>,
    pub(super) who: String,
    /// The reason, where something else ended it.
    pub(super) reason: Option<&'static str>,
    pub(super) words: Option<String>,
    pub(super) at: i64,
    pub(super) took: i64,
}

/// The sidebar: counts.
#[derive(Debug, Serialize)]
pub(super) struct SidePanel {
    pub(super) projects: Vec<ProjectLine>,
    pub(super) tasks: Vec<TaskLine>,
    pub(super) handoffs: Vec<HandoffLine>,
    pub(super) more_handoffs: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct ProjectLine {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) working: i64,
    pub(super) alive: i64,
    pub(super) open: i64,
}

#[derive(Debug, Serialize)]
pub(super) struct TaskLine {
    pub(super) state: StateBadge,
    pub(super) count: i64,
}

#[derive(Debug, Serialize)]
pub(super) struct HandoffLine {
    pub(super) title: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) at: i64,
}

/// The progress through the first steps.
#[derive(Debug, Serialize)]
pub(super) struct FirstSteps {
    pub(super) project: bool,
    pub(super) task: bool,
    pub(super) session: bool,
}
