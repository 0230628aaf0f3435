//! Notices for a person who is not watching: what waits, stopped or is ready, and the command that goes on from there.

use serde::{Deserialize, Serialize};

use crate::excerpt;

/// How many characters of a text a notice has.
const MOST_CHARS: usize = 500;

crate::word_enum! {
    /// What a notice is about.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum NoticeState {
        /// Something waits for an answer.
        Waiting = "waiting",
        /// A run stopped before it was done.
        Stopped = "stopped",
        /// A run is done.
        Ready = "ready",
    }
}

/// A notice, as programs read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonNotice {
    /// What it is about.
    pub state: NoticeState,
    /// What happened, in a few words.
    pub what: String,
    /// The command that answers or goes on.
    pub command: String,
    /// The run, where it is about one.
    pub run: Option<String>,
    /// The session, where it is about one.
    pub session: Option<String>,
}

impl PersonNotice {
    /// A notice with as much of a text as fits.
    pub fn new(state: NoticeState, what: &str, command: String) -> Self {
        let what = excerpt::ellipsize(&excerpt::one_line(what), MOST_CHARS);
        Self { state, what, command, run: None, session: None }
    }

    /// The same, about a run.
    #[must_use]
    pub fn about_run(self, run: &str) -> Self {
        Self { run: Some(run.to_owned()), ..self }
    }

    /// The same, about a session.
    #[must_use]
    pub fn about_session(self, session: &str) -> Self {
        Self { session: Some(session.to_owned()), ..self }
    }

    /// The notice in a line.
    pub fn line(&self) -> String {
        format!("{}: {} ({})", self.state.as_str(), self.what, self.command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_short_and_names_the_command() {
        let notice = PersonNotice::new(NoticeState::Ready, &"a\nb ".repeat(1000), "maestro merge r".to_owned());
        assert!(notice.what.chars().count() <= MOST_CHARS + 1 && !notice.what.contains('\n'));
        assert!(notice.line().starts_with("ready: a b a b") && notice.line().ends_with("(maestro merge r)"));
    }
}
