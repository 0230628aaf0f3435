//! Do a worker's reports and updates say what is so?

use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::sandbox::Sandbox;
use crate::worker::Desk;

#[test]
fn a_task_with_open_subtasks_is_not_completed() {
    let desk = Desk::new();
    let session = desk.begin();
    let subtask = desk.person(&["task", "create", "Paint it", "--parent", &desk.task, "-d", "Red.\nNot blue."]).id();
    let refused = desk.session(&session, &["complete"]);
    assert_snapshot!(refused, @r#"
    $ MAESTRO_SESSION_ID=[SESSION-1] maestro complete
    --- stderr
    error: not complete: 1 subtask is open: Paint it ([TASK-2], todo). Finish each and run `maestro subtask complete ID`, or say why not with `maestro blocked "…"`
    hint: nothing was changed
    --- exit 1
    "#);
    let as_json = desk.session(&session, &["complete", "--json"]);
    assert_eq!((as_json.code, &as_json.json()["success"]), (1, &false.into()), "{as_json}");
    assert_eq!(desk.person(&["session", "get", &session, "--json"]).json()["status"], "working");
    let described = "| Red.\n";
    let info = desk.session(&session, &["info"]).stdout();
    assert!(info.contains(described) && info.contains("| Not blue.\n"), "{info}");
    assert!(info.contains(&format!("! 1 new subtask: Paint it ({subtask}): Red. Not blue.\n")), "{info}");
    let list = desk.session(&session, &["subtask", "list"]).stdout();
    assert!(list.contains(described), "{list}");
    desk.session(&session, &["subtask", "complete", &subtask]);
    assert_eq!(desk.session(&session, &["complete"]).code, 0);
    assert_eq!(desk.person(&["task", "get", &desk.task, "--json"]).json()["status"], "completed");
}

#[test]
fn a_task_says_why_it_is_blocked_and_what_was_said_last() {
    let desk = Desk::new();
    desk.begin();
    desk.worker(&["blocked", "The key is missing"]);
    let shown = desk.person(&["task", "get", &desk.task]).stdout();
    assert!(shown.contains("  blocked: The key is missing\n"), "{shown}");
    assert!(shown.contains("(working): The key is missing\n"), "{shown}");
    let json = desk.person(&["task", "get", &desk.task, "--json"]).json();
    assert_eq!(json["blockedReason"], "The key is missing", "{json:#}");
    assert_eq!(json["lastWords"][0]["message"], "The key is missing", "{json:#}");
    desk.worker(&["update", "Found it"]);
    let json = desk.person(&["task", "get", &desk.task, "--json"]).json();
    assert_eq!(
        (&json["blockedReason"], &json["lastWords"][0]["message"]),
        (&serde_json::Value::Null, &"Found it".into())
    );
}

#[test]
fn what_is_printed_for_no_one_counts_as_unread() {
    let desk = Desk::new();
    let session = desk.begin();
    desk.person(&["say", &session, "- use tabs"]);
    for closed in [false, true] {
        let mut command = desk.sandbox.command();
        command.env("MAESTRO_SESSION_ID", &session).args(["update", "Typing"]).stdout(Stdio::null());
        if closed {
            command = in_shell(&command, "exec \"$0\" update Typing >&-");
        }
        assert!(command.status().unwrap().success());
        let shown = desk.person(&["session", "get", &session]).stdout();
        assert!(shown.contains("- use tabs (queued)"), "{shown}");
    }
    assert!(desk.session(&session, &["update"]).stdout().contains("! the user says: - use tabs"));
    assert!(desk.person(&["session", "get", &session]).stdout().contains("(delivered, reply to a command)"));
}

/// A line of a shell in which `$0` is this program, with the same environment.
fn in_shell(command: &Command, line: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.env_clear().args(["-c", line, env!("CARGO_BIN_EXE_maestro")]);
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.current_dir(command.get_current_dir().unwrap());
    shell
}

#[test]
fn a_text_may_begin_with_a_dash() {
    let desk = Desk::new();
    let session = desk.begin();
    for words in ["-h is gone", "--json is read now", "-5", "- a list"] {
        let reported = desk.worker(&["update", words]);
        assert_eq!((reported.code, reported.stdout().as_str()), (0, "Reported.\n"), "{reported}");
        let shown = desk.person(&["session", "get", &session]).stdout();
        assert!(shown.contains(&format!("progress         {words}\n")), "{words}: {shown}");
    }
    let task = desk.person(&["task", "create", "-h prints too much", "--desc", "- see the help\n- cut it", "--json"]);
    assert_eq!(
        (&task.json()["title"], &task.json()["description"]),
        (&"-h prints too much".into(), &"- see the help\n- cut it".into())
    );
    let wrong = desk.person(&["task", "get", "- no id"]);
    assert!(wrong.stderr().contains("`- no id`") && !wrong.stderr().contains('\u{e000}'), "{wrong}");
    assert_eq!(desk.worker(&["blocked", "-x"]).code, 0);
    assert_eq!(desk.person(&["prompt", "-v should say more"]).code, 0);
}

#[test]
fn a_paused_worker_waits_until_it_may_go_on() {
    let sandbox = Sandbox::new();
    let server = sandbox.serve();
    let desk = Desk::in_sandbox(sandbox);
    let session = desk.begin();
    assert_eq!(
        desk.worker(&["update", "--wait"]).stdout(),
        "Heartbeat recorded.\n",
        "who is not paused waits for nothing"
    );
    desk.person(&["session", "pause", &session]);
    let mut waiting = desk.sandbox.command();
    waiting.env("MAESTRO_SESSION_ID", &session).args(["update", "Paused", "--wait"]);
    let waiting = waiting.stdout(Stdio::piped()).spawn().unwrap();
    let path = format!("/api/sessions/{session}/timeline");
    crate::waiting::wait_until("it waits", || server.get(&path).to_string().contains("Paused"));
    desk.person(&["session", "resume", &session]);
    let ended = waiting.wait_with_output().unwrap();
    let text = String::from_utf8(ended.stdout).unwrap();
    assert!(text.starts_with("Reported.\n") && text.ends_with("! resumed: continue\n"), "{text}");
}
