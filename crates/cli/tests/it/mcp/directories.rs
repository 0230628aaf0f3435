//! Does an editor's server work in the project that is open, wherever the editor starts it?

use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::client::{Client, Era, Forms};
use super::{project, text};
use crate::sandbox::Sandbox;

/// How an editor starts Maestro: in a directory of its own choice.
fn started_in(sandbox: &Sandbox, directory: &Path) -> Command {
    let mut command = sandbox.command();
    command.current_dir(directory);
    command
}

/// Two projects beside each other, the home directory, and a skill in each.
fn places() -> Sandbox {
    let sandbox = project();
    sandbox.skill("~/other/.claude/skills", "audio", "Cut audio files. Use when audio is involved.");
    sandbox
}

fn has(client: &mut Client, skill: &str) -> bool {
    client.tool("use_skill", &json!({ "name": skill }))["isError"] != json!(true)
}

#[test]
fn the_open_folder_is_the_project_and_another_one_is_followed() {
    let sandbox = places();
    let (one, other, home) = (sandbox.path(""), sandbox.path("~/other"), sandbox.path("~/"));
    let mut client = Client::in_editor(started_in(&sandbox, &home), &[&one]);
    let instructions = client.greeting["instructions"].as_str().unwrap();
    assert!(!instructions.contains("Warning"), "its folders are not known yet: {instructions}");
    assert!(has(&mut client, "pdf") && !has(&mut client, "audio"));
    client.open_folders(&[&other]);
    client.wait_for("notifications/tools/list_changed");
    assert!(has(&mut client, "audio") && !has(&mut client, "pdf"));
}

#[test]
fn the_directory_it_is_started_in_counts_if_it_lies_in_an_open_folder() {
    let sandbox = places();
    let mut client =
        Client::in_editor(started_in(&sandbox, &sandbox.path("~/other")), &[&sandbox.path(""), &sandbox.path("~/")]);
    assert!(has(&mut client, "audio"));
}

#[test]
fn a_named_directory_counts_more_than_what_is_open() {
    let sandbox = places();
    let mut command = started_in(&sandbox, &sandbox.path("~/"));
    command.args(["mcp", "--directory"]).arg(sandbox.path("~/other"));
    let mut client = Client::in_editor_by(command, &[&sandbox.path("")]);
    assert!(has(&mut client, "audio") && !has(&mut client, "pdf"));
}

#[test]
fn a_variable_that_an_editor_does_not_know_names_nothing() {
    let sandbox = places();
    let mut command = started_in(&sandbox, &sandbox.path("~/"));
    command.args(["mcp", "--directory", "${workspaceFolder}"]);
    let mut client = Client::in_editor_by(command, &[&sandbox.path("")]);
    assert!(has(&mut client, "pdf"));
}

#[test]
fn who_is_started_at_home_is_warned_first_and_with_the_skills() {
    let sandbox = places();
    let mut command = started_in(&sandbox, &sandbox.path("~/"));
    command.arg("mcp");
    let mut client = Client::alone(command, Era::Today, Forms::Unknown);
    let found = client.call("server/discover", json!({})).unwrap();
    let instructions = found["instructions"].as_str().unwrap();
    assert!(instructions.starts_with("Warning: this server works in the user's home directory"), "{instructions}");
    assert!(instructions.contains("maestro mcp --directory PROJECT"), "{instructions}");
    let listed = text(&client.tool("find_skills", &json!({ "task": "Fill in the PDF form" })));
    assert!(listed.contains("Warning: this server works in the user's home directory"), "{listed}");
    sandbox.skill("~/.claude/skills", "greet", "Greets. Use when somebody comes.");
    let flow = "name: greet\nsteps:\n  - {id: no, type: end, status: failure, message: Nobody is there.}\n";
    sandbox.write("~/.claude/skills/greet/workflow.yaml", flow);
    let begun = client.tool("run_start", &json!({ "workflow": "greet" }));
    assert!(text(&begun).starts_with("Warning: this server works in the user's home directory"), "{begun:#}");
    assert!(text(&begun).contains("Nobody is there."), "{begun:#}");
}

#[test]
fn of_several_open_folders_the_first_that_can_be_a_project_is_it() {
    let sandbox = places();
    let home = sandbox.path("~/");
    let folders = [Path::new("/"), &home, &sandbox.path("~/other")];
    let mut client = Client::in_editor(started_in(&sandbox, Path::new("/")), &folders);
    assert!(has(&mut client, "audio") && !has(&mut client, "pdf"));
}

#[test]
fn a_directory_that_is_not_there_is_said_before_anything_else() {
    let sandbox = project();
    let said = sandbox.maestro("mcp --directory nowhere");
    assert_eq!(said.code, 2, "{said}");
    assert!(said.stderr().contains("no directory `nowhere`") && said.stderr().contains("hint:"), "{said}");
}

#[test]
fn doctor_warns_at_home_and_not_in_a_project() {
    let sandbox = project();
    let problems = |directory: &Path| {
        let mut command = started_in(&sandbox, directory);
        let said = command.args(["--json", "doctor"]).output().unwrap();
        let told: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
        let codes = told["problems"].as_array().unwrap().iter().map(|problem| problem["code"].clone());
        codes.filter(|code| *code == json!("directory-not-project")).count()
    };
    assert_eq!(problems(&sandbox.path("~/")), 1);
    assert_eq!(problems(&sandbox.path("")), 0);
}
