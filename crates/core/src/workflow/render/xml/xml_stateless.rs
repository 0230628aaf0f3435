//! XML blocks of a step outside a run. Texts stand as they are written in the definition.

use serde_json::{Map, Value as Json};

use super::xml_directive::MANDATE;
use super::xml_page::XmlPage;
use crate::workflow::definition::{
    self, AgentStep, AssignedValue, CommandAction, DispatchMode, DispatchStep, ForEach, Gate, PlacedValue,
    QuestionOptions, QuestionStep, RosterEntry, StepReview, StepWork, SubagentTask,
};
use crate::workflow::directive::{ExpectedText, QuestionInfo, describe_field, review_items_key};
use crate::workflow::name::Name;
use crate::workflow::render::phrases::{self, command};
use crate::workflow::stateless::{DeclaredVerdict, NextRoute, RouteCondition, RouteDestination, StatelessPage};
use crate::workflow::template::Template;
use crate::workflow::tool::CodingTool;
use crate::workflow::value_type::ResultField;

/// The page of a step that no run checks.
pub(in crate::workflow) fn page(sheet: &StatelessPage<'_>, tool: &CodingTool) -> String {
    let mut page = XmlPage::new(tool);
    if let StepWork::End { status, message } = &sheet.step.work {
        let name = sheet.workflow.name.as_str();
        page.open("workflow_complete", &[("workflow", name), ("outcome", status.as_str()), ("verified", "no")]);
        page.unverified(sheet);
        page.leaves("message", &written(message.as_slice()));
        page.close("workflow_complete");
    } else {
        page.sheet(sheet);
    }
    page.text
}

/// Texts as they are written.
fn written(texts: &[PlacedValue<Template>]) -> Vec<String> {
    texts.iter().map(|text| text.text.clone()).collect()
}

impl XmlPage<'_> {
    fn sheet(&mut self, sheet: &StatelessPage<'_>) {
        let step = sheet.step;
        let (number, total) = (sheet.number.to_string(), sheet.workflow.steps.len().to_string());
        let mut attributes = vec![
            ("workflow", sheet.workflow.name.as_str()),
            ("id", step.id.as_str()),
            ("title", step.title.as_str()),
            ("number", &number),
            ("total", &total),
        ];
        attributes.extend(step.phase.as_ref().map(|phase| ("phase", phase.as_str())));
        attributes.push(("verified", "no"));
        self.open("step", &attributes);
        self.unverified(sheet);
        if sheet.number == 1 {
            self.leaf("xml_format_mandate", &[], MANDATE);
        }
        if let (StepWork::Gate(gate), Some(verdict)) = (&step.work, sheet.verdict) {
            self.judged(sheet, gate, verdict);
        }
        self.state_banner(&sheet.round, step.id.as_str());
        self.open("DO", &[]);
        self.leaves("brief", &written(step.description.as_slice()));
        if let Some(when) = &step.when {
            self.leaf("action", &[], &format!("Do this only if {}; else the outcome is skip.", when.text));
        }
        self.work(sheet);
        self.close("DO");
        self.ways(sheet);
        self.close("step");
    }

    fn unverified(&mut self, sheet: &StatelessPage<'_>) {
        let told = "Nothing is kept and nothing is checked here; the reports of these commands are not verified. Names in braces \
                    stand for values that you know. A checked run begins with: ";
        self.leaf("unverified", &[], &format!("{told}{}", command(&sheet.checked)));
        self.leaves("note", &sheet.notes);
    }

    fn judged(&mut self, sheet: &StatelessPage<'_>, gate: &Gate, verdict: DeclaredVerdict) {
        let passed = verdict == DeclaredVerdict::Pass;
        let reasons = if passed { written(gate.pass_message.as_slice()) } else { Vec::new() };
        self.gate_result(&phrases::GateReport {
            gate: sheet.step.id.as_str(),
            title: &sheet.step.title,
            round: sheet.round.number,
            limit: gate.max_rounds,
            passed,
            reasons: &reasons,
            fix_target: gate.fix_target.as_ref().map(|(name, _)| name),
            self_fix: gate.self_fix,
        });
    }

    fn work(&mut self, sheet: &StatelessPage<'_>) {
        match &sheet.step.work {
            StepWork::Agent(agent) => self.agent(agent, sheet),
            StepWork::Dispatch(dispatch) => self.dispatched(dispatch),
            StepWork::Command { action, .. } => {
                self.leaf(
                    "action",
                    &[],
                    match action {
                        CommandAction::BuiltinCommand { .. } => {
                            "Only a checked run can do this by itself. Do by hand what it is about."
                        }
                        _ => "Run this command. The outcome is ok if it ends with 0, else fail.",
                    },
                );
                self.leaf("command_line", &[], &action.command_line());
                if let Some((name, _)) = &sheet.step.store {
                    self.leaf("action", &[], &format!("Keep what it prints as {name}."));
                }
            }
            StepWork::Output { template, .. } => {
                let text = sheet.workflow.templates.get(&template.0).map(|text| text.text.as_str()).unwrap_or_default();
                self.leaf("show_user", &[("template", template.0.as_str())], text);
            }
            StepWork::Question(question) => self.asked(question),
            StepWork::Conditional { .. } => {
                self.leaf("action", &[], "Decide by what you know: of the cases below, the first that holds counts.");
            }
            StepWork::Set(values) => {
                self.leaf("action", &[], "Keep these values.");
                for (name, _, value) in values {
                    self.leaf("data", &[("name", name.as_str())], &assigned(value));
                }
            }
            StepWork::Gate(gate) => self.gate(gate, sheet),
            StepWork::Call(call) => {
                let begin = ["maestro", "workflow", "step", &call.workflow.0, "--step", "1"].map(str::to_owned);
                self.leaf("action", &[], "Walk through this workflow; its end is the outcome: ok, fail or blocked.");
                self.leaf("invoke", &[], &command(&begin));
                for (name, _, value) in &call.with {
                    self.leaf("var", &[("name", name.as_str())], &assigned(value));
                }
            }
            StepWork::End { .. } => {}
        }
    }

    fn agent(&mut self, agent: &AgentStep, sheet: &StatelessPage<'_>) {
        self.leaves("action", &written(&agent.actions));
        for (name, text) in &agent.data {
            self.leaf("data", &[("name", name.as_str())], &text.text);
        }
        for (name, _) in &agent.resources {
            let text = sheet.workflow.resources.get(name).map(|resource| resource.text.as_str());
            self.leaf("resource", &[("name", name.as_str())], text.unwrap_or_default());
        }
        self.block("forbidden", "action", &written(&agent.forbidden));
        self.expected(&match &agent.expected {
            definition::ExpectedTemplate::List(items) => ExpectedText::List(written(items)),
            definition::ExpectedTemplate::Verdict { if_pass, when_issues, categories } => ExpectedText::Verdict {
                if_pass: if_pass.as_ref().map(|text| text.text.clone()),
                when_issues: when_issues.as_ref().map(|text| text.text.clone()),
                categories: written(categories),
            },
        });
        self.review(agent.review.as_ref(), &agent.result);
    }

    /// How to look, and what the result holds.
    fn review(&mut self, part: Option<&StepReview>, fields: &[ResultField]) {
        if let Some(part) = part {
            self.guidance(part.part);
        }
        let own = fields.iter().map(|field| (field.name.to_string(), describe_field(field)));
        let items = part.and_then(|part| review_items_key(part.part));
        let items = items.map(|text| ("items".to_owned(), serde_json::json!({"type": "list", "description": text})));
        let result: Map<String, Json> = own.chain(items).collect();
        self.result("your answer", &result);
    }

    fn dispatched(&mut self, dispatch: &DispatchStep) {
        self.constraint();
        let role = dispatch.role.as_ref().map(|(name, _)| name);
        let agent = role.and_then(|role| self.tool.agent_for(role)).map(str::to_owned);
        let agent = agent.unwrap_or_else(|| role.map_or("general-purpose", Name::as_str).to_owned());
        let (name, how) = match &dispatch.mode {
            DispatchMode::Single => ("subagent_dispatch", "Start one sub-agent.".to_owned()),
            DispatchMode::Template { items, group } => {
                let of = match items {
                    ForEach::List(list, _) => list.to_string(),
                    ForEach::Open(review, _) => format!("the open items of the review {review}"),
                };
                let told = format!("Start one sub-agent for every {group} of {of}, all in a single message, and wait.");
                ("parallel_dispatch", told)
            }
            DispatchMode::Roster(entries) => {
                let told = format!("Start exactly {} sub-agents in a single message, and wait.", entries.len());
                ("parallel_dispatch", told)
            }
        };
        self.open(name, &[("agent", &agent)]);
        self.leaf("mandatory", &[], &how);
        if let DispatchMode::Roster(entries) = &dispatch.mode {
            for entry in entries {
                self.entry(entry);
            }
        }
        for (name, text) in &dispatch.with {
            self.leaf("var", &[("name", name.as_str())], &text.text);
        }
        match &dispatch.task {
            SubagentTask::Prompt(prompt) => self.leaf("prompt", &[], &prompt.text),
            SubagentTask::Call(workflow, _) => {
                let begin = ["maestro", "workflow", "step", workflow, "--step", "1"].map(str::to_owned);
                self.leaf("invoke", &[], &command(&begin));
            }
        }
        self.review(dispatch.review.as_ref(), &[]);
        for (outcome, meaning) in phrases::outcomes(dispatch.review.as_ref().map(|part| part.part)) {
            self.leaf("outcome", &[("name", outcome)], meaning);
        }
        self.close(name);
        let told = "The outcome is ok if every sub-agent ended with ok, fail if none did, else partial.";
        self.leaf("action", &[], told);
    }

    fn entry(&mut self, entry: &RosterEntry) {
        let values: Vec<String> = entry.iter().map(|(name, text)| format!("{name}: {}", text.text)).collect();
        self.leaf("agent", &[], &values.join("\n"));
    }

    fn asked(&mut self, question: &QuestionStep) {
        let options = match &question.options {
            QuestionOptions::Listed(options) => Some(options.clone()),
            QuestionOptions::Free => None,
            QuestionOptions::Command(action) => {
                Some(vec![format!("what `{}` prints, line by line", action.command_line())])
            }
            QuestionOptions::Variable(list, _) => Some(vec![format!("the items of {list}")]),
        };
        let info = QuestionInfo {
            prompt: question.prompt.text.clone(),
            options,
            default: question.default.as_ref().map(|text| text.text.clone()),
            multiple: question.multiple,
            refused: None,
        };
        self.question(&info, None);
    }

    fn gate(&mut self, gate: &Gate, sheet: &StatelessPage<'_>) {
        if sheet.used_up() {
            let options = sheet.ways.iter().filter_map(|way| match way.when {
                RouteCondition::Answer(answer) => Some(answer.to_owned()),
                _ => None,
            });
            let info = QuestionInfo {
                prompt: format!("{} has failed {} times. What now?", sheet.step.title, sheet.round.number),
                options: Some(options.collect()),
                default: None,
                multiple: false,
                refused: None,
            };
            return self.question(&info, None);
        }
        if sheet.verdict.is_some() {
            return self.leaf("action", &[], "The gate has judged. Do nothing but what NEXT says.");
        }
        let review = gate.review.as_ref().map(|(name, _)| format!("every blocking item of the review {name} passed"));
        let checks = gate.checks.iter().map(|check| format!("{} ended with ok", check.step));
        let all: Vec<String> = review.into_iter().chain(checks).collect();
        self.leaf("action", &[], &format!("The gate passes if {}; else it fails.", all.join(" and ")));
    }

    /// The exact command for each way on, and the one to run now.
    fn ways(&mut self, sheet: &StatelessPage<'_>) {
        self.open("INVOKE_AFTER", &[]);
        let is = |way: &NextRoute, word: &str| matches!(&way.when, RouteCondition::Outcome(outcome) if outcome == word);
        let judged = ["pass", "fail"].iter().all(|word| sheet.ways.iter().any(|way| is(way, word)));
        for way in &sheet.ways {
            let text = led(&way.to);
            match &way.when {
                _ if sheet.only_way().is_some() => self.leaf("command", &[], &text),
                RouteCondition::Outcome(outcome) if judged && outcome == "pass" => self.leaf("if_pass", &[], &text),
                RouteCondition::Outcome(outcome) if judged && outcome == "fail" => self.leaf("if_fail", &[], &text),
                RouteCondition::Outcome(outcome) if way.as_ok => {
                    self.leaf("case", &[("outcome", outcome), ("goes_on_as", "ok")], &text);
                }
                RouteCondition::Outcome(outcome) => self.leaf("case", &[("outcome", outcome)], &text),
                RouteCondition::Holds(condition) => self.leaf("case", &[("when", condition)], &text),
                RouteCondition::Answer(answer) => self.leaf("case", &[("answer", answer)], &text),
            }
        }
        self.close("INVOKE_AFTER");
        let told = match sheet.only_way() {
            Some(NextRoute { to: RouteDestination::Command(argv), .. }) => {
                format!("After DO is complete, run: {}", command(argv))
            }
            Some(way) => format!("After DO is complete: {}", led(&way.to)),
            None => "After DO is complete, run the case of INVOKE_AFTER that fits, and nothing else.".to_owned(),
        };
        self.leaf("NEXT", &[("required", "true")], &told);
    }
}

/// What is done to follow a way.
fn led(to: &RouteDestination) -> String {
    match to {
        RouteDestination::Command(argv) => command(argv),
        RouteDestination::End(status) => {
            format!("WORKFLOW COMPLETE ({}): present the results to the user, and run nothing.", status.as_str())
        }
    }
}

fn assigned(value: &AssignedValue) -> String {
    match value {
        AssignedValue::Literal(value) => value.to_string(),
        AssignedValue::Text(text) => text.text.clone(),
    }
}
