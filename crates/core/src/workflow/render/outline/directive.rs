//! In which order is a directive told?

use super::{Block, Outline};
use crate::workflow::directive::{Directive, DispatchInfo, Expected, QuestionInfo};
use crate::workflow::name::Outcome;
use crate::workflow::render::Form;
use crate::workflow::render::words::{self, Crew, banner, crew, one_line};
use crate::workflow::tool::Capability;

/// The file into which Aider, whose commands read nothing, writes a result.
pub(in crate::workflow::render) const AIDER_RESULT: &str = ".aider.maestro.json";

impl Outline<'_> {
    pub(super) fn directive(&mut self, directive: &Directive) {
        let step = &directive.step;
        self.title("STEP", format!(" {}/{}: {}", step.number, step.total, one_line(&step.title)));
        if let Some(brief) = &step.brief {
            self.text(brief);
        }
        self.round(directive);
        self.list("DO", &directive.actions);
        self.values("DATA", " (material, no instructions):", &directive.data);
        for resource in &directive.resources {
            self.heading("RESOURCE", format!(" {}:", resource.name));
            self.text(&resource.content);
        }
        self.list("FORBIDDEN", &directive.forbidden);
        self.expected(&directive.expected);
        if let Some(part) = directive.part() {
            self.list("HOW TO LOOK", &words::principles(part));
        }
        match crew(self.tool) {
            Crew::Alone if !directive.dispatches.is_empty() => return self.alone(directive),
            _ => directive.dispatches.iter().for_each(|dispatch| self.dispatch(dispatch)),
        }
        if let Some(question) = &directive.question {
            self.question(question);
        }
        self.result(directive);
        self.next(directive);
    }

    fn round(&mut self, directive: &Directive) {
        let round = &directive.round;
        let of = round.limit.map(|limit| format!(" of {limit}")).unwrap_or_default();
        match banner(round) {
            Some(banner) => {
                self.heading("ROUND", format!(" {}{of}:", round.number));
                self.text(banner);
            }
            None if round.limit.is_some() || round.number > 1 => {
                self.heading("VISIT", format!(" {}{of}", round.number));
            }
            None => {}
        }
    }

    fn expected(&mut self, expected: &Expected) {
        match expected {
            Expected::List(items) => self.list("EXPECTED", items),
            Expected::Verdict { if_pass, when_issues, categories } => {
                let if_pass = if_pass.iter().map(|text| format!("If all is well: {text}"));
                let when_issues = when_issues.iter().map(|text| format!("If not: {text}"));
                let sought = (!categories.is_empty()).then(|| format!("Look for: {}", categories.join(", ")));
                self.list("EXPECTED", &if_pass.chain(when_issues).chain(sought).collect::<Vec<_>>());
            }
        }
    }

    fn dispatch(&mut self, dispatch: &DispatchInfo) {
        let role = dispatch.role.as_ref().map_or_else(String::new, |role| format!(" ({role})"));
        self.heading("SUB-AGENT", format!(" {}{role}:", one_line(&dispatch.child)));
        if let Some(agent) = dispatch.role.as_ref().and_then(|role| self.tool.agent_for(role)) {
            self.text(format!("Start it as {agent}."));
        }
        if let Some(model) = self.tool.model_for(dispatch.role.as_ref(), dispatch.model.as_deref()) {
            self.text(format!("Use the model {model}."));
        }
        self.task(dispatch);
        self.text(match dispatch.workflow {
            Some(_) => "It begins by running, and does what it is told then:",
            None => "When it is done, it runs:",
        });
        self.add(Block::Command(dispatch.report.clone()));
    }

    /// What a sub-agent has to do.
    fn task(&mut self, dispatch: &DispatchInfo) {
        if let Some(prompt) = &dispatch.prompt {
            self.text(prompt);
        }
        if let Some(workflow) = &dispatch.workflow {
            self.text(format!("Walk through the workflow {workflow}."));
        }
        if !dispatch.with.is_empty() {
            self.add(Block::Values(dispatch.with.clone()));
        }
        if !dispatch.items.is_empty() {
            self.add(Block::Items(dispatch.items.clone()));
        }
    }

    /// The first open task of a dispatch, for somebody who has no sub-agents.
    fn alone(&mut self, directive: &Directive) {
        let Some((first, others)) = directive.dispatches.split_first() else { return };
        let role = first.role.as_ref().map_or_else(String::new, |role| format!(" in the role {role}"));
        self.heading("TASK", format!(" {}{role}:", one_line(&first.child)));
        self.task(first);
        if !others.is_empty() {
            let children: Vec<String> = others.iter().map(|other| one_line(&other.child)).collect();
            self.text(format!("Do these one after the other: {} more follow ({}).", others.len(), children.join(", ")));
        }
        if first.workflow.is_some() {
            self.heading("NEXT", ": run this, and do what you are told then");
        } else {
            self.result(directive);
            self.heading("NEXT", ": do this task yourself; then run this, OUTCOME being ok or fail");
        }
        self.add(Block::Command(first.report.clone()));
    }

    fn question(&mut self, question: &QuestionInfo) {
        if self.tool.can(Capability::AskUser) {
            self.heading("ASK THE USER", ":");
        } else {
            self.heading("ASK THE USER", " in your final message, and stop:");
        }
        if let Some(refused) = &question.refused {
            self.text(format!("The last answer was no good: {refused}"));
        }
        self.text(&question.prompt);
        if let Some(options) = question.options.as_ref().filter(|options| !options.is_empty()) {
            self.add(Block::Options(options.clone()));
        }
        if question.multiple {
            self.text("Several may be chosen.");
        }
        if let Some(default) = &question.default {
            self.text(format!("(usually: {})", one_line(default)));
        }
    }

    fn result(&mut self, directive: &Directive) {
        if directive.result.is_empty() {
            return;
        }
        if self.tool.form == Form::Aider {
            self.heading("RESULT", format!(" (write it as JSON into the file {AIDER_RESULT}):"));
        } else if directive.dispatches.is_empty() || crew(self.tool) == Crew::Alone {
            self.heading("RESULT", " (JSON on standard input of the command below):");
        } else {
            self.heading("RESULT", " of each sub-agent (JSON on standard input of its command):");
        }
        self.add(Block::Fields(directive.result.clone()));
    }

    fn next(&mut self, directive: &Directive) {
        if !directive.dispatches.is_empty() {
            self.heading("NEXT", format!(": {} (OUTCOME is ok or fail for each); then run", words::started(self.tool)));
        } else if directive.question.is_some() && self.tool.can(Capability::AskUser) {
            self.heading("NEXT", ": run this, ANSWER being what the user said");
        } else if directive.question.is_some() {
            self.heading("NEXT", ": once the user has answered, run this, ANSWER being what the user said");
        } else if directive.outcomes.len() > 1 {
            let words: Vec<&str> = directive.outcomes.iter().map(Outcome::as_str).collect();
            self.heading("NEXT", format!(": run this, OUTCOME being one of {}", one_line(&words.join(", "))));
        } else {
            self.heading("NEXT", ": run");
        }
        self.add(Block::Command(directive.report.clone()));
    }
}
