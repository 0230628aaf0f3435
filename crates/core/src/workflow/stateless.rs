//! Stateless form of a step, as in seed 4: a printer that keeps nothing and checks nothing.
//!
//! What comes next is computed from the definition and put into the next command, so the command line is all the state
//! there is. Texts stand as they are written, because there is no run that has their values.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::definition::{
    AssignedValue, CommandAction, EndStatus, Gate, PlacedValue, QuestionOptions, QuestionStep, ReviewStage,
    RouteTarget, StepWork, Workflow, WorkflowStep,
};
use super::directive::{Directive, QuestionInfo, RoundMode, StepRound, StepText};
use super::load::outcomes;
use super::name::StepOutcome;
use super::render;
use super::template::Template;
use super::tool::CodingTool;

/// Which step is printed, and what is said about the review it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatelessRequest {
    /// The step's number in the order of the file, from 1.
    pub step: usize,
    /// How many steps there are, as the caller believes.
    pub total: Option<usize>,
    /// Which round of its review this is; the first, if that is not said.
    pub iteration: Option<u32>,
    /// Whether the step is done again because its gate failed.
    pub again: bool,
    /// How the gate judged.
    pub verdict: Option<DeclaredVerdict>,
}

/// How a gate judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeclaredVerdict {
    /// It let the work through.
    Pass,
    /// It did not.
    Fail,
}

/// Why a step is not printed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StatelessError {
    /// There is no step of this number.
    #[error("there is no step {step}: the steps are 1 to {total}")]
    NoStep {
        /// The number.
        step: usize,
        /// How many steps there are.
        total: usize,
    },
    /// There are not so many rounds.
    #[error("there is no iteration {iteration}: the gate allows 1 to {limit}")]
    NoIteration {
        /// The round.
        iteration: u32,
        /// How many there are.
        limit: u32,
    },
    /// Something was said about how a gate judged, and the step is none.
    #[error("step {step} is no gate{}", other_gates(gates))]
    NoGate {
        /// The step.
        step: usize,
        /// The numbers of the gates.
        gates: Vec<usize>,
    },
}

fn other_gates(gates: &[usize]) -> String {
    let numbers: Vec<String> = gates.iter().map(usize::to_string).collect();
    if gates.is_empty() {
        ", and this workflow has none".to_owned()
    } else {
        format!("; the gates are {}", numbers.join(", "))
    }
}

/// The page of a step as XML. `name` is the workflow's name in the caller's command.
pub fn page(
    workflow: &Workflow,
    name: &str,
    request: &StatelessRequest,
    tool: &CodingTool,
) -> Result<String, StatelessError> {
    Ok(render::unverified(&sheet(workflow, name, request)?, tool))
}

/// Everything that stands on the page of a step.
pub(super) struct StatelessPage<'w> {
    pub(super) workflow: &'w Workflow,
    pub(super) step: &'w WorkflowStep,
    /// What to do, with texts as they are written.
    pub(super) directive: Directive,
    /// How the gate judged, if the step is one and that was said.
    pub(super) verdict: Option<DeclaredVerdict>,
    /// Notes for the caller.
    pub(super) notes: Vec<String>,
    /// Every way on.
    pub(super) ways: Vec<NextRoute>,
    /// The command that begins a checked run.
    pub(super) checked: Vec<String>,
}

/// One way on from a step.
pub(super) struct NextRoute {
    /// When it is taken.
    pub(super) when: RouteCondition,
    /// Whether it has no route of its own and goes where `ok` goes.
    pub(super) as_ok: bool,
    /// Where it leads.
    pub(super) to: RouteDestination,
}

/// When a way is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RouteCondition {
    /// With this outcome.
    Outcome(String),
    /// When this holds, or nothing before it does.
    Holds(String),
    /// When the user says so.
    Answer(&'static str),
}

/// Where a way leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RouteDestination {
    /// To the step that this command prints.
    Command(Vec<String>),
    /// Nowhere: it ends so.
    End(EndStatus),
}

impl NextRoute {
    fn new(when: RouteCondition, to: RouteDestination) -> Self {
        Self { when, as_ok: false, to }
    }
}

impl StatelessPage<'_> {
    /// The only way on, if there is no choice.
    pub(super) fn only_way(&self) -> Option<&NextRoute> {
        match self.ways.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }
}

fn sheet<'w>(
    workflow: &'w Workflow,
    name: &str,
    request: &StatelessRequest,
) -> Result<StatelessPage<'w>, StatelessError> {
    let total = workflow.steps.len();
    let index = request.step.checked_sub(1).filter(|index| *index < total);
    let Some(index) = index else { return Err(StatelessError::NoStep { step: request.step, total }) };
    let step = &workflow.steps[index];
    let gate = gate_of(workflow, step);
    let iteration = request.iteration.unwrap_or(1);
    if let Some(limit) = gate.map(|gate| gate.max_rounds).filter(|limit| !(1..=*limit).contains(&iteration)) {
        return Err(StatelessError::NoIteration { iteration, limit });
    }
    if request.verdict.is_some() && !matches!(step.work, StepWork::Gate(_)) {
        let gates = workflow.steps.iter().filter(|step| matches!(step.work, StepWork::Gate(_)));
        let gates = gates.filter_map(|step| workflow.number(&step.id)).collect();
        return Err(StatelessError::NoGate { step: request.step, gates });
    }
    let mut notes = Vec::new();
    if let Some(told) = request.total.filter(|told| *told != total) {
        notes.push(format!("This workflow has {total} steps, not {told}."));
    }
    if iteration > 1 && step.work.review().is_some_and(|part| part.part == ReviewStage::Decompose) {
        notes.push("What is to be checked was said in the first iteration: keep those items, and go on.".to_owned());
    }
    let routes = RouteBuilder { workflow, name, step, iteration };
    let ways = routes.ways(request.verdict, gate.map(|gate| gate.max_rounds));
    let directive = directive(workflow, step, round(step, gate, iteration, request), request.verdict, &ways);
    let checked = start_command(workflow, name);
    Ok(StatelessPage { workflow, step, directive, verdict: request.verdict, notes, ways, checked })
}

/// What a step asks for. It has no report, since no run waits for one.
fn directive(
    workflow: &Workflow,
    step: &WorkflowStep,
    round: StepRound,
    verdict: Option<DeclaredVerdict>,
    ways: &[NextRoute],
) -> Directive {
    let written = |text: &PlacedValue<Template>| text.text.clone();
    let value = |text: &PlacedValue<Template>| Json::String(text.text.clone());
    let text = StepText { workflow, step, text: &written, authored: &|_| Vec::new(), value: &value };
    let mut directive = text.directive(round);
    let say = |text: &str| vec![text.to_owned()];
    match &step.work {
        StepWork::Agent(agent) => text.instruct(&mut directive, agent),
        StepWork::Dispatch(_) => directive.result = text.result(&[]),
        StepWork::Question(question) => directive.question = Some(written_question(question)),
        StepWork::Command { action: CommandAction::BuiltinCommand { .. }, .. } => {
            directive.actions = say("Only a checked run can do this by itself. Do by hand what it is about.");
        }
        StepWork::Command { .. } => {
            directive.actions = say("Run this command. The outcome is ok if it ends with 0, else fail.");
        }
        StepWork::Conditional { .. } => {
            directive.actions = say("Decide by what you know: of the cases below, the first that holds counts.");
        }
        StepWork::Set(values) => {
            directive.actions = say("Keep these values.");
            let data = values.iter().map(|(name, _, value)| (name.to_string(), Json::String(assigned(value))));
            directive.data = data.collect();
        }
        StepWork::Gate(gate) => match (exhausted_question(step, directive.round.number, ways), verdict) {
            (None, None) => directive.actions = vec![gate_condition(gate)],
            (None, Some(_)) => directive.actions = say("The gate has judged. Do nothing but what NEXT says."),
            (question, _) => directive.question = question,
        },
        StepWork::Call(_) => {
            directive.actions = say("Walk through this workflow; its end is the outcome: ok, fail or blocked.");
        }
        StepWork::Output { .. } | StepWork::End { .. } => {}
    }
    if let Some(when) = &step.when {
        directive.actions.insert(0, format!("Do this only if {}; else the outcome is skip.", when.text));
    }
    directive
}

fn written_question(question: &QuestionStep) -> QuestionInfo {
    let options = match &question.options {
        QuestionOptions::Listed(options) => Some(options.clone()),
        QuestionOptions::Free => None,
        QuestionOptions::Command(action) => {
            Some(vec![format!("what `{}` prints, line by line", action.command_line())])
        }
        QuestionOptions::Variable(list, _) => Some(vec![format!("the items of {list}")]),
    };
    let default = question.default.as_ref().map(|text| text.text.clone());
    let prompt = question.prompt.text.clone();
    QuestionInfo {
        prompt,
        options,
        titles: question.titles.clone(),
        default,
        multiple: question.multiple,
        refused: None,
    }
}

/// What the user is asked once a gate has failed for the last time: then each way on is an answer.
fn exhausted_question(step: &WorkflowStep, round: u32, ways: &[NextRoute]) -> Option<QuestionInfo> {
    let answers = ways.iter().filter_map(|way| match way.when {
        RouteCondition::Answer(answer) => Some(answer.to_owned()),
        _ => None,
    });
    let options: Vec<String> = answers.collect();
    let prompt = format!("{} has failed {round} times. What now?", step.title);
    let is_over = !options.is_empty();
    let titles = BTreeMap::new();
    is_over.then_some(QuestionInfo {
        prompt,
        options: Some(options),
        titles,
        default: None,
        multiple: false,
        refused: None,
    })
}

fn gate_condition(gate: &Gate) -> String {
    let review = gate.review.as_ref().map(|(name, _)| format!("every blocking item of the review {name} passed"));
    let checks = gate.checks.iter().map(|check| format!("{} ended with ok", check.step));
    let all: Vec<String> = review.into_iter().chain(checks).collect();
    format!("The gate passes if {}; else it fails.", all.join(" and "))
}

/// A value as it is written.
pub(super) fn assigned(value: &AssignedValue) -> String {
    match value {
        AssignedValue::Literal(value) => value.to_string(),
        AssignedValue::Text(text) => text.text.clone(),
    }
}

/// The gate that a step works for: itself, that of its review, or the most patient one of the workflow.
fn gate_of<'w>(workflow: &'w Workflow, step: &'w WorkflowStep) -> Option<&'w Gate> {
    if let StepWork::Gate(gate) = &step.work {
        return Some(gate);
    }
    let gates = || {
        workflow.steps.iter().filter_map(|step| match &step.work {
            StepWork::Gate(gate) => Some(gate),
            _ => None,
        })
    };
    let review = step.work.review().map(|part| &part.review);
    let own =
        review.and_then(|review| gates().find(|gate| gate.review.as_ref().is_some_and(|(name, _)| name == review)));
    own.or_else(|| gates().max_by_key(|gate| gate.max_rounds))
}

fn round(step: &WorkflowStep, gate: Option<&Gate>, iteration: u32, request: &StatelessRequest) -> StepRound {
    let part = step.work.review();
    let review = match &step.work {
        StepWork::Gate(gate) => gate.review.as_ref().map(|(name, _)| name.clone()),
        // The first time there is nothing to fix yet.
        _ => part
            .filter(|part| part.part != ReviewStage::Fix || request.again || iteration > 1)
            .map(|part| part.review.clone()),
    };
    let mode = match part.map(|part| part.part) {
        _ if iteration == 1 && !request.again => RoundMode::Initial,
        Some(ReviewStage::Fix) => RoundMode::ReVerify,
        _ if request.again => RoundMode::ReVerify,
        _ => RoundMode::FreshReview,
    };
    StepRound { number: iteration, limit: gate.map(|gate| gate.max_rounds), mode, review }
}

/// The command of a checked run, with a place for every parameter that it needs.
fn start_command(workflow: &Workflow, name: &str) -> Vec<String> {
    let needed = workflow.params.iter().filter(|param| param.required && param.default.is_none());
    let params = needed.flat_map(|param| ["--param".to_owned(), format!("{}=VALUE", param.name)]);
    ["maestro", "workflow", "start", name].map(str::to_owned).into_iter().chain(params).collect()
}

struct RouteBuilder<'r> {
    workflow: &'r Workflow,
    name: &'r str,
    step: &'r WorkflowStep,
    iteration: u32,
}

impl RouteBuilder<'_> {
    fn ways(&self, verdict: Option<DeclaredVerdict>, limit: Option<u32>) -> Vec<NextRoute> {
        match &self.step.work {
            StepWork::End { .. } => Vec::new(),
            StepWork::Conditional { cases, otherwise } => {
                let cases = cases.iter().map(|case| (case.when.text.clone(), &case.next));
                let cases = cases.chain(otherwise.iter().map(|route| ("else".to_owned(), route)));
                let held =
                    cases.map(|(when, route)| NextRoute::new(RouteCondition::Holds(when), self.on(&route.target)));
                held.chain(outcomes(self.step).iter().map(|outcome| self.after(outcome))).collect()
            }
            StepWork::Gate(gate) => self.judged(gate, verdict, limit),
            _ => outcomes(self.step).iter().map(|outcome| self.after(outcome)).collect(),
        }
    }

    /// The ways on from a gate. One that failed for the last time leaves it to the user.
    fn judged(&self, gate: &Gate, verdict: Option<DeclaredVerdict>, limit: Option<u32>) -> Vec<NextRoute> {
        let last = limit.is_some_and(|limit| self.iteration >= limit);
        let pass = || self.routed(&StepOutcome::PASS, 1, None);
        let fail = || self.routed(&StepOutcome::FAIL, self.iteration + 1, Some("--qr-fail"));
        let used_up = || self.routed(&StepOutcome::EXHAUSTED, 1, None);
        let way = |outcome: StepOutcome, to: RouteDestination| {
            NextRoute::new(RouteCondition::Outcome(outcome.to_string()), to)
        };
        let skip = || self.step.when.as_ref().map(|_| self.after(&StepOutcome::SKIP));
        match verdict {
            Some(DeclaredVerdict::Pass) => vec![way(StepOutcome::PASS, pass())],
            Some(DeclaredVerdict::Fail) if !last => vec![way(StepOutcome::FAIL, fail())],
            Some(DeclaredVerdict::Fail) => {
                // What was executed is never let pass, only what people judged.
                let risk = match (&gate.review, gate.checks.as_slice()) {
                    (None, _) => None,
                    (Some(_), []) => Some("accept the risk"),
                    (Some(_), _) => Some("accept the risk, if every check is ok"),
                };
                let accepted = risk.map(|risk| NextRoute::new(RouteCondition::Answer(risk), pass()));
                accepted.into_iter().chain([NextRoute::new(RouteCondition::Answer("abort"), used_up())]).collect()
            }
            None if last => {
                let judged =
                    self.command(self.workflow.number(&self.step.id).unwrap_or_default(), self.iteration, None);
                let judged = judged.into_iter().chain(["--qr-status".to_owned(), "fail".to_owned()]).collect();
                let ways = [way(StepOutcome::PASS, pass()), way(StepOutcome::FAIL, RouteDestination::Command(judged))];
                ways.into_iter().chain(skip()).collect()
            }
            None => {
                [way(StepOutcome::PASS, pass()), way(StepOutcome::FAIL, fail())].into_iter().chain(skip()).collect()
            }
        }
    }

    /// Where an outcome leads, as in a run. An outcome without a route ends it, unless the step is optional or the outcome is
    /// an answer: an option without a way of its own is just `ok`.
    fn after(&self, outcome: &StepOutcome) -> NextRoute {
        let own = self.step.route(outcome);
        let good = self.step.route(&StepOutcome::OK).filter(|_| self.step.optional || self.is_option(outcome));
        let to = own.or(good).map_or(RouteDestination::End(EndStatus::Failure), |target| self.on(target));
        NextRoute { when: RouteCondition::Outcome(outcome.to_string()), as_ok: own.is_none() && good.is_some(), to }
    }

    fn is_option(&self, outcome: &StepOutcome) -> bool {
        let StepWork::Question(question) = &self.step.work else { return false };
        matches!(&question.options, QuestionOptions::Listed(options) if options.iter().any(|option| option == outcome.as_str()))
    }

    /// The round of a review goes on until its gate lets it through.
    fn on(&self, target: &RouteTarget) -> RouteDestination {
        self.to(target, self.iteration, None)
    }

    fn routed(&self, outcome: &StepOutcome, iteration: u32, flag: Option<&str>) -> RouteDestination {
        let target = self.step.route(outcome);
        target.map_or(RouteDestination::End(EndStatus::Failure), |target| self.to(target, iteration, flag))
    }

    fn to(&self, target: &RouteTarget, iteration: u32, flag: Option<&str>) -> RouteDestination {
        match target {
            RouteTarget::End => RouteDestination::End(EndStatus::Success),
            RouteTarget::Step(id) => {
                let number = self.workflow.number(id).unwrap_or_default();
                RouteDestination::Command(self.command(number, iteration, flag))
            }
        }
    }

    fn command(&self, step: usize, iteration: u32, flag: Option<&str>) -> Vec<String> {
        let (step, total) = (step.to_string(), self.workflow.steps.len().to_string());
        let words = ["maestro", "workflow", "step", self.name, "--step", &step, "--total-steps", &total];
        let mut argv = words.map(str::to_owned).to_vec();
        argv.extend(flag.map(str::to_owned));
        if iteration > 1 {
            argv.extend(["--qr-iteration".to_owned(), iteration.to_string()]);
        }
        argv
    }
}
