//! Does everything end that was begun?

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use maestro_core::workflow::run::CommandExit;
use maestro_engine::Limits;
use maestro_engine::child::{ChildCommand, ChildReport, ChildSpec, ChildStdin};
use maestro_engine::sandbox::WritePolicy;

use super::{MAESTRO, Place, executor, exited, runtime, shell, ticket};
use crate::waiting::{is_alive, number_in, wait_until};

/// A program that leaves a child, a stubborn one, and a daemon of a session of its own; each says its number.
pub(crate) const FAMILY: &str = "
    sleep 1000 & echo $! > child
    (trap '' TERM; echo $$ > stubborn.tmp; while :; do sleep 0.1; done) & echo $! > stubborn
    setsid sh -c 'setsid sh -c \"echo \\$\\$ > daemon; exec sleep 1000\" &' &
    while [ ! -s daemon ]; do sleep 0.01; done
    echo $$ > program
";

pub(crate) fn family(place: &Place) -> [u32; 3] {
    ["child", "stubborn", "daemon"].map(|name| number_in(&place.workspace().join(name)))
}

fn quick() -> Limits {
    Limits { time: Duration::from_millis(700), ..Limits::default() }
}

/// A supervisor that this test speaks to itself.
fn supervise(place: &Place, script: &str) -> (Child, UnixStream) {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let supervisor = Command::new(MAESTRO)
        .arg("child")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let spec = ChildSpec {
        program: "/bin/sh".into(),
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        cwd: place.workspace(),
        env: [("PATH".to_owned(), std::env::var("PATH").unwrap())].into(),
        policy: WritePolicy::default_policy(&place.workspace(), None),
        stdin: ChildStdin::Nothing,
    };
    let line = serde_json::to_string(&spec).unwrap() + "\n";
    ours.write_all(line.as_bytes()).unwrap();
    (supervisor, ours)
}

fn said(words: &mut impl BufRead) -> ChildReport {
    let mut line = String::new();
    words.read_line(&mut line).unwrap();
    match serde_json::from_str(&line).unwrap() {
        ChildReport::Forked { .. } => said(words),
        said => said,
    }
}

#[test]
fn what_hangs_ends_with_its_time() {
    let place = Place::new();
    let begun = Instant::now();
    let executed = place.execute(&shell("echo $$ > program; sleep 1000", &[]), quick());
    assert_eq!(executed.finish, CommandExit::TimedOut);
    assert!(begun.elapsed() < Duration::from_secs(5), "it ended when it was asked to");
    assert!(!is_alive(number_in(&place.workspace().join("program"))));
}

#[test]
fn what_does_not_listen_is_killed_with_all_that_came_of_it() {
    let place = Place::new();
    let script = format!("trap '' TERM; {FAMILY} while :; do sleep 0.1; done");
    let begun = Instant::now();
    let limits = Limits { time: Duration::from_secs(3), ..Limits::default() };
    assert_eq!(place.execute(&shell(&script, &[]), limits).finish, CommandExit::TimedOut);
    assert!(begun.elapsed() >= Duration::from_secs(8), "it was given time to end");
    let program = number_in(&place.workspace().join("program"));
    for pid in family(&place).into_iter().chain([program]) {
        assert!(!is_alive(pid), "{pid} is still there");
    }
}

#[test]
fn what_is_left_of_a_program_ends_with_it() {
    let place = Place::new();
    assert_eq!(place.shell(FAMILY), exited(0, ""));
    for pid in family(&place) {
        assert!(!is_alive(pid), "{pid} is still there");
    }
}

#[test]
fn a_flood_is_cut_with_a_mark() {
    let place = Place::new();
    let CommandExit::Exited { code: 0, output } = place.shell("yes | head -c 3000000; echo x >&2") else {
        panic!("a flood is no failure")
    };
    assert!(output.ends_with(&format!("\n[{} more bytes were cut]\n", 3_000_000 - 256 * 1024)), "{}", output.len());
    assert!(output.starts_with("y\ny\n") && output.len() < 257 * 1024);
}

#[test]
fn an_endless_flood_ends_with_its_time() {
    let place = Place::new();
    assert_eq!(place.execute(&shell("yes & exec yes >&2", &[]), quick()).finish, CommandExit::TimedOut);
}

#[test]
fn a_failure_says_what_it_complained_of() {
    let place = Place::new();
    assert_eq!(place.shell("echo out; echo bad >&2; exit 3"), exited(3, "out\nbad"));
    assert_eq!(place.shell("echo fine; echo aside >&2"), exited(0, "fine\n"));
    assert_eq!(place.shell("kill -9 $$"), CommandExit::Failed("killed by signal 9".to_owned()));
    assert_eq!(place.shell("printf 'a\\377b'"), exited(0, "a\u{fffd}b"));
    let CommandExit::Exited { code: 1, output } = place.shell("yes bad | head -c 100000 >&2; exit 1") else { panic!() };
    assert!(output.len() <= 4096, "{}", output.len());
}

#[test]
fn whoever_loses_interest_ends_it() {
    let place = Place::new();
    let executor = executor(place.env());
    let order = shell(&format!("{FAMILY} sleep 1000"), &[]);
    runtime().block_on(async {
        let ticket = ticket();
        let executing = executor.execute(&order, &ticket, Limits::default());
        let started = async {
            while !place.workspace().join("program").exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            executed = executing => panic!("it ended by itself: {executed:?}"),
            () = started => {}
        }
    });
    let program = number_in(&place.workspace().join("program"));
    for pid in family(&place).into_iter().chain([program]) {
        wait_until(&format!("{pid} is gone"), || !is_alive(pid));
    }
}

#[test]
fn a_driver_that_is_killed_leaves_nothing_behind() {
    let place = Place::new();
    // This very test, started again as a driver that waits for a program.
    let mut driver = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "execute::ended::drive_until_killed", "--ignored", "--nocapture"])
        .env("MAESTRO_TEST_DRIVE", place.workspace())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let program = number_in(&place.workspace().join("program"));
    assert!(is_alive(program));
    driver.kill().unwrap();
    driver.wait().unwrap();
    for pid in family(&place).into_iter().chain([program]) {
        wait_until(&format!("{pid} is gone"), || !is_alive(pid));
    }
}

#[test]
#[ignore = "a driver for another test to kill"]
fn drive_until_killed() {
    let Some(workspace) = std::env::var_os("MAESTRO_TEST_DRIVE") else { return };
    let place = Place::new();
    let mut env = place.env();
    env.workspace = workspace.into();
    let executor = executor(env);
    let limits = Limits { time: Duration::from_mins(1), ..Limits::default() };
    let order = shell(&format!("{FAMILY} sleep 1000"), &[]);
    runtime().block_on(executor.execute(&order, &ticket(), limits));
}

#[test]
fn a_supervisor_that_is_killed_takes_its_program_along() {
    let place = Place::new();
    let (mut supervisor, socket) = supervise(&place, "echo $$ > program; exec sleep 1000");
    let mut words = BufReader::new(socket);
    let ChildReport::Started { pid, .. } = said(&mut words) else { panic!("it starts") };
    let program = number_in(&place.workspace().join("program"));
    supervisor.kill().unwrap();
    supervisor.wait().unwrap();
    wait_until("the program is gone", || !is_alive(pid) && !is_alive(program));
}

#[test]
fn a_program_that_kills_its_supervisor_gains_nothing() {
    let place = Place::new();
    assert_eq!(place.shell("sleep 1000 & echo $! > child; kill -9 $PPID; exit 0"), exited(0, ""));
    let child = number_in(&place.workspace().join("child"));
    wait_until("the child is gone", || !is_alive(child));
}

#[test]
fn a_program_is_its_own_session_and_says_how_it_ended() {
    let place = Place::new();
    let (mut supervisor, socket) = supervise(&place, "exit 7");
    let mut words = BufReader::new(socket);
    assert!(matches!(said(&mut words), ChildReport::Started { .. }));
    assert_eq!(said(&mut words), ChildReport::Exited { code: 7 });
    assert!(supervisor.wait().unwrap().success());

    let (mut supervisor, socket) = supervise(&place, "echo $$ > program; sleep 1000");
    let mut words = BufReader::new(socket.try_clone().unwrap());
    let ChildReport::Started { pid, .. } = said(&mut words) else { panic!("it starts") };
    number_in(&place.workspace().join("program"));
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let (group, session) = (fields[2], fields[3]);
    assert_eq!((group, session), (pid.to_string().as_str(), supervisor.id().to_string().as_str()));
    (&socket).write_all(b"stop\n").unwrap();
    assert_eq!(said(&mut words), ChildReport::Killed { signal: 15 });
    assert!(supervisor.wait().unwrap().success());
}

#[test]
fn a_program_whose_lease_lapses_stands_still_until_it_is_renewed() {
    let place = Place::new();
    let (mut supervisor, socket) =
        supervise(&place, "echo $$ > program; while :; do echo x >> ticks; sleep 0.01; done");
    let program = number_in(&place.workspace().join("program"));
    let is_still = || {
        let stat = fs::read_to_string(format!("/proc/{program}/stat")).unwrap();
        // A shell whose child stands still before it became a program waits for it in deep sleep.
        stat.rsplit_once(") ").unwrap().1.starts_with(['T', 'D'])
    };
    let renew = |lease_ms| {
        let line = serde_json::to_string(&ChildCommand::Renew { lease_ms }).unwrap() + "\n";
        (&socket).write_all(line.as_bytes()).unwrap();
    };
    renew(1);
    wait_until("it stands still", is_still);
    renew(1_000_000);
    wait_until("it goes on", || !is_still());
    // A pause on request outlasts a renewal.
    renew(1);
    let pause = serde_json::to_string(&ChildCommand::Pause {}).unwrap() + "\n";
    (&socket).write_all(pause.as_bytes()).unwrap();
    renew(1_000_000);
    let mut words = BufReader::new(socket.try_clone().unwrap());
    assert!(matches!(said(&mut words), ChildReport::Started { .. }));
    assert!(matches!(said(&mut words), ChildReport::Paused { .. }));
    assert!(is_still());
    drop((words, socket));
    supervisor.wait().unwrap();
    assert!(!is_alive(program));
}

#[test]
fn nonsense_on_the_socket_starts_nothing() {
    for (line, code) in [("", 0), ("{\"program\":\"/bin/sh\"}\n", 1), ("not json\n", 1), ("{\"half", 0)] {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut child = Command::new(MAESTRO).arg("child").stdin(Stdio::from(OwnedFd::from(theirs))).spawn().unwrap();
        ours.write_all(line.as_bytes()).unwrap();
        drop(ours);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{line:?}");
    }
}
