//! Does a plan come out right in a night with agents that do everything wrong?

use std::process::Command;

/// One of the ten nights of `bench/nights.py`, with a seed that is always the same.
#[test]
fn each_task_that_can_be_done_is_done_once_and_every_other_one_is_explained() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/nights.py");
    let mut night = Command::new("python3");
    night.args([script, "--nights", "1", "--seed", "7", "--maestro", env!("CARGO_BIN_EXE_maestro")]);
    let done = match night.output() {
        Ok(done) => done,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: python3 is not installed");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let (table, wrong) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{table}\n{wrong}");
    assert!(table.contains("| right |"), "{table}");
}
