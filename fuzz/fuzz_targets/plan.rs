//! Whatever a plan says, reading it ends, and the task that is picked is an open one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use maestro_core::plan::{parse_plan, select_task};

fuzz_target!(|text: &str| {
    let plan = parse_plan(text);
    if let Some(task) = select_task(&plan) {
        let picked = plan.tasks.iter().find(|other| other.line_number == task.line_number && other.label == task.label);
        assert!(picked.is_some_and(|picked| picked.is_pending()));
    }
});
