//! The XML form, for agents that were taught to follow it. The blocks have seed 4's names. A page is one
//! element: a step, or what is said instead of one; what happened on the way stands at its beginning.

mod xml_directive;
mod xml_dispatch;
mod xml_page;
mod xml_stateless;
mod xml_updates;

use super::phrases::{NOTED, SubagentSupport, command, complete, resume, show_command, subagent_support};
use crate::workflow::directive::FinishedRun;
use crate::workflow::run_reply::{NextAction, RunReply, RunUpdate, SubagentDone};
use crate::workflow::tool::CodingTool;
use crate::workflow::value_type::value_text;

use xml_page::XmlPage;

pub(in crate::workflow) use xml_stateless::page as unverified;

/// A reply as one element.
pub(super) fn page(told: &RunReply, tool: &CodingTool) -> String {
    let mut page = XmlPage::new(tool);
    let run = ("run", told.run.as_str());
    match &told.next {
        NextAction::Directive { directive } => page.step(directive, &told.updates),
        NextAction::Finished { finished, message } => page.finished(finished, message.as_deref(), &told.updates),
        NextAction::Busy { step, title, .. } => {
            page.open("workflow_busy", &[run, ("step", step.as_str()), ("title", title)]);
            page.updates(&told.updates);
            let next = format!("A command is running. Check again later: {}", command(&show_command(&told.run)));
            page.leaf("NEXT", &[("required", "true")], &next);
            page.close("workflow_busy");
        }
        NextAction::Paused => {
            page.open("workflow_paused", &[run]);
            page.updates(&told.updates);
            let next = format!("Do nothing. The run is paused; to resume it, run: {}", command(&resume(&told.run)));
            page.leaf("NEXT", &[("required", "false")], &next);
            page.close("workflow_paused");
        }
        NextAction::Noted { step, title } => {
            page.open("workflow_noted", &[run, ("step", step.as_str()), ("title", title)]);
            page.updates(&told.updates);
            let next = format!("{NOTED} If nothing is left to do, run: {}", command(&complete()));
            page.leaf("NEXT", &[("required", "true")], &next);
            page.close("workflow_noted");
        }
        NextAction::Handed(handed) => page.subagent_done(handed, run, &told.updates),
    }
    page.text
}

impl XmlPage<'_> {
    fn finished(&mut self, finished: &FinishedRun, message: Option<&str>, updates: &[RunUpdate]) {
        let outcome = finished.outcome.map_or("cancelled", |outcome| outcome.as_str());
        self.open("workflow_complete", &[("outcome", outcome)]);
        self.updates(updates);
        if let Some(message) = message {
            self.leaf("message", &[], message);
        }
        for (name, value) in &finished.outputs {
            self.leaf("output", &[("name", name)], &value_text(value));
        }
        for item in finished.accepted_risks.iter().flat_map(|risk| &risk.items) {
            let attributes = [("severity", item.severity.word()), ("id", item.id.as_str())];
            self.leaf("accepted_risk", &attributes, item.finding.as_deref().unwrap_or(&item.check));
        }
        self.close("workflow_complete");
    }

    /// A sub-agent's last reply says what its parent does next: earlier text may be forgotten by then.
    fn subagent_done(&mut self, handed: &SubagentDone, run: (&str, &str), updates: &[RunUpdate]) {
        let attributes = [run, ("child", handed.child.as_str()), ("outcome", handed.outcome.as_str())];
        self.open("report_heard", &attributes);
        self.updates(updates);
        self.block("still_open", "child", &handed.open);
        let parent = command(&handed.parent);
        let action = match subagent_support(self.tool) {
            SubagentSupport::Alone => format!("Run exactly: {parent}"),
            _ => format!(
                "STOP. This sub-agent is done, and its last message repeats this block. The parent, once every sub-agent \
                 it started has come back, does nothing else and runs exactly: {parent}"
            ),
        };
        self.leaf("orchestrator_action", &[], &action);
        self.close("report_heard");
    }
}
