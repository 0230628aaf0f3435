//! Decision about what follows when an agent has ended.

use maestro_core::agent::spawn::Budget;
use maestro_core::agent::{
    Ending, Evidence, Outcome, SessionOutcome, SessionResult, SessionWork, Spent, Verdict, Worked, outcome,
};
use maestro_core::session::{EndReason, SessionStatus};
use maestro_store::{After, Wish};

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
    pub(super) after: After,
}

/// How things stand when an agent has ended.
pub(super) struct SettleInput<'a> {
    pub(super) evidence: &'a Evidence,
    pub(super) spent: Spent,
    pub(super) worked: Worked,
    /// What all files together are now, as git names it.
    pub(super) tree: Option<String>,
    pub(super) turns: u64,
    pub(super) budget: &'a Budget,
    /// How often it was started, this time included.
    pub(super) attempt: i64,
    /// How its session stands, and what it asks.
    pub(super) status: SessionStatus,
    pub(super) needs_input: Option<&'a str>,
    /// How its process ended.
    pub(super) end: ProcessEnd,
    /// What is wanted of the worker.
    pub(super) wish: Wish,
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
            after: over(SessionStatus::Failed),
        }
    }
}

fn over(status: SessionStatus) -> After {
    After::Over { status, end: Some(EndReason::Exited) }
}

/// What follows.
pub(super) fn settled(input: &SettleInput<'_>) -> SettledSession {
    let found = outcome(input.evidence);
    let (after, what) = after(input, &found);
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

fn after(input: &SettleInput<'_>, found: &Outcome) -> (After, String) {
    let nothing = String::new();
    if input.wish == Wish::LetGo {
        return (After::LetGo, "a person has taken it over".to_owned());
    }
    match input.status {
        SessionStatus::Completed => return (over(SessionStatus::Completed), nothing),
        SessionStatus::Stopped => return (over(SessionStatus::Stopped), nothing),
        SessionStatus::Failed => return (over(SessionStatus::Failed), nothing),
        _ => {}
    }
    if matches!(found, Outcome::Cancelled) {
        return (over(SessionStatus::Stopped), nothing);
    }
    // A session that exhausted its budget is not started again, whatever else went wrong.
    let may_again = input.attempt < i64::from(input.budget.starts) && input.evidence.ending == Ending::Own;
    let again = |not_before: i64| {
        let seconds = (not_before - input.now).max(0) / 1000;
        (After::Again { not_before }, format!("it restarts in {seconds} s"))
    };
    let fresh =
        |why: &str| (After::Anew, format!("{why}, so it starts a new session with a summary of the work so far"));
    match input.evidence.verdict() {
        Some(Verdict::RetryAfter { ms }) if may_again => {
            return again(input.now.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX / 4)));
        }
        Some(Verdict::WaitUntil { at }) if may_again => return again(at.max(input.now)),
        Some(Verdict::Retry) if may_again && matches!(found, Outcome::Failed { .. } | Outcome::NothingDone) => {
            return again(input.now + SHORTLY);
        }
        Some(Verdict::Compact) if may_again => return fresh("its session is too long"),
        Some(Verdict::Park) => {}
        _ if may_again && matches!(found, Outcome::Failed { .. } | Outcome::NothingDone) => match input.end {
            // After a temporary failure it continues at once; after a second one it waits.
            ProcessEnd::Died if input.attempt == 1 => return again(input.now),
            ProcessEnd::Died => return again(input.now + SHORTLY),
            ProcessEnd::Forgot => return fresh("its session is lost"),
            ProcessEnd::Orderly => {}
        },
        _ => {}
    }
    if input.unheard > 0 {
        return (After::Again { not_before: input.now }, "it receives the messages sent meanwhile".to_owned());
    }
    if let (Some(needs), _) = (input.needs_input, found) {
        return (After::WhenSpokenTo { needs: needs.to_owned() }, "it continues when you answer".to_owned());
    }
    match found {
        Outcome::Done => (over(SessionStatus::Completed), nothing),
        Outcome::Parked { reason } if input.evidence.reported.is_some() => {
            (After::WhenSpokenTo { needs: reason.clone() }, "it continues when you say how".to_owned())
        }
        _ => (over(SessionStatus::Failed), nothing),
    }
}

fn line(found: &Outcome, what: &str) -> String {
    let told = match found {
        Outcome::Done => "The agent is done".to_owned(),
        Outcome::NothingDone => "The agent ended without any work".to_owned(),
        Outcome::Failed { reasons } => format!("The agent failed: {}", reasons.join("; ")),
        Outcome::Cancelled => "The agent was ended".to_owned(),
        Outcome::Parked { reason } => format!("The agent cannot continue: {reason}"),
        Outcome::Stalled => "The agent was stopped: no output".to_owned(),
    };
    if what.is_empty() { told } else { format!("{told}; {what}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use maestro_core::agent::{AgentEvent, Expected, Reporting, Stop, TroubleKind};
    use maestro_core::report::ReportKind;

    fn evidence() -> Evidence {
        Evidence::new(Reporting::Able, Expected::Anything)
    }

    fn input<'a>(evidence: &'a Evidence, budget: &'a Budget) -> SettleInput<'a> {
        SettleInput {
            evidence,
            spent: Spent::default(),
            worked: Worked::default(),
            tree: None,
            turns: 1,
            budget,
            attempt: 1,
            status: SessionStatus::Working,
            needs_input: None,
            end: ProcessEnd::Orderly,
            wish: Wish::GoOn,
            unheard: 0,
            now: 1_000,
        }
    }

    fn trouble(kind: TroubleKind, status: u16, retry_after_ms: Option<u64>) -> AgentEvent {
        AgentEvent::Trouble { kind, status: Some(status), message: format!("HTTP {status}"), retry_after_ms }
    }

    #[test]
    fn what_cannot_succeed_ends_and_what_may_is_tried_again_only_so_often() {
        let budget = Budget::default();
        let mut refused = evidence();
        refused.note(&trouble(TroubleKind::Auth, 401, None));
        refused.note(&AgentEvent::Ended { stop: Stop::Exited { code: 0 }, text: None });
        let found = settled(&input(&refused, &budget));
        assert_eq!(found.after, over(SessionStatus::Failed));
        assert!(found.line.contains("HTTP 401"), "{}", found.line);
        let mut limited = evidence();
        limited.note(&trouble(TroubleKind::RateLimit, 429, Some(30_000)));
        assert_eq!(settled(&input(&limited, &budget)).after, After::Again { not_before: 31_000 });
        let last = SettleInput { attempt: 3, ..input(&limited, &budget) };
        assert_eq!(settled(&last).after, over(SessionStatus::Failed));
        limited.ending = Ending::Limit { what: "5 tokens".to_owned() };
        assert_eq!(settled(&input(&limited, &budget)).after, over(SessionStatus::Failed));
    }

    #[test]
    fn who_died_goes_on_and_who_forgot_begins_anew() {
        let budget = Budget::default();
        let mut killed = evidence();
        killed.note(&AgentEvent::Ended { stop: Stop::Killed { signal: 9 }, text: None });
        let after = |end, attempt| settled(&SettleInput { attempt, end, ..input(&killed, &budget) }).after;
        assert_eq!(after(ProcessEnd::Died, 1), After::Again { not_before: 1_000 });
        assert_eq!(after(ProcessEnd::Died, 2), After::Again { not_before: 1_000 + SHORTLY });
        assert_eq!(after(ProcessEnd::Died, 3), over(SessionStatus::Failed));
        assert_eq!(after(ProcessEnd::Forgot, 1), After::Anew);
        assert_eq!(after(ProcessEnd::Orderly, 1), over(SessionStatus::Failed), "what we ended stays ended");
        let mut refused = killed.clone();
        refused.note(&trouble(TroubleKind::Auth, 401, None));
        let refused = SettleInput { end: ProcessEnd::Forgot, ..input(&refused, &budget) };
        assert_eq!(settled(&refused).after, over(SessionStatus::Failed));
        let mut full = evidence();
        full.note(&trouble(TroubleKind::ContextOverflow, 400, None));
        assert_eq!(settled(&input(&full, &budget)).after, After::Anew);
    }

    #[test]
    fn a_report_counts_and_an_exit_code_does_not() {
        let budget = Budget::default();
        let mut quiet = evidence();
        quiet.note(&AgentEvent::Ended { stop: Stop::Exited { code: 0 }, text: None });
        assert_eq!(settled(&input(&quiet, &budget)).after, over(SessionStatus::Failed));
        let mut done = evidence();
        done.note_report(ReportKind::Complete, "all done");
        let completed = SettleInput { status: SessionStatus::Completed, ..input(&done, &budget) };
        assert_eq!(settled(&completed).after, over(SessionStatus::Completed));
    }

    #[test]
    fn who_asks_a_person_waits_for_words_and_goes_on_when_there_are_some() {
        let budget = Budget::default();
        let mut asks = evidence();
        asks.note_report(ReportKind::NeedsInput, "Which port?");
        let waits = SettleInput { needs_input: Some("Which port?"), ..input(&asks, &budget) };
        assert_eq!(settled(&waits).after, After::WhenSpokenTo { needs: "Which port?".to_owned() });
        assert_eq!(settled(&SettleInput { unheard: 1, ..waits }).after, After::Again { not_before: 1_000 });
    }

    #[test]
    fn who_was_cancelled_or_taken_over_is_not_judged() {
        let budget = Budget::default();
        let mut cancelled = evidence();
        cancelled.ending = Ending::Cancelled;
        let stopped = SettleInput { status: SessionStatus::Stopped, ..input(&cancelled, &budget) };
        assert_eq!(settled(&stopped).after, over(SessionStatus::Stopped));
        let taken = SettleInput { wish: Wish::LetGo, ..input(&cancelled, &budget) };
        assert_eq!(settled(&taken).after, After::LetGo);
    }
}
