//! Is the person told when something waits, stopped or is ready, and does the system stay awake?

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value as Json, json};

use super::{Repository, goes_on_until, is_over, simple_ones};
use crate::waiting::wait_until;

/// A repository whose user's notices go to a file, a line of JSON each.
fn noticing(repository: Repository) -> Repository {
    let (script, file) = (repository.sandbox.path("~/notice.sh"), repository.sandbox.path("~/notices"));
    repository.sandbox.write("~/notice.sh", format!("read -r body; echo \"$body\" >> {}\n", file.display()));
    let command = json!(["sh", script.display().to_string()]);
    repository.sandbox.write("~/.config/maestro/config.toml", format!("notify = {command}\n"));
    repository
}

fn notices(repository: &Repository) -> Vec<Json> {
    let text = fs::read_to_string(repository.sandbox.path("~/notices")).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[test]
fn what_is_ready_and_what_stopped_is_told_with_the_command() {
    let repository = noticing(Repository::with(&simple_ones(1)));
    let server = repository.sandbox.serve();
    let run = repository.begin("--no-review");
    goes_on_until(&server, &run, is_over);
    wait_until("it is told", || notices(&repository).iter().any(|notice| notice["state"] == "ready"));
    let told = notices(&repository);
    assert_eq!(told[0]["command"], json!(format!("maestro merge {run}")), "{told:?}");
    assert_eq!(told[0]["run"], json!(run));
}

#[test]
fn what_waits_is_told_with_the_command_that_answers() {
    let repository = noticing(Repository::with(&["Run touch f1.txt".to_owned()]));
    repository.sandbox.write("~/.config/maestro/agents.toml", "[demo]\nprefer = [\"acp\"]\n");
    let server = repository.sandbox.serve();
    let begun = repository.sandbox.maestro("loop PLAN.md --agent demo --no-review --detach");
    wait_until("it is told", || !notices(&repository).is_empty());
    let told = notices(&repository).remove(0);
    assert_eq!((&told["state"], &told["what"]), (&json!("waiting"), &json!("touch f1.txt")), "{told}");
    let session = told["session"].as_str().unwrap();
    assert_eq!(told["command"], json!(format!("maestro session answer {session} once|always|deny")));
    repository.sandbox.maestro_with(&["session", "answer", session, "deny"]);
    let run = begun.id();
    goes_on_until(&server, &run, is_over);
    wait_until("its end is told", || notices(&repository).iter().any(|notice| notice["run"] == json!(run)));
}

#[test]
fn a_project_does_not_choose_the_command() {
    let repository = Repository::with(&simple_ones(1));
    for line in ["notify = [\"touch\", \"x\"]", "notify_url = \"http://example.org\""] {
        repository.sandbox.write(".maestro/config.toml", format!("{line}\n"));
        let shown = repository.sandbox.maestro("config show");
        assert!(shown.to_string().contains("a project may not set `notify"), "{shown}");
    }
}

#[test]
fn suspend_is_inhibited_while_an_agent_works() {
    let repository = Repository::with(&[]);
    let task =
        repository.script("gate", "touch HOME/begun; while [ ! -e HOME/go ]; do sleep 0.02; done; echo x > f1\n");
    repository.write_plan("PLAN.md", &[task]);
    repository.commit_all();
    let mark = repository.sandbox.path("~/awake");
    repository.sandbox.write(
        "~/bin/systemd-inhibit",
        format!("#!/bin/sh\necho \"$@\" > {0}\ncat > /dev/null\nrm {0}\n", mark.display()),
    );
    let program = repository.sandbox.path("~/bin/systemd-inhibit");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let repository = Repository { sandbox: repository.sandbox.with_variable("PATH", &path) };
    let server = repository.sandbox.serve();
    let run = repository.begin("--no-review");
    wait_until("it works", || repository.mark("begun").exists());
    wait_until("the system stays awake", || mark.exists());
    assert!(fs::read_to_string(&mark).unwrap().contains("--what=idle:sleep"));
    repository.set("go");
    goes_on_until(&server, &run, is_over);
    let doctor = repository.sandbox.maestro("doctor --json").json();
    assert_eq!(doctor["inhibits_sleep"], json!(true));
    drop(server);
}
