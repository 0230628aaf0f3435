//! How long do 10,000 transitions of a workflow of 25 steps take? Prints milliseconds; `bench/workflows.py` reads them.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement may fail by panicking, and prints")]

use std::fmt::Write as _;
use std::time::Instant;

use maestro_core::workflow::run::FileState;
use maestro_core::workflow::{
    LoadEnvironment, Run, RunDefinition, RunInput, StepOutcome, decide, evolve, load_workflow,
};
use serde_json::Map;

fn main() {
    let mut text = "name: w\nlimits: {max_transitions: 10000}\nsteps:\n".to_owned();
    for index in 0..25 {
        let next = (index + 1) % 25;
        let ways = format!("{{ok: s{next}, fail: end, exhausted: end}}");
        writeln!(text, "- {{id: s{index}, type: agent, max_visits: 10000, next: {ways}}}").unwrap();
    }
    let definition = RunDefinition::alone(load_workflow(&text, &LoadEnvironment::none()).0.unwrap());
    let began = Instant::now();
    let mut run = Run::default();
    let mut transitions = 0;
    let mut input = RunInput::Start { params: Map::new(), context: Map::new(), seed: 1, now: 0 };
    loop {
        run = decide(&definition, &run, input).unwrap().iter().fold(run, evolve);
        let Some(ticket) = run.ticket().filter(|_| !run.is_over()) else { break };
        transitions += 1;
        let (set, result, seen) = (Map::new(), Map::new(), FileState::default());
        input = RunInput::Report { ticket, outcome: Some(StepOutcome::OK), set, result, seen, now: 0 };
    }
    assert_eq!(transitions, 10_000);
    println!("{}", began.elapsed().as_millis());
}
