//! XML blocks of a step outside a run. Texts stand as they are written in the definition.

use serde_json::{Map, Value as Json};

use super::directive::MANDATE;
use super::page::Page;
use crate::workflow::definition::{
    self, Action, Agent, Assigned, Dispatch, Entry, ForEach, Gate, Mode, Options, Placed, Question, ReviewPart, Task,
    Work,
};
use crate::workflow::directive::{Expected, QuestionInfo, declared, items_of};
use crate::workflow::name::Name;
use crate::workflow::render::words::{self, command};
use crate::workflow::stateless::{Sheet, To, Verdict, Way, When};
use crate::workflow::template::Template;
use crate::workflow::tool::Tool;
use crate::workflow::value::Field;

/// The page of a step that no run checks.
pub(in crate::workflow) fn page(sheet: &Sheet<'_>, tool: &Tool) -> String {
    let mut page = Page::new(tool);
    if let Work::End { status, message } = &sheet.step.work {
        let name = sheet.workflow.name.as_str();
        page.open("workflow_complete", &[("workflow", name), ("outcome", status.word()), ("verified", "no")]);
        page.unverified(sheet);
        page.leaves("message", &written(message.as_slice()));
        page.close("workflow_complete");
    } else {
        page.sheet(sheet);
    }
    page.text
}

/// Texts as they are written.
fn written(texts: &[Placed<Template>]) -> Vec<String> {
    texts.iter().map(|text| text.text.clone()).collect()
}

impl Page<'_> {
    fn sheet(&mut self, sheet: &Sheet<'_>) {
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
        if let (Work::Gate(gate), Some(verdict)) = (&step.work, sheet.verdict) {
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

    fn unverified(&mut self, sheet: &Sheet<'_>) {
        let told = "Nothing is kept and nothing is checked here; whoever runs these commands is believed. Names in braces \
                    stand for values that you know. A checked run begins with: ";
        self.leaf("unverified", &[], &format!("{told}{}", command(&sheet.checked)));
        self.leaves("note", &sheet.notes);
    }

    fn judged(&mut self, sheet: &Sheet<'_>, gate: &Gate, verdict: Verdict) {
        let passed = verdict == Verdict::Pass;
        let reasons = if passed { written(gate.pass_message.as_slice()) } else { Vec::new() };
        self.gate_result(&words::Verdict {
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

    fn work(&mut self, sheet: &Sheet<'_>) {
        match &sheet.step.work {
            Work::Agent(agent) => self.agent(agent, sheet),
            Work::Dispatch(dispatch) => self.dispatched(dispatch),
            Work::Command { action, .. } => {
                self.leaf(
                    "action",
                    &[],
                    match action {
                        Action::Builtin { .. } => {
                            "Only a checked run can do this by itself. Do by hand what it is about."
                        }
                        _ => "Run this command. The outcome is ok if it ends with 0, else fail.",
                    },
                );
                self.leaf("command_line", &[], &action.written());
                if let Some((name, _)) = &sheet.step.store {
                    self.leaf("action", &[], &format!("Keep what it prints as {name}."));
                }
            }
            Work::Output { template, .. } => {
                let text = sheet.workflow.templates.get(&template.0).map(|text| text.text.as_str()).unwrap_or_default();
                self.leaf("show_user", &[("template", template.0.as_str())], text);
            }
            Work::Question(question) => self.asked(question),
            Work::Conditional { .. } => {
                self.leaf("action", &[], "Decide by what you know: of the cases below, the first that holds counts.");
            }
            Work::Set(values) => {
                self.leaf("action", &[], "Keep these values.");
                for (name, _, value) in values {
                    self.leaf("data", &[("name", name.as_str())], &assigned(value));
                }
            }
            Work::Gate(gate) => self.gate(gate, sheet),
            Work::Call(call) => {
                let begin = ["maestro", "workflow", "step", &call.workflow.0, "--step", "1"].map(str::to_owned);
                self.leaf("action", &[], "Walk through this workflow; its end is the outcome: ok, fail or blocked.");
                self.leaf("invoke", &[], &command(&begin));
                for (name, _, value) in &call.with {
                    self.leaf("var", &[("name", name.as_str())], &assigned(value));
                }
            }
            Work::End { .. } => {}
        }
    }

    fn agent(&mut self, agent: &Agent, sheet: &Sheet<'_>) {
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
            definition::Expected::List(items) => Expected::List(written(items)),
            definition::Expected::Verdict { if_pass, when_issues, categories } => Expected::Verdict {
                if_pass: if_pass.as_ref().map(|text| text.text.clone()),
                when_issues: when_issues.as_ref().map(|text| text.text.clone()),
                categories: written(categories),
            },
        });
        self.review(agent.review.as_ref(), &agent.result);
    }

    /// How to look, and what the result holds.
    fn review(&mut self, part: Option<&ReviewPart>, fields: &[Field]) {
        if let Some(part) = part {
            self.guidance(part.part);
        }
        let own = fields.iter().map(|field| (field.name.to_string(), declared(field)));
        let items = part.and_then(|part| items_of(part.part));
        let items = items.map(|text| ("items".to_owned(), serde_json::json!({"type": "list", "description": text})));
        let result: Map<String, Json> = own.chain(items).collect();
        self.result("your answer", &result);
    }

    fn dispatched(&mut self, dispatch: &Dispatch) {
        self.constraint();
        let role = dispatch.role.as_ref().map(|(name, _)| name);
        let agent = role.and_then(|role| self.tool.agent_for(role)).map(str::to_owned);
        let agent = agent.unwrap_or_else(|| role.map_or("general-purpose", Name::as_str).to_owned());
        let (name, how) = match &dispatch.mode {
            Mode::Single => ("subagent_dispatch", "Start one sub-agent.".to_owned()),
            Mode::Template { items, group } => {
                let of = match items {
                    ForEach::List(list, _) => list.to_string(),
                    ForEach::Open(review, _) => format!("the open items of the review {review}"),
                };
                let told = format!("Start one sub-agent for every {group} of {of}, all in a single message, and wait.");
                ("parallel_dispatch", told)
            }
            Mode::Roster(entries) => {
                let told = format!("Start exactly {} sub-agents in a single message, and wait.", entries.len());
                ("parallel_dispatch", told)
            }
        };
        self.open(name, &[("agent", &agent)]);
        self.leaf("mandatory", &[], &how);
        if let Mode::Roster(entries) = &dispatch.mode {
            for entry in entries {
                self.entry(entry);
            }
        }
        for (name, text) in &dispatch.with {
            self.leaf("var", &[("name", name.as_str())], &text.text);
        }
        match &dispatch.task {
            Task::Prompt(prompt) => self.leaf("prompt", &[], &prompt.text),
            Task::Call(workflow, _) => {
                let begin = ["maestro", "workflow", "step", workflow, "--step", "1"].map(str::to_owned);
                self.leaf("invoke", &[], &command(&begin));
            }
        }
        self.review(dispatch.review.as_ref(), &[]);
        for (outcome, meaning) in words::outcomes(dispatch.review.as_ref().map(|part| part.part)) {
            self.leaf("outcome", &[("name", outcome)], meaning);
        }
        self.close(name);
        let told = "The outcome is ok if every sub-agent ended with ok, fail if none did, else partial.";
        self.leaf("action", &[], told);
    }

    fn entry(&mut self, entry: &Entry) {
        let values: Vec<String> = entry.iter().map(|(name, text)| format!("{name}: {}", text.text)).collect();
        self.leaf("agent", &[], &values.join("\n"));
    }

    fn asked(&mut self, question: &Question) {
        let options = match &question.options {
            Options::Listed(options) => Some(options.clone()),
            Options::Free => None,
            Options::Command(action) => Some(vec![format!("what `{}` prints, line by line", action.written())]),
            Options::Variable(list, _) => Some(vec![format!("the items of {list}")]),
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

    fn gate(&mut self, gate: &Gate, sheet: &Sheet<'_>) {
        if sheet.used_up() {
            let options = sheet.ways.iter().filter_map(|way| match way.when {
                When::Answer(answer) => Some(answer.to_owned()),
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
    fn ways(&mut self, sheet: &Sheet<'_>) {
        self.open("INVOKE_AFTER", &[]);
        let is = |way: &Way, word: &str| matches!(&way.when, When::Outcome(outcome) if outcome == word);
        let judged = ["pass", "fail"].iter().all(|word| sheet.ways.iter().any(|way| is(way, word)));
        for way in &sheet.ways {
            let text = led(&way.to);
            match &way.when {
                _ if sheet.only_way().is_some() => self.leaf("command", &[], &text),
                When::Outcome(outcome) if judged && outcome == "pass" => self.leaf("if_pass", &[], &text),
                When::Outcome(outcome) if judged && outcome == "fail" => self.leaf("if_fail", &[], &text),
                When::Outcome(outcome) if way.as_ok => {
                    self.leaf("case", &[("outcome", outcome), ("goes_on_as", "ok")], &text);
                }
                When::Outcome(outcome) => self.leaf("case", &[("outcome", outcome)], &text),
                When::Holds(condition) => self.leaf("case", &[("when", condition)], &text),
                When::Answer(answer) => self.leaf("case", &[("answer", answer)], &text),
            }
        }
        self.close("INVOKE_AFTER");
        let told = match sheet.only_way() {
            Some(Way { to: To::Command(argv), .. }) => format!("After DO is complete, run: {}", command(argv)),
            Some(way) => format!("After DO is complete: {}", led(&way.to)),
            None => "After DO is complete, run the case of INVOKE_AFTER that fits, and nothing else.".to_owned(),
        };
        self.leaf("NEXT", &[("required", "true")], &told);
    }
}

/// What is done to follow a way.
fn led(to: &To) -> String {
    match to {
        To::Command(argv) => command(argv),
        To::End(status) => {
            format!("WORKFLOW COMPLETE ({}): present the results to the user, and run nothing.", status.word())
        }
    }
}

fn assigned(value: &Assigned) -> String {
    match value {
        Assigned::Literal(value) => value.to_string(),
        Assigned::Text(text) => text.text.clone(),
    }
}
