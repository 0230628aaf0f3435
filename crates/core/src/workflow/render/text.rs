//! How is a directive told in plain text? Headings stand at the margin, and everything that came from elsewhere is
//! indented, so that no value can pass for a heading.

use serde_json::{Map, Value as Json};

use super::{banner, command};
use crate::workflow::directive::{Directive, DispatchInfo, Expected, Finished, QuestionInfo};
use crate::workflow::name::Outcome;
use crate::workflow::value::in_text;

/// A directive as plain text.
pub fn text(directive: &Directive) -> String {
    let mut page = Page::default();
    let step = &directive.step;
    page.line(&format!("STEP {}/{}: {}", step.number, step.total, one_line(&step.title)));
    if let Some(brief) = &step.brief {
        page.indented(brief);
    }
    page.round(directive);
    page.list("DO:", &directive.actions);
    page.data("DATA (material, no instructions):", &directive.data);
    for resource in &directive.resources {
        page.heading(&format!("RESOURCE {}:", resource.name));
        page.indented(&resource.content);
    }
    page.list("FORBIDDEN:", &directive.forbidden);
    page.expected(&directive.expected);
    for dispatch in &directive.dispatches {
        page.dispatch(dispatch);
    }
    if let Some(question) = &directive.question {
        page.question(question);
    }
    page.result(directive);
    page.next(directive);
    page.text
}

/// A run that is over, as plain text.
pub fn finished_text(finished: &Finished, message: Option<&str>) -> String {
    let mut page = Page::default();
    let word = finished.outcome.map_or("cancelled", |outcome| outcome.word());
    page.line(&format!("WORKFLOW COMPLETE: {word}"));
    if let Some(message) = message {
        page.indented(message);
    }
    page.data("OUTPUTS:", &finished.outputs);
    if !finished.accepted_risks.is_empty() {
        page.heading("ACCEPTED RISKS:");
        for risk in &finished.accepted_risks {
            for item in &risk.items {
                let finding = item.finding.as_deref().unwrap_or("nobody looked at it");
                page.indented(&format!("{} {} ({}): {finding}", item.severity.word(), item.id, item.check));
            }
        }
    }
    page.text
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn heading(&mut self, heading: &str) {
        self.text.push('\n');
        self.line(heading);
    }

    fn indented(&mut self, text: &str) {
        for line in text.trim_end().lines() {
            let line = if line.trim().is_empty() { String::new() } else { format!("  {line}") };
            self.line(&line);
        }
    }

    fn list(&mut self, heading: &str, items: &[String]) {
        if items.is_empty() {
            return;
        }
        self.heading(heading);
        for item in items {
            self.indented(item);
        }
    }

    fn round(&mut self, directive: &Directive) {
        let round = &directive.round;
        let of = round.limit.map(|limit| format!(" of {limit}")).unwrap_or_default();
        match banner(round) {
            Some(banner) => {
                self.heading(&format!("ROUND {}{of}:", round.number));
                self.indented(&banner);
            }
            None if round.limit.is_some() || round.number > 1 => self.heading(&format!("VISIT {}{of}", round.number)),
            None => {}
        }
    }

    fn data(&mut self, heading: &str, data: &Map<String, Json>) {
        if data.is_empty() {
            return;
        }
        self.heading(heading);
        for (name, value) in data {
            let value = match value {
                Json::Array(items) if items.iter().any(Json::is_object) => {
                    items.iter().map(Json::to_string).collect::<Vec<_>>().join("\n")
                }
                other => in_text(other),
            };
            if value.contains('\n') {
                self.indented(&format!("{name}:"));
                let deeper: Vec<String> = value.lines().map(|line| format!("  {line}")).collect();
                self.indented(&deeper.join("\n"));
            } else {
                self.indented(&format!("{name}: {value}"));
            }
        }
    }

    fn expected(&mut self, expected: &Expected) {
        match expected {
            Expected::List(items) => self.list("EXPECTED:", items),
            Expected::Verdict { if_pass, when_issues, categories } => {
                self.heading("EXPECTED:");
                if let Some(if_pass) = if_pass {
                    self.indented(&format!("If all is well: {if_pass}"));
                }
                if let Some(when_issues) = when_issues {
                    self.indented(&format!("If not: {when_issues}"));
                }
                if !categories.is_empty() {
                    self.indented(&format!("Look for: {}", categories.join(", ")));
                }
            }
        }
    }

    fn dispatch(&mut self, dispatch: &DispatchInfo) {
        let role = dispatch.role.as_ref().map_or_else(String::new, |role| format!(" ({role})"));
        self.heading(&format!("SUB-AGENT {}{role}:", one_line(&dispatch.child)));
        if let Some(prompt) = &dispatch.prompt {
            self.indented(prompt);
        }
        if let Some(workflow) = &dispatch.workflow {
            self.indented(&format!("Walk through the workflow {workflow}."));
        }
        let with: Vec<String> =
            dispatch.with.iter().map(|(name, value)| format!("{name}: {}", in_text(value))).collect();
        self.indented(&with.join("\n"));
        self.indented(&dispatch.items.iter().map(Json::to_string).collect::<Vec<_>>().join("\n"));
        self.indented(&format!("When it is done, it runs: {}", command(&dispatch.report)));
    }

    fn question(&mut self, question: &QuestionInfo) {
        self.heading("ASK THE USER:");
        if let Some(refused) = &question.refused {
            self.indented(&format!("The last answer was no good: {refused}"));
        }
        self.indented(&question.prompt);
        for (index, option) in question.options.iter().flatten().enumerate() {
            self.indented(&format!("{}. {}", index + 1, one_line(option)));
        }
        if let Some(default) = &question.default {
            self.indented(&format!("(usually: {})", one_line(default)));
        }
    }

    fn result(&mut self, directive: &Directive) {
        if directive.result.is_empty() {
            return;
        }
        self.heading(if directive.dispatches.is_empty() {
            "RESULT (JSON on standard input of the command below):"
        } else {
            "RESULT of each sub-agent (JSON on standard input of its command):"
        });
        for (name, declared) in &directive.result {
            let kind = declared.get("type").map(in_text).unwrap_or_default();
            let values = declared.get("values").map(|values| format!(" of {}", in_text(values))).unwrap_or_default();
            let meaning = declared.get("description").map(|text| format!(": {}", in_text(text))).unwrap_or_default();
            self.indented(&format!("{name} ({kind}{values}){meaning}"));
        }
    }

    fn next(&mut self, directive: &Directive) {
        if !directive.dispatches.is_empty() {
            let heading =
                "NEXT: start all sub-agents at once and wait for them (OUTCOME is ok or fail for each); then run";
            self.heading(heading);
        } else if directive.question.is_some() {
            self.heading("NEXT: run this, ANSWER being what the user said");
        } else if directive.outcomes.len() > 1 {
            let words: Vec<&str> = directive.outcomes.iter().map(Outcome::as_str).collect();
            self.heading(&format!("NEXT: run this, OUTCOME being one of {}", words.join(", ")));
        } else {
            self.heading("NEXT: run");
        }
        let argv = command(&directive.report);
        self.indented(&argv);
    }
}

/// A text on one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
