//! Do the examples of this repository work as they are?

use insta::assert_snapshot;

use crate::sandbox::Sandbox;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

#[test]
fn the_example_plan_has_a_next_task() {
    let sandbox = Sandbox::new();
    std::fs::copy(format!("{EXAMPLES}/PLAN.md"), sandbox.path("PLAN.md")).unwrap();
    assert_snapshot!(sandbox.maestro("plan next PLAN.md"), @"
    $ maestro plan next PLAN.md
    Count requests per client
      PLAN.md:7
      section: Work
    ");
}

#[test]
fn the_example_skills_keep_every_rule() {
    let args = ["skills", "list", "--json", "--set", "skills_validation=strict", "--dir", EXAMPLES];
    let listed = Sandbox::new().maestro_with(&args).json();
    assert_eq!(listed["problems"], serde_json::json!([]));
    assert_eq!(listed["skills"][0]["name"], "release-notes");
}

#[test]
fn the_example_workflow_is_sound_and_every_step_of_it_is_reached() {
    let sandbox = Sandbox::new();
    let folder = format!("{EXAMPLES}/reviewed-change");
    let checked = sandbox.maestro_with(&["workflow", "check", &folder]);
    assert_eq!(checked.stdout(), "1 workflow checked: 0 errors, 0 warnings\n");
    let walked = sandbox.maestro_with(&["workflow", "simulate", "reviewed-change", "--json", "--dir", EXAMPLES]).json();
    assert_eq!((&walked["never_reached"], &walked["complete"]), (&serde_json::json!([]), &serde_json::json!(true)));
}
