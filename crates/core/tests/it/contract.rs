//! The public forms of events and workflow definitions.
//!
//! The files in `contract/` are examples with every key that exists. Databases, clients and users' files hold the
//! same forms, so they must stay readable. Rust names may change beneath them.

use maestro_core::Event;
use maestro_core::agent::AgentEvent;
use maestro_core::workflow::{CalleeSignature, LoadEnvironment, WorkflowFinding, load_workflow};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads each line as an event and writes it again; it must be the same text.
fn assert_kept<T: DeserializeOwned + Serialize>(lines: &str) {
    for line in lines.lines() {
        let event: T = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(serde_json::to_string(&event).unwrap(), line);
    }
}

#[test]
fn events_of_the_log_keep_their_names_and_payloads() {
    assert_kept::<Event>(include_str!("contract/events.jsonl"));
}

#[test]
fn events_of_runs_keep_their_names_and_payloads() {
    assert_kept::<Event>(include_str!("contract/run_events.jsonl"));
}

#[test]
fn events_of_agents_keep_their_names_and_payloads() {
    assert_kept::<AgentEvent>(include_str!("contract/agent_events.jsonl"));
}

#[test]
fn a_workflow_with_every_key_is_understood() {
    let callee = |_: &str| Some(CalleeSignature { params: None, outputs: None, calls: Vec::new() });
    let surroundings =
        LoadEnvironment { file_exists: &|_| true, convention_exists: &|_| true, callee: &callee, tool: None };
    let (_, findings) = load_workflow(include_str!("contract/workflow.yaml"), &surroundings);
    let errors: Vec<&WorkflowFinding> = findings.iter().filter(|finding| finding.is_error()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}
