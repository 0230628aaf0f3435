//! Does an agent that is handed its prompt do what it says, and is all it does told, whatever it prints?

use std::fs;
use std::time::{Duration, Instant};

use maestro_core::agent::{AgentEvent, Driver, FailureKind, StopReason, ToolStatus};
use maestro_engine::agents::{AgentStartError, TalkError, start};

use super::{plain, rest, run, said, scripted, shell, stops, troubles, until};
use crate::agents::process::peak_memory;
use crate::execute::{Place, runtime};
use crate::waiting::{is_alive, number_in, wait_until};

const THROUGH: [StopReason; 2] = [StopReason::EndTurn, StopReason::Exited { code: 0 }];

#[test]
fn it_edits_files_runs_commands_and_tells_of_it() {
    let place = Place::new();
    let prompt = "Add a file docs/hello.md that says Hello, world\nAppend \"and more\" to docs/hello.md\n\
                  Run cat docs/hello.md | tr a-z A-Z > loud\nAdd a file ../outside/x that says no\nSay done";
    let events = runtime().block_on(run(plain(&place, prompt)));
    let hello = fs::read_to_string(place.workspace().join("docs/hello.md")).unwrap();
    assert_eq!(hello, "Hello, world\nand more\n");
    assert_eq!(fs::read_to_string(place.workspace().join("loud")).unwrap(), "HELLO, WORLD\nAND MORE\n");
    assert!(!place.path("outside/x").exists());
    assert!(matches!(&events[0], AgentEvent::Began { agent_session: Some(_), .. }), "{events:?}");
    let ended = |status| {
        events.iter().filter(move |event| matches!(event, AgentEvent::ToolEnded { status: s, .. } if *s == status))
    };
    assert_eq!((ended(ToolStatus::Ok).count(), ended(ToolStatus::Failed).count()), (3, 1), "{events:?}");
    assert_eq!((said(&events).as_str(), stops(&events).as_slice()), ("done", THROUGH.as_slice()));
}

#[test]
fn a_prompt_comes_by_file_as_well_and_never_as_an_argument() {
    let place = Place::new();
    let by_file = |script: &str| {
        let table =
            format!("[shell.text]\nprograms = ['sh']\nargs = ['-c', '{script}']\nprompt = 'file'\nformat = 'text'\n");
        shell(&place, &table, Driver::Text, "the prompt\n")
    };
    let script = "ls -l {prompt_file} | cut -c1-10 > mode; cat {prompt_file} > read; echo {prompt_file} > path";
    let events = runtime().block_on(run(by_file(script)));
    assert_eq!(stops(&events), [StopReason::Exited { code: 0 }]);
    let read = |name: &str| fs::read_to_string(place.workspace().join(name)).unwrap();
    assert_eq!((read("read").as_str(), read("mode").as_str()), ("the prompt\n", "-rw-------\n"));
    assert!(!fs::exists(read("path").trim()).unwrap(), "it is gone with the agent");
    let refused = runtime().block_on(start(by_file("cat"))).unwrap_err();
    assert!(matches!(refused, AgentStartError::NoPlaceForPrompt));
}

#[test]
fn it_goes_on_with_its_session_and_takes_one_prompt_at_a_time() {
    let place = Place::new();
    runtime().block_on(async {
        let script = "Say one\n{\"do\":\"end_turn\"}\nSay two";
        let mut session = start(scripted(plain(&place, "first"), &place, script)).await.unwrap();
        assert_eq!(session.handle.say("more").await, Err(TalkError::OneTurn));
        assert_eq!(said(&rest(&mut session).await), "one");
        let id = session.handle.agent_session().unwrap();
        let mut again = scripted(plain(&place, "second"), &place, script);
        again.resume = Some(id.clone());
        let mut session = start(again).await.unwrap();
        assert_eq!(said(&rest(&mut session).await), "two");
        assert_eq!(session.handle.agent_session(), Some(id));
    });
}

#[test]
fn whatever_goes_wrong_is_told() {
    let place = Place::new();
    let run = |script: &str| runtime().block_on(run(scripted(plain(&place, ""), &place, script)));
    let events = run("{\"do\":\"fail\",\"status\":401,\"message\":\"invalid api key\"}");
    let auth =
        |event: &AgentEvent| matches!(event, AgentEvent::Trouble { kind: FailureKind::Auth, status: Some(401), .. });
    assert!(events.iter().any(auth), "{events:?}");
    assert_eq!(stops(&events), [StopReason::Error, StopReason::Exited { code: 1 }]);
    assert_eq!(stops(&run("{\"do\":\"exit\",\"code\":7}")), [StopReason::Exited { code: 7 }]);
    assert_eq!(stops(&run("{\"do\":\"crash\",\"signal\":11}")), [StopReason::Killed { signal: 11 }]);
    assert_eq!(stops(&run("{\"do\":\"crash\",\"signal\":9}")), [StopReason::Killed { signal: 9 }]);
    let denied =
        run("{\"do\":\"ask\",\"title\":\"Delete everything\",\"acts\":[{\"do\":\"say\",\"text\":\"deleted\"}]}");
    assert_eq!((said(&denied).as_str(), troubles(&denied)), ("", vec!["`Delete everything` was not allowed"]));
    let spent = run("{\"do\":\"tokens\",\"input\":1000,\"output\":50,\"cost_usd\":0.25}");
    let told = |event: &AgentEvent| matches!(event, AgentEvent::Usage { input: Some(1000), output: Some(50), .. });
    assert!(spent.iter().any(told), "{spent:?}");
}

#[test]
fn a_flood_a_long_line_and_bad_bytes_are_told_without_taking_memory() {
    let place = Place::new();
    let script = "{\"do\":\"flood\",\"lines\":100000}\n{\"do\":\"long_line\",\"megabytes\":10}\n{\"do\":\"bad_bytes\"}\nSay fine";
    runtime().block_on(async {
        let before = peak_memory();
        let mut session = start(scripted(plain(&place, ""), &place, script)).await.unwrap();
        let (mut printed, mut cut, mut bad, mut last) = (0, 0, 0, Vec::new());
        while let Some(event) = session.events.recv().await {
            match event {
                AgentEvent::Printed { text, .. } if text.starts_with("line ") => printed += 1,
                AgentEvent::Printed { text, .. } if text.contains(" no text ") => bad += 1,
                AgentEvent::Printed { .. } => {}
                AgentEvent::Cut { bytes } => cut += bytes,
                event => last.push(event),
            }
        }
        assert_eq!(
            (printed, bad, said(&last).as_str(), stops(&last).as_slice()),
            (100_000, 1, "fine", THROUGH.as_slice())
        );
        assert!(cut > 9 * 1024 * 1024, "{cut}");
        let grown = peak_memory() - before;
        assert!(grown < 12 * 1024 * 1024, "{grown} bytes");
    });
}

#[test]
fn nobody_outlives_an_agent_that_is_cancelled_let_go_or_through() {
    let place = Place::new();
    let daemon = place.workspace().join("daemon");
    let script = "{\"do\":\"daemon\",\"file\":\"daemon\"}\nRun echo $$ > shell; sleep 1000 & wait";
    let shell = place.workspace().join("shell");
    let gone = || {
        for file in [&daemon, &shell] {
            let pid = number_in(file);
            wait_until(&format!("{} is gone", file.display()), || !is_alive(pid));
            fs::remove_file(file).unwrap();
        }
    };
    let begun = || async {
        while !(daemon.exists() && shell.exists()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    runtime().block_on(async {
        let mut session = start(scripted(plain(&place, ""), &place, script)).await.unwrap();
        begun().await;
        session.handle.cancel();
        let events = rest(&mut session).await;
        assert_eq!((stops(&events), troubles(&events)), (vec![StopReason::Cancelled], vec![]));
    });
    gone();
    runtime().block_on(async {
        let session = start(scripted(plain(&place, ""), &place, script)).await.unwrap();
        begun().await;
        drop(session.handle);
        let mut events = session.events;
        while events.recv().await.is_some() {}
    });
    gone();
    let through =
        "{\"do\":\"daemon\",\"file\":\"daemon\"}\nRun while [ ! -s daemon ]; do sleep 0.01; done; echo $$ > shell";
    let events = runtime().block_on(run(scripted(plain(&place, ""), &place, through)));
    assert_eq!(stops(&events), THROUGH);
    gone();
}

#[test]
fn one_that_hangs_is_ended_and_says_so() {
    let place = Place::new();
    let mut launch = scripted(plain(&place, ""), &place, "Say hello\n{\"do\":\"hang\"}");
    launch.limits.idle = Duration::from_millis(800);
    let events = runtime().block_on(run(launch.clone()));
    assert_eq!(stops(&events), [StopReason::Killed { signal: 15 }]);
    assert_eq!(troubles(&events), ["stopped: no output for 800 ms"]);
    launch.limits.idle = Duration::from_mins(1);
    launch.limits.time = Duration::from_secs(1);
    assert_eq!(troubles(&runtime().block_on(run(launch))), ["stopped: reached the time limit of 1 s"]);
}

#[test]
fn whoever_does_not_read_keeps_it_waiting_and_can_still_end_it() {
    let place = Place::new();
    runtime().block_on(async {
        let script = "{\"do\":\"flood\",\"lines\":200000}\n{\"do\":\"add\",\"file\":\"finished\",\"text\":\"\"}";
        let mut launch = scripted(plain(&place, ""), &place, script);
        launch.limits.idle = Duration::from_millis(700);
        let mut session = start(launch).await.unwrap();
        // It is not its silence, so it is not ended for that.
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(!place.workspace().join("finished").exists());
        until(&mut session, |event| matches!(event, AgentEvent::Printed { .. })).await;
        session.handle.cancel();
        let begun = Instant::now();
        assert!(session.handle.wait().await.because.is_some());
        assert!(begun.elapsed() < Duration::from_secs(5));
        assert_eq!(stops(&rest(&mut session).await), [StopReason::Cancelled]);
    });
}
