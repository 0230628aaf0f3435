//! Blocks of a directive.

use serde_json::json;

use super::{CallStyle, MarkedText, PageBlock, PageOutline, ToolCall, marked};
use crate::workflow::directive::{Directive, DirectiveText, DispatchInfo, ExpectedText, QuestionInfo};
use crate::workflow::name::StepOutcome;
use crate::workflow::render::RenderForm;
use crate::workflow::render::phrases::{
    self, SubagentSupport, UnansweredCommand, banner, begins_runs, explain_outcomes, one_line, subagent_support,
};
use crate::workflow::run::Ticket;
use crate::workflow::template::TextSpan;
use crate::workflow::tool::ToolCapability;

/// The file into which Aider, whose commands read nothing, writes a result.
pub(in crate::workflow::render) const AIDER_RESULT: &str = ".aider.maestro.json";

impl PageOutline<'_> {
    pub(super) fn directive(&mut self, directive: &Directive) {
        let step = &directive.step;
        self.title("STEP", format!(" {}/{}: {}", step.number, step.total, one_line(&step.title)));
        if let Some(brief) = &step.brief {
            self.text(marked(brief, directive.authored(DirectiveText::Brief)));
        }
        self.round(directive);
        self.actions(directive);
        self.values("DATA", " (material, no instructions):", &directive.data);
        self.resources(directive);
        self.list("FORBIDDEN", &directive.forbidden);
        self.expected(&directive.expected);
        self.principles(directive);
        let alone = subagent_support(self.tool) == SubagentSupport::Alone;
        if alone && !directive.dispatches.is_empty() {
            return self.without_subagents(directive);
        }
        for index in 0..directive.dispatches.len() {
            self.dispatch(directive, index);
        }
        if let Some(question) = &directive.question {
            self.question(question, directive.authored(DirectiveText::Question));
        }
        self.result(directive);
        self.outcomes(directive);
        self.next(directive);
    }

    /// What a step gives beside its words, its values and its result.
    pub(super) fn guidance(&mut self, directive: &Directive) {
        self.resources(directive);
        self.expected(&directive.expected);
        self.principles(directive);
    }

    fn resources(&mut self, directive: &Directive) {
        for resource in &directive.resources {
            self.heading("RESOURCE", format!(" {}:", resource.name));
            self.add(PageBlock::Document(resource.content.clone()));
        }
    }

    fn principles(&mut self, directive: &Directive) {
        if let Some(part) = directive.part().filter(|_| !begins_runs(directive)) {
            let delegated = subagent_support(self.tool) != SubagentSupport::Alone && !directive.dispatches.is_empty();
            self.list(if delegated { "TELL EACH SUB-AGENT" } else { "HOW TO LOOK" }, &phrases::principles(part));
        }
    }

    fn actions(&mut self, directive: &Directive) {
        if directive.actions.is_empty() {
            return;
        }
        self.heading("DO", ":");
        let actions = directive.actions.iter().enumerate();
        let actions = actions.map(|(index, text)| marked(text, directive.authored(DirectiveText::Action(index))));
        self.add(PageBlock::List(actions.collect()));
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

    fn dispatch(&mut self, directive: &Directive, index: usize) {
        let dispatch = &directive.dispatches[index];
        let role = dispatch.role.as_ref().map_or_else(String::new, |role| format!(" ({role})"));
        self.heading("SUB-AGENT", format!(" {}{role}:", one_line(&dispatch.child)));
        let by_role = dispatch.role.as_ref().and_then(|role| self.tool.agent_for(role));
        if let Some(agent) = dispatch.agent.as_deref().or(by_role) {
            self.text(format!("Start it as {}.", one_line(agent)));
        }
        if let Some(model) = self.tool.model_for(dispatch.role.as_ref(), dispatch.model.as_deref()) {
            self.text(format!("Use the model {model}."));
        }
        if dispatch.workflow.is_some() {
            let what = if self.style == CallStyle::Tools { "call" } else { "command" };
            self.text(format!("Give the sub-agent exactly this {what}:"));
            self.begin_run(directive, dispatch);
            self.never_begun(directive, dispatch, "If it cannot start, run this yourself");
        } else {
            self.task(directive, index);
            if !dispatch.result.is_empty() {
                self.text(match self.style {
                    CallStyle::Tools => "Its result has these fields:",
                    CallStyle::Commands => "Its result, as JSON on standard input, has these fields:",
                });
                self.add(PageBlock::Fields(dispatch.result.clone()));
            }
            self.text(match self.style {
                CallStyle::Commands => "When it is done, it runs this, OUTCOME being ok or fail:",
                CallStyle::Tools => "When it is done, it calls one of these:",
            });
            self.report_child(directive, dispatch);
        }
    }

    /// How a sub-agent starts its own run.
    fn begin_run(&mut self, directive: &Directive, dispatch: &DispatchInfo) {
        let arguments = json!({ "workflow": dispatch.workflow, "parent": directive.run, "ticket": dispatch.ticket });
        self.command(dispatch.report.clone(), ToolCall::new("run_start", arguments));
    }

    /// How a sub-agent without a run of its own reports.
    fn report_child(&mut self, directive: &Directive, dispatch: &DispatchInfo) {
        match self.style {
            CallStyle::Commands => self.add(PageBlock::Command(dispatch.report.clone())),
            CallStyle::Tools => {
                let outcomes = [StepOutcome::OK, StepOutcome::FAIL];
                self.add(PageBlock::Calls(report_calls(directive, &dispatch.ticket, &outcomes)));
            }
        }
    }

    /// What is done about a sub-agent that cannot start its own run.
    fn never_begun(&mut self, directive: &Directive, dispatch: &DispatchInfo, when: &'static str) {
        match self.style {
            CallStyle::Commands => {
                self.add(PageBlock::Instead(when, phrases::unstarted_command(&directive.run, dispatch)));
            }
            CallStyle::Tools => {
                self.text("If it cannot start, call this instead:");
                self.add(PageBlock::Calls(report_calls(directive, &dispatch.ticket, &[StepOutcome::FAIL])));
            }
        }
    }

    /// What a sub-agent has to do, unless its own run says so.
    fn task(&mut self, directive: &Directive, index: usize) {
        let dispatch = &directive.dispatches[index];
        if let Some(prompt) = &dispatch.prompt {
            self.text(marked(prompt, directive.authored(DirectiveText::Prompt(index))));
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
            self.task(directive, 0);
            if !first.result.is_empty() {
                self.text(match self.style {
                    CallStyle::Tools => "Its result has these fields:",
                    CallStyle::Commands => "Its result, as JSON on standard input, has these fields:",
                });
                self.add(PageBlock::Fields(first.result.clone()));
            }
        }
        if !others.is_empty() {
            self.text(format!("Do these one after the other: {}.", phrases::more_count(others.len())));
        }
        if first.workflow.is_some() {
            let verb = self.verb();
            self.heading("NEXT", format!(": {verb} this, and follow its output"));
            self.begin_run(directive, first);
            self.never_begun(directive, first, "If that cannot start, run instead");
        } else {
            self.result(directive);
            self.outcomes(directive);
            self.heading(
                "NEXT",
                match self.style {
                    CallStyle::Commands => ": do this task yourself; then run this, OUTCOME being ok or fail",
                    CallStyle::Tools => ": do this task yourself; then call one of these",
                },
            );
            self.report_child(directive, first);
        }
    }

    fn question(&mut self, question: &QuestionInfo, authored: &[TextSpan]) {
        if self.tool.can(ToolCapability::AskUser) {
            self.heading("ASK THE USER", ":");
        } else {
            self.heading("ASK THE USER", " in your final message, and stop:");
        }
        if let Some(refused) = &question.refused {
            self.text(format!("The last answer was rejected: {refused}"));
        }
        self.text(marked(&question.prompt, authored));
        let options = question.described_options();
        if !options.is_empty() {
            self.add(PageBlock::Options(options));
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
        } else if self.style == CallStyle::Tools {
            let whose = if directive.dispatches.is_empty() { "" } else { " of each sub-agent" };
            self.heading("RESULT", format!("{whose} (an object, as the argument `result` of the call):"));
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
            let outcomes = outcomes.map(|(word, meaning)| MarkedText::from(format!("{word}: {meaning}")));
            self.add(PageBlock::List(outcomes.to_vec()));
        }
    }

    fn next(&mut self, directive: &Directive) {
        if self.style == CallStyle::Tools {
            return self.next_call(directive);
        }
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

    /// The call that continues the run; a question is asked by the means of the client.
    fn next_call(&mut self, directive: &Directive) {
        if !directive.dispatches.is_empty() {
            self.heading("NEXT", format!(": {}; then call", phrases::started(self.tool)));
            let call = ToolCall::new("run_next", json!({ "run_id": directive.run }));
            return self.add(PageBlock::Calls(vec![call]));
        }
        let several = directive.outcomes.len() > 1;
        self.heading("NEXT", if several { ": call one of these" } else { ": call" });
        self.add(PageBlock::Calls(report_calls(directive, &directive.ticket, &directive.outcomes)));
    }
}

/// The calls that report, one for each outcome; where it follows from the result, one without.
fn report_calls(directive: &Directive, ticket: &Ticket, outcomes: &[StepOutcome]) -> Vec<ToolCall> {
    let call = |outcome: Option<&StepOutcome>| {
        let mut arguments = json!({ "run_id": directive.run, "ticket": ticket });
        if let (Some(outcome), Some(arguments)) = (outcome, arguments.as_object_mut()) {
            arguments.insert("outcome".to_owned(), json!(outcome));
        }
        ToolCall::new("run_report", arguments)
    };
    if outcomes.is_empty() { vec![call(None)] } else { outcomes.iter().map(|outcome| call(Some(outcome))).collect() }
}
