//! The XML form, for agents that were taught to follow it. The blocks have seed 4's names. A page is one
//! element: a step, or what is said instead of one; what happened on the way stands at its beginning.

mod directive;
mod dispatch;
mod news;
mod page;
mod unverified;

use super::words::{Crew, NOTED, command, complete, crew, look_again, resume};
use crate::workflow::directive::Finished;
use crate::workflow::told::{Handed, News, Now, Told};
use crate::workflow::tool::Tool;
use crate::workflow::value::in_text;

use page::Page;

pub(in crate::workflow) use unverified::page as unverified;

/// A reply as one element.
pub(super) fn page(told: &Told, tool: &Tool) -> String {
    let mut page = Page::new(tool);
    let run = ("run", told.run.as_str());
    match &told.now {
        Now::Directive { directive } => page.step(directive, &told.news),
        Now::Finished { finished, message } => page.finished(finished, message.as_deref(), &told.news),
        Now::Busy { step, title, .. } => {
            page.open("workflow_busy", &[run, ("step", step.as_str()), ("title", title)]);
            page.news(&told.news);
            let next = format!("A command is running. Check again later: {}", command(&look_again(&told.run)));
            page.leaf("NEXT", &[("required", "true")], &next);
            page.close("workflow_busy");
        }
        Now::Paused => {
            page.open("workflow_paused", &[run]);
            page.news(&told.news);
            let next = format!("Do nothing. The run is paused; to resume it, run: {}", command(&resume(&told.run)));
            page.leaf("NEXT", &[("required", "false")], &next);
            page.close("workflow_paused");
        }
        Now::Noted { step, title } => {
            page.open("workflow_noted", &[run, ("step", step.as_str()), ("title", title)]);
            page.news(&told.news);
            let next = format!("{NOTED} If nothing is left to do, run: {}", command(&complete()));
            page.leaf("NEXT", &[("required", "true")], &next);
            page.close("workflow_noted");
        }
        Now::Handed(handed) => page.handed(handed, run, &told.news),
    }
    page.text
}

impl Page<'_> {
    fn finished(&mut self, finished: &Finished, message: Option<&str>, news: &[News]) {
        let outcome = finished.outcome.map_or("cancelled", |outcome| outcome.word());
        self.open("workflow_complete", &[("outcome", outcome)]);
        self.news(news);
        if let Some(message) = message {
            self.leaf("message", &[], message);
        }
        for (name, value) in &finished.outputs {
            self.leaf("output", &[("name", name)], &in_text(value));
        }
        for item in finished.accepted_risks.iter().flat_map(|risk| &risk.items) {
            let attributes = [("severity", item.severity.word()), ("id", item.id.as_str())];
            self.leaf("accepted_risk", &attributes, item.finding.as_deref().unwrap_or(&item.check));
        }
        self.close("workflow_complete");
    }

    /// A sub-agent's last reply says what its parent does next: earlier text may be forgotten by then.
    fn handed(&mut self, handed: &Handed, run: (&str, &str), news: &[News]) {
        let attributes = [run, ("child", handed.child.as_str()), ("outcome", handed.outcome.as_str())];
        self.open("report_heard", &attributes);
        self.news(news);
        self.block("still_open", "child", &handed.open);
        let parent = command(&handed.parent);
        let action = match crew(self.tool) {
            Crew::Alone => format!("Run exactly: {parent}"),
            _ => format!(
                "STOP. This sub-agent is done, and its last message repeats this block. The parent, once every sub-agent \
                 it started has come back, does nothing else and runs exactly: {parent}"
            ),
        };
        self.leaf("orchestrator_action", &[], &action);
        self.close("report_heard");
    }
}
