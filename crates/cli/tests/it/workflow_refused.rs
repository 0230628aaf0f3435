//! Words that a run does not take: each gets a reason and what is to be done all the same, and the run is as it was.

use std::fs;

use insta::assert_snapshot;

use crate::sandbox::Sandbox;
use crate::workflow_runs::{BREW, directive, kitchen, last_run, report, steeping, ticket};

/// How often a run changed.
fn events(sandbox: &Sandbox, run: &str) -> usize {
    sandbox.maestro_with(&["workflow", "log", run, "--json"]).json().as_array().unwrap().len()
}

#[test]
fn a_wrong_old_or_forged_ticket_is_told_which_one_is_waited_for() {
    let sandbox = kitchen();
    let run = steeping(&sandbox);
    let (old, before) = (ticket(&sandbox, &run), events(&sandbox, &run));
    assert_snapshot!(report(&sandbox, &run, "steep#1.aaaaaa", "{\"minutes\": 4}"), @"
    $ maestro workflow report [RUN-1] --ticket steep#1.[NONCE] --result-file -
    STEP 2/2: Steep the tea
      Make black tea.

    VISIT 1 of 3

    DO:
      Boil water.
      Pour it over the leaves.

    FORBIDDEN:
      Use a microwave

    RESULT (JSON on standard input of the command below):
      minutes (int): How long it steeped

    NEXT: run
      maestro workflow report [RUN-1] --ticket steep#1.[NONCE] --result-file -
    --- stderr
    error: that ticket is not the current one; the run waits for steep#1.[NONCE]
    hint: nothing was changed
    --- exit 1
    ");
    for forged in ["choose#1.aaaaaa", "steep#2.aaaaaa", "steep", "", "--", "steep#1.aaaaaa'; rm -rf /"] {
        let refused = sandbox.maestro_told(
            &[],
            &["workflow", "report", &run, &format!("--ticket={forged}"), "--result-file", "-"],
            "{\"minutes\": 4}",
        );
        assert_eq!(refused.code, 1, "{refused}");
    }
    let answered = sandbox.maestro_with(&["workflow", "answer", &run, "--ticket", &old, "black"]);
    assert_eq!(answered.code, 1, "an answer is no report: {answered}");
    assert_eq!((ticket(&sandbox, &run), events(&sandbox, &run)), (old.clone(), before));

    assert_eq!(report(&sandbox, &run, &old, "{\"minutes\": 30}").code, 0);
    let late = report(&sandbox, &run, &old, "{\"minutes\": 4}");
    assert_eq!(late.code, 1, "another report for a ticket that was used: {late}");
    assert!(late.stdout().contains("VISIT 2 of 3"), "{late}");
}

#[test]
fn the_same_report_again_is_heard_once_and_answered_the_same() {
    let sandbox = kitchen();
    let run = steeping(&sandbox);
    let first = ticket(&sandbox, &run);
    let once = report(&sandbox, &run, &first, "{\"minutes\": 30}");
    let after = events(&sandbox, &run);
    let again = report(&sandbox, &run, &first, " {  \"minutes\" : 30 } ");
    assert_eq!((again.code, again.stdout()), (0, once.stdout()));
    let second = ticket(&sandbox, &run);
    assert_eq!((directive(&sandbox, &run)["round"]["number"].as_u64(), events(&sandbox, &run)), (Some(2), after));

    let finished = report(&sandbox, &run, &second, "{\"minutes\": 4}");
    assert!(finished.stdout().contains("WORKFLOW COMPLETE"), "{finished}");
    let again = report(&sandbox, &run, &second, "{\"minutes\": 4}");
    assert!(again.code == 0 && again.stdout().contains("WORKFLOW COMPLETE"), "{again}");
    assert_eq!(report(&sandbox, &run, &second, "{\"minutes\": 5}").code, 1);
}

#[test]
fn a_result_that_does_not_fit_is_refused_with_the_reason() {
    let sandbox = kitchen();
    let run = steeping(&sandbox);
    let ticket = ticket(&sandbox, &run);
    let before = events(&sandbox, &run);
    assert_snapshot!(report(&sandbox, &run, &ticket, "{\"minutes\": \"four\"}"), @r#"
    $ maestro workflow report [RUN-1] --ticket steep#1.[NONCE] --result-file -
    STEP 2/2: Steep the tea
      Make black tea.

    VISIT 1 of 3

    DO:
      Boil water.
      Pour it over the leaves.

    FORBIDDEN:
      Use a microwave

    RESULT (JSON on standard input of the command below):
      minutes (int): How long it steeped

    NEXT: run
      maestro workflow report [RUN-1] --ticket steep#1.[NONCE] --result-file -
    --- stderr
    error: the result is not what was asked for: `minutes`: "four" is not an int
    hint: nothing was changed
    --- exit 1
    "#);
    let errors = |result: &str| {
        let refused = report(&sandbox, &run, &ticket, result);
        assert_eq!(refused.code, 1, "{refused}");
        refused.stderr()
    };
    assert_snapshot!(errors("four minutes"), @r#"
    error: the result is not a JSON object
      because expected ident at line 1 column 2
    hint: pass one object with the fields of RESULT, for example {"summary": "…"}
    "#);
    assert_snapshot!(errors("[4]"), @r#"
    error: the result is not a JSON object
      because invalid type: sequence, expected a map at line 1 column 0
    hint: pass one object with the fields of RESULT, for example {"summary": "…"}
    "#);
    assert_snapshot!(errors("{}"), @"
    error: the result is not what was asked for: `minutes` is missing
    hint: nothing was changed
    ");
    assert_snapshot!(errors("{\"minutes\": 4, \"sugar\": 2}"), @"
    error: the result is not what was asked for: `sugar` is not declared
    hint: nothing was changed
    ");
    assert_snapshot!(errors(&format!("{{\"minutes\": 4, \"note\": \"{}\"}}", "x".repeat(800 * 1024))), @"
    error: the result is not what was asked for: it has 819223 bytes, and 262144 are allowed; write to a file and name it
    hint: nothing was changed
    ");
    assert_snapshot!(errors(&format!("{{\"minutes\": 4, \"note\": \"{}\"}}", "x".repeat(1024 * 1024))), @"
    error: the result is larger than 900 KiB
    hint: write long findings to a file, and name it in the result
    ");
    let args = ["workflow", "report", &run, "--ticket", &ticket, "--result-file", "nowhere.json"];
    assert_snapshot!(sandbox.maestro_with(&args), @"
    $ maestro workflow report [RUN-1] --ticket steep#1.[NONCE] --result-file nowhere.json
    --- stderr
    error: cannot read the result from `nowhere.json`
      because No such file or directory (os error 2)
    --- exit 1
    ");
    let set = ["workflow", "report", &run, "--ticket", &ticket, "--set", "kettle=on", "--result-file", "-"];
    assert_snapshot!(sandbox.maestro_told(&[], &set, "{\"minutes\": 4}").stderr(), @"
    error: `kettle`: there is no such variable
    hint: nothing was changed
    ");
    assert_eq!(events(&sandbox, &run), before, "nothing of that has happened");
    // What follows from the result cannot be claimed otherwise.
    let claim = ["workflow", "report", &run, "--ticket", &ticket, "--outcome", "ok", "--result-file", "-"];
    let claimed = sandbox.maestro_told(&[], &claim, "{\"minutes\": 30}");
    assert!(claimed.code == 0 && claimed.stdout().contains("VISIT 2 of 3"), "{claimed}");
}

#[test]
fn a_nonsense_answer_is_asked_again_with_the_reason_and_then_declined() {
    let sandbox = kitchen();
    sandbox.maestro("workflow start brew --param who=Ada");
    let run = last_run(&sandbox);
    let answer = |value: &str| {
        let ticket = ticket(&sandbox, &run);
        sandbox.maestro_with(&["workflow", "answer", &run, "--ticket", &ticket, value])
    };
    assert_snapshot!(answer("coffee"), @r#"
    $ maestro workflow answer [RUN-1] --ticket choose#1.[NONCE] coffee
    STEP 1/2: Choose

    ASK THE USER:
      The last answer was rejected: `coffee` is none of green, black
      green and black: which for Ada?
      1. green
      2. black
      (usually: green)

    NEXT: run this, ANSWER being what the user said
      maestro workflow answer [RUN-1] --ticket choose#1.[NONCE] 'ANSWER'
      ANSWER is what the user said, as one argument: put it between the quotes, and write ' in it as '"'"'. An option can be given by its number or by its words.
      If the user does not want to answer, run instead: maestro workflow answer [RUN-1] --ticket choose#1.[NONCE] --declined
      If the user wants to stop here, run instead: maestro workflow answer [RUN-1] --ticket choose#1.[NONCE] --cancelled
    "#);
    let first = ticket(&sandbox, &run);
    assert_snapshot!(sandbox.maestro_with(&["workflow", "answer", &run, "--ticket", &first]), @"
    $ maestro workflow answer [RUN-1] --ticket choose#1.[NONCE]
    --- stderr
    error: missing answer
    hint: pass the user's answer, --declined or --cancelled
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro_with(&["workflow", "answer", &run, "--ticket", &first, "green", "black"]), @r#"
    $ maestro workflow answer [RUN-1] --ticket choose#1.[NONCE] green black
    STEP 1/2: Choose

    ASK THE USER:
      The last answer was rejected: one answer is needed
      green and black: which for Ada?
      1. green
      2. black
      (usually: green)

    NEXT: run this, ANSWER being what the user said
      maestro workflow answer [RUN-1] --ticket choose#1.[NONCE] 'ANSWER'
      ANSWER is what the user said, as one argument: put it between the quotes, and write ' in it as '"'"'. An option can be given by its number or by its words.
      If the user does not want to answer, run instead: maestro workflow answer [RUN-1] --ticket choose#1.[NONCE] --declined
      If the user wants to stop here, run instead: maestro workflow answer [RUN-1] --ticket choose#1.[NONCE] --cancelled
    "#);
    assert_snapshot!(answer(""), @"
    $ maestro workflow answer [RUN-1] --ticket choose#1.[NONCE]
    FAILED: choose ended with declined
      3 answers were not accepted, the last one because `` is none of green, black

    WORKFLOW COMPLETE: failure
      `choose` ended with `declined`, which has no route

    OUTPUTS:
      kind:
      minutes:
    ");
}

#[test]
fn a_run_that_does_not_exist_is_told_so() {
    let sandbox = kitchen();
    assert_snapshot!(sandbox.maestro("workflow next nonsense"), @"
    $ maestro workflow next nonsense
    --- stderr
    error: unknown run `nonsense`
    hint: run `maestro workflow runs` for the runs and their IDs
    --- exit 2
    ");
    assert_snapshot!(sandbox.maestro("workflow next 01900000-0000-7000-8000-000000000000"), @"
    $ maestro workflow next [RUN-1]
    --- stderr
    error: Run with id '[RUN-1]' not found
    hint: run `maestro workflow runs` for the runs of a project
    --- exit 2
    ");
    for verb in ["log", "pause", "resume", "cancel"] {
        let refused = sandbox.maestro(&format!("workflow {verb} 01900000-0000-7000-8000-000000000000"));
        assert_eq!(refused.code, 2, "{refused}");
    }
    assert_snapshot!(sandbox.maestro("workflow start bru --param who=Ada"), @"
    $ maestro workflow start bru --param who=Ada
    --- stderr
    error: there is no workflow `bru`
    hint: run `maestro workflow list` for the list
    --- exit 2
    ");
    assert_snapshot!(sandbox.maestro("workflow start brew"), @"
    $ maestro workflow start brew
    --- stderr
    error: `who`: required, but not given
    hint: nothing was changed
    hint: run `maestro workflow start brew --param who=…`; `maestro workflow show brew` explains each
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro("workflow start brew --param who=Ada --param sugar=2"), @"
    $ maestro workflow start brew --param who=Ada --param sugar=2
    --- stderr
    error: `sugar`: there is no such parameter
    hint: nothing was changed
    hint: run `maestro workflow start brew --param who=…`; `maestro workflow show brew` explains each
    --- exit 1
    ");
}

#[test]
fn a_run_goes_on_with_the_definition_it_was_started_with() {
    let sandbox = kitchen();
    let (changed, deleted) = (steeping(&sandbox), steeping(&sandbox));
    sandbox.write(".claude/skills/brew/workflow.yaml", BREW.replace("Here is", "Take this"));
    let done = report(&sandbox, &changed, &ticket(&sandbox, &changed), "{\"minutes\": 4}");
    assert!(done.stdout().contains("Here is black tea, Ada."), "{done}");
    fs::remove_dir_all(sandbox.path(".claude/skills/brew")).unwrap();
    let done = report(&sandbox, &deleted, &ticket(&sandbox, &deleted), "{\"minutes\": 4}");
    assert!(done.stdout().contains("Here is black tea, Ada."), "{done}");
    assert_eq!(sandbox.maestro("workflow start brew --param who=Ada").code, 2);
}
