//! A run through a workflow that renders every kind of reply.

use serde_json::{Map, Value as Json, json};

use crate::workflow::directive::DirectiveContext;
use crate::workflow::load::{LoadEnvironment, load_workflow};
use crate::workflow::name::StepOutcome;
use crate::workflow::render::render_reply;
use crate::workflow::run::{PendingEffect, Run, RunDefinition, RunInput, decide, evolve, pending_effects};
use crate::workflow::run_reply::{NextAction, RunReply, RunUpdate, list_updates, next_action};
use crate::workflow::tool::CodingTool;

const CONTEXT: DirectiveContext<'_> = DirectiveContext { run: "r1", program: "maestro" };

const TEXT: &str = "name: review-loop
params: {task: {type: string}}
reviews: {plan: {}}
roles: {quality-reviewer: {model: strong}}
resources: {rules: {file: rules.md}}
steps:
- id: work
  type: agent
  title: Do the work
  phase: making
  description: Work on {task}.
  actions:
  - Read the task.
  - |
    Change the code.
    Keep it small.
  forbidden: ['Touch files that {task} is not about']
  expected_output: [Tests pass]
  resources: [rules]
  data: {task: '{task}'}
  result: {files: {type: list, description: What changed}, size: {type: enum, values: [small, large]}}
  review: {name: plan, part: fix}
  next: {ok: plan, fail: stop}
- {id: plan, type: agent, title: Say what to check, review: {name: plan, part: decompose}, next: {ok: look, fail: stop}}
- {id: look, type: dispatch, title: Look, role: quality-reviewer, for_each: reviews.plan.open, prompt: 'Check {item.check}.', review: {name: plan, part: verify}, next: {ok: gate, fail: gate, partial: gate}}
- {id: gate, type: gate, review: plan, max_rounds: 2, fix_target: developer, pass_message: 'Fine: {task}', next: {pass: ask, fail: work, exhausted: stop}}
- {id: ask, type: question, prompt: Merge it?, options: [merge now, later], default: later, next: {ok: end, declined: stop}}
- {id: stop, type: end, status: blocked, message: 'Stopped at {task}.'}
outputs: {size: '{steps.work.result.size}'}
";

/// A run that is given what happens, and what is worth telling of the last thing that did.
pub(super) struct RenderedRun {
    definition: RunDefinition,
    pub(super) run: Run,
    updates: Vec<RunUpdate>,
}

impl RenderedRun {
    pub(super) fn new(task: &str) -> Self {
        Self::through(TEXT, task)
    }

    pub(super) fn through(text: &str, task: &str) -> Self {
        let (workflow, findings) =
            load_workflow(text, &LoadEnvironment { file_exists: &|_| true, ..LoadEnvironment::none() });
        let mut definition = RunDefinition::alone(workflow.unwrap_or_else(|| panic!("{findings:#?}")));
        for resource in definition.main.resources.values_mut() {
            "Be kind.\nBe brief.\n".clone_into(&mut resource.text);
        }
        let mut walk = Self { definition, run: Run::default(), updates: Vec::new() };
        let params = if walk.definition.main.params.is_empty() { json!({}) } else { json!({"task": task}) };
        let params: Map<String, Json> = params.as_object().cloned().unwrap_or_default();
        walk.give(RunInput::Start { params, context: Map::new(), seed: 1, now: 0 });
        walk
    }

    pub(super) fn give(&mut self, input: RunInput) {
        let events = decide(&self.definition, &self.run, input).unwrap();
        for event in &events {
            self.run = evolve(std::mem::take(&mut self.run), event);
        }
        self.updates = list_updates(&self.definition, &self.run, &events);
    }

    pub(super) fn report(&mut self, outcome: &str, result: serde_json::Value) {
        let ticket = match pending_effects(&self.definition, &self.run).remove(0) {
            PendingEffect::Instruct { ticket, .. } | PendingEffect::Delegate { ticket, .. } => ticket,
            other => panic!("{other:?}"),
        };
        let serde_json::Value::Object(result) = result else { panic!() };
        self.give(RunInput::Report {
            ticket,
            outcome: Some(StepOutcome::new(outcome)),
            set: Map::new(),
            result,
            seen: crate::workflow::run::FileState::default(),
            now: 0,
        });
    }

    pub(super) fn reply(&self) -> RunReply {
        RunReply { run: "r1".into(), updates: self.updates.clone(), next: self.now() }
    }

    fn now(&self) -> NextAction {
        next_action(&self.definition, &self.run, CONTEXT)
    }

    pub(super) fn page(&self, tool: &CodingTool) -> String {
        render_reply(&self.reply(), tool)
    }
}
