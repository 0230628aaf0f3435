//! View models of the page: words and glyphs without markup. `looks` makes them.

mod entry;
mod looks;
mod permission;
mod session;

use serde::Serialize;

pub(super) use permission::{Ask, uncarried};
pub(super) use session::SessionView;

/// A hidden field of a form with the page it leads back to.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Back {
    name: &'static str,
    value: String,
}

/// A state: always a glyph and a word; the color repeats them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct State {
    /// working, waits, bad, rest or plain. There is no `good` yet: that takes evidence, not an agent's claim.
    tone: &'static str,
    glyph: &'static str,
    word: &'static str,
}

/// The first page.
#[derive(Debug, Serialize)]
pub(super) struct View {
    pub(super) now: i64,
    pub(super) seq: i64,
    /// The selected project.
    pub(super) project: Option<String>,
    pub(super) choices: Vec<Choice>,
    /// How many items wait for a person.
    pub(super) waiting: i64,
    /// How many sessions are working.
    pub(super) working: i64,
    pub(super) waits: Vec<Wait>,
    pub(super) asks: Vec<Ask>,
    pub(super) alive: i64,
    pub(super) running: Vec<Run>,
    pub(super) groups: Vec<Group>,
    pub(super) ended: i64,
    pub(super) ended_badly: Vec<Ended>,
    pub(super) ended_well: Vec<Ended>,
    pub(super) side: Side,
    pub(super) steps: Option<Steps>,
}

/// A project that can be chosen.
#[derive(Debug, Serialize)]
pub(super) struct Choice {
    id: String,
    name: String,
    chosen: bool,
}

/// An item that waits for a person.
#[derive(Debug, Serialize)]
pub(super) struct Wait {
    pub(super) id: String,
    state: State,
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
    told: Option<Told>,
    back: Option<Back>,
}

/// The last message sent to a session.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Told {
    text: String,
    state: &'static str,
    at: i64,
}

/// A session that has not ended.
#[derive(Debug, Serialize)]
pub(super) struct Run {
    pub(super) id: String,
    session: String,
    state: State,
    title: String,
    /// How many more tasks it has.
    others: usize,
    project: Option<String>,
    who: String,
    words: Option<String>,
    since: i64,
    /// When it was last active.
    heard: i64,
    paused: bool,
    name: String,
    role: &'static str,
    host: String,
    told: Option<Told>,
    back: Option<Back>,
}

/// The counts of a project's running sessions.
#[derive(Debug, Serialize)]
pub(super) struct Group {
    pub(super) id: String,
    project: String,
    name: String,
    working: i64,
    resting: i64,
}

/// A session that has ended.
#[derive(Debug, Serialize)]
pub(super) struct Ended {
    pub(super) id: String,
    session: String,
    state: State,
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
pub(super) struct Side {
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
    state: State,
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
pub(super) struct Steps {
    project: bool,
    task: bool,
    session: bool,
}
