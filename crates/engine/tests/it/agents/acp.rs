//! Does an agent that speaks the Agent Client Protocol do what it is told, ask, stop, and go on later?

use std::fs;
use std::time::{Duration, Instant};

use maestro_core::agent::{AgentEvent, Driver, Permission, PermissionChoiceKind, StopReason, ToolStatus};
use maestro_engine::agents::process::ProcessExit;
use maestro_engine::agents::{RunningAgent, TalkError, start};

use super::{protocol, rest, said, scripted, shell, stops, troubles, until};
use crate::agents::process::peak_memory;
use crate::execute::{Place, runtime};
use crate::waiting::{is_alive, number_in, wait_until};

fn is_turn_over(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Ended { .. })
}

/// Hears it until it asks something, and says what.
async fn question(session: &mut RunningAgent) -> String {
    let events = until(session, |event| matches!(event, AgentEvent::Asked { .. })).await;
    match events.last() {
        Some(AgentEvent::Asked { id, .. }) => id.clone(),
        other => panic!("{other:?}"),
    }
}

fn ended(events: &[AgentEvent]) -> Vec<ToolStatus> {
    let status = |event: &AgentEvent| match event {
        AgentEvent::ToolEnded { status, .. } => Some(*status),
        _ => None,
    };
    events.iter().filter_map(status).collect()
}

#[test]
fn it_works_and_is_told_more_in_the_same_session() {
    let place = Place::new();
    runtime().block_on(async {
        let prompt = "Add a file a.txt that says one\nRun cp a.txt b.txt\nSay first";
        let mut session = start(protocol(&place, Permission::All, prompt)).await.unwrap();
        let first = until(&mut session, is_turn_over).await;
        assert!(matches!(&first[0], AgentEvent::Began { agent_session: Some(id), .. } if Some(id) == session.handle.agent_session().as_ref()));
        assert_eq!((said(&first).as_str(), ended(&first)), ("first", vec![ToolStatus::Ok; 2]));
        assert_eq!(stops(&first), [StopReason::EndTurn]);
        session.handle.say("Append two to b.txt\nSay second").await.unwrap();
        let second = until(&mut session, is_turn_over).await;
        assert_eq!((said(&second).as_str(), stops(&second)), ("second", vec![StopReason::EndTurn]));
        session.handle.finish().await;
        assert_eq!(stops(&rest(&mut session).await), [StopReason::Exited { code: 0 }]);
        assert_eq!(session.handle.say("more").await, Err(TalkError::Ended));
    });
    assert_eq!(fs::read_to_string(place.workspace().join("b.txt")).unwrap(), "one\ntwo\n");
}

#[test]
fn it_asks_waits_and_does_only_what_was_allowed() {
    let place = Place::new();
    runtime().block_on(async {
        let prompt = "Run touch allowed\nRun touch denied\nAdd a file edited that says x";
        let mut launch = protocol(&place, Permission::Edits, prompt);
        launch.limits.idle = Duration::from_millis(600);
        let mut session = start(launch).await.unwrap();
        let first = question(&mut session).await;
        // Whoever is asked may take longer than the agent may be silent.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        assert!(!place.workspace().join("allowed").exists());
        assert_eq!(session.handle.answer("another", PermissionChoiceKind::AllowOnce).await, Err(TalkError::NotAsked));
        session.handle.answer(&first, PermissionChoiceKind::AllowOnce).await.unwrap();
        let second = question(&mut session).await;
        session.handle.answer(&second, PermissionChoiceKind::RejectOnce).await.unwrap();
        let events = until(&mut session, is_turn_over).await;
        assert_eq!(ended(&events), [ToolStatus::Denied, ToolStatus::Ok], "{events:?}");
        assert!(events.contains(&AgentEvent::Answered { id: second, kind: PermissionChoiceKind::RejectOnce }));
        session.handle.finish().await;
        rest(&mut session).await;
    });
    let there = |name: &str| place.workspace().join(name).exists();
    assert!(there("allowed") && there("edited") && !there("denied"));
}

#[test]
fn what_is_always_allowed_is_not_asked_again() {
    let place = Place::new();
    runtime().block_on(async {
        let mut session =
            start(protocol(&place, Permission::Ask, "Add a file a that says x\nRun touch b")).await.unwrap();
        let asked = question(&mut session).await;
        session.handle.answer(&asked, PermissionChoiceKind::AllowAlways).await.unwrap();
        let events = until(&mut session, is_turn_over).await;
        assert!(!events.iter().any(|event| matches!(event, AgentEvent::Asked { .. })), "{events:?}");
    });
    assert!(place.workspace().join("b").exists());
}

#[test]
fn cancelled_in_the_middle_of_a_tool_it_stops_and_leaves_nobody() {
    let place = Place::new();
    let shell = place.workspace().join("shell");
    runtime().block_on(async {
        let prompt = "Run echo $$ > shell; sleep 1000; touch finished";
        let mut session = start(protocol(&place, Permission::All, prompt)).await.unwrap();
        until(&mut session, |event| matches!(event, AgentEvent::ToolBegan { .. })).await;
        while !shell.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let begun = Instant::now();
        session.handle.cancel();
        let events = rest(&mut session).await;
        assert_eq!(stops(&events), [StopReason::Cancelled, StopReason::Cancelled], "{events:?}");
        assert!(begun.elapsed() < Duration::from_secs(4), "it listened");
        assert_eq!(session.handle.wait().await.how, ProcessExit::Exited(0));
    });
    let pid = number_in(&shell);
    wait_until("the shell is gone", || !is_alive(pid));
    assert!(!place.workspace().join("finished").exists());
}

#[test]
fn interrupted_it_waits_for_what_is_said_next() {
    let place = Place::new();
    runtime().block_on(async {
        let mut session = start(protocol(&place, Permission::Edits, "Run touch never")).await.unwrap();
        let asked = question(&mut session).await;
        session.handle.interrupt().await.unwrap();
        assert_eq!(stops(&until(&mut session, is_turn_over).await), [StopReason::Cancelled]);
        assert_eq!(session.handle.answer(&asked, PermissionChoiceKind::AllowOnce).await, Err(TalkError::NotAsked));
        session.handle.say("Say still here").await.unwrap();
        assert_eq!(said(&until(&mut session, is_turn_over).await), "still here");
    });
    assert!(!place.workspace().join("never").exists());
}

#[test]
fn another_process_goes_on_with_a_session() {
    let place = Place::new();
    runtime().block_on(async {
        let script = "Say one\n{\"do\":\"crash\",\"signal\":9}\n{\"do\":\"end_turn\"}\nSay two";
        let mut session = start(scripted(protocol(&place, Permission::All, "Begin"), &place, script)).await.unwrap();
        let events = rest(&mut session).await;
        assert_eq!((said(&events).as_str(), stops(&events)), ("one", vec![StopReason::Killed { signal: 9 }]));
        let id = session.handle.agent_session().unwrap();
        let mut again = scripted(protocol(&place, Permission::All, "Go on"), &place, script);
        again.resume = Some(id.clone());
        let mut session = start(again.clone()).await.unwrap();
        let events = until(&mut session, is_turn_over).await;
        assert_eq!((said(&events).as_str(), session.handle.agent_session()), ("two", Some(id)), "{events:?}");
        again.resume = Some("not-there".to_owned());
        let mut session = start(again).await.unwrap();
        let events = rest(&mut session).await;
        assert_eq!(stops(&events), [StopReason::Error, StopReason::Exited { code: 0 }]);
        assert_eq!(troubles(&events), ["there is no session `not-there`"]);
    });
}

#[test]
fn what_goes_wrong_ends_the_turn_and_says_why() {
    let place = Place::new();
    runtime().block_on(async {
        let script = "{\"do\":\"fail\",\"status\":401,\"message\":\"invalid api key\"}\n{\"do\":\"end_turn\"}\n\
                      {\"do\":\"tokens\",\"input\":10,\"output\":5}\nSay fine";
        let mut session = start(scripted(protocol(&place, Permission::All, ""), &place, script)).await.unwrap();
        let events = until(&mut session, is_turn_over).await;
        assert_eq!(
            (stops(&events), troubles(&events)),
            (vec![StopReason::Error], vec!["API error 401: invalid api key"])
        );
        session.handle.say("again").await.unwrap();
        let events = until(&mut session, is_turn_over).await;
        let spent = |event: &AgentEvent| matches!(event, AgentEvent::Usage { input: Some(10), output: Some(5), .. });
        assert!(events.iter().any(spent), "{events:?}");
    });
    runtime().block_on(async {
        let mut launch = protocol(&place, Permission::All, "Run touch worked");
        let way = launch.agent.drivers.get_mut(&Driver::Acp).unwrap();
        way.modes.insert(Permission::All, "no-such-mode".to_owned());
        let mut session = start(launch).await.unwrap();
        let events = rest(&mut session).await;
        assert_eq!(troubles(&events), ["unknown mode `no-such-mode`"]);
    });
    assert!(!place.workspace().join("worked").exists(), "without the rights it should have it does nothing");
}

#[test]
fn one_that_does_not_speak_the_protocol_is_no_riddle() {
    let place = Place::new();
    let speak = |script: &str| {
        let mut launch = shell(&place, "[shell.acp]\nprograms = ['sh']\nargs = ['-c']\n", Driver::Acp, "");
        launch.arguments = vec![script.to_owned()];
        launch.limits.idle = Duration::from_secs(1);
        runtime().block_on(async { rest(&mut start(launch).await.unwrap()).await })
    };
    let events = speak("echo 'no API key is set' >&2; exit 3");
    assert_eq!((stops(&events), troubles(&events)), (vec![StopReason::Exited { code: 3 }], vec!["no API key is set"]));
    let events = speak("echo Welcome; cat > /dev/null");
    assert!(troubles(&events)[0].contains("no output for"), "{events:?}");
    let old = "read line; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":7}}'; cat > /dev/null";
    assert_eq!(troubles(&speak(old)), ["the agent speaks version 7 of the protocol"]);
    let stubborn =
        "read line; echo '{\"id\":1,\"error\":{\"code\":-32000,\"message\":\"log in\"}}'; trap '' TERM; sleep 3";
    assert_eq!(troubles(&speak(stubborn)), ["authentication required: log in"]);
}

#[test]
fn a_flood_takes_no_memory() {
    let place = Place::new();
    runtime().block_on(async {
        let script = "{\"do\":\"flood\",\"lines\":100000}\n{\"do\":\"long_line\",\"megabytes\":10}\n{\"do\":\"bad_bytes\"}\nSay fine";
        let before = peak_memory();
        let mut session = start(scripted(protocol(&place, Permission::All, ""), &place, script)).await.unwrap();
        let (mut printed, mut last) = (0, Vec::new());
        while let Some(event) = session.events.recv().await {
            match event {
                AgentEvent::Printed { .. } => printed += 1,
                event if is_turn_over(&event) => {
                    last.push(event);
                    session.handle.finish().await;
                }
                event => last.push(event),
            }
        }
        assert!(printed >= 100_001, "{printed}");
        assert_eq!((said(&last).as_str(), stops(&last)), ("fine", vec![StopReason::EndTurn, StopReason::Exited { code: 0 }]));
        assert!(troubles(&last)[0].contains("too long"), "{last:?}");
        let grown = peak_memory() - before;
        assert!(grown < 12 * 1024 * 1024, "{grown} bytes");
    });
}
