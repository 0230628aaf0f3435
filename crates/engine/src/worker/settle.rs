//! Decision about what follows when an agent has ended.

use maestro_core::agent::spawn::{SessionLimits, SpawnSpec};
use maestro_core::agent::{
    EndCause, Evidence, LimitGrant, RetryDecision, SessionOutcome, SessionResult, SessionVerdict, SessionWork,
    StopReason, TokenUsage, WorkTime, judge_session, next_try,
};
use maestro_core::session::{EndReason, SessionStatus};
use maestro_core::utc_time::UtcTime;
use maestro_store::{NextStart, SpawnRecord, WorkerSignal};

/// How long to wait before an agent is started again, where nothing says otherwise, in milliseconds.
const SHORTLY: i64 = 2_000;

/// How long another agent lets the first one wait, in milliseconds.
const LONG_PAUSE: u64 = 60_000;

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
    /// What a person allowed beyond the limits.
    pub(super) granted: LimitGrant,
    pub(super) worked: WorkTime,
    /// What all files together are now, as git names it.
    pub(super) tree: Option<String>,
    pub(super) turns: u64,
    pub(super) budget: &'a SessionLimits,
    /// The session with the agent that takes over, if one does.
    pub(super) fallback: Option<SpawnSpec>,
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
    /// How many of its starts ended in an outage before this one.
    pub(super) outages: u32,
    /// The reminder for it if it ends without a report, and whether it got one.
    pub(super) reminder: Option<&'a str>,
    pub(super) reminded: bool,
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

/// How many of a session's earlier starts ended in an outage.
pub(super) fn outages_before(spawn: &SpawnRecord) -> u32 {
    work_before(spawn).map_or(0, |work| work.outages)
}

/// Whether a session was reminded to report.
pub(super) fn was_reminded(spawn: &SpawnRecord) -> bool {
    work_before(spawn).is_some_and(|work| work.reminded)
}

fn work_before(spawn: &SpawnRecord) -> Option<&SessionWork> {
    spawn.outcome.as_ref()?.work.as_ref()
}

fn after_end(status: SessionStatus) -> NextStart {
    NextStart::Over { status, end: Some(EndReason::Exited) }
}

/// What follows.
pub(super) fn settle(input: &SettleInput<'_>) -> SettledSession {
    let found = judge_session(input.evidence);
    let (after, what) = next_start(input, &found);
    let line = line(&found, &what);
    let is_outage = matches!(&after, NextStart::Retry { .. }) && outage_end(input).is_some();
    let work = SessionWork {
        attempt: input.attempt,
        turns: input.turns,
        spent: input.spent,
        granted: input.granted,
        worked_ms: input.worked.ms(),
        changed_files: input.evidence.changed.clone(),
        tree: input.tree.clone(),
        denied: input.evidence.denials.clone(),
        outages: input.outages + u32::from(is_outage),
        reminded: input.reminded || matches!(after, NextStart::Remind { .. }),
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
    if let Some(spec) = input.fallback.as_ref().filter(|_| is_out(input, found))
        && let (Some(agent), Ok(json)) = (spec.agent.clone(), serde_json::to_value(spec))
    {
        let what = format!("`{agent}` takes over");
        return (NextStart::TakeOver { agent, spec: json }, what);
    }
    // A session that exhausted its budget is not started again, whatever else went wrong.
    // An outage is not the agent's fault, so the starts that it ended do not count.
    let own = input.evidence.ending == EndCause::Own;
    let may_again = own && input.attempt - i64::from(input.outages) < i64::from(input.budget.starts);
    let again = |not_before: i64| {
        let seconds = (not_before - input.now).max(0) / 1000;
        (NextStart::Retry { not_before }, format!("it restarts in {seconds} s"))
    };
    let fresh =
        |why: &str| (NextStart::Fresh, format!("{why}, so it starts a new session with a summary of the work so far"));
    let is_unfinished = matches!(
        found,
        SessionVerdict::Failed { .. } | SessionVerdict::NothingDone { .. } | SessionVerdict::Unreported { .. }
    );
    if let Some(at) = outage_end(input).filter(|_| own && is_unfinished) {
        return (NextStart::Retry { not_before: at }, format!("next try at {}", format_moment(at)));
    }
    match input.evidence.retry_decision() {
        Some(RetryDecision::Retry) if may_again && is_unfinished => return again(input.now + SHORTLY),
        Some(RetryDecision::Compact) if may_again => return fresh("its session is too long"),
        Some(RetryDecision::Park) => {}
        _ if may_again && is_unfinished => {
            match input.end {
                // After a temporary failure it continues at once; after a second one it waits.
                ProcessEnd::Died if input.attempt == 1 => return again(input.now),
                ProcessEnd::Died => return again(input.now + SHORTLY),
                ProcessEnd::Forgot => return fresh("its session is lost"),
                // An agent that is to report and breaks off did not mean to end.
                ProcessEnd::Orderly if input.reminder.is_some() && broke_off(input.evidence) => {
                    return again(input.now + if input.attempt == 1 { 0 } else { SHORTLY });
                }
                ProcessEnd::Orderly => {}
            }
        }
        _ => {}
    }
    if let Some(text) = input.reminder.filter(|_| may_again && !input.reminded && input.evidence.lacks_report()) {
        return (NextStart::Remind { text: text.to_owned() }, "it is reminded to report".to_owned());
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

/// When the model is tried again, if an outage ended the agent.
fn outage_end(input: &SettleInput<'_>) -> Option<i64> {
    next_try(input.evidence.retry_decision()?, input.outages + 1, input.budget.outage_seconds, input.now)
}

/// Whether its process ended with an error of its own before it reported anything.
fn broke_off(evidence: &Evidence) -> bool {
    let is_error = matches!(evidence.stop, Some(StopReason::Exited { code }) if code != 0);
    // What it printed last is a trouble of no known kind.
    let is_unknown = evidence.troubles.iter().all(|(decision, _)| *decision == RetryDecision::Fail);
    is_error && is_unknown && evidence.reported.is_none()
}

/// The time of day of a moment.
fn format_moment(at: i64) -> String {
    let UtcTime { hour, minute, second, .. } = UtcTime::of(at);
    format!("{hour:02}:{minute:02}:{second:02} UTC")
}

/// Whether an agent reached a limit, or its model stays out of reach: for good, for long, or a second time.
fn is_out(input: &SettleInput<'_>, found: &SessionVerdict) -> bool {
    if matches!(found, SessionVerdict::Done) || input.evidence.reported.is_some() {
        return false;
    }
    match (&input.evidence.ending, input.evidence.retry_decision()) {
        (EndCause::Limit { .. }, _) | (EndCause::Own, Some(RetryDecision::Park | RetryDecision::WaitUntil { .. })) => {
            true
        }
        (EndCause::Own, Some(RetryDecision::RetryAfter { ms })) => ms > LONG_PAUSE || input.attempt > 1,
        (EndCause::Own, Some(RetryDecision::Retry)) => input.attempt > 1,
        _ => false,
    }
}

fn line(found: &SessionVerdict, what: &str) -> String {
    let told = match found {
        SessionVerdict::Done => "The agent is done".to_owned(),
        SessionVerdict::NothingDone { .. } => "The agent ended without any work".to_owned(),
        SessionVerdict::Unreported { reason } => format!("The agent ended without a report: {reason}"),
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
    use maestro_core::agent::{AgentEvent, ExpectedChange, FailureKind, ReportAbility};
    use maestro_core::report::ReportKind;

    fn evidence() -> Evidence {
        Evidence::new(ReportAbility::Able, ExpectedChange::Anything)
    }

    fn input<'a>(evidence: &'a Evidence, budget: &'a SessionLimits) -> SettleInput<'a> {
        SettleInput {
            evidence,
            spent: TokenUsage::default(),
            granted: LimitGrant::default(),
            worked: WorkTime::default(),
            tree: None,
            turns: 1,
            budget,
            fallback: None,
            attempt: 1,
            status: SessionStatus::Working,
            needs_input: None,
            end: ProcessEnd::Orderly,
            wish: WorkerSignal::GoOn,
            unheard: 0,
            outages: 0,
            reminder: None,
            reminded: false,
            now: 1_000,
        }
    }

    fn trouble(kind: FailureKind, status: u16, retry_after_ms: Option<u64>) -> AgentEvent {
        AgentEvent::Trouble { kind, status: Some(status), message: format!("HTTP {status}"), retry_after_ms }
    }

    #[test]
    fn another_agent_takes_over_at_a_limit_or_an_outage() {
        let budget = SessionLimits::default();
        let spec =
            serde_json::json!({ "agent": "b", "workspace": "/w", "promptMaxChars": 1000, "permission": "edits" });
        let other = serde_json::from_value::<SpawnSpec>(spec).unwrap();
        let after = |evidence: &Evidence, attempt: i64| {
            settle(&SettleInput { fallback: Some(other.clone()), attempt, ..input(evidence, &budget) }).after
        };
        let takes_over = |after: NextStart| matches!(after, NextStart::TakeOver { agent, .. } if agent == "b");
        let mut limited = evidence();
        limited.ending = EndCause::Limit { what: "$5".to_owned() };
        assert!(takes_over(after(&limited, 1)));
        let mut refused = evidence();
        refused.note(&trouble(FailureKind::Auth, 401, None));
        assert!(takes_over(after(&refused, 1)), "no quota is left");
        let mut slow = evidence();
        slow.note(&trouble(FailureKind::RateLimit, 429, Some(1_000)));
        assert_eq!(after(&slow, 1), NextStart::Retry { not_before: 2_000 }, "a short pause is no outage");
        assert!(takes_over(after(&slow, 2)));
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
        limited.ending = EndCause::Limit { what: "5 tokens".to_owned() };
        assert_eq!(settle(&input(&limited, &budget)).after, after_end(SessionStatus::Failed));
    }

    #[test]
    fn an_outage_is_waited_out_with_growing_pauses_and_costs_no_start() {
        let budget = SessionLimits::default();
        let mut down = evidence();
        down.note(&trouble(FailureKind::Overloaded, 529, None));
        let settled =
            |outages| settle(&SettleInput { attempt: i64::from(outages) + 1, outages, ..input(&down, &budget) });
        assert_eq!(settled(0).after, NextStart::Retry { not_before: 31_000 });
        assert_eq!(settled(1).after, NextStart::Retry { not_before: 61_000 });
        assert_eq!(settled(12).after, NextStart::Retry { not_before: 1_000 + 2 * 60 * 60 * 1000 });
        assert_eq!(settled(12).line, "The agent failed: HTTP 529; next try at 02:00:01 UTC");
        assert_eq!(settled(12).outcome.work.unwrap().outages, 13);
        assert_eq!(settled(20).after, after_end(SessionStatus::Failed), "a day is enough");
        let mut killed = evidence();
        killed.note(&AgentEvent::Ended { stop: StopReason::Killed { signal: 9 }, text: None });
        let died = SettleInput { attempt: 8, outages: 7, end: ProcessEnd::Died, ..input(&killed, &budget) };
        assert_eq!(settle(&died).after, NextStart::Retry { not_before: 1_000 + SHORTLY }, "it has its own starts left");
    }

    #[test]
    fn who_forgets_to_report_is_reminded_once() {
        let budget = SessionLimits::default();
        let mut quiet = evidence();
        quiet.note(&AgentEvent::Ended { stop: StopReason::EndTurn, text: None });
        quiet.changed = vec!["a.txt".to_owned()];
        let first = SettleInput { reminder: Some("Report."), ..input(&quiet, &budget) };
        let told = settle(&first);
        assert_eq!(told.after, NextStart::Remind { text: "Report.".to_owned() });
        assert!(told.outcome.work.unwrap().reminded);
        let second = settle(&SettleInput { attempt: 2, reminded: true, ..first });
        assert_eq!(second.after, after_end(SessionStatus::Failed));
        assert_eq!(second.outcome.result.word(), "unreported");
        let plain = settle(&input(&quiet, &budget));
        assert_eq!(plain.after, after_end(SessionStatus::Failed), "a session outside a run has nobody to remind it");
    }

    #[test]
    fn who_breaks_off_before_a_report_is_started_again() {
        let budget = SessionLimits::default();
        let mut broken = evidence();
        broken.note(&AgentEvent::Ended { stop: StopReason::Exited { code: 7 }, text: None });
        let first = SettleInput { reminder: Some("Report."), ..input(&broken, &budget) };
        assert_eq!(settle(&first).after, NextStart::Retry { not_before: 1_000 });
        let mut traced = broken.clone();
        traced.troubles = vec![(RetryDecision::Fail, "KeyError: 'x'".to_owned())];
        assert_eq!(settle(&SettleInput { evidence: &traced, ..first }).after, NextStart::Retry { not_before: 1_000 });
        let first = SettleInput { reminder: Some("Report."), ..input(&broken, &budget) };
        assert_eq!(settle(&SettleInput { attempt: 3, ..first }).after, after_end(SessionStatus::Failed));
        assert_eq!(settle(&input(&broken, &budget)).after, after_end(SessionStatus::Failed));
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
