//! XML blocks of a directive.

use serde_json::{Map, Value as Json};

use super::xml_page::XmlPage;
use crate::workflow::definition::ReviewStage;
use crate::workflow::directive::{Directive, ExpectedText, QuestionInfo, RoundMode, StepRound};
use crate::workflow::name::StepOutcome;
use crate::workflow::render::phrases::{
    SubagentSupport, UnansweredCommand, answer_hint, banner, command, explain_outcomes, field_meaning, field_type,
    instead_of_running, principles, subagent_support, unanswered_commands, with_outcome,
};
use crate::workflow::run_reply::RunUpdate;
use crate::workflow::tool::ToolCapability;
use crate::workflow::value_type::value_text;

const MANDATE: &str = "Do exactly this step: everything in DO, nothing else. Then run exactly one command: the one that NEXT names \
                       or, where NEXT leaves you the choice, the case of INVOKE_AFTER that fits. Change nothing in it but ANSWER, \
                       skip no step, add no step.";

impl XmlPage<'_> {
    pub(super) fn step(&mut self, directive: &Directive, updates: &[RunUpdate]) {
        self.open_step(directive);
        self.mandate(directive);
        self.updates(updates);
        self.state_banner(&directive.round, directive.step.id.as_str());
        self.open("DO", &[]);
        self.instructions(directive);
        if directive.dispatches.is_empty() {
            self.response(directive);
        } else {
            self.dispatches(directive);
        }
        self.close("DO");
        self.invoke_after(directive);
        self.next(directive);
        self.close("step");
    }

    pub(super) fn open_step(&mut self, directive: &Directive) {
        let step = &directive.step;
        let (number, total) = (step.number.to_string(), step.total.to_string());
        let mut attributes = vec![
            ("workflow", directive.workflow.as_str()),
            ("id", step.id.as_str()),
            ("title", step.title.as_str()),
            ("number", &number),
            ("total", &total),
        ];
        attributes.extend(directive.is_checked().then_some(("ticket", directive.ticket.as_str())));
        attributes.extend(step.phase.as_ref().map(|phase| ("phase", phase.as_str())));
        attributes.extend((!directive.is_checked()).then_some(("verified", "no")));
        self.open("step", &attributes);
    }

    pub(super) fn mandate(&mut self, directive: &Directive) {
        if directive.progress.first {
            self.leaf("xml_format_mandate", &[], MANDATE);
        }
    }

    pub(super) fn state_banner(&mut self, round: &StepRound, step: &str) {
        let mode = match round.mode {
            RoundMode::Initial => "initial",
            RoundMode::FreshReview => "fresh_review",
            RoundMode::ReVerify => "re_verify",
        };
        let (number, limit) = (round.number.to_string(), round.limit.map(|limit| limit.to_string()));
        let checkpoint = round.review.as_ref().map_or(step, |review| review.as_str());
        let mut attributes = vec![("checkpoint", checkpoint), ("iteration", number.as_str()), ("mode", mode)];
        attributes.extend(limit.as_deref().map(|limit| ("limit", limit)));
        self.leaf("state_banner", &attributes, &banner(round).unwrap_or_default());
    }

    /// What to do, and with what.
    pub(super) fn instructions(&mut self, directive: &Directive) {
        self.leaves("brief", directive.step.brief.as_slice());
        self.leaves("action", &directive.actions);
        let verified = directive.part() == Some(ReviewStage::Verify);
        for (name, value) in &directive.data {
            match value {
                Json::Array(items) if verified && name == "items" => self.checklist(items),
                other => self.leaf("data", &[("name", name)], &value_text(other)),
            }
        }
        for resource in &directive.resources {
            self.leaf("resource", &[("name", resource.name.as_str())], &resource.content);
        }
        self.block("forbidden", "action", &directive.forbidden);
        self.expected(&directive.expected);
    }

    /// What comes back: how to look, what to ask, what the result holds, and what the outcomes mean.
    pub(super) fn response(&mut self, directive: &Directive) {
        if let Some(part) = directive.part() {
            self.guidance(part);
        }
        if let Some(question) = &directive.question {
            self.question(question, directive.is_checked().then(|| answer_hint(question)).as_deref());
        }
        let way = if directive.is_checked() { "JSON on standard input" } else { "your answer" };
        self.result(way, &directive.result);
        for (word, meaning) in explain_outcomes(directive).into_iter().flatten() {
            self.leaf("outcome", &[("name", word)], meaning);
        }
    }

    fn expected(&mut self, expected: &ExpectedText) {
        match expected {
            ExpectedText::List(items) => self.block("expected_output", "item", items),
            ExpectedText::Verdict { if_pass, when_issues, categories } => {
                self.open("expected_output", &[]);
                self.leaves("if_pass", if_pass.as_slice());
                self.leaves("when_issues", when_issues.as_slice());
                self.block("categories", "category", categories);
                self.close("expected_output");
            }
        }
    }

    /// How to look: what is expected before what is there, and open questions.
    fn guidance(&mut self, part: ReviewStage) {
        let mut principles = principles(part).into_iter();
        if let Some(first) = principles.next() {
            self.leaf("factored_verification", &[("rationale", "true")], &first);
        }
        for principle in principles {
            self.leaf("verification_principle", &[], &principle);
        }
    }

    /// The items of a review that are to be judged.
    pub(super) fn checklist(&mut self, items: &[Json]) {
        let said = |item: &Json, key: &str| item.get(key).map(value_text).unwrap_or_default();
        self.open("verification_checklist", &[]);
        for item in items {
            let [id, element, criterion, severity] = ["id", "scope", "check", "severity"].map(|key| said(item, key));
            let mut attributes = vec![("id", id.as_str())];
            attributes.extend((!element.is_empty()).then_some(("element", element.as_str())));
            attributes.extend([("criterion", criterion.as_str()), ("severity", severity.as_str())]);
            self.empty("check", &attributes);
        }
        self.close("verification_checklist");
    }

    /// The question, as a sub-agent would hand it on and as its parent asks it; and how it is answered, if by a command
    /// that takes the answer.
    fn question(&mut self, question: &QuestionInfo, answering: Option<&str>) {
        let how = if self.tool.can(ToolCapability::AskUser) { "now" } else { "in your final message, and stop" };
        self.open("needs_user_input", &[("ask", how)]);
        let multiple = if question.multiple { "true" } else { "false" };
        self.open("question", &[("multi_select", multiple)]);
        self.leaves("refused", question.refused.as_slice());
        self.leaf("text", &[], &question.prompt);
        for (index, option) in question.options.iter().flatten().enumerate() {
            let number = (index + 1).to_string();
            let mut attributes = vec![("number", number.as_str()), ("label", option.as_str())];
            attributes.extend(question.titles.get(option).map(|title| ("title", title.as_str())));
            self.empty("option", if answering.is_some() { &attributes } else { &attributes[1..] });
        }
        self.leaves("default", question.default.as_slice());
        self.close("question");
        if let Some(answering) = answering {
            self.leaf("answer_format", &[], answering);
        }
        self.close("needs_user_input");
    }

    /// The fields of a result.
    pub(super) fn result(&mut self, way: &str, fields: &Map<String, Json>) {
        if fields.is_empty() {
            return;
        }
        self.open("result", &[("format", way)]);
        for (name, declared) in fields {
            let kind = match declared.get("fields") {
                Some(_) => field_type(declared),
                None => declared.get("type").map(value_text).unwrap_or_default(),
            };
            let values = declared.get("values").map(value_text);
            let mut attributes = vec![("name", name.as_str()), ("type", kind.as_str())];
            attributes.extend(values.as_deref().map(|values| ("values", values)));
            self.leaf("field", &attributes, &field_meaning(declared));
        }
        self.close("result");
    }

    /// The exact command for each way to end.
    fn invoke_after(&mut self, directive: &Directive) {
        let (report, outcomes) = self.reporting(directive);
        self.open("INVOKE_AFTER", &[]);
        let unanswered = instead_of_answering(directive);
        if !unanswered.is_empty() {
            self.leaf("case", &[("outcome", "answered")], &command(report));
            for UnansweredCommand { outcome, argv, .. } in &unanswered {
                self.leaf("case", &[("outcome", outcome)], &command(argv));
            }
            return self.close("INVOKE_AFTER");
        }
        let judged = outcomes.contains(&StepOutcome::PASS) && outcomes.contains(&StepOutcome::FAIL);
        for outcome in outcomes {
            let argv = command(&with_outcome(report, outcome.as_str()));
            match outcome.as_str() {
                "pass" if judged => self.leaf("if_pass", &[], &argv),
                "fail" if judged => self.leaf("if_fail", &[], &argv),
                other => self.leaf("case", &[("outcome", other)], &argv),
            }
        }
        if outcomes.is_empty() {
            self.leaf("command", &[], &command(report));
        }
        self.close("INVOKE_AFTER");
    }

    fn next(&mut self, directive: &Directive) {
        let (report, outcomes) = self.reporting(directive);
        let told = if outcomes.is_empty() && instead_of_answering(directive).is_empty() {
            format!("After DO is complete, run: {}", command(report))
        } else {
            "After DO is complete, run exactly one of the commands in INVOKE_AFTER: the case whose outcome fits."
                .to_owned()
        };
        let instead = instead_of_running(self.tool).map(|instead| format!(" {instead}")).unwrap_or_default();
        self.leaf("NEXT", &[("required", "true")], &format!("{told}{instead}"));
    }

    /// The command that the reader runs, and the outcomes to choose from.
    fn reporting<'d>(&self, directive: &'d Directive) -> (&'d [String], &'d [StepOutcome]) {
        let several = if directive.outcomes.len() > 1 { directive.outcomes.as_slice() } else { &[] };
        match directive.dispatches.first() {
            None => (&directive.report, several),
            Some(child) if subagent_support(self.tool) == SubagentSupport::Alone => {
                (&child.report, if child.workflow.is_none() { several } else { &[] })
            }
            Some(_) => (&directive.report, &[]),
        }
    }
}

/// What is run where the user does not answer, if anything was asked.
fn instead_of_answering(directive: &Directive) -> Vec<UnansweredCommand> {
    directive.question.as_ref().map(|question| unanswered_commands(&directive.report, question)).unwrap_or_default()
}
