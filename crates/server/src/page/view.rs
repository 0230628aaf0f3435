//! What stands on the screen? Words and glyphs, no markup; how they come about is in `looks`.

mod entry;
mod looks;
mod permission;
mod session;

use serde::Serialize;

pub(super) use permission::{Ask, uncarried};
pub(super) use session::SessionView;

/// A field of a form by which it leads back to the screen it was sent from.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Back {
    name: &'static str,
    value: String,
}

/// A state: always a glyph and a word, and a colour only for what everybody can rely on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct State {
    /// working, waits, bad, rest or plain. There is no good one yet: that takes evidence, not an agent's word.
    tone: &'static str,
    glyph: &'static str,
    word: &'static str,
}

/// The whole screen.
#[derive(Debug, Serialize)]
pub(super) struct View {
    pub(super) now: i64,
    pub(super) seq: i64,
    /// The project looked at.
    pub(super) project: Option<String>,
    pub(super) choices: Vec<Choice>,
    /// How many things wait for a person.
    pub(super) waiting: i64,
    /// How many sessions work.
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

/// Something that waits for a person.
#[derive(Debug, Serialize)]
pub(super) struct Wait {
    pub(super) id: String,
    state: State,
    who: Option<String>,
    title: String,
    project: Option<String>,
    text: String,
    pub(super) since: i64,
    /// Whom an answer goes to.
    session: Option<String>,
    /// What can be opened again, where nobody is there to answer.
    task: Option<String>,
    /// What was answered.
    told: Option<Told>,
    back: Option<Back>,
}

/// What a session was told last.
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
    /// How many tasks it has besides.
    others: usize,
    project: Option<String>,
    who: String,
    words: Option<String>,
    since: i64,
    /// When it was last heard of.
    heard: i64,
    paused: bool,
    name: String,
    role: &'static str,
    host: String,
    told: Option<Told>,
    back: Option<Back>,
}

/// A project's running sessions as numbers.
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
    /// Why, where something else ended it.
    reason: Option<&'static str>,
    words: Option<String>,
    at: i64,
    took: i64,
}

/// What stands beside: numbers.
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

/// How far somebody is who has just begun.
#[derive(Debug, Serialize)]
pub(super) struct Steps {
    project: bool,
    task: bool,
    session: bool,
}
