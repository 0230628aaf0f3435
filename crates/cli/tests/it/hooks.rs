//! What agents' hooks call: it tells the server what it can, and never stands in the agent's way.

use insta::assert_snapshot;

use crate::sandbox::Sandbox;
use crate::worker::Desk;

#[test]
fn a_hook_makes_its_session_known_and_ends_it() {
    let desk = Desk::new();
    let variables = [("MAESTRO_SESSION_ID", "sess_mine"), ("MAESTRO_TASK_IDS", desk.task.as_str())];
    let hook = |args: &[&str]| desk.sandbox.maestro_as(&variables, &[&["session"], args].concat());
    assert_snapshot!(hook(&["register"]), @"
    $ MAESTRO_SESSION_ID=sess_mine MAESTRO_TASK_IDS=[TASK-1] maestro session register
    sess_mine started.
    ");
    assert_snapshot!(hook(&["register"]), @"
    $ MAESTRO_SESSION_ID=sess_mine MAESTRO_TASK_IDS=[TASK-1] maestro session register
    sess_mine started.
    ");
    assert_snapshot!(hook(&["needs-input"]), @"
    $ MAESTRO_SESSION_ID=sess_mine MAESTRO_TASK_IDS=[TASK-1] maestro session needs-input
    Asked.
    ");
    assert_snapshot!(hook(&["info"]), @"
    $ MAESTRO_SESSION_ID=sess_mine MAESTRO_TASK_IDS=[TASK-1] maestro session info
    sess_mine Worker for [TASK-1]
      worker, working, in [PROJECT-1]
      asks: Waiting for your input
      tasks: [TASK-1]
      session_started  Session created
      task_started     Started working on task
      needs_input      Waiting for your input
    ");
    assert_snapshot!(hook(&["resume-working"]), @"
    $ MAESTRO_SESSION_ID=sess_mine MAESTRO_TASK_IDS=[TASK-1] maestro session resume-working
    Working again.
    ");
    hook(&["resume-working"]);
    assert_snapshot!(hook(&["complete"]), @"
    $ MAESTRO_SESSION_ID=sess_mine MAESTRO_TASK_IDS=[TASK-1] maestro session complete
    sess_mine ended.
    ");
    assert_snapshot!(hook(&["info"]), @"
    $ MAESTRO_SESSION_ID=sess_mine MAESTRO_TASK_IDS=[TASK-1] maestro session info
    sess_mine Worker for [TASK-1]
      worker, completed, in [PROJECT-1]
      tasks: [TASK-1]
      session_started  Session created
      task_started     Started working on task
      needs_input      Waiting for your input
      progress         Working again
    ");
    // The task was not said to be done, so it waits for somebody else.
    assert_eq!(desk.person(&["task", "get", &desk.task, "--json"]).json()["status"], "todo");
}

#[test]
fn a_task_alone_is_enough_for_a_hook() {
    let desk = Desk::new();
    for hook in ["register", "needs-input", "resume-working", "complete"] {
        let output = desk.worker(&["session", hook]);
        assert_eq!((output.code, output.stderr().as_str()), (0, ""), "{output}");
    }
}

#[test]
fn a_hook_that_fails_says_so_and_ends_well() {
    let sandbox =
        Sandbox::new().with_variable("MAESTRO_API_URL", "http://127.0.0.1:9").with_variable("MAESTRO_RETRIES", "0");
    let variables = [("MAESTRO_SESSION_ID", "sess_mine")];
    for hook in ["register", "complete", "needs-input", "resume-working"] {
        let output = sandbox.maestro_as(&variables, &["session", hook]);
        assert_eq!((output.code, output.stdout().as_str()), (0, ""), "{output}");
        assert!(output.stderr().starts_with("error: cannot connect to http://127.0.0.1:9\n"), "{output}");
    }
    let output = sandbox.maestro_as(&variables, &["session", "register", "--json"]);
    assert_eq!((output.code, output.json()["error"].as_str()), (0, Some("network_error")), "{output}");
    assert_snapshot!(Sandbox::new().maestro("session complete"), @"
    $ maestro session complete
    --- stderr
    error: no session or task set
    hint: set MAESTRO_SESSION_ID or MAESTRO_TASK_ID; sessions that Maestro starts have both
    ");
}
