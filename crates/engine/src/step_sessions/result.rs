//! Result of a step's session, reported to its run.

use std::path::{Path, PathBuf};

use maestro_core::agent::spawn::SpawnSpec;
use maestro_core::agent::{SessionOutcome, SessionResult, promises_completion};
use maestro_core::id::SessionId;
use maestro_core::message::MessageState;
use maestro_core::report::ReportKind;
use maestro_core::step_session::{StepReport, StepSession};
use maestro_core::workflow::StepOutcome;
use maestro_core::workflow::directive::Directive;
use maestro_core::workflow::run::{
    FileState, InputRefusal, PendingEffect, PersonItemState, RunInput, Ticket, pending_effects,
};
use maestro_core::workflow::run_reply::NextAction;
use maestro_store::{
    ListPage, MessageList, SettleStepSession, SpawnBySession, SpawnRecord, StoreError, TimelineQuery, TimelineRange,
    TranscriptTail,
};
use serde_json::{Map, Value as Json, json};

use super::budget::{RemainingBudget, invocation_id};
use super::skip::{SkipReason, UNREPORTED, filled_result};
use super::{REVIEWER, StepSessions, prompt, stall, verdict};
use crate::blocking;
use crate::git_changes;
use crate::runs::{ExecutionClaim, RunError, RunView};

/// How much of what an agent did last is looked through for its promise.
const LAST_EVENTS: i64 = 2_000;
/// The same in characters.
const LAST_CHARACTERS: i64 = 1_000_000;
/// Among how many of a session's last lines its report is looked for.
const LAST_LINES: i64 = 20;
/// How many of a session's messages are read.
const LAST_MESSAGES: i64 = 1000;

/// The fields of a step's result that are known without a report; a step that declares such a field gets it.
pub(super) mod field {
    /// What was done, as the agent reported it or as it ended.
    pub(in super::super) const SUMMARY: &str = "summary";
    /// Whether the agent said that nothing is left to do.
    pub(in super::super) const PROMISE: &str = "promise";
    /// Whether anything is not committed.
    pub(in super::super) const CHANGED: &str = "changed";
}

impl StepSessions {
    /// Reports the result of a session at one of its steps to a run.
    #[tracing::instrument(skip_all, fields(run = %seat.run, session = %seat.session))]
    pub(super) async fn settle(&self, seat: &StepSession) -> Result<(), RunError> {
        let spawn = self.store.read(SpawnBySession(seat.session.clone())).await?;
        let view = self.runs.get(seat.run, (self.clock)()).await?.in_front(&Ticket::quoted(seat.ticket.clone()));
        let directive = match &view.reply.next {
            NextAction::Directive { directive } if directive.ticket.as_str() == seat.ticket => directive,
            // It is reported when the run continues.
            NextAction::Paused => return Ok(()),
            // The run went on or ended without it; what it did is kept all the same.
            _ => {
                self.write_artifacts(seat, spawn.as_ref(), None).await;
                return self.report_result(seat).await;
            }
        };
        let outcome = spawn.as_ref().and_then(|spawn| spawn.outcome.clone()).unwrap_or_default();
        let workspace = workspace(spawn.as_ref());
        let tree = match outcome.tree() {
            Some(tree) => Some(tree.to_owned()),
            None => in_workspace(workspace.clone(), git_changes::tree_hash).await,
        };
        self.write_artifacts(seat, spawn.as_ref(), tree.as_deref()).await;
        let seen = FileState { tree, ..FileState::default() };
        let evidence = SessionEvidence {
            outcome,
            reported: self.reported_message(&seat.session).await?,
            facts: self.known_facts(seat, directive, &seen, workspace).await?,
            stop: None,
            seen,
            now: (self.clock)(),
        };
        self.note_delivered_comments(seat, &view).await?;
        let evidence = SessionEvidence { stop: self.stop_reason(&view, seat, directive, &evidence).await?, ..evidence };
        let trusted = evidence.outcome.is_done() && evidence.stop.is_none();
        let own = seat.report.as_ref().filter(|_| trusted).map(|report| evidence.reported_input(seat, report));
        let observed = [evidence.observed_input(seat, directive), evidence.abandon_input(seat, directive)];
        for input in own.into_iter().chain(observed) {
            match self.runs.submit(seat.run, input, ExecutionClaim::None).await {
                // Another process was faster; the next look finds where the run is now.
                Err(RunError::Refused {
                    refusal: InputRefusal::Paused | InputRefusal::Over | InputRefusal::Ticket(_),
                    ..
                }) => {
                    return Ok(());
                }
                Err(RunError::Refused { .. }) => {}
                answer => {
                    answer?;
                    break;
                }
            }
        }
        tracing::info!(outcome = evidence.outcome.result.word(), "session reported to its run");
        self.report_result(seat).await
    }

    async fn report_result(&self, seat: &StepSession) -> Result<(), RunError> {
        self.store.write(SettleStepSession(seat.session.clone())).await?;
        self.write_summary(seat.run).await;
        Ok(())
    }

    /// Tells the run which comments the session received while it worked: it counts them as fixed, and need not be asked
    /// to fix them again.
    async fn note_delivered_comments(&self, seat: &StepSession, view: &RunView) -> Result<(), RunError> {
        let queued = view.record.run.person_items.iter().filter(|item| item.state == PersonItemState::Queued);
        let told: Vec<&String> = queued.filter_map(|item| item.message.as_ref()).collect();
        if told.is_empty() {
            return Ok(());
        }
        let page = ListPage { limit: LAST_MESSAGES, after: 0 };
        let messages = self.store.read(MessageList { session: seat.session.clone(), page }).await?.items;
        let delivered = messages.iter().filter(|message| message.state == MessageState::Delivered);
        let messages: Vec<String> =
            delivered.map(|message| message.id.to_string()).filter(|id| told.contains(&id)).collect();
        if messages.is_empty() {
            return Ok(());
        }
        let input = RunInput::DeliverItems { messages, now: (self.clock)() };
        self.runs.submit(seat.run, input, ExecutionClaim::None).await.map(drop)
    }

    /// What the session said when it reported that it is done.
    async fn reported_message(&self, session: &SessionId) -> Result<Option<String>, StoreError> {
        let wanted = TimelineQuery { session: session.clone(), range: TimelineRange::Last(LAST_LINES) };
        let lines = self.store.read(wanted).await?.items;
        let done = lines.into_iter().rev().find(|line| line.kind == ReportKind::Complete.entry_kind());
        Ok(done.map(|done| prompt::line(&done.message)).filter(|line| !line.is_empty()))
    }

    /// Why the work stops after this session, if so.
    async fn stop_reason(
        &self,
        view: &RunView,
        own: &StepSession,
        directive: &Directive,
        evidence: &SessionEvidence,
    ) -> Result<Option<SkipReason>, RunError> {
        let effect = pending_effects(&view.definition, &view.record.run).into_iter().next();
        let Some(PendingEffect::Instruct { session: Some(Ok(seat)), .. }) = effect else { return Ok(None) };
        if let Some(parked) = self.parked_reason(own, &evidence.outcome).await? {
            return Ok(Some(parked));
        }
        let (invocation, ends) = (invocation_id(view), self.earlier_results(view).await?);
        let unusable = || verdict::unusable(directive, &evidence.outcome, own.report.as_ref(), &ends, &invocation);
        if !evidence.outcome.is_done() {
            let gone = match RemainingBudget::of(&seat, &invocation, &ends) {
                Ok(budget) => budget.exhausted(),
                Err(invalid) => Some(invalid.to_string()),
            };
            return Ok(gone.map(SkipReason::out_of_budget).or_else(unusable));
        }
        if seat.role.as_deref() == Some(REVIEWER)
            && let Some(files @ [_, ..]) = evidence.outcome.changed_files()
        {
            return Ok(Some(SkipReason::changed_files(files)));
        }
        if let Some(unusable) = unusable() {
            return Ok(Some(unusable));
        }
        let Some(position) = view.record.run.position() else { return Ok(None) };
        let stuck = stall::stalled_after(&stall::rounds(&ends, &invocation, position.step.as_str()));
        Ok(stuck.map(|stuck| SkipReason::stalled(stall::reason(stuck, seat.feedback.as_deref().unwrap_or_default()))))
    }

    /// What of the step's result we know ourselves.
    async fn known_facts(
        &self,
        seat: &StepSession,
        directive: &Directive,
        seen: &FileState,
        workspace: Option<PathBuf>,
    ) -> Result<Map<String, Json>, StoreError> {
        let mut facts = Map::new();
        if directive.result.contains_key(field::PROMISE) {
            facts.insert(field::PROMISE.to_owned(), json!(self.has_promise(&seat.session).await?));
        }
        if directive.result.contains_key(field::CHANGED) {
            let committed = in_workspace(workspace, git_changes::head_tree).await;
            facts.insert(field::CHANGED.to_owned(), json!(seen.tree.is_none() || seen.tree != committed));
        }
        Ok(facts)
    }

    /// Whether the session's agent said that nothing is left to do.
    async fn has_promise(&self, session: &SessionId) -> Result<bool, StoreError> {
        let (limit, characters) = (LAST_EVENTS, LAST_CHARACTERS);
        let tail = TranscriptTail { session: session.clone(), before: None, limit, characters };
        let tail = self.store.read(tail).await?;
        Ok(promises_completion(tail.entries.iter().map(|entry| &entry.event)))
    }
}

/// Where a session works.
pub(super) fn workspace(spawn: Option<&SpawnRecord>) -> Option<PathBuf> {
    Some(PathBuf::from(spec_of(spawn?)?.workspace))
}

/// What a session was started with, if it can be read.
pub(super) fn spec_of(spawn: &SpawnRecord) -> Option<SpawnSpec> {
    let warn = |error: &_| tracing::warn!(session = %spawn.session, "its specification cannot be read: {error}");
    serde_json::from_value(spawn.spec.clone()).inspect_err(warn).ok()
}

/// Asks git about a workspace, beside the runtime's threads.
async fn in_workspace(workspace: Option<PathBuf>, ask: fn(&Path) -> Option<String>) -> Option<String> {
    let workspace = workspace?;
    blocking::run(move || ask(&workspace)).await
}

/// What is known of a session that has ended.
struct SessionEvidence {
    /// What its worker found.
    outcome: SessionOutcome,
    /// What it said when it reported that it is done.
    reported: Option<String>,
    /// The fields of the step's result that need no report.
    facts: Map<String, Json>,
    /// Why the work stops, if so.
    stop: Option<SkipReason>,
    seen: FileState,
    now: i64,
}

impl SessionEvidence {
    /// What the session itself reported.
    fn reported_input(&self, seat: &StepSession, report: &StepReport) -> RunInput {
        let StepReport { outcome, set, result } = report.clone();
        self.report(&seat.ticket, outcome, set.unwrap_or_default(), result.unwrap_or_default())
    }

    /// What follows from how it ended, where it reported nothing itself.
    fn observed_input(&self, seat: &StepSession, directive: &Directive) -> RunInput {
        if let Some(stop) = &self.stop {
            return self.report(
                &seat.ticket,
                Some(stop.outcome(directive)),
                Map::new(),
                filled_result(directive, stop.words()),
            );
        }
        // Empty fields are no result from which anything may follow.
        if prompt::decides_by_result(directive) {
            return self.abandon_input(seat, directive);
        }
        let unreported = matches!(self.outcome.result, SessionResult::Unreported { .. })
            .then(|| directive.outcomes.iter().find(|outcome| outcome.as_str() == UNREPORTED))
            .flatten();
        if let Some(unreported) = unreported {
            let summary = prompt::summary(&self.outcome, directive);
            return self.report(&seat.ticket, Some(unreported.clone()), Map::new(), filled_result(directive, &summary));
        }
        let done = self.outcome.is_done() && directive.outcomes.contains(&StepOutcome::OK);
        // The next reader learns at least how it ended.
        let summary = match &self.reported {
            Some(reported) if done => reported.clone(),
            _ => prompt::summary(&self.outcome, directive),
        };
        let outcome = if done { StepOutcome::OK } else { StepOutcome::FAIL };
        self.report(&seat.ticket, Some(outcome), Map::new(), filled_result(directive, &summary))
    }

    /// What follows where the step accepts none of it: it cannot be passed.
    fn abandon_input(&self, seat: &StepSession, directive: &Directive) -> RunInput {
        let reason = if let Some(stop) = &self.stop {
            stop.reason.clone()
        } else {
            let summary = prompt::summary(&self.outcome, directive);
            format!("the session ended without a report that the step accepts ({summary})")
        };
        RunInput::Abandon { ticket: Ticket::quoted(seat.ticket.clone()), reason, now: self.now }
    }

    fn report(
        &self,
        ticket: &str,
        outcome: Option<StepOutcome>,
        set: Map<String, Json>,
        mut result: Map<String, Json>,
    ) -> RunInput {
        result.extend(self.facts.clone());
        let (seen, now) = (self.seen.clone(), self.now);
        RunInput::Report { ticket: Ticket::quoted(ticket.to_owned()), outcome, set, result, seen, now }
    }
}
