//! A run in a test, with every input checked for what always holds.

use serde_json::{Map, Value as Json, json};

use crate::workflow::load::{CalleeSignature, LoadEnvironment, load_workflow};
use crate::workflow::name::{StepId, StepOutcome};
use crate::workflow::run::{
    AnswerAuthor, BranchPoint, CommandExit, FileState, InputRefusal, PendingEffect, Run, RunDefinition, RunEvent,
    RunInput, RunStatus, Ticket, UserAnswer, decide, evolve, pending_effects, state_before,
};
use crate::workflow::{Workflow, WorkflowFinding};

pub(crate) fn workflow(text: &str) -> Workflow {
    let callee: &dyn Fn(&str) -> Option<CalleeSignature> = &|name| (name == "helper").then(CalleeSignature::default);
    let (workflow, findings) = load_workflow(text, &LoadEnvironment { callee, ..LoadEnvironment::none() });
    let errors: Vec<&WorkflowFinding> = findings.iter().filter(|finding| finding.is_error()).collect();
    workflow.unwrap_or_else(|| panic!("{errors:#?}\n{text}"))
}

pub(crate) fn object(value: Json) -> Map<String, Json> {
    match value {
        Json::Object(map) => map,
        _ => Map::new(),
    }
}

pub(crate) struct TestRun {
    pub(crate) definition: RunDefinition,
    pub(crate) run: Run,
    pub(crate) log: Vec<RunEvent>,
}

impl TestRun {
    pub(crate) fn new(text: &str) -> Self {
        Self { definition: RunDefinition::alone(workflow(text)), run: Run::default(), log: Vec::new() }
    }

    /// Starts a workflow without parameters.
    pub(crate) fn started(text: &str) -> Self {
        let mut driver = Self::new(text);
        driver.start(json!({})).unwrap();
        driver
    }

    pub(crate) fn start(&mut self, params: Json) -> Result<(), InputRefusal> {
        self.give(RunInput::Start { params: object(params), context: Map::new(), seed: 7, now: 0 })
    }

    /// Gives an input and checks what holds for every one: a refusal changes nothing, folding gives the state, a
    /// run that is neither over nor paused has a way on.
    pub(crate) fn give(&mut self, input: RunInput) -> Result<(), InputRefusal> {
        let before = self.run.clone();
        let events = decide(&self.definition, &self.run, input)?;
        let reopened = matches!(events.first(), Some(RunEvent::Resumed {} | RunEvent::Branched { .. }));
        assert!(!before.is_over() || events.is_empty() || reopened, "something happened after the end");
        for event in events {
            self.run = evolve(std::mem::take(&mut self.run), &event);
            self.log.push(event);
        }
        if self.run.status == RunStatus::Active {
            assert!(!pending_effects(&self.definition, &self.run).is_empty(), "no way on: {:#?}", self.run.position());
        }
        Ok(())
    }

    pub(crate) fn effect(&self) -> PendingEffect {
        pending_effects(&self.definition, &self.run).remove(0)
    }

    pub(crate) fn ticket(&self) -> Ticket {
        match self.effect() {
            PendingEffect::Instruct { ticket, .. }
            | PendingEffect::Delegate { ticket, .. }
            | PendingEffect::Execute { ticket, .. }
            | PendingEffect::Await { ticket }
            | PendingEffect::Ask { ticket, .. }
            | PendingEffect::Consent { ticket, .. } => ticket,
        }
    }

    pub(crate) fn at(&self) -> &str {
        self.run.position().map_or("", |position| position.step.as_str())
    }

    pub(crate) fn report(&mut self, outcome: &str, result: Json) -> Result<(), InputRefusal> {
        let (ticket, outcome) = (self.ticket(), Some(StepOutcome::new(outcome)));
        self.give(RunInput::Report {
            ticket,
            outcome,
            set: Map::new(),
            result: object(result),
            seen: FileState::default(),
            now: 0,
        })
    }

    pub(crate) fn answer(&mut self, answer: &str) -> Result<(), InputRefusal> {
        let ticket = self.ticket();
        self.give(RunInput::Answer { ticket, answer: UserAnswer::Value(json!(answer)), by: AnswerAuthor::User, now: 0 })
    }

    /// Runs the command that is waited for.
    pub(crate) fn execute(&mut self, code: i32, output: &str) {
        let ticket = self.ticket();
        self.give(RunInput::Started { ticket: ticket.clone(), seen: FileState::default(), now: 0 }).unwrap();
        let finish = CommandExit::Exited { code, output: output.to_owned() };
        self.give(RunInput::Finished { ticket, finish, now: 0 }).unwrap();
    }

    /// Continues the run after it stopped.
    pub(crate) fn reopen(&mut self) -> Result<(), InputRefusal> {
        self.give(RunInput::Reopen { params: Map::new(), note: None, now: 0 })
    }

    /// Continues the run, which is over, from an earlier visit of a step.
    pub(crate) fn branch(&mut self, at: &str) -> Result<(), InputRefusal> {
        let point: BranchPoint = at.parse().unwrap();
        let (state, visit) = state_before(&self.log, &point).unwrap();
        let (step, state) = (point.step, Box::new(state));
        self.give(RunInput::Branch { step, visit, state, params: Map::new(), now: 0 })
    }

    /// How the run ended, with what is said about it.
    pub(crate) fn ended(&self) -> String {
        match &self.run.status {
            RunStatus::Ended(ending) => {
                format!("{} {}", ending.status.as_str(), ending.message.as_deref().unwrap_or_default())
                    .trim()
                    .to_owned()
            }
            other => format!("{other:?} at {}", self.at()),
        }
    }

    pub(crate) fn visits(&self, step: &str) -> u32 {
        let entered = |event: &&RunEvent| matches!(event, RunEvent::Entered { step: id, .. } if id.as_str() == step);
        u32::try_from(self.log.iter().filter(entered).count()).unwrap()
    }
}

pub(crate) fn id(text: &str) -> StepId {
    StepId::parse(text).unwrap()
}
