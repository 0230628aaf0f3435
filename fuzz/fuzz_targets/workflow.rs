//! Whatever a definition says, loading it ends with a workflow or with findings, and a sound one can be walked through.
#![no_main]

use libfuzzer_sys::fuzz_target;
use maestro_core::workflow::simulate::{SimulationBounds, simulate};
use maestro_core::workflow::{LoadEnvironment, RunDefinition, load_workflow};

fuzz_target!(|text: &str| {
    let (workflow, findings) = load_workflow(text, &LoadEnvironment::none());
    assert_eq!(workflow.is_none(), findings.iter().any(|finding| finding.is_error()));
    if let Some(workflow) = workflow {
        simulate(&RunDefinition::alone(workflow), SimulationBounds { visits: 2, rounds: 2, states: 50 });
    }
});
