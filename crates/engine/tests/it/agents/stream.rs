//! Does an agent that converses as Claude Code does get what it is told, ask, listen, stop and end?
//!
//! A shell stands in for it and says what the real one was heard to say (`tests/agents/streams`).

use std::fs;
use std::time::Duration;

use maestro_core::agent::{AgentEvent, Driver, FailureKind, PermissionChoiceKind, StopReason, ToolStatus};
use maestro_engine::agents::process::ProcessExit;
use maestro_engine::agents::{AgentLaunch, RunningAgent, TalkError, start};

use super::{rest, said, shell, stops, troubles, until};
use crate::execute::{Place, runtime};

const TABLE: &str = "[shell.json]\nprograms = ['sh']\nargs = ['-c']\nprompt = 'stream'\nformat = 'claude'\n";

/// It asks once it is told to, and says how it was answered; everything else it only notes.
const FAKE: &str = r#"
    cost=1
    result() {
        printf '{"type":"result","subtype":"%s","is_error":%s,"result":"%s","stop_reason":"end_turn","total_cost_usd":%s,"usage":{"input_tokens":10,"output_tokens":5},"permission_denials":[%s],"terminal_reason":"%s"}\n' "$1" "$2" "$3" $cost "$4" "$5"
        cost=$((cost + 2))
    }
    tool='"tool_name":"Bash","tool_use_id":"t1"'
    answered() {
        printf '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"%s","is_error":%s,"tool_use_id":"t1"}]}}\n' "$1" "$2"
    }
    while read -r line; do
        printf '%s\n' "$line" >> heard
        case $line in
            *'"subtype":"interrupt"'*)
                echo '{"type":"control_cancel_request","request_id":"r1"}'
                echo '{"type":"control_response","response":{"subtype":"success","request_id":"maestro-1"}}'
                answered "The tool use was rejected" true
                result error_during_execution true "" "{$tool,\"tool_input\":{\"command\":\"touch x\"}}" aborted_tools ;;
            *'"behavior":"allow"'*) answered fine false; result success false done "" completed ;;
            *'"behavior":"deny"'*)
                answered no true
                result success false "not done" "{$tool,\"tool_input\":{\"command\":\"touch x\"}}" completed ;;
            *'"subtype":"error"'*) ;;
            *)
                echo '{"type":"system","subtype":"init","session_id":"s-1","model":"m","claude_code_version":"2"}'
                case $line in
                    *Ask*)
                        echo '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"touch x"}}]}}'
                        echo '{"type":"control_request","request_id":"r0","request":{"subtype":"of_the_future"}}'
                        echo '{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool",'$tool',"input":{"command":"touch x"},"permission_suggestions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch x"}],"behavior":"allow","destination":"localSettings"},{"type":"setMode","mode":"acceptEdits","destination":"session"}]}}' ;;
                    *Fail*) result success true "API Error: 401 bad key" "" completed ;;
                    *Die*) echo "out of memory" >&2; exit 3 ;;
                    *)
                        echo '{"type":"assistant","message":{"content":[{"type":"text","text":"hello"}]}}'
                        result success false hello "" completed ;;
                esac ;;
        esac
    done
"#;

fn fake(place: &Place, prompt: &str) -> AgentLaunch {
    let mut launch = shell(place, TABLE, Driver::Json, prompt);
    launch.arguments = vec![FAKE.to_owned()];
    launch
}

fn is_turn_over(event: &AgentEvent) -> bool {
    matches!(event, AgentEvent::Ended { .. })
}

async fn asked(session: &mut RunningAgent) -> AgentEvent {
    let mut events = until(session, |event| matches!(event, AgentEvent::Asked { .. })).await;
    events.pop().unwrap()
}

async fn question(session: &mut RunningAgent) -> String {
    match asked(session).await {
        AgentEvent::Asked { id, .. } => id,
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

fn heard(place: &Place) -> String {
    fs::read_to_string(place.workspace().join("heard")).unwrap()
}

#[test]
fn it_is_told_one_thing_after_the_other_and_ends_when_all_is_said() {
    let place = Place::new();
    runtime().block_on(async {
        let mut session = start(fake(&place, "Begin \"here\"\nplease")).await.unwrap();
        session.handle.say("And this").await.unwrap();
        session.handle.finish().await;
        assert_eq!(session.handle.say("Too late").await, Err(TalkError::Ended));
        let events = rest(&mut session).await;
        assert_eq!(said(&events), "hellohello");
        assert_eq!(stops(&events), [StopReason::EndTurn, StopReason::EndTurn, StopReason::Exited { code: 0 }]);
        assert_eq!(session.handle.agent_session().as_deref(), Some("s-1"));
        let began = events.iter().filter(|event| matches!(event, AgentEvent::Began { .. })).count();
        let cost = |event: &AgentEvent| match event {
            AgentEvent::Usage { cost_usd, input: Some(10), .. } => *cost_usd,
            _ => None,
        };
        assert_eq!((began, events.iter().filter_map(cost).collect::<Vec<_>>()), (1, vec![1.0, 2.0]));
    });
    let heard = heard(&place);
    assert_eq!(heard.lines().count(), 2, "{heard}");
    assert!(heard.contains(r#""text":"Begin \"here\"\nplease""#), "{heard}");
}

#[test]
fn it_asks_waits_and_hears_what_was_answered() {
    let place = Place::new();
    runtime().block_on(async {
        let mut launch = fake(&place, "Ask");
        launch.limits.idle = Duration::from_secs(1);
        let mut session = start(launch).await.unwrap();
        let AgentEvent::Asked { id, title, detail, options, .. } = asked(&mut session).await else { panic!() };
        assert_eq!((title.as_str(), detail.as_str()), ("Bash: touch x", "touch x"));
        assert_eq!(options[1].name, "Allow Bash(touch x) in this session");
        // Whoever is asked may take longer than the agent may be silent.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        session.handle.answer(&id, PermissionChoiceKind::AllowOnce).await.unwrap();
        let events = until(&mut session, is_turn_over).await;
        assert_eq!((ended(&events), stops(&events)), (vec![ToolStatus::Ok], vec![StopReason::EndTurn]));
        assert_eq!(session.handle.answer(&id, PermissionChoiceKind::AllowOnce).await, Err(TalkError::NotAsked));

        session.handle.say("Ask again").await.unwrap();
        let id = question(&mut session).await;
        session.handle.answer(&id, PermissionChoiceKind::RejectAlways).await.unwrap();
        let events = until(&mut session, is_turn_over).await;
        assert_eq!((ended(&events), troubles(&events)), (vec![ToolStatus::Denied], vec![]), "{events:?}");

        session.handle.say("Ask for ever").await.unwrap();
        let id = question(&mut session).await;
        session.handle.answer(&id, PermissionChoiceKind::AllowAlways).await.unwrap();
        until(&mut session, is_turn_over).await;
        session.handle.finish().await;
        rest(&mut session).await;
    });
    let heard = heard(&place);
    let kept: Vec<&str> = heard.lines().filter(|line| line.contains("updatedPermissions")).collect();
    assert_eq!(kept.len(), 1, "{heard}");
    assert!(kept[0].contains(r#""destination":"session""#), "{heard}");
    assert!(!kept[0].contains("localSettings") && !kept[0].contains("acceptEdits"), "{heard}");
    assert_eq!(heard.matches("`of_the_future` is not supported").count(), 3, "{heard}");
}

#[test]
fn interrupted_it_takes_its_question_back_and_waits_for_what_is_said_next() {
    let place = Place::new();
    runtime().block_on(async {
        let mut session = start(fake(&place, "Ask")).await.unwrap();
        let id = question(&mut session).await;
        session.handle.interrupt().await.unwrap();
        let events = until(&mut session, is_turn_over).await;
        assert_eq!((stops(&events), troubles(&events)), (vec![StopReason::Cancelled], vec![]), "{events:?}");
        assert_eq!(session.handle.answer(&id, PermissionChoiceKind::AllowOnce).await, Err(TalkError::NotAsked));
        session.handle.say("Still there?").await.unwrap();
        assert_eq!(said(&until(&mut session, is_turn_over).await), "hello");
        session.handle.say("Ask").await.unwrap();
        question(&mut session).await;
        session.handle.cancel();
        let events = rest(&mut session).await;
        assert_eq!(stops(&events), [StopReason::Cancelled, StopReason::Cancelled], "{events:?}");
        assert_eq!(session.handle.wait().await.how, ProcessExit::Exited(0));
    });
}

#[test]
fn what_goes_wrong_is_told() {
    let place = Place::new();
    runtime().block_on(async {
        let mut session = start(fake(&place, "Fail")).await.unwrap();
        let events = until(&mut session, is_turn_over).await;
        let login = |event: &AgentEvent| matches!(event, AgentEvent::Trouble { kind: FailureKind::Auth, .. });
        assert!(events.iter().any(login) && stops(&events) == [StopReason::Error], "{events:?}");
        session.handle.say("Die").await.unwrap();
        let events = rest(&mut session).await;
        assert_eq!(stops(&events), [StopReason::Exited { code: 3 }], "{events:?}");
        assert!(
            events.iter().any(|event| matches!(event, AgentEvent::Printed { text, .. } if text == "out of memory"))
        );
    });
}
