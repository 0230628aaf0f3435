//! Is a long-lived program heard live, spoken to, and ended with all that came of it?

use std::fs;
use std::time::{Duration, Instant};

use maestro_core::agent::{MOST_LINE, OutputLine};
use maestro_engine::agents::process::{
    AgentProcess, KillReason, ProcessExit, ProcessLimits, ProcessOutcome, ProcessStartError, start,
};
use maestro_engine::child::{ChildSpec, ChildStdin};
use maestro_engine::sandbox::WritePolicy;

use crate::execute::ended::{FAMILY, family};
use crate::execute::{MAESTRO, Place, runtime};
use crate::waiting::{is_alive, number_in, wait_until};

fn spec(place: &Place, script: &str, stdin: ChildStdin) -> ChildSpec {
    ChildSpec {
        program: "/bin/sh".into(),
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        cwd: place.workspace(),
        env: [("PATH".to_owned(), std::env::var("PATH").unwrap())].into(),
        policy: WritePolicy::default_policy(&place.workspace(), None),
        stdin,
    }
}

async fn begin(place: &Place, script: &str, limits: ProcessLimits) -> AgentProcess {
    start(MAESTRO.as_ref(), &spec(place, script, ChildStdin::Relay), limits).await.unwrap()
}

async fn text(process: &mut AgentProcess) -> Option<String> {
    match process.stdout.next().await? {
        OutputLine::Whole(line) => Some(String::from_utf8(line).unwrap()),
        OutputLine::Cut { .. } => panic!("no line is long here"),
    }
}

fn ended(how: ProcessExit, because: Option<KillReason>) -> ProcessOutcome {
    ProcessOutcome { how, because }
}

/// The most memory this process ever had, in bytes.
pub(super) fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn a_program_reads_what_it_is_told_and_is_heard_at_once() {
    let place = Place::new();
    runtime().block_on(async {
        let mut process = begin(
            &place,
            "while read -r line; do printf '<%s>\\n' \"$line\"; done; echo over; exit 3",
            ProcessLimits::default(),
        )
        .await;
        for word in ["one", "two words", "\u{fc}\u{1f600} $(touch owned) \\n \"'"] {
            process.input.write(&format!("{word}\n")).await;
            assert_eq!(text(&mut process).await, Some(format!("<{word}>")));
        }
        process.input.close().await;
        assert_eq!(text(&mut process).await.as_deref(), Some("over"));
        assert_eq!(text(&mut process).await, None);
        assert_eq!(process.handle.wait().await, ended(ProcessExit::Exited(3), None));
        process.input.write("nobody reads this").await;
    });
    assert!(!place.workspace().join("owned").exists());
}

#[test]
fn a_long_text_arrives_whole() {
    let place = Place::new();
    let long = "\u{e4}b".repeat(1_000_000);
    runtime().block_on(async {
        let mut process = begin(&place, "cat > read", ProcessLimits::default()).await;
        process.input.write(&long).await;
        process.input.close().await;
        assert_eq!(text(&mut process).await, None);
        assert_eq!(process.handle.wait().await, ended(ProcessExit::Exited(0), None));
    });
    assert_eq!(fs::read_to_string(place.workspace().join("read")).unwrap(), long);
}

#[test]
fn a_program_reads_a_file_or_nothing() {
    let place = Place::new();
    fs::write(place.path("prompt"), "from a file").unwrap();
    let run = |stdin| {
        runtime().block_on(async {
            let mut process =
                start(MAESTRO.as_ref(), &spec(&place, "cat", stdin), ProcessLimits::default()).await.unwrap();
            // That nothing more is said to it is no reason to end it.
            process.input.write("not for it").await;
            process.input.close().await;
            let read = text(&mut process).await;
            assert_eq!(process.handle.wait().await, ended(ProcessExit::Exited(0), None));
            read
        })
    };
    assert_eq!(run(ChildStdin::File(place.path("prompt"))).as_deref(), Some("from a file"));
    assert_eq!(run(ChildStdin::Nothing), None);
    let absent = spec(&place, "cat", ChildStdin::File(place.path("absent")));
    let error = runtime().block_on(start(MAESTRO.as_ref(), &absent, ProcessLimits::default())).unwrap_err();
    assert!(matches!(&error, ProcessStartError::NotStarted(why) if why.contains("cannot open")), "{error}");
}

#[test]
fn what_cannot_be_started_says_why_even_where_it_would_read() {
    let place = Place::new();
    let mut spec = spec(&place, "", ChildStdin::Relay);
    spec.program = "/no/such/program".into();
    let error = runtime().block_on(start(MAESTRO.as_ref(), &spec, ProcessLimits::default())).unwrap_err();
    assert!(error.to_string().contains("`/no/such/program` cannot be started"), "{error}");
}

#[test]
fn who_is_cancelled_or_let_go_ends_with_all_that_came_of_it() {
    let place = Place::new();
    let script = format!("{FAMILY} sleep 1000");
    let program = place.workspace().join("program");
    let gone = |place: &Place| {
        for pid in family(place).into_iter().chain([number_in(&program)]) {
            wait_until(&format!("{pid} is gone"), || !is_alive(pid));
        }
        for name in ["child", "stubborn", "daemon", "program"] {
            fs::remove_file(place.workspace().join(name)).unwrap();
        }
    };
    let begun = || async {
        while !program.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    runtime().block_on(async {
        let process = begin(&place, &script, ProcessLimits::default()).await;
        begun().await;
        process.handle.cancel();
        assert_eq!(process.handle.wait().await, ended(ProcessExit::Killed(15), Some(KillReason::Cancelled)));
    });
    gone(&place);
    runtime().block_on(async {
        let AgentProcess { handle, stdout, .. } = begin(&place, &script, ProcessLimits::default()).await;
        begun().await;
        drop(handle);
        let _stdout = stdout;
        tokio::task::spawn_blocking({
            let pid = number_in(&program);
            move || wait_until("the program is gone", || !is_alive(pid))
        })
        .await
        .unwrap();
    });
    gone(&place);
}

#[test]
fn a_program_that_reads_nothing_ends_all_the_same() {
    let place = Place::new();
    runtime().block_on(async {
        let process = begin(&place, "echo $$ > program; sleep 1000", ProcessLimits::default()).await;
        // More than a pipe holds.
        process.input.write(&"x".repeat(3_000_000)).await;
        number_in(&place.workspace().join("program"));
        process.handle.cancel();
        assert_eq!(process.handle.wait().await, ended(ProcessExit::Killed(15), Some(KillReason::Cancelled)));
    });
}

#[test]
fn silence_and_time_have_an_end() {
    let place = Place::new();
    let limits = |time, idle| ProcessLimits { time: Duration::from_millis(time), idle: Duration::from_millis(idle) };
    runtime().block_on(async {
        let talk = "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.1; done; sleep 1000";
        let mut process = begin(&place, talk, limits(60_000, 700)).await;
        let mut heard = 0;
        while text(&mut process).await.is_some() {
            heard += 1;
        }
        assert_eq!(heard, 8, "it was not silent yet");
        assert_eq!(process.handle.wait().await, ended(ProcessExit::Killed(15), Some(KillReason::Idle)));
        let mut process = begin(&place, "while :; do echo x; sleep 0.05; done", limits(600, 60_000)).await;
        while text(&mut process).await.is_some() {}
        assert_eq!(process.handle.wait().await, ended(ProcessExit::Killed(15), Some(KillReason::Time)));
    });
}

#[test]
fn a_flood_and_an_endless_line_take_no_memory() {
    let place = Place::new();
    let flood = "yes 'a line of some length, as agents print them' | head -n 100000; head -c 67108864 /dev/zero; echo; \
                 printf 'a\\377b\\n'";
    runtime().block_on(async {
        let before = peak_memory();
        let mut process = begin(&place, flood, ProcessLimits::default()).await;
        let mut lines = 0;
        while let Some(line) = process.stdout.next().await {
            lines += 1;
            match (lines, line) {
                (100_001, OutputLine::Cut { bytes, .. }) => assert_eq!(bytes, 64 * 1024 * 1024 - MOST_LINE as u64),
                (100_002, line) => assert_eq!(line, OutputLine::Whole(b"a\xffb".to_vec())),
                (_, OutputLine::Whole(line)) => assert_eq!(line.len(), 43),
                (_, line) => panic!("{line:?}"),
            }
        }
        assert_eq!((lines, process.handle.wait().await), (100_002, ended(ProcessExit::Exited(0), None)));
        let grown = peak_memory() - before;
        assert!(grown < 16 * 1024 * 1024, "{grown} bytes");
    });
}

#[test]
fn who_is_not_read_waits() {
    let place = Place::new();
    runtime().block_on(async {
        let mut process = begin(&place, "yes | head -n 1000000; echo done > finished", ProcessLimits::default()).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(!place.workspace().join("finished").exists());
        let begun = Instant::now();
        while process.stdout.next().await.is_some() {}
        assert!(begun.elapsed() < Duration::from_secs(20));
    });
    assert!(place.workspace().join("finished").exists());
}

#[test]
fn one_that_stops_its_supervisor_gains_nothing() {
    let place = Place::new();
    let daemon = "setsid sh -c 'echo $$ > daemon; exec sleep 1000' & while [ ! -s daemon ]; do sleep 0.01; done";
    let limits = ProcessLimits { time: Duration::from_secs(1), ..ProcessLimits::default() };
    runtime().block_on(async {
        let process = begin(&place, &format!("{daemon}; kill -STOP $PPID; sleep 1000"), limits).await;
        assert_eq!(process.handle.wait().await.because, Some(KillReason::Time));
    });
    let daemon = number_in(&place.workspace().join("daemon"));
    wait_until("the daemon is gone", || !is_alive(daemon));
}
