use super::*;
use crate::agent::{AgentExit, Format, OutputParser, failure_event};

fn evidence() -> Evidence {
    Evidence::new(ReportAbility::Able, ExpectedChange::Changes)
}

/// What a real agent's output leaves behind.
fn after(format: Format, output: &str, code: i32) -> Evidence {
    let mut parser = OutputParser::new(format);
    let mut events: Vec<AgentEvent> = output.lines().flat_map(|line| parser.feed(line.as_bytes())).collect();
    events.extend(parser.finish(AgentExit::Code(code)));
    let mut evidence = evidence();
    for event in &events {
        evidence.note(event);
    }
    evidence
}

fn check(result: CheckResult) -> ExecutedCheck {
    ExecutedCheck { name: "tests".to_owned(), result }
}

#[test]
fn who_ends_well_but_did_nothing_is_not_done() {
    let denied = after(Format::Claude, include_str!("../parse/fixtures/claude-denied.jsonl"), 0);
    let reasons = vec!["not allowed: Bash: echo hi > f_claude.txt".to_owned()];
    assert_eq!(judge_session(&denied), SessionVerdict::Failed { reasons });
    let refused = after(Format::Aider, include_str!("../parse/fixtures/aider-401.txt"), 0);
    assert!(matches!(judge_session(&refused), SessionVerdict::Parked { .. }), "{refused:?}");
    let limited = after(Format::Goose, include_str!("../parse/fixtures/goose-429.jsonl"), 0);
    assert!(matches!(judge_session(&limited), SessionVerdict::Failed { .. }));
    assert_eq!(limited.retry_decision(), Some(RetryDecision::WaitOut));
    let talked =
        after(Format::Codex, "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"Hi\"}}", 0);
    assert_eq!(judge_session(&talked), nothing_done("it reported nothing, and no file changed", &talked));
    let asked = Evidence { last_words: Some("Which database?".to_owned()), ..talked };
    let reason = "it reported nothing, and no file changed; it said: Which database?".to_owned();
    assert_eq!(judge_session(&asked), SessionVerdict::NothingDone { reason });
}

#[test]
fn a_key_that_is_refused_parks_whatever_the_agent() {
    let fixtures = [
        (Format::Claude, include_str!("../parse/fixtures/claude-401.jsonl"), 1),
        (Format::Claude, include_str!("../parse/fixtures/claude-404.jsonl"), 1),
        (Format::Codex, include_str!("../parse/fixtures/codex-401.jsonl"), 1),
        (Format::Opencode, include_str!("../parse/fixtures/opencode-401.jsonl"), 1),
        (Format::Gemini, include_str!("../parse/fixtures/gemini-401.jsonl"), 145),
        (Format::Goose, include_str!("../parse/fixtures/goose-401.jsonl"), 1),
    ];
    for (format, output, code) in fixtures {
        let evidence = after(format, output, code);
        assert!(
            matches!(judge_session(&evidence), SessionVerdict::Parked { .. }),
            "{format}: {:?}",
            judge_session(&evidence)
        );
        assert_eq!(evidence.retry_decision(), Some(RetryDecision::Park), "{format}");
    }
    let long = after(Format::Opencode, include_str!("../parse/fixtures/opencode-overflow.jsonl"), 1);
    assert_eq!(long.retry_decision(), Some(RetryDecision::Compact));
}

#[test]
fn done_is_a_report_or_a_check_with_something_to_see() {
    let mut evidence = after(Format::Claude, include_str!("../parse/fixtures/claude-tool.jsonl"), 0);
    evidence.changed = vec!["f_claude.txt".to_owned()];
    assert!(matches!(judge_session(&evidence), SessionVerdict::Unreported { .. }), "no evidence says that it is done");
    assert!(evidence.lacks_report());
    evidence.checks = vec![check(CheckResult::Passed)];
    assert_eq!(judge_session(&evidence), SessionVerdict::Done);
    evidence.checks.clear();
    evidence.note_report(ReportKind::Complete, "done");
    evidence.note_report(ReportKind::Progress, "and tidied up");
    assert_eq!(judge_session(&evidence), SessionVerdict::Done);
    evidence.checks = vec![check(CheckResult::Failed { reason: "2 of 40 fail".to_owned() })];
    let reasons = vec!["the check `tests` failed: 2 of 40 fail".to_owned()];
    assert_eq!(judge_session(&evidence), SessionVerdict::Failed { reasons }, "a check has the last word");
}

#[test]
fn a_report_without_a_trace_is_nothing_unless_an_answer_is_all() {
    let mut evidence = evidence();
    evidence.note_report(ReportKind::Complete, "done");
    let reason = "it reported completion, but no file changed".to_owned();
    assert_eq!(judge_session(&evidence), SessionVerdict::NothingDone { reason });
    evidence.expected = ExpectedChange::Anything;
    assert_eq!(judge_session(&evidence), SessionVerdict::Done);
}

#[test]
fn who_cannot_report_is_judged_by_the_files() {
    let mut evidence = after(Format::Aider, include_str!("../parse/fixtures/aider-edit.txt"), 0);
    evidence.reporting = ReportAbility::Unable;
    assert_eq!(
        judge_session(&evidence),
        nothing_done("no file changed", &evidence),
        "what it says itself is no change"
    );
    evidence.changed = vec!["f_aider.txt".to_owned()];
    assert_eq!(judge_session(&evidence), SessionVerdict::Done);
    evidence.note(&failure_event(Some(500), "boom"));
    assert!(matches!(judge_session(&evidence), SessionVerdict::Failed { .. }));
}

#[test]
fn what_was_got_over_is_no_reason() {
    let mut evidence = evidence();
    evidence.note(&failure_event(Some(429), "slow down"));
    evidence.note(&AgentEvent::Said { text: "Here it is.".to_owned() });
    assert_eq!(evidence.retry_decision(), None);
    assert!(matches!(judge_session(&evidence), SessionVerdict::NothingDone { .. }));
}

#[test]
fn who_is_ended_or_asks_is_told_apart() {
    let ended = |ending: EndCause| judge_session(&Evidence { ending, ..evidence() });
    assert_eq!(ended(EndCause::Cancelled), SessionVerdict::Cancelled);
    assert_eq!(ended(EndCause::Silent), SessionVerdict::Stalled);
    let reasons = vec!["a limit was reached: 30 minutes".to_owned()];
    assert_eq!(ended(EndCause::Limit { what: "30 minutes".to_owned() }), SessionVerdict::Failed { reasons });
    let mut asks = evidence();
    asks.note_report(ReportKind::NeedsInput, "Which of the two?");
    assert_eq!(judge_session(&asks), SessionVerdict::Parked { reason: "Which of the two?".to_owned() });
    let mut crashed = evidence();
    crashed.note(&AgentEvent::Ended { stop: StopReason::Killed { signal: 9 }, text: None });
    let reasons = vec!["the agent's process was killed by signal 9".to_owned()];
    assert_eq!(judge_session(&crashed), SessionVerdict::Failed { reasons });
}
