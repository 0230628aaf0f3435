//! XML blocks of a run's updates.

use super::xml_page::XmlPage;
use crate::workflow::render::phrases::GateReport;
use crate::workflow::run_reply::RunUpdate;

impl XmlPage<'_> {
    pub(super) fn updates(&mut self, updates: &[RunUpdate]) {
        for update in updates {
            match update {
                RunUpdate::Shown { step, text, .. } => {
                    self.leaf("show_user", &[("step", step.as_str())], text);
                }
                RunUpdate::Failed { step, outcome, reason } => {
                    let attributes = [("step", step.as_str()), ("outcome", outcome.as_str())];
                    self.leaf("step_failed", &attributes, reason);
                }
                RunUpdate::Tolerated { step, outcome, reason } => {
                    let attributes = [("step", step.as_str()), ("outcome", outcome.as_str())];
                    let said = format!("It is optional, and the run continued. {reason}");
                    self.leaf("step_tolerated", &attributes, said.trim_end());
                }
                RunUpdate::Cut { name, bytes } => {
                    let bytes = bytes.to_string();
                    self.empty("value_cut", &[("name", name.as_str()), ("missing_bytes", &bytes)]);
                }
                RunUpdate::RiskAccepted { gate, items, by } => {
                    self.open("human_override", &[("gate", gate.as_str()), ("by", by.as_str())]);
                    self.leaves("accepted_risk", items);
                    self.close("human_override");
                }
                RunUpdate::Judged { .. } => {}
            }
            if let Some(verdict) = GateReport::of(update) {
                self.gate_result(&verdict);
            }
        }
    }

    pub(super) fn gate_result(&mut self, verdict: &GateReport<'_>) {
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
    fn post_qr_routing(&mut self, verdict: &GateReport<'_>) {
        self.open("post_qr_routing", &[]);
        let role = "You are the orchestrator. The gate has judged; your only action is given below.";
        self.leaf("role", &[], role);
        let pedantic = format!(
            "Every item above blocks. Nothing is too small to fix. After iteration {} the user decides.",
            verdict.limit
        );
        self.leaf("pedantic_mode", &[], &pedantic);
        let by = match verdict.fix_target {
            _ if verdict.is_exhausted() => "user",
            Some(role) => role.as_str(),
            None if verdict.self_fix => "self",
            None => "step",
        };
        self.leaf("fix", &[("by", by)], &verdict.fixer(self.tool));
        self.block("forbidden", "action", &verdict.forbidden(self.tool));
        self.close("post_qr_routing");
    }
}
