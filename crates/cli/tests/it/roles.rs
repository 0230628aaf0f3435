//! `maestro roles`: which roles there are, and whether each has its skills.

use insta::assert_snapshot;

use crate::sandbox::Sandbox;

fn role(sandbox: &Sandbox, name: &str, more: &str) {
    let text =
        format!("{{\"name\": \"{name}\", \"version\": \"1.0.0\", \"description\": \"Plays the {name}.\"{more}}}");
    sandbox.write(&format!(".maestro/skills/{name}/manifest.json"), text);
    sandbox.write(&format!(".maestro/skills/{name}/skill.md"), "# How\n");
}

#[test]
fn the_two_session_roles_are_always_there() {
    assert_snapshot!(Sandbox::new().maestro("roles list"), @"
    $ maestro roles list
    worker        maestro-cli, maestro-worker
                  Worker-specific capabilities for task execution
    orchestrator  maestro-cli, maestro-orchestrator
                  Orchestrator-specific capabilities for task delegation
    ");
    assert_snapshot!(Sandbox::new().maestro("roles check"), @"
    $ maestro roles check
    worker ready: 2 skills: maestro-cli, maestro-worker
    orchestrator ready: 2 skills: maestro-cli, maestro-orchestrator
    ");
}

#[test]
fn a_skill_of_type_role_or_an_assignment_makes_a_role() {
    let sandbox = Sandbox::new();
    role(&sandbox, "reviewer", ", \"type\": \"role\", \"dependencies\": [\"checklists\"]");
    role(&sandbox, "drawing", ", \"assignTo\": [\"architect\", \"worker\"]");
    assert_snapshot!(sandbox.maestro("roles list"), @"
    $ maestro roles list
    worker        maestro-cli, maestro-worker, drawing
                  Worker-specific capabilities for task execution
    orchestrator  maestro-cli, maestro-orchestrator
                  Orchestrator-specific capabilities for task delegation
    architect     maestro-cli, drawing
    reviewer      maestro-cli, reviewer
                  Plays the reviewer.
    ");
    assert_snapshot!(sandbox.maestro("roles check"), @"
    $ maestro roles check
    worker ready: 3 skills: maestro-cli, maestro-worker, drawing
    orchestrator ready: 2 skills: maestro-cli, maestro-orchestrator
    architect ready: 2 skills: maestro-cli, drawing
    reviewer not ready: dependencies are missing
    --- stderr
    warning[dependency-missing]: Missing dependency: reviewer requires checklists
      --> [PROJECT]/.maestro/skills/reviewer/manifest.json:1:1
      hint: install `checklists`, or remove it from the dependencies
    --- exit 1
    ");
    role(&sandbox, "checklists", "");
    assert_snapshot!(sandbox.maestro("roles check reviewer --json"), @r#"
    $ maestro roles check reviewer --json
    {
      "ok": true,
      "roles": [
        {
          "role": "reviewer",
          "ok": true,
          "skills": [
            "maestro-cli",
            "checklists",
            "reviewer"
          ],
          "missing": [],
          "problems": []
        }
      ]
    }
    "#);
}

#[test]
fn without_the_built_in_pack_no_session_role_is_ready() {
    assert_snapshot!(Sandbox::new().maestro("roles check --set skills_builtin=false"), @"
    $ maestro roles check --set skills_builtin=false
    worker not ready: skills are missing: maestro-cli, maestro-worker
    orchestrator not ready: skills are missing: maestro-cli, maestro-orchestrator
    --- exit 1
    ");
}

#[test]
fn an_unknown_role_is_not_found() {
    assert_snapshot!(Sandbox::new().maestro("roles check wroker"), @"
    $ maestro roles check wroker
    --- stderr
    error: unknown role `wroker`
    hint: did you mean `worker`?
    --- exit 2
    ");
}
