//! XML blocks of a run's updates.

use super::page::Page;
use crate::workflow::render::words::Verdict;
use crate::workflow::told::News;

impl Page<'_> {
    pub(super) fn news(&mut self, news: &[News]) {
        for news in news {
            match news {
                News::Shown { step, text } => {
                    self.leaf("show_user", &[("step", step.as_str())], text);
                }
                News::Failed { step, outcome, reason } => {
                    let attributes = [("step", step.as_str()), ("outcome", outcome.as_str())];
                    self.leaf("step_failed", &attributes, reason);
                }
                News::Tolerated { step, outcome } => {
                    let attributes = [("step", step.as_str()), ("outcome", outcome.as_str())];
                    self.leaf("step_tolerated", &attributes, "It is optional, and the run continued.");
                }
                News::Cut { name, bytes } => {
                    let bytes = bytes.to_string();
                    self.empty("value_cut", &[("name", name.as_str()), ("missing_bytes", &bytes)]);
                }
                News::RiskAccepted { gate, items } => {
                    self.open("human_override", &[("gate", gate.as_str())]);
                    self.leaves("accepted_risk", items);
                    self.close("human_override");
                }
                News::Judged { .. } => {}
            }
            if let Some(verdict) = Verdict::of(news) {
                self.gate_result(&verdict);
            }
        }
    }

    pub(super) fn gate_result(&mut self, verdict: &Verdict<'_>) {
        let iteration = verdict.iteration().map(|iteration| format!(" ({iteration})")).unwrap_or_default();
        let message = format!("{}{iteration}", verdict.word());
        let status = if verdict.passed { "pass" } else { "fail" };
        let attributes = [("status", status), ("gate", verdict.gate), ("title", verdict.title)];
        if verdict.reasons.is_empty() {
            self.leaf("gate_result", &attributes, &message);
        } else {
            self.open("gate_result", &attributes);
            self.leaf("message", &[], &message);
            self.leaves("item", verdict.reasons);
            self.close("gate_result");
        }
        if !verdict.passed {
            self.post_qr_routing(verdict);
        }
    }

    /// What follows from a failed gate, and what does not.
    fn post_qr_routing(&mut self, verdict: &Verdict<'_>) {
        self.open("post_qr_routing", &[]);
        let role = "You are the orchestrator. The gate has judged; your only action is given below.";
        self.leaf("role", &[], role);
        let pedantic = format!(
            "Every item above blocks. Nothing is too small to fix. After iteration {} the user decides.",
            verdict.limit
        );
        self.leaf("pedantic_mode", &[], &pedantic);
        let by = match verdict.fix_target {
            _ if verdict.used_up() => "user",
            Some(role) => role.as_str(),
            None if verdict.self_fix => "self",
            None => "step",
        };
        self.leaf("fix", &[("by", by)], &verdict.mender(self.tool));
        self.block("forbidden", "action", &verdict.forbidden(self.tool));
        self.close("post_qr_routing");
    }
}
