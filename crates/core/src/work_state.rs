//! State of a piece of work as people read it: one list for runs, sessions and tasks.

use serde::{Deserialize, Serialize};

use crate::landing::LandingKind;
use crate::session::{SessionStatus, TaskSessionStatus};
use crate::task::{Task, TaskStatus};
use crate::utc_time::UtcTime;
use crate::word_enum::words;
use crate::workflow::definition::EndStatus;
use crate::workflow::run::{AwaitedParty, Run, RunStatus, awaited_party};

words! {
    /// How a piece of work stands. Everything that people read uses this list.
    pub enum WorkState {
        /// It has not started.
        Queued = "queued",
        /// It is being done.
        Working = "working",
        /// A person must act before it continues.
        Waiting = "waiting",
        /// A person paused it.
        Paused = "paused",
        /// It came to a halt; the reason comes with it.
        Stopped = "stopped",
        /// It is done, and its result can be merged.
        Ready = "ready",
        /// Its result was merged.
        Merged = "merged",
        /// Its result was thrown away.
        Discarded = "discarded",
        /// It was left out.
        Skipped = "skipped",
    } also { "waiting_for_you" => Waiting, }
}

/// What an older server does not say.
impl Default for WorkState {
    fn default() -> Self {
        Self::Working
    }
}

impl WorkState {
    /// The words for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Waiting => "waiting for you",
            other => other.as_str(),
        }
    }

    /// Whether it goes on by itself, or as soon as a person acts.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Queued | Self::Working | Self::Waiting | Self::Paused)
    }

    /// Whether a person can let it go on.
    pub fn can_resume(self) -> bool {
        matches!(self, Self::Paused | Self::Stopped)
    }
}

/// What became of the result of a run, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunLanding {
    /// What.
    pub how: LandingKind,
    /// When.
    pub at: i64,
    /// The branch it was merged into.
    pub into: Option<String>,
}

impl RunLanding {
    /// What a run says itself about its result when it ends: the output `landed`.
    pub fn of_ending(run: &Run, at: i64) -> Option<Self> {
        let RunStatus::Ended(ending) = &run.status else { return None };
        let how = LandingKind::from_word(ending.outputs.get("landed")?.as_str()?)?;
        Some(Self { how, at, into: None })
    }
}

impl std::fmt::Display for RunLanding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let UtcTime { year, month, day, hour, minute, .. } = UtcTime::of(self.at);
        f.write_str(self.how.as_str())?;
        if let Some(into) = &self.into {
            write!(f, " into {into}")?;
        }
        write!(f, " on {year:04}-{month:02}-{day:02} at {hour:02}:{minute:02} UTC")
    }
}

/// Whether a process carries a run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunCarrier {
    /// One does, or its callers do.
    Present,
    /// None has it yet.
    Awaited,
    /// The command that had it is gone.
    CommandGone,
    /// The server that had it is gone.
    ServerGone,
}

/// What decides how a run stands.
#[derive(Debug, Clone, Copy)]
pub struct RunFacts<'a> {
    /// The run.
    pub run: &'a Run,
    /// Who carries it on.
    pub carrier: RunCarrier,
    /// What its sessions ask a person, if anything.
    pub question: Option<&'a str>,
    /// Why its commands and agents are not started, where consent is missing.
    pub not_allowed: Option<&'a str>,
    /// What became of its result.
    pub landing: Option<&'a RunLanding>,
}

/// How a piece of work stands, with the reason where there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateWithReason {
    /// How it stands.
    pub state: WorkState,
    /// Why it stopped, or what it waits for.
    pub reason: Option<String>,
}

impl StateWithReason {
    fn plain(state: WorkState) -> Self {
        Self { state, reason: None }
    }

    fn because(state: WorkState, reason: impl Into<String>) -> Self {
        Self { state, reason: Some(reason.into()).filter(|reason| !reason.trim().is_empty()) }
    }
}

/// Why a run stopped whose command is gone.
pub const COMMAND_GONE: &str = "the command that ran it ended";
/// Why a run stopped whose server is gone.
pub const SERVER_GONE: &str = "the server that ran it ended";
/// Why a run stopped that a person cancelled.
pub const CANCELLED: &str = "canceled";

/// How a run stands.
pub fn run_state(facts: &RunFacts<'_>) -> StateWithReason {
    use StateWithReason as State;
    if let Some(landing) = facts.landing {
        return State::plain(match landing.how {
            LandingKind::Merged => WorkState::Merged,
            LandingKind::Discarded => WorkState::Discarded,
        });
    }
    match &facts.run.status {
        RunStatus::New => State::plain(WorkState::Queued),
        RunStatus::Paused => State::plain(WorkState::Paused),
        RunStatus::Cancelled => State::because(WorkState::Stopped, CANCELLED),
        RunStatus::Ended(ending) if ending.status == EndStatus::Success => State::plain(WorkState::Ready),
        RunStatus::Ended(ending) => State::because(WorkState::Stopped, ending.message.clone().unwrap_or_default()),
        RunStatus::Active => active_state(facts),
    }
}

fn active_state(facts: &RunFacts<'_>) -> StateWithReason {
    use StateWithReason as State;
    match facts.carrier {
        RunCarrier::CommandGone => return State::because(WorkState::Stopped, COMMAND_GONE),
        RunCarrier::ServerGone => return State::because(WorkState::Stopped, SERVER_GONE),
        RunCarrier::Awaited => return State::plain(WorkState::Queued),
        RunCarrier::Present => {}
    }
    if let Some(question) = facts.question.or(facts.not_allowed) {
        return State::because(WorkState::Waiting, question);
    }
    let step = || facts.run.position().map(|position| position.step.to_string()).unwrap_or_default();
    match awaited_party(facts.run) {
        Some(AwaitedParty::User | AwaitedParty::Consent) => State::because(WorkState::Waiting, step()),
        Some(AwaitedParty::Agent | AwaitedParty::Subagents) | None => State::plain(WorkState::Working),
    }
}

/// How a session stands; `asks` says whether it waits for a person.
pub fn session_state(status: SessionStatus, asks: bool) -> WorkState {
    match status {
        SessionStatus::Paused => WorkState::Paused,
        SessionStatus::Completed => WorkState::Ready,
        SessionStatus::Failed | SessionStatus::Stopped => WorkState::Stopped,
        _ if asks => WorkState::Waiting,
        SessionStatus::Spawning | SessionStatus::Idle => WorkState::Queued,
        SessionStatus::Working => WorkState::Working,
    }
}

/// How a task stands. What an agent calls blocked waits for a person.
pub fn task_state(task: &Task) -> WorkState {
    let asks = |status: Option<TaskSessionStatus>| {
        matches!(status, Some(TaskSessionStatus::NeedsInput | TaskSessionStatus::Blocked))
    };
    match task.status {
        TaskStatus::InProgress if task.sessions.iter().any(|session| asks(session.status)) => WorkState::Waiting,
        status => status_state(status),
    }
}

/// How a task of this status stands while none of its sessions waits for a person.
pub fn status_state(status: TaskStatus) -> WorkState {
    match status {
        TaskStatus::Todo => WorkState::Queued,
        TaskStatus::Blocked => WorkState::Waiting,
        TaskStatus::InProgress => WorkState::Working,
        TaskStatus::InReview | TaskStatus::Completed => WorkState::Ready,
        TaskStatus::Cancelled => WorkState::Discarded,
        TaskStatus::Archived => WorkState::Skipped,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::workflow::run::RunEnding;

    fn state(status: RunStatus, carrier: RunCarrier, question: Option<&str>) -> (WorkState, Option<String>) {
        let run = Run { status, ..Run::default() };
        let found = run_state(&RunFacts { run: &run, carrier, question, not_allowed: None, landing: None });
        (found.state, found.reason)
    }

    fn ended(status: EndStatus, message: &str) -> RunStatus {
        RunStatus::Ended(RunEnding { status, message: Some(message.to_owned()), outputs: Map::new() })
    }

    #[test]
    fn a_run_works_only_while_a_process_carries_it_on() {
        use RunCarrier::{Awaited, CommandGone, Present, ServerGone};
        assert_eq!(state(RunStatus::Active, Present, None), (WorkState::Working, None));
        let stopped = |why: &str| (WorkState::Stopped, Some(why.to_owned()));
        assert_eq!(state(RunStatus::Active, CommandGone, None), stopped(COMMAND_GONE));
        assert_eq!(state(RunStatus::Active, ServerGone, None), stopped(SERVER_GONE));
        assert_eq!(state(RunStatus::Active, Awaited, None), (WorkState::Queued, None));
        assert_eq!(state(RunStatus::Active, Present, Some("Which?")), (WorkState::Waiting, Some("Which?".to_owned())));
        assert_eq!(state(RunStatus::Paused, CommandGone, None), (WorkState::Paused, None));
    }

    #[test]
    fn what_ended_is_ready_or_says_why_it_stopped() {
        use RunCarrier::CommandGone as Gone;
        assert_eq!(state(ended(EndStatus::Success, "Done."), Gone, None), (WorkState::Ready, None));
        let (stopped, reason) = (WorkState::Stopped, Some("No progress".to_owned()));
        assert_eq!(state(ended(EndStatus::Blocked, "No progress"), Gone, None), (stopped, reason));
        assert_eq!(state(RunStatus::Cancelled, Gone, None), (WorkState::Stopped, Some(CANCELLED.to_owned())));
    }

    #[test]
    fn what_was_merged_is_merged_however_the_run_ended() {
        let run = Run { status: ended(EndStatus::Blocked, "No progress"), ..Run::default() };
        for how in LandingKind::ALL {
            let landing = RunLanding { how, at: 1, into: None };
            let facts = RunFacts {
                run: &run,
                carrier: RunCarrier::CommandGone,
                question: None,
                not_allowed: None,
                landing: Some(&landing),
            };
            assert_eq!(run_state(&facts).state.as_str(), how.as_str());
        }
    }

    #[test]
    fn the_words_are_those_of_the_page() {
        let words = WorkState::ALL.map(WorkState::label);
        assert_eq!(
            words,
            ["queued", "working", "waiting for you", "paused", "stopped", "ready", "merged", "discarded", "skipped"]
        );
    }
}
