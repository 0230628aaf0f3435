//! A worker at its work, minute by minute: it reads its task, makes progress, reports it, and receives updates.

use insta::assert_snapshot;

use crate::sandbox::{Output, Sandbox};

/// A project with one task, and whoever works on it.
pub(crate) struct Desk {
    pub(crate) sandbox: Sandbox,
    pub(crate) project: String,
    pub(crate) task: String,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self::in_sandbox(Sandbox::new())
    }

    pub(crate) fn in_sandbox(sandbox: Sandbox) -> Self {
        let project = sandbox.maestro("project create shop").id();
        let task = sandbox.maestro_with(&["task", "create", "Build the login", "-d", "With OAuth.\nNo passwords."]);
        let task = task.id();
        Self { sandbox, project, task }
    }

    /// What the worker types, who knows no more than its task.
    pub(crate) fn worker(&self, args: &[&str]) -> Output {
        self.sandbox.maestro_as(&[("MAESTRO_TASK_ID", &self.task)], args)
    }

    /// What a person or an orchestrator without a session types.
    pub(crate) fn person(&self, args: &[&str]) -> Output {
        self.sandbox.maestro_as(&[], args)
    }

    /// What a session types.
    pub(crate) fn session(&self, session: &str, args: &[&str]) -> Output {
        self.sandbox.maestro_as(&[("MAESTRO_SESSION_ID", session)], args)
    }

    /// The worker's session, which its first word begins.
    pub(crate) fn begin(&self) -> String {
        self.worker(&["update", "Hello", "--json"]).json()["sessionId"].as_str().unwrap().to_owned()
    }

    /// A session made by a hook, with a name of its own.
    pub(crate) fn hired(&self, id: &str, role: &str, task: &str) {
        let variables = [("MAESTRO_SESSION_ID", id), ("MAESTRO_ROLE", role), ("MAESTRO_TASK_ID", task)];
        let output = self.sandbox.maestro_as(&variables, &["session", "register"]);
        assert_eq!((output.code, output.stderr().as_str()), (0, ""), "{output}");
    }
}

/// All that seed 2 describes, as it is typed and answered.
fn minute_by_minute(desk: &Desk) -> String {
    let mut said = Vec::new();
    let mut note = |output: Output| said.push(output.to_string());
    note(desk.worker(&["info"]));
    note(desk.worker(&["update", "Reading auth.rs"]));
    note(desk.worker(&["update"]));
    note(desk.worker(&["subtask", "create", "Write the form"]));
    let added = desk.person(&["task", "create", "Also fix the tests", "--parent", &desk.task, "--priority", "high"]);
    let added_id = added.id();
    note(added);
    note(desk.worker(&["update", "Created auth.ts file"]));
    note(desk.worker(&["subtask", "list"]));
    note(desk.worker(&["subtask", "complete", &added_id]));
    let session = desk.begin();
    note(desk.person(&["session", "pause", &session]));
    note(desk.worker(&["update", "Nearly done"]));
    note(desk.worker(&["update"]));
    note(desk.person(&["session", "resume", &session]));
    note(desk.worker(&["info"]));
    note(desk.worker(&["blocked", "The key is missing"]));
    note(desk.person(&["task", "get", &desk.task]));
    note(desk.worker(&["complete", "Login works"]));
    note(desk.worker(&["update", "Found the key"]));
    note(desk.worker(&["complete", "Login works"]));
    let form = desk.person(&["task", "children", &desk.task, "--json"]).json()[0]["id"].as_str().unwrap().to_owned();
    note(desk.worker(&["subtask", "complete", &form]));
    note(desk.worker(&["complete", "Login works"]));
    note(desk.person(&["task", "get", &desk.task]));
    said.join("\n")
}

#[test]
fn a_worker_mirrors_its_work_without_a_server() {
    assert_snapshot!(minute_by_minute(&Desk::new()), @r#"
    $ MAESTRO_TASK_ID=[TASK-1] maestro info
    [SESSION-1] Session for Build the login
      worker, working, in [PROJECT-1]

    [TASK-1] Build the login
      in_progress, medium priority
      | With OAuth.
      | No passwords.

    $ MAESTRO_TASK_ID=[TASK-1] maestro update "Reading auth.rs"
    Reported.

    $ MAESTRO_TASK_ID=[TASK-1] maestro update
    Heartbeat recorded.

    $ MAESTRO_TASK_ID=[TASK-1] maestro subtask create "Write the form"
    [TASK-2]  Write the form

    $ maestro task create "Also fix the tests" --parent [TASK-1] --priority high
    [TASK-3]  Also fix the tests

    $ MAESTRO_TASK_ID=[TASK-1] maestro update "Created auth.ts file"
    Reported.
    ! 1 new subtask: Also fix the tests

    $ MAESTRO_TASK_ID=[TASK-1] maestro subtask list
    [ ] [TASK-2]  Write the form
    [ ] [TASK-3]  Also fix the tests  (high)
    2 subtasks, 0 closed

    $ MAESTRO_TASK_ID=[TASK-1] maestro subtask complete [TASK-3]
    Completed: Also fix the tests

    $ maestro session pause [SESSION-1]
    [SESSION-1]  paused  Pauses now, or after its current step.

    $ MAESTRO_TASK_ID=[TASK-1] maestro update "Nearly done"
    Reported.
    ! paused: stop after what you are doing, and wait

    $ MAESTRO_TASK_ID=[TASK-1] maestro update
    Heartbeat recorded.
    ! paused: stop after what you are doing, and wait

    $ maestro session resume [SESSION-1]
    [SESSION-1]  working  Continues.

    $ MAESTRO_TASK_ID=[TASK-1] maestro info
    [SESSION-1] Session for Build the login
      worker, working, in [PROJECT-1]

    [TASK-1] Build the login
      in_progress, medium priority
      | With OAuth.
      | No passwords.
      2 subtasks, 1 closed:
        [ ] [TASK-2]  Write the form
        [x] [TASK-3]  Also fix the tests  (high)

    ! resumed: continue

    $ MAESTRO_TASK_ID=[TASK-1] maestro blocked "The key is missing"
    Reported as blocked.

    $ maestro task get [TASK-1]
    [TASK-1] Build the login
      blocked, medium priority
      | With OAuth.
      | No passwords.
      2 subtasks, 1 closed:
        [ ] [TASK-2]  Write the form
        [x] [TASK-3]  Also fix the tests  (high)
      blocked: The key is missing
      session [SESSION-1] Session for Build the login (working): The key is missing

    $ MAESTRO_TASK_ID=[TASK-1] maestro complete "Login works"
    --- stderr
    error: you reported that task '[TASK-1]' is blocked; once you work on it again, say so with `maestro update "…"` and complete it then
    hint: nothing was changed
    --- exit 1

    $ MAESTRO_TASK_ID=[TASK-1] maestro update "Found the key"
    Reported.

    $ MAESTRO_TASK_ID=[TASK-1] maestro complete "Login works"
    --- stderr
    error: not complete: 1 subtask is open: Write the form ([TASK-2], todo). Finish each and run `maestro subtask complete ID`, or say why not with `maestro blocked "…"`
    hint: nothing was changed
    --- exit 1

    $ MAESTRO_TASK_ID=[TASK-1] maestro subtask complete [TASK-2]
    Completed: Write the form

    $ MAESTRO_TASK_ID=[TASK-1] maestro complete "Login works"
    Reported as complete.

    $ maestro task get [TASK-1]
    [TASK-1] Build the login
      completed, medium priority
      | With OAuth.
      | No passwords.
      2 subtasks, 2 closed:
        [x] [TASK-2]  Write the form
        [x] [TASK-3]  Also fix the tests  (high)
      session [SESSION-1] Session for Build the login (completed): Login works
    "#);
}

#[test]
fn the_same_commands_say_the_same_to_a_server() {
    let sandbox = Sandbox::new();
    let server = sandbox.serve();
    let desk = Desk::in_sandbox(sandbox);
    assert_eq!(desk.sandbox.maestro("whoami --json").json()["server"], server.url());
    assert_eq!(minute_by_minute(&desk), minute_by_minute(&Desk::new()));
}

#[test]
fn the_same_commands_say_the_same_over_postgresql() {
    let Ok(database) = std::env::var("MAESTRO_TEST_POSTGRES") else {
        eprintln!("skipped: MAESTRO_TEST_POSTGRES is not set");
        return;
    };
    let desk = Desk::in_sandbox(Sandbox::new().with_variable("MAESTRO_DATABASE", &database));
    assert_eq!(minute_by_minute(&desk), minute_by_minute(&Desk::new()));
}

#[test]
fn a_server_sees_what_was_done_without_it() {
    let desk = Desk::new();
    desk.begin();
    let before = desk.worker(&["info", "--json"]).json();
    let mut server = desk.sandbox.serve();
    let with = desk.worker(&["info", "--json"]).json();
    server.kill();
    let after = desk.worker(&["info", "--json"]).json();
    for info in [&with, &after] {
        assert_eq!(info["tasks"], before["tasks"]);
        assert_eq!(info["session"]["timeline"], before["session"]["timeline"]);
    }
}

#[test]
fn a_worker_is_told_to_stop_with_every_reply() {
    let desk = Desk::new();
    let session = desk.begin();
    assert_snapshot!(desk.person(&["session", "cancel", &session]), @"
    $ maestro session cancel [SESSION-1]
    [SESSION-1]  stopped  Stops with its next command.
    ");
    assert_snapshot!(desk.session(&session, &["update", "Going on"]), @r#"
    $ MAESTRO_SESSION_ID=[SESSION-1] maestro update "Going on"
    Recorded. Your session has ended, so nothing changes.
    ! cancelled: stop now
    "#);
    assert_snapshot!(desk.session(&session, &["task", "list"]), @"
    $ MAESTRO_SESSION_ID=[SESSION-1] maestro task list
    [ ] [TASK-1]  Build the login
    1 task
    ! cancelled: stop now
    ");
}

#[test]
fn who_is_known_by_a_task_only_hears_of_the_end_too() {
    let desk = Desk::new();
    let session = desk.begin();
    desk.person(&["session", "cancel", &session]);
    assert_snapshot!(desk.worker(&["update", "Going on"]), @r#"
    $ MAESTRO_TASK_ID=[TASK-1] maestro update "Going on"
    Recorded. Your session has ended, so nothing changes.
    ! cancelled: stop now
    "#);
    // However often it speaks, it comes back by no other name.
    assert_eq!(desk.begin(), session);
    assert_eq!(desk.person(&["session", "list", "--all", "--json"]).json().as_array().unwrap().len(), 1);
}

#[test]
fn many_changes_are_told_once_and_in_order() {
    let desk = Desk::new();
    let session = desk.begin();
    for title in ["One", "Two"] {
        desk.person(&["task", "create", title, "--parent", &desk.task]);
    }
    desk.person(&["task", "update", &desk.task, "--title", "Build the door", "--priority", "critical"]);
    desk.person(&["say", &session, "Look at the\nsecond one first"]);
    assert_snapshot!(desk.session(&session, &["task", "get"]), @"
    $ MAESTRO_SESSION_ID=[SESSION-1] maestro task get
    [TASK-1] Build the door
      in_progress, critical priority
      | With OAuth.
      | No passwords.
      2 subtasks, 0 closed:
        [ ] [TASK-2]  One
        [ ] [TASK-3]  Two
      session [SESSION-1] Session for Build the login (working): Hello
    ! 2 new subtasks: One; Two
    ! changed (title, priority): Build the door
    ! the user says: Look at the second one first
    ");
    assert_snapshot!(desk.session(&session, &["update"]), @"
    $ MAESTRO_SESSION_ID=[SESSION-1] maestro update
    Heartbeat recorded.
    ");
}

#[test]
fn what_is_said_counts_as_delivered_only_when_it_was_printed() {
    let desk = Desk::new();
    let session = desk.begin();
    assert_snapshot!(desk.person(&["say", &session, "Use tabs"]), @r#"
    $ maestro say [SESSION-1] "Use tabs"
    queued: [SESSION-1] receives it with its next command, or when it restarts.
    "#);
    assert_snapshot!(desk.person(&["session", "get", &session]), @"
    $ maestro session get [SESSION-1]
    [SESSION-1] Session for Build the login
      worker, working, in [PROJECT-1]
      tasks: [TASK-1]
      session_started  Session created
      task_started     Started working on task
      progress         Hello
      you: Use tabs (queued)
    ");
    // Asked for as JSON, a list has no room for news; they stay.
    desk.session(&session, &["subtask", "list", "--json"]);
    assert!(desk.person(&["session", "get", &session]).stdout().contains("Use tabs (queued)"));
    assert_snapshot!(desk.session(&session, &["update", "Typing"]), @"
    $ MAESTRO_SESSION_ID=[SESSION-1] maestro update Typing
    Reported.
    ! the user says: Use tabs
    ");
    assert!(desk.person(&["session", "get", &session]).stdout().contains("(delivered, reply to a command)"));
    assert_snapshot!(desk.session(&session, &["update"]), @"
    $ MAESTRO_SESSION_ID=[SESSION-1] maestro update
    Heartbeat recorded.
    ");
}

#[test]
fn whoever_has_ended_is_told_nothing() {
    let desk = Desk::new();
    let session = desk.begin();
    desk.worker(&["complete"]);
    assert_snapshot!(desk.person(&["say", &session, "One more thing"]), @r#"
    $ maestro say [SESSION-1] "One more thing"
    --- stderr
    error: cannot send the message to session `[SESSION-1]`: the session has ended
    hint: run `maestro session list` for the active sessions
    --- exit 1
    "#);
}

#[test]
fn each_kind_of_report_says_what_became_of_it() {
    let desk = Desk::new();
    let status = || desk.person(&["task", "get", &desk.task, "--json"]).json()["status"].as_str().unwrap().to_owned();
    assert_snapshot!(desk.worker(&["report", "needs-input", "Which colour?"]), @r#"
    $ MAESTRO_TASK_ID=[TASK-1] maestro report needs-input "Which colour?"
    Question sent. The answer arrives with one of your next commands.
    "#);
    assert_eq!(status(), "in_progress");
    // A sign of life takes no question back.
    desk.worker(&["update"]);
    assert!(desk.worker(&["session", "info"]).stdout().contains("asks: Which colour?"));
    assert_snapshot!(desk.worker(&["report", "error", "It crashed"]), @r#"
    $ MAESTRO_TASK_ID=[TASK-1] maestro report error "It crashed"
    Reported as failed.
    "#);
    assert_eq!(status(), "blocked");
    assert_snapshot!(desk.worker(&["update:progress", "Found it", "--task", &desk.task]), @r#"
    $ MAESTRO_TASK_ID=[TASK-1] maestro update:progress "Found it" --task [TASK-1]
    Reported.
    "#);
    assert_eq!(status(), "in_progress");
    assert_snapshot!(desk.worker(&["report", "complete", "Done", "--task", &desk.task]), @"
    $ MAESTRO_TASK_ID=[TASK-1] maestro report complete Done --task [TASK-1]
    Reported as complete.
    ");
    assert_eq!(status(), "completed");
    assert_snapshot!(desk.worker(&["session", "info"]), @"
    $ MAESTRO_TASK_ID=[TASK-1] maestro session info
    [SESSION-1] Session for Build the login
      worker, working, in [PROJECT-1]
      asks: Which colour?
      tasks: [TASK-1]
      session_started  Session created
      task_started     Started working on task
      needs_input      Which colour?
      error            It crashed
      progress         Found it
      task_completed   Done
    ");
}

#[test]
fn the_old_names_of_reports_still_work() {
    let desk = Desk::new();
    for kind in ["blocked", "needs-input", "error", "progress", "complete"] {
        let output = desk.worker(&[&format!("update:{kind}"), "Words", "--json"]);
        assert_eq!(output.code, 0, "{output}");
        assert_eq!(output.json()["sessionCompleted"], kind == "complete");
    }
}

#[test]
fn a_report_answers_programs_with_all_it_knows() {
    let desk = Desk::new();
    desk.begin();
    desk.person(&["task", "create", "One more", "--parent", &desk.task]);
    assert_snapshot!(desk.worker(&["update", "Reading", "--json"]), @r#"
    $ MAESTRO_TASK_ID=[TASK-1] maestro update Reading --json
    {
      "success": true,
      "sessionId": "[SESSION-1]",
      "sessionStatus": "working",
      "sessionCompleted": false,
      "taskIds": [
        "[TASK-1]"
      ],
      "notices": [
        {
          "kind": "subtask_added",
          "task": "[TASK-2]",
          "title": "One more"
        }
      ],
      "changes": [
        "1 new subtask: One more"
      ],
      "noticeCursor": 1,
      "subcommand": "progress"
    }
    "#);
    assert_snapshot!(desk.worker(&["update", "--json"]), @r#"
    $ MAESTRO_TASK_ID=[TASK-1] maestro update --json
    {
      "success": true,
      "sessionId": "[SESSION-1]",
      "sessionStatus": "working",
      "sessionCompleted": false,
      "taskIds": [
        "[TASK-1]"
      ],
      "notices": [],
      "changes": [],
      "noticeCursor": 0,
      "subcommand": "progress"
    }
    "#);
}

#[test]
#[expect(clippy::too_many_lines, reason = "the whole answer is the point")]
fn info_answers_programs_with_session_tasks_and_changes() {
    let desk = Desk::new();
    desk.begin();
    desk.person(&["task", "create", "One more", "--parent", &desk.task]);
    assert_snapshot!(desk.worker(&["info", "--json"]), @r#"
    $ MAESTRO_TASK_ID=[TASK-1] maestro info --json
    {
      "session": {
        "id": "[SESSION-1]",
        "projectId": "[PROJECT-1]",
        "taskIds": [
          "[TASK-1]"
        ],
        "name": "Session for Build the login",
        "agentId": null,
        "env": {},
        "strategy": "simple",
        "status": "working",
        "state": "working",
        "startedAt": "[TIME]",
        "lastActivity": "[TIME]",
        "completedAt": null,
        "hostname": "",
        "platform": "linux",
        "events": [],
        "timeline": [
          {
            "id": "[LINE-1]",
            "type": "session_started",
            "timestamp": "[TIME]",
            "message": "Session created"
          },
          {
            "id": "[LINE-2]",
            "type": "task_started",
            "timestamp": "[TIME]",
            "message": "Started working on task",
            "taskId": "[TASK-1]"
          },
          {
            "id": "[LINE-3]",
            "type": "progress",
            "timestamp": "[TIME]",
            "message": "Hello",
            "taskId": "[TASK-1]"
          }
        ],
        "metadata": {
          "spawnSource": "cli"
        },
        "role": "worker",
        "revision": 2
      },
      "tasks": [
        {
          "id": "[TASK-1]",
          "projectId": "[PROJECT-1]",
          "parentId": null,
          "title": "Build the login",
          "description": "With OAuth.\nNo passwords.",
          "status": "in_progress",
          "state": "working",
          "sessionStatus": "working",
          "priority": "medium",
          "createdAt": "[TIME]",
          "updatedAt": "[TIME]",
          "startedAt": "[TIME]",
          "completedAt": null,
          "initialPrompt": "",
          "sessionIds": [
            "[SESSION-1]"
          ],
          "skillIds": [],
          "agentIds": [],
          "dependencies": [],
          "taskSessionStatuses": {
            "[SESSION-1]": "working"
          },
          "revision": 2,
          "subtasks": [
            {
              "id": "[TASK-2]",
              "projectId": "[PROJECT-1]",
              "parentId": "[TASK-1]",
              "title": "One more",
              "description": "",
              "status": "todo",
              "state": "queued",
              "priority": "medium",
              "createdAt": "[TIME]",
              "updatedAt": "[TIME]",
              "startedAt": null,
              "completedAt": null,
              "initialPrompt": "",
              "sessionIds": [],
              "skillIds": [],
              "agentIds": [],
              "dependencies": [],
              "taskSessionStatuses": {},
              "revision": 1
            }
          ]
        }
      ],
      "notices": [
        {
          "kind": "subtask_added",
          "task": "[TASK-2]",
          "title": "One more"
        }
      ],
      "changes": [
        "1 new subtask: One more"
      ]
    }
    "#);
}

#[test]
fn a_subtask_that_cannot_be_finished_is_left_alone() {
    let desk = Desk::new();
    let subtask = desk.person(&["task", "create", "Paint it", "--parent", &desk.task]).id();
    assert_snapshot!(desk.worker(&["subtask", "fail", &subtask, "No paint"]), @r#"
    $ MAESTRO_TASK_ID=[TASK-1] maestro subtask fail [TASK-2] "No paint"
    Failed: Paint it
    "#);
    assert_eq!(desk.person(&["task", "get", &subtask, "--json"]).json()["status"], "blocked");
    let other = desk.person(&["task", "create", "Hang it", "--parent", &desk.task]).id();
    desk.worker(&["task", "complete", &other]);
    assert_snapshot!(desk.worker(&["subtask", "fail", &other, "It fell"]), @r#"
    $ MAESTRO_TASK_ID=[TASK-1] maestro subtask fail [TASK-3] "It fell"
    --- stderr
    error: subtask `[TASK-3]` is completed and cannot become blocked
    hint: run `maestro task update [TASK-3] --status todo` to reopen it
    --- exit 1
    "#);
    assert_eq!(desk.worker(&["task", "block", &other, "--reason", "It fell"]).code, 1);
    desk.person(&["task", "update", &subtask, "--status", "cancelled"]);
    assert_snapshot!(desk.worker(&["subtask", "complete", &subtask]), @"
    $ MAESTRO_TASK_ID=[TASK-1] maestro subtask complete [TASK-2]
    --- stderr
    error: subtask `[TASK-2]` is cancelled and cannot become completed
    hint: run `maestro task update [TASK-2] --status todo` to reopen it
    --- exit 1
    ");
    assert_snapshot!(desk.worker(&["subtask", "complete", &desk.task]), @"
    $ MAESTRO_TASK_ID=[TASK-1] maestro subtask complete [TASK-1]
    --- stderr
    error: task `[TASK-1]` is not a subtask
    hint: use `maestro complete` or `maestro blocked` for your own task
    --- exit 1
    ");
}

#[test]
fn the_first_of_many_tasks_is_the_one_meant() {
    let desk = Desk::new();
    let other = desk.person(&["task", "create", "Write the docs"]).id();
    let tasks = format!(" {other}, {}", desk.task);
    let worker = |args: &[&str]| desk.sandbox.maestro_as(&[("MAESTRO_TASK_IDS", &tasks)], args);
    assert_eq!(worker(&["task", "get", "--json"]).json()["id"], other.as_str());
    assert_eq!(worker(&["update", "Hello", "--json"]).json()["taskIds"][0], other.as_str());
}

#[test]
fn without_a_session_or_task_a_worker_has_nothing_to_say() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.maestro("info"), @"
    $ maestro info
    --- stderr
    error: no session or task set
    hint: set MAESTRO_SESSION_ID or MAESTRO_TASK_ID; sessions that Maestro starts have both
    --- exit 1
    ");
    for args in
        ["update hello", "complete", "blocked why", "subtask list", "report progress x", "session info", "queue top"]
    {
        let output = sandbox.maestro(&format!("{args} --json"));
        assert_eq!((output.code, output.json()["error"].as_str()), (1, Some("no_context")), "{output}");
    }
    assert!(!sandbox.home().join(".maestro").exists(), "nothing is opened before it is known what for");
}

#[test]
fn an_agent_reports_with_the_program_that_its_environment_names() {
    let desk = Desk::new();
    let session = desk.begin();
    let path = std::env::var("PATH").unwrap();
    let variables = [
        ("MAESTRO_SESSION_ID", session.as_str()),
        ("MAESTRO_TASK_ID", &desk.task),
        ("MAESTRO_BIN", env!("CARGO_BIN_EXE_maestro")),
        ("PATH", &path),
    ];
    let prompt = "Add a file done.txt that says done\nRun wc -c done.txt";
    let agent = desk.sandbox.maestro_told(&variables, &["demo-agent"], prompt);
    assert_eq!(agent.code, 0, "{agent}");
    let shown = desk.person(&["session", "get", &session, "--json"]).stdout();
    assert!(
        shown.contains("Write done.txt, run `wc -c done.txt`") && shown.contains("Wrote done.txt, ran"),
        "{shown}\n{agent}"
    );
    let task = desk.person(&["task", "get", &desk.task, "--json"]).json();
    assert_eq!(task["status"], "completed", "{task}");
}
