//! Simulation of a workflow. Every outcome is tried on the real engine, up to the bounds.
//!
//! Visits and rounds are bounded lower than the definition says: what happens at the third visit happened at the
//! second, and `exhausted` comes all the same.

mod candidate_values;
mod live_values;
mod responses;
mod simulation_facts;
#[cfg(test)]
mod tests;
mod value_flow;
mod value_tests;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use serde_json::Map;

use self::simulation_facts::SimulationFacts;
use super::definition::{DispatchMode, EndStatus, StepWork, Workflow, WorkflowStep};
use super::load::outcomes;
use super::name::{StepId, StepOutcome};
use super::run::{Run, RunDefinition, RunEvent, RunInput, RunStatus, decide, evolve};
use super::value_type::ValueLimits;

/// How far a simulation goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimulationBounds {
    /// How often a step is visited at most.
    pub visits: u32,
    /// How many rounds a gate has at most.
    pub rounds: u32,
    /// How many different states are looked at.
    pub states: usize,
}

impl Default for SimulationBounds {
    fn default() -> Self {
        Self { visits: 2, rounds: 2, states: 200_000 }
    }
}

/// What a simulation found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Simulation {
    /// The steps that no walk reached.
    pub never_reached: Vec<StepId>,
    /// The ways out that no walk took.
    pub never_taken: Vec<(StepId, StepOutcome)>,
    /// The ends that were reached.
    pub ends: BTreeSet<SimulatedEnd>,
    /// The ends in success of walks in which some check had failed when it was last executed. The engine allows none.
    pub red_successes: BTreeSet<SimulatedEnd>,
    /// How many different states there were.
    pub states: usize,
    /// Whether all of them were looked at.
    pub complete: bool,
}

/// How and where a run ended.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SimulatedEnd {
    /// How.
    pub status: EndWord,
    /// At which step.
    pub step: StepId,
    /// With which outcome.
    pub outcome: StepOutcome,
}

/// The word for how a run ended, so that ends can be put in order.
pub type EndWord = &'static str;

/// Walks through every outcome.
pub fn simulate(definition: &RunDefinition, bounds: SimulationBounds) -> Simulation {
    let definition = limit_definition(definition, bounds);
    let known = SimulationFacts::of(&definition);
    explore(&definition, &known, bounds, &|walk| known.key(&walk.run, &walk.red))
}

/// Takes so many walks at random, the same ones each time: for a workflow with more states than can be looked at. Every
/// outcome is tried at each state on the way, and one of those that do not end the run is followed.
pub fn sample(definition: &RunDefinition, bounds: SimulationBounds, walks: usize) -> Simulation {
    let definition = limit_definition(definition, bounds);
    let known = SimulationFacts::of(&definition);
    // No two walks go on as one.
    let count = Cell::new(0_u64);
    let key = |_: &SimulatedRun| count.replace(count.get() + 1).to_string();
    let mut walker = Simulator::new(&definition, &key);
    let mut chance = WalkChance(FIRST_CHANCE);
    let main = known.workflow(&definition.main.name);
    let starts = main.map(|main| responses::params(&definition.main, main).all).unwrap_or_default();
    for _ in 0..walks {
        let Some(params) = chance.pick(&starts).cloned() else { break };
        let start = RunInput::Start { params, context: Map::new(), seed: 0, now: 0 };
        walker.give(&SimulatedRun::default(), vec![start]);
        while let Some(walk) = chance.pick(walker.open.make_contiguous()).cloned() {
            walker.open.clear();
            for inputs in responses::responses_to(&definition, &known, &walk.run).all {
                walker.give(&walk, inputs);
            }
        }
    }
    walker.found(false)
}

/// Where the chance of a sample begins.
const FIRST_CHANCE: u64 = 0x9E37_79B9_7F4A_7C15;

/// A sequence of numbers that look random (xorshift).
struct WalkChance(u64);

impl WalkChance {
    fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let many = u64::try_from(from.len()).ok().filter(|many| *many > 0)?;
        from.get(usize::try_from(self.0 % many).ok()?)
    }
}

/// Walks through every outcome; walks with the same key go on as one.
fn explore(
    definition: &RunDefinition,
    known: &SimulationFacts<'_>,
    bounds: SimulationBounds,
    key: &dyn Fn(&SimulatedRun) -> String,
) -> Simulation {
    let mut walker = Simulator::new(definition, key);
    let mut complete = true;
    if let Some(main) = known.workflow(&definition.main.name) {
        let params = responses::params(&definition.main, main);
        complete &= params.complete;
        for params in params.all {
            let start = RunInput::Start { params, context: Map::new(), seed: 0, now: 0 };
            walker.give(&SimulatedRun::default(), vec![start]);
        }
    }
    while let Some(walk) = walker.open.pop_front() {
        if walker.seen.len() > bounds.states {
            complete = false;
            break;
        }
        let tried = responses::responses_to(definition, known, &walk.run);
        complete &= tried.complete;
        for inputs in tried.all {
            walker.give(&walk, inputs);
        }
    }
    walker.found(complete)
}

/// The definition with lower limits.
fn limit_definition(definition: &RunDefinition, bounds: SimulationBounds) -> RunDefinition {
    let lower = |mut workflow: Workflow| {
        // What a value must keep to refuses values, and decides about no way.
        for variable in workflow.params.iter_mut().chain(&mut workflow.variables) {
            variable.limits = ValueLimits::remove(&mut variable.kind);
        }
        for step in &mut workflow.steps {
            if let StepWork::Agent(agent) = &mut step.work {
                for field in &mut agent.result {
                    field.limits = ValueLimits::remove(&mut field.kind);
                }
            }
            if let StepWork::Dispatch(dispatch) = &mut step.work {
                dispatch.result.clear();
                if let DispatchMode::Roster(entries) = &mut dispatch.mode {
                    for entry in entries {
                        entry.result.clear();
                    }
                }
            }
            step.max_visits = step.max_visits.map(|most| most.min(bounds.visits));
            step.call_in_turn();
            // Further attempts come to the same ends.
            step.retry = None;
            match &mut step.work {
                StepWork::Gate(gate) => gate.max_rounds = gate.max_rounds.min(bounds.rounds),
                StepWork::Command { retry, .. } => retry.max = retry.max.min(1),
                _ => {}
            }
        }
        workflow
    };
    let callees = definition.callees.iter().map(|(name, callee)| (name.clone(), lower(callee.clone()))).collect();
    RunDefinition { main: lower(definition.main.clone()), callees }
}

/// A run, and what was seen of it beside what it says itself.
#[derive(Clone, Default)]
struct SimulatedRun {
    run: Run,
    /// The checks that failed when they were last executed.
    red: BTreeSet<String>,
}

struct Simulator<'d> {
    definition: &'d RunDefinition,
    key: &'d dyn Fn(&SimulatedRun) -> String,
    seen: HashSet<String>,
    open: VecDeque<SimulatedRun>,
    ends: BTreeSet<SimulatedEnd>,
    red_successes: BTreeSet<SimulatedEnd>,
    /// The outcomes with which each step of the main workflow was left.
    taken: BTreeMap<StepId, BTreeSet<StepOutcome>>,
}

impl<'d> Simulator<'d> {
    fn new(definition: &'d RunDefinition, key: &'d dyn Fn(&SimulatedRun) -> String) -> Self {
        Self {
            definition,
            key,
            seen: HashSet::new(),
            open: VecDeque::new(),
            ends: BTreeSet::new(),
            red_successes: BTreeSet::new(),
            taken: BTreeMap::new(),
        }
    }

    /// Gives inputs one after the other; a refused one leads nowhere.
    fn give(&mut self, walk: &SimulatedRun, inputs: Vec<RunInput>) {
        let mut walk = walk.clone();
        let mut left = None;
        for input in inputs {
            let Ok(events) = decide(self.definition, &walk.run, input) else { return };
            for event in events {
                if let RunEvent::Left { step, outcome, .. } = &event {
                    if walk.run.frames.len() == 1 {
                        self.taken.entry(step.clone()).or_default().insert(outcome.clone());
                    }
                    left = Some((step.clone(), outcome.clone()));
                }
                walk.execute(self.definition, &event);
                walk.run = evolve(walk.run, &event);
            }
        }
        match (&walk.run.status, left) {
            (RunStatus::Ended(ending), Some((step, outcome))) => {
                let end = SimulatedEnd { status: ending.status.as_str(), step, outcome };
                if ending.status == EndStatus::Success && !walk.red.is_empty() {
                    self.red_successes.insert(end.clone());
                }
                self.ends.insert(end);
            }
            (RunStatus::Ended(_) | RunStatus::Cancelled, _) => {}
            _ => {
                walk.run = plain(self.definition, walk.run);
                if self.seen.insert((self.key)(&walk)) {
                    self.open.push_back(walk);
                }
            }
        }
    }

    fn found(self, complete: bool) -> Simulation {
        let main = &self.definition.main;
        let never_reached = main.steps.iter().filter(|step| !self.taken.contains_key(&step.id));
        let mut never_taken = Vec::new();
        for step in &main.steps {
            let Some(taken) = self.taken.get(&step.id) else { continue };
            let missing = ways(step).into_iter().filter(|outcome| !taken.contains(outcome));
            never_taken.extend(missing.map(|outcome| (step.id.clone(), outcome)));
        }
        Simulation {
            never_reached: never_reached.map(|step| step.id.clone()).collect(),
            never_taken,
            ends: self.ends,
            red_successes: self.red_successes,
            states: self.seen.len(),
            complete,
        }
    }
}

impl SimulatedRun {
    /// Notes whether an executed check failed. It looks at what was executed, not at what the engine made of it.
    fn execute(&mut self, definition: &RunDefinition, event: &RunEvent) {
        let (RunEvent::Executed { step, outcome, .. }, Some(frame)) = (event, self.run.frame()) else { return };
        let steps = definition.workflow(&frame.workflow).map_or(&[][..], |workflow| &workflow.steps);
        let checks = |other: &WorkflowStep| matches!(&other.work, StepWork::Gate(gate) if gate.checks.iter().any(|check| check.step == *step));
        let check = format!("{}:{step}", frame.workflow);
        if *outcome == StepOutcome::OK {
            self.red.remove(&check);
        } else if steps.iter().any(checks) {
            self.red.insert(check);
        }
    }
}

/// The ways out of a step that it can take.
fn ways(step: &WorkflowStep) -> Vec<StepOutcome> {
    let mut possible = outcomes(step);
    if let StepWork::Dispatch(dispatch) = &step.work {
        let alone = match &dispatch.mode {
            DispatchMode::Single => true,
            DispatchMode::Roster(entries) => entries.len() < 2,
            DispatchMode::Template { .. } => false,
        };
        // One sub-agent alone never does a part of the work.
        possible.retain(|outcome| !(alone && *outcome == StepOutcome::PARTIAL));
    }
    let ways = step.routes().into_iter().map(|(word, _)| StepOutcome::new(word));
    ways.filter(|way| possible.contains(way) || !step.next.contains_key(way)).collect()
}

/// A run without what does not matter for where it can go.
fn plain(definition: &RunDefinition, mut run: Run) -> Run {
    run.serial = 0;
    run.reports_seen.clear();
    run.accepted_risks.clear();
    for frame in &mut run.frames {
        let workflow = definition.workflow(&frame.workflow);
        let counted = |id: &StepId| workflow.and_then(|workflow| workflow.step(id)?.max_visits).is_some();
        frame.visits.retain(|step, _| counted(step));
        frame.transitions = 0;
        if let Some(position) = &mut frame.position {
            position.entered = 0;
            position.serial = None;
        }
    }
    run
}

impl Simulation {
    /// Whether some walk ended so.
    pub fn reaches(&self, status: EndStatus) -> bool {
        self.ends.iter().any(|end| end.status == status.as_str())
    }
}
