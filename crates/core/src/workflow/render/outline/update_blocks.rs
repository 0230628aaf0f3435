//! Blocks of a run's updates.

use super::{MarkedText, PageBlock, PageOutline, marked};
use crate::workflow::render::phrases::{GateReport, one_line};
use crate::workflow::run_reply::RunUpdate;

impl PageOutline<'_> {
    pub(super) fn update(&mut self, update: &RunUpdate) {
        if let Some(verdict) = GateReport::of(update) {
            return self.verdict(&verdict);
        }
        match update {
            RunUpdate::Shown { text, authored, .. } => {
                self.heading("SHOW THE USER", ":");
                self.text(marked(text, authored));
            }
            RunUpdate::Failed { step, outcome, reason } => {
                self.heading("FAILED", format!(": {step} ended with {}", one_line(outcome.as_str())));
                self.text(reason);
            }
            RunUpdate::Tolerated { step, outcome, reason } => {
                let outcome = one_line(outcome.as_str());
                self.heading("TOLERATED", format!(": {step} ended with {outcome}, and the run continued"));
                if !reason.is_empty() {
                    self.text(reason);
                }
            }
            RunUpdate::Cut { name, bytes } => {
                self.heading("CUT", format!(": {name} was too long; its last {bytes} bytes were cut"));
            }
            RunUpdate::RiskAccepted { gate, items, by } => {
                self.heading("RISKS ACCEPTED", format!(" by {} at {gate}:", by.describe()));
                self.add(PageBlock::List(items.iter().map(MarkedText::from).collect()));
            }
            RunUpdate::Judged { .. } => {}
        }
    }

    fn verdict(&mut self, verdict: &GateReport<'_>) {
        let iteration = verdict.iteration().map(|iteration| format!(" ({iteration})")).unwrap_or_default();
        self.heading(verdict.word(), format!("{iteration}: {}", one_line(verdict.title)));
        if !verdict.reasons.is_empty() {
            self.add(PageBlock::List(verdict.reasons.iter().map(MarkedText::from).collect()));
        }
        if !verdict.passed {
            self.text(verdict.fixer(self.tool));
            let forbidden = verdict.forbidden(self.tool);
            self.list("FORBIDDEN NOW", &forbidden);
        }
    }
}
