//! Models of the agents of a loop.

use super::{Repository, run_of, simple_ones};
use crate::sandbox::Output;

/// An agent that writes which model it was started with, and reports.
const SCRIPT: &str = "echo \"${1:-its own}\" > f1.txt\nmaestro complete \"wrote f1.txt\"\n";

/// A loop with this agent.
fn worked_with(options: &str) -> (Repository, Output) {
    let repository = Repository::with(&simple_ones(1));
    let script = repository.sandbox.path("~/writer.sh").display().to_string();
    repository.sandbox.write("~/writer.sh", SCRIPT);
    let table = format!(
        "[writer]\ntitle = \"Writer\"\n[writer.text]\nprograms = [\"sh\"]\nargs = [{script:?}]\nmodel = [\"{{model}}\"]\n\
         prompt = \"stdin\"\nformat = \"text\"\n"
    );
    repository.sandbox.write("~/.config/maestro/agents.toml", table);
    let worked = repository.sandbox.maestro(&format!("loop PLAN.md --agent writer --permission all {options}"));
    (repository, worked)
}

fn started_with(options: &str) -> String {
    let (repository, worked) = worked_with(options);
    assert_eq!(worked.code, 0, "{worked}");
    repository.git(&["show", &format!("{}:f1.txt", Repository::branch(&run_of(&worked)))])
}

#[test]
fn a_model_reaches_the_agent_that_does_the_work() {
    assert_eq!(started_with("--no-review --model large").trim(), "large");
    assert_eq!(started_with("--no-review").trim(), "its own");
}

#[test]
fn a_model_is_never_an_option_of_the_agent() {
    let (repository, worked) = worked_with("--no-review --model=--yolo");
    assert_ne!(worked.code, 0, "{worked}");
    let told = repository.sandbox.maestro("session list --all --json").stdout();
    assert!(
        told.contains("`--yolo` is not a model") || worked.stdout().contains("`--yolo` is not a model"),
        "{worked}{told}"
    );
    assert!(repository.commits(&Repository::branch(&run_of(&worked))).is_empty());
}
