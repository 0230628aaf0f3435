//! Decision about what follows when an agent has ended.

use maestro_core::agent::spawn::Budget;
use maestro_core::agent::{Ending, Evidence, Outcome, Spent, Verdict, Worked, outcome};
use maestro_core::session::{EndReason, SessionStatus};
use maestro_store::{After, Wish};
use serde_json::{Value as Json, json};

/// How long to wait before an agent is started again, where nothing says otherwise, in milliseconds.
const SHORTLY: i64 = 2_000;

/// What came of an agent, and what follows.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SettledSession {
    /// For programs.
    pub(super) outcome: Json,
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
    /// Whether somebody said something that it has not heard.
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
    /// An agent that did not even begin.
    pub(super) fn not_started(reason: &str) -> Self {
        Self {
            outcome: json!({ "kind": "not_started", "reasons": [reason] }),
            line: format!("The agent was not started: {reason}"),
            after: over(SessionStatus::Failed),
        }
    }
}

fn over(status: SessionStatus) -> After {
    After::Over { status, end: Some(EndReason::Exited) }
}

/// What follows.
pub(super) fn settled(standing: &SettleInput<'_>) -> SettledSession {
    let found = outcome(standing.evidence);
    let (after, what) = after(standing, &found);
    let mut told = serde_json::to_value(&found).unwrap_or_default();
    told["attempt"] = json!(standing.attempt);
    told["turns"] = json!(standing.turns);
    told["spent"] = json!(standing.spent);
    told["workedMs"] = json!(standing.worked.ms());
    told["changedFiles"] = json!(standing.evidence.changed);
    told["tree"] = json!(standing.tree);
    if !standing.evidence.denials.is_empty() {
        told["denied"] = json!(standing.evidence.denials);
    }
    match &found {
        Outcome::NothingDone => told["reason"] = json!("it reported nothing, and no file changed"),
        Outcome::Stalled => {
            told["reason"] = json!(format!("nothing was heard of it for {} min", standing.budget.idle_minutes));
        }
        _ => {}
    }
    SettledSession { outcome: told, line: line(&found, &what), after }
}

fn after(standing: &SettleInput<'_>, found: &Outcome) -> (After, String) {
    let nothing = String::new();
    if standing.wish == Wish::LetGo {
        return (After::LetGo, "a person speaks with it now".to_owned());
    }
    match standing.status {
        SessionStatus::Completed => return (over(SessionStatus::Completed), nothing),
        SessionStatus::Stopped => return (over(SessionStatus::Stopped), nothing),
        SessionStatus::Failed => return (over(SessionStatus::Failed), nothing),
        _ => {}
    }
    if matches!(found, Outcome::Cancelled) {
        return (over(SessionStatus::Stopped), nothing);
    }
    // Whoever used up what it may is not started again, whatever else went wrong.
    let may_again = standing.attempt < i64::from(standing.budget.starts) && standing.evidence.ending == Ending::Own;
    let again = |not_before: i64| {
        let seconds = (not_before - standing.now).max(0) / 1000;
        (After::Again { not_before }, format!("it is started again in {seconds} s"))
    };
    let anew = |why: &str| (After::Anew, format!("{why}, so it begins anew and is told what was done"));
    match standing.evidence.verdict() {
        Some(Verdict::RetryAfter { ms }) if may_again => {
            return again(standing.now.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX / 4)));
        }
        Some(Verdict::WaitUntil { at }) if may_again => return again(at.max(standing.now)),
        Some(Verdict::Retry) if may_again && matches!(found, Outcome::Failed { .. } | Outcome::NothingDone) => {
            return again(standing.now + SHORTLY);
        }
        Some(Verdict::Compact) if may_again => return anew("its session became too long"),
        Some(Verdict::Park) => {}
        _ if may_again && matches!(found, Outcome::Failed { .. } | Outcome::NothingDone) => match standing.end {
            // Whoever died of something that passes goes on at once; who dies again is given a moment.
            ProcessEnd::Died if standing.attempt == 1 => return again(standing.now),
            ProcessEnd::Died => return again(standing.now + SHORTLY),
            ProcessEnd::Forgot => return anew("it does not know its session any more"),
            ProcessEnd::Orderly => {}
        },
        _ => {}
    }
    if standing.unheard > 0 {
        return (After::Again { not_before: standing.now }, "it is told what was said meanwhile".to_owned());
    }
    if let (Some(needs), _) = (standing.needs_input, found) {
        return (After::WhenSpokenTo { needs: needs.to_owned() }, "it goes on when somebody answers".to_owned());
    }
    match found {
        Outcome::Done => (over(SessionStatus::Completed), nothing),
        Outcome::Parked { reason } if standing.evidence.reported.is_some() => {
            (After::WhenSpokenTo { needs: reason.clone() }, "it goes on when somebody says how".to_owned())
        }
        _ => (over(SessionStatus::Failed), nothing),
    }
}

fn line(found: &Outcome, what: &str) -> String {
    let told = match found {
        Outcome::Done => "The agent is done".to_owned(),
        Outcome::NothingDone => "The agent ended without having done anything".to_owned(),
        Outcome::Failed { reasons } => format!("The agent failed: {}", reasons.join("; ")),
        Outcome::Cancelled => "The agent was ended".to_owned(),
        Outcome::Parked { reason } => format!("The agent cannot go on: {reason}"),
        Outcome::Stalled => "The agent fell silent and was ended".to_owned(),
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

    fn standing<'a>(evidence: &'a Evidence, budget: &'a Budget) -> SettleInput<'a> {
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
        let found = settled(&standing(&refused, &budget));
        assert_eq!(found.after, over(SessionStatus::Failed));
        assert!(found.line.contains("HTTP 401"), "{}", found.line);
        let mut limited = evidence();
        limited.note(&trouble(TroubleKind::RateLimit, 429, Some(30_000)));
        assert_eq!(settled(&standing(&limited, &budget)).after, After::Again { not_before: 31_000 });
        let last = SettleInput { attempt: 3, ..standing(&limited, &budget) };
        assert_eq!(settled(&last).after, over(SessionStatus::Failed));
        limited.ending = Ending::Limit { what: "5 tokens".to_owned() };
        assert_eq!(settled(&standing(&limited, &budget)).after, over(SessionStatus::Failed));
    }

    #[test]
    fn who_died_goes_on_and_who_forgot_begins_anew() {
        let budget = Budget::default();
        let mut killed = evidence();
        killed.note(&AgentEvent::Ended { stop: Stop::Killed { signal: 9 }, text: None });
        let after = |end, attempt| settled(&SettleInput { attempt, end, ..standing(&killed, &budget) }).after;
        assert_eq!(after(ProcessEnd::Died, 1), After::Again { not_before: 1_000 });
        assert_eq!(after(ProcessEnd::Died, 2), After::Again { not_before: 1_000 + SHORTLY });
        assert_eq!(after(ProcessEnd::Died, 3), over(SessionStatus::Failed));
        assert_eq!(after(ProcessEnd::Forgot, 1), After::Anew);
        assert_eq!(after(ProcessEnd::Orderly, 1), over(SessionStatus::Failed), "what we ended stays ended");
        let mut refused = killed.clone();
        refused.note(&trouble(TroubleKind::Auth, 401, None));
        let refused = SettleInput { end: ProcessEnd::Forgot, ..standing(&refused, &budget) };
        assert_eq!(settled(&refused).after, over(SessionStatus::Failed));
        let mut full = evidence();
        full.note(&trouble(TroubleKind::ContextOverflow, 400, None));
        assert_eq!(settled(&standing(&full, &budget)).after, After::Anew);
    }

    #[test]
    fn a_report_counts_and_an_exit_code_does_not() {
        let budget = Budget::default();
        let mut quiet = evidence();
        quiet.note(&AgentEvent::Ended { stop: Stop::Exited { code: 0 }, text: None });
        assert_eq!(settled(&standing(&quiet, &budget)).after, over(SessionStatus::Failed));
        let mut done = evidence();
        done.note_report(ReportKind::Complete, "all done");
        let completed = SettleInput { status: SessionStatus::Completed, ..standing(&done, &budget) };
        assert_eq!(settled(&completed).after, over(SessionStatus::Completed));
    }

    #[test]
    fn who_asks_a_person_waits_for_words_and_goes_on_when_there_are_some() {
        let budget = Budget::default();
        let mut asks = evidence();
        asks.note_report(ReportKind::NeedsInput, "Which port?");
        let waits = SettleInput { needs_input: Some("Which port?"), ..standing(&asks, &budget) };
        assert_eq!(settled(&waits).after, After::WhenSpokenTo { needs: "Which port?".to_owned() });
        assert_eq!(settled(&SettleInput { unheard: 1, ..waits }).after, After::Again { not_before: 1_000 });
    }

    #[test]
    fn who_was_cancelled_or_taken_over_is_not_judged() {
        let budget = Budget::default();
        let mut cancelled = evidence();
        cancelled.ending = Ending::Cancelled;
        let stopped = SettleInput { status: SessionStatus::Stopped, ..standing(&cancelled, &budget) };
        assert_eq!(settled(&stopped).after, over(SessionStatus::Stopped));
        let taken = SettleInput { wish: Wish::LetGo, ..standing(&cancelled, &budget) };
        assert_eq!(settled(&taken).after, After::LetGo);
    }
}
