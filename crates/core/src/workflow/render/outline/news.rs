//! Blocks of a run's updates.

use super::{Block, Outline};
use crate::workflow::render::words::{Verdict, one_line};
use crate::workflow::told::News;

impl Outline<'_> {
    pub(super) fn news(&mut self, news: &News) {
        if let Some(verdict) = Verdict::of(news) {
            return self.verdict(&verdict);
        }
        match news {
            News::Shown { text, .. } => {
                self.heading("SHOW THE USER", ":");
                self.text(text);
            }
            News::Failed { step, outcome, reason } => {
                self.heading("FAILED", format!(": {step} ended with {}", one_line(outcome.as_str())));
                self.text(reason);
            }
            News::Tolerated { step, outcome } => {
                let outcome = one_line(outcome.as_str());
                self.heading("TOLERATED", format!(": {step} ended with {outcome}, and the run continued"));
            }
            News::Cut { name, bytes } => {
                self.heading("CUT", format!(": {name} was too long; its last {bytes} bytes were cut"));
            }
            News::RiskAccepted { gate, items } => {
                self.heading("RISKS ACCEPTED", format!(" by the user at {gate}:"));
                self.add(Block::List(items.clone()));
            }
            News::Judged { .. } => {}
        }
    }

    fn verdict(&mut self, verdict: &Verdict<'_>) {
        let iteration = verdict.iteration().map(|iteration| format!(" ({iteration})")).unwrap_or_default();
        self.heading(verdict.word(), format!("{iteration}: {}", one_line(verdict.title)));
        if !verdict.reasons.is_empty() {
            self.add(Block::List(verdict.reasons.to_vec()));
        }
        if !verdict.passed {
            self.text(verdict.mender(self.tool));
            let forbidden = verdict.forbidden(self.tool);
            self.list("FORBIDDEN NOW", &forbidden);
        }
    }
}
