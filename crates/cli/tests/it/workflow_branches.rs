//! Runs that go through lists, end with a last part, and go on after their end.

use std::fs;

use crate::sandbox::Sandbox;
use crate::workflow_runs::{last_run, ticket};

fn sandbox(workflow: &str) -> Sandbox {
    let sandbox = Sandbox::new().with_variable("PATH", "/usr/bin:/bin").with_variable("LINT_TOKEN", "s3cr3t-lint");
    sandbox.write(".claude/skills/grown/workflow.yaml", workflow);
    let trusted = sandbox.maestro("trust grown --yes");
    assert_eq!(trusted.code, 0, "{trusted}");
    sandbox
}

/// Reports an outcome with a result.
fn report(sandbox: &Sandbox, run: &str, outcome: &str, result: &str) -> String {
    let ticket = ticket(sandbox, run);
    let words = ["workflow", "report", run, "--ticket", &ticket, "--outcome", outcome, "--result-file", "-"];
    sandbox.maestro_told(&[], &words, result).stdout()
}

const BRANCHES: &str = r#"
name: grown
description: Looks at each part.
finally: tidy
steps:
- id: look
  type: command
  for_each: [{id: api, dir: api}, {id: web, dir: web}, {id: none, dir: none}]
  max_parallel: 3
  cwd: "{item.dir}"
  env: {PART: "{item.id}"}
  secrets: [LINT_TOKEN]
  shell: {script: 'touch here; n=0; while [ "$n" -lt 500 ] && ! { [ -e ../api/here ] && [ -e ../web/here ]; }; do sleep 0.01; n=$((n+1)); done; [ "$n" -lt 500 ] && echo "$PART with $LINT_TOKEN"'}
  next: {ok: end, partial: tell, fail: tell}
- {id: tell, type: output, template: found, next: {ok: stop}}
- {id: stop, type: end, status: blocked, message: Some parts are not there.}
- {id: tidy, type: command, shell: {script: 'echo "$HOW" > tidied', env: {HOW: "{ending.status}"}}}
templates:
  found: |
    {for r in steps.look.result.results}
    {r.id}: {r.outcome} {r.output}{r.error}
    {end}
"#;

#[test]
fn branches_are_executed_beside_each_other_with_their_directory_variables_and_secrets() {
    let sandbox = sandbox(BRANCHES);
    sandbox.write("api/x", "");
    sandbox.write("web/x", "");
    let ran = sandbox.maestro("workflow run grown");
    let told = ran.stdout();
    assert!(told.contains("api: ok api with (secret)"), "{ran}");
    assert!(told.contains("web: ok web with (secret)"), "{ran}");
    assert!(told.contains("none: fail there is no directory `none` in the workspace"), "{ran}");
    assert!(told.contains("blocked"), "{ran}");
    assert_eq!(fs::read_to_string(sandbox.path("tidied")).unwrap(), "blocked\n", "the last part was done");
    let run = last_run(&sandbox);
    let log = sandbox.maestro_with(&["workflow", "log", &run, "--json"]).stdout();
    assert!(!log.contains("s3cr3t-lint"), "a secret is not stored: {log}");
    sandbox.write("again/.claude/skills/grown/workflow.yaml", BRANCHES);
    let shown = sandbox.maestro_in("again", &["trust", "grown"]);
    let shown = format!("{}{}", shown.stdout(), shown.stderr());
    assert!(shown.contains("with your secrets LINT_TOKEN") && !shown.contains("s3cr3t-lint"), "{shown}");
}

const STEPS: &str = r#"
name: grown
description: Decides.
steps:
- {id: write, type: agent, result: {text: string}, next: {ok: decide, fail: stop}}
- {id: decide, type: agent, data: {text: "{steps.write.result.text}"}, outcomes: [ok, fail], next: {ok: end, fail: stop}}
- {id: stop, type: end, status: blocked, message: It was not good.}
outputs: {text: "{steps.write.result.text}"}
"#;

#[test]
fn a_run_that_is_over_goes_on_from_an_earlier_step() {
    let sandbox = sandbox(STEPS);
    sandbox.maestro("workflow start grown");
    let run = last_run(&sandbox);
    report(&sandbox, &run, "ok", r#"{"text": "first"}"#);
    let stopped = report(&sandbox, &run, "fail", "{}");
    assert!(stopped.contains("blocked"), "{stopped}");
    let never = sandbox.maestro_with(&["workflow", "reopen", &run, "--at", "stop#2"]);
    assert!(never.code != 0 && never.stderr().contains("never came to visit 2 of step `stop`"), "{never}");
    let again = sandbox.maestro_with(&["workflow", "reopen", &run, "--at", "write"]);
    assert!(again.stdout().contains("STEP 1/2"), "{again}");
    let twice = sandbox.maestro_with(&["workflow", "reopen", &run, "--at", "write"]);
    assert!(twice.code != 0 && twice.stderr().contains("not over"), "{twice}");
    report(&sandbox, &run, "ok", r#"{"text": "second"}"#);
    assert!(ticket(&sandbox, &run).starts_with("decide#1"), "nothing that came later has happened");
    let done = report(&sandbox, &run, "ok", "{}");
    assert!(done.contains("success") && done.contains("second"), "{done}");
    let log = sandbox.maestro_with(&["workflow", "log", &run]).stdout();
    assert!(log.contains("branched") && log.contains("first"), "the history before stays: {log}");
}
