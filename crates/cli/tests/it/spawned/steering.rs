//! Can a person speak with an agent, end it, and take it into their own hands?

use serde_json::{Value as Json, json};

use super::crashes::Worker;
use super::{END_TURN, Follows, GATE, Stage, all_gone, prompts, report, run, sandbox};
use crate::waiting::{number_in, wait_until};

/// Asks a person something, waits for the answer, and is done.
fn asks_and_is_answered(way: &str) {
    let stage = Stage::scripted(
        &[
            report(&["report", "needs-input", "Which port?"]),
            END_TURN.to_owned(),
            run("maestro update 'going on' > reply"),
            report(&["complete", "chosen"]),
        ]
        .concat(),
    );
    let (session, followed) = stage.follow(way);
    assert!(followed.stdout().contains("Which port?"), "{followed}");
    assert_eq!(stage.session(&session)["needsInput"]["active"], true);
    wait_until("nobody has it", || stage.start_of(&session)["state"] == "waiting");
    let said = stage.sandbox.maestro_with(&["say", &session, "Take 8080"]);
    assert_eq!(said.code, 0, "{said}");
    stage.wait_for(&session, "completed");
    let start = stage.settled(&session);
    assert_eq!(start["outcome"]["kind"], "done", "{start:#}");
    let told = prompts(&stage, &session);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[1].contains("says: Take 8080"), "{told:?}");
    let reply = stage.lines("reply").join("\n");
    assert!(!reply.contains("8080"), "it was told a second time: {reply}");
    assert_eq!(stage.session(&session)["needsInput"], Json::Null);
}

#[test]
fn who_asks_and_ends_goes_on_when_it_is_answered_and_hears_it_once() {
    asks_and_is_answered("");
}

#[test]
fn so_does_one_that_speaks_the_protocol() {
    asks_and_is_answered("--driver acp --permission all");
}

#[test]
fn what_is_said_to_an_agent_at_work_is_told_after_its_turn() {
    for way in ["", "--driver acp --permission all"] {
        let stage = Stage::scripted(&[run(GATE), END_TURN.to_owned(), report(&["complete", "heard"])].concat());
        let session = stage.spawn(&stage.task("Do it"), way);
        wait_until("it works", || stage.lines("begun").len() == 1);
        assert_eq!(stage.sandbox.maestro_with(&["say", &session, "Mind the gap"]).code, 0);
        stage.sandbox.write("go", "");
        stage.wait_for(&session, "completed");
        let told = prompts(&stage, &session);
        assert_eq!(told.iter().filter(|prompt| prompt.contains("Mind the gap")).count(), 1, "{told:?}");
    }
}

#[test]
fn what_an_agent_hears_by_its_own_report_is_not_told_again() {
    let stage =
        Stage::scripted(&[run(GATE), run("maestro update there > reply"), report(&["complete", "heard"])].concat());
    let session = stage.spawn(&stage.task("Do it"), "");
    wait_until("it works", || stage.lines("begun").len() == 1);
    assert_eq!(stage.sandbox.maestro_with(&["say", &session, "Mind the gap"]).code, 0);
    stage.sandbox.write("go", "");
    stage.wait_for(&session, "completed");
    let reply = stage.lines("reply").join("\n");
    assert!(reply.contains("Mind the gap"), "{reply}");
    assert_eq!(stage.settled(&session)["attempt"], 1);
    assert_eq!(prompts(&stage, &session).len(), 1);
}

#[test]
fn a_paused_session_stands_still_with_its_programs_until_it_is_resumed() {
    for way in ["", "--driver acp --permission all"] {
        let stage = Stage::scripted(&[run(GATE), report(&["complete", "ok"])].concat());
        let session = stage.spawn(&stage.task("Do it"), way);
        wait_until("it works", || stage.lines("begun").len() == 1);
        let shell = number_in(&stage.sandbox.path("begun"));
        assert_eq!(stage.sandbox.maestro(&format!("session pause {session}")).code, 0);
        wait_until("it stands still", || state_of_parent(shell) == Some('T'));
        // Whatever it waits for, it does not go on.
        stage.sandbox.write("go", "");
        assert_eq!(stage.session(&session)["status"], "paused");
        let resumed = stage.sandbox.maestro(&format!("session resume {session}"));
        assert_eq!(resumed.code, 0, "{resumed}");
        stage.wait_for(&session, "completed");
        assert_eq!(stage.settled(&session)["outcome"]["kind"], "done");
    }
}

#[test]
fn a_session_that_was_paused_before_it_started_starts_once_it_is_resumed() {
    let stage = Stage::of(sandbox(Follows::Prompt), &["--agents", "0"]);
    let session = stage.spawn(&stage.task("Say hello"), "");
    for (word, status) in [("pause", "paused"), ("resume", "spawning"), ("pause", "paused")] {
        let steered = stage.sandbox.maestro(&format!("session {word} {session}"));
        assert_eq!(steered.code, 0, "{steered}");
        assert_eq!(stage.session(&session)["status"], status);
    }
    let _worker = Worker::start(&stage.sandbox);
    assert_eq!(stage.sandbox.maestro(&format!("session resume {session}")).code, 0);
    stage.wait_for(&session, "completed");
}

/// What the kernel says the one that started a process does: the agent, of a command it runs.
fn state_of_parent(pid: u32) -> Option<char> {
    let fields = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some(stat.rsplit_once(") ")?.1.split(' ').map(str::to_owned).collect::<Vec<_>>())
    };
    let parent = fields(&pid.to_string())?.get(1)?.clone();
    fields(&parent)?.first()?.chars().next()
}

#[test]
fn a_cancelled_session_leaves_no_process() {
    let daemon = json!({ "do": "daemon", "file": "daemon" });
    for way in ["", "--driver acp --permission all"] {
        let stage = Stage::scripted(&format!("{daemon}\n{}", run(GATE)));
        let session = stage.spawn(&stage.task("Do it"), way);
        wait_until("it works", || stage.lines("begun").len() == 1);
        number_in(&stage.sandbox.path("daemon"));
        let cancelled = stage.sandbox.maestro(&format!("session cancel {session}"));
        assert_eq!(cancelled.code, 0, "{cancelled}");
        let start = stage.settled(&session);
        assert_eq!(start["outcome"]["kind"], "cancelled", "{start:#}");
        assert_eq!(stage.session(&session)["status"], "stopped");
        all_gone(&stage.sandbox, "begun");
        all_gone(&stage.sandbox, "daemon");
        let show = stage.sandbox.maestro(&format!("show {session} --follow"));
        assert_eq!(show.code, 1, "{show}");
    }
}

/// Attaches to an agent at work, and looks whether Maestro goes on.
fn is_taken_over(way: &str) {
    let stage = Stage::scripted(
        &[
            run(GATE),
            END_TURN.to_owned(),
            "{\"do\":\"prompt\"}\n".to_owned(),
            END_TURN.to_owned(),
            report(&["complete", "all done"]),
        ]
        .concat(),
    );
    let session = stage.spawn(&stage.task("Do it"), way);
    wait_until("it works", || stage.lines("begun").len() == 1);
    wait_until("its own session is known", || stage.start_of(&session)["agentSession"].is_string());
    let typed = "Add a file by-hand.txt that says hello";
    let attached = stage.sandbox.maestro_told(&[], &["attach", &session], typed);
    assert_eq!(attached.code, 0, "{attached}");
    assert!(attached.stdout().contains("Maestro continues the session."), "{attached}");
    assert_eq!(stage.lines("by-hand.txt"), ["hello"]);
    stage.wait_for(&session, "completed");
    all_gone(&stage.sandbox, "begun");
    let start = stage.settled(&session);
    assert_eq!(start["outcome"]["kind"], "done", "{start:#}");
    let told = prompts(&stage, &session);
    assert_eq!((told.len(), told[1].as_str()), (3, typed), "{told:?}");
    assert_ne!(start["agentSession"], Json::Null);
}

#[test]
fn a_person_takes_it_over_and_maestro_goes_on_afterwards() {
    is_taken_over("");
}

#[test]
fn so_it_is_with_one_that_speaks_the_protocol() {
    is_taken_over("--driver acp --permission all");
}
