//! Possible inputs of a run at a point: one for each thing that leads somewhere else.

use serde_json::{Map, Value as Json, json};

use super::candidate_values::{CandidateSet, any, combined, values};
use super::simulation_facts::{SimulationFacts, WorkflowFacts};
use super::value_tests::ValueRoot;
use crate::workflow::definition::{
    AgentStep, AnswerCheck, DispatchMode, ForEach, OutputParsing, QuestionStep, ReviewStage, StepWork, SubagentTask,
    Variable, Workflow, WorkflowStep,
};
use crate::workflow::name::{Name, StepOutcome};
use crate::workflow::run::{
    AnswerAuthor, AskedQuestion, CONTINUE, CallFrame, CommandExit, FileState, PendingEffect, ReviewItemStatus, Run,
    RunDefinition, RunInput, StepVisit, StepWait, Ticket, UserAnswer, deadline, pending_effects,
};
use crate::workflow::value_type::value_text;

/// Later than every timeout.
const LATER: i64 = i64::MAX / 2;

/// The parameters a run might be started with.
pub(super) fn params(workflow: &Workflow, known: &WorkflowFacts<'_>) -> CandidateSet<Map<String, Json>> {
    let domains = workflow.params.iter().map(|param| {
        let root = ValueRoot::Param(param.name.clone());
        let asked = known.asked.of(&root).any(|(_, questions)| questions.any);
        let mut tried = match &param.default {
            Some(default) if !asked => vec![default.clone()],
            _ => values(&param.kind, &known.asked, &[root]).all,
        };
        tried.extend(param.default.iter().filter(|default| !tried.contains(default)).cloned().collect::<Vec<_>>());
        (param.name.to_string(), tried)
    });
    combined(&domains.collect::<Vec<_>>())
}

/// Everything that might happen to a run now.
pub(super) fn responses_to(
    definition: &RunDefinition,
    known: &SimulationFacts<'_>,
    run: &Run,
) -> CandidateSet<Vec<RunInput>> {
    let Some((frame, position, workflow, step)) = run.current(definition) else { return CandidateSet::all(Vec::new()) };
    let Some(known) = known.workflow(&frame.workflow) else { return CandidateSet::all(Vec::new()) };
    let responder = InputGenerator { frame, position, workflow, step, known };
    // Of several children any may come first; that makes no difference to where the run goes.
    let effect = pending_effects(definition, run).into_iter().next();
    let mut tried = effect.map_or_else(|| CandidateSet::all(Vec::new()), |effect| responder.to(&effect));
    if let Some(soon) = deadline(definition, run) {
        tried.all.extend([soon, LATER].map(|now| vec![RunInput::Elapsed { now }]));
    }
    tried
}

struct InputGenerator<'r, 'd> {
    frame: &'r CallFrame,
    position: &'r StepVisit,
    workflow: &'d Workflow,
    step: &'d WorkflowStep,
    known: &'r WorkflowFacts<'d>,
}

impl InputGenerator<'_, '_> {
    fn to(&self, effect: &PendingEffect) -> CandidateSet<Vec<RunInput>> {
        match (effect, &self.step.work) {
            (PendingEffect::Instruct { ticket, .. }, StepWork::Agent(agent)) => self.reports(agent, ticket),
            (PendingEffect::Delegate { ticket, child, .. }, _) => {
                let given: Vec<&Json> = child.items.iter().map(|item| &item["id"]).collect();
                let said = self.review_items(&given);
                let outcomes = [StepOutcome::OK, StepOutcome::FAIL];
                let walks = matches!(&self.step.work, StepWork::Dispatch(dispatch) if matches!(dispatch.task, SubagentTask::Call(..)));
                let reports = outcomes.iter().flat_map(|outcome| {
                    let report = |result: &Map<String, Json>| {
                        let result = result.clone();
                        if walks {
                            child_run_inputs(ticket, outcome, result)
                        } else {
                            report(ticket, outcome, Map::new(), result)
                        }
                    };
                    said.iter().map(report).collect::<Vec<_>>()
                });
                CandidateSet::all(reports.collect())
            }
            (PendingEffect::Execute { ticket, .. }, _) => self.finishes().map(|finish| {
                let started = RunInput::Started { ticket: ticket.clone(), seen: FileState::default(), now: 0 };
                vec![started, RunInput::Finished { ticket: ticket.clone(), finish, now: 0 }]
            }),
            (PendingEffect::Ask { ticket, asked, .. }, work) => {
                let said = match work {
                    StepWork::Question(question) => self.answers(question, asked),
                    _ => CandidateSet::all(self.decisions(asked)),
                };
                let mut tried = said.map(UserAnswer::Value);
                tried.all.extend([UserAnswer::Declined, UserAnswer::Cancelled]);
                tried.map(|answer| {
                    vec![RunInput::Answer { ticket: ticket.clone(), answer, by: AnswerAuthor::User, now: 0 }]
                })
            }
            // Nothing that is executed here is ever lost.
            (PendingEffect::Instruct { .. } | PendingEffect::Await { .. } | PendingEffect::Consent { .. }, _) => {
                CandidateSet::all(Vec::new())
            }
        }
    }

    fn matters(&self, root: &ValueRoot) -> bool {
        self.known.live.matters(self.step, root)
    }

    /// The values to try for a variable that this step writes.
    fn stored(&self, variable: &Variable) -> CandidateSet<Json> {
        let root = ValueRoot::Variable(variable.name.clone());
        if self.matters(&root) {
            values(&variable.kind, &self.known.asked, &[root])
        } else {
            CandidateSet::all(vec![any(&variable.kind)])
        }
    }

    fn variable(&self) -> Option<&Variable> {
        self.step.store.as_ref().and_then(|(name, _)| self.workflow.variable(name))
    }

    fn reports(&self, agent: &AgentStep, ticket: &Ticket) -> CandidateSet<Vec<RunInput>> {
        let mut complete = true;
        let domains = agent.result.iter().map(|field| {
            let result = ValueRoot::Result(self.step.id.clone(), field.name.clone());
            let roots = [result, ValueRoot::Variable(field.name.clone())];
            let matters = roots.iter().any(|root| self.matters(root));
            let tried = if matters {
                values(&field.kind, &self.known.asked, &roots)
            } else {
                CandidateSet::all(vec![any(&field.kind)])
            };
            complete &= tried.complete;
            (field.name.to_string(), tried.all)
        });
        let results = combined(&domains.collect::<Vec<_>>());
        complete &= results.complete;
        // What an outcome follows from is the result, whatever is said beside it.
        let outcomes = if agent.outcome_from.is_empty() { &agent.outcomes[..] } else { &[StepOutcome::OK] };
        let said = self.review_items(&[]);
        let mut all = Vec::new();
        for outcome in outcomes {
            for result in &results.all {
                all.extend(said.iter().map(|items| {
                    let result = result.iter().chain(items).map(|(name, value)| (name.clone(), value.clone()));
                    report(ticket, outcome, Map::new(), result.collect())
                }));
            }
            if agent.outcome_from.is_empty() && *outcome != StepOutcome::OK {
                all.push(report(ticket, outcome, Map::new(), Map::new()));
            }
        }
        let first = results.all.first().cloned().unwrap_or_default();
        let first: Map<String, Json> = first.into_iter().chain(said[0].clone()).collect();
        for set in self.settable(agent) {
            all.extend(outcomes.iter().map(|outcome| report(ticket, outcome, set.clone(), first.clone())));
        }
        CandidateSet { all, complete }
    }

    /// The variables that an agent may set, and what it may set them to where that makes a difference.
    fn settable(&self, agent: &AgentStep) -> Vec<Map<String, Json>> {
        let owned = |name: &Name| self.workflow.owner(name).is_some();
        let reported = |name: &Name| agent.result.iter().any(|field| field.name == *name);
        let free = self.workflow.variables.iter().filter(|variable| {
            let root = ValueRoot::Variable(variable.name.clone());
            let asked = self.known.asked.of(&root).any(|(_, questions)| questions.any);
            asked && self.matters(&root) && !owned(&variable.name) && !reported(&variable.name)
        });
        let sets = free.flat_map(|variable| {
            let one = |value| Map::from_iter([(variable.name.to_string(), value)]);
            self.stored(variable).map(one).all
        });
        sets.collect()
    }

    /// What a report might say to a review about these items, or else about all that are open. Nothing to say is one
    /// empty answer.
    fn review_items(&self, given: &[&Json]) -> Vec<Map<String, Json>> {
        let Some(part) = self.step.work.review() else { return vec![Map::new()] };
        let items = |items: Json| Map::from_iter([("items".to_owned(), items)]);
        match part.part {
            ReviewStage::Decompose => {
                let item = json!({"check": "c", "severity": "MUST"});
                vec![items(json!(vec![item; self.worth_checking(&part.review)])), Map::new()]
            }
            ReviewStage::Verify => {
                let all = self.frame.reviews.get(&part.review).map_or(&[][..], Vec::as_slice);
                let open = all.iter().filter(|item| item.status == ReviewItemStatus::Todo).map(|item| json!(item.id));
                let ids: Vec<Json> =
                    if given.is_empty() { open.collect() } else { given.iter().map(|id| (*id).clone()).collect() };
                let judged = |status: &str| {
                    let judge = |id: &Json| json!({"id": id, "status": status, "evidence": "e", "finding": "f"});
                    items(ids.iter().map(judge).collect())
                };
                vec![judged("pass"), judged("fail"), Map::new()]
            }
            ReviewStage::Fix => vec![Map::new()],
        }
    }

    /// How many items a review needs so that more than one sub-agent looks at them.
    fn worth_checking(&self, review: &Name) -> usize {
        let groups = self.workflow.steps.iter().filter_map(|step| match &step.work {
            StepWork::Dispatch(dispatch) => match &dispatch.mode {
                DispatchMode::Template { items: ForEach::Open(name, _), group } if name == review => Some(group + 1),
                _ => None,
            },
            _ => None,
        });
        let most = self.workflow.reviews.get(review).map_or(1, |review| review.max_items);
        groups.max().unwrap_or(1).clamp(1, most.max(1))
    }

    /// A user who always says "continue" at a gate never comes to an end; saying it once shows where it leads.
    fn decisions(&self, asked: &AskedQuestion) -> Vec<Json> {
        let granted = self.frame.rounds.get(&self.step.id).is_some_and(|rounds| rounds.granted > 0);
        let options = asked.options.iter().flatten().filter(|option| !granted || *option != CONTINUE);
        options.map(|option| json!(option)).collect()
    }

    fn answers(&self, question: &QuestionStep, asked: &AskedQuestion) -> CandidateSet<Json> {
        let options = asked.options.as_ref().or(match &question.validate {
            Some(AnswerCheck::OneOf(values)) => Some(values),
            Some(AnswerCheck::Named(..)) | None => None,
        });
        let one: Vec<Json> = match (options, self.variable()) {
            (Some(options), _) => options.iter().map(|option| json!(option)).collect(),
            (None, Some(variable)) => return self.stored(variable),
            (None, None) => vec![json!("x")],
        };
        if !question.multiple {
            return CandidateSet::all(one);
        }
        let mut several: Vec<Json> = one.iter().map(|option| json!([option])).collect();
        several.extend([json!([]), json!(one)]);
        CandidateSet::all(several)
    }

    fn finishes(&self) -> CandidateSet<CommandExit> {
        let exited = |code, output: String| CommandExit::Exited { code, output };
        let mut all = vec![exited(1, String::new())];
        if self.step.timeout.is_some() {
            all.push(CommandExit::TimedOut);
        }
        let printed = match (&self.position.wait, &self.step.work, self.variable()) {
            (StepWait::Command { .. }, StepWork::Command { parse, .. }, Some(variable)) => {
                self.stored(variable).map(|value| match parse {
                    OutputParsing::Json => value.to_string(),
                    OutputParsing::Text => value_text(&value),
                    OutputParsing::Lines => lines(&value),
                })
            }
            (StepWait::Listing(_), _, Some(variable)) => {
                CandidateSet::all(vec![self.stored(variable).all.iter().map(lines).collect::<Vec<_>>().join("\n")])
            }
            _ => CandidateSet::all(vec!["x".to_owned()]),
        };
        all.extend(printed.all.into_iter().map(|output| exited(0, output)));
        CandidateSet { all, complete: printed.complete }
    }
}

fn child_run_inputs(ticket: &Ticket, outcome: &StepOutcome, result: Map<String, Json>) -> Vec<RunInput> {
    let (ticket, outcome, seen) = (ticket.clone(), outcome.clone(), FileState::default());
    vec![RunInput::ChildRunEnded { ticket, outcome, result, seen, now: 0 }]
}

fn report(ticket: &Ticket, outcome: &StepOutcome, set: Map<String, Json>, result: Map<String, Json>) -> Vec<RunInput> {
    let (ticket, outcome) = (ticket.clone(), Some(outcome.clone()));
    vec![RunInput::Report { ticket, outcome, set, result, seen: FileState::default(), now: 0 }]
}

/// A list as a command prints it.
fn lines(value: &Json) -> String {
    match value {
        Json::Array(items) => items.iter().map(value_text).collect::<Vec<_>>().join("\n"),
        one => value_text(one),
    }
}
