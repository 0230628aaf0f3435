//! Result of a step's session, reported to its run.

use std::path::PathBuf;

use maestro_core::agent::promised;
use maestro_core::id::SessionId;
use maestro_core::report::ReportKind;
use maestro_core::workflow::Outcome;
use maestro_core::workflow::directive::Directive;
use maestro_core::workflow::run::{Effect, Input, Refusal, Seen, Ticket, pending};
use maestro_core::workflow::told::Now;
use maestro_store::{Part, Seat, SettleSeat, SpawnOf, Timeline, TranscriptTail};
use serde_json::{Map, Value as Json, json};

use super::budget::{RemainingBudget, walk};
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

/// What of a step's result is known without anybody's report; a step that declares such a field gets it.
mod field {
    /// Whether the agent said that nothing is left to do.
    pub(super) const PROMISE: &str = "promise";
    /// Whether anything is not committed.
    pub(super) const CHANGED: &str = "changed";
}

impl StepSessions {
    /// Tells a run what came of a session at one of its steps.
    pub(super) async fn settle(&self, seat: &Seat) -> Result<(), RunError> {
        let spawn = self.store.read(SpawnOf(seat.session.clone())).await?;
        let outcome = spawn.as_ref().and_then(|spawn| spawn.outcome.clone()).unwrap_or_default();
        let view = self.runs.get(seat.run, (self.clock)()).await?;
        let directive = match &view.told.now {
            Now::Directive { directive } if directive.ticket.as_str() == seat.ticket => directive,
            // It hears of it when it goes on.
            Now::Paused => return Ok(()),
            // The run went on or ended without it; what it did is kept all the same.
            _ => {
                self.keep(seat, spawn.as_ref(), None).await;
                return self.settled(seat).await;
            }
        };
        let workspace = spawn.as_ref().and_then(|spawn| spawn.spec["workspace"].as_str().map(PathBuf::from));
        let tree = match outcome["tree"].as_str() {
            Some(tree) => Some(tree.to_owned()),
            None => workspace.as_deref().and_then(changes::tree),
        };
        self.keep(seat, spawn.as_ref(), tree.as_deref()).await;
        let seen = Seen { tree, ..Seen::default() };
        let known = SessionEvidence {
            outcome,
            reported: self.reported(&seat.session).await,
            facts: self.facts(seat, directive, &seen, workspace).await,
            stop: None,
            seen,
            now: (self.clock)(),
        };
        let known = SessionEvidence { stop: self.stop(&view, &known).await?, ..known };
        let trusted = known.is_done() && known.stop.is_none();
        let own = seat.report.as_ref().filter(|_| trusted).map(|report| known.said(seat, report));
        // A step that takes no word of anybody cannot be got over.
        for input in own.into_iter().chain([known.found(seat, directive), Input::Cancel]) {
            match self.runs.submit(seat.run, input, Hand::Nobody).await {
                // Somebody was faster; the next look finds how the run stands now.
                Err(RunError::Refused { refusal: Refusal::Paused | Refusal::Over | Refusal::Ticket(_), .. }) => {
                    return Ok(());
                }
                Err(RunError::Refused { .. }) => {}
                told => {
                    told?;
                    break;
                }
            }
        }
        self.settled(seat).await
    }

    async fn settled(&self, seat: &Seat) -> Result<(), RunError> {
        self.store.write(SettleSeat(seat.session.clone())).await?;
        self.write_summary(seat.run).await;
        Ok(())
    }

    /// What the session said when it reported that it is done.
    async fn reported(&self, session: &SessionId) -> Option<String> {
        let wanted = Timeline { session: session.clone(), part: Part::Last(LAST_LINES) };
        let lines = self.store.read(wanted).await.ok()?.items;
        let done = lines.into_iter().rev().find(|line| line.kind == ReportKind::Complete.entry_kind())?;
        Some(prompt::line(&done.message)).filter(|line| !line.is_empty())
    }

    /// Why nobody is to go on after this session, if so.
    async fn stop(&self, view: &View, known: &SessionEvidence) -> Result<Option<SkipReason>, RunError> {
        let effect = pending(&view.definition, &view.record.run).into_iter().next();
        let Some(Effect::Instruct { session: Some(seat), .. }) = effect else { return Ok(None) };
        let (walk, ends) = (walk(view), self.ends(view, &seat).await?);
        if !known.is_done() {
            let gone = RemainingBudget::of(&seat, &walk, &ends).ok().and_then(|budget| budget.gone());
            return Ok(gone.map(SkipReason::spent));
        }
        if seat.role.as_deref() == Some(REVIEWER)
            && let files @ [_, ..] = known.changed().as_slice()
        {
            return Ok(Some(SkipReason::meddled(files)));
        }
        let Some(position) = view.record.run.position() else { return Ok(None) };
        let stuck = stall::stuck_after(&stall::rounds(&ends, &walk, position.step.as_str()));
        Ok(stuck.map(|stuck| SkipReason::stuck(stall::reason(stuck, seat.mends.as_deref().unwrap_or_default()))))
    }

    /// What of the step's result we know ourselves.
    async fn facts(
        &self,
        seat: &Seat,
        directive: &Directive,
        seen: &Seen,
        workspace: Option<PathBuf>,
    ) -> Map<String, Json> {
        let mut facts = Map::new();
        if directive.result.contains_key(field::PROMISE) {
            facts.insert(field::PROMISE.to_owned(), json!(self.promised(&seat.session).await));
        }
        if directive.result.contains_key(field::CHANGED) {
            let committed = workspace.as_deref().and_then(changes::committed);
            facts.insert(field::CHANGED.to_owned(), json!(seen.tree.is_none() || seen.tree != committed));
        }
        facts
    }

    /// Whether the session's agent said that nothing is left to do.
    async fn promised(&self, session: &SessionId) -> bool {
        let (limit, characters) = (LAST_EVENTS, LAST_CHARACTERS);
        let tail = TranscriptTail { session: session.clone(), before: None, limit, characters };
        let tail = self.store.read(tail).await;
        tail.is_ok_and(|tail| promised(tail.entries.iter().map(|entry| &entry.event)))
    }
}

/// What is known of a session that has ended.
struct SessionEvidence {
    /// What its worker found.
    outcome: Json,
    /// What it said when it reported that it is done.
    reported: Option<String>,
    /// What of the step's result nobody needs to report.
    facts: Map<String, Json>,
    /// Why nobody is to go on, if so.
    stop: Option<SkipReason>,
    seen: Seen,
    now: i64,
}

impl SessionEvidence {
    fn is_done(&self) -> bool {
        self.outcome["kind"] == "done"
    }

    /// The files that it changed.
    fn changed(&self) -> Vec<&str> {
        self.outcome["changedFiles"].as_array().into_iter().flatten().filter_map(Json::as_str).collect()
    }

    /// What the session itself reported.
    fn said(&self, seat: &Seat, report: &Json) -> Input {
        let map = |key: &str| report[key].as_object().cloned().unwrap_or_default();
        let outcome = report["outcome"].as_str().map(|word| Outcome::new(word.to_owned()));
        self.report(&seat.ticket, outcome, map("set"), map("result"))
    }

    /// What follows from how it ended, where it reported nothing itself.
    fn found(&self, seat: &Seat, directive: &Directive) -> Input {
        if let Some(stop) = &self.stop {
            return self.report(
                &seat.ticket,
                Some(stop.outcome(directive)),
                Map::new(),
                saying(directive, &stop.reason),
            );
        }
        let done = self.is_done() && directive.outcomes.contains(&Outcome::OK);
        // Whoever reads it next learns at least how it ended.
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
