//! Result of a step's session, reported to its run.

use std::path::{Path, PathBuf};

use maestro_core::agent::spawn::SpawnSpec;
use maestro_core::agent::{SessionOutcome, promised};
use maestro_core::id::SessionId;
use maestro_core::report::ReportKind;
use maestro_core::step_session::{StepReport, StepSession};
use maestro_core::workflow::Outcome;
use maestro_core::workflow::directive::Directive;
use maestro_core::workflow::run::{Effect, Input, Refusal, Seen, Ticket, pending};
use maestro_core::workflow::told::Now;
use maestro_store::{Part, SettleSeat, Spawn, SpawnOf, StoreError, Timeline, TranscriptTail};
use serde_json::{Map, Value as Json, json};

use super::budget::{RemainingBudget, invocation_id};
use super::skip::{SkipReason, saying};
use super::{REVIEWER, StepSessions, prompt, stall};
use crate::changes;
use crate::runs::{Hand, RunError, View};

/// How much of what an agent did last is looked through for its promise.
const LAST_EVENTS: i64 = 2_000;
/// The same in characters.
const LAST_CHARACTERS: i64 = 1_000_000;
/// Among how many of a session's last lines its report is looked for.
const LAST_LINES: i64 = 20;

/// The fields of a step's result that are known without a report; a step that declares such a field gets it.
mod field {
    /// Whether the agent said that nothing is left to do.
    pub(super) const PROMISE: &str = "promise";
    /// Whether anything is not committed.
    pub(super) const CHANGED: &str = "changed";
}

impl StepSessions {
    /// Reports the result of a session at one of its steps to a run.
    #[tracing::instrument(skip_all, fields(run = %seat.run, session = %seat.session))]
    pub(super) async fn settle(&self, seat: &StepSession) -> Result<(), RunError> {
        let spawn = self.store.read(SpawnOf(seat.session.clone())).await?;
        let view = self.runs.get(seat.run, (self.clock)()).await?;
        let directive = match &view.told.now {
            Now::Directive { directive } if directive.ticket.as_str() == seat.ticket => directive,
            // It is reported when the run continues.
            Now::Paused => return Ok(()),
            // The run went on or ended without it; what it did is kept all the same.
            _ => {
                self.keep(seat, spawn.as_ref(), None).await;
                return self.settled(seat).await;
            }
        };
        let outcome = spawn.as_ref().and_then(|spawn| spawn.outcome.clone()).unwrap_or_default();
        let workspace = workspace(spawn.as_ref());
        let tree = match outcome.tree() {
            Some(tree) => Some(tree.to_owned()),
            None => in_workspace(workspace.clone(), changes::tree).await,
        };
        self.keep(seat, spawn.as_ref(), tree.as_deref()).await;
        let seen = Seen { tree, ..Seen::default() };
        let evidence = SessionEvidence {
            outcome,
            reported: self.reported(&seat.session).await?,
            facts: self.facts(seat, directive, &seen, workspace).await?,
            stop: None,
            seen,
            now: (self.clock)(),
        };
        let evidence = SessionEvidence { stop: self.stop(&view, &evidence).await?, ..evidence };
        let trusted = evidence.outcome.is_done() && evidence.stop.is_none();
        let own = seat.report.as_ref().filter(|_| trusted).map(|report| evidence.said(seat, report));
        // A step that accepts no report at all cannot be passed.
        for input in own.into_iter().chain([evidence.found(seat, directive), Input::Cancel]) {
            match self.runs.submit(seat.run, input, Hand::Nobody).await {
                // Another process was faster; the next look finds where the run is now.
                Err(RunError::Refused { refusal: Refusal::Paused | Refusal::Over | Refusal::Ticket(_), .. }) => {
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
        self.settled(seat).await
    }

    async fn settled(&self, seat: &StepSession) -> Result<(), RunError> {
        self.store.write(SettleSeat(seat.session.clone())).await?;
        self.write_summary(seat.run).await;
        Ok(())
    }

    /// What the session said when it reported that it is done.
    async fn reported(&self, session: &SessionId) -> Result<Option<String>, StoreError> {
        let wanted = Timeline { session: session.clone(), part: Part::Last(LAST_LINES) };
        let lines = self.store.read(wanted).await?.items;
        let done = lines.into_iter().rev().find(|line| line.kind == ReportKind::Complete.entry_kind());
        Ok(done.map(|done| prompt::line(&done.message)).filter(|line| !line.is_empty()))
    }

    /// Why the work stops after this session, if so.
    async fn stop(&self, view: &View, evidence: &SessionEvidence) -> Result<Option<SkipReason>, RunError> {
        let effect = pending(&view.definition, &view.record.run).into_iter().next();
        let Some(Effect::Instruct { session: Some(Ok(seat)), .. }) = effect else { return Ok(None) };
        let (invocation, ends) = (invocation_id(view), self.ends(view, &seat).await?);
        if !evidence.outcome.is_done() {
            let gone = RemainingBudget::of(&seat, &invocation, &ends).ok().and_then(|budget| budget.gone());
            return Ok(gone.map(SkipReason::spent));
        }
        if seat.role.as_deref() == Some(REVIEWER)
            && let Some(files @ [_, ..]) = evidence.outcome.changed_files()
        {
            return Ok(Some(SkipReason::meddled(files)));
        }
        let Some(position) = view.record.run.position() else { return Ok(None) };
        let stuck = stall::stuck_after(&stall::rounds(&ends, &invocation, position.step.as_str()));
        Ok(stuck.map(|stuck| SkipReason::stuck(stall::reason(stuck, seat.feedback.as_deref().unwrap_or_default()))))
    }

    /// What of the step's result we know ourselves.
    async fn facts(
        &self,
        seat: &StepSession,
        directive: &Directive,
        seen: &Seen,
        workspace: Option<PathBuf>,
    ) -> Result<Map<String, Json>, StoreError> {
        let mut facts = Map::new();
        if directive.result.contains_key(field::PROMISE) {
            facts.insert(field::PROMISE.to_owned(), json!(self.promised(&seat.session).await?));
        }
        if directive.result.contains_key(field::CHANGED) {
            let committed = in_workspace(workspace, changes::committed).await;
            facts.insert(field::CHANGED.to_owned(), json!(seen.tree.is_none() || seen.tree != committed));
        }
        Ok(facts)
    }

    /// Whether the session's agent said that nothing is left to do.
    async fn promised(&self, session: &SessionId) -> Result<bool, StoreError> {
        let (limit, characters) = (LAST_EVENTS, LAST_CHARACTERS);
        let tail = TranscriptTail { session: session.clone(), before: None, limit, characters };
        let tail = self.store.read(tail).await?;
        Ok(promised(tail.entries.iter().map(|entry| &entry.event)))
    }
}

/// Where a session works.
pub(super) fn workspace(spawn: Option<&Spawn>) -> Option<PathBuf> {
    let spec: SpawnSpec = serde_json::from_value(spawn?.spec.clone()).ok()?;
    Some(PathBuf::from(spec.workspace))
}

/// Asks git about a workspace, beside the runtime's threads.
async fn in_workspace(workspace: Option<PathBuf>, ask: fn(&Path) -> Option<String>) -> Option<String> {
    let workspace = workspace?;
    match tokio::task::spawn_blocking(move || ask(&workspace)).await {
        Ok(answer) => answer,
        Err(error) => {
            tracing::warn!("git could not be asked about a workspace: {error}");
            None
        }
    }
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
    seen: Seen,
    now: i64,
}

impl SessionEvidence {
    /// What the session itself reported.
    fn said(&self, seat: &StepSession, report: &StepReport) -> Input {
        let StepReport { outcome, set, result } = report.clone();
        self.report(&seat.ticket, outcome, set.unwrap_or_default(), result.unwrap_or_default())
    }

    /// What follows from how it ended, where it reported nothing itself.
    fn found(&self, seat: &StepSession, directive: &Directive) -> Input {
        if let Some(stop) = &self.stop {
            return self.report(
                &seat.ticket,
                Some(stop.outcome(directive)),
                Map::new(),
                saying(directive, &stop.reason),
            );
        }
        let done = self.outcome.is_done() && directive.outcomes.contains(&Outcome::OK);
        // The next reader learns at least how it ended.
        let summary = match &self.reported {
            Some(reported) if done => reported.clone(),
            _ => prompt::summary(&self.outcome, directive),
        };
        let outcome = if done { Outcome::OK } else { Outcome::FAIL };
        self.report(&seat.ticket, Some(outcome), Map::new(), saying(directive, &summary))
    }

    fn report(
        &self,
        ticket: &str,
        outcome: Option<Outcome>,
        set: Map<String, Json>,
        mut result: Map<String, Json>,
    ) -> Input {
        result.extend(self.facts.clone());
        let (seen, now) = (self.seen.clone(), self.now);
        Input::Report { ticket: Ticket::quoted(ticket.to_owned()), outcome, set, result, seen, now }
    }
}
