//! What is needed before a workflow begins: consent, programs, and a definition, even an old one.

use std::fs;

use insta::assert_snapshot;

use crate::sandbox::Sandbox;
use crate::workflow_runs::{BREW, kitchen, last_run, report, ticket};

/// A project with the workflow that nobody has allowed yet.
fn strange_kitchen() -> Sandbox {
    let sandbox = Sandbox::new().with_variable("PATH", "/usr/bin:/bin");
    sandbox.write(".claude/skills/brew/workflow.yaml", BREW);
    sandbox.write("teas.txt", "green and black\n");
    sandbox
}

#[test]
fn what_nobody_allowed_does_not_begin_and_a_change_asks_again() {
    let sandbox = strange_kitchen();
    let start = || sandbox.maestro("workflow start brew --param who=Ada");
    assert_snapshot!(start(), @"
    $ maestro workflow start brew --param who=Ada
    --- stderr
    error: `brew` is not trusted yet; it would execute 1 command
    hint: run `maestro trust brew` to review and allow it
    --- exit 4
    ");
    assert_eq!(sandbox.maestro("workflow run brew --param who=Ada --yes").code, 4, "`--yes` is no consent");
    assert_snapshot!(sandbox.maestro("workflow runs --all"), @"
    $ maestro workflow runs --all
    No runs here. Run `maestro workflow start NAME` to start one.
    ");
    assert_eq!(sandbox.maestro("trust brew --yes").code, 0);
    assert_eq!(start().code, 0);
    sandbox.write(".claude/skills/brew/workflow.yaml", BREW.replace("cat teas.txt", "cat /etc/passwd"));
    let changed = start();
    assert_eq!(changed.code, 4, "{changed}");
    sandbox.write(".claude/skills/brew/workflow.yaml", BREW);
    assert_eq!(start().code, 0, "what was allowed is allowed still");
}

#[test]
fn a_consent_that_was_taken_back_stops_the_run_before_its_next_command() {
    let sandbox = strange_kitchen();
    let text = "name: brew\ndescription: Brews.\nsteps:\n\
                - {id: ask, type: question, prompt: Go?, options: [go, stay]}\n\
                - {id: work, type: command, command: touch done}\n";
    sandbox.write(".claude/skills/brew/workflow.yaml", text);
    sandbox.maestro("trust brew --yes");
    sandbox.maestro("workflow start brew");
    let run = last_run(&sandbox);
    sandbox.maestro("trust --revoke brew");
    let args = ["workflow", "answer", &run, "--ticket", &ticket(&sandbox, &run), "go"];
    assert_snapshot!(sandbox.maestro_with(&args), @"
    $ maestro workflow answer [RUN-1] --ticket ask#1.[NONCE] go
    --- stderr
    error: `brew` is not trusted yet; it would execute `touch`
    hint: run `maestro trust brew` to review and allow it, then `maestro workflow next`
    --- exit 4
    ");
    assert!(!sandbox.path("done").exists());
    sandbox.maestro("trust brew --yes");
    let next = sandbox.maestro_with(&["workflow", "next", &run]);
    assert!(next.stdout().contains("WORKFLOW COMPLETE: success") && sandbox.path("done").exists(), "{next}");
}

#[test]
fn what_needs_a_program_that_is_missing_does_not_begin() {
    let sandbox = kitchen();
    let needs = |program: &str| {
        let text = BREW.replace("params:", &format!("requires: {{commands: [{program}]}}\nparams:"));
        sandbox.write(".claude/skills/brew/workflow.yaml", text);
        sandbox.maestro("trust brew --yes");
        sandbox.maestro("workflow start brew --param who=Ada")
    };
    assert_snapshot!(needs("samovar"), @"
    $ maestro workflow start brew --param who=Ada
    --- stderr
    error: `brew` needs `samovar`, which is not installed
    hint: install it, or put it on PATH
    --- exit 1
    ");
    assert_eq!(needs("cat").code, 0);
}

#[test]
fn a_definition_with_errors_does_not_begin() {
    let sandbox = kitchen();
    sandbox.write(".claude/skills/brew/workflow.yaml", BREW.replace("next: done", "next: dine"));
    assert_snapshot!(sandbox.maestro("workflow start brew --param who=Ada"), @"
    $ maestro workflow start brew --param who=Ada
    --- stderr
    error: the workflow `brew` has errors
      because E04 at 22:67: there is no step `dine`; did you mean `done`?
    hint: run `maestro workflow check [PROJECT]/.claude/skills/brew/workflow.yaml` to see them in place
    --- exit 1
    ");
}

/// A project with a skill that has instructions only.
fn old_form() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.skill(".claude/skills", "polish", "Polish a text. Use when a text is rough.");
    sandbox
}

#[test]
fn a_run_in_the_terminal_can_be_read_as_json() {
    let sandbox = old_form();
    let run = sandbox.maestro("workflow run polish --param task=letter --json").json();
    assert_eq!((run["workflow"].as_str(), run["waiting"].as_str()), (Some("polish"), Some("agent")));
    assert_eq!(run["next"]["directive"]["step"]["title"], "Follow polish");
}

#[test]
fn instructions_alone_are_followed_in_one_step_with_one_note() {
    let sandbox = old_form();
    let started = sandbox.maestro("workflow start polish --param task=letter");
    assert_snapshot!(started, @"
    $ maestro workflow start polish --param task=letter
    STEP 1/1: Follow polish
      letter

    DO:
      Read the resource `instructions`; relative paths in it begin at [PROJECT]/.claude/skills/polish.
      Follow it for the task at hand, in its order.

    RESOURCE instructions:
      ---
      name: polish
      description: Polish a text. Use when a text is rough.
      ---

      # How to

      Step by step.

    RESULT (JSON on standard input of the command below):
      summary (string): What was done

    NEXT: run this, OUTCOME being one of ok, fail
      maestro workflow report [RUN-1] --ticket follow#1.[NONCE] --outcome OUTCOME --result-file -
    --- stderr
    note: polish only has instructions (an old form); it runs as one step. Run `maestro workflow convert polish` for a workflow to start from.
    ");
    assert_eq!(started.stderr().lines().count(), 1);
    let run = last_run(&sandbox);
    let next = sandbox.maestro_with(&["workflow", "next", &run]);
    assert_eq!((next.stdout(), next.stderr()), (started.stdout(), String::new()), "told once");
    let done = report(&sandbox, &run, &ticket(&sandbox, &run), "{\"summary\": \"Polished.\"}");
    assert_snapshot!(done.stdout(), @"
    WORKFLOW COMPLETE: success

    OUTPUTS:
      summary: Polished.
    ");
    for quiet in ["workflow list", "workflow show polish", "workflow check", "skills list", "workflow runs"] {
        let listed = sandbox.maestro(quiet);
        assert_eq!((listed.code, listed.stderr()), (0, String::new()), "{listed}");
    }
    assert!(!sandbox.maestro("workflow list").stdout().contains("polish"));
}

#[test]
fn instructions_are_converted_to_a_workflow_that_can_be_started() {
    let sandbox = old_form();
    let printed = sandbox.maestro("workflow convert polish");
    assert_snapshot!(printed, @r#"
    $ maestro workflow convert polish
    # One step that follows the skill's instructions. Split it up: one thing to do a step, with the outcomes that lead on.
    workflow: 1
    name: "polish"
    description: "Polish a text. Use when a text is rough."
    params:
      task: {type: string, default: "", max_length: 8000, description: What the skill is to be used for}
    resources:
      instructions: {file: "SKILL.md"}
    steps:
      - id: follow
        type: agent
        title: "Follow polish"
        description: "{task}"
        actions:
          - Read the resource `instructions`; relative paths in it begin at {skill_dir}.
          - Follow it for the task at hand, in its order.
        resources: [instructions]
        result:
          summary: {type: string, max_length: 4000, description: What was done}
        next: {ok: end, fail: failed}
      - {id: failed, type: end, status: failure, message: "The instructions of polish could not be followed."}
    outputs:
      summary: "{steps.follow.result.summary}"
    --- stderr
    note: there are no numbered sections (`## 1. …`, `## Step 1: …`), so it stays one step
    "#);
    assert!(!sandbox.path(".claude/skills/polish/workflow.yaml").exists());
    assert_snapshot!(sandbox.maestro("workflow convert polish --write"), @"
    $ maestro workflow convert polish --write
    Wrote .claude/skills/polish/workflow.yaml. Run `maestro workflow check .claude/skills/polish/workflow.yaml` to check it.
    --- stderr
    note: there are no numbered sections (`## 1. …`, `## Step 1: …`), so it stays one step
    ");
    assert_eq!(fs::read_to_string(sandbox.path(".claude/skills/polish/workflow.yaml")).unwrap(), printed.stdout());
    assert_snapshot!(sandbox.maestro("workflow check .claude/skills/polish"), @"
    $ maestro workflow check .claude/skills/polish
    1 workflow checked: 0 errors, 0 warnings
    ");
    let started = sandbox.maestro("workflow start polish --param task=letter");
    assert_eq!((started.code, started.stderr()), (0, String::new()), "nothing is old any more: {started}");
    assert_snapshot!(sandbox.maestro("workflow convert polish --write"), @"
    $ maestro workflow convert polish --write
    --- stderr
    error: `polish` already has a workflow: workflow.yaml
    hint: run `maestro workflow show polish` to see it
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro("workflow convert maestro-cli --write"), @"
    $ maestro workflow convert maestro-cli --write
    --- stderr
    error: `maestro-cli` is built in and cannot be changed
    hint: copy the skill to one of your own directories first
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro("workflow convert polsh"), @"
    $ maestro workflow convert polsh
    --- stderr
    error: unknown skill `polsh`
    hint: run `maestro skills list` for the list
    --- exit 2
    ");
}

#[test]
fn a_skill_whose_name_no_workflow_may_have_is_followed_and_converted_too() {
    let sandbox = Sandbox::new();
    sandbox.skill(".claude/skills", "team:polish", "Polish a text. Use when a text is rough.");
    let started = sandbox.maestro("workflow start team:polish");
    assert!(started.code == 0 && started.stdout().contains("Follow team:polish"), "{started}");
    assert_eq!(sandbox.maestro("workflow convert team:polish --write").code, 0);
    assert_snapshot!(sandbox.maestro_with(&["workflow", "check", ".claude/skills/team:polish"]), @"
    $ maestro workflow check .claude/skills/team:polish
    1 workflow checked: 0 errors, 0 warnings
    ");
    assert_eq!(sandbox.maestro("workflow start team:polish").code, 0);
}
