//! Scripted cases: given these reports, answers and exits, a run takes these steps and comes to this end.
//!
//! Nothing is executed and nothing is shown: a case tests the logic of a definition alone.

mod script_reader;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use super::definition::{EndStatus, StepWork, SubagentTask};
use super::name::{StepId, StepOutcome};
use super::run::{
    AnswerAuthor, CommandExit, FileState, PendingEffect, Run, RunDefinition, RunEvent, RunInput, RunStatus, Ticket,
    UserAnswer, decide, evolve, pending_effects,
};

pub use script_reader::{InvalidScript, TestScript, read_script};

/// A run that is still going after so many inputs never ends.
const MOST_INPUTS: usize = 2_000;

/// One case of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedCase {
    /// What it shows.
    pub name: String,
    /// What the run is started with.
    pub params: Map<String, Json>,
    /// What happens at the steps, in the order of each step's visits.
    pub lines: Vec<ScriptedLine>,
    /// How the run must end.
    pub ends: EndStatus,
    /// Steps that must be taken in this order; others may come between.
    pub steps: Vec<String>,
    /// Steps that must not be taken.
    pub never: Vec<String>,
    /// Outputs that the run must hand back.
    pub outputs: Map<String, Json>,
}

/// What happens at one visit of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedLine {
    /// The step.
    pub at: String,
    /// What happens there.
    pub says: ScriptedInput,
}

/// What happens at a visit.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptedInput {
    /// An agent reports, or each sub-agent does.
    Report(ScriptedReport),
    /// The user says this.
    Answer(UserAnswer),
    /// A command ends so.
    Exit(CommandExit),
    /// The sub-agents report, one after the other.
    Children(Vec<ScriptedReport>),
}

/// What an agent reports.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ScriptedReport {
    /// What it ended with; `ok` for a sub-agent that does not say.
    pub outcome: Option<StepOutcome>,
    /// What it found.
    pub result: Map<String, Json>,
    /// Variables it sets.
    pub set: Map<String, Json>,
}

/// What is wrong with a run through a case; nothing if it came to its end as the case says.
pub fn run_case(definition: &RunDefinition, case: &ScriptedCase) -> Vec<String> {
    let definition = &in_turn(definition);
    let unknown = unknown_steps(definition, case);
    if !unknown.is_empty() {
        return unknown;
    }
    let mut walk = CaseWalk { definition, case, run: Run::default(), taken: Vec::new(), used: BTreeMap::new() };
    match walk.walk_to_end() {
        Ok(()) => walk.differences(),
        Err(stopped) => vec![stopped],
    }
}

/// What a case says of steps that there are not.
fn unknown_steps(definition: &RunDefinition, case: &ScriptedCase) -> Vec<String> {
    let workflows = std::iter::once(&definition.main).chain(definition.callees.values());
    let known: BTreeSet<&str> = workflows.flat_map(|workflow| &workflow.steps).map(|step| step.id.as_str()).collect();
    let named = case.lines.iter().map(|line| &line.at).chain(&case.steps).chain(&case.never);
    let unknown: BTreeSet<&String> = named.filter(|name| !known.contains(name.as_str())).collect();
    let message = |name: &String| match crate::closest_word::closest(name, known.iter().copied()) {
        Some(close) => format!("there is no step `{name}`; did you mean `{close}`?"),
        None => format!("there is no step `{name}`"),
    };
    unknown.into_iter().map(message).collect()
}

/// The definition with workflows that are called one after the other, so that the order of a case's lines is clear.
fn in_turn(definition: &RunDefinition) -> RunDefinition {
    let mut definition = definition.clone();
    for workflow in std::iter::once(&mut definition.main).chain(definition.callees.values_mut()) {
        workflow.steps.iter_mut().for_each(super::definition::WorkflowStep::call_in_turn);
    }
    definition
}

struct CaseWalk<'c> {
    definition: &'c RunDefinition,
    case: &'c ScriptedCase,
    run: Run,
    taken: Vec<StepId>,
    /// How many lines of each step were used.
    used: BTreeMap<String, usize>,
}

impl CaseWalk<'_> {
    fn walk_to_end(&mut self) -> Result<(), String> {
        let word = |text: &str| Json::String(text.to_owned());
        let context = ["workspace", "run", "project", "tool"].map(|name| (name.to_owned(), word(name)));
        let params = self.case.params.clone();
        self.submit(RunInput::Start { params, context: Map::from_iter(context), seed: 1, now: 0 })
            .map_err(|reason| format!("the run does not start: {reason}"))?;
        for _ in 0..MOST_INPUTS {
            let Some(effect) = pending_effects(self.definition, &self.run).into_iter().next() else { return Ok(()) };
            self.answer(&effect)?;
        }
        Err(format!("the run has not ended after {MOST_INPUTS} inputs"))
    }

    fn answer(&mut self, effect: &PendingEffect) -> Result<(), String> {
        match effect {
            PendingEffect::Instruct { ticket, step, .. } => {
                let ScriptedInput::Report(said) = self.line(step, "reports")? else {
                    return Err(wrong(step, "`outcome` and `result`"));
                };
                self.submit_at(step, report(ticket, said))
            }
            PendingEffect::Delegate { ticket, step, child } => {
                let said = self.child_report(step, &child.name)?;
                let walks = self.run.current(self.definition).is_some_and(|(.., step)| {
                    matches!(&step.work, StepWork::Dispatch(dispatch) if matches!(dispatch.task, SubagentTask::Call(..)))
                });
                let outcome = said.outcome.clone().unwrap_or(StepOutcome::OK);
                let input = if walks {
                    let (ticket, seen) = (ticket.clone(), FileState::default());
                    RunInput::ChildRunEnded { ticket, outcome, result: said.result, seen, now: 0 }
                } else {
                    report(ticket, ScriptedReport { outcome: Some(outcome), ..said })
                };
                self.submit_at(step, input)
            }
            PendingEffect::Ask { ticket, step, .. } => {
                let ScriptedInput::Answer(answer) = self.line(step, "answers")? else {
                    return Err(wrong(step, "`answer`"));
                };
                self.submit_at(
                    step,
                    RunInput::Answer { ticket: ticket.clone(), answer, by: AnswerAuthor::User, now: 0 },
                )
            }
            PendingEffect::Execute { ticket, step, .. } => {
                let finish = match self.next_line(step) {
                    Some(ScriptedInput::Exit(exit)) => exit,
                    // A command of which nothing is said ends well and prints nothing.
                    None => CommandExit::Exited { code: 0, output: String::new() },
                    Some(_) => return Err(wrong(step, "`exit` and `output`")),
                };
                self.submit_at(step, RunInput::Started { ticket: ticket.clone(), seen: FileState::default(), now: 0 })?;
                self.submit_at(step, RunInput::Finished { ticket: ticket.clone(), finish, now: 0 })
            }
            PendingEffect::Consent { step, .. } => Err(format!("`{step}` waits for consent, which no case has")),
            PendingEffect::Await { .. } => Err("a command is still being executed".to_owned()),
        }
    }

    /// What a sub-agent reports: each the same, or one after the other.
    fn child_report(&mut self, step: &StepId, child: &str) -> Result<ScriptedReport, String> {
        let index = self.run.position().map_or(0, |position| position.visit as usize).saturating_sub(1);
        let mut lines = self.case.lines.iter().filter(|line| line.at == step.as_str());
        match lines.nth(index).map(|line| &line.says) {
            Some(ScriptedInput::Report(said)) => {
                self.used.insert(step.to_string(), index + 1);
                Ok(said.clone())
            }
            Some(ScriptedInput::Children(all)) => {
                self.used.insert(step.to_string(), index + 1);
                let number: usize = child.parse().unwrap_or(1);
                all.get(number.saturating_sub(1))
                    .cloned()
                    .ok_or_else(|| format!("`{step}` has more sub-agents than `children` names ({})", all.len()))
            }
            Some(_) => Err(wrong(step, "`children`, or `outcome` and `result` for all of them")),
            None => Err(self.silent(step, "dispatches")),
        }
    }

    /// What happens at the next visit of a step, if anything is said.
    fn next_line(&mut self, step: &StepId) -> Option<ScriptedInput> {
        let used = self.used.entry(step.to_string()).or_default();
        let line = self.case.lines.iter().filter(|line| line.at == step.as_str()).nth(*used)?;
        *used += 1;
        Some(line.says.clone())
    }

    fn line(&mut self, step: &StepId, does: &str) -> Result<ScriptedInput, String> {
        self.next_line(step).ok_or_else(|| self.silent(step, does))
    }

    fn silent(&self, step: &StepId, does: &str) -> String {
        let visits = self.taken.iter().filter(|taken| *taken == step).count();
        format!("`{step}` {does} for the {visits}. time, and the case does not say what; add `- {{at: {step}, …}}`")
    }

    fn submit_at(&mut self, step: &StepId, input: RunInput) -> Result<(), String> {
        self.submit(input).map_err(|reason| format!("`{step}` does not take what the case says: {reason}"))
    }

    fn submit(&mut self, input: RunInput) -> Result<(), String> {
        let events = decide(self.definition, &self.run, input).map_err(|refusal| refusal.to_string())?;
        for event in &events {
            if let RunEvent::Entered { step, .. } = event {
                self.taken.push(step.clone());
            }
        }
        self.run = events.iter().fold(std::mem::take(&mut self.run), evolve);
        Ok(())
    }

    /// What came out otherwise than the case says.
    fn differences(&self) -> Vec<String> {
        let mut found = Vec::new();
        let way = || self.taken.iter().map(StepId::as_str).collect::<Vec<_>>().join(" → ");
        let RunStatus::Ended(ending) = &self.run.status else { return vec!["the run does not end".to_owned()] };
        if ending.status != self.case.ends {
            let said = ending.message.as_deref().unwrap_or("without a message");
            found.push(format!("it ends in {}, not {}: {said}\nway: {}", ending.status, self.case.ends, way()));
        }
        let mut taken = self.taken.iter();
        if let Some(missing) = self.case.steps.iter().find(|wanted| !taken.any(|step| step.as_str() == **wanted)) {
            found.push(format!("`{missing}` is not taken in the order of `steps`\nway: {}", way()));
        }
        let entered = self.case.never.iter().filter(|never| self.taken.iter().any(|step| step.as_str() == **never));
        found.extend(entered.map(|step| format!("`{step}` is taken\nway: {}", way())));
        for (name, wanted) in &self.case.outputs {
            let got = ending.outputs.get(name).cloned().unwrap_or_default();
            if got != *wanted {
                found.push(format!("the output `{name}` is {got}, not {wanted}"));
            }
        }
        for (at, lines) in count_lines(&self.case.lines) {
            let used = self.used.get(at).copied().unwrap_or_default();
            if used < lines {
                found.push(format!("`{at}` is visited {used} times, and the case says what happens {lines} times"));
            }
        }
        found
    }
}

fn count_lines(lines: &[ScriptedLine]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for line in lines {
        *counts.entry(line.at.as_str()).or_default() += 1;
    }
    counts
}

fn report(ticket: &Ticket, said: ScriptedReport) -> RunInput {
    let ScriptedReport { outcome, result, set } = said;
    RunInput::Report { ticket: ticket.clone(), outcome, set, result, seen: FileState::default(), now: 0 }
}

fn wrong(step: &StepId, needed: &str) -> String {
    format!("at `{step}` the case says something else than the step needs: {needed}")
}
