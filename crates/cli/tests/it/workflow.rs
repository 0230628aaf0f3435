//! `maestro workflow`: which there are, what is wrong with them, and where they lead.

use insta::assert_snapshot;

use crate::sandbox::Sandbox;

const GOOD: &str = "\
name: greet
description: Say hello to somebody. Use when somebody comes.
params:
  who: {type: string, required: true, description: Whom to greet}
steps:
- id: ask
  type: question
  prompt: Shall I greet {who}?
  options: [yes, no]
  next: {yes: greet, ok: end, declined: end, cancelled: end}
- {id: greet, type: command, title: Greet, command: 'echo hello {who}', next: {fail: sorry}}
- {id: done, type: end}
- {id: sorry, type: end, status: failure, message: Nobody was greeted.}
";

const BAD: &str = "\
name: bad
steps:
- {id: one, type: command, command: 'cat {fiel} | wc', next: {ok: two}}
- {id: two, type: agent, actions: ['Look at {file}'], next: {ok: thee, fail: end}}
";

fn with_workflows() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/skills/greet/workflow.yaml", GOOD);
    sandbox.write(".claude/skills/greet/workflows/again.yaml", GOOD.replace("name: greet", "name: greet/again"));
    sandbox
}

#[test]
fn workflows_are_listed_without_those_that_only_others_call() {
    let sandbox = with_workflows();
    assert_snapshot!(sandbox.maestro("workflow list --dir .claude/skills"), @r#"
    $ maestro workflow list --dir .claude/skills
    greet  Say hello to somebody. Use when somebody comes.
    "#);
    assert_snapshot!(sandbox.maestro("workflow list --dir .claude/skills --json"), @r#"
    $ maestro workflow list --dir .claude/skills --json
    [
      {
        "name": "greet",
        "description": "Say hello to somebody. Use when somebody comes.",
        "steps": 4,
        "path": "[PROJECT]/.claude/skills/greet/workflow.yaml",
        "sound": true
      }
    ]
    "#);
}

#[test]
fn a_workflow_is_shown_with_its_ways() {
    let sandbox = with_workflows();
    assert_snapshot!(sandbox.maestro("workflow show greet --dir .claude/skills"), @r#"
    $ maestro workflow show greet --dir .claude/skills
    greet
    Say hello to somebody. Use when somebody comes.
    [PROJECT]/.claude/skills/greet/workflow.yaml

    Parameters
      who (string, required): Whom to greet

    Steps
       1. ask question
          cancelled → end, declined → end, ok → end, yes → greet
       2. greet command  Greet
          fail → sorry, ok → done
       3. done end
       4. sorry end
    "#);
    assert_eq!(sandbox.maestro("workflow show greet/again --dir .claude/skills").code, 0);
    assert_snapshot!(sandbox.maestro("workflow show gret --dir .claude/skills"), @r#"
    $ maestro workflow show gret --dir .claude/skills
    --- stderr
    error: there is no workflow `gret`
    hint: did you mean `greet`?
    --- exit 2
    "#);
}

#[test]
fn everything_wrong_is_told_at_once_with_the_line_it_is_about() {
    let sandbox = with_workflows();
    sandbox.write("bad.yaml", BAD);
    assert_snapshot!(sandbox.maestro("workflow check bad.yaml --dir .claude/skills"), @r#"
    $ maestro workflow check bad.yaml --dir .claude/skills
    error[E09]: `fiel` is never declared
     --> bad.yaml:3:42
      |
    3 | - {id: one, type: command, command: 'cat {fiel} | wc', next: {ok: two}}
      |                                          ^
      = hint: declare `fiel` under `params` or `variables`, or `store` it at the step that finds it out

    error[E14]: `|` means something to a shell only, and no shell reads this
     --> bad.yaml:3:49
      |
    3 | - {id: one, type: command, command: 'cat {fiel} | wc', next: {ok: two}}
      |                                                 ^
      = hint: make it two steps: `store` the output of the first and hand it to the second

    error[E09]: `file` is never declared
     --> bad.yaml:4:45
      |
    4 | - {id: two, type: agent, actions: ['Look at {file}'], next: {ok: thee, fail: end}}
      |                                             ^
      = hint: declare `file` under `params` or `variables`, or `store` it at the step that finds it out

    error[E04]: there is no step `thee`
     --> bad.yaml:4:66
      |
    4 | - {id: two, type: agent, actions: ['Look at {file}'], next: {ok: thee, fail: end}}
      |                                                                  ^
      = hint: name a step of this workflow, or `end`

    1 workflow checked: 4 errors, 0 warnings
    --- exit 1
    "#);
    assert_snapshot!(sandbox.maestro("workflow check bad.yaml --dir .claude/skills --json"), @r#"
    $ maestro workflow check bad.yaml --dir .claude/skills --json
    [
      {
        "name": "bad",
        "path": "bad.yaml",
        "sound": false,
        "findings": [
          {
            "code": "E09",
            "severity": "error",
            "line": 3,
            "column": 42,
            "message": "`fiel` is never declared",
            "help": "declare `fiel` under `params` or `variables`, or `store` it at the step that finds it out"
          },
          {
            "code": "E14",
            "severity": "error",
            "line": 3,
            "column": 49,
            "message": "`|` means something to a shell only, and no shell reads this",
            "help": "make it two steps: `store` the output of the first and hand it to the second"
          },
          {
            "code": "E09",
            "severity": "error",
            "line": 4,
            "column": 45,
            "message": "`file` is never declared",
            "help": "declare `file` under `params` or `variables`, or `store` it at the step that finds it out"
          },
          {
            "code": "E04",
            "severity": "error",
            "line": 4,
            "column": 66,
            "message": "there is no step `thee`",
            "help": "name a step of this workflow, or `end`"
          }
        ]
      }
    ]
    --- exit 1
    "#);
    assert_snapshot!(sandbox.maestro("workflow check --dir .claude/skills"), @r#"
    $ maestro workflow check --dir .claude/skills
    2 workflows checked: 0 errors, 0 warnings
    "#);
    assert_snapshot!(sandbox.maestro("workflow check nowhere --dir .claude/skills"), @r#"
    $ maestro workflow check nowhere --dir .claude/skills
    --- stderr
    error: there is no workflow at `nowhere`
    hint: pass a YAML file, or a skill folder with `workflow.yaml`
    --- exit 2
    "#);
}

#[test]
fn a_workflow_is_simulated_and_drawn() {
    let sandbox = with_workflows();
    assert_snapshot!(sandbox.maestro("workflow simulate greet --dir .claude/skills"), @r#"
    $ maestro workflow simulate greet --dir .claude/skills
    2 states checked.

    Ends
      failure  after `sorry` with `failure`
      success  after `ask` with `cancelled`
      success  after `ask` with `declined`
      success  after `ask` with `ok`
      success  after `done` with `success`
    "#);
    assert_snapshot!(sandbox.maestro("workflow graph greet --dir .claude/skills"), @r#"
    $ maestro workflow graph greet --dir .claude/skills
    flowchart TD
        s1[/"ask · question"/]
        s2["Greet · command"]
        s3(["done · end"])
        s4(["sorry · end"])
        done(["end"])
        s1 -->|"cancelled, declined, ok"| done
        s1 -->|"yes"| s2
        s2 -->|"fail"| s4
        s2 -->|"ok"| s3
    "#);
    assert_snapshot!(sandbox.maestro("workflow graph greet --format dot --dir .claude/skills"), @r#"
    $ maestro workflow graph greet --format dot --dir .claude/skills
    digraph "greet" {
        node [shape=box];
        "ask" [label="ask · question", shape=parallelogram];
        "greet" [label="Greet · command", shape=box];
        "done" [label="done · end", shape=oval];
        "sorry" [label="sorry · end", shape=oval];
        "end" [shape=oval];
        "ask" -> "end" [label="cancelled, declined, ok"];
        "ask" -> "greet" [label="yes"];
        "greet" -> "sorry" [label="fail"];
        "greet" -> "done" [label="ok"];
    }
    "#);
}

#[test]
fn a_step_is_printed_without_a_run_and_says_so() {
    let sandbox = with_workflows();
    sandbox.write(
        ".claude/skills/reviewed/workflow.yaml",
        include_str!("../../../../examples/reviewed-change/workflow.yaml"),
    );
    let step = |rest: &str| sandbox.maestro(&format!("workflow step {rest} --dir .claude/skills"));
    assert_snapshot!(step("greet --step 2 --total-steps 4"), @r#"
    $ maestro workflow step greet --step 2 --total-steps 4 --dir .claude/skills
    <step workflow="greet" id="greet" title="Greet" number="2" total="4" verified="no">
      <unverified>Nothing is kept and nothing is checked here; the reports of these commands are not verified. Names in braces stand for values that you know. A checked run begins with: maestro workflow start greet --param who=VALUE</unverified>
      <state_banner checkpoint="greet" iteration="1" mode="initial"></state_banner>
      <DO>
        <action>Run this command. The outcome is ok if it ends with 0, else fail.</action>
        <command_line>echo hello {who}</command_line>
      </DO>
      <INVOKE_AFTER>
        <case outcome="ok">maestro workflow step greet --step 3 --total-steps 4</case>
        <case outcome="fail">maestro workflow step greet --step 4 --total-steps 4</case>
      </INVOKE_AFTER>
      <NEXT required="true">After DO is complete, run the case of INVOKE_AFTER that fits, and nothing else.</NEXT>
    </step>
    "#);
    assert_snapshot!(step("reviewed --step 5 --qr-iteration 2 --qr-status fail"), @r#"
    $ maestro workflow step reviewed --step 5 --qr-iteration 2 --qr-status fail --dir .claude/skills
    <step workflow="reviewed" id="gate" title="Review" number="5" total="7" verified="no">
      <unverified>Nothing is kept and nothing is checked here; the reports of these commands are not verified. Names in braces stand for values that you know. A checked run begins with: maestro workflow start reviewed --param change=VALUE</unverified>
      <gate_result status="fail" gate="gate" title="Review">GATE FAILED (iteration 2 of 5)</gate_result>
      <post_qr_routing>
        <role>You are the orchestrator. The gate has judged; your only action is given below.</role>
        <pedantic_mode>Every item above blocks. Nothing is too small to fix. After iteration 5 the user decides.</pedantic_mode>
        <fix by="step">The step below says what to fix, and how.</fix>
        <forbidden>
          <action>Judge the gate yourself, or continue as if it had passed</action>
          <action>Weaken a check, an item or a test so that it passes</action>
          <action>Ask the user whether to continue, or offer alternatives</action>
        </forbidden>
      </post_qr_routing>
      <state_banner checkpoint="change" iteration="2" mode="fresh_review" limit="5">CHANGE REVIEW (Iteration 2, fresh review): Previous review found issues.</state_banner>
      <DO>
        <action>The gate has judged. Do nothing but what NEXT says.</action>
      </DO>
      <INVOKE_AFTER>
        <command>maestro workflow step reviewed --step 1 --total-steps 7 --qr-fail --qr-iteration 3</command>
      </INVOKE_AFTER>
      <NEXT required="true">After DO is complete, run: maestro workflow step reviewed --step 1 --total-steps 7 --qr-fail --qr-iteration 3</NEXT>
    </step>
    "#);
    assert_snapshot!(step("reviewed --step 8"), @"
    $ maestro workflow step reviewed --step 8 --dir .claude/skills
    --- stderr
    error: `reviewed`: there is no step 8: the steps are 1 to 7
    hint: run `maestro workflow show reviewed` for the steps and their numbers
    --- exit 1
    ");
    assert_snapshot!(step("reviewed --step 1 --qr-iteration 6"), @"
    $ maestro workflow step reviewed --step 1 --qr-iteration 6 --dir .claude/skills
    --- stderr
    error: `reviewed`: there is no iteration 6: the gate allows 1 to 5
    hint: run `maestro workflow show reviewed` for the steps and their numbers
    --- exit 1
    ");
    assert_snapshot!(step("reviewed --step 1 --qr-status pass"), @"
    $ maestro workflow step reviewed --step 1 --qr-status pass --dir .claude/skills
    --- stderr
    error: `reviewed`: step 1 is no gate; the gates are 5
    hint: run `maestro workflow show reviewed` for the steps and their numbers
    --- exit 1
    ");
    let picture = sandbox.maestro("workflow graph greet --format svg --dir .claude/skills");
    assert!(picture.stdout().starts_with("<svg "), "{}", picture.stdout());
}
