//! Who may do what: `whoami`, `commands`, and that the server holds to what they say.

use insta::assert_snapshot;

use crate::worker::Desk;

#[test]
fn a_session_knows_who_it_is() {
    let desk = Desk::new();
    desk.hired("sess_w", "worker", &desk.task);
    assert_snapshot!(desk.session("sess_w", &["whoami"]), @"
    $ MAESTRO_SESSION_ID=sess_w maestro whoami
    role      worker
    session   sess_w  working, Worker for [TASK-1]
    strategy  simple
    project   [PROJECT-1]
    tasks     [TASK-1]
    database  [HOME]/.maestro/maestro.db (no server)
    commands  info, update, complete, blocked, report, subtask list, subtask complete, subtask fail, subtask create, task list, task get, task create, task children, task update, task start, task complete, task block, task delete, task tree, session info, session get, session list, session register, session complete, session needs-input, session resume-working, session pause, session cancel, session rename, session suggest-name, say, show, worker init, orchestrator init, handoff create, handoff list, handoff accept, handoff complete, project list, project get, manifest generate, track-file, status, events, whoami, commands
    ");
    assert_snapshot!(desk.session("sess_w", &["whoami", "--json"]), @r#"
    $ MAESTRO_SESSION_ID=sess_w maestro whoami --json
    {
      "role": "worker",
      "sessionId": "sess_w",
      "sessionStatus": "working",
      "strategy": "simple",
      "projectId": "[PROJECT-1]",
      "taskIds": [
        "[TASK-1]"
      ],
      "server": null,
      "database": "[HOME]/.maestro/maestro.db",
      "commands": [
        "info",
        "update",
        "complete",
        "blocked",
        "report",
        "subtask list",
        "subtask complete",
        "subtask fail",
        "subtask create",
        "task list",
        "task get",
        "task create",
        "task children",
        "task update",
        "task start",
        "task complete",
        "task block",
        "task delete",
        "task tree",
        "session info",
        "session get",
        "session list",
        "session register",
        "session complete",
        "session needs-input",
        "session resume-working",
        "session pause",
        "session cancel",
        "session rename",
        "session suggest-name",
        "say",
        "show",
        "worker init",
        "orchestrator init",
        "handoff create",
        "handoff list",
        "handoff accept",
        "handoff complete",
        "project list",
        "project get",
        "manifest generate",
        "track-file",
        "status",
        "events",
        "whoami",
        "commands"
      ]
    }
    "#);
    assert_snapshot!(desk.worker(&["whoami"]), @"
    $ MAESTRO_TASK_ID=[TASK-1] maestro whoami
    role      worker
    session   sess_w  working, Worker for [TASK-1]
    strategy  simple
    project   [PROJECT-1]
    tasks     [TASK-1]
    database  [HOME]/.maestro/maestro.db (no server)
    commands  info, update, complete, blocked, report, subtask list, subtask complete, subtask fail, subtask create, task list, task get, task create, task children, task update, task start, task complete, task block, task delete, task tree, session info, session get, session list, session register, session complete, session needs-input, session resume-working, session pause, session cancel, session rename, session suggest-name, say, show, worker init, orchestrator init, handoff create, handoff list, handoff accept, handoff complete, project list, project get, manifest generate, track-file, status, events, whoami, commands
    ");
    assert_eq!(desk.sandbox.maestro_as(&[("MAESTRO_SESSION_ID", "sess_gone")], &["whoami"]).code, 2);
}

#[test]
fn commands_say_what_a_role_may_use() {
    let desk = Desk::new();
    desk.hired("sess_w", "worker", &desk.task);
    desk.hired("sess_o", "orchestrator", &desk.task);
    assert_snapshot!(desk.session("sess_w", &["commands"]), @"
    $ MAESTRO_SESSION_ID=sess_w maestro commands
    As worker you may use all commands for files, and:

      info
      update
      complete
      blocked
      report                  your tasks, and those below them
      subtask list
      subtask complete        your tasks, and those below them
      subtask fail            your tasks, and those below them
      subtask create          your tasks, and those below them
      task list
      task get
      task create             your tasks, and those below them
      task children
      task update             your tasks, and those below them
      task start              your tasks, and those below them
      task complete           your tasks, and those below them
      task block              your tasks, and those below them
      task delete             your tasks, and those below them
      task tree
      session info
      session get
      session list
      session register
      session complete
      session needs-input
      session resume-working
      session pause           your own session
      session cancel          your own session
      session rename          your own session
      session suggest-name
      say
      show
      worker init
      orchestrator init
      handoff create
      handoff list
      handoff accept
      handoff complete
      project list
      project get
      manifest generate
      track-file
      status
      events
      whoami
      commands
    ");
    assert_snapshot!(desk.session("sess_w", &["commands", "--check", "task:update"]), @"
    $ MAESTRO_SESSION_ID=sess_w maestro commands --check task:update
    worker may use `task update`, for your tasks, and those below them.
    ");
    assert_snapshot!(desk.session("sess_w", &["commands", "--check", "project create"]), @r#"
    $ MAESTRO_SESSION_ID=sess_w maestro commands --check "project create"
    --- stderr
    error: worker may not use `project create`
    hint: run `maestro commands` for the commands you may use
    --- exit 4
    "#);
    assert_snapshot!(desk.session("sess_w", &["commands", "--check", "queue push", "--json"]), @r#"
    $ MAESTRO_SESSION_ID=sess_w maestro commands --check "queue push" --json
    {
      "command": "queue push",
      "role": "worker",
      "allowed": false,
      "only": null
    }
    --- exit 4
    "#);
    assert_eq!(desk.session("sess_o", &["commands", "--check", "queue push"]).code, 0);
    assert_eq!(desk.session("sess_w", &["commands", "--check", "skills list"]).code, 0);
    assert_eq!(desk.person(&["commands", "--check", "project create"]).code, 0);
    assert_eq!(desk.person(&["commands", "--check", "task banana"]).code, 2);
    assert_eq!(desk.person(&["commands", "--check", ""]).code, 2);
}

#[test]
fn a_worker_keeps_to_its_own_tasks() {
    let desk = Desk::new();
    let other = desk.person(&["task", "create", "Somebody else's"]).id();
    desk.hired("sess_w", "worker", &desk.task);
    desk.hired("sess_x", "worker", &other);
    let forbidden: [&[&str]; 13] = [
        &["task", "update", &other, "--status", "completed"],
        &["task", "start", &other],
        &["task", "complete", &other],
        &["task", "block", &other, "--reason", "x"],
        &["task", "delete", &other],
        &["task", "delete", &desk.task],
        &["task", "create", "At the top"],
        &["task", "create", "Below another's", "--parent", &other],
        &["report", "progress", "x", "--task", &other],
        &["session", "pause", "sess_x"],
        &["session", "rename", "sess_x", "y"],
        &["project", "create", "z"],
        &["project", "delete", &desk.project],
    ];
    for args in forbidden {
        let output = desk.session("sess_w", &[args, &["--json"]].concat());
        assert_eq!((output.code, output.json()["error"].as_str()), (4, Some("permission_denied")), "{output}");
    }
    assert_snapshot!(desk.session("sess_w", &["task", "complete", &other]), @"
    $ MAESTRO_SESSION_ID=sess_w maestro task complete [TASK-2]
    --- stderr
    error: task '[TASK-2]' is not assigned to session 'sess_w', nor below a task that is
    hint: run `maestro whoami` for your role, `maestro commands` for what you may do
    --- exit 4
    ");
    assert_snapshot!(desk.session("sess_w", &["task", "create", "At the top"]), @r#"
    $ MAESTRO_SESSION_ID=sess_w maestro task create "At the top"
    --- stderr
    error: session 'sess_w' is a worker and may not make tasks that are not below its own
    hint: run `maestro whoami` for your role, `maestro commands` for what you may do
    hint: use `maestro subtask create` for your own task
    --- exit 4
    "#);
    assert_eq!(desk.person(&["task", "get", &other, "--json"]).json()["status"], "todo");
    // Its own it may; the task follows when all who work on it are done.
    assert_snapshot!(desk.session("sess_w", &["task", "complete", &desk.task]), @"
    $ MAESTRO_SESSION_ID=sess_w maestro task complete [TASK-1]
    [TASK-1]  completed  Build the login
    ");
}

#[test]
fn an_orchestrator_hands_work_to_a_worker_that_hears_of_it() {
    let desk = Desk::new();
    let plan = desk.person(&["task", "create", "Plan"]).id();
    desk.hired("sess_o", "orchestrator", &plan);
    desk.hired("sess_w", "worker", &desk.task);
    assert_snapshot!(desk.session("sess_o", &["task", "create", "Also fix the tests", "--parent", &desk.task]), @r#"
    $ MAESTRO_SESSION_ID=sess_o maestro task create "Also fix the tests" --parent [TASK-1]
    [TASK-3]  Also fix the tests
    "#);
    assert_snapshot!(desk.session("sess_o", &["say", "sess_w", "Begin with it"]), @r#"
    $ MAESTRO_SESSION_ID=sess_o maestro say sess_w "Begin with it"
    queued: sess_w receives it with its next command, or when it restarts.
    "#);
    assert_snapshot!(desk.session("sess_w", &["update", "Created auth.ts file"]), @r#"
    $ MAESTRO_SESSION_ID=sess_w maestro update "Created auth.ts file"
    Reported.
    ! 1 new subtask: Also fix the tests
    ! sess_o says: Begin with it
    "#);
}

#[test]
fn who_knows_only_its_task_has_a_workers_rights_once_it_has_spoken() {
    let desk = Desk::new();
    desk.begin();
    let foreign = desk.person(&["task", "create", "Somebody else's"]).id();
    for args in [
        &["task", "update", &foreign, "--status", "completed"][..],
        &["task", "delete", &foreign],
        &["task", "create", "At the root"],
        &["project", "create", "mine"],
    ] {
        let refused = desk.worker(args);
        assert_eq!(refused.code, 4, "{refused}");
    }
    assert_eq!(desk.person(&["task", "get", &foreign, "--json"]).json()["status"], "todo");
}
