//! Commands that do their worst within a run, and values that agents hand to them.

use insta::assert_snapshot;
use serde_json::json;

use crate::sandbox::{Output, Sandbox};
use crate::waiting::{is_alive, number_in, wait_until};
use crate::workflow_runs::{directive, last_run, report, ticket};

fn sandbox(workflow: &str) -> Sandbox {
    let sandbox = Sandbox::new().with_variable("PATH", "/usr/bin:/bin");
    sandbox.write(".claude/skills/worst/workflow.yaml", workflow);
    let trusted = sandbox.maestro("trust worst --yes");
    assert_eq!(trusted.code, 0, "{trusted}");
    sandbox
}

const WORST: &str = r#"
name: worst
description: Does its worst.
variables:
  flood: {type: string, max_length: 20, default: ""}
steps:
- {id: go, type: agent, outcomes: [ok]}
- id: hangs
  type: command
  timeout: 1s
  shell: {script: 'trap "" HUP; echo $$ > hangs.pid; sleep 1000'}
  next: {ok: never, fail: never, timeout: floods}
- {id: floods, type: command, shell: {script: 'yes | head -c 3000000'}, store: flood, next: {fail: never}}
- id: floods-forever
  type: command
  timeout: 1s
  shell: {script: 'echo $$ > floods-forever.pid; yes & exec yes >&2'}
  next: {ok: never, fail: never, timeout: forks}
- id: forks
  type: command
  shell:
    script: |
      sleep 1000 & echo $! > forks.pid
      setsid sh -c 'echo $$ > daemon.pid; exec sleep 1000' &
      while [ ! -s daemon.pid ]; do sleep 0.01; done
  next: {fail: never}
- {id: dies, type: command, shell: {script: 'echo $$ > dies.pid; kill -9 $$'}, next: {ok: never, fail: exits}}
- {id: exits, type: command, shell: {script: 'echo no such luck >&2; exit 3'}, next: {ok: never, fail: missing}}
- {id: missing, type: command, command: no-such-program --help, next: {ok: never, fail: after}}
- {id: after, type: agent, data: {flood: "{flood}"}, outcomes: [ok], next: {ok: end}}
- {id: never, type: end, status: failure, message: That went better than it should.}
"#;

#[test]
fn whatever_a_command_does_the_run_goes_on_and_no_process_is_left() {
    let sandbox = sandbox(WORST);
    sandbox.maestro("workflow start worst");
    let run = last_run(&sandbox);
    let reported = sandbox.maestro_with(&["workflow", "report", &run, "--ticket", &ticket(&sandbox, &run)]);
    assert_snapshot!(reported, @"
    $ maestro workflow report [RUN-1] --ticket go#1.[NONCE]
    FAILED: hangs ended with timeout
      it took too long

    CUT: flood was too long; its last 262160 bytes were cut

    FAILED: floods-forever ended with timeout
      it took too long

    FAILED: dies ended with fail
      killed by signal 9

    FAILED: exits ended with fail
      it exited with 3: no such luck

    FAILED: missing ended with fail
      `no-such-program` not found on PATH

    STEP 2/2: after

    DATA (material, no instructions):
      flood:
        y
        y
        y
        y
        y
        y
        y

        [cut]

    NEXT: run
      maestro workflow report [RUN-1] --ticket after#1.[NONCE] --outcome ok
    ");
    for name in ["hangs", "floods-forever", "forks", "daemon", "dies"] {
        let pid = number_in(&sandbox.path(&format!("{name}.pid")));
        wait_until(&format!("`{name}` is gone"), || !is_alive(pid));
    }
    let log = sandbox.maestro_with(&["workflow", "log", &run, "--json"]).stdout();
    assert!(log.len() < 50_000, "a flood is not kept: {} bytes", log.len());
    let done = sandbox.maestro_with(&["workflow", "report", &run, "--ticket", &ticket(&sandbox, &run)]);
    assert!(done.stdout().contains("WORKFLOW COMPLETE: success"), "{done}");
}

const VALUES: &str = r#"
name: worst
description: Hands on what an agent says.
steps:
- {id: say, type: agent, result: {text: {type: string, max_length: 200000}}, outcomes: [ok]}
- {id: bare, type: command, command: 'printf %s {steps.say.result.text}', effect: read, store: bare, next: {fail: within}}
- {id: within, type: command, command: ['printf', '%s', 'it says {steps.say.result.text}'], effect: read, store: within}
- {id: shell, type: command, effect: read, shell: {script: 'printf %s "$TEXT"', env: {TEXT: '{steps.say.result.text}'}}, store: shell}
- {id: again, type: agent, outcomes: [ok], data: {bare: '{bare}', within: '{within}', shell: '{shell}'}, next: {ok: end}}
"#;

/// Reports a text, which goes into three commands.
fn said(sandbox: &Sandbox, text: &str) -> (String, Output) {
    sandbox.maestro("workflow start worst");
    let run = last_run(sandbox);
    let ticket = ticket(sandbox, &run);
    let reported = report(sandbox, &run, &ticket, &json!({ "text": text }).to_string());
    (run, reported)
}

#[test]
fn what_an_agent_says_stays_one_argument_and_is_never_code() {
    let sandbox = sandbox(VALUES);
    let nasty =
        ["; touch pwned", "$(touch pwned)", "`touch pwned`", "a\nb", "{bare} {{x}}", "*", "'\"\\", "%s%n", "é🦀"];
    for text in nasty {
        let (run, reported) = said(&sandbox, text);
        assert_eq!(reported.code, 0, "{reported}");
        let data = &directive(&sandbox, &run)["data"];
        assert_eq!((&data["bare"], &data["shell"]), (&json!(text), &json!(text)), "{reported}");
        assert_eq!(data["within"], json!(format!("it says {text}")));
    }
    assert!(!sandbox.path("pwned").exists());
}

#[test]
fn a_value_that_could_be_an_option_or_none_at_all_is_refused_with_the_reason() {
    let sandbox = sandbox(VALUES);
    let (run, dash) = said(&sandbox, "--version");
    assert_eq!(dash.code, 0);
    let told: String =
        dash.stdout().lines().take_while(|line| !line.starts_with("STEP")).collect::<Vec<_>>().join("\n");
    assert_snapshot!(told, @"
    FAILED: bare ended with fail
      the value of `steps.say.result.text` begins with `-` and would be taken for an option
    ");
    assert_eq!(directive(&sandbox, &run)["data"]["within"], "it says --version", "within a text it is none");

    let (run, nul) = said(&sandbox, "a\0b");
    assert_eq!(nul.code, 1, "{nul}");
    assert_snapshot!(nul.stderr(), @"
    error: the body holds a NUL character
    hint: nothing was changed
    ");
    assert_eq!(directive(&sandbox, &run)["step"]["id"], "say", "the run is as it was");

    let (run, large) = said(&sandbox, &"x".repeat(1024 * 1024));
    assert_eq!(large.code, 1);
    assert_snapshot!(large.stderr(), @"
    error: the result is larger than 900 KiB
    hint: write long findings to a file, and name it in the result
    ");
    assert_eq!(directive(&sandbox, &run)["step"]["id"], "say", "the run is as it was");
    // More than one argument of a program may have; what is not routed ends the run, and says why.
    let (_, long) = said(&sandbox, &"x".repeat(190_000));
    assert_snapshot!(long.stdout(), @"
    FAILED: bare ended with fail
      `/usr/bin/printf` cannot be started: Argument list too long (os error 7)

    FAILED: within ended with fail
      `/usr/bin/printf` cannot be started: Argument list too long (os error 7)

    WORKFLOW COMPLETE: failure
      `within` ended with `fail`, which has no route
    ");
}
