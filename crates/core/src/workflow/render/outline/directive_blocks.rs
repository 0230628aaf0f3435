//! Blocks of a directive.

use super::{PageBlock, PageOutline};
use crate::workflow::directive::{Directive, DispatchInfo, ExpectedText, QuestionInfo};
use crate::workflow::name::StepOutcome;
use crate::workflow::render::RenderForm;
use crate::workflow::render::phrases::{
    self, SubagentSupport, UnansweredCommand, banner, begins_runs, explain_outcomes, one_line, subagent_support,
};
use crate::workflow::tool::ToolCapability;

/// The file into which Aider, whose commands read nothing, writes a result.
pub(in crate::workflow::render) const AIDER_RESULT: &str = ".aider.maestro.json";

impl PageOutline<'_> {
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
        let alone = subagent_support(self.tool) == SubagentSupport::Alone;
        if let Some(part) = directive.part().filter(|_| !begins_runs(directive)) {
            let delegated = !alone && !directive.dispatches.is_empty();
            self.list(if delegated { "TELL EACH SUB-AGENT" } else { "HOW TO LOOK" }, &phrases::principles(part));
        }
        if alone && !directive.dispatches.is_empty() {
            return self.without_subagents(directive);
        }
        for dispatch in &directive.dispatches {
            self.dispatch(directive, dispatch);
        }
        if let Some(question) = &directive.question {
            self.question(question);
        }
        self.result(directive);
        self.outcomes(directive);
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

    fn expected(&mut self, expected: &ExpectedText) {
        match expected {
            ExpectedText::List(items) => self.list("EXPECTED", items),
            ExpectedText::Verdict { if_pass, when_issues, categories } => {
                let if_pass = if_pass.iter().map(|text| format!("If all is well: {text}"));
                let when_issues = when_issues.iter().map(|text| format!("If not: {text}"));
                let sought = (!categories.is_empty()).then(|| format!("Look for: {}", categories.join(", ")));
                self.list("EXPECTED", &if_pass.chain(when_issues).chain(sought).collect::<Vec<_>>());
            }
        }
    }

    fn dispatch(&mut self, directive: &Directive, dispatch: &DispatchInfo) {
        let role = dispatch.role.as_ref().map_or_else(String::new, |role| format!(" ({role})"));
        self.heading("SUB-AGENT", format!(" {}{role}:", one_line(&dispatch.child)));
        if let Some(agent) = dispatch.role.as_ref().and_then(|role| self.tool.agent_for(role)) {
            self.text(format!("Start it as {agent}."));
        }
        if let Some(model) = self.tool.model_for(dispatch.role.as_ref(), dispatch.model.as_deref()) {
            self.text(format!("Use the model {model}."));
        }
        if dispatch.workflow.is_some() {
            self.text("Give the sub-agent exactly this command:");
            self.add(PageBlock::Command(dispatch.report.clone()));
            let never_begun = phrases::unstarted_command(&directive.run, dispatch);
            self.add(PageBlock::Instead("If it cannot start, run this yourself", never_begun));
        } else {
            self.task(dispatch);
            self.text("When it is done, it runs this, OUTCOME being ok or fail:");
            self.add(PageBlock::Command(dispatch.report.clone()));
        }
    }

    /// What a sub-agent has to do, unless its own run says so.
    fn task(&mut self, dispatch: &DispatchInfo) {
        if let Some(prompt) = &dispatch.prompt {
            self.text(prompt);
        }
        if !dispatch.with.is_empty() {
            self.add(PageBlock::Values(dispatch.with.clone()));
        }
        if !dispatch.items.is_empty() {
            self.add(PageBlock::Items(dispatch.items.clone()));
        }
    }

    /// The first open task of a dispatch, for a tool without sub-agents.
    fn without_subagents(&mut self, directive: &Directive) {
        let Some((first, others)) = directive.dispatches.split_first() else { return };
        let role = first.role.as_ref().map_or_else(String::new, |role| format!(" in the role {role}"));
        self.heading("TASK", format!(" {}{role}:", one_line(&first.child)));
        if first.workflow.is_none() {
            self.task(first);
        }
        if !others.is_empty() {
            self.text(format!("Do these one after the other: {}.", phrases::more_count(others.len())));
        }
        if first.workflow.is_some() {
            self.heading("NEXT", ": run this, and follow its output");
            self.add(PageBlock::Command(first.report.clone()));
            let never_begun = phrases::unstarted_command(&directive.run, first);
            self.add(PageBlock::Instead("If that cannot start, run instead", never_begun));
        } else {
            self.result(directive);
            self.outcomes(directive);
            self.heading("NEXT", ": do this task yourself; then run this, OUTCOME being ok or fail");
            self.add(PageBlock::Command(first.report.clone()));
        }
    }

    fn question(&mut self, question: &QuestionInfo) {
        if self.tool.can(ToolCapability::AskUser) {
            self.heading("ASK THE USER", ":");
        } else {
            self.heading("ASK THE USER", " in your final message, and stop:");
        }
        if let Some(refused) = &question.refused {
            self.text(format!("The last answer was rejected: {refused}"));
        }
        self.text(&question.prompt);
        if let Some(options) = question.options.as_ref().filter(|options| !options.is_empty()) {
            self.add(PageBlock::Options(options.clone()));
        }
        if question.multiple {
            self.text("Several may be chosen.");
        }
        if let Some(default) = &question.default {
            self.text(format!("(usually: {})", one_line(default)));
        }
    }

    fn result(&mut self, directive: &Directive) {
        if directive.result.is_empty() || begins_runs(directive) {
            return;
        }
        if self.tool.form == RenderForm::Aider {
            self.heading("RESULT", format!(" (write it as JSON into the file {AIDER_RESULT}):"));
        } else if directive.dispatches.is_empty() || subagent_support(self.tool) == SubagentSupport::Alone {
            self.heading("RESULT", " (JSON on standard input of the command below):");
        } else {
            self.heading("RESULT", " of each sub-agent (JSON on standard input of its command):");
        }
        self.add(PageBlock::Fields(directive.result.clone()));
    }

    /// What the outcomes mean, where that is not for the step to say.
    fn outcomes(&mut self, directive: &Directive) {
        let delegated = !directive.dispatches.is_empty() && subagent_support(self.tool) != SubagentSupport::Alone;
        if let Some(outcomes) = explain_outcomes(directive) {
            self.heading("OUTCOME", if delegated { " of each sub-agent:" } else { ":" });
            self.add(PageBlock::List(outcomes.map(|(word, meaning)| format!("{word}: {meaning}")).to_vec()));
        }
    }

    fn next(&mut self, directive: &Directive) {
        if !directive.dispatches.is_empty() {
            self.heading("NEXT", format!(": {}; then run", phrases::started(self.tool)));
        } else if directive.question.is_some() && self.tool.can(ToolCapability::AskUser) {
            self.heading("NEXT", ": run this, ANSWER being what the user said");
        } else if directive.question.is_some() {
            self.heading("NEXT", ": once the user has answered, run this, ANSWER being what the user said");
        } else if directive.outcomes.len() > 1 {
            let words: Vec<&str> = directive.outcomes.iter().map(StepOutcome::as_str).collect();
            self.heading("NEXT", format!(": run this, OUTCOME being one of {}", one_line(&words.join(", "))));
        } else {
            self.heading("NEXT", ": run");
        }
        self.add(PageBlock::Command(directive.report.clone()));
        if let Some(question) = &directive.question {
            self.text(phrases::answer_hint(question));
            for UnansweredCommand { when, argv, .. } in phrases::unanswered_commands(&directive.report, question) {
                self.add(PageBlock::Instead(when, argv));
            }
        }
    }
}
