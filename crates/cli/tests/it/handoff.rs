//! `maestro handoff`: records, and files in the project.

use std::fs;

use insta::assert_snapshot;

use crate::sandbox::{Output, Sandbox};

fn handoffs(sandbox: &Sandbox) -> Vec<String> {
    let Ok(entries) = fs::read_dir(sandbox.path(".maestro/handoffs")) else { return Vec::new() };
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn create(sandbox: &Sandbox) -> Output {
    let title = "Build the parser";
    sandbox.maestro_with(&[
        "handoff",
        "create",
        "--from",
        "architect",
        "--to",
        "implementer",
        title,
        "--body",
        "Mind tabs.",
    ])
}

fn id(sandbox: &Sandbox) -> String {
    sandbox.maestro("handoff list --json").json()[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn work_goes_from_pending_to_completed_in_the_record_and_on_disk() {
    let sandbox = Sandbox::new();
    sandbox.maestro("init --yes");
    assert_eq!(create(&sandbox).code, 0);
    let names = handoffs(&sandbox);
    assert!(names.len() == 1 && names[0].ends_with("Z.architect.implementer.pending.md"), "{names:?}");
    let path = sandbox.path(&format!(".maestro/handoffs/{}", names[0]));
    let id = id(&sandbox);
    let text = fs::read_to_string(&path).unwrap();
    let created = text.lines().find(|line| line.starts_with("created: ")).unwrap();
    assert_eq!(
        text,
        format!(
            "---\nid: {id}\nfrom: architect\nto: implementer\ntask: null\nstate: pending\n{created}\n---\n\n\
             # Build the parser\n\nMind tabs.\n"
        )
    );
    fs::write(&path, format!("{text}\nA note by hand.\n")).unwrap();

    let accepted = sandbox.maestro_with(&["handoff", "accept", &id]);
    assert!(accepted.stdout().contains("Mind tabs."), "{accepted}");
    let names = handoffs(&sandbox);
    assert!(names.len() == 1 && names[0].ends_with(".accepted.md"), "{names:?}");
    let second = sandbox.maestro_with(&["handoff", "accept", &id]);
    assert_eq!(second.code, 1, "only one can take it: {second}");

    assert_eq!(sandbox.maestro_with(&["handoff", "complete", &id, "--result", "It parses."]).code, 0);
    let names = handoffs(&sandbox);
    assert!(names.len() == 1 && names[0].ends_with(".completed.md"), "{names:?}");
    let text = fs::read_to_string(sandbox.path(&format!(".maestro/handoffs/{}", names[0]))).unwrap();
    assert!(text.contains("\nstate: completed\n") && text.contains("A note by hand."), "{text}");
    assert!(text.ends_with("\n## Result\n\nIt parses.\n"), "{text}");
}

#[test]
fn hand_offs_are_listed_by_role_and_state() {
    let sandbox = Sandbox::new();
    sandbox.maestro("init --yes");
    assert_eq!(sandbox.maestro("handoff list").stdout(), "No handoffs.\n");
    create(&sandbox);
    let listed = |args: &str| sandbox.maestro(&format!("handoff list --json {args}")).json().as_array().unwrap().len();
    assert_eq!(listed(""), 1);
    assert_eq!(listed("--to implementer --state pending"), 1);
    assert_eq!(listed("--to reviewer"), 0);
    assert_eq!(listed("--state completed"), 0);
    assert_snapshot!(sandbox.maestro("handoff list"), @"
    $ maestro handoff list
    [hand]  pending    architect → implementer  Build the parser
    ");
}

#[test]
fn a_hand_off_needs_a_project_and_roles_that_can_be_part_of_a_files_name() {
    let sandbox = Sandbox::new();
    assert_snapshot!(create(&sandbox), @"
    $ maestro handoff create --from architect --to implementer Build the parser --body Mind tabs.
    --- stderr
    error: no project for [PROJECT]
    hint: run `maestro init` to set this directory up, or pass --project (see `maestro project list`)
    --- exit 1
    ");
    sandbox.maestro("init --yes");
    assert_snapshot!(sandbox.maestro("handoff create --from ../up --to implementer Title"), @"
    $ maestro handoff create --from ../up --to implementer Title
    --- stderr
    error: from: must be letters, digits, `-` and `_`, at most 64
    hint: nothing was changed
    --- exit 1
    ");
    assert!(handoffs(&sandbox).is_empty());
    assert_eq!(sandbox.maestro("handoff accept hand_1_aaaaaaaaa").code, 2);
}

#[test]
fn a_file_can_hold_what_the_other_needs_to_know() {
    let sandbox = Sandbox::new();
    sandbox.maestro("init --yes");
    sandbox.write("notes.md", "All of it.\n");
    let made = sandbox.maestro("handoff create --from a --to b Title --file notes.md --json").json();
    assert_eq!(made["body"], "All of it.\n");
    assert!(made["file"].as_str().unwrap().ends_with(".a.b.pending.md"));
    assert_eq!(sandbox.maestro("handoff create --from a --to b Title --file absent.md").code, 1);
}

#[test]
fn a_link_out_of_the_project_is_not_written_through() {
    let sandbox = Sandbox::new();
    sandbox.maestro("init --yes");
    sandbox.write("~/elsewhere/keep", "");
    std::os::unix::fs::symlink(sandbox.path("~/elsewhere"), sandbox.path(".maestro/handoffs")).unwrap();
    let made = create(&sandbox);
    assert_eq!(made.code, 0, "the record counts");
    assert!(made.stderr().starts_with("cannot write the handoff file: "), "{made}");
    assert_eq!(fs::read_dir(sandbox.path("~/elsewhere")).unwrap().count(), 1);
}
