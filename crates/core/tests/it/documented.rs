//! Examples in the documentation of workflows: each loads.

use maestro_core::workflow::{LoadEnvironment, WorkflowFinding, load_workflow};

#[test]
fn every_definition_in_the_documentation_loads() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/workflows.md");
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let definitions: Vec<&str> =
        blocks.filter(|block| block.contains("steps:") && block.starts_with("name:")).collect();
    assert!(!definitions.is_empty());
    for definition in definitions {
        let (workflow, findings) = load_workflow(definition, &LoadEnvironment::none());
        let errors: Vec<&WorkflowFinding> = findings.iter().filter(|finding| finding.is_error()).collect();
        assert!(workflow.is_some(), "{errors:#?}\n{definition}");
    }
}
