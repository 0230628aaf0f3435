//! `maestro queue`: tasks one after the other.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use insta::assert_snapshot;

use crate::sandbox::Output;
use crate::worker::Desk;

/// A desk with a worker that has a queue of its task and one more.
fn queue() -> (Desk, String) {
    let desk = Desk::new();
    let second = desk.person(&["task", "create", "Write the docs"]).id();
    let tasks = format!("{},{second}", desk.task);
    let variables =
        [("MAESTRO_SESSION_ID", "sess_q"), ("MAESTRO_STRATEGY", "queue"), ("MAESTRO_TASK_IDS", tasks.as_str())];
    assert_eq!(desk.sandbox.maestro_as(&variables, &["session", "register"]).code, 0);
    (desk, second)
}

#[test]
fn a_queue_is_worked_off() {
    let (desk, _) = queue();
    let queue = |args: &[&str]| -> Output { desk.session("sess_q", &[&["queue"], args].concat()) };
    assert_snapshot!(queue(&["top"]), @"
    $ MAESTRO_SESSION_ID=sess_q maestro queue top
    [TASK-1] Build the login
      todo, medium priority
      | With OAuth.
      | No passwords.
    ");
    assert_snapshot!(queue(&["start"]), @"
    $ MAESTRO_SESSION_ID=sess_q maestro queue start
    Started task [TASK-1]
    [TASK-1] Build the login
      in_progress, medium priority
      | With OAuth.
      | No passwords.
    ");
    assert_snapshot!(queue(&["start"]), @"
    $ MAESTRO_SESSION_ID=sess_q maestro queue start
    --- stderr
    error: Task [TASK-1] is being processed already; complete, fail or skip it first
    hint: nothing was changed
    --- exit 1
    ");
    assert_snapshot!(queue(&["complete"]), @"
    $ MAESTRO_SESSION_ID=sess_q maestro queue complete
    Completed task [TASK-1]
    Next (start it with `maestro queue start`):
    [TASK-2] Write the docs
      todo, medium priority
    ");
    assert_snapshot!(queue(&["start"]), @"
    $ MAESTRO_SESSION_ID=sess_q maestro queue start
    Started task [TASK-2]
    [TASK-2] Write the docs
      in_progress, medium priority
    ");
    assert_snapshot!(queue(&["fail", "--reason", "Too long"]), @r#"
    $ MAESTRO_SESSION_ID=sess_q maestro queue fail --reason "Too long"
    Failed task [TASK-2]
    The queue is empty.
    "#);
    assert_snapshot!(queue(&["list"]), @"
    $ MAESTRO_SESSION_ID=sess_q maestro queue list
    completed   [TASK-1]
    failed      [TASK-2]  Too long
    2 in all: 0 queued, 0 processing, 1 completed, 1 failed, 0 skipped
    ");
    assert_snapshot!(queue(&["start", "--poll-timeout", "0"]), @"
    $ MAESTRO_SESSION_ID=sess_q maestro queue start --poll-timeout 0
    Queue is empty - all tasks processed
    ");
    assert_snapshot!(queue(&["complete"]), @"
    $ MAESTRO_SESSION_ID=sess_q maestro queue complete
    --- stderr
    error: No task is being processed
    hint: nothing was changed
    --- exit 1
    ");
    assert_snapshot!(queue(&["status"]), @"
    $ MAESTRO_SESSION_ID=sess_q maestro queue status
    2 in all: 0 queued, 0 processing, 1 completed, 1 failed, 0 skipped
    ");
    assert_snapshot!(queue(&["status", "--json"]), @r#"
    $ MAESTRO_SESSION_ID=sess_q maestro queue status --json
    {
      "queue": {
        "sessionId": "sess_q",
        "strategy": "queue",
        "currentIndex": 1,
        "createdAt": "[TIME]",
        "updatedAt": "[TIME]",
        "items": [
          {
            "taskId": "[TASK-1]",
            "status": "completed",
            "addedAt": "[TIME]",
            "startedAt": "[TIME]",
            "completedAt": "[TIME]"
          },
          {
            "taskId": "[TASK-2]",
            "status": "failed",
            "addedAt": "[TIME]",
            "startedAt": "[TIME]",
            "completedAt": "[TIME]",
            "failReason": "Too long"
          }
        ]
      },
      "stats": {
        "total": 2,
        "queued": 0,
        "processing": 0,
        "completed": 1,
        "failed": 1,
        "skipped": 0
      }
    }
    "#);
}

#[test]
fn others_put_tasks_into_a_queue_even_after_one_was_deleted() {
    let (desk, _) = queue();
    desk.person(&["task", "delete", &desk.task]);
    let third = desk.person(&["task", "create", "Paint it"]).id();
    assert_snapshot!(desk.person(&["queue", "push", &third, "--session", "sess_q"]), @"
    $ maestro queue push [TASK-3] --session sess_q
    [TASK-3] waits in the queue of sess_q.
    ");
    assert_snapshot!(desk.person(&["queue", "push", &third, "--session", "sess_q"]), @"
    $ maestro queue push [TASK-3] --session sess_q
    --- stderr
    error: Task [TASK-3] is in the queue already
    hint: nothing was changed
    --- exit 1
    ");
    assert_snapshot!(desk.session("sess_q", &["queue", "push", &third]), @"
    $ MAESTRO_SESSION_ID=sess_q maestro queue push [TASK-3]
    --- stderr
    error: session 'sess_q' is a worker and may not put tasks into queues
    hint: run `maestro whoami` for your role, `maestro commands` for what you may do
    --- exit 4
    ");
    assert_snapshot!(desk.session("sess_q", &["queue", "list"]), @"
    $ MAESTRO_SESSION_ID=sess_q maestro queue list
    queued      [TASK-2]
    queued      [TASK-3]
    2 in all: 2 queued, 0 processing, 0 completed, 0 failed, 0 skipped
    ! deleted: Build the login
    ");
}

#[test]
fn a_start_waits_for_a_task() {
    let (desk, _) = queue();
    desk.session("sess_q", &["queue", "skip"]);
    desk.session("sess_q", &["queue", "skip"]);
    let third = desk.person(&["task", "create", "Paint it"]).id();
    let started = std::thread::scope(|scope| {
        let waits = scope.spawn(|| desk.session("sess_q", &["queue", "start", "--poll-interval", "1"]));
        std::thread::sleep(std::time::Duration::from_millis(300));
        desk.person(&["queue", "push", &third, "--session", "sess_q"]);
        waits.join().unwrap()
    });
    assert!(started.stdout().contains("Paint it"), "{started}");
}

#[test]
fn a_session_without_a_queue_says_so() {
    let desk = Desk::new();
    desk.hired("sess_w", "worker", &desk.task);
    assert_snapshot!(desk.session("sess_w", &["queue", "top"]), @"
    $ MAESTRO_SESSION_ID=sess_w maestro queue top
    --- stderr
    error: Session sess_w does not use queue strategy
    hint: run `maestro info` for the tasks of your session; it has them all at once
    --- exit 1
    ");
}

#[test]
fn an_empty_queue_is_said_to_be_empty_before_it_is_waited_for() {
    let (desk, _) = queue();
    for _ in 0..2 {
        desk.session("sess_q", &["queue", "skip"]);
    }
    let mut command = desk.sandbox.command();
    command.env("MAESTRO_SESSION_ID", "sess_q").args(["queue", "start"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut waiting = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(waiting.stderr.take().unwrap()).read_line(&mut line).unwrap();
    waiting.kill().unwrap();
    waiting.wait().unwrap();
    assert!(line.contains("the queue is empty; waiting up to 30 min"), "{line}");
}
