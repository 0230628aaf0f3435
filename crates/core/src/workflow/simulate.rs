//! Where can a workflow lead? Every outcome is tried on the real engine, up to the bounds.
//!
//! Visits and rounds are bounded lower than the definition says: what happens at the third visit happened at the
//! second, and `exhausted` comes all the same.

mod responses;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value as Json};

use super::definition::{EndStatus, Work, Workflow};
use super::name::{Outcome, StepId};
use super::run::{Definition, Input, Run, RunEvent, Status, decide, evolve};

/// How far a simulation goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// How often a step is visited at most.
    pub visits: u32,
    /// How many rounds a gate has at most.
    pub rounds: u32,
    /// How many different states are looked at.
    pub states: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { visits: 2, rounds: 2, states: 4000 }
    }
}

/// What a simulation found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Simulation {
    /// The steps that no walk reached.
    pub never_reached: Vec<StepId>,
    /// The ways out that no walk took.
    pub never_taken: Vec<(StepId, Outcome)>,
    /// The ends that were reached.
    pub ends: BTreeSet<End>,
    /// How many different states there were.
    pub states: usize,
    /// Whether all of them were looked at.
    pub complete: bool,
}

/// How and where a run ended.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// How.
    pub status: Word,
    /// At which step.
    pub step: StepId,
    /// With which outcome.
    pub outcome: Outcome,
}

/// The word for how a run ended, so that ends can be put in order.
pub type Word = &'static str;

/// Walks through every outcome.
pub fn simulate(definition: &Definition, bounds: Bounds) -> Simulation {
    let definition = bounded(definition, bounds);
    let mut walker = Walker {
        definition: &definition,
        seen: BTreeSet::new(),
        open: VecDeque::new(),
        ends: BTreeSet::new(),
        taken: BTreeMap::new(),
    };
    for params in responses::params(&definition.main) {
        let start = Input::Start { params, context: Map::new(), seed: 0, now: 0 };
        walker.give(&Run::default(), start);
    }
    let mut complete = true;
    while let Some(run) = walker.open.pop_front() {
        if walker.seen.len() > bounds.states {
            complete = false;
            break;
        }
        for inputs in responses::to(&definition, &run) {
            walker.give_all(&run, inputs);
        }
    }
    walker.found(complete)
}

/// The definition with lower limits.
fn bounded(definition: &Definition, bounds: Bounds) -> Definition {
    let lower = |mut workflow: Workflow| {
        for step in &mut workflow.steps {
            step.max_visits = step.max_visits.map(|most| most.min(bounds.visits));
            if let Work::Gate(gate) = &mut step.work {
                gate.max_rounds = gate.max_rounds.min(bounds.rounds);
            }
        }
        workflow
    };
    let callees = definition.callees.iter().map(|(name, callee)| (name.clone(), lower(callee.clone()))).collect();
    Definition { main: lower(definition.main.clone()), callees }
}

struct Walker<'d> {
    definition: &'d Definition,
    seen: BTreeSet<String>,
    open: VecDeque<Run>,
    ends: BTreeSet<End>,
    /// The outcomes with which each step of the main workflow was left.
    taken: BTreeMap<StepId, BTreeSet<Outcome>>,
}

impl Walker<'_> {
    fn give(&mut self, run: &Run, input: Input) {
        self.give_all(run, vec![input]);
    }

    /// Gives inputs one after the other; a refused one leads nowhere.
    fn give_all(&mut self, run: &Run, inputs: Vec<Input>) {
        let mut run = run.clone();
        let mut left = None;
        for input in inputs {
            let Ok(events) = decide(self.definition, &run, input) else { return };
            for event in events {
                if let RunEvent::Left { step, outcome } = &event {
                    if run.frames.len() == 1 {
                        self.taken.entry(step.clone()).or_default().insert(outcome.clone());
                    }
                    left = Some((step.clone(), outcome.clone()));
                }
                run = evolve(run, &event);
            }
        }
        match (&run.status, left) {
            (Status::Ended(ending), Some((step, outcome))) => {
                self.ends.insert(End { status: ending.status.word(), step, outcome });
            }
            (Status::Ended(_) | Status::Cancelled, _) => {}
            _ => {
                let run = plain(self.definition, run);
                if self.seen.insert(serde_json::to_string(&run).unwrap_or_default()) {
                    self.open.push_back(run);
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
            let missing = step.next.keys().filter(|outcome| !taken.contains(*outcome));
            never_taken.extend(missing.map(|outcome| (step.id.clone(), outcome.clone())));
        }
        Simulation {
            never_reached: never_reached.map(|step| step.id.clone()).collect(),
            never_taken,
            ends: self.ends,
            states: self.seen.len(),
            complete,
        }
    }
}

/// A run without what does not matter for where it can go.
fn plain(definition: &Definition, mut run: Run) -> Run {
    run.serial = 0;
    run.heard.clear();
    run.accepted_risks.clear();
    for frame in &mut run.frames {
        let workflow = definition.workflow(&frame.workflow);
        let counted = |id: &StepId| workflow.and_then(|workflow| workflow.step(id)?.max_visits).is_some();
        frame.visits.retain(|step, _| counted(step));
        frame.transitions = 0;
        if let Some(position) = &mut frame.position {
            position.entered = 0;
            position.visit = 1;
        }
        for value in frame.results.values_mut().flat_map(Map::values_mut).chain(frame.variables.values_mut()) {
            // A list that grows with every visit would make every visit another state.
            if let Json::Array(items) = value {
                items.truncate(1);
            }
        }
    }
    run
}

impl Simulation {
    /// Whether some walk ended so.
    pub fn reaches(&self, status: EndStatus) -> bool {
        self.ends.iter().any(|end| end.status == status.word())
    }
}
