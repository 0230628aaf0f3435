//! Does a loop come out the same when its server is killed again and again, at any moment?

use std::process::Stdio;
use std::time::Duration;

use super::{Repository, assert_done, count, goes_on_until, is_over, revision, simple_ones, state};
use crate::waiting::wait_until;

/// Numbers that look random and are always the same.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

#[test]
fn a_killed_server_costs_no_task_and_does_none_twice() {
    let kills = count("MAESTRO_LOOP_KILLS", 5);
    let tasks = simple_ones(kills + 2);
    let repository = Repository::with(&tasks);
    let mut dice = Dice(u64::try_from(count("MAESTRO_LOOP_SEED", 7)).unwrap());
    let mut server = repository.sandbox.serve();
    let run = repository.begin("");
    for kill in 0..kills {
        // A task takes about nine steps; the moment between two of them is anybody's.
        let until = revision(&state(&server, &run)) + i64::try_from(dice.below(14)).unwrap();
        let now = goes_on_until(&server, &run, |state| revision(state) >= until || is_over(state));
        assert!(!is_over(&now), "over after {kill} kills: {now:#}");
        std::thread::sleep(Duration::from_micros(dice.below(60_000)));
        server.kill();
        repository.nothing_left(None);
        server = repository.sandbox.serve();
    }
    let ended = goes_on_until(&server, &run, is_over);
    assert_eq!(ended["status"], "completed", "{ended:#}");
    assert_done(&repository, &run, &Repository::branch(&run), &tasks);
    for number in 1..=tasks.len() {
        let text = repository.file(&Repository::branch(&run), &format!("f{number}.txt"));
        assert_eq!(text.trim(), format!("number {number}"));
    }
    repository.nothing_left(Some(&server));
    server.end();
    assert_eq!(repository.sandbox.maestro("db check").code, 0);
}

#[test]
fn a_killed_loop_command_takes_its_own_server_with_it_and_the_same_command_goes_on() {
    let repository = Repository::with(&[]);
    let task =
        repository.script("waits", "touch HOME/begun; while [ ! -e HOME/go ]; do sleep 0.02; done; echo x > f1.txt\n");
    repository.write_plan("PLAN.md", &[task]);
    repository.commit_all();
    let words = ["loop", "PLAN.md", "--agent", "demo", "--permission", "all", "--no-review"];
    let mut command = repository.sandbox.command();
    let mut child = command.args(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("it works", || repository.mark("begun").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    repository.nothing_left(None);
    repository.set("go");
    let again = repository.sandbox.maestro_with(&[&words[..], &["--yes"]].concat());
    assert_eq!(again.code, 0, "{again}");
    assert_eq!(repository.sandbox.maestro("loop status --json").json().as_array().unwrap().len(), 1);
}
