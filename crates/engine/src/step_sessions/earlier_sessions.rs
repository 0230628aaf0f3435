//! Earlier sessions at a task: what the user answered them, and how the last attempt at the same step ended.
//!
//! Each session begins without the memory of those before it. What a person said to one of them holds for all.

use std::fmt::Write as _;

use maestro_core::excerpt::{ellipsize, one_line};
use maestro_core::id::SessionId;
use maestro_core::message::{MessageState, SessionMessage};
use maestro_core::report::ReportKind;
use maestro_core::session::TimelineEntry;
use maestro_core::step_session::StepSessionEnd;
use maestro_core::workflow::directive::Directive;
use maestro_core::workflow::run::SessionRequest;
use maestro_store::{ListPage, MessageList, StoreError, TimelineQuery, TimelineRange};

use super::{StepSessions, prompt};

/// How many of the last sessions at a task are looked at.
const SESSIONS: usize = 20;
/// How many messages and lines of each are read.
const LINES: i64 = 200;
/// How many reports of an attempt are repeated.
const REPORTS: usize = 10;
/// How long something that was said may be, in characters.
const SAID_CHARS: usize = 2_000;

/// What a session should know of those before it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EarlierSessions {
    /// What the user said, oldest first.
    exchanges: Vec<UserExchange>,
    /// The attempt just before this one, where it came to no result.
    attempt: Option<FailedAttempt>,
}

/// Something that the user said, and the question before it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UserExchange {
    question: Option<String>,
    said: String,
}

/// A session that ended without a result.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FailedAttempt {
    reason: String,
    reports: Vec<String>,
}

impl EarlierSessions {
    /// Its part of a prompt; empty where there is nothing to say.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (index, exchange) in self.exchanges.iter().enumerate() {
            if index == 0 {
                text.push_str("\n\n## What the user said about this task\n\nIt was said to earlier sessions, and holds for you:\n");
            }
            if let Some(question) = &exchange.question {
                let _ = write!(text, "\n- Asked: {question}\n  The user: {}", exchange.said);
            } else {
                let _ = write!(text, "\n- The user: {}", exchange.said);
            }
        }
        if let Some(attempt) = &self.attempt {
            let _ = write!(
                text,
                "\n\n## The attempt before\n\nAn earlier session at this step ended without a result: {}",
                attempt.reason
            );
            if !attempt.reports.is_empty() {
                text.push_str("\n\nIt reported:\n");
            }
            for report in &attempt.reports {
                let _ = write!(text, "\n- {report}");
            }
            text.push_str("\n\nLook at the files first: what it changed may still be there. Continue from there.");
        }
        text
    }
}

impl StepSessions {
    /// What is known of the sessions that worked at the same task before.
    pub(super) async fn earlier_sessions(
        &self,
        seat: &SessionRequest,
        directive: &Directive,
        ends: &[StepSessionEnd],
    ) -> Result<EarlierSessions, StoreError> {
        let same_task = |end: &&StepSessionEnd| seat.task.is_some() && end.metadata.task == seat.task;
        let mut before: Vec<&StepSessionEnd> = ends.iter().rev().filter(same_task).take(SESSIONS).collect();
        before.reverse();
        let mut work = EarlierSessions::default();
        for end in &before {
            let Some(session) = &end.session else { continue };
            let lines = self.timeline_of(session).await?;
            let page = ListPage { after: 0, limit: LINES };
            let messages = self.store.read(MessageList { session: session.clone(), page }).await?.items;
            work.exchanges.extend(user_exchanges(&lines, &messages));
        }
        // A reviewer looks with fresh eyes, and would take why another one failed for a finding.
        if !prompt::judges(directive)
            && let Some((end, session)) = before.last().and_then(|end| Some((end, end.session.as_ref()?)))
            && end.metadata.step.as_deref() == Some(directive.step.id.as_str())
            && let Some(outcome) = end.outcome.as_ref().filter(|outcome| !outcome.is_done())
        {
            let reason = one_line(&prompt::summary(outcome, directive));
            work.attempt = Some(FailedAttempt { reason, reports: reports(&self.timeline_of(session).await?) });
        }
        Ok(work)
    }

    async fn timeline_of(&self, session: &SessionId) -> Result<Vec<TimelineEntry>, StoreError> {
        let range = TimelineRange::Last(LINES);
        Ok(self.store.read(TimelineQuery { session: session.clone(), range }).await?.items)
    }
}

/// What the user said to a session, each with the question that was open then.
fn user_exchanges(lines: &[TimelineEntry], messages: &[SessionMessage]) -> Vec<UserExchange> {
    let asking = [ReportKind::Blocked, ReportKind::NeedsInput].map(ReportKind::entry_kind);
    let mut questions: Vec<&TimelineEntry> = lines.iter().filter(|line| asking.contains(&line.kind)).collect();
    let mut exchanges = Vec::new();
    for message in messages.iter().filter(|message| message.is_from_user() && message.state != MessageState::Refused) {
        let open = questions.iter().rposition(|question| question.at <= message.created_at);
        // What was asked before it is answered by it, too, or was taken back.
        let question = open.and_then(|last| questions.drain(..=last).next_back());
        exchanges.push(UserExchange {
            question: question.map(|line| ellipsize(&one_line(&line.message), SAID_CHARS)),
            said: ellipsize(&one_line(&message.text), SAID_CHARS),
        });
    }
    exchanges
}

/// The last things that a session reported.
fn reports(lines: &[TimelineEntry]) -> Vec<String> {
    let is_report = |line: &&TimelineEntry| ReportKind::ALL.into_iter().any(|kind| kind.entry_kind() == line.kind);
    let all: Vec<String> =
        lines.iter().filter(is_report).map(|line| ellipsize(&one_line(&line.message), SAID_CHARS)).collect();
    all[all.len().saturating_sub(REPORTS)..].to_vec()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(kind: ReportKind, at: i64, message: &str) -> TimelineEntry {
        let id = format!("evt_{at}_abcdefghi");
        serde_json::from_value(json!({ "id": id, "kind": kind.entry_kind(), "at": at, "message": message, "task": null, "metadata": null }))
            .unwrap()
    }

    fn message(from: &str, at: i64, text: &str, state: &str) -> SessionMessage {
        serde_json::from_value(json!({
            "id": "msg_1_abcdefghi", "sessionId": "sess_1_abcdefghi", "from": from, "text": text, "state": state, "how": null,
            "createdAt": at, "settledAt": null,
        }))
        .unwrap()
    }

    #[test]
    fn an_answer_stands_beside_the_question_before_it() {
        let lines = [
            line(ReportKind::Progress, 1, "Reading"),
            line(ReportKind::NeedsInput, 2, "u or ue?"),
            line(ReportKind::Blocked, 6, "Which port?"),
        ];
        let messages = [
            message("you", 3, "ue,\nplease", "delivered"),
            message("you", 4, "and no new files", "queued"),
            message("sess_2", 5, "I am done", "delivered"),
            message("you", 7, "too late", "refused"),
        ];
        let work = EarlierSessions { exchanges: user_exchanges(&lines, &messages), attempt: None };
        assert_eq!(
            work.text(),
            "\n\n## What the user said about this task\n\nIt was said to earlier sessions, and holds for you:\n\
             \n- Asked: u or ue?\n  The user: ue, please\n- The user: and no new files"
        );
    }

    #[test]
    fn an_attempt_without_a_result_is_described_with_its_last_reports() {
        let lines: Vec<TimelineEntry> =
            (0..12).map(|at| line(ReportKind::Progress, at, &format!("step {at}"))).collect();
        let attempt = FailedAttempt { reason: "no output for 10 min".to_owned(), reports: reports(&lines) };
        let text = EarlierSessions { exchanges: Vec::new(), attempt: Some(attempt) }.text();
        assert!(
            text.contains("without a result: no output for 10 min\n\nIt reported:\n\n- step 2\n- step 3"),
            "{text}"
        );
        assert!(text.ends_with(
            "- step 11\n\nLook at the files first: what it changed may still be there. Continue from there."
        ));
        assert_eq!(EarlierSessions::default().text(), "");
    }
}
