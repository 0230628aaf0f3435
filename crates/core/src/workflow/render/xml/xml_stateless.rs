//! XML blocks of a step outside a run: a view of its directive, and what only such a page has.

use super::xml_page::XmlPage;
use crate::workflow::definition::{DispatchMode, DispatchStep, ForEach, Gate, StepWork, SubagentTask};
use crate::workflow::name::Name;
use crate::workflow::render::phrases::{self, command};
use crate::workflow::stateless::{
    DeclaredVerdict, NextRoute, RouteCondition, RouteDestination, StatelessPage, assigned,
};
use crate::workflow::tool::CodingTool;

/// The page of a step that no run checks.
pub(in crate::workflow) fn page(sheet: &StatelessPage<'_>, tool: &CodingTool) -> String {
    let mut page = XmlPage::new(tool);
    if let StepWork::End { status, message } = &sheet.step.work {
        let name = sheet.workflow.name.as_str();
        page.open("workflow_complete", &[("workflow", name), ("outcome", status.as_str()), ("verified", "no")]);
        page.unverified(sheet);
        page.leaves("message", message.as_ref().map(|text| text.text.clone()).as_slice());
        page.close("workflow_complete");
    } else {
        page.sheet(sheet);
    }
    page.text
}

impl XmlPage<'_> {
    fn sheet(&mut self, sheet: &StatelessPage<'_>) {
        self.open_step(&sheet.directive);
        self.unverified(sheet);
        self.mandate(&sheet.directive);
        if let (StepWork::Gate(gate), Some(verdict)) = (&sheet.step.work, sheet.verdict) {
            self.judged(sheet, gate, verdict);
        }
        self.state_banner(&sheet.directive.round, sheet.step.id.as_str());
        self.open("DO", &[]);
        self.instructions(&sheet.directive);
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
        let reasons: Vec<String> = gate.pass_message.iter().filter(|_| passed).map(|text| text.text.clone()).collect();
        self.gate_result(&phrases::GateReport {
            gate: sheet.step.id.as_str(),
            title: &sheet.step.title,
            round: sheet.directive.round.number,
            limit: gate.max_rounds,
            passed,
            reasons: &reasons,
            fix_target: gate.fix_target.as_ref().map(|(name, _)| name),
            self_fix: gate.self_fix,
        });
    }

    /// What no directive holds, because a run does it itself.
    fn work(&mut self, sheet: &StatelessPage<'_>) {
        match &sheet.step.work {
            StepWork::Dispatch(dispatch) => self.dispatched(dispatch, sheet),
            StepWork::Command { action, .. } => {
                self.leaf("command_line", &[], &action.command_line());
                if let Some((name, _)) = &sheet.step.store {
                    self.leaf("action", &[], &format!("Keep what it prints as {name}."));
                }
            }
            StepWork::Output { template, .. } => {
                let text = sheet.workflow.templates.get(&template.0).map(|text| text.text.as_str()).unwrap_or_default();
                self.leaf("show_user", &[("template", template.0.as_str())], text);
            }
            StepWork::Call(call) => {
                self.begin_at_first_step(&call.workflow.0);
                for (name, _, value) in &call.with {
                    self.leaf("var", &[("name", name.as_str())], &assigned(value));
                }
            }
            _ => self.response(&sheet.directive),
        }
    }

    /// The first step of another workflow.
    fn begin_at_first_step(&mut self, workflow: &str) {
        let argv = ["maestro", "workflow", "step", workflow, "--step", "1"].map(str::to_owned);
        self.leaf("invoke", &[], &command(&argv));
    }

    fn dispatched(&mut self, dispatch: &DispatchStep, sheet: &StatelessPage<'_>) {
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
                let values: Vec<String> =
                    entry.values.iter().map(|(name, text)| format!("{name}: {}", text.text)).collect();
                self.leaf("agent", &[], &values.join("\n"));
            }
        }
        for (name, text) in &dispatch.with {
            self.leaf("var", &[("name", name.as_str())], &text.text);
        }
        match &dispatch.task {
            SubagentTask::Prompt(prompt) => self.leaf("prompt", &[], &prompt.text),
            SubagentTask::Call(workflow, _) => self.begin_at_first_step(workflow),
        }
        self.response(&sheet.directive);
        for (outcome, meaning) in phrases::outcomes(dispatch.review.as_ref().map(|part| part.part)) {
            self.leaf("outcome", &[("name", outcome)], meaning);
        }
        self.close(name);
        let told = "The outcome is ok if every sub-agent ended with ok, fail if none did, else partial.";
        self.leaf("action", &[], told);
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
