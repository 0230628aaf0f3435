//! Decision about what follows when an agent has ended.

use maestro_core::agent::spawn::SessionLimits;
use maestro_core::agent::{
    EndCause, Evidence, RetryDecision, SessionOutcome, SessionResult, SessionVerdict, SessionWork, TokenUsage,
    WorkTime, judge_session,
};
use maestro_core::session::{EndReason, SessionStatus};
use maestro_store::{NextStart, WorkerSignal};

/// How long to wait before an agent is started again, where nothing says otherwise, in milliseconds.
const SHORTLY: i64 = 2_000;

/// The result of an agent, and what follows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SettledSession {
    /// For programs.
    pub(super) outcome: SessionOutcome,
    /// For people.
    pub(super) line: String,
    /// What follows.
    pub(super) after: NextStart,
}

/// How things stand when an agent has ended.
pub(super) struct SettleInput<'a> {
    pub(super) evidence: &'a Evidence,
    pub(super) spent: TokenUsage,
    pub(super) worked: WorkTime,
    /// What all files together are now, as git names it.
    pub(super) tree: Option<String>,
    pub(super) turns: u64,
    pub(super) budget: &'a SessionLimits,
    /// How often it was started, this time included.
    pub(super) attempt: i64,
    /// How its session stands, and what it asks.
    pub(super) status: SessionStatus,
    pub(super) needs_input: Option<&'a str>,
    /// How its process ended.
    pub(super) end: ProcessEnd,
    /// What is wanted of the worker.
    pub(super) wish: WorkerSignal,
    /// Whether there are unread messages for it.
    pub(super) unheard: usize,
    pub(super) now: i64,
}

/// How an agent's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessEnd {
    /// By itself, or because we ended it.
    Orderly,
    /// It died, and we did not kill it.
    Died,
    /// It was to go on with a session of its own, and had nothing to say.
    Forgot,
}

impl SettledSession {
    /// An agent that did not even start.
    pub(super) fn not_started(reason: &str) -> Self {
        Self {
            outcome: SessionOutcome::not_started(reason),
            line: format!("The agent was not started: {reason}"),
            after: after_end(SessionStatus::Failed),
        }
    }
}

fn after_end(status: SessionStatus) -> NextStart {
    NextStart::Over { status, end: Some(EndReason::Exited) }
}

/// What follows.
pub(super) fn settle(input: &SettleInput<'_>) -> SettledSession {
    let found = judge_session(input.evidence);
    let (after, what) = next_start(input, &found);
    let line = line(&found, &what);
    let work = SessionWork {
        attempt: input.attempt,
        turns: input.turns,
        spent: input.spent,
        worked_ms: input.worked.ms(),
        changed_files: input.evidence.changed.clone(),
        tree: input.tree.clone(),
        denied: input.evidence.denials.clone(),
    };
    let outcome = SessionOutcome { result: SessionResult::new(found, input.budget.idle_minutes), work: Some(work) };
    SettledSession { outcome, line, after }
}

fn next_start(input: &SettleInput<'_>, found: &SessionVerdict) -> (NextStart, String) {
    let nothing = String::new();
    if input.wish == WorkerSignal::LetGo {
        return (NextStart::HandOver, "a person has taken it over".to_owned());
    }
    match input.status {
        SessionStatus::Completed => return (after_end(SessionStatus::Completed), nothing),
        SessionStatus::Stopped => return (after_end(SessionStatus::Stopped), nothing),
        SessionStatus::Failed => return (after_end(SessionStatus::Failed), nothing),
        _ => {}
    }
    if matches!(found, SessionVerdict::Cancelled) {
        return (after_end(SessionStatus::Stopped), nothing);
    }
    // A session that exhausted its budget is not started again, whatever else went wrong.
    let may_again = input.attempt < i64::from(input.budget.starts) && input.evidence.ending == EndCause::Own;
    let again = |not_before: i64| {
        let seconds = (not_before - input.now).max(0) / 1000;
        (NextStart::Retry { not_before }, format!("it restarts in {seconds} s"))
    };
    let fresh =
        |why: &str| (NextStart::Fresh, format!("{why}, so it starts a new session with a summary of the work so far"));
    match input.evidence.retry_decision() {
        Some(RetryDecision::RetryAfter { ms }) if may_again => {
            return again(input.now.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX / 4)));
        }
        Some(RetryDecision::WaitUntil { at }) if may_again => return again(at.max(input.now)),
        Some(RetryDecision::Retry)
            if may_again && matches!(found, SessionVerdict::Failed { .. } | SessionVerdict::NothingDone) =>
        {
            return again(input.now + SHORTLY);
        }
        Some(RetryDecision::Compact) if may_again => return fresh("its session is too long"),
        Some(RetryDecision::Park) => {}
        _ if may_again && matches!(found, SessionVerdict::Failed { .. } | SessionVerdict::NothingDone) => {
            match input.end {
                // After a temporary failure it continues at once; after a second one it waits.
                ProcessEnd::Died if input.attempt == 1 => return again(input.now),
                ProcessEnd::Died => return again(input.now + SHORTLY),
                ProcessEnd::Forgot => return fresh("its session is lost"),
                ProcessEnd::Orderly => {}
            }
        }
        _ => {}
    }
    if input.unheard > 0 {
        return (NextStart::Retry { not_before: input.now }, "it receives the messages sent meanwhile".to_owned());
    }
    if let (Some(needs), _) = (input.needs_input, found) {
        return (NextStart::AwaitInput { needs: needs.to_owned() }, "it continues when you answer".to_owned());
    }
    match found {
        SessionVerdict::Done => (after_end(SessionStatus::Completed), nothing),
        SessionVerdict::Parked { reason } if input.evidence.reported.is_some() => {
            (NextStart::AwaitInput { needs: reason.clone() }, "it continues when you say how".to_owned())
        }
        _ => (after_end(SessionStatus::Failed), nothing),
    }
}

fn line(found: &SessionVerdict, what: &str) -> String {
    let told = match found {
        SessionVerdict::Done => "The agent is done".to_owned(),
        SessionVerdict::NothingDone => "The agent ended without any work".to_owned(),
        SessionVerdict::Failed { reasons } => format!("The agent failed: {}", reasons.join("; ")),
        SessionVerdict::Cancelled => "The agent was ended".to_owned(),
        SessionVerdict::Parked { reason } => format!("The agent cannot continue: {reason}"),
        SessionVerdict::Stalled => "The agent was stopped: no output".to_owned(),
    };
    if what.is_empty() { told } else { format!("{told}; {what}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use maestro_core::agent::{AgentEvent, ExpectedChange, FailureKind, ReportAbility, StopReason};
    use maestro_core::report::ReportKind;

    fn evidence() -> Evidence {
        Evidence::new(ReportAbility::Able, ExpectedChange::Anything)
    }

    fn input<'a>(evidence: &'a Evidence, budget: &'a SessionLimits) -> SettleInput<'a> {
        SettleInput {
            evidence,
            spent: TokenUsage::default(),
            worked: WorkTime::default(),
            tree: None,
            turns: 1,
            budget,
            attempt: 1,
            status: SessionStatus::Working,
            needs_input: None,
            end: ProcessEnd::Orderly,
            wish: WorkerSignal::GoOn,
            unheard: 0,
            now: 1_000,
        }
    }

    fn trouble(kind: FailureKind, status: u16, retry_after_ms: Option<u64>) -> AgentEvent {
        AgentEvent::Trouble { kind, status: Some(status), message: format!("HTTP {status}"), retry_after_ms }
    }

    #[test]
    fn what_cannot_succeed_ends_and_what_may_is_tried_again_only_so_often() {
        let budget = SessionLimits::default();
        let mut refused = evidence();
        refused.note(&trouble(FailureKind::Auth, 401, None));
        refused.note(&AgentEvent::Ended { stop: StopReason::Exited { code: 0 }, text: None });
        let found = settle(&input(&refused, &budget));
        assert_eq!(found.after, after_end(SessionStatus::Failed));
        assert!(found.line.contains("HTTP 401"), "{}", found.line);
        let mut limited = evidence();
        limited.note(&trouble(FailureKind::RateLimit, 429, Some(30_000)));
        assert_eq!(settle(&input(&limited, &budget)).after, NextStart::Retry { not_before: 31_000 });
        let last = SettleInput { attempt: 3, ..input(&limited, &budget) };
        assert_eq!(settle(&last).after, after_end(SessionStatus::Failed));
        limited.ending = EndCause::Limit { what: "5 tokens".to_owned() };
        assert_eq!(settle(&input(&limited, &budget)).after, after_end(SessionStatus::Failed));
    }

    #[test]
    fn who_died_goes_on_and_who_forgot_begins_anew() {
        let budget = SessionLimits::default();
        let mut killed = evidence();
        killed.note(&AgentEvent::Ended { stop: StopReason::Killed { signal: 9 }, text: None });
        let after = |end, attempt| settle(&SettleInput { attempt, end, ..input(&killed, &budget) }).after;
        assert_eq!(after(ProcessEnd::Died, 1), NextStart::Retry { not_before: 1_000 });
        assert_eq!(after(ProcessEnd::Died, 2), NextStart::Retry { not_before: 1_000 + SHORTLY });
        assert_eq!(after(ProcessEnd::Died, 3), after_end(SessionStatus::Failed));
        assert_eq!(after(ProcessEnd::Forgot, 1), NextStart::Fresh);
        assert_eq!(after(ProcessEnd::Orderly, 1), after_end(SessionStatus::Failed), "what we ended stays ended");
        let mut refused = killed.clone();
        refused.note(&trouble(FailureKind::Auth, 401, None));
        let refused = SettleInput { end: ProcessEnd::Forgot, ..input(&refused, &budget) };
        assert_eq!(settle(&refused).after, after_end(SessionStatus::Failed));
        let mut full = evidence();
        full.note(&trouble(FailureKind::ContextOverflow, 400, None));
        assert_eq!(settle(&input(&full, &budget)).after, NextStart::Fresh);
    }

    #[test]
    fn a_report_counts_and_an_exit_code_does_not() {
        let budget = SessionLimits::default();
        let mut quiet = evidence();
        quiet.note(&AgentEvent::Ended { stop: StopReason::Exited { code: 0 }, text: None });
        assert_eq!(settle(&input(&quiet, &budget)).after, after_end(SessionStatus::Failed));
        let mut done = evidence();
        done.note_report(ReportKind::Complete, "all done");
        let completed = SettleInput { status: SessionStatus::Completed, ..input(&done, &budget) };
        assert_eq!(settle(&completed).after, after_end(SessionStatus::Completed));
    }

    #[test]
    fn who_asks_a_person_waits_for_words_and_goes_on_when_there_are_some() {
        let budget = SessionLimits::default();
        let mut asks = evidence();
        asks.note_report(ReportKind::NeedsInput, "Which port?");
        let waits = SettleInput { needs_input: Some("Which port?"), ..input(&asks, &budget) };
        assert_eq!(settle(&waits).after, NextStart::AwaitInput { needs: "Which port?".to_owned() });
        assert_eq!(settle(&SettleInput { unheard: 1, ..waits }).after, NextStart::Retry { not_before: 1_000 });
    }

    #[test]
    fn who_was_cancelled_or_taken_over_is_not_judged() {
        let budget = SessionLimits::default();
        let mut cancelled = evidence();
        cancelled.ending = EndCause::Cancelled;
        let stopped = SettleInput { status: SessionStatus::Stopped, ..input(&cancelled, &budget) };
        assert_eq!(settle(&stopped).after, after_end(SessionStatus::Stopped));
        let taken = SettleInput { wish: WorkerSignal::LetGo, ..input(&cancelled, &budget) };
        assert_eq!(settle(&taken).after, NextStart::HandOver);
    }
}
