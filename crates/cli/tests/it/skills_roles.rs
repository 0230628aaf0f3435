//! `maestro skills roles`: the skills that the sessions of a role get.

use insta::assert_snapshot;
use serde_json::json;

use crate::sandbox::Sandbox;

#[test]
fn a_fresh_install_gives_each_role_its_two_skills() {
    assert_snapshot!(Sandbox::new().maestro("skills roles"), @"
    $ maestro skills roles
    worker
      maestro-cli              Core CLI commands and capabilities for all Maestro sessions
      maestro-worker           Worker-specific capabilities for task execution

    orchestrator
      maestro-cli              Core CLI commands and capabilities for all Maestro sessions
      maestro-orchestrator     Orchestrator-specific capabilities for task delegation
    ");
}

#[test]
fn a_role_for_programs_is_the_role_endpoints_answer() {
    let sandbox = Sandbox::new();
    let cli = json!({
        "id": "Maestro CLI",
        "name": "Maestro CLI",
        "description": "Core CLI commands and capabilities for all Maestro sessions",
        "type": "system",
        "version": "1.0.0",
        "skillId": "maestro-cli",
    });
    let worker = json!({
        "id": "Maestro Worker",
        "name": "Maestro Worker",
        "description": "Worker-specific capabilities for task execution",
        "type": "role",
        "version": "1.0.0",
        "skillId": "maestro-worker",
    });
    let orchestrator = json!({
        "id": "Maestro Orchestrator",
        "name": "Maestro Orchestrator",
        "description": "Orchestrator-specific capabilities for task delegation",
        "type": "role",
        "version": "1.0.0",
        "skillId": "maestro-orchestrator",
    });
    assert_eq!(sandbox.maestro("skills roles worker --json").json(), json!([cli, worker]));
    assert_eq!(sandbox.maestro("skills roles orchestrator --json").json(), json!([cli, orchestrator]));
    let both = json!({ "worker": [cli, worker], "orchestrator": [cli, orchestrator] });
    assert_eq!(sandbox.maestro("skills roles --json").json(), both);
}

#[test]
fn an_assigned_skill_joins_its_role_after_what_it_needs() {
    let sandbox = Sandbox::new();
    let manifest = |id: &str, assigned: &str, needs: &str| {
        let text = format!(
            r#"{{"name": "{id}", "version": "1.0.0", "description": "Is {id}.", "assignTo": [{assigned}], "dependencies": [{needs}]}}"#
        );
        sandbox.write(&format!(".maestro/skills/{id}/manifest.json"), text);
        sandbox.write(&format!(".maestro/skills/{id}/skill.md"), "# Do\n");
    };
    manifest("a-review", r#""worker""#, r#""z-style""#);
    manifest("z-style", "", r#""y-words""#);
    manifest("y-words", "", "");
    manifest("everybody", r#""all""#, r#""gone""#);
    assert_snapshot!(sandbox.maestro("skills roles worker"), @"
    $ maestro skills roles worker
    worker
      maestro-cli              Core CLI commands and capabilities for all Maestro sessions
      maestro-worker           Worker-specific capabilities for task execution
      y-words                  Is y-words.
      z-style                  Is z-style.
      a-review                 Is a-review.
      everybody                Is everybody.
    --- stderr
    warning[dependency-missing]: Missing dependency: everybody requires gone
      --> [PROJECT]/.maestro/skills/everybody/manifest.json:1:1
      hint: install `gone`, or remove it from the dependencies
    ");
}

#[test]
fn a_word_that_is_no_role_is_refused() {
    assert_snapshot!(Sandbox::new().maestro("skills roles boss"), @"
    $ maestro skills roles boss
    --- stderr
    error: unknown role `boss`
    hint: use worker or orchestrator; without a role both are listed
    --- exit 1
    ");
}
