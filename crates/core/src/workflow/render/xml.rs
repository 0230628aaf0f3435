//! How is a directive told in XML, for agents that were taught to follow it? The blocks have seed 4's names; whatever
//! they hold is escaped, so the text is well-formed whatever a value holds.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::{banner, command};
use crate::workflow::directive::{Directive, DispatchInfo, Expected, Finished, QuestionInfo, RoundMode};
use crate::workflow::value::in_text;

const MANDATE: &str = "Do exactly this step: everything in DO, nothing else. Then run exactly the command that NEXT names. \
                       Change no command, skip no step, add no step.";

/// A directive as XML.
pub fn xml(directive: &Directive) -> String {
    let mut page = Page::default();
    let step = &directive.step;
    let (number, total) = (step.number.to_string(), step.total.to_string());
    let mut attributes = vec![
        ("workflow", directive.workflow.as_str()),
        ("id", step.id.as_str()),
        ("title", step.title.as_str()),
        ("number", &number),
        ("total", &total),
        ("ticket", directive.ticket.as_str()),
    ];
    attributes.extend(step.phase.as_deref().map(|phase| ("phase", phase)));
    page.open("step", &attributes);
    if directive.progress.transitions == 0 && directive.progress.visited <= 1 {
        page.leaf("xml_format_mandate", &[], MANDATE);
    }
    page.state_banner(directive);
    page.what_to_do(directive);
    page.invoke_after(directive);
    page.next(directive);
    page.close("step");
    page.text
}

/// A run that is over, as XML.
pub fn finished_xml(finished: &Finished, message: Option<&str>) -> String {
    let mut page = Page::default();
    let outcome = finished.outcome.map_or("cancelled", |outcome| outcome.word());
    page.open("workflow_complete", &[("outcome", outcome)]);
    if let Some(message) = message {
        page.leaf("message", &[], message);
    }
    for (name, value) in &finished.outputs {
        page.leaf("output", &[("name", name)], &in_text(value));
    }
    for item in finished.accepted_risks.iter().flat_map(|risk| &risk.items) {
        let attributes = [("severity", item.severity.word()), ("id", item.id.as_str())];
        page.leaf("accepted_risk", &attributes, item.finding.as_deref().unwrap_or(&item.check));
    }
    page.close("workflow_complete");
    page.text
}

#[derive(Default)]
struct Page {
    text: String,
    depth: usize,
}

impl Page {
    fn indent(&mut self) {
        self.text.extend(std::iter::repeat_n("  ", self.depth));
    }

    fn tag(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.indent();
        let _ = write!(self.text, "<{name}");
        for (key, value) in attributes {
            let _ = write!(self.text, " {key}=\"{}\"", attribute(value));
        }
    }

    fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.tag(name, attributes);
        self.text.push_str(">\n");
        self.depth += 1;
    }

    fn close(&mut self, name: &str) {
        self.depth -= 1;
        self.indent();
        let _ = writeln!(self.text, "</{name}>");
    }

    fn leaf(&mut self, name: &str, attributes: &[(&str, &str)], text: &str) {
        self.tag(name, attributes);
        let _ = writeln!(self.text, ">{}</{name}>", escape(text.trim_end()));
    }

    fn leaves(&mut self, name: &str, texts: &[String]) {
        for text in texts {
            self.leaf(name, &[], text);
        }
    }

    /// A block of leaves, if there is anything in it.
    fn block(&mut self, name: &str, leaf: &str, texts: &[String]) {
        if !texts.is_empty() {
            self.open(name, &[]);
            self.leaves(leaf, texts);
            self.close(name);
        }
    }

    fn state_banner(&mut self, directive: &Directive) {
        let round = &directive.round;
        let mode = match round.mode {
            RoundMode::Initial => "initial",
            RoundMode::FreshReview => "fresh_review",
            RoundMode::ReVerify => "re_verify",
        };
        let (number, limit) = (round.number.to_string(), round.limit.map(|limit| limit.to_string()));
        let checkpoint = round.review.as_ref().map_or(directive.step.id.as_str(), |review| review.as_str());
        let mut attributes = vec![("checkpoint", checkpoint), ("iteration", number.as_str()), ("mode", mode)];
        attributes.extend(limit.as_deref().map(|limit| ("limit", limit)));
        self.leaf("state_banner", &attributes, &banner(round).unwrap_or_default());
    }

    fn what_to_do(&mut self, directive: &Directive) {
        self.open("DO", &[]);
        self.leaves("brief", directive.step.brief.as_slice());
        self.leaves("action", &directive.actions);
        for (name, value) in &directive.data {
            self.leaf("data", &[("name", name)], &in_text(value));
        }
        for resource in &directive.resources {
            self.leaf("resource", &[("name", resource.name.as_str())], &resource.content);
        }
        self.block("forbidden", "action", &directive.forbidden);
        self.expected(&directive.expected);
        self.dispatches(&directive.dispatches);
        if let Some(question) = &directive.question {
            self.question(question);
        }
        if !directive.result.is_empty() {
            self.open("result", &[("format", "JSON on standard input")]);
            for (name, declared) in &directive.result {
                let kind = declared.get("type").map(in_text).unwrap_or_default();
                let values = declared.get("values").map(in_text);
                let mut attributes = vec![("name", name.as_str()), ("type", kind.as_str())];
                attributes.extend(values.as_deref().map(|values| ("values", values)));
                self.leaf("field", &attributes, &declared.get("description").map(in_text).unwrap_or_default());
            }
            self.close("result");
        }
        self.close("DO");
    }

    fn expected(&mut self, expected: &Expected) {
        match expected {
            Expected::List(items) => self.block("expected_output", "item", items),
            Expected::Verdict { if_pass, when_issues, categories } => {
                self.open("expected_output", &[]);
                self.leaves("if_pass", if_pass.as_slice());
                self.leaves("when_issues", when_issues.as_slice());
                self.block("categories", "category", categories);
                self.close("expected_output");
            }
        }
    }

    /// One sub-agent, or several that are started at once.
    fn dispatches(&mut self, dispatches: &[DispatchInfo]) {
        if let [one] = dispatches {
            self.dispatch(one);
        } else if !dispatches.is_empty() {
            let count = dispatches.len().to_string();
            self.open("parallel_dispatch", &[("count", &count)]);
            let mandatory = format!("Start exactly {count} sub-agents in a single message, and wait for all of them.");
            self.leaf("mandatory", &[], &mandatory);
            for dispatch in dispatches {
                self.dispatch(dispatch);
            }
            self.close("parallel_dispatch");
        }
    }

    fn dispatch(&mut self, dispatch: &DispatchInfo) {
        let agent = dispatch.role.as_ref().map_or("general-purpose", |role| role.as_str());
        let mode = if dispatch.free_form { "free-form" } else { "script" };
        let attributes =
            [("agent", agent), ("mode", mode), ("child", &dispatch.child), ("ticket", dispatch.ticket.as_str())];
        self.open("subagent_dispatch", &attributes);
        if !dispatch.with.is_empty() {
            self.open("context", &[]);
            for (name, value) in &dispatch.with {
                self.leaf("var", &[("name", name)], &in_text(value));
            }
            self.close("context");
        }
        self.leaves("prompt", dispatch.prompt.as_slice());
        self.leaves("workflow", dispatch.workflow.as_slice());
        self.leaves("item", &dispatch.items.iter().map(Json::to_string).collect::<Vec<_>>());
        self.leaf("report", &[], &command(&dispatch.report));
        self.close("subagent_dispatch");
    }

    fn question(&mut self, question: &QuestionInfo) {
        let multiple = if question.multiple { "true" } else { "false" };
        self.open("question", &[("multiple", multiple)]);
        self.leaves("refused", question.refused.as_slice());
        self.leaf("prompt", &[], &question.prompt);
        self.leaves("option", question.options.as_deref().unwrap_or_default());
        self.leaves("default", question.default.as_slice());
        self.close("question");
    }

    /// The exact command for each way to end.
    fn invoke_after(&mut self, directive: &Directive) {
        self.open("INVOKE_AFTER", &[]);
        if directive.dispatches.is_empty() && directive.outcomes.len() > 1 {
            for outcome in &directive.outcomes {
                let word = |word: &String| if word == "OUTCOME" { outcome.to_string() } else { word.clone() };
                let argv: Vec<String> = directive.report.iter().map(word).collect();
                self.leaf("case", &[("outcome", outcome.as_str())], &command(&argv));
            }
        } else {
            self.leaf("command", &[], &command(&directive.report));
        }
        self.close("INVOKE_AFTER");
    }

    fn next(&mut self, directive: &Directive) {
        let text = command(&directive.report);
        let told = if directive.dispatches.is_empty() && directive.outcomes.len() > 1 {
            format!("After DO is complete, run the case of INVOKE_AFTER that fits. Re-read now: {text}")
        } else {
            format!("After DO is complete, run: {text}")
        };
        self.leaf("NEXT", &[("required", "true")], &told);
    }
}

/// A text that can stand between the quotes of an attribute.
fn attribute(text: &str) -> String {
    escape(text).replace('"', "&quot;").replace('\n', "&#10;").replace('\t', "&#9;")
}

/// A text that can stand between tags. Characters that XML cannot hold become visible as replacements.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '\n' | '\t' => safe.push(c),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}
