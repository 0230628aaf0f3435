//! View models of the page: words and glyphs without markup. `looks` makes them.

mod entry;
mod mapping;
mod permission;
mod session;

use serde::Serialize;

pub(super) use permission::{PermissionCard, decode};
pub(super) use session::SessionView;

/// A hidden field of a form with the page it leads back to.
#[derive(Debug, Clone, Serialize)]
pub(super) struct ReturnField {
    name: &'static str,
    value: String,
}

/// A state: always a glyph and a word; the color repeats them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct StateBadge {
    /// working, waits, bad, rest or plain. There is no `good` yet: that takes evidence, not an agent's claim.
    tone: &'static str,
    glyph: &'static str,
    word: &'static str,
}

/// The first page.
#[derive(Debug, Serialize)]
pub(super) struct OverviewView {
    pub(super) now: i64,
    pub(super) seq: i64,
    /// The selected project.
    pub(super) project: Option<String>,
    pub(super) choices: Vec<ProjectChoice>,
    /// How many items wait for a person.
    pub(super) waiting: i64,
    /// How many sessions are working.
    pub(super) working: i64,
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

/// A project that can be chosen.
#[derive(Debug, Serialize)]
pub(super) struct ProjectChoice {
    id: String,
    name: String,
    chosen: bool,
}

/// An item that waits for a person.
#[derive(Debug, Serialize)]
pub(super) struct WaitingCard {
    pub(super) id: String,
    state: StateBadge,
    who: Option<String>,
    title: String,
    project: Option<String>,
    text: String,
    pub(super) since: i64,
    /// The session that receives the answer.
    session: Option<String>,
    /// The task that can be reopened, where no session can receive an answer.
    task: Option<String>,
    /// The answer that was sent.
    told: Option<LastPrompt>,
    back: Option<ReturnField>,
}

/// The last message sent to a session.
#[derive(Debug, Clone, Serialize)]
pub(super) struct LastPrompt {
    text: String,
    state: &'static str,
    at: i64,
}

/// A session that has not ended.
#[derive(Debug, Serialize)]
pub(super) struct SessionCard {
    pub(super) id: String,
    session: String,
    state: StateBadge,
    title: String,
    /// How many more tasks it has.
    others: usize,
    project: Option<String>,
    who: String,
    words: Option<String>,
    since: i64,
    /// When it was last active.
    active_at: i64,
    paused: bool,
    name: String,
    role: &'static str,
    host: String,
    told: Option<LastPrompt>,
    back: Option<ReturnField>,
}

/// The counts of a project's running sessions.
#[derive(Debug, Serialize)]
pub(super) struct ProjectGroup {
    pub(super) id: String,
    project: String,
    name: String,
    working: i64,
    resting: i64,
}

/// A session that has ended.
#[derive(Debug, Serialize)]
pub(super) struct EndedSessionCard {
    pub(super) id: String,
    session: String,
    state: StateBadge,
    title: String,
    project: Option<String>,
    who: String,
    /// The reason, where something else ended it.
    reason: Option<&'static str>,
    words: Option<String>,
    at: i64,
    took: i64,
}

/// The sidebar: counts.
#[derive(Debug, Serialize)]
pub(super) struct SidePanel {
    projects: Vec<ProjectLine>,
    tasks: Vec<TaskLine>,
    handoffs: Vec<HandoffLine>,
    more_handoffs: bool,
}

#[derive(Debug, Serialize)]
struct ProjectLine {
    id: String,
    name: String,
    working: i64,
    alive: i64,
    open: i64,
}

#[derive(Debug, Serialize)]
struct TaskLine {
    state: StateBadge,
    count: i64,
}

#[derive(Debug, Serialize)]
struct HandoffLine {
    title: String,
    from: String,
    to: String,
    at: i64,
}

/// The progress through the first steps.
#[derive(Debug, Serialize)]
pub(super) struct FirstSteps {
    project: bool,
    task: bool,
    session: bool,
}
