//! Is what a command read kept for the next one, and does nothing depend on it?

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::sandbox::Sandbox;

/// What changed less than two seconds ago is not kept, because it might change again unnoticed.
const SETTLED: Duration = Duration::from_millis(2100);

/// The same with room for the clock of a file system, which may be behind.
const RECENT: Duration = Duration::from_millis(1900);

/// The overview without the number of skills, for which it does not wait on a busy machine.
fn uncounted(mut overview: Json) -> Json {
    assert!(overview.as_object_mut().unwrap().remove("skills").is_some(), "{overview}");
    overview
}

/// A project with so many skills that keeping them pays, all of them settled.
fn with_many_skills() -> Sandbox {
    // Those that come with Maestro are worth keeping, too, once they are settled.
    let sandbox = Sandbox::new().with_variable("MAESTRO_SKILLS_BUILTIN", "false");
    for number in 0..120 {
        let description = format!("Skill number {number}. {}", "It does many things well. ".repeat(5));
        sandbox.skill(".claude/skills", &format!("skill-{number:03}"), description.trim());
    }
    thread::sleep(SETTLED);
    sandbox
}

fn kept(sandbox: &Sandbox) -> Vec<PathBuf> {
    let directory = sandbox.path("~/.cache/maestro/index");
    fs::read_dir(directory).map(|files| files.map(|file| file.unwrap().path()).collect()).unwrap_or_default()
}

#[test]
fn the_next_command_says_the_same_whatever_was_kept() {
    let sandbox = with_many_skills();
    let fresh = sandbox.maestro("skills list --json --set skills_index=false");
    assert_eq!(kept(&sandbox), <[PathBuf; 0]>::default(), "switched off");
    assert!(sandbox.maestro("").stdout().contains("skills"), "bare `maestro` works without");
    assert_eq!(kept(&sandbox), <[PathBuf; 0]>::default(), "and writes nothing");

    assert_eq!(sandbox.maestro("skills list --json").bytes(), fresh.bytes());
    let [file] = kept(&sandbox).try_into().expect("one root is worth keeping");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let bytes = fs::read(&file).unwrap();
    assert_eq!(sandbox.maestro("skills list --json").bytes(), fresh.bytes());
    assert_eq!(sandbox.maestro("skills list").bytes(), sandbox.maestro("skills list --set skills_index=0").bytes());
    assert_eq!(fs::read(&file).unwrap(), bytes, "nothing new to keep");
    let read = sandbox.maestro("skills read skill-077").stdout();
    assert!(read.starts_with("Reading: skill-077\n") && read.contains("Step by step."), "{read}");

    let changed = Instant::now();
    sandbox.skill(".claude/skills", "skill-077", "Now something else.");
    assert_eq!(sandbox.maestro("skills show skill-077 --json").json()["skill"]["description"], "Now something else.");
    let unchanged = fs::read(&file).unwrap() == bytes;
    assert!(unchanged || changed.elapsed() > RECENT, "a skill that changed just now is not kept");
    let (with, without) = ("skills list --json", "skills list --json --set skills_index=false");
    assert_eq!(sandbox.maestro(with).bytes(), sandbox.maestro(without).bytes());
    let (with, without) = ("--json", "--json --set skills_index=false");
    assert_eq!(uncounted(sandbox.maestro(with).json()), uncounted(sandbox.maestro(without).json()));

    fs::write(&file, "garbage").unwrap();
    let renewed = sandbox.maestro("skills list --json");
    assert_eq!(renewed.bytes(), sandbox.maestro("skills list --json --set skills_index=false").bytes());
    assert!(fs::read(&file).unwrap().len() > 1000, "what is no index is written anew");
}

#[test]
fn many_commands_at_once_agree() {
    let sandbox = with_many_skills();
    let fresh = sandbox.maestro("skills list --json --set skills_index=false");
    thread::scope(|scope| {
        let runs: Vec<_> = (0..8).map(|_| scope.spawn(|| sandbox.maestro("skills list --json"))).collect();
        for run in runs {
            assert_eq!(run.join().unwrap().bytes(), fresh.bytes());
        }
    });
    assert_eq!(kept(&sandbox).len(), 1, "and none leaves anything else behind");
    assert_eq!(sandbox.maestro("skills list --json").bytes(), fresh.bytes());
}

#[test]
fn where_nothing_can_be_kept_only_the_doctor_tells() {
    let sandbox = with_many_skills();
    sandbox.write("~/.cache/maestro", "a file where a directory should be");
    let list = sandbox.maestro("skills list");
    assert_eq!((list.code, list.stderr()), (0, String::new()));
    let doctor = sandbox.maestro("doctor --json");
    assert_eq!(doctor.code, 0, "nothing depends on it");
    let problems = &doctor.json()["problems"];
    assert_eq!((&problems[0]["code"], &problems[0]["severity"]), (&json!("index-not-kept"), &json!("info")));
    let codes: Vec<&str> = problems.as_array().unwrap().iter().filter_map(|problem| problem["code"].as_str()).collect();
    assert_eq!(codes, ["index-not-kept", "vectors-missing", "agent-missing"]);
}

#[test]
fn a_few_skills_are_not_worth_a_file() {
    let sandbox = Sandbox::new();
    sandbox.skill(".claude/skills", "pdf", "Reads PDF files.");
    thread::sleep(SETTLED);
    assert_eq!(sandbox.maestro("skills list").code, 0);
    assert_eq!(kept(&sandbox), <[PathBuf; 0]>::default());
}
