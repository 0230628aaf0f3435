//! What becomes of a command whose server was another command's, and ends with that?

use std::process::{Child, Stdio};

use super::{Repository, simple};
use crate::waiting::wait_until;

/// A task that waits until it may end, and says that it began.
fn gated(repository: &Repository, name: &str) -> String {
    let text =
        format!("echo x >> HOME/{name}; while [ ! -e HOME/go-{name} ]; do sleep 0.02; done; echo x > {name}.txt\n");
    repository.script(name, &text)
}

/// Begins to do a task.
fn doing(repository: &Repository, task: &str) -> Child {
    let mut command = repository.sandbox.command();
    command.args(["do", task, "--agent", "demo", "--permission", "all", "--no-review"]);
    // The server is gone for good, so it is no use to wait for it.
    command.env("MAESTRO_RETRY_DELAY", "10");
    command.stdout(Stdio::piped()).spawn().unwrap()
}

/// What it printed until the end, which is a good one.
fn ended(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    text
}

#[test]
fn who_used_another_commands_server_goes_on_with_one_of_its_own() {
    let repository = Repository::with(&[]);
    let (short, long) = (gated(&repository, "short"), gated(&repository, "long"));
    let first = doing(&repository, &short);
    wait_until("the first works", || repository.mark("short").exists());
    let second = doing(&repository, &long);
    wait_until("the second works", || repository.mark("long").exists());
    repository.set("go-short");
    assert!(ended(first).contains("\nready: "));
    repository.set("go-long");
    let text = ended(second);
    assert!(text.contains("\nready: "), "{text}");
    for told in [long.as_str(), "  implement\n", "  commit\n"] {
        let times = text.matches(&format!("\n{told}")).count();
        assert_eq!(times, 1, "`{told}` is told once:\n{text}");
    }
    repository.nothing_left(None);
}

#[test]
fn several_commands_at_once_find_one_server_and_one_config() {
    let repository = Repository::with(&[]);
    std::fs::remove_dir_all(repository.sandbox.path(".maestro")).unwrap();
    repository.commit_all();
    let all: Vec<Child> = (1..=4).map(|number| doing(&repository, &simple(number))).collect();
    let texts: Vec<String> = all.into_iter().map(ended).collect();
    assert!(texts.iter().all(|text| text.contains("\nready: ")), "{texts:#?}");
    let wrote = texts.iter().filter(|text| text.contains("Wrote .maestro/config.toml")).count();
    assert_eq!(wrote, 1, "{texts:#?}");
    repository.nothing_left(None);
}
