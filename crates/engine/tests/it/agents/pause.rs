//! Does a paused agent stand still with all that came of it, go on as if nothing had been, and end when it has to?

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use maestro_core::agent::{AgentEvent, Permission, StopReason};
use maestro_engine::agents::process::{KillReason, ProcessExit};
use maestro_engine::agents::{AgentLaunch, RunningAgent, TalkError, start};

use super::{plain, protocol, rest, said, scripted, stops, troubles};
use crate::execute::{Place, runtime};
use crate::waiting::{is_alive, number_in, wait_until};

/// A shell that works until it is let go, after a daemon of a session of its own was left behind.
const SCRIPT: &str = "{\"do\":\"daemon\",\"file\":\"daemon\"}\n\
    {\"do\":\"run\",\"command\":\"echo $$ > shell; while [ ! -e go ]; do echo x >> ticks; sleep 0.01; done\"}\n\
    Say done";

/// The agent, its shell, and the daemon.
struct Family {
    place: Place,
}

impl Family {
    /// Starts the agent, and returns once all of them are there.
    async fn begin(launch: impl FnOnce(&Place) -> AgentLaunch) -> (Self, RunningAgent) {
        let family = Self { place: Place::new() };
        let session = start(scripted(launch(&family.place), &family.place, SCRIPT)).await.unwrap();
        while !(family.file("shell").exists() && family.file("ticks").exists() && family.file("daemon").exists()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        (family, session)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.place.workspace().join(name)
    }

    fn agent(&self) -> u32 {
        field(number_in(&self.file("shell")), 1).parse().unwrap()
    }

    /// All of them, the supervisor not among them.
    fn all(&self) -> [u32; 3] {
        [self.agent(), number_in(&self.file("shell")), number_in(&self.file("daemon"))]
    }

    /// A shell whose child stands still before it became a program is not even awake to stand still itself.
    fn assert_still(&self) {
        let states = self.all().map(|pid| field(pid, 0));
        assert!(states[0] == "T" && ["T", "D"].contains(&states[1].as_str()) && states[2] == "T", "{states:?}");
    }
}

/// What the kernel says of a process: its state is 0, its parent 1.
fn field(pid: u32, at: usize) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, rest) = stat.rsplit_once(')').unwrap();
    rest.split_whitespace().nth(at).unwrap().to_owned()
}

fn gone(all: [u32; 3]) {
    for pid in all {
        wait_until(&format!("{pid} is gone"), || !is_alive(pid));
    }
}

fn printing(place: &Place) -> AgentLaunch {
    plain(place, "Begin")
}

fn speaking(place: &Place) -> AgentLaunch {
    protocol(place, Permission::All, "Begin")
}

#[test]
fn all_of_it_stands_still_and_goes_on() {
    runtime().block_on(async {
        let (family, mut session) = Family::begin(printing).await;
        session.handle.pause().await.unwrap();
        family.assert_still();
        // It is not in its nature to notice this now.
        fs::write(family.file("go"), "").unwrap();
        let ticks = fs::read(family.file("ticks")).unwrap();
        session.handle.pause().await.unwrap();
        family.assert_still();
        assert_eq!(fs::read(family.file("ticks")).unwrap(), ticks);
        let daemon = number_in(&family.file("daemon"));
        session.handle.resume().await.unwrap();
        let events = rest(&mut session).await;
        assert_eq!(
            (said(&events).as_str(), stops(&events)),
            ("done", vec![StopReason::EndTurn, StopReason::Exited { code: 0 }])
        );
        assert_eq!(session.handle.pause().await, Err(TalkError::Ended));
        assert!(!is_alive(daemon));
    });
}

#[test]
fn who_waits_does_nothing_before_it_is_resumed() {
    runtime().block_on(async {
        for launch in [printing, speaking] {
            let place = Place::new();
            let begin = || start(AgentLaunch { waits: true, ..scripted(launch(&place), &place, "Say done") });
            let mut session = begin().await.unwrap();
            session.handle.cancel();
            let events = rest(&mut session).await;
            assert!(matches!(events[..], [AgentEvent::Ended { stop: StopReason::Cancelled, .. }]), "{events:?}");
            let mut session = begin().await.unwrap();
            session.handle.resume().await.unwrap();
            session.handle.finish().await;
            assert_eq!(said(&rest(&mut session).await), "done");
        }
    });
}

#[test]
fn cancelled_or_let_go_it_ends_although_it_stands_still() {
    runtime().block_on(async {
        for launch in [printing, speaking] {
            let (family, mut session) = Family::begin(launch).await;
            session.handle.pause().await.unwrap();
            let all = family.all();
            session.handle.cancel();
            let events = rest(&mut session).await;
            assert_eq!(stops(&events).last(), Some(&StopReason::Cancelled), "{events:?}");
            assert_eq!(session.handle.wait().await.because, Some(KillReason::Cancelled));
            gone(all);

            let (family, RunningAgent { handle, mut events, .. }) = Family::begin(launch).await;
            handle.pause().await.unwrap();
            let all = family.all();
            drop(handle);
            while events.recv().await.is_some() {}
            gone(all);
        }
    });
}

#[test]
fn what_stands_still_does_not_stay_when_its_supervisor_dies() {
    runtime().block_on(async {
        let (family, mut session) = Family::begin(printing).await;
        session.handle.pause().await.unwrap();
        let all = family.all();
        // The first process of its namespaces is between the agent and its supervisor.
        let above = field(family.agent(), 1);
        let words = fs::read_to_string(format!("/proc/{above}/cmdline")).unwrap();
        let supervisor = if words.ends_with("init\0") { field(above.parse().unwrap(), 1) } else { above };
        assert!(Command::new("kill").args(["-KILL", &supervisor]).status().unwrap().success());
        let events = rest(&mut session).await;
        assert_eq!(troubles(&events), ["its supervisor died, and it was killed"]);
        assert_eq!(session.handle.wait().await.how, ProcessExit::Lost);
        gone(all);
    });
}

#[test]
fn who_stands_still_is_not_silent() {
    runtime().block_on(async {
        let idle = Duration::from_secs(1);
        let launch = |place: &Place| {
            let mut launch = printing(place);
            launch.limits.idle = idle;
            launch
        };
        let (family, mut session) = Family::begin(launch).await;
        session.handle.pause().await.unwrap();
        tokio::time::sleep(idle * 2).await;
        family.assert_still();
        fs::write(family.file("go"), "").unwrap();
        session.handle.resume().await.unwrap();
        let events = rest(&mut session).await;
        assert_eq!(stops(&events), [StopReason::EndTurn, StopReason::Exited { code: 0 }], "{events:?}");
        assert!(!events.iter().any(|event| matches!(event, AgentEvent::Trouble { .. })));
    });
}
