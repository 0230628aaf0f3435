//! `maestro workflow start|next|report|answer|runs|log|pause|resume|cancel|run`: a run as agents and people follow it.

use insta::assert_snapshot;
use serde_json::{Value as Json, json};

use crate::sandbox::{Output, Sandbox};

pub(crate) const BREW: &str = "\
name: brew
description: Make tea for somebody. Use when somebody is thirsty.
params:
  who: {type: string, required: true, description: Who gets it}
variables:
  kind: {type: string, default: \"\"}
steps:
- {id: look, type: command, title: Look what there is, command: cat teas.txt, effect: read, store: teas, next: {fail: none}}
- {id: choose, type: question, title: Choose, prompt: \"{teas}: which for {who}?\", options: [green, black], default: green, store: kind}
- id: steep
  type: agent
  title: Steep the tea
  description: Make {kind} tea.
  actions: [Boil water., Pour it over the leaves.]
  forbidden: [Use a microwave]
  result: {minutes: {type: int, description: How long it steeped}}
  outcome_from:
    - {when: result.minutes > 10, outcome: bitter}
    - {else: ok}
  max_visits: 3
  next: {ok: serve, bitter: steep, exhausted: spilt}
- {id: serve, type: output, title: Serve, template: served, next: done}
- {id: done, type: end, message: \"{who} has tea.\"}
- {id: spilt, type: end, status: blocked, message: It was bitter three times.}
- {id: none, type: end, status: failure, message: There is no tea.}
templates:
  served: \"Here is {kind} tea, {who}.\"
outputs: {kind: \"{kind}\", minutes: \"{steps.steep.result.minutes}\"}
";

/// A project with tea, and a workflow that may look at it.
pub(crate) fn kitchen() -> Sandbox {
    let sandbox = Sandbox::new().with_variable("PATH", "/usr/bin:/bin");
    sandbox.write(".claude/skills/brew/workflow.yaml", BREW);
    sandbox.write("teas.txt", "green and black\n");
    let trusted = sandbox.maestro("trust brew --yes");
    assert_eq!(trusted.code, 0, "{trusted}");
    sandbox
}

#[test]
fn every_command_about_a_run_prints_the_run_as_json() {
    let sandbox = kitchen();
    let started = sandbox.maestro("workflow start brew --param who=me --json").json();
    let run = started["id"].as_str().unwrap().to_owned();
    assert_eq!((&started["status"], &started["next"]["kind"]), (&json!("running"), &json!("directive")), "{started:#}");
    let shown = |words: &str| sandbox.maestro(&format!("workflow {words} {run} --json")).json();
    assert_eq!(shown("next")["next"], started["next"]);
    assert_eq!(shown("pause")["next"], json!({ "kind": "paused" }));
    assert_eq!(shown("resume")["next"], started["next"]);
    assert_eq!(shown("cancel")["status"], json!("cancelled"));
    let refused = sandbox.maestro(&format!("workflow resume {run} --json"));
    assert_ne!(refused.code, 0, "{refused}");
}

/// What a run waits for.
pub(crate) fn directive(sandbox: &Sandbox, run: &str) -> Json {
    serde_json::from_str(&sandbox.maestro_with(&["workflow", "next", run, "--format", "json"]).stdout()).unwrap()
}

pub(crate) fn ticket(sandbox: &Sandbox, run: &str) -> String {
    directive(sandbox, run)["ticket"].as_str().expect("it waits for nobody").to_owned()
}

/// The run that was begun last.
pub(crate) fn last_run(sandbox: &Sandbox) -> String {
    let runs = sandbox.maestro("workflow runs --all --json").json();
    runs.as_array().unwrap().last().unwrap()["id"].as_str().unwrap().to_owned()
}

/// A run that waits for the tea to be steeped.
pub(crate) fn steeping(sandbox: &Sandbox) -> String {
    sandbox.maestro("workflow start brew --param who=Ada");
    let run = last_run(sandbox);
    let answered = sandbox.maestro_with(&["workflow", "answer", &run, "--ticket", &ticket(sandbox, &run), "black"]);
    assert_eq!(answered.code, 0, "{answered}");
    run
}

/// Reports with a result on standard input.
pub(crate) fn report(sandbox: &Sandbox, run: &str, ticket: &str, result: &str) -> Output {
    sandbox.maestro_told(&[], &["workflow", "report", run, "--ticket", ticket, "--result-file", "-"], result)
}

#[test]
fn a_run_is_started_answered_reported_and_complete() {
    let sandbox = kitchen();
    assert_snapshot!(sandbox.maestro("workflow start brew --param who=Ada"), @r#"
    $ maestro workflow start brew --param who=Ada
    STEP 1/2: Choose

    ASK THE USER:
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
    let run = last_run(&sandbox);
    let choice = ticket(&sandbox, &run);
    assert_snapshot!(sandbox.maestro_with(&["workflow", "answer", &run, "--ticket", &choice, "black"]), @"
    $ maestro workflow answer [RUN-1] --ticket choose#1.[NONCE] black
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
    ");
    let first = ticket(&sandbox, &run);
    assert_snapshot!(report(&sandbox, &run, &first, "{\"minutes\": 30}"), @"
    $ maestro workflow report [RUN-1] --ticket steep#1.[NONCE] --result-file -
    STEP 2/2: Steep the tea
      Make black tea.

    VISIT 2 of 3

    DO:
      Boil water.
      Pour it over the leaves.

    FORBIDDEN:
      Use a microwave

    RESULT (JSON on standard input of the command below):
      minutes (int): How long it steeped

    NEXT: run
      maestro workflow report [RUN-1] --ticket steep#2.[NONCE] --result-file -
    ");
    let second = ticket(&sandbox, &run);
    assert_ne!(first, second);
    assert_snapshot!(report(&sandbox, &run, &second, "{\"minutes\": 4}"), @"
    $ maestro workflow report [RUN-1] --ticket steep#2.[NONCE] --result-file -
    SHOW THE USER:
      Here is black tea, Ada.

    WORKFLOW COMPLETE: success
      Ada has tea.

    OUTPUTS:
      kind: black
      minutes: 4
    ");
    assert_snapshot!(sandbox.maestro_with(&["workflow", "next", &run]), @"
    $ maestro workflow next [RUN-1]
    SHOW THE USER:
      Here is black tea, Ada.

    WORKFLOW COMPLETE: success
      Ada has tea.

    OUTPUTS:
      kind: black
      minutes: 4
    ");
}

#[test]
fn runs_are_listed_paused_resumed_and_cancelled() {
    let sandbox = kitchen();
    assert_snapshot!(sandbox.maestro("workflow runs"), @"
    $ maestro workflow runs
    No runs here. Run `maestro workflow start NAME` to start one.
    ");
    let (first, second) = (steeping(&sandbox), steeping(&sandbox));
    assert_snapshot!(sandbox.maestro_with(&["workflow", "pause", &first]), @"
    $ maestro workflow pause [RUN-1]
    PAUSED: run [RUN-1] waits until it is resumed

    NEXT: nothing; to resume, run
      maestro workflow resume [RUN-1]
    ");
    assert_eq!(sandbox.maestro_with(&["workflow", "pause", &first]).code, 0, "what is so already is fine");
    let steep = ticket(&sandbox, &second);
    assert_snapshot!(report(&sandbox, &first, "steep#1.000000", "{\"minutes\": 4}"), @"
    $ maestro workflow report [RUN-1] --ticket steep#1.[NONCE] --result-file -
    PAUSED: run [RUN-1] waits until it is resumed

    NEXT: nothing; to resume, run
      maestro workflow resume [RUN-1]
    --- stderr
    error: the run is paused; resume it first
    hint: nothing was changed
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro_with(&["workflow", "cancel", &second]), @"
    $ maestro workflow cancel [RUN-2]
    WORKFLOW COMPLETE: cancelled
    ");
    assert_snapshot!(report(&sandbox, &second, &steep, "{\"minutes\": 4}"), @"
    $ maestro workflow report [RUN-2] --ticket steep#1.[NONCE] --result-file -
    WORKFLOW COMPLETE: cancelled
    --- stderr
    error: the run is over
    hint: nothing was changed
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro("workflow runs"), @"
    $ maestro workflow runs
    [RUN-1]  paused               brew                 at steep
    [RUN-2]  stopped              brew                 at steep
    2 runs
    ");
    assert_snapshot!(sandbox.maestro("workflow runs --status cancelled"), @"
    $ maestro workflow runs --status cancelled
    [RUN-2]  stopped              brew                 at steep
    1 run
    ");
    assert_snapshot!(sandbox.maestro("workflow runs --status asleep"), @"
    $ maestro workflow runs --status asleep
    --- stderr
    error: status: must be one of running, paused, completed, failed, cancelled
    --- exit 1
    ");
    assert_snapshot!(sandbox.maestro_with(&["workflow", "resume", &first]), @"
    $ maestro workflow resume [RUN-1]
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
    ");
}

#[test]
fn everything_that_happened_is_in_the_log() {
    let sandbox = kitchen();
    let run = steeping(&sandbox);
    let log = sandbox.maestro_with(&["workflow", "log", &run, "--json"]).json();
    let kinds: Vec<&str> = log.as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_snapshot!(kinds.join("\n"), @"
    run:began
    run:entered
    run:waiting
    run:progressed
    run:reported
    run:set
    run:resulted
    run:executed
    run:left
    run:entered
    run:waiting
    run:reported
    run:answered
    run:set
    run:left
    run:entered
    run:waiting
    ");
    let printed = sandbox.maestro_with(&["workflow", "log", &run]).stdout();
    assert!(!printed.contains("run:progressed") && !printed.contains("fingerprint"), "for people: {printed}");
    let answered = printed.lines().find(|line| line.contains(" answered ")).unwrap();
    assert!(answered.contains("step choose was answered by a script: black"), "{printed}");
    let (time, _) = answered.split_once("  ").unwrap();
    assert!(time.starts_with("20") && time.ends_with('Z'), "{answered}");
}

#[test]
fn a_run_in_the_terminal_takes_the_usual_answers_and_stops_where_an_agent_is_needed() {
    let sandbox = kitchen();
    assert_snapshot!(sandbox.maestro("workflow run brew --param who=Ada --yes"), @"
    $ maestro workflow run brew --param who=Ada --yes
    # Step 2/2: Steep the tea

    Make green tea.

    ## Visit 1 of 3

    ## Do

    - Boil water.
    - Pour it over the leaves.

    ## Forbidden

    - Use a microwave

    ## Result (JSON on standard input of the command below)

    | field | type | meaning |
    |---|---|---|
    | minutes | int | How long it steeped |

    ## Next: run

    ```sh
    maestro workflow report [RUN-1] --ticket steep#1.[NONCE] --result-file -
    ```
    --- stderr
    note: `Steep the tea` waits for an agent; it goes on with `maestro workflow next [RUN-1]`, or start again with `maestro workflow run brew --agent NAME`
    ");
    assert_snapshot!(sandbox.maestro("workflow run brew --param who=Ada"), @r#"
    $ maestro workflow run brew --param who=Ada
    # Step 1/2: Choose

    ## Ask the user

    green and black: which for Ada?

    1. green
    2. black

    (usually: green)

    ## Next: run this, ANSWER being what the user said

    ```sh
    maestro workflow answer [RUN-2] --ticket choose#1.[NONCE] 'ANSWER'
    ```

    ANSWER is what the user said, as one argument: put it between the quotes, and write ' in it as '"'"'. An option can be given by its number or by its words.

    If the user does not want to answer, run instead:

    ```sh
    maestro workflow answer [RUN-2] --ticket choose#1.[NONCE] --declined
    ```

    If the user wants to stop here, run instead:

    ```sh
    maestro workflow answer [RUN-2] --ticket choose#1.[NONCE] --cancelled
    ```
    --- stderr
    note: it waits for an answer; give it with `maestro session answer [RUN-2] green|black`, or run it in a terminal
    "#);
    std::fs::remove_file(sandbox.path("teas.txt")).unwrap();
    assert_snapshot!(sandbox.maestro("workflow run brew --param who=Ada --yes"), @"
    $ maestro workflow run brew --param who=Ada --yes
    [failed] look: it exited with 1: cat: teas.txt: No such file or directory
    # Workflow complete: failure

    There is no tea.

    ## Outputs

    | name | value |
    |---|---|
    | kind |  |
    | minutes |  |
    --- exit 1
    ");
}

#[test]
fn a_named_agent_does_the_steps_until_a_person_is_asked() {
    let sandbox = Sandbox::new().with_variable("PATH", "/usr/bin:/bin");
    sandbox.write(
        ".claude/skills/greet/workflow.yaml",
        "name: greet
description: Greet somebody. Use when somebody comes.
steps:
- {id: write, type: agent, actions: [Add a file hello.txt that says hi], result: {summary: {type: string}}, next: {fail: lost}}
- id: ask
  type: question
  prompt: Is it good?
  options: [{value: y, title: \"Yes, send it\"}, {value: n, title: \"No\"}]
  next: {ok: end, declined: end, cancelled: end}
- {id: lost, type: end, status: blocked, message: Nothing was written}
",
    );
    let run = sandbox.maestro("workflow run greet --agent demo");
    let written = std::fs::read_to_string(sandbox.path("hello.txt"));
    assert_eq!(written.ok().as_deref(), Some("hi\n"), "{run}");
    assert!(run.stdout().contains("[agent] write: demo works on it"), "{run}");
    assert!(run.stdout().contains("1. y: Yes, send it") && run.stderr().contains("it waits for an answer"), "{run}");
    let note = run.stderr();
    let answer = note.split('`').nth(1).unwrap().strip_prefix("maestro ").unwrap().replace("y|n", "y");
    let answered = sandbox.maestro(&answer);
    assert_eq!(answered.code, 0, "the command works as it is printed: {answered}");
}

#[test]
fn an_agent_is_told_how_to_look_and_what_its_step_wants_to_know() {
    let sandbox = Sandbox::new().with_variable("PATH", "/usr/bin:/bin");
    let state = sandbox.path("~/state");
    std::fs::create_dir_all(&state).unwrap();
    let (state, told) = (state.display().to_string(), sandbox.path("~/state/told"));
    // It completes at once, and does as it was told once that is refused.
    let script = format!(
        "cat > {state}/told; maestro complete early 2> {state}/refused && exit; \
         command=$(grep -o 'maestro workflow report .*--outcome ok --result-file -' {state}/told | head -n 1); \
         echo '{{\"items\": [{{\"id\": \"a\", \"scope\": \"all\", \"check\": \"Is it kind?\", \"severity\": \"MUST\"}}]}}' | $command; \
         maestro complete listed"
    );
    let table = format!(
        "[scribe]\nprefer = [\"text\"]\nwrites = [\"{state}\"]\n[scribe.text]\nprograms = [\"sh\"]\nargs = [\"-c\", '''{script}'''] \n\
         prompt = \"stdin\"\nformat = \"text\"\n"
    );
    sandbox.write("~/.config/maestro/agents.toml", table);
    sandbox.write(
        ".claude/skills/greet/workflow.yaml",
        "name: greet
description: Greet somebody. Use when somebody comes.
reviews: {tone: {max_items: 5}}
steps:
- {id: plan, type: agent, title: Say what must be checked, actions: [Name what matters], review: {name: tone, part: decompose}, next: {ok: ask, fail: lost}}
- {id: ask, type: question, prompt: Is it good?, options: [y, n], next: {y: end, n: look, declined: end, cancelled: end}}
- {id: look, type: agent, actions: [Look], review: {name: tone, part: verify}, next: {ok: gate, fail: lost}}
- {id: gate, type: gate, review: tone, next: {pass: end, fail: plan, exhausted: lost}}
- {id: lost, type: end, status: blocked, message: Nothing was listed}
",
    );
    let run = sandbox.maestro("workflow run greet --agent scribe");
    assert!(run.stdout().contains("Is it good?"), "{run}");
    let prompt = std::fs::read_to_string(&told).unwrap();
    for part in
        ["- Name what matters", "Ask open questions", "## Your result", "- `items` (list): each {id, scope, check"]
    {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    let refused = std::fs::read_to_string(told.with_file_name("refused")).unwrap();
    assert!(refused.contains("not complete: your result is missing. First run `maestro workflow report "), "{refused}");
}

#[test]
fn an_agent_whose_result_decides_is_asked_for_it_and_completes_only_with_it() {
    let sandbox = Sandbox::new().with_variable("PATH", "/usr/bin:/bin");
    let state = sandbox.path("~/state");
    std::fs::create_dir_all(&state).unwrap();
    let state = state.display().to_string();
    let script = format!(
        "cat > {state}/told; maestro complete early 2> {state}/refused && exit; \
         command=$(grep -o 'maestro workflow report .* --result-file -' {state}/told | head -n 1); \
         echo '{{\"minutes\": 4, \"notes\": [{{\"id\": \"N1\"}}]}}' | $command; maestro complete steeped"
    );
    let table = format!(
        "[scribe]\nprefer = [\"text\"]\nwrites = [\"{state}\"]\n[scribe.text]\nprograms = [\"sh\"]\nargs = [\"-c\", '''{script}'''] \n\
         prompt = \"stdin\"\nformat = \"text\"\n"
    );
    sandbox.write("~/.config/maestro/agents.toml", table);
    sandbox.write(
        ".claude/skills/greet/workflow.yaml",
        "name: greet
description: Steep tea. Use when somebody comes.
steps:
- id: steep
  type: agent
  result: {minutes: {type: int, description: How long}, notes: {type: list, fields: {id: {type: string, description: N1 …}}}}
  outcome_from: [{when: result.minutes > 20, outcome: bitter}, {else: good}]
  next: {good: end, bitter: lost}
- {id: lost, type: end, status: blocked, message: It is bitter}
outputs: {minutes: '{steps.steep.result.minutes}'}
",
    );
    let run = sandbox.maestro("workflow run greet --agent scribe");
    assert_eq!(run.code, 0, "{run}");
    assert!(run.stdout().contains("minutes: 4"), "{run}");
    let prompt = std::fs::read_to_string(sandbox.path("~/state/told")).unwrap();
    for part in ["## Your result", "run this; without it", "- `minutes` (int): How long", "(list of {id}): `id`: N1 …"]
    {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    let refused = std::fs::read_to_string(sandbox.path("~/state/refused")).unwrap();
    assert!(refused.contains("your result is missing") && !refused.contains("--outcome"), "{refused}");
}
