//! `maestro session` and `status`: who works, and what they are told.

use insta::assert_snapshot;

use crate::worker::Desk;

#[test]
fn sessions_are_listed_shown_and_renamed() {
    let desk = Desk::new();
    let session = desk.begin();
    assert_snapshot!(desk.person(&["session", "list"]), @"
    $ maestro session list
    [SESSION-1]  working  worker        Session for Build the login
    1 session (--all includes ended ones)
    ");
    assert_snapshot!(desk.person(&["session", "rename", &session, "Ada"]), @"
    $ maestro session rename [SESSION-1] Ada
    [SESSION-1]  Ada
    ");
    desk.worker(&["complete"]);
    assert_snapshot!(desk.person(&["session", "list"]), @"
    $ maestro session list
    No sessions (--all includes ended ones)
    ");
    assert_snapshot!(desk.person(&["session", "list", "--task", &desk.task, "--all"]), @"
    $ maestro session list --task [TASK-1] --all
    [SESSION-1]  ready  worker        Ada
    1 session
    ");
    assert_snapshot!(desk.person(&["session", "list", "--all", "--json"]), @r#"
    $ maestro session list --all --json
    [
      {
        "id": "[SESSION-1]",
        "projectId": "[PROJECT-1]",
        "taskIds": [
          "[TASK-1]"
        ],
        "name": "Ada",
        "agentId": null,
        "role": "worker",
        "status": "completed",
        "state": "ready",
        "startedAt": "[TIME]",
        "lastActivity": "[TIME]",
        "completedAt": "[TIME]"
      }
    ]
    "#);
}

#[test]
fn a_session_is_shown_whole_to_programs() {
    let desk = Desk::new();
    let session = desk.begin();
    assert_snapshot!(desk.person(&["session", "get", &session, "--json"]), @r#"
    $ maestro session get [SESSION-1] --json
    {
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
    }
    "#);
}

#[test]
fn a_session_that_has_ended_cannot_be_steered() {
    let desk = Desk::new();
    let session = desk.begin();
    assert_snapshot!(desk.person(&["session", "resume", &session]), @"
    $ maestro session resume [SESSION-1]
    --- stderr
    error: cannot resume a session that is working; possible: pause, cancel
    hint: nothing was changed
    hint: only a paused session, or one whose agent failed, can resume
    --- exit 1
    ");
    desk.worker(&["complete"]);
    assert_snapshot!(desk.person(&["session", "pause", &session]), @"
    $ maestro session pause [SESSION-1]
    --- stderr
    error: cannot pause a session that is completed; possible: nothing
    hint: nothing was changed
    --- exit 1
    ");
}

#[test]
fn a_long_timeline_is_shown_from_its_end() {
    let desk = Desk::new();
    let session = desk.begin();
    for number in 1..=12 {
        desk.worker(&["update", &format!("Step {number}")]);
    }
    assert_snapshot!(desk.person(&["session", "get", &session]), @"
    $ maestro session get [SESSION-1]
    [SESSION-1] Session for Build the login
      worker, working, in [PROJECT-1]
      tasks: [TASK-1]
      … 5 lines before
      progress  Step 3
      progress  Step 4
      progress  Step 5
      progress  Step 6
      progress  Step 7
      progress  Step 8
      progress  Step 9
      progress  Step 10
      progress  Step 11
      progress  Step 12
    ");
}

#[test]
fn a_project_stands_in_numbers() {
    let desk = Desk::new();
    desk.begin();
    desk.person(&["task", "create", "Docs", "--priority", "high"]);
    assert_snapshot!(desk.person(&["status"]), @"
    $ maestro status
    [PROJECT-1] shop
    2 tasks: 1 queued, 1 working
    by priority: 1 medium, 1 high
    1 active session
    [SESSION-1]  working  worker        Session for Build the login
    ");
    assert_snapshot!(desk.person(&["status", "--json"]), @r#"
    $ maestro status --json
    {
      "project": {
        "id": "[PROJECT-1]",
        "name": "shop",
        "workingDir": "[PROJECT]"
      },
      "tasks": {
        "total": 2,
        "byStatus": {
          "todo": 1,
          "in_progress": 1,
          "in_review": 0,
          "blocked": 0,
          "completed": 0,
          "cancelled": 0,
          "archived": 0
        },
        "byState": {
          "queued": 1,
          "working": 1,
          "waiting": 0,
          "paused": 0,
          "stopped": 0,
          "ready": 0,
          "merged": 0,
          "discarded": 0,
          "skipped": 0
        },
        "byPriority": {
          "low": 0,
          "medium": 1,
          "high": 1,
          "critical": 0
        }
      },
      "activeSessions": [
        {
          "id": "[SESSION-1]",
          "projectId": "[PROJECT-1]",
          "taskIds": [
            "[TASK-1]"
          ],
          "name": "Session for Build the login",
          "agentId": null,
          "role": "worker",
          "status": "working",
          "state": "working",
          "startedAt": "[TIME]",
          "lastActivity": "[TIME]",
          "completedAt": null
        }
      ]
    }
    "#);
}
